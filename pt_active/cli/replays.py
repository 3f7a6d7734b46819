"""Commands that run on data with known labels: simulate and demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pt_active.cli import options
from pt_active.cli.command_line import Answer, check_names, check_new, command_line
from pt_active.cli.options import design_choices, one_of, whole
from pt_active.cli.pools import cross_graded_pool, labelled_pool, reads_texts
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import MAX_SEED
from pt_active.frames.visible import guarded
from pt_active.inference.estimators import ESTIMATORS
from pt_active.relevance.costs import COSTS
from pt_active.relevance.grades.auto import GRADES
from pt_active.relevance.grades.validation import FOLDS
from pt_active.showing.printed import plain_rows
from pt_active.studies import simulate as replayed
from pt_active.studies.simulate import DESIGN_NAMES, ESTIMATOR_NAMES, in_short

_FOLDS = f"\nEach query was graded by a model that learned from the others, in {FOLDS} folds."

MAX_REPETITIONS = 1_000_000
"""The most samples of a design: all estimates are kept until the end."""


def simulate(
    measure: Annotated[str, one_of(options.MEASURES, "The measure to estimate, such as DCG@10.")],
    pool: Annotated[
        Path | None, typer.Argument(metavar="POOL", help="A Parquet pool with a label for each document; or --run.")
    ] = None,
    run: options.Run = None,
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The judgments of the runs; grades are cross-validated.")
    ] = None,
    depth: options.Depth = None,
    unjudged: Annotated[
        str | None, one_of(("nonrelevant",), "What documents without a label are: {}; default: refused.")
    ] = None,
    lenient: options.Lenient = False,
    ranker: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One ranker, or two to compare; default: all of the pool.")
    ] = None,
    grades: options.Grades = None,
    train_fold: Annotated[
        int | None, typer.Option(metavar="N", help="The fold that the grade model learns from; the rest is replayed.")
    ] = None,
    cost: options.CostName = options.DEFAULT_COST,
    per_query: options.PerQuery = 0.0,
    design: Annotated[
        list[str] | None,
        one_of(design_choices, f"Repeat it; default {', '.join(DESIGN_NAMES)} and one of documents."),
    ] = None,
    estimator: Annotated[
        list[str] | None, one_of(ESTIMATORS, f"Repeat it; default {', '.join(ESTIMATOR_NAMES)}.")
    ] = None,
    budget: Annotated[
        list[float] | None, typer.Option(metavar="X", help="Repeat it; default: eight, up to half of the pool.")
    ] = None,
    repetitions: Annotated[int, whole("--repetitions", 1, MAX_REPETITIONS, "Samples of each design.")] = 1000,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A CSV file to make, with every column.")] = None,
) -> Answer:
    """Replay designs and estimators on judged data, to see what they would have saved.

    The data are runs with their judgments, or a Parquet pool.
    """
    if out is not None:
        check_new(out)
    check_names({"--grades": (grades, GRADES)})
    if pool is not None:
        if run or qrels is not None or depth is not None or unjudged is not None:
            raise ValueError("say either a pool, or --run and --qrels with --depth and --unjudged, and not both")
        frame = labelled_pool(pool, grades, train_fold)
    else:
        if not run or qrels is None:
            raise ValueError("say --run, once for each ranker, and --qrels; or a Parquet pool with labels")
        if train_fold is not None:
            raise ValueError("--train-fold is for a pool; runs are cut into folds by themselves")
        frame = cross_graded_pool(run, qrels, grades, depth, unjudged, lenient)
    told = "" if pool is not None else _FOLDS
    price = options.Prices(cost, per_query).of_judging()
    if reads_texts(price) and "length" in frame.columns:
        price = COSTS[cost](per_query=per_query, column="length")
    table = replayed.simulate(
        replayed.labelled_population(frame, measure, price, ranker),
        designs=design,
        estimators=estimator or ESTIMATOR_NAMES,
        budgets=sorted(set(budget)) if budget else None,
        repetitions=repetitions,
        seed=seed,
    )
    if out is not None:
        write_file(out, table.apply(guarded).to_csv(index=False))
    return Answer({"rows": plain_rows(table)}, f"{in_short(table)}{told}")


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")] = Path("demo-out"),
    seed: Annotated[int, whole("--seed", 0, MAX_SEED, "The random seed of the collection and the draws.")] = 7,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="Judgments to spend; default: a third of all.")
    ] = None,
) -> Answer:
    """Plan, judge and compare on a simulated collection, where the truth is known."""
    from rich.console import Console

    from pt_active.demo.picture import write_demo
    from pt_active.demo.run import run_demo

    check_new(out)
    with Console(stderr=True).status("simulating, planning, judging …"):
        result = run_demo(seed, budget)
        write_demo(result, out)
    again = command_line("compare", out / "plan", out / "judgments.csv")
    hint = f"The picture is {out / 'demo.png'}. The same comparison by hand:\n  {again}"
    return Answer({"folder": str(out)} | result.to_dict(), str(result), hint)
