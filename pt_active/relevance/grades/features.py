"""What frames say of each document, as arrays in the order of the rows: features, labels, and a judge's votes.

The features do not depend on how many rankers there are or their names, so that a grade model which was trained on one
run can be applied to a pool of several. Runs should be cut at the same depth in training and in use, since normalised
scores are relative to the deepest document of a ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import check_pairs, ranker_names, with_string_ids
from pt_active.frames.qrels import UNJUDGED, checked_qrels
from pt_active.frames.runs import ranked_run

FEATURES = (
    "best_reciprocal_rank",
    "mean_reciprocal_rank",
    "best_unit_score",
    "mean_unit_score",
    "share_of_rankers",
)
"""The columns of `run_features`, in order."""

VOTES_COLUMN = re.compile(r"^votes_(\d+)$")
"""A judge's count of votes for a label, ``votes_0 … votes_H``."""


def ranking_columns(columns: Iterable[object]) -> list[str]:
    """What a frame must have, besides qid and docno, for `best_rank`.

    Args:
        columns: The frame's.

    Returns:
        Nothing for a union frame, ``score`` for a plain R frame.
    """
    return [] if ranker_names(columns) else ["score"]


def feature_columns(columns: Iterable[object]) -> list[str]:
    """What a frame must have, besides qid and docno, for `document_features`.

    Args:
        columns: The frame's.

    Returns:
        ``features`` if it is there, else ``score_<name>`` of each ranker, else ``score``.
    """
    columns = list(columns)
    if "features" in columns:
        return ["features"]
    return [f"score_{name}" for name in ranker_names(columns)] or ["score"]


def document_features(frame: pd.DataFrame) -> np.ndarray:
    """The ``features`` column of a frame if there is one, else `run_features`.

    Args:
        frame: A plain R frame or a union frame.

    Returns:
        float64[N, d] in the order of the rows.

    Raises:
        ValueError: If the rows of ``features`` differ in width or hold something that is not a finite number, or
            as in `run_features`.
    """
    return _given_features(frame["features"]) if "features" in frame.columns else run_features(frame)


def run_features(frame: pd.DataFrame) -> np.ndarray:
    """Five numbers a document from its ranks and scores, named in `FEATURES`.

    Over the rankers that found the document: best and mean ``1 / rank`` (ranks from 1), best and mean min–max score
    within ranker and query; and the share of all rankers that did. A ranker that gives all documents of a query the
    same score, or found only one, gives them ½. A document that nobody found has zeros.

    Args:
        frame: A plain R frame (``qid, docno, score``; ranks follow from the scores, see `runs.ranked_run`), or a
            union frame (``qid``, ``rank_<name>`` from 0 or -1, ``score_<name>``).

    Returns:
        float64[N, 5] in the order of the rows, each within [0, 1].

    Raises:
        ValueError: If a rank is impossible, a document that was found has no finite score, or a plain frame is
            empty or holds a pair twice.
    """
    ranks, scores = _ranks(frame), _scores(frame)
    query = pd.factorize(frame["qid"])[0]
    found = ranks > 0
    unit = np.stack([_unit_scores(*row, query) for row in zip(scores, found, strict=True)])
    reciprocal = np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=found)
    finders = np.maximum(found.sum(axis=0), 1)
    columns = [x for values in (reciprocal, unit) for x in (values.max(axis=0), values.sum(axis=0) / finders)]
    return np.column_stack([*columns, found.mean(axis=0)])


def best_rank(frame: pd.DataFrame) -> np.ndarray:
    """The best rank of each document in any ranker.

    Args:
        frame: As for `run_features`; a union frame needs no scores.

    Returns:
        int64[N], from 1; 0 where no ranker found it.

    Raises:
        ValueError: If a rank is impossible, or a plain frame is empty or holds a pair twice.
    """
    ranks = _ranks(frame)
    deepest = np.iinfo(np.int64).max
    best = np.where(ranks > 0, ranks, deepest).min(axis=0)
    return np.where(best == deepest, 0, best)


def document_labels(frame: pd.DataFrame, qrels: pd.DataFrame, what: str) -> np.ndarray:
    """The label of each document.

    Args:
        frame: ``qid, docno``, strings.
        qrels: As `qrels.checked_qrels` returns them.
        what: How to call the frame in the message, such as ``the training run``.

    Returns:
        int64[N]; -1 where there is none.

    Raises:
        ValueError: If no document has a label.
    """
    matched = frame[["qid", "docno"]].merge(qrels, how="left", on=["qid", "docno"])["label"]
    labels = matched.fillna(UNJUDGED).to_numpy(dtype=np.int64)
    if (labels < 0).all():
        raise ValueError(
            f"none of the {len(frame)} documents of {what} has a label among the {len(qrels)} of the qrels; do qid and "
            f"docno match? {first_pairs(frame, qrels)}"
        )
    return labels


def vote_shares(judge: pd.DataFrame) -> pd.DataFrame:
    """How a judge's votes for each pair are spread over its labels.

    Args:
        judge: ``qid, docno`` and either ``votes_0 … votes_H`` or, for one vote a pair, ``label``.

    Returns:
        ``qid, docno`` as strings, and columns ``0 … H`` that sum to 1. Pairs without a vote are left out.

    Raises:
        ValueError: If a column is missing, a pair stands twice, or a vote is negative or not a number.
    """
    votes = sorted(int(m.group(1)) for c in judge.columns if (m := VOTES_COLUMN.match(str(c))))
    if not {"qid", "docno"} <= set(judge.columns) or not ("label" in judge.columns or votes):
        raise ValueError(
            f"the judge's frame needs qid, docno and either label or votes_0 … votes_H, got {list(judge.columns)}"
        )
    return _shares_of_votes(judge, votes) if votes else _shares_of_labels(judge)


def document_votes(frame: pd.DataFrame, shares: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The judge's votes for each document.

    Args:
        frame: ``qid, docno``, strings.
        shares: As `vote_shares` returns them.

    Returns:
        float64[N, H+1], zeros where the judge did not see the pair, and bool[N], whether it did.
    """
    matched = frame[["qid", "docno"]].merge(shares, how="left", on=["qid", "docno"])
    values = matched.drop(columns=["qid", "docno"]).to_numpy(dtype=np.float64)
    seen = ~np.isnan(values[:, 0])
    return np.where(seen[:, None], values, 0.0), seen


def first_pairs(frame: pd.DataFrame, other: pd.DataFrame) -> str:
    """Show the first pair of two frames that have none in common, for an error message."""
    firsts = [tuple(x[["qid", "docno"]].iloc[0]) if len(x) else "nothing" for x in (frame, other)]
    return f"They begin with {firsts[0]} and {firsts[1]}"


def _ranks(frame: pd.DataFrame) -> np.ndarray:
    """int64[k, N], from 1; 0 = not retrieved."""
    names = ranker_names(frame.columns)
    if not names:
        return _rank_by_score(frame)[None, :]
    return np.stack([_given_ranks(frame, name) for name in names])


def _rank_by_score(frame: pd.DataFrame) -> np.ndarray:
    """int64[N], from 1, in the order of the rows."""
    needed = [c for c in ("qid", "docno", "score", "rank") if c in frame.columns]
    run = ranked_run(frame[needed].assign(row=np.arange(len(frame))))
    rank = np.empty(len(frame), dtype=np.int64)
    rank[run["row"].to_numpy()] = run["rank"].to_numpy() + 1
    return rank


def _given_ranks(frame: pd.DataFrame, name: str) -> np.ndarray:
    rank = frame[f"rank_{name}"].to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~((rank >= -1) & (rank == np.floor(rank)))
    if wrong.any():
        raise ValueError(
            f"run {name!r}: {_first(frame, wrong)} has rank {rank[wrong][0]:g}; ranks are whole numbers from 0, and "
            "-1 where the ranker does not retrieve the document"
        )
    return rank.astype(np.int64) + 1


def _scores(frame: pd.DataFrame) -> np.ndarray:
    """float64[k, N]."""
    names = [f"score_{name}" for name in ranker_names(frame.columns)] or ["score"]
    return np.stack([pd.to_numeric(frame[name]).to_numpy(dtype=np.float64, na_value=np.nan) for name in names])


def _unit_scores(score: np.ndarray, found: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Min–max score within the query, float64[N]; ½ where all are equal, 0 where not found."""
    if not np.isfinite(score[found]).all():
        raise ValueError(
            f"{int((~np.isfinite(score[found])).sum())} documents that a ranker found have no finite score"
        )
    low, high = np.full(query.max(initial=-1) + 1, np.inf), np.full(query.max(initial=-1) + 1, -np.inf)
    np.minimum.at(low, query[found], score[found])
    np.maximum.at(high, query[found], score[found])
    unit = np.zeros(len(score))
    low, high = low[query[found]], high[query[found]]
    unit[found] = np.divide(score[found] - low, high - low, out=np.full(len(low), 0.5), where=high > low)
    return unit


def _given_features(column: pd.Series) -> np.ndarray:
    """float64[N, d] from one array a row."""
    widths = np.unique([np.size(row) for row in column])
    if len(widths) != 1:
        raise ValueError(f"the features of all documents must have one width, got {some(widths.tolist())}")
    features = np.stack([np.ravel(row) for row in column]).astype(np.float64)
    wrong = ~np.isfinite(features).all(axis=1)
    if wrong.any():
        raise ValueError(f"features must be finite numbers; those of {int(wrong.sum())} documents are not")
    return features


def _first(frame: pd.DataFrame, wrong: np.ndarray) -> str:
    row = frame[wrong].iloc[0]
    return f"document {row['docno']!r} of query {row['qid']!r}"


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
            f"the judge's votes must be finite and not negative; those of {int(wrong.sum())} pairs are not, such as "
            f"{_first(pairs, wrong)}: {counts[wrong][0].tolist()}"
        )
    total = counts.sum(axis=1, keepdims=True)
    voted = total[:, 0] > 0
    return pairs[voted].reset_index(drop=True).join(pd.DataFrame(counts[voted] / total[voted]))
