"""Commands that choose what people should judge: budget and plan."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pt_active.cli.answer import Answer, beside, check_new, command_line, extended_from, kept_at, rounded_up
from pt_active.cli.commands import argument, given_words, of_every_command, option, words_of
from pt_active.cli.files import PoolFiles, texts_for
from pt_active.cli.fits import whole_pools
from pt_active.cli.options import (
    JudgingCosts,
    LabelFiles,
    Meant,
    confidence_level,
    design_choices,
    label_files,
    random_seed,
)
from pt_active.cli.project import FILE
from pt_active.frames.checks import how_many
from pt_active.frames.columns import grade_columns
from pt_active.judging.server.store import is_of_plan
from pt_active.plans.answers.forecast import LEVELS
from pt_active.plans.answers.outlook import Outlook
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import unit_of
from pt_active.relevance.measures import SCORE, parse_measure
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS
from pt_active.showing.printed import plain_rows
from pt_active.showing.rounding import amount

_NO_MEASURE = "pass what to estimate, such as --measure DCG@10"


@dataclass(frozen=True)
class Sampling:
    """How a plan samples."""

    measure: str | None = option(None, "The measure to estimate, such as DCG@10 or nDCG@10.", "NAME")
    budget: float | None = option(None, "The most that judging may cost; by default each document costs 1.")
    level: str | None = option(
        None,
        "What to sample: {}. Default: document, unless whole queries are expected to be better.",
        "NAME",
        names=LEVELS,
    )
    design: str | None = option(
        None,
        f"How to sample queries: {', '.join(DESIGNS)}; or documents: {', '.join(DOCUMENT_DRAWINGS)}.",
        "NAME",
        names=design_choices,
    )
    seed: int = random_seed()
    defensive: float | None = of_every_command(None)  # the share of the draws that ignores the grade model

    def how(self) -> dict[str, Any]:
        """The arguments of `Plan.create`; raises without a budget."""
        if self.budget is None:
            most = "the most to spend, such as the number of documents that people can judge"
            raise ValueError(f"pass --budget, {most}; pt-active budget advises")
        return {name: value for name, value in vars(self).items() if name != "measure"}


def plan(
    sampling: Sampling,
    source: PoolFiles,
    prices: JudgingCosts,
    out: Path = option(MISSING, "The folder to create.", "DIR"),
    extend: Path | None = option(None, "A plan to add to, in its order or by another sample.", "PLAN"),
) -> Answer:
    """Choose the queries or documents to judge, and keep the choice in a folder."""
    check_new(out)
    if extend is not None:
        return _extended(extend, sampling, source, prices, out)
    cost, how = prices.of_judging(), sampling.how()
    if sampling.measure is None:
        raise ValueError(_NO_MEASURE)
    source.check()
    frame, queries = source.read(prices, sampling.measure)
    highest = len(grade_columns(frame.columns)) - 1
    measure = parse_measure(sampling.measure, max(highest, 0) or None)
    if said := whole_pools(measure, len(frame), frame["qid"].nunique()):
        warnings.warn(said, stacklevel=2)
    made = Plan.create(frame, queries, sampling.measure, cost=cost, **how).save(out)
    return _planned(made, out, frame.attrs.get("grade_model", ""))


def _extended(plan: Path, sampling: Sampling, source: PoolFiles, prices: JudgingCosts, out: Path) -> Answer:
    """Add to a plan."""
    given = replace(sampling, budget=None), replace(source, texts=None), prices
    if extra := dict.fromkeys(word for each in given for word in words_of(each) if word[:2] == "--"):
        raise ValueError(f"a plan goes on as it began; leave out {', '.join(extra)}")
    loaded = Plan.load(plan)
    made = loaded.extend(sampling.how()["budget"], texts=texts_for(loaded, source.texts, warned=False)).save(out)
    files = [kept_at(plan), *sorted(plan.parent.glob("*.sqlite"))]
    stores = [each for each in files if is_of_plan(each, loaded.tables.manifest.origin)]
    return _planned(made, out, store=["--store", stores[0]] if stores else [])


def _planned(made: Plan, out: Path, grades: str = "", store: Sequence[object] = ()) -> Answer:
    alone = len(made.rankers) == 1
    line = command_line("judge", out, *store, *(["--margin", "X"] if alone else []))
    margin = " (X is how far off the estimate may be)" if alone else ""
    hint = f"The plan is in {out}. Next, let people judge it in their browsers{margin}:\n  {line}"
    content = {"plan": str(out), **made.manifest, "caution": made.caution} | ({"grades": grades} if grades else {})
    return Answer(content, f"{made}\n\n{grades}" if grades else str(made), hint)


@dataclass(frozen=True)
class Wanted(Meant):
    """What an answer is to reach, and for which queries."""

    width: float | None = option(None, "The half-width that you want for the interval.")
    difference: float | None = option(None, "The difference that you want to find.")
    budget: list[float] | None = option(None, "A budget to forecast; you may pass several.")
    confidence: float = confidence_level()
    measure: str | None = option(None, "The measure to estimate; a plan has its own.", "NAME")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget and self.width is not None:
            raise ValueError("pass either --budget or --width, and not both")


def budget(
    source: PoolFiles,
    prices: JudgingCosts,
    wanted: Wanted,
    plan: Path | None = argument(None, "A plan, in place of runs; with labels, it is a pilot.", "PLAN"),
    qrels: list[Path] | None = label_files(None),
) -> Answer:
    """Forecast how many judgments an answer takes, before the first judgment or after a first round."""
    cost = prices.of_judging()
    content: dict[str, Any] = {}
    loaded, grades, qrels = None, "", qrels or []
    if plan is None:
        source.check()
        if (measure := wanted.measure) is None:
            raise ValueError(_NO_MEASURE)
        frame, queries = source.read(prices, measure)
        outlook, grades = Outlook.of(frame, queries, measure, cost, **wanted.fields), frame.attrs.get("grade_model", "")
        priced, unit = repr(cost), unit_of(cost)
        content = {"grades": grades} if grades else {}
    else:
        measured = given_words(measure=wanted.measure)
        if extra := dict.fromkeys(
            word for word in [*words_of(source), *words_of(prices), *measured] if word[:2] == "--"
        ):
            raise ValueError(f"a plan has its own pool, measure and costs; leave out {', '.join(extra)}")
        loaded = Plan.load(plan)
        labelled = LabelFiles(plan=plan, qrels=qrels).read() if qrels else None
        judged = loaded if labelled is None else labelled.judged
        outlook = Outlook.of_plan(judged, labelled and labelled.qrels, **wanted.fields)
        priced, unit = loaded.tables.manifest.arguments.cost, loaded.tables.manifest.arguments.unit.strip()
    table, hint = _asked(outlook, wanted, loaded, plan)
    content |= {"measure": str(outlook.measure), "rankers": list(outlook.names), "queries": outlook.queries}
    content |= {"expected_from": outlook.source}
    content |= {"notes": outlook.notes(table), "cost": priced, "rows": plain_rows(table)}
    counted = f"\nBudgets are {unit} of judging." if unit else ""
    if loaded is not None and labelled is not None and len(loaded.rankers) == 2:
        state = loaded.status(labelled.qrels, **wanted.fields, records=labelled.records)
        content["needed"] = state.to_dict()["needed"]
        counted += f"\nBy the labels so far, at the looks of this plan: {state.advice}."
    return Answer(content, outlook.described(table) + counted + (f"\n\n{grades}" if grades else ""), hint)


def _asked(outlook: Outlook, wanted: Wanted, plan: Plan | None, folder: Path | None) -> tuple[pd.DataFrame, str]:
    """The table that answers a question, and what to type next."""
    difference, confidence = wanted.difference, wanted.confidence
    if wanted.budget or (wanted.width is None and difference is None):
        ask = "Next, ask what an interval or a difference takes: --width X, or --difference X."
        return outlook.table(wanted.budget, difference, confidence=confidence), "" if difference else ask
    table = outlook.budget_for(width=wanted.width, difference=difference, confidence=confidence)
    if plan is None or folder is None or "topics" in table.columns:
        return table, _draw(outlook, table)
    return table, _more(table, plan, folder)


def _draw(outlook: Outlook, table: pd.DataFrame) -> str:
    """The hint with the command that draws the sample with the smallest budget."""
    rows, more = table.sort_values("budget", kind="stable"), ""
    best, what = rows.iloc[0], "the sample that costs least"
    how = ["--level", best["level"], "--design", best["design"]]
    if "topics" in table.columns and best["topics"] > outlook.forecast.queries:
        more = f"add {how_many('query', int(best['topics']) - outlook.forecast.queries)} like those of the pool, and "
    if outlook.measure.NAME == SCORE.NAME:  # whose units init has chosen
        best, what, how = rows.iloc[-1], "enough answers for each of these ways", []
    line = command_line("plan", *how, "--budget", rounded_up(best["budget"]))
    return f"Next, {more}draw {what}; add the files, the measure and --out, unless {FILE} has them:\n  {line}"


def _more(table: pd.DataFrame, plan: Plan, folder: Path) -> str:
    """The hint with what a plan lacks: an extension, or another plan where it cannot be extended."""
    arguments = plan.tables.manifest.arguments
    [row] = table[(table["level"] == arguments.level) & (table["design"] == arguments.design)].to_dict("records")
    lacking = row["budget"] - extended_from(plan)
    if lacking <= 0:
        return "The plan's own budget is enough."
    lack = f"The plan's budget is {amount(lacking)}{arguments.unit} short of it"
    if row["half_width"] == 0:
        return f"{lack}: only judging everything is enough."
    ordered = has_order(plan.tables)
    if not (ordered or arguments.level == "document"):
        again = f"--budget {rounded_up(row['budget'])} --seed {arguments.seed}"
        return f"{lack}: plan again as before, but with {again}."
    more = command_line("plan", "--extend", folder, "--budget", rounded_up(lacking), "--out", beside(folder, "-more"))
    return f"{lack}. Next, draw {'more' if ordered else 'another sample'}:\n  {more}"
