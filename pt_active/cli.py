"""The ``pt-active`` command: the road from runs to numbers, on files alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypeVar

import pandas as pd
import typer

from pt_active import files
from pt_active import simulate as replayed
from pt_active.command_line import Commands, check_names, check_new, command_line, show_answer
from pt_active.costs import Cost, LogLengthCost, UnitCost
from pt_active.designs import DESIGNS
from pt_active.documents.design import DRAWINGS, OBJECTIVES
from pt_active.estimators import ESTIMATORS
from pt_active.exports import FORMATS, read_judgments
from pt_active.labels import MISSING_POLICIES
from pt_active.plan import LEVELS, Plan
from pt_active.pool_files import (
    DEFAULT_GRADES,
    GRADES,
    grade_model,
    labelled_pool,
    read_pool,
    read_runs,
    united,
    with_texts,
)
from pt_active.ranking import Ranking
from pt_active.results import Comparison
from pt_active.simulate import DESIGN_NAMES, ESTIMATOR_NAMES
from pt_active.simulate_tables import in_short, plain_rows

COSTS: dict[str, Callable[..., Cost]] = {"unit": UnitCost, "log-length": LogLengthCost}
"""What ``--cost`` can be."""

_Command = TypeVar("_Command", bound=Callable[..., None])

app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def main() -> None:
    """Run the ``pt-active`` command."""
    app(prog_name="pt-active")


def _command(example: str) -> Callable[[_Command], _Command]:
    """Register a function as a command whose help ends in an example."""

    def register(function: _Command) -> _Command:
        app.command(help=f"{inspect.getdoc(function)}\n\nExample:\n\n\b\n{example}")(function)
        return function

    return register


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pt-active {version('pyterrier-active')}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Which ranker is better, and by how much, from as few human judgments as possible.

    The road: plan, export, let people judge, compare. See it all on simulated data with: pt-active demo
    """


PlanFolder = Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a plan.")]
Judgments = Annotated[
    list[Path], typer.Argument(metavar="QRELS", help="Qrels, or filled-in exports of any format; those of all rounds.")
]
Measure = Annotated[
    str | None, typer.Option(metavar="NAME", help="Another measure than the plan's, on the same judgments.")
]
Estimator = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(ESTIMATORS)}.")]
Confidence = Annotated[float, typer.Option(metavar="X", help="Level of the intervals.")]
Missing = Annotated[
    str, typer.Option(metavar="NAME", help=f"What to do about missing labels: {', '.join(MISSING_POLICIES)}.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@_command(
    "pt-active plan --run a=a.run --run b=b.run --train-run old.run \\\n"
    "    --train-qrels old.qrels --measure DCG@10 --budget 300 --out my-plan"
)
def plan(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    measure: Annotated[str, typer.Option(metavar="NAME", help="What to estimate, such as DCG@10 or nDCG@10.")],
    run: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="A ranker's run; repeat it.")] = None,
    pool: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Parquet frame with grade columns, instead of runs.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="What may be spent, in the unit of the cost.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(metavar="N", help="How many queries to draw, instead of a budget.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of everything random.")] = 0,
    topics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The queries; else those of the runs, without text.")
    ] = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Document texts, for the judges and --cost log-length.")
    ] = None,
    train_run: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A run that has been judged; repeat it.")
    ] = None,
    train_qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The judgments of the training runs.")
    ] = None,
    grades: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"{', '.join(GRADES)}; default {DEFAULT_GRADES}.")
    ] = None,
    judge: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another judge's qrels, to predict the grades from.")
    ] = None,
    max_grade: Annotated[int | None, typer.Option(metavar="N", help="Default: the highest training label.")] = None,
    cost: Annotated[str, typer.Option(metavar="NAME", help=f"Of a document: {', '.join(COSTS)}.")] = "unit",
    per_query: Annotated[float, typer.Option(metavar="X", help="Cost of opening a query.")] = 0.0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Draw with replacement: a query can come more than once.")
    ] = False,
    level: Annotated[str, typer.Option(metavar="NAME", help=f"What to sample: {' or '.join(LEVELS)}.")] = "query",
    design: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Queries: {', '.join(DESIGNS)}. Documents: {', '.join(DRAWINGS)}."),
    ] = None,
    defensive: Annotated[
        float | None, typer.Option(metavar="X", help="How little the design trusts the model; see the docs.")
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help=f"For documents of many rankers: {' or '.join(OBJECTIVES)} variance.")
    ] = "mean",
    depth: Annotated[int | None, typer.Option(metavar="N", help="Documents to keep of each ranking.")] = None,
    allow_missing_queries: Annotated[
        bool, typer.Option("--allow-missing-queries", help="A ranker scores 0 on queries that it does not answer.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Choose the queries or documents to judge, and keep the choice in a folder."""
    of_runs: dict[str, object] = {
        "--train-run": train_run,
        "--train-qrels": train_qrels,
        "--grades": grades,
        "--judge": judge,
    }
    of_runs |= {"--max-grade": max_grade, "--depth": depth, "--allow-missing-queries": allow_missing_queries}
    names = {"--cost": (cost, COSTS), "--grades": (grades, GRADES), "--level": (level, LEVELS)}
    _check_options(out, budget, draws, run, pool, of_runs, names)
    queries = None if topics is None else files.read_topics(topics)
    if pool is not None:
        frame = read_pool(pool)
    else:
        model = grade_model(grades, judge, max_grade, train_run or [], train_qrels, depth)
        frame = model.transform(united(read_runs(run or []), queries, depth, allow_missing_queries))
    frame = frame if texts is None else with_texts(frame, texts)
    if cost == "log-length" and "text" not in frame.columns:
        raise ValueError("--cost log-length needs the texts of the documents: --texts FILE")
    made = Plan.create(
        frame,
        queries,
        measure,
        cost=COSTS[cost](per_query=per_query),
        budget=budget,
        draws=draws,
        replace=replace,
        level=level,
        design=design,
        defensive=defensive,
        objective=objective,
        seed=seed,
    ).save(out)
    show_answer({"plan": str(out), **made.manifest}, _planned(made, out), json_output)


@_command("pt-active extend my-plan judged.csv --budget 200 --out my-plan-2")
def extend(
    plan: PlanFolder,
    qrels: Judgments,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    budget: Annotated[float, typer.Option(metavar="X", help="What the round may spend, in the unit of the cost.")],
    pool: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Parquet frame with the grades of a refitted model.")
    ] = None,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Document texts, for the judges.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Of the draws; default: the plan's own.")] = None,
    missing: Missing = "error",
    json_output: Json = False,
) -> None:
    """Choose more documents to judge, with what the labels so far have taught."""
    check_new(out)
    grades, text = None if pool is None else read_pool(pool), None if texts is None else files.read_texts(texts)
    made = Plan.load(plan).extend(budget, _read_labels(qrels), grades, texts=text, seed=seed, missing=missing).save(out)
    show_answer({"plan": str(out), **made.manifest}, _planned(made, out), json_output)


@_command("pt-active export my-plan --out judge-me.csv --format csv")
def export(
    plan: PlanFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(FORMATS)}.")] = "trec",
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Labels that are known already.")] = None,
    json_output: Json = False,
) -> None:
    """Write the documents that a plan wants judged, for people to fill in the labels."""
    check_new(out)
    loaded = Plan.load(plan)
    loaded.export(out, format, None if labels is None else _read_labels([labels]))
    count, answer = len(loaded.assessments), _next_answer(loaded, plan, out)
    text = f"{count} documents to judge are in {out}. Next, when the labels are filled in:\n  {answer}"
    show_answer({"file": str(out), "format": format, "assessments": count}, text, json_output)


@_command("pt-active estimate my-plan judged.csv")
def estimate(
    plan: PlanFolder,
    qrels: Judgments,
    measure: Measure = None,
    estimator: Estimator = "regression",
    confidence: Confidence = 0.95,
    missing: Missing = "error",
    json_output: Json = False,
) -> None:
    """Estimate how good each ranker is."""
    estimates = Plan.load(plan).estimate(_read_labels(qrels), measure, estimator, confidence, missing)
    rows = {name: found.to_dict() for name, found in estimates.items()}
    show_answer({"estimates": rows}, "\n\n".join(map(str, estimates.values())), json_output)


@_command("pt-active compare my-plan judged.csv")
def compare(
    plan: PlanFolder,
    qrels: Judgments,
    first: Annotated[str | None, typer.Option(metavar="NAME", help="A ranker of the plan; default: its first.")] = None,
    second: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to compare it with; default: the second.")
    ] = None,
    measure: Measure = None,
    estimator: Estimator = "regression",
    confidence: Confidence = 0.95,
    missing: Missing = "error",
    correction: Annotated[
        str | None, typer.Option(metavar="NAME", help="For many rankers: holm (default), tukey, …")
    ] = None,
    json_output: Json = False,
) -> None:
    """Say which of two rankers is better, by how much, and how sure that is; or rank many, if no two are named."""
    loaded, labels, how = Plan.load(plan), _read_labels(qrels), (measure, estimator, confidence, missing)
    found: Comparison | Ranking
    if len(loaded.rankers) > 2 and first is None and second is None:
        found = loaded.rank(labels, *how, correction=correction or "holm")
    elif correction is not None:
        raise ValueError("--correction is for more than two rankers, with neither --first nor --second")
    else:
        found = loaded.compare(labels, *how, first=first, second=second)
    show_answer(found.to_dict(), str(found), json_output)


@_command("pt-active simulate labelled.parquet --measure DCG@10 --ranker a --ranker b --train-fold 1")
def simulate(
    pool: Annotated[Path, typer.Argument(metavar="POOL", help="A Parquet pool with a label for each document.")],
    measure: Annotated[str, typer.Option(metavar="NAME", help="What to estimate, such as DCG@10.")],
    ranker: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One ranker, or two to compare; default: all of the pool.")
    ] = None,
    grades: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"{', '.join(GRADES)}; default {DEFAULT_GRADES}.")
    ] = None,
    train_fold: Annotated[
        int | None, typer.Option(metavar="N", help="The fold that the grade model learns from; the rest is replayed.")
    ] = None,
    cost: Annotated[str, typer.Option(metavar="NAME", help=f"Of a document: {', '.join(COSTS)}.")] = "unit",
    per_query: Annotated[float, typer.Option(metavar="X", help="Cost of opening a query.")] = 0.0,
    design: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Repeat it; default {', '.join(DESIGN_NAMES)} and a drawing of documents."),
    ] = None,
    estimator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"Repeat it; default {', '.join(ESTIMATOR_NAMES)}.")
    ] = None,
    budget: Annotated[
        list[float] | None, typer.Option(metavar="X", help="Repeat it; default: eight, up to half of the pool.")
    ] = None,
    repetitions: Annotated[int, typer.Option(metavar="N", help="Samples of each design.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Of everything random.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A CSV file to make, with every column.")] = None,
    json_output: Json = False,
) -> None:
    """Replay designs and estimators on judged data: what would they have saved?"""
    if out is not None:
        check_new(out)
    check_names({"--cost": (cost, COSTS), "--grades": (grades, GRADES)})
    frame = labelled_pool(pool, grades, train_fold)
    lengths = {"column": "length"} if cost == "log-length" and "length" in frame.columns else {}
    table = replayed.simulate(
        replayed.labelled_population(frame, measure, COSTS[cost](per_query=per_query, **lengths), ranker),
        designs=design,
        estimators=estimator or ESTIMATOR_NAMES,
        budgets=sorted(set(budget)) if budget else None,
        repetitions=repetitions,
        seed=seed,
    )
    if out is not None:
        table.to_csv(out, index=False)
    show_answer({"rows": plain_rows(table)}, in_short(table), json_output)


@_command("pt-active demo --out demo-out")
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")] = Path("demo-out"),
    seed: Annotated[int, typer.Option(metavar="N", help="Of the collection and the draws.")] = 7,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="Judgments to spend; default: a third of all.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Plan, judge and compare on a simulated collection, where the truth is known."""
    from rich.console import Console

    from pt_active.demo_run import run_demo, write_demo

    check_new(out)
    with Console(stderr=True).status("simulating, planning, judging …"):
        result = run_demo(seed, budget)
        write_demo(result, out)
    again = command_line("compare", out / "plan", out / "judgments.csv")
    text = f"{result}\n\nThe picture is {out / 'demo.png'}. The same comparison by hand:\n  {again}"
    show_answer({"folder": str(out)} | result.to_dict(), text, json_output)


def _check_options(
    out: Path,
    budget: float | None,
    draws: int | None,
    runs: list[str] | None,
    pool: Path | None,
    of_runs: dict[str, object],
    names: dict[str, tuple[str | None, Collection[str]]],
) -> None:
    """Refuse at once what would fail only after the files have been read."""
    check_new(out)
    if (budget is None) == (draws is None):
        raise ValueError("say either --budget or --draws, and not both")
    if bool(runs) == (pool is not None):
        raise ValueError("say either --run (one for each ranker) or --pool, and not both")
    given = [option for option, value in of_runs.items() if value]
    if pool is not None and given:
        raise ValueError(f"--pool has its grades already; leave out {', '.join(given)}")
    check_names(names)


def _read_labels(paths: list[Path]) -> pd.DataFrame:
    read = {path: read_judgments(path) for path in paths}
    for path, labels in read.items():
        if labels.empty:
            raise ValueError(f"{path}: no label is filled in")
    return pd.concat([labels[["qid", "docno", "label"]] for labels in read.values()], ignore_index=True)


def _planned(made: Plan, out: Path) -> str:
    worklist = out.with_name(f"{out.name}.csv")
    export = command_line("export", out, "--out", worklist, "--format", "csv")
    return f"{made}\n\nThe plan is in {out}. Next, write what people are to judge:\n  {export}"


def _next_answer(plan: Plan, folder: Path, worklist: Path) -> str:
    """The command that reads the judgments."""
    earlier = ["EARLIER-LABELS"] if len(plan.tables.rounds) > 1 else []
    return command_line("compare" if len(plan.rankers) > 1 else "estimate", folder, *earlier, worklist)
