"""Commands that run on data with known labels: simulate and demo."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from pt_active.cli.answer import Answer, check_new, command_line
from pt_active.cli.files import RunFiles, grade_in_use, united
from pt_active.cli.options import REQUIRED, SEED, flag, word
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import how_many, some, whole_number
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.tables import read_parquet
from pt_active.frames.trec import read_qrels
from pt_active.frames.visible import guarded
from pt_active.relevance.costs import UnitCost
from pt_active.relevance.grades.learned import GRADES, usual_grades
from pt_active.relevance.grades.report import FOLDS, out_of_fold
from pt_active.showing.printed import plain_rows
from pt_active.studies import simulate as replayed
from pt_active.studies.simulate import DESIGN_NAMES, ESTIMATOR_NAMES, in_short

DESIGNS_TRIED = ", ".join(DESIGN_NAMES)

DEMO_SEED = 4

MAX_REPETITIONS = 1_000_000  # The most samples of a design: all estimates are kept until the end


def simulate(
    measure: str = flag("The measure to estimate, such as DCG@10.", "NAME", REQUIRED),
    pool: Path | None = word("A Parquet pool with a label for each document, in place of --run.", "POOL"),
    run: list[str] | None = flag("A ranker's run; pass one for each ranker.", "NAME=FILE"),
    qrels: Path | None = flag("The judgments of the runs.", "FILE"),
    depth: int | None = flag("The number of documents to keep of each ranking.", "N"),
    ranker: list[str] | None = flag("One ranker, or two to compare; default: all of the pool.", "NAME"),
    design: list[str] | None = flag(f"You may pass several; default: {DESIGNS_TRIED} and one of documents.", "NAME"),
    budget: list[float] | None = flag("You may pass several; default: eight, up to half of the pool."),
    repetitions: int = flag("The number of samples of each design; default 1000.", "N", 1000),
    seed: int = flag(SEED, "N", 0),
    out: Path | None = flag("A CSV file to create, with every column.", "FILE"),
) -> Answer:
    """Replay designs and estimators on judged data, to see what they would have saved.

    The data are runs with their judgments, or a Parquet pool. Without grades in the pool, each query is graded by a
    model that learned from others: a forest if there are features, else an ordered logit.
    """
    if out is not None:
        check_new(out)
    whole_number("repetitions", repetitions, 1, MAX_REPETITIONS)
    if pool is not None:
        if run or qrels is not None or depth is not None:
            raise ValueError("pass either a pool, or --run and --qrels with --depth")
        frame, known = labelled_pool(pool)
    else:
        if not run or qrels is None:
            raise ValueError("pass --run, once for each ranker, and --qrels; or a Parquet pool with labels")
        frame, known = judged_runs(RunFiles(run=run), qrels, depth)
    crossed = not grade_columns(frame.columns)
    frame = cross_graded(frame, known, pool or qrels) if crossed else frame
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
    return Answer({"rows": plain_rows(table)}, in_short(table) + (f"\n{folds}" if crossed else ""))


def labelled_pool(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A pool whose documents have labels, and these labels as qrels."""
    frame = read_parquet(path).reset_index(drop=True)
    if "label" not in frame.columns:
        raise ValueError(f"{path}: a replay needs a column 'label' with the true grade of each document")
    known = checked_qrels(frame.dropna(subset="label"))
    if known.empty:
        raise ValueError(f"{path}: no document has a label")
    return frame, known


def judged_runs(runs: RunFiles, qrels: Path, depth: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The union of judged runs with its labels, which are 0 where there is none, and all qrels."""
    known = read_qrels(qrels)
    frame = united(runs.runs(), None, depth)
    has_labels = frame["qid"].isin(known["qid"])
    judged, idle = frame.loc[has_labels, "qid"].nunique(), frame.loc[~has_labels, "qid"].drop_duplicates()
    if judged < 2:
        raise ValueError(f"{qrels}: a replay needs labels of at least 2 queries of the runs, got {judged}")
    if len(idle):
        warnings.warn(f"{how_many('query', len(idle), 'is')} left out, without a label: {some(idle)}", stacklevel=2)
    frame = frame[has_labels].merge(known, how="left", on=["qid", "docno"])
    absent = frame.loc[frame["label"].isna(), ["qid", "docno"]]
    if len(absent):
        counted = f"{len(absent)} of {how_many('document', len(frame))} of the runs have no label and count as grade 0"
        pairs = some(absent.itertuples(index=False, name=None))
        warnings.warn(f"{counted}: {pairs}; --depth N leaves out what was not judged", stacklevel=2)
    return frame.assign(label=frame["label"].fillna(0).astype(np.int64)), known


def cross_graded(frame: pd.DataFrame, known: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """A pool, each fold of whose queries is graded by a model that learned from the labels of the others."""
    highest = grade_in_use(known, path, "give the pool its own grades, in columns grade_0 to grade_")
    model, labels = GRADES[usual_grades(frame.columns)](highest), frame["label"].fillna(-1).to_numpy(np.int64)
    grades = out_of_fold(model, frame.drop(columns="label"), labels)
    return frame.assign(**{f"grade_{g}": column for g, column in enumerate(grades.T)})


def demo() -> Answer:
    """Plan, judge and compare on a simulated collection, where the truth is known; the folder demo-out is created."""
    from rich.console import Console

    from pt_active.demo.run import run_demo, write_demo

    out = Path("demo-out")
    if out.exists():
        raise FileExistsError(f"{out} exists; take it away, or run the demo in another folder")
    with Console(stderr=True).status("simulating, planning, judging …"):
        result = run_demo(DEMO_SEED)
        write_demo(result, out)
    again = command_line("status", out / "plan", out / "judgments.csv", "--looks", "end")
    hint = f"To make the same comparison yourself:\n  {again}"
    return Answer({"folder": str(out)} | result.to_dict(), str(result), hint)
