"""The features, labels and judge's votes of each document of a frame, as arrays in the order of its rows.

The features do not depend on the number of rankers or their names, so a grade model trained on one run can be applied
to a pool of several. Runs should be cut at the same depth for training and for prediction, since normalised scores are
relative to the deepest document of a ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown, some
from pt_active.frames.columns import check_pairs, numbers_in, ranker_names, with_string_ids
from pt_active.frames.qrels import UNJUDGED, checked_qrels
from pt_active.frames.runs import ranked_run

VOTES_COLUMN = re.compile(r"^votes_(\d+)$")  # The number of a judge's votes for each label, ``votes_0 … votes_H``


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


def vote_shares(judge: pd.DataFrame) -> pd.DataFrame:
    """The share of a judge's votes for each label, pair by pair."""
    votes = sorted(int(m.group(1)) for c in judge.columns if (m := VOTES_COLUMN.match(str(c))))
    if not {"qid", "docno"} <= set(judge.columns) or not ("label" in judge.columns or votes):
        raise ValueError(
            f"the judge's frame needs qid, docno and either label or votes_0 … votes_H, got {list(judge.columns)}"
        )
    return _shares_of_votes(judge, votes) if votes else _shares_of_labels(judge)


def document_votes(frame: pd.DataFrame, shares: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The shares of the judge's votes for each document."""
    matched = frame[["qid", "docno"]].merge(shares, how="left", on=["qid", "docno"])
    values = matched.drop(columns=["qid", "docno"]).to_numpy(dtype=np.float64)
    seen = ~np.isnan(values[:, 0])
    return np.where(seen[:, None], values, 0.0), seen


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
            raise ValueError(
                f"run {shown(name)}: {_first(frame, wrong)} has rank {rank[wrong][0]:g}; ranks are whole numbers from "
                "0, and -1 where the ranker does not retrieve the document"
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


def _first(frame: pd.DataFrame, wrong: np.ndarray) -> str:
    row = frame[wrong].iloc[0]
    return f"document {shown(row['docno'])} of query {shown(row['qid'])}"


def _shares_of_labels(judge: pd.DataFrame) -> pd.DataFrame:
    try:
        labels = checked_qrels(judge)
    except ValueError as error:
        raise ValueError(f"the judge's labels: {error}") from None
    shares = np.eye(labels["label"].max() + 1 if len(labels) else 1)[labels["label"]]
    return labels[["qid", "docno"]].join(pd.DataFrame(shares))


def _shares_of_votes(judge: pd.DataFrame, votes: list[int]) -> pd.DataFrame:
    if votes != list(range(len(votes))):
        raise ValueError(f"the judge's votes must run from votes_0 without a gap, got {votes}")
    pairs = with_string_ids(judge[["qid", "docno"]]).reset_index(drop=True)
    check_pairs(pairs, "the judge's frame")
    counts = judge[[f"votes_{h}" for h in votes]].to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(counts) & (counts >= 0)).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"the judge's votes must be finite and not negative; those of {how_many('pair', int(wrong.sum()))} are "
            f"not, such as {_first(pairs, wrong)}: {counts[wrong][0].tolist()}"
        )
    total = counts.sum(axis=1, keepdims=True)
    voted = total[:, 0] > 0
    return pairs[voted].reset_index(drop=True).join(pd.DataFrame(counts[voted] / total[voted]))
