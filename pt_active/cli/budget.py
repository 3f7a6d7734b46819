"""The command that says how many judgments an answer takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.collection import PoolFiles
from pt_active.cli.command_line import (
    Answer,
    command_line,
    extended_from,
    new_path,
    read_judged,
    rounded_up,
)
from pt_active.cli.options import one_of
from pt_active.plans.answers.outlook import POWER, Outlook
from pt_active.plans.making.manifest import dropped_lines
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import Cost, unit_of
from pt_active.showing.printed import plain_rows


def budget(
    source: PoolFiles,
    prices: options.Prices,
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
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    so_far: options.SoFar = False,
) -> Answer:
    """Say how many judgments or hours an answer takes, before the first judgment or after a first round."""
    _check_asked(width, difference, until_known, budget)
    cost, words = prices.of_judging(), [*source.words(), *prices.words()]
    if plan is None:
        subject = _of_files(source, prices, cost, measure, seed)
    else:
        _check_alone([*words, *(["--measure"] if measure else [])])
        subject = _of_plan(plan, qrels or [], so_far)
    outlook = subject.outlook
    if until_known and difference is not None:
        table = outlook.until_known(difference, power, confidence)
        hint = "" if plan is not None else _draw_until_known(table, subject.again)
    elif budget or (width is None and difference is None):
        table, hint = outlook.table(budget, difference, power, confidence), "" if difference else _ASK
    else:
        table = outlook.budget_for(width=width, difference=difference, power=power, confidence=confidence)
        if plan is None or subject.plan is None:
            hint = _draw(table, subject.again)
        else:
            hint = _more(table, subject.plan, plan, qrels or [])
    return _answer(subject, table, hint)


@dataclass(frozen=True)
class _Subject:
    """What a budget is asked for.

    Attributes:
        outlook: Forecasts of its errors.
        priced: Its cost, as it is written in Python.
        unit: The unit of budgets; empty if there is none.
        again: The options that make a plan of it; empty for a plan.
        plan: The plan; None for files.
        dropped: What was dropped from its runs.
        grades: What is said of the grade model.
    """

    outlook: Outlook
    priced: str
    unit: str
    again: list[str]
    plan: Plan | None = None
    dropped: list[dict[str, Any]] = field(default_factory=list)
    grades: str = ""


def _check_asked(width: float | None, difference: float | None, until_known: bool, budget: list[float] | None) -> None:
    """Raise if two questions are asked at once."""
    if budget and width is not None:
        raise ValueError("say either --budget or --width, and not both")
    if until_known and (width is not None or budget):
        raise ValueError("leave out --width and --budget with --until-known")
    if until_known and difference is None:
        raise ValueError("--until-known needs --difference")


def _of_files(source: PoolFiles, prices: options.Prices, cost: Cost, measure: str | None, seed: int) -> _Subject:
    """What is asked of runs or a pool."""
    source.check()
    if measure is None:
        raise ValueError("say what to estimate, such as --measure DCG@10")
    frame, queries = source.read(prices, measure)
    again = [*source.words(), "--measure", measure, *prices.words()]
    dropped = [each.to_json() for each in dropped_lines(frame.attrs.get("dropped", {}))]
    outlook = Outlook.of(frame, queries, measure, cost, seed=seed)
    told = frame.attrs.get("grade_model", "")
    return _Subject(outlook, repr(cost), unit_of(cost), again, dropped=dropped, grades=told)


def _of_plan(folder: Path, qrels: list[Path], so_far: bool) -> _Subject:
    """What is asked of a plan, which is a pilot if it has labels."""
    loaded, labels, _ = read_judged(folder, qrels, so_far)
    arguments = loaded.tables.manifest.arguments
    outlook = Outlook.of_plan(loaded, labels if qrels else None)
    return _Subject(outlook, arguments.cost, arguments.unit.strip(), [], loaded)


def _answer(subject: _Subject, table: pd.DataFrame, hint: str) -> Answer:
    outlook = subject.outlook
    content: dict[str, Any] = {"measure": str(outlook.measure), "rankers": list(outlook.names)}
    content |= {"expected_from": outlook.source, "notes": outlook.notes(table)}
    content |= {"dropped": subject.dropped} if subject.dropped else {}
    content |= {"grades": subject.grades} if subject.grades else {}
    told = f"\n\n{subject.grades}" if subject.grades else ""
    counted = f"\nBudgets are {subject.unit} of judging." if subject.unit else ""
    rows = {"cost": subject.priced, "rows": plain_rows(table)}
    return Answer(content | rows, outlook.described(table) + counted + told, hint)


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
    manifest, arguments = plan.tables.manifest, plan.tables.manifest.arguments
    row = table[(table["level"] == arguments.level) & (table["design"] == arguments.design)]
    lacking = float(row["budget"].iloc[0]) - extended_from(Plan.load(folder) if manifest.cut else plan)
    if lacking <= 0:
        return "The plan's own budget is enough."
    lack = f"The plan lacks {lacking:.4g}{arguments.unit} of it"
    if row["half_width"].iloc[0] == 0:
        return f"{lack}: only judging everything does it."
    ordered = has_order(plan.tables)
    if not (ordered or (qrels and arguments.level == "document")):
        again = f"--budget {rounded_up(float(row['budget'].iloc[0]))} --seed {arguments.seed}"
        return f"{lack}: plan again as before, but with {again}."
    out = new_path(folder.with_name(f"{folder.name}-more"))
    more = command_line("extend", folder, *qrels, "--budget", rounded_up(lacking), "--out", out)
    return f"{lack}. Next, draw {'more' if ordered else 'another round'}:\n  {more}"
