"""Reads and grades pools from the files that are given on the command line."""

from __future__ import annotations

import errno
import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.cli.command_line import check_names
from pt_active.frames.checks import Argument, ArgumentError, agreeing, how_many, shown, some
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.sources import naming
from pt_active.frames.tables import read_parquet
from pt_active.frames.trec import read_qrels, read_run
from pt_active.relevance.costs import Cost
from pt_active.relevance.grades.auto import GRADES, AutoGrades
from pt_active.relevance.grades.guards import TrainingWarning, Words
from pt_active.relevance.grades.judge_tables import judge_table, read_judge, votes_in
from pt_active.relevance.grades.judges import JudgeGrades
from pt_active.relevance.grades.models import ColdGrades, FittedGrades, GradeModel
from pt_active.relevance.grades.report import GradeReport
from pt_active.relevance.grades.validation import out_of_fold
from pt_active.relevance.measures import parse_measure
from pt_active.transformers import Runs

DEFAULT_GRADES = "auto"
"""The default of ``--grades``."""

COLD_GRADES = "cold"
"""The grade model where there is no training data."""

_WITHOUT_JUDGMENTS = "without any judgments, say --max-grade N, the highest grade, and no --grades"

MAX_STRAY_SHARE = 0.02
"""If a smaller share of the training labels lies above a grade that no label has, they are taken for mistakes."""


def read_pool(path: Path) -> pd.DataFrame:
    """Read a Parquet frame that already has grades."""
    return read_parquet(path).reset_index(drop=True)


def read_runs(given: list[str], lenient: bool = False) -> dict[str, pd.DataFrame]:
    """Read the run of each ranker."""
    return {name: read_run(file, _on_error(lenient)) for name, file in run_files(given).items()}


def _on_error(lenient: bool) -> str:
    return "skip" if lenient else "raise"


def run_files(given: list[str]) -> dict[str, str]:
    """The file of each ranker's run, by its name."""
    files: dict[str, str] = {}
    for entry in given:
        name, _, file = entry.partition("=")
        if not name or not file:
            raise ValueError(f"--run needs NAME=FILE, got {shown(entry)}")
        if name in files or name in inspect.signature(Runs.__init__).parameters:
            raise ValueError(f"--run {entry}: the name {shown(name)} is taken")
        files[name] = file
    return files


def reads_texts(cost: Cost) -> bool:
    """Whether a cost is computed from the texts of the documents."""
    return getattr(cost, "column", None) == "text"


def check_file(path: str | Path) -> None:
    """Raise if a file does not exist."""
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def united(
    runs: dict[str, pd.DataFrame], queries: pd.DataFrame | None, depth: int | None, allow_missing_queries: bool
) -> pd.DataFrame:
    """Unite runs, for the queries given, or else for all queries of the runs."""
    if queries is None:
        queries = pd.DataFrame({"qid": pd.concat([run["qid"] for run in runs.values()]).unique()})
    return Runs(depth, allow_missing_queries=allow_missing_queries, **runs).transform(queries)


def grade_model(
    name: str | None,
    judge: list[str] | None,
    max_grade: int | None,
    runs: list[Path],
    qrels: Path | None,
    depth: int | None,
    lenient: bool = False,
    unjudged: str | None = None,
    measure: str | None = None,
) -> tuple[GradeModel, dict[str, pd.DataFrame], str]:
    """Read the training files and fit a grade model, and warn of what would ruin it."""
    if judge and name is not None:
        raise ValueError("say either --grades or --judge, and not both")
    kind = GRADES[name or DEFAULT_GRADES]
    if not judge and not hasattr(kind, "fit"):
        if max_grade is None:
            raise ValueError(f"--grades {name} needs --max-grade N, the highest grade")
        cold = kind(max_grade)
        return cold, {}, cold.described() if isinstance(cold, ColdGrades) else ""
    if judge and qrels is None and not runs:
        judges = read_judges(judge)
        highest, told = top_grade(judges) if max_grade is None else (max_grade, "")
        unchecked = JudgeGrades(max_grade=highest, **judges)
        return unchecked, {}, unchecked.described() + (f"\nGrades are {told}." if told else "")
    if qrels is None or not (runs or judge):
        needed = "--train-run needs" if judge else "the grade model learns from --train-run and"
        raise ValueError(f"{needed} --train-qrels; {_WITHOUT_JUDGMENTS}")
    labels = read_qrels(qrels)
    if labels.empty:
        raise ValueError(f"{qrels}: no document has a label")
    highest = _top_grade(labels, qrels, _say_max_grade) if max_grade is None else max_grade
    training = {str(path): read_run(path, _on_error(lenient)) for path in runs}
    named = {f"run_{i}": run for i, run in enumerate(training.values())}
    documents = united(named, None, depth, True) if named else labels[["qid", "docno"]]
    model = JudgeGrades(max_grade=highest, **read_judges(judge)) if judge else kind(highest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        fitted = model.fit(documents, labels, unjudged=unjudged)
    cutoff = None if measure is None else parse_measure(measure, highest).params.get("cutoff")
    _warn_of_model(model, documents, labels, unjudged, cutoff)
    return fitted, training, model.described() if isinstance(model, (AutoGrades, JudgeGrades)) else ""


def judge_files(given: list[str]) -> dict[str, Path]:
    """The file of each judge's labels, by the name of the judge."""
    files: dict[str, Path] = {}
    for entry in given:
        name, equals, file = entry.partition("=")
        if not equals or Path(entry).is_file():
            name, file = Path(entry).name.partition(".")[0], entry
        if not name or not file:
            raise ValueError(f"--judge needs NAME=FILE, got {shown(entry)}")
        if name in files:
            raise ValueError(f"--judge {entry}: the name {shown(name)} is taken; say NAME={file}, with another name")
        check_file(file)
        files[name] = Path(file)
    return files


def read_judges(given: list[str]) -> dict[str, Any]:
    """Name of a judge → labels, votes, probabilities or scores, as `JudgeGrades` takes them."""
    judges: dict[str, Any] = {}
    for name, file in judge_files(given).items():
        judges[name] = read_judge(file)
        with naming(file):
            if judge_table(judges[name]).empty:
                raise ValueError("no document has a label")
    return judges


def top_grade(judges: Mapping[str, pd.DataFrame], past: pd.DataFrame | None = None) -> tuple[int, str]:
    """The highest grade that judges give or that past labels have, and where it comes from in words."""
    highest = max(votes_in(judge_table(each), name).shape[1] - 1 for name, each in judges.items())
    highest = highest if past is None else max(highest, int(past["label"].max()))
    source = "the judge gives" if len(judges) == 1 else "the judges give"
    source += "" if past is None else ", or that --train-qrels has"
    if highest < 1:
        raise ValueError(
            f"0 is the only grade that {source}: say --max-grade N, the highest grade that people may give"
        )
    return highest, f"0 to {highest}, the highest that {source}; if people may give more, say --max-grade"


def _warn_of_model(
    model: FittedGrades, documents: pd.DataFrame, labels: pd.DataFrame, unjudged: str | None, cutoff: int | None
) -> None:
    """Warn of training labels that would ruin a model, and of a model that fails on queries it has not learned from."""
    for words in model.coverage_.cautions(unjudged, cutoff):
        warnings.warn(_typed(words), stacklevel=2)
    if documents["qid"].nunique() > 1 and not isinstance(model, AutoGrades):
        for caution in GradeReport.cross_validated(model, documents, labels, unjudged=unjudged).cautions:
            warnings.warn(caution, stacklevel=2)


def _typed(words: Words) -> str:
    """A warning with its arguments as options."""
    return "".join(word if isinstance(word, str) else f"--{word.name} {getattr(word, 'value', '')}" for word in words)


def _top_grade(labels: pd.DataFrame, path: Path, remedy: Callable[[int], tuple[str | Argument, ...]]) -> int:
    """The highest label of judged documents."""
    label = labels["label"].to_numpy()
    grades = np.unique(label)
    gaps = np.flatnonzero(np.diff(grades) > 1)
    if len(gaps):
        usual, apart = int(grades[gaps[-1]]), label > grades[gaps[-1]]
        if apart.mean() < MAX_STRAY_SHARE:
            row, number = labels[apart].iloc[0], int(apart.sum())
            raise ArgumentError(
                f"{path}: {how_many('label', number, 'is')} above {usual}, such as {row['label']} for document "
                f"{shown(row['docno'])} of query {shown(row['qid'])}, and the grades between have none; if this is "
                f"meant to be, ",
                *remedy(int(grades[-1])),
            )
    return int(grades[-1])


def _say_max_grade(highest: int) -> tuple[str | Argument, ...]:
    return "say ", Argument("max_grade", highest)


def _grade_the_pool(highest: int) -> tuple[str | Argument, ...]:
    return (f"give the pool its own grades, in columns grade_0 to grade_{highest}",)


def labelled_pool(path: Path, name: str | None, train_fold: int | None) -> pd.DataFrame:
    """Read a pool whose documents have labels, and grade it unless it is graded already."""
    frame = read_pool(path)
    if "label" not in frame.columns:
        raise ValueError(f"{path}: a replay needs a column 'label' with the true grade of each document")
    if grade_columns(frame.columns):
        if name is not None or train_fold is not None:
            raise ValueError(f"{path} already has grades; leave out --grades and --train-fold")
        return frame
    if train_fold is None or "fold" not in frame.columns:
        raise ValueError(f"{path} has no grades; say --train-fold N, one of the values of its column 'fold'")
    train = frame["fold"] == train_fold
    if not train.any() or train.all():
        raise ValueError(f"{path}: fold {train_fold} must hold some queries and not all; the folds are {_folds(frame)}")
    past, rest = frame[train].drop(columns="label"), frame[~train]
    known, labels = (checked_qrels(part.dropna(subset="label")) for part in (frame, frame[train]))
    if known.empty:
        raise ValueError(f"{path}: no document has a label")
    model = GRADES[name or DEFAULT_GRADES](_top_grade(known, path, _grade_the_pool))
    return (model.fit(past, labels) if hasattr(model, "fit") else model).transform(rest)


def cross_graded_pool(
    run: list[str], qrels: Path, name: str | None, depth: int | None, unjudged: str | None, lenient: bool = False
) -> pd.DataFrame:
    """Unite runs that have been judged, with the labels of their documents and grades that have not seen these labels.

    The queries are cut into folds, and each is graded by a model that learned from the labels of the other folds.
    """
    check_names({"--unjudged": (unjudged, ("nonrelevant",))})
    known = read_qrels(qrels)
    frame = united(read_runs(run, lenient), None, depth, True)
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
            f"{some(absent.itertuples(index=False, name=None))}; say --depth N, how deep was judged, or --unjudged "
            "nonrelevant to take them as grade 0"
        )
    frame["label"] = frame["label"].fillna(0).astype(np.int64)
    model = GRADES[name or DEFAULT_GRADES](_top_grade(known, qrels, _grade_the_pool))
    if not hasattr(model, "fit"):
        return model.transform(frame)
    documents = frame.drop(columns="label").reset_index(drop=True)
    grades = out_of_fold(model, documents, frame["label"].to_numpy())
    return frame.reset_index(drop=True).assign(**{f"grade_{g}": column for g, column in enumerate(grades.T)})


def _folds(frame: pd.DataFrame) -> str:
    return some(sorted(frame["fold"].unique().tolist()), 20)
