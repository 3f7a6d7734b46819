"""Which files is a plan made from, and what is the graded pool of them?"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from pt_active.cli import options
from pt_active.cli.command_line import check_names
from pt_active.cli.doubts import doubts_about
from pt_active.cli.options import Prices, Typed
from pt_active.cli.pools import (
    COLD_GRADES,
    check_file,
    grade_model,
    read_pool,
    read_runs,
    reads_texts,
    run_files,
    united,
)
from pt_active.cli.texts import with_texts
from pt_active.frames.topics import read_topics
from pt_active.relevance.grades.auto import GRADES
from pt_active.relevance.grades.guards import UNJUDGED_POLICIES
from pt_active.relevance.grades.models import GradeModel
from pt_active.relevance.measures import parse_measure

OF_RUNS = (
    "train_run",
    "train_qrels",
    "grades",
    "judge",
    "max_grade",
    "depth",
    "allow_missing_queries",
    "lenient",
    "unjudged",
)
"""The options that a graded pool does not take."""


@dataclass(frozen=True)
class PoolFiles(Typed):
    """The source of a graded pool: the options that `plan`, `budget` and `init` have in common.

    Attributes:
        run: ``NAME=FILE`` of each ranker; None if there is a pool.
        pool: A Parquet frame with grades; None if there are runs.
        topics: A file of queries.
        texts: A file of document texts.
        train_run: Runs that have been judged.
        train_qrels: The judgments of the training runs.
        grades: A key of `auto.GRADES`.
        judge: The files of other judges.
        max_grade: The highest grade.
        depth: Documents to keep of each ranking.
        allow_missing_queries: Whether a ranker may leave queries unanswered.
        lenient: Whether to drop lines of runs that do not fit, rather than refuse the run.
        unjudged: What training documents without a label are; None if unsaid.
    """

    run: options.Run = None
    pool: options.PoolFile = None
    topics: options.Topics = None
    texts: options.Texts = None
    train_run: options.TrainRun = None
    train_qrels: options.TrainQrels = None
    grades: options.Grades = None
    judge: options.Judge = None
    max_grade: options.MaxGrade = None
    depth: options.Depth = None
    allow_missing_queries: options.AllowMissingQueries = False
    lenient: options.Lenient = False
    unjudged: options.Unjudged = None

    def check(self, patterns: bool = False) -> None:
        """Raise early for errors that would otherwise show only after the files are read."""
        if bool(self.run) == (self.pool is not None):
            raise ValueError("say either --run (one for each ranker) or --pool, and not both")
        given = [f"--{name.replace('_', '-')}" for name in OF_RUNS if getattr(self, name)]
        if self.pool is not None and given:
            raise ValueError(f"--pool already has grades; leave out {', '.join(given)}")
        check_names({"--grades": (self.grades, GRADES), "--unjudged": (self.unjudged, UNJUDGED_POLICIES)})
        files = run_files(self.run or [])
        for (one, file), (other, again) in combinations(files.items(), 2):
            if os.path.realpath(file) == os.path.realpath(again):
                raise ValueError(f"--run {one} and --run {other} are the same file, {file}")
        for file in files.values() if not patterns else ():
            check_file(file)

    @property
    def is_cold(self) -> bool:
        """Whether the grades come from ranks alone: a highest grade is given, but no labels and no model."""
        learned = self.pool or self.train_run or self.train_qrels or self.grades or self.judge
        return self.max_grade is not None and not learned

    @property
    def is_unchecked(self) -> bool:
        """Whether the grades come from other judges, and no label of people says how far to trust them."""
        return bool(self.judge) and self.train_qrels is None

    def model(self, measure: str) -> tuple[GradeModel, dict[str, pd.DataFrame], str]:
        """The grade model, file → training run, and a sentence on where the grades come from, which may be empty."""
        learned = self.train_run or [], self.train_qrels, self.depth, self.lenient, self.unjudged, measure
        name = COLD_GRADES if self.is_cold else self.grades
        return grade_model(name, self.judge, self.max_grade, *learned)

    def read(self, prices: Prices, measure: str) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """The graded pool, and the topics if there are any."""
        queries = None if self.topics is None else read_topics(self.topics)
        if self.pool is not None:
            frame = read_pool(self.pool)
        else:
            model, training, described = self.model(measure)
            runs = read_runs(self.run or [], self.lenient)
            for doubt in doubts_about(runs, parse_measure(measure, model.max_grade), self.depth):
                warnings.warn(doubt.said, stacklevel=2)
            frame = model.transform(united(runs, queries, self.depth, self.allow_missing_queries))
            if described:
                frame.attrs["grade_model"] = described
            runs |= {f"{file} (training)": run for file, run in training.items()}
            frame.attrs["dropped"] = {
                name: run.attrs["dropped"] for name, run in runs.items() if "dropped" in run.attrs
            }
        frame = frame if self.texts is None else with_texts(frame, self.texts)
        if reads_texts(prices.of_judging()) and "text" not in frame.columns:
            raise ValueError(f"--cost {prices.cost} needs the texts of the documents: --texts FILE")
        return frame, queries
