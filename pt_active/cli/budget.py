"""The command that says how many judgments an answer takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.command_line import (
    Answer,
    check_names,
    command_line,
    extended_from,
    new_path,
    read_judged,
    rounded_up,
)
from pt_active.cli.options import one_of
from pt_active.cli.pools import PoolFiles
from pt_active.plans.answers.outlook import POWER, Outlook, own_method
from pt_active.plans.making.artifact import plain_rows
from pt_active.plans.making.manifest import dropped_lines
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import unit_of


def budget(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="A plan, instead of runs; with its labels it is a pilot.")
    ] = None,
    qrels: Annotated[
        list[Path] | None, typer.Argument(metavar="QRELS", help="The labels of all rounds of the plan so far.")
    ] = None,
    measure: Annotated[str | None, one_of(options.MEASURES, "The measure to estimate; a plan has its own.")] = None,
    width: Annotated[float | None, typer.Option(metavar="X", help="The half-width wanted of the interval.")] = None,
    difference: Annotated[float | None, typer.Option(metavar="X", help="The difference to find.")] = None,
    power: Annotated[float, typer.Option(metavar="X", help="The chance of finding it.")] = POWER,
    until_known: Annotated[
        bool, typer.Option("--until-known", help="Judging stops at the label that settles the difference.")
    ] = False,
    budget: Annotated[list[float] | None, typer.Option(metavar="X", help="A budget to show; repeat it.")] = None,
    run: options.Run = None,
    pool: options.PoolFile = None,
    seconds_per_document: options.SecondsPerDocument = None,
    seconds_per_query: options.SecondsPerQuery = 0.0,
    topics: options.Topics = None,
    texts: options.Texts = None,
    train_run: options.TrainRun = None,
    train_qrels: options.TrainQrels = None,
    grades: options.Grades = None,
    judge: options.Judge = None,
    max_grade: options.MaxGrade = None,
    unjudged: options.Unjudged = None,
    cost: options.CostName = options.DEFAULT_COST,
    per_query: options.PerQuery = 0.0,
    depth: options.Depth = None,
    allow_missing_queries: options.AllowMissingQueries = False,
    lenient: options.Lenient = False,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    so_far: options.SoFar = False,
) -> Answer:
    """Say how many judgments or hours an answer takes, before the first judgment or after a first round."""
    if budget and width is not None:
        raise ValueError("say either --budget or --width, and not both")
    if until_known and (width is not None or budget):
        raise ValueError("leave out --width and --budget with --until-known")
    if until_known and difference is None:
        raise ValueError("--until-known needs --difference")
    check_names({"--cost": (cost, options.cost_names())})
    learned = train_run, train_qrels, grades, judge, max_grade
    source = PoolFiles(run, pool, topics, texts, *learned, depth, allow_missing_queries, lenient, unjudged)
    price = options.cost_of(cost, per_query, seconds_per_document, seconds_per_query)
    prices = options.cost_words(cost, per_query, seconds_per_document, seconds_per_query)
    if plan is None:
        source.check()
        if measure is None:
            raise ValueError("say what to estimate, such as --measure DCG@10")
        frame, queries = source.read(cost, price, measure)
        grades_told = frame.attrs.get("grade_model", "")
        dropped = [each.to_json() for each in dropped_lines(frame.attrs.get("dropped", {}))]
        outlook = Outlook.of(frame, queries, measure, price, seed=seed)
        again, priced, unit = [*source.words(), "--measure", measure, *prices], repr(price), unit_of(price)
    else:
        _check_alone([*source.words(), *prices, *(["--measure"] if measure else [])])
        loaded, labels, _ = read_judged(plan, qrels or [], so_far)
        dropped, grades_told = [], ""
        outlook = Outlook.of_plan(loaded, labels if qrels else None)
        priced, unit = loaded.tables.manifest.arguments.cost, loaded.tables.manifest.arguments.unit.strip()
    if until_known and difference is not None:
        table = outlook.until_known(difference, power, confidence)
        hint = "" if plan is not None else _draw_until_known(table, again)
    elif budget or (width is None and difference is None):
        table, hint = outlook.table(budget, difference, power, confidence), "" if difference else _ASK
    else:
        table = outlook.budget_for(width=width, difference=difference, power=power, confidence=confidence)
        hint = _draw(table, again) if plan is None else _more(table, loaded, plan, qrels or [])
    head: dict[str, Any] = {"measure": str(outlook.measure), "rankers": list(outlook.names)}
    head |= {"expected_from": outlook.source, "notes": outlook.notes(table)}
    head |= {"dropped": dropped} if dropped else {}
    head |= {"grades": grades_told} if grades_told else {}
    told = f"\n\n{grades_told}" if grades_told else ""
    counted = f"\nBudgets are {unit} of judging." if unit else ""
    return Answer(head | {"cost": priced, "rows": plain_rows(table)}, outlook.described(table) + counted + told, hint)


_ASK = "Next, ask what an interval or a difference takes: --width X, or --difference X."
"""The hint below a table of budgets."""


def _check_alone(given: list[str]) -> None:
    extra = dict.fromkeys(word for word in given if word.startswith("--"))
    if extra:
        raise ValueError(f"a plan has its own pool, measure and costs; leave out {', '.join(extra)}")


def _draw(table: pd.DataFrame, options: list[str]) -> str:
    """The hint with the command that draws the cheapest sample."""
    best = table.to_dict("records")[int(table["budget"].to_numpy().argmin())]
    how = ["--level", best["level"], "--design", best["design"], "--budget", rounded_up(best["budget"])]
    what = "the sample that costs least" if best["half_width"] > 0 else "everything, since nothing less does"
    return f"Next, draw {what}:\n  {command_line('plan', *options, *how, '--out', 'my-plan')}"


def _draw_until_known(table: pd.DataFrame, options: list[str]) -> str:
    """The hint with the command that draws the sample that is expected to settle it with the lowest cost."""
    best = table.to_dict("records")[int(table["cost"].to_numpy().argmin())]
    how = ["--level", best["level"], "--design", best["design"], "--budget", rounded_up(best["cost_90"])]
    return (
        f"Next, draw the sample that is expected to cost least, and ask for its status as labels come in:\n"
        f"  {command_line('plan', *options, *how, '--out', 'my-plan')}"
    )


def _more(table: pd.DataFrame, plan: Plan, folder: Path, qrels: list[Path]) -> str:
    """The hint with what a plan lacks: an extension, or another plan where it cannot be extended."""
    own, manifest, arguments = own_method(plan), plan.tables.manifest, plan.tables.manifest.arguments
    row = table[(table["level"] == arguments.level) & (table["design"] == own.design)]
    lacking = float(row["budget"].iloc[0]) - extended_from(Plan.load(folder) if manifest.cut else plan)
    if lacking <= 0:
        return "The plan's own budget is enough."
    lack = f"The plan lacks {lacking:.4g}{arguments.unit} of it"
    if row["half_width"].iloc[0] == 0:
        return f"{lack}: only judging everything does it."
    ordered = has_order(plan.tables)
    if not (ordered or (qrels and own.of_documents)):
        again = f"--budget {rounded_up(float(row['budget'].iloc[0]))} --seed {arguments.seed}"
        return f"{lack}: plan again as before, but with {again}."
    out = new_path(folder.with_name(f"{folder.name}-more"))
    more = command_line("extend", folder, *qrels, "--budget", rounded_up(lacking), "--out", out)
    return f"{lack}. Next, draw {'more' if ordered else 'another round'}:\n  {more}"
