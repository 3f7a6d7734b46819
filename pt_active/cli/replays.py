"""Commands that run on data with known labels: simulate and demo."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from pt_active.cli.answer import Answer, check_new, command_line
from pt_active.cli.files import DEFAULT_GRADES, RunFiles, grade_in_use, united
from pt_active.cli.options import REQUIRED, SEED, flag
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import how_many, some, whole_number
from pt_active.frames.trec import read_qrels
from pt_active.frames.visible import guarded
from pt_active.relevance.costs import UnitCost
from pt_active.relevance.grades.learned import GRADES
from pt_active.relevance.grades.report import FOLDS, out_of_fold
from pt_active.showing.printed import plain_rows
from pt_active.studies import simulate as replayed
from pt_active.studies.simulate import DESIGN_NAMES, ESTIMATOR_NAMES, in_short

DESIGNS_TRIED = ", ".join(DESIGN_NAMES)

DEMO_SEED = 4

MAX_REPETITIONS = 1_000_000  # The most samples of a design: all estimates are kept until the end


def simulate(
    measure: str = flag("The measure to estimate, such as DCG@10.", "NAME", REQUIRED),
    run: list[str] = flag("A ranker's run; pass one for each ranker.", "NAME=FILE", REQUIRED),
    qrels: Path = flag("The judgments of the runs.", "FILE", REQUIRED),
    depth: int | None = flag("The number of documents to keep of each ranking.", "N"),
    design: list[str] | None = flag(f"You may pass several; default: {DESIGNS_TRIED} and one of documents.", "NAME"),
    budget: list[float] | None = flag("You may pass several; default: eight, up to half of the pool."),
    repetitions: int = flag("The number of samples of each design; default 1000.", "N", 1000),
    seed: int = flag(SEED, "N", 0),
    out: Path | None = flag("A CSV file to create, with every column.", "FILE"),
) -> Answer:
    """Replay designs and estimators on runs with their judgments, to see what they would have saved.

    Each query is graded by an ordered logit that learned from others.
    """
    if out is not None:
        check_new(out)
    whole_number("repetitions", repetitions, 1, MAX_REPETITIONS)
    frame = cross_graded(*judged_runs(RunFiles(run=run), qrels, depth), qrels)
    table = replayed.simulate(
        replayed.labelled_population(frame, measure, UnitCost()),
        designs=design,
        estimators=ESTIMATOR_NAMES,
        budgets=sorted(set(budget)) if budget else None,
        repetitions=repetitions,
        seed=seed,
    )
    if out is not None:
        write_file(out, table.apply(guarded).to_csv(index=False))
    folds = f"Each query was graded by a model that learned from the others, in {FOLDS} folds."
    return Answer({"rows": plain_rows(table)}, f"{in_short(table)}\n{folds}")


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


def cross_graded(frame: pd.DataFrame, known: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A pool, each fold of whose queries is graded by a model that learned from the labels of the others."""
    highest = grade_in_use(known, path, "give the pool its own grades, in columns grade_0 to grade_")
    model, labels = GRADES[DEFAULT_GRADES](highest), frame["label"].fillna(-1).to_numpy(np.int64)
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
