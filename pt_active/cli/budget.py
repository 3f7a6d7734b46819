"""The command that says how many judgments an answer takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pt_active.cli.answer import Answer, beside, command_line, extended_from, rounded_up
from pt_active.cli.commands import argument, option
from pt_active.cli.files import PoolFiles
from pt_active.cli.options import MEASURES, JudgingCosts, LabelFiles, Meant, confidence_level, label_files
from pt_active.frames.checks import how_many
from pt_active.plans.answers.outlook import POWER, Outlook
from pt_active.plans.making.manifest import dropped_lines
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import unit_of
from pt_active.showing.printed import plain_rows


@dataclass(frozen=True)
class Wanted(Meant):
    """What an answer is to reach, and for which queries."""

    width: float | None = option(None, "The half-width wanted of the interval.")
    difference: float | None = option(None, "The difference to find.")
    power: float = option(POWER, "The chance of finding it.", rare=True)
    until_known: bool = option(False, "Judging stops at the label that settles the difference.")
    budget: list[float] | None = option(None, "A budget to show; repeat it.")
    query_cost: float = option(0.0, "What each new query costs beside its labels, in the unit of budgets.", rare=True)
    confidence: float = confidence_level()

    def check(self) -> None:
        """Raise if two questions are asked at once."""
        if self.budget and self.width is not None:
            raise ValueError("pass either --budget or --width, and not both")
        if self.until_known and (self.width is not None or self.budget):
            raise ValueError("leave out --width and --budget with --until-known")
        if self.until_known and self.difference is None:
            raise ValueError("--until-known needs --difference")
        if self.query_cost and self.width is None and self.difference is None:
            raise ValueError("--query-cost needs --width or --difference")


def budget(
    source: PoolFiles,
    prices: JudgingCosts,
    wanted: Wanted,
    plan: Path | None = argument(None, "A plan, instead of runs; with its labels it is a pilot.", "PLAN"),
    qrels: list[Path] | None = label_files(None),
    measure: str | None = option(None, "The measure to estimate; a plan has its own.", "NAME", **MEASURES),
) -> Answer:
    """Forecast how many judgments or hours an answer takes, before the first judgment or after a first round."""
    wanted.check()
    cost, words = prices.of_judging(), [*source.words(), *prices.words()]
    content: dict[str, Any] = {}
    loaded, grades, qrels = None, "", qrels or []
    if plan is None:
        source.check()
        if measure is None:
            raise ValueError("pass what to estimate, such as --measure DCG@10")
        frame, queries = source.read(prices, measure)
        outlook, grades = Outlook.of(frame, queries, measure, cost, **wanted.fields), frame.attrs.get("grade_model", "")
        priced, unit = repr(cost), unit_of(cost)
        words = [*source.words(), "--measure", measure, *prices.words()]
        dropped = [each.to_json() for each in dropped_lines(frame.attrs.get("dropped", {}))]
        content = ({"dropped": dropped} if dropped else {}) | ({"grades": grades} if grades else {})
    else:
        given = [*words, *(["--measure"] if measure else [])]
        if extra := dict.fromkeys(word for word in given if word.startswith("--")):
            raise ValueError(f"a plan has its own pool, measure and costs; leave out {', '.join(extra)}")
        loaded = Plan.load(plan)
        labelled = LabelFiles(plan=plan, qrels=qrels).read() if qrels else None
        judged = loaded if labelled is None else labelled.judged
        outlook = Outlook.of_plan(judged, labelled and labelled.qrels, **wanted.fields)
        priced, unit = loaded.tables.manifest.arguments.cost, loaded.tables.manifest.arguments.unit.strip()
    table, hint = _asked(outlook, wanted, loaded, plan, qrels, words)
    content |= {"measure": str(outlook.measure), "rankers": list(outlook.names), "queries": outlook.queries}
    content |= {"expected_from": outlook.source}
    content |= {"notes": outlook.notes(table), "cost": priced, "rows": plain_rows(table)}
    counted = f"\nBudgets are {unit} of judging." if unit else ""
    return Answer(content, outlook.described(table) + counted + (f"\n\n{grades}" if grades else ""), hint)


def _asked(
    outlook: Outlook, wanted: Wanted, plan: Plan | None, folder: Path | None, qrels: list[Path], words: list[str]
) -> tuple[pd.DataFrame, str]:
    """The table that answers a question, and what to type next."""
    difference, power, confidence = wanted.difference, wanted.power, wanted.confidence
    if wanted.until_known and difference is not None:
        table = outlook.until_known(difference, power, confidence)
        return table, "" if plan is not None else _draw(table, words, "cost", "cost_90")
    if wanted.budget or (wanted.width is None and difference is None):
        ask = "Next, ask what an interval or a difference takes: --width X, or --difference X."
        return outlook.table(wanted.budget, difference, power, confidence), "" if difference else ask
    aim: dict[str, Any] = {"width": wanted.width, "difference": difference, "power": power, "confidence": confidence}
    table = outlook.budget_for(**aim, query_cost=wanted.query_cost)
    if "topics" in table.columns:
        return table, _of_new_queries(table, outlook.forecast.queries)
    if plan is None or folder is None:
        return table, _draw(table, words, "budget", "budget")
    return table, _more(table, plan, folder, qrels)


def _draw(table: pd.DataFrame, words: list[str], least: str, budget: str) -> str:
    """The hint with the command that draws the sample with the least value of a column."""
    best = table.to_dict("records")[int(table[least].to_numpy().argmin())]
    how = ["--level", best["level"], "--design", best["design"], "--budget", rounded_up(best[budget])]
    what = "the sample that costs least" if best.get("half_width", 1) > 0 else "everything, since nothing less does"
    if least == "cost":
        what = "the sample that is expected to cost least, and ask for its status as labels come in"
    return f"Next, draw {what}:\n  {command_line('plan', *words, *how, '--out', 'my-plan')}"


def _of_new_queries(table: pd.DataFrame, pool: int) -> str:
    """The hint with the number of queries, and the plan for them, that cost least."""
    best = table.sort_values("cost" if "cost" in table.columns else "budget").iloc[0]
    how = f"--level {best['level']} --design {best['design']} --budget {rounded_up(best['budget'])}"
    if best["topics"] > pool:
        more = how_many("query", int(best["topics"]) - pool)
        return (
            f"Next, add {more} like those of the pool, and draw the sample that costs least: pt-active plan with {how}."
        )
    return f"Next, draw the sample that costs least: pt-active plan with {how}."


def _more(table: pd.DataFrame, plan: Plan, folder: Path, qrels: list[Path]) -> str:
    """The hint with what a plan lacks: an extension, or another plan where it cannot be extended."""
    arguments = plan.tables.manifest.arguments
    [row] = table[(table["level"] == arguments.level) & (table["design"] == arguments.design)].to_dict("records")
    lacking = row["budget"] - extended_from(plan)
    if lacking <= 0:
        return "The plan's own budget is enough."
    lack = f"The plan lacks {lacking:.4g}{arguments.unit} of it"
    if row["half_width"] == 0:
        return f"{lack}: only judging everything does it."
    ordered = has_order(plan.tables)
    if not (ordered or (qrels and arguments.level == "document")):
        again = f"--budget {rounded_up(row['budget'])} --seed {arguments.seed}"
        return f"{lack}: plan again as before, but with {again}."
    more = command_line("extend", folder, *qrels, "--budget", rounded_up(lacking), "--out", beside(folder, "-more"))
    return f"{lack}. Next, draw {'more' if ordered else 'another round'}:\n  {more}"
