"""Commands that run on data with known labels: simulate and demo."""

from __future__ import annotations

import warnings
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.cli.answer import Answer, check_new, command_line
from pt_active.cli.commands import argument, option
from pt_active.cli.files import RunFiles, grade_in_use, united
from pt_active.cli.options import MEASURES, design_choices, random_seed
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import MAX_WHOLE, agreeing, how_many, some
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.tables import read_parquet
from pt_active.frames.trec import read_qrels
from pt_active.frames.visible import guarded
from pt_active.relevance.costs import UnitCost
from pt_active.relevance.grades.learned import GRADES, usual_grades
from pt_active.relevance.grades.validation import FOLDS, out_of_fold
from pt_active.showing.printed import plain_rows
from pt_active.studies import simulate as replayed
from pt_active.studies.simulate import DESIGN_NAMES, ESTIMATOR_NAMES, in_short

DESIGNS_TRIED = ", ".join(DESIGN_NAMES)

SEED = 7  # The random seed of the demo

MAX_REPETITIONS = 1_000_000  # The most samples of a design: all estimates are kept until the end


def simulate(
    pool: Path | None = argument(None, "A Parquet pool with a label for each document, in place of --run.", "POOL"),
    measure: str = option(MISSING, "The measure to estimate, such as DCG@10.", "NAME", **MEASURES),
    run: list[str] | None = option(None, "A ranker's run; pass one for each ranker.", "NAME=FILE"),
    qrels: Path | None = option(None, "The judgments of the runs; grades are cross-validated.", "FILE"),
    depth: int | None = option(None, "The number of documents to keep of each ranking.", "N", within=(1, MAX_WHOLE)),
    unjudged: str | None = option(
        None, "How documents without a label count: {}; default: an error.", "NAME", names=("nonrelevant",), rare=True
    ),
    ranker: list[str] | None = option(None, "One ranker, or two to compare; default: all of the pool.", "NAME"),
    grades: str | None = option(
        None,
        "The grade model: {}; default: a forest if a pool has features, else an ordered logit.",
        "NAME",
        names=GRADES,
        rare=True,
    ),
    train_fold: int | None = option(None, "The fold that the grade model learns from; the rest is replayed.", "N"),
    design: list[str] | None = option(
        None,
        f"You may pass several; default: {DESIGNS_TRIED} and one of documents.",
        "NAME",
        names=design_choices,
    ),
    budget: list[float] | None = option(None, "You may pass several; default: eight, up to half of the pool."),
    repetitions: int = option(1000, "The number of samples of each design.", "N", within=(1, MAX_REPETITIONS)),
    seed: int = random_seed(),
    out: Path | None = option(None, "A CSV file to create, with every column.", "FILE"),
) -> Answer:
    """Replay designs and estimators on judged data, to see what they would have saved.

    The data are runs with their judgments, or a Parquet pool.
    """
    if out is not None:
        check_new(out)
    if pool is not None:
        if run or qrels is not None or depth is not None or unjudged is not None:
            raise ValueError("pass either a pool, or --run and --qrels with --depth and --unjudged")
        frame = labelled_pool(pool, grades, train_fold)
    else:
        if not run or qrels is None:
            raise ValueError("pass --run, once for each ranker, and --qrels; or a Parquet pool with labels")
        if train_fold is not None:
            raise ValueError("--train-fold is for a pool; runs are cut into folds by themselves")
        frame = cross_graded_pool(RunFiles(run=run), qrels, grades, depth, unjudged)
    table = replayed.simulate(
        replayed.labelled_population(frame, measure, UnitCost(), ranker),
        designs=design,
        estimators=ESTIMATOR_NAMES,
        budgets=sorted(set(budget)) if budget else None,
        repetitions=repetitions,
        seed=seed,
    )
    if out is not None:
        write_file(out, table.apply(guarded).to_csv(index=False))
    folds = f"Each query was graded by a model that learned from the others, in {FOLDS} folds."
    return Answer({"rows": plain_rows(table)}, in_short(table) + (f"\n{folds}" if pool is None else ""))


def labelled_pool(path: Path, name: str | None, train_fold: int | None) -> pd.DataFrame:
    """Read a pool whose documents have labels, and grade it unless it is graded already."""
    frame = read_parquet(path).reset_index(drop=True)
    if "label" not in frame.columns:
        raise ValueError(f"{path}: a replay needs a column 'label' with the true grade of each document")
    if grade_columns(frame.columns):
        if name is not None or train_fold is not None:
            raise ValueError(f"{path} already has grades; leave out --grades and --train-fold")
        return frame
    if train_fold is None or "fold" not in frame.columns:
        raise ValueError(f"{path} has no grades; pass --train-fold N, one of the values of its column 'fold'")
    train = frame["fold"] == train_fold
    if not train.any() or train.all():
        folds = some(sorted(frame["fold"].unique().tolist()), 20)
        raise ValueError(f"{path}: fold {train_fold} must hold some queries and not all; the folds are {folds}")
    known, labels = (checked_qrels(part.dropna(subset="label")) for part in (frame, frame[train]))
    if known.empty:
        raise ValueError(f"{path}: no document has a label")
    model = _model(name or usual_grades(frame.columns), known, path)
    past = frame[train].drop(columns="label")
    return (model.fit(past, labels) if hasattr(model, "fit") else model).transform(frame[~train])


def cross_graded_pool(
    runs: RunFiles, qrels: Path, name: str | None, depth: int | None, unjudged: str | None
) -> pd.DataFrame:
    """Unite judged runs; each fold of queries is graded by a model that learned from the labels of the others."""
    known = read_qrels(qrels)
    frame = united(runs.runs(), None, depth, True)
    asked = frame["qid"].drop_duplicates()
    idle = asked[~asked.isin(known["qid"])]
    if len(asked) - len(idle) < 2:
        judged = len(asked) - len(idle)
        raise ValueError(f"{qrels}: a replay needs labels of at least 2 queries of the runs, got {judged}")
    if len(idle):
        warnings.warn(f"{how_many('query', len(idle), 'is')} left out, without a label: {some(idle)}", stacklevel=2)
    frame = frame[~frame["qid"].isin(idle)].merge(known, how="left", on=["qid", "docno"])
    absent = frame.loc[frame["label"].isna(), ["qid", "docno"]]
    if len(absent) and unjudged is None:
        raise ValueError(
            f"{len(absent)} of {how_many('document', len(frame))} of the runs {agreeing('has', len(absent))} no label: "
            f"{some(absent.itertuples(index=False, name=None))}; pass --depth N, how deep was judged, or --unjudged "
            "nonrelevant to take them as grade 0"
        )
    frame["label"] = frame["label"].fillna(0).astype(np.int64)
    model = _model(name or usual_grades(frame.columns), known, qrels)
    if not hasattr(model, "fit"):
        return model.transform(frame)
    documents = frame.drop(columns="label").reset_index(drop=True)
    grades = out_of_fold(model, documents, frame["label"].to_numpy())
    return frame.reset_index(drop=True).assign(**{f"grade_{g}": column for g, column in enumerate(grades.T)})


def _model(name: str, known: pd.DataFrame, path: Path) -> Any:
    remedy = ("give the pool its own grades, in columns grade_0 to grade_",)
    return GRADES[name](grade_in_use(known, path, remedy))


def demo(out: Path = option(Path("demo-out"), "The folder to create.", "DIR")) -> Answer:
    """Plan, judge and compare on a simulated collection, where the truth is known."""
    from rich.console import Console

    from pt_active.demo.run import run_demo, write_demo

    check_new(out)
    with Console(stderr=True).status("simulating, planning, judging …"):
        result = run_demo(SEED)
        write_demo(result, out)
    again = command_line("status", out / "plan", out / "judgments.csv")
    hint = f"To make the same comparison yourself:\n  {again}"
    return Answer({"folder": str(out)} | result.to_dict(), str(result), hint)
