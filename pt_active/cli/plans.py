"""Commands that choose what people should judge: plan, budget and sample-queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pt_active.cli.answer import Answer, check_new, command_line, extension, kept_at, rounded_up
from pt_active.cli.audit import audit_of
from pt_active.cli.files import PoolFiles, named_files, texts_for
from pt_active.cli.options import OUT_FOLDER, REQUIRED, SEED, LabelFiles, Meant, flag, judged_part, spelled, word
from pt_active.cli.project import FILE
from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import how_many, shown
from pt_active.judging.server.store import is_of_plan
from pt_active.logs import sample_queries as drawn_from
from pt_active.plans.answers.outlook import Outlook
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import unit_of
from pt_active.relevance.measures import SCORE
from pt_active.showing.printed import plain_rows
from pt_active.showing.rounding import amount

MEASURE = "The measure to estimate, such as DCG@10 or nDCG@10."


def _measure(measure: str | None) -> str:
    if measure is None:
        raise ValueError("pass what to estimate, such as --measure DCG@10")
    return measure


def plan(
    *,
    budget: float = flag(
        "The most that judging may cost, a document 1 by default; pt-active budget advises.", default=REQUIRED
    ),
    level: str | None = None,
    design: str | None = None,
    seed: int = 0,
    defensive: float | None = None,
    source: PoolFiles,
    out: Path = flag(OUT_FOLDER, "DIR", REQUIRED),
    measure: str | None = flag(MEASURE, "NAME"),
    extend: Path | None = flag("A plan to add to.", "PLAN"),
    audit: bool = flag("Choose what tells how often the judges of --judge are wrong.", default=False),
    project: Path | None = None,
) -> Answer:
    """Choose the queries or documents to judge, and keep the choice in a folder.

    With --audit, people label what judges such as LLMs have labelled, to learn how often each is wrong.
    """
    check_new(out)
    if extend is not None:
        _check_left_out(source, measure, "a plan goes on as it began", "texts")
        loaded = Plan.load(extend)
        longer = loaded.extend(budget, texts=texts_for(loaded, source.texts)).save(out)
        files = [kept_at(extend), *sorted(extend.parent.glob("*.sqlite"))]
        stores = [file for file in files if is_of_plan(file, loaded.tables.manifest.origin)]
        return _planned(longer, out, project, store=["--store", stores[0]] if stores else [])
    if audit:
        used = ("judge", "train_qrels", "max_grade", "topics", "texts")
        _check_left_out(source, measure, "an audit is of judges alone", *used)
        return audit_of(source, budget, seed, out)
    sampling: dict[str, Any] = {"level": level, "design": design, "seed": seed, "defensive": defensive}
    cost, measure = source.of_judging(), _measure(measure)
    frame, queries, grades = source.read(measure)
    made = Plan.create(frame, queries, measure, cost=cost, budget=budget, **sampling).save(out)
    return _planned(made, out, project, grades)


def _check_left_out(source: PoolFiles, measure: str | None, why: str, *used: str) -> None:
    """Raise if something is typed that a plan that there is, or an audit, has no use for."""
    given = {"measure": measure, **vars(source)}
    if extra := [spelled(name) for name, value in given.items() if value is not None and name not in used]:
        raise ValueError(f"{why}; leave out {', '.join(extra)}")


def _planned(made: Plan, out: Path, project: Path | None, grades: str = "", store: Sequence[object] = ()) -> Answer:
    alone = len(made.rankers) == 1
    line = command_line("judge", out, *store, *(["--margin", "X"] if alone else []), project=project)
    margin = " (X is how far off the estimate may be)" if alone else ""
    hint = f"The plan is in {out}. Next, let people judge it in their browsers{margin}:\n  {line}"
    content = {"plan": str(out), **made.manifest, "caution": made.caution} | ({"grades": grades} if grades else {})
    return Answer(content, f"{made}\n\n{grades}" if grades else str(made), hint)


@dataclass(frozen=True)
class BudgetFiles(PoolFiles):
    """The source of a graded pool, whose queries and costs few forecasts need to name."""

    topics: Path | None = None
    texts: Path | None = None


@dataclass(frozen=True)
class Wanted(Meant):
    """What an answer is to reach, and for which queries."""

    width: float | None = flag("The half-width that you want for the interval.")
    difference: float | None = flag("The difference that you want to find.")
    budget: list[float] | None = flag("A budget to forecast; you may pass several.")
    confidence: float = 0.95
    project: Path | None = None

    def __post_init__(self) -> None:
        if self.budget and self.width is not None:
            raise ValueError("pass either --budget or --width, and not both")


def budget(
    source: BudgetFiles,
    wanted: Wanted,
    measure: str | None = flag(MEASURE, "NAME"),
    plan: Path | None = word("A plan, in place of runs; with labels, it is a pilot.", "PLAN"),
    qrels: list[Path] | None = word("Labels of the plan.", "LABELS"),
    grade_names: str | None = None,
) -> Answer:
    """Forecast how many judgments an answer takes, before the first judgment or after a first round."""
    grades, advice = "", ""
    content: dict[str, Any] = {}
    if plan is None:
        cost, measure = source.of_judging(), _measure(measure)
        frame, queries, grades = source.read(measure)
        outlook = Outlook.of(frame, queries, measure, cost, **wanted.fields)
        table, hint = _asked(outlook, wanted)
        content = {"grades": grades} if grades else {}
        content["cost"] = repr(cost)
        unit = unit_of(cost)
    else:
        _check_left_out(source, measure, "a plan has its own pool, measure and costs")
        loaded = Plan.load(plan)
        arguments = loaded.tables.manifest.arguments
        content["cost"] = arguments.cost
        unit = arguments.unit.strip()
        if qrels:
            labels = LabelFiles(plan, qrels, grade_names).of(loaded)
            outlook = Outlook.of_plan(judged_part(loaded, labels), as_qrels(labels), **wanted.fields)
            if len(loaded.rankers) == 2:
                state = loaded.status(labels, **wanted.fields)
                content["needed"] = state.to_dict()["needed"]
                advice = f"\nBy the labels so far, at the looks of this plan: {state.advice}."
        else:
            outlook = Outlook.of_plan(loaded, **wanted.fields)
        table, hint = _asked(outlook, wanted, loaded, plan)
    content |= {"measure": str(outlook.measure), "rankers": list(outlook.names), "queries": outlook.queries}
    content |= {"expected_from": outlook.source, "notes": outlook.notes(table), "rows": plain_rows(table)}
    counted = f"\nBudgets are {unit} of judging." if unit else ""
    model = f"\n\n{grades}" if grades else ""
    return Answer(content, f"{outlook.described(table)}{counted}{advice}{model}", hint)


def _asked(
    outlook: Outlook, wanted: Wanted, plan: Plan | None = None, folder: Path | None = None
) -> tuple[pd.DataFrame, str]:
    """The table that answers a question, and what to type next."""
    difference, confidence = wanted.difference, wanted.confidence
    if wanted.budget or (wanted.width is None and difference is None):
        hint = "Next, ask what an interval or a difference takes: --width X, or --difference X."
        return outlook.table(wanted.budget, difference, confidence=confidence), "" if difference else hint
    table = outlook.budget_for(width=wanted.width, difference=difference, confidence=confidence)
    if plan is None or folder is None or "topics" in table.columns:
        return table, _draw(outlook, table, wanted.project)
    return table, _more(table, plan, folder, wanted.project)


def _draw(outlook: Outlook, table: pd.DataFrame, project: Path | None) -> str:
    """The hint with the command that draws the sample with the smallest budget."""
    rows, more, how = table.sort_values("budget", kind="stable"), "", ""
    best, what = rows.iloc[0], "the sample that costs least"
    if "topics" in table.columns and best["topics"] > outlook.forecast.queries:
        more = f"add {how_many('query', int(best['topics']) - outlook.forecast.queries)} like those of the pool, and "
    if outlook.measure.NAME == SCORE.NAME:  # whose units init has chosen
        best, what = rows.iloc[-1], "enough answers for each of these ways"
    else:
        how = f' with level = "{best["level"]}" and design = "{best["design"]}" in {project or FILE}'
    line = command_line("plan", "--budget", rounded_up(best["budget"]), project=project)
    return f"Next, {more}draw {what}{how}; add the files, the measure and --out, unless they stand there:\n  {line}"


def _more(table: pd.DataFrame, plan: Plan, folder: Path, project: Path | None) -> str:
    """The hint with what a plan lacks: an extension, or another plan where it cannot be extended."""
    arguments = plan.tables.manifest.arguments
    [row] = table[(table["level"] == arguments.level) & (table["design"] == arguments.design)].to_dict("records")
    lacking = row["budget"] - plan.tables.manifest.limit
    if lacking <= 0:
        return "The plan's own budget is enough."
    lack = f"The plan's budget is {amount(lacking)}{arguments.unit} short of it"
    if arguments.level == "query" and not has_order(plan.tables):
        again = f"--budget {rounded_up(row['budget'])}"
        return f"{lack}: plan again as before, with the same seed, but with {again}."
    return f"{lack}. Next, draw more:\n  {extension(folder, rounded_up(lacking), project)}"


def sample_queries(
    run: list[str] = flag(
        "A ranker's files or a pattern: Parquet or CSV; pass one for each ranker.", "NAME=FILES", REQUIRED
    ),
    size: int = flag("The number of queries to draw.", "N", REQUIRED),
    out: Path = flag(OUT_FOLDER, "DIR", REQUIRED),
    weight: str | None = flag(
        "The traffic: a column of the runs, or a file with qid, traffic and perhaps query.", "COLUMN|FILE"
    ),
    seed: int = flag(SEED, "N", 0),
) -> Answer:
    """Draw queries of a log, each at most once, by their traffic, and write their runs to plan from.

    The folder gets a run of each ranker, and topics.csv with the drawn queries and the weights that they stand for. A
    plan of these answers for the log with --queries new.
    """
    check_new(out)
    files = named_files(run, "--run")
    if wrong := [name for name in files if Path(name).name != name]:
        raise ValueError(f"--run: the name {shown(wrong[0])} cannot be that of a file")
    sample = drawn_from(files, size, weight=weight, seed=seed)
    with new_folder(out) as folder:
        topics = sample.topics if "query" in sample.topics else sample.topics.assign(query="")
        topics.to_csv(folder / "topics.csv", index=False)
        for name, rows in sample.runs.items():
            rows.to_parquet(folder / f"{name}.parquet", index=False)
    certain = f", {sample.certain} of them certain to be drawn" if sample.certain else ""
    said = f"{how_many('query', len(sample.topics))} of {sample.queries}{certain}"
    lengths = {name: len(each) for name, each in sample.runs.items()}
    content = {"out": str(out), "queries": sample.queries, "drawn": len(sample.topics), "certain": sample.certain}
    hint = f"Next, plan from these runs with --topics {out / 'topics.csv'}, and ask for --queries new."
    return Answer(content | {"rows": lengths}, f"Drawn: {said}, and their runs, in {out}.", hint)
