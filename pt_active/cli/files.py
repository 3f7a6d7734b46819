"""Which files is a plan made from, and what is the graded pool of them?"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.cli.options import flag
from pt_active.frames.checks import check_known, how_many, shown, some, whole_number
from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.frames.sources import naming
from pt_active.frames.strays import lost_zeros
from pt_active.frames.tables import read_parquet
from pt_active.frames.topics import read_texts, read_topics, with_texts
from pt_active.frames.trec import read_run
from pt_active.judging.files import read_labels
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import COSTS, Cost
from pt_active.relevance.grades.judges import judge_table, mean_of_judges, read_judge, votes_in
from pt_active.relevance.grades.learned import GRADES
from pt_active.relevance.grades.models import ColdGrades, GradeModel, MixtureGrades
from pt_active.relevance.measures import parse_measure
from pt_active.transformers import Runs

Modelled = tuple[GradeModel | MixtureGrades, str]
"""A grade model, and where the grades come from in words, which may be none."""

DEFAULT_GRADES = "ordered-logit"  # The default of the key ``grades``

MAX_STRAY_SHARE = 0.02
"""If a smaller share of the training labels lies above a grade that no label has, they are taken for mistakes."""


def past_labels(path: Path) -> pd.DataFrame:
    """What people said about a past run: qrels, or a worklist that they filled in."""
    return as_qrels(read_labels([path]))


@dataclass(frozen=True)
class RunFiles:
    """Runs to compare, and what is known of their queries and documents."""

    run: list[str] | None = flag("A ranker's run; pass one for each ranker.", "NAME=FILE")
    topics: Path | None = flag("The queries; default: those of the runs.", "FILE")
    texts: Path | None = flag("Document texts, for the judges and for costs by length.", "FILE")
    train_run: list[Path] | None = flag("A past run that people judged; you may pass several.", "FILE")
    train_qrels: Path | None = flag("Judgments of the training runs: qrels or a filled-in CSV.", "FILE")
    judge: list[str] | None = flag(
        "Labels or votes of another judge, such as an LLM; you may pass several.", "[NAME=]FILE"
    )
    max_grade: int | None = flag("The highest grade; default: the highest in the labels.", "N")
    depth: int | None = None

    @property
    def files(self) -> dict[str, str]:
        """The file of each ranker's run, by its name."""
        return named_files(self.run or [], "--run", inspect.signature(Runs.__init__).parameters)

    def runs(self) -> dict[str, pd.DataFrame]:
        """The run of each ranker, down to the depth; raises if no query is in all of them."""
        runs = {name: read_run(file) for name, file in self.files.items()}
        if self.depth is not None:
            depth = whole_number("depth", self.depth, 1)
            runs = {name: run[run["rank"] < depth] for name, run in runs.items()}
        if not set.intersection(*(set(run["qid"]) for run in runs.values())):
            named = "; ".join(f"{name} has {some(run['qid'].unique())}" for name, run in runs.items())
            raise ValueError(f"the runs have no query in common: {named}")
        return runs


@dataclass(frozen=True)
class PoolFiles(RunFiles):
    """The source of a graded pool, and what judging it costs."""

    pool: Path | None = None
    grades: str | None = None
    unjudged: str | None = None
    cost: str | None = None
    per_query: float | None = None

    def of_judging(self) -> Cost:
        """What judging costs."""
        cost = self.cost or "unit"
        check_known("cost", cost, COSTS)
        return COSTS[cost](per_query=self.per_query or 0.0)

    def model(self) -> Modelled:
        """The grade model of the options."""
        name, highest = self.grades or DEFAULT_GRADES, self.max_grade
        check_known("grades", name, GRADES)
        judges = read_judges(self.judge or [])
        if judges and self.grades is not None:
            raise ValueError("the grades are either those of --judge or of the key grades, and not both")
        of_people = self.train_run or self.train_qrels
        if judges and not of_people:
            source = ""
            if highest is None:
                highest, source = top_grade(judges)
                source = f"\nGrades are {source}."
            unchecked = mean_of_judges(judges, highest)
            return unchecked, unchecked.models[0].described(", ".join(judges)) + source
        if highest is not None and not (of_people or self.grades):
            name = "cold"
        if not judges and not hasattr(GRADES[name], "fit"):
            if highest is None:
                raise ValueError(f"grades {name} need --max-grade N, the highest grade")
            guessed = GRADES[name](highest)
            return guessed, guessed.described() if isinstance(guessed, ColdGrades) else ""
        if self.train_qrels is None or not (self.train_run or judges):
            needed = "--train-run needs" if judges else "the grade model learns from --train-run and"
            raise ValueError(
                f"{needed} --train-qrels; without any judgments, pass --max-grade N, the highest grade, alone"
            )
        labels = past_labels(self.train_qrels)
        if highest is None:
            highest = grade_in_use(labels, self.train_qrels, "pass max_grade=")
        files = dict.fromkeys(map(str, self.train_run or []))
        named = {f"run_{number}": read_run(file) for number, file in enumerate(files)}
        documents = united(named, None, self.depth) if named else labels[["qid", "docno"]]
        model: Any = mean_of_judges(judges, highest) if judges else GRADES[name](highest)
        model.fit(documents, labels, unjudged=self.unjudged)
        members = model.models if judges else []
        return model, "\n".join(each.described(judge) for judge, each in zip(judges, members, strict=True))

    def read(self, measure: str) -> tuple[pd.DataFrame, pd.DataFrame | None, str]:
        """The graded pool, the topics if there are any, and where the grades come from in words."""
        if bool(self.run) == (self.pool is not None):
            raise ValueError("pass --run NAME=FILE, once for each ranker; or name a pool in the project file")
        topics = None if self.topics is None else read_topics(self.topics)
        source = ""
        if self.pool is not None:
            frame = read_parquet(self.pool).reset_index(drop=True)
            if topics is not None:
                check_topics(self.topics, topics, frame["qid"])
        else:
            model, source = self.model()
            runs = self.runs()
            qids = pd.concat([run["qid"] for run in runs.values()])
            if topics is not None:
                check_topics(self.topics, topics, qids)
            frame = model.transform(united(runs, topics))
            highest = len(grade_columns(frame.columns)) - 1
            for doubt in doubts_about(frame, parse_measure(measure, highest), self.depth):
                warnings.warn(doubt, stacklevel=2)
        if self.texts is not None:
            frame = with_texts_of(self.texts, frame)
        if getattr(self.of_judging(), "column", None) == "text" and "text" not in frame.columns:
            raise ValueError(f"cost {self.cost} needs the texts of the documents: --texts FILE")
        return frame, topics, source


def named_files(entries: list[str], option: str, reserved: Collection[str] = ()) -> dict[str, str]:
    """The file of each name in ``NAME=FILE`` words."""
    files: dict[str, str] = {}
    for entry in entries:
        name, _, file = entry.partition("=")
        if not name or not file:
            raise ValueError(f"{option} needs NAME=FILE, got {shown(entry)}")
        if name in files or name in reserved:
            raise ValueError(f"{option} {entry}: the name {shown(name)} is taken")
        files[name] = file
    return files


def check_topics(path: Path | None, topics: pd.DataFrame, qids: pd.Series) -> None:
    """Warn if topics lack queries, perhaps for their leading zeros; raise if they lack all."""
    every, known = set(qids.map(str)), set(topics["qid"])
    absent = sorted(every - known)
    zeros = lost_zeros(known - every, absent)
    hint = f"; {zeros}; give the topics the qids of the runs" if zeros else ""
    if absent and len(absent) == len(every):
        have = f"the runs have {some(absent)}, the topics {some(topics['qid'])}"
        raise ValueError(f"{path}: none of the queries of the runs is among the topics: {have}{hint}")
    if absent:
        warnings.warn(f"{path}: no topic for {how_many('query', len(absent))}: {some(absent)}{hint}", stacklevel=3)


def united(runs: dict[str, pd.DataFrame], queries: pd.DataFrame | None, depth: int | None = None) -> pd.DataFrame:
    """Unite runs, for the queries given, or else for all of the runs; who answers nothing for one scores 0 there."""
    if queries is None:
        queries = pd.DataFrame({"qid": pd.concat([run["qid"] for run in runs.values()]).unique()})
    return Runs(depth, allow_missing_queries=True, **runs).transform(queries)


def name_and_file(entry: str) -> tuple[str, str]:
    """NAME and FILE of ``NAME=FILE``; no name if the whole is a file."""
    name, equals, file = entry.partition("=")
    return (name, file) if equals and not Path(entry).is_file() else ("", entry)


def read_judges(given: list[str]) -> dict[str, Any]:
    """Name of a judge → labels or votes, as `JudgeGrades` takes them."""
    judges: dict[str, Any] = {}
    for entry in given:
        name, file = name_and_file(entry)
        name = name or Path(file).name.partition(".")[0]
        if name in judges:
            raise ValueError(f"--judge {entry}: the name {shown(name)} is taken; pass NAME={file}, with another name")
        judges[name] = read_judge(file)
        with naming(file):
            if judge_table(judges[name]).empty:
                raise ValueError("no document has a label")
    return judges


def top_grade(judges: Mapping[str, pd.DataFrame], past: pd.DataFrame | None = None) -> tuple[int, str]:
    """The highest grade that judges give or that past labels have, and where it comes from in words."""
    highest = max(votes_in(judge_table(each)).shape[1] - 1 for each in judges.values())
    highest = highest if past is None else max(highest, int(past["label"].max()))
    source = "the judge gives" if len(judges) == 1 else "the judges give"
    source += "" if past is None else ", or that --train-qrels has"
    if highest < 1:
        raise ValueError(
            f"0 is the only grade that {source}: pass --max-grade N, the highest grade that people may give"
        )
    return highest, f"0 to {highest}, the highest that {source}; if people may give more, pass --max-grade"


def grade_in_use(labels: pd.DataFrame, path: Path | None, remedy: str) -> int:
    """The highest label of judged documents, unless it is a mistake; the remedy ends with the grade."""
    counts = labels["label"].value_counts().sort_index()
    grades = counts.index.to_numpy()
    for gap in np.flatnonzero(np.diff(grades) > 1)[-1:]:
        apart = int(counts.iloc[gap + 1 :].sum())
        if apart < MAX_STRAY_SHARE * len(labels):
            raise ValueError(
                f"{path}: {how_many('label', apart, 'is')} above {grades[gap]}, such as {grades[-1]}, and the grades "
                f"between have none; if this is meant to be, {remedy}{grades[-1]}"
            )
    return int(grades[-1])


def with_texts_of(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Give documents their texts; a warning counts those that have none."""
    docnos = frame["docno"].drop_duplicates()
    texts = _fitting_texts(path, docnos)
    absent = docnos[~docnos.isin(texts["docno"][texts["text"].notna()])]
    if len(absent):
        warnings.warn(f"{path}: no text for {how_many('document', len(absent))}: {some(absent)}", stacklevel=2)
    return with_texts(frame.copy(), texts)


def texts_for(plan: Plan, path: Path | None) -> pd.DataFrame | None:
    """``docno, text`` for the documents of a plan's pool; None without a file."""
    if path is None:
        return None
    return _fitting_texts(path, pd.Series(plan.tables.pool.docno, dtype=object).drop_duplicates())


def _fitting_texts(path: Path, docnos: pd.Series) -> pd.DataFrame:
    """``docno, text`` of a file; raises if no document has a text."""
    texts = read_texts(path, docnos=docnos)
    if not docnos.isin(texts["docno"][texts["text"].notna()]).any():
        raise ValueError(
            f"{path}: the file has no text for any document: it has {some(texts['docno'])}, the pool {some(docnos)}"
        )
    return texts


def doubts_about(pool: pd.DataFrame, measure: irm.Measure, depth: int | None = None) -> Iterator[str]:
    """What is probably wrong with united runs and a measure."""
    ranks = {name: pool[f"rank_{name}"].to_numpy() for name in ranker_names(pool.columns)}
    found = pd.DataFrame(ranks) >= 0
    answered = found.groupby(pool["qid"].to_numpy(), sort=False).any()
    shared = found.sum(axis=1) > 1
    first: dict[bytes, str] = {}
    for name, rank in ranks.items():
        absent = answered.index[~answered[name]]
        if len(absent):
            yield f"{name} has nothing for {how_many('query', len(absent))} ({some(absent)}): it scores 0 there"
        other = first.setdefault(rank.tobytes(), name)
        if other != name:
            yield f"{other} and {name} are the same ranking, so they cannot differ"
        if len(ranks) > 1 and not found[name][shared].any():
            yield f"{name} has no document in common with another run: are they of the same collection?"
    cutoff = measure.params.get("cutoff")
    if depth is not None and cutoff is not None and depth < cutoff:
        yield f"depth {depth} is less than the cutoff of {measure}, so the ranks below count as empty"
