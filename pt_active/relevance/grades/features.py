"""The features and labels of each document of a frame, as arrays in the order of its rows.

The features do not depend on the number of rankers or their names, so a grade model trained on one run can be applied
to a pool of several. Runs should be cut at the same depth for training and for prediction, since normalised scores are
relative to the deepest document of a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, document_of, how_many, shown, some
from pt_active.frames.columns import numbers_in, ranker_names
from pt_active.frames.qrels import UNJUDGED
from pt_active.frames.runs import ranked_run


def ranking_columns(columns: Iterable[object]) -> list[str]:
    """The columns that `best_rank` needs besides qid and docno."""
    return [] if ranker_names(columns) else ["score"]


def document_features(frame: pd.DataFrame) -> np.ndarray:
    """The ``features`` column of a frame if there is one, else the ranks and scores as `run_features` computes them."""
    return _given_features(frame["features"]) if "features" in frame.columns else run_features(frame)


def run_features(frame: pd.DataFrame) -> np.ndarray:
    """float64[N, 5]: best and mean reciprocal rank, best and mean score, and the share of rankers that retrieve it.

    Scores are min–max scaled within ranker and query, ½ if all are equal.
    """
    ranks, names = _ranks(frame), [f"score_{name}" for name in ranker_names(frame.columns)] or ["score"]
    scores = [numbers_in(frame, name) for name in names]
    query = pd.factorize(frame["qid"])[0]
    retrieved = ranks > 0
    unit = np.stack([_unit_scores(*row, query) for row in zip(scores, retrieved, strict=True)])
    reciprocal = np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=retrieved)
    rankers = np.maximum(retrieved.sum(axis=0), 1)
    columns = [x for values in (reciprocal, unit) for x in (values.max(axis=0), values.sum(axis=0) / rankers)]
    return np.column_stack([*columns, retrieved.mean(axis=0)])


def best_rank(frame: pd.DataFrame) -> np.ndarray:
    """int64[N], the best rank of each document over the rankers."""
    ranks = _ranks(frame)
    deepest = np.iinfo(np.int64).max
    best = np.where(ranks > 0, ranks, deepest).min(axis=0)
    return np.where(best == deepest, 0, best)


def document_labels(frame: pd.DataFrame, qrels: pd.DataFrame, what: str) -> np.ndarray:
    """int64[N], the label of each document."""
    matched = frame[["qid", "docno"]].merge(qrels, how="left", on=["qid", "docno"])["label"]
    labels = matched.fillna(UNJUDGED).to_numpy(dtype=np.int64)
    if (labels < 0).all():
        raise ValueError(
            f"no document of {what} has a label ({how_many('document', len(frame))}, {how_many('label', len(qrels))}); "
            f"do qid and docno match? {first_pairs(frame, qrels)}"
        )
    return labels


def first_pairs(frame: pd.DataFrame, other: pd.DataFrame) -> str:
    """The first pairs of two frames that have none in common, for an error message."""
    firsts = [tuple(x[["qid", "docno"]].iloc[0]) if len(x) else "nothing" for x in (frame, other)]
    return f"They begin with {firsts[0]} and {firsts[1]}"


def _ranks(frame: pd.DataFrame) -> np.ndarray:
    """int64[k, N], the rank of each document in each ranker, from 1; 0 = not retrieved."""
    names = ranker_names(frame.columns)
    ranks = np.empty((max(len(names), 1), len(frame)), dtype=np.int64)
    if not names:  # the ranks that follow from the scores
        needed = [c for c in ("qid", "docno", "score", "rank") if c in frame.columns]
        run = ranked_run(frame[needed].assign(row=np.arange(len(frame))))
        ranks[0, run["row"].to_numpy()] = run["rank"].to_numpy() + 1
    for own, name in zip(ranks, names, strict=False):
        rank = numbers_in(frame, f"rank_{name}")
        wrong = ~((rank >= -1) & (rank == np.floor(rank)))
        if wrong.any():
            first = document_of(*frame.loc[wrong, ["qid", "docno"]].iloc[0])
            raise ValueError(
                f"run {shown(name)}: {first} has rank {rank[wrong][0]:g}; ranks are whole numbers "
                "from 0, and -1 where the ranker does not retrieve the document"
            )
        own[:] = rank + 1
    return ranks


def _unit_scores(score: np.ndarray, retrieved: np.ndarray, query: np.ndarray) -> np.ndarray:
    """float64[N], min–max scaled scores within each query; ½ where all are equal, 0 where not retrieved."""
    if lacking := int((~np.isfinite(score[retrieved])).sum()):
        documents, have = how_many("document", lacking), agreeing("has", lacking)
        raise ValueError(f"{documents} that a ranker retrieves {have} no finite score")
    known = pd.Series(score).where(retrieved)
    low, high = (known.groupby(query).transform(end) for end in ("min", "max"))
    unit = ((known - low) / (high - low)).where(high > low, 0.5)
    return np.asarray(unit.where(retrieved, 0.0))


def _given_features(column: pd.Series) -> np.ndarray:
    """float64[N, d], from a column that holds one array per row."""
    widths = np.unique([np.size(row) for row in column])
    if len(widths) != 1:
        raise ValueError(f"the features of all documents must have the same width, got {some(widths.tolist())}")
    features = np.stack([np.ravel(row) for row in column]).astype(np.float64)
    wrong = ~np.isfinite(features).all(axis=1)
    if wrong.any():
        raise ValueError(f"features must be finite numbers; those of {how_many('document', int(wrong.sum()))} are not")
    return features
