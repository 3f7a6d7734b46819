"""Labelled pools for the replays: reads one, trains a grade model on one fold, and chooses the rankers to replay.

The scripts in ``data_scripts/`` make the files. Training and the choice of rankers use no data of the replayed folds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from pt_active import ForestGrades, LogLengthCost, OrderedLogitGrades, UnitCost, measure_values
from pt_active.frames.columns import ranker_names
from pt_active.frames.trec import read_qrels
from pt_active.relevance.costs import Cost
from pt_active.relevance.grades.models import FittedGrades

FOLDS = 5
"""Number of folds into which a pool without folds is divided, in the order of its qids."""

TOP = 10
"""Two rankers are near-duplicates if they agree on this many top ranks in most queries."""

GRADE_MODELS: dict[str, Callable[[int], FittedGrades]] = {
    "random forest": lambda max_grade: ForestGrades(max_grade, min_leaf=10),
    "ordered logit": OrderedLogitGrades,
}
"""The two grade models of the source."""


@dataclass(frozen=True)
class JudgedPool:
    """A labelled pool.

    Attributes:
        name: Name of the data set.
        frame: ``qid, docno, label, fold``, ``rank_<name>`` of each ranker, and the features of the documents.
        max_grade: The highest grade.
        train_folds: The folds on which grade models may be trained: those on which the rankers were trained, or all
            folds if the rankers were not trained on these data.
    """

    name: str
    frame: pd.DataFrame
    max_grade: int
    train_folds: list[int]

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers."""
        return ranker_names(self.frame.columns)

    @property
    def cost(self) -> Cost:
        """The logarithm of the documents' lengths [T 6.4] if the pool has lengths, otherwise 1 per document."""
        return LogLengthCost(column="length") if "length" in self.frame.columns else UnitCost()

    @property
    def relevant(self) -> int:
        """The lowest grade that counts as relevant: 1 for grades 0 to 2, otherwise 2, as in TREC's tracks."""
        return 1 if self.max_grade < 3 else 2

    def graded(self, model: FittedGrades, train_fold: int, queries: int | None = None) -> pd.DataFrame:
        """Fit a grade model to one fold and grade the documents of the other folds.

        Args:
            model: An unfitted grade model.
            train_fold: The training fold.
            queries: Number of random training queries; all by default.

        Returns:
            The other folds' rows with ``grade_0 … grade_G``.
        """
        train = self.frame["fold"] == train_fold
        past, rest = self.frame[train], self.frame[~train]
        if queries is not None:
            chosen = np.random.default_rng(train_fold).permutation(np.sort(past["qid"].unique()))[:queries]
            past = past[past["qid"].isin(chosen)]
        model.fit(past.drop(columns="label"), past[["qid", "docno", "label"]])
        return model.transform(rest)

    def standing(self, measure: str, train_fold: int) -> list[str]:
        """The rankers from best to worst on the training fold, without near-duplicates.

        A ranker with the same top `TOP` as a better one in most queries is left out. Some submissions to a track
        differ only further down, so there is nothing to compare.
        """
        past = self.frame[self.frame["fold"] == train_fold]
        qrels = past[["qid", "docno", "label"]]
        means = {name: measure_values(_run(past, name), qrels, measure)["value"].mean() for name in self.rankers}
        top = {name: past[f"rank_{name}"].where(past[f"rank_{name}"].between(0, TOP - 1), TOP) for name in means}
        ranking: list[str] = []
        for name in sorted(means, key=lambda name: (-means[name], name)):
            changed = [(top[name] != top[better]).groupby(past["qid"]).any().mean() for better in ranking]
            if all(share >= 0.5 for share in changed):
                ranking.append(name)
        return ranking


def _run(frame: pd.DataFrame, ranker: str) -> pd.DataFrame:
    retrieved = frame[frame[f"rank_{ranker}"] >= 0]
    return pd.DataFrame(
        {"qid": retrieved["qid"], "docno": retrieved["docno"], "score": -retrieved[f"rank_{ranker}"].astype(float)}
    )


def read_judged_pool(path: Path) -> JudgedPool:
    """Read a labelled pool made by a script in ``data_scripts/``.

    Args:
        path: The Parquet file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the pool has no labels or no rankers.
    """
    frame = pd.read_parquet(path)
    if "label" not in frame.columns or not ranker_names(frame.columns):
        raise ValueError(f"{path}: not a labelled pool; make one with a script in data_scripts/")
    if "fold" not in frame.columns:
        qids = np.sort(frame["qid"].unique())
        frame["fold"] = frame["qid"].map(dict(zip(qids, np.arange(len(qids)) % FOLDS + 1, strict=True)))
    trained = _manifest(path).get("arguments", {}).get("train_fold")
    folds = sorted(frame["fold"].unique().tolist()) if trained is None else [trained]
    return JudgedPool(path.stem, frame, int(frame["label"].max()), folds)


def read_judges(folder: Path) -> dict[str, pd.DataFrame]:
    """Read automatic judges, such as language models.

    Args:
        folder: A folder with any number of files ``<name>.qrels``, one grade per pair, or ``votes-<name>.tsv.gz``, with
            ``qid, docno`` and ``votes_0 … votes_H``.

    Returns:
        Name → ``qid, docno`` and ``label`` or the votes.

    Raises:
        FileNotFoundError: If the folder has no such file.
    """
    judges = {path.stem: read_qrels(path) for path in sorted(folder.glob("*.qrels"))}
    for path in sorted(folder.glob("votes-*.tsv.gz")):
        name = path.name.removeprefix("votes-").removesuffix(".tsv.gz")
        judges[name] = pd.read_csv(path, sep="\t", dtype={"qid": str, "docno": str})
    if not judges:
        raise FileNotFoundError(f"{folder}: neither NAME.qrels nor votes-NAME.tsv.gz")
    return judges


def judges_of(pool: JudgedPool, judges: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The judges, as returned by `read_judges`, that have seen at least half of a pool's pairs."""
    pairs = pool.frame[["qid", "docno"]]
    seen = {name: len(pairs.merge(judge[["qid", "docno"]])) for name, judge in judges.items()}
    return {name: judge for name, judge in judges.items() if seen[name] >= len(pairs) / 2}


def _manifest(path: Path) -> dict[str, Any]:
    return json.loads((pq.read_schema(path).metadata or {}).get(b"pt_active", "{}"))
