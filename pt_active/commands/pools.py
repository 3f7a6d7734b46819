"""Where a graded pool comes from: files and options that commands have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pt_active import files
from pt_active.command_line import check_names
from pt_active.pool_files import GRADES, check_file, grade_model, read_pool, read_runs, run_files, united, with_texts


@dataclass(frozen=True)
class PoolFiles:
    """Where a graded pool comes from: the options that `plan` and `budget` have in common.

    Attributes:
        run: ``NAME=FILE`` of each ranker, or
        pool: A Parquet frame with grades.
        topics: The queries.
        texts: Document texts.
        train_run: Runs that have been judged.
        train_qrels: Their judgments.
        grades: A key of `pool_files.GRADES`.
        judge: Another judge's qrels.
        max_grade: The highest grade.
        depth: Documents to keep of each ranking.
        allow_missing_queries: Whether a ranker may leave queries unanswered.
    """

    run: list[str] | None
    pool: Path | None
    topics: Path | None
    texts: Path | None
    train_run: list[Path] | None
    train_qrels: Path | None
    grades: str | None
    judge: Path | None
    max_grade: int | None
    depth: int | None
    allow_missing_queries: bool

    def words(self) -> list[str]:
        """The options as they are typed."""
        found: list[str] = []
        for name, value in vars(self).items():
            option = f"--{name.replace('_', '-')}"
            if value is True:
                found.append(option)
            elif value:
                each = value if isinstance(value, list) else [value]
                found += [word for one in each for word in (option, str(one))]
        return found

    def check(self) -> None:
        """Refuse at once what would fail only after the files have been read.

        Raises:
            ValueError: If there are both runs and a pool or neither, or options do not go together.
        """
        if bool(self.run) == (self.pool is not None):
            raise ValueError("say either --run (one for each ranker) or --pool, and not both")
        of_runs = ("train_run", "train_qrels", "grades", "judge", "max_grade", "depth", "allow_missing_queries")
        given = [f"--{name.replace('_', '-')}" for name in of_runs if getattr(self, name)]
        if self.pool is not None and given:
            raise ValueError(f"--pool has its grades already; leave out {', '.join(given)}")
        check_names({"--grades": (self.grades, GRADES)})
        for file in run_files(self.run or []).values():
            check_file(file)

    def read(self, cost: str) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """The graded pool, and the topics if there are any.

        Args:
            cost: The name of the cost, which may need texts.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If a file is malformed or something is missing.
        """
        queries = None if self.topics is None else files.read_topics(self.topics)
        if self.pool is not None:
            frame = read_pool(self.pool)
        else:
            learned = self.train_run or [], self.train_qrels, self.depth
            model = grade_model(self.grades, self.judge, self.max_grade, *learned)
            frame = model.transform(united(read_runs(self.run or []), queries, self.depth, self.allow_missing_queries))
        frame = frame if self.texts is None else with_texts(frame, self.texts)
        if cost == "log-length" and "text" not in frame.columns:
            raise ValueError("--cost log-length needs the texts of the documents: --texts FILE")
        return frame, queries
