"""The order of a run: score descending, ties by docno descending, as trec_eval has it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame, some
from pt_active.frames.columns import check_pairs, with_string_ids


def ranked_run(run: pd.DataFrame, name: str = "run") -> pd.DataFrame:
    """Order a run as trec_eval does and make sure that no document stands twice in a query.

    Args:
        run: A result frame with ``qid``, ``docno`` and ``score``.
        name: The ranker's name, for messages.

    Returns:
        As `ordered_run`.

    Raises:
        ValueError: As `ordered_run`, and if the run holds a duplicate pair.
    """
    ranked = ordered_run(run, name)
    check_pairs(ranked, f"run {name!r}")
    return ranked


def ordered_run(run: pd.DataFrame, name: str, depth: int | None = None) -> pd.DataFrame:
    """Order a run as trec_eval does: score descending, ties by docno descending.

    Scores are compared at single precision, as in trec_eval. A ``rank`` column that came with the run is
    replaced; a warning says so where it contradicts the scores (another order of tied documents is no contradiction).

    Args:
        run: A result frame with ``qid``, ``docno`` and ``score``.
        name: The ranker's name, for messages.
        depth: How many documents to keep for each query; None keeps all.

    Returns:
        The rows sorted by qid (in order of first appearance) and rank, with string ids and ``rank`` from 0.

    Raises:
        ValueError: If the run is empty or has a score that is not a number.
    """
    what = f"run {name!r}"
    missing = {"qid", "docno", "score"} - set(data_frame(what, run).columns)
    if missing:
        raise ValueError(f"{what} needs the columns qid, docno, score; it lacks {some(sorted(missing))}")
    if run.empty:
        raise ValueError(f"{what} is empty")
    if depth is not None and depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    run = with_string_ids(run).reset_index(drop=True)
    score = pd.to_numeric(run["score"]).to_numpy(dtype=np.float64)
    if np.isnan(score).any():
        raise ValueError(f"{what}: {int(np.isnan(score).sum())} scores are not a number")
    query = pd.factorize(run["qid"])[0]
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    order = _trec_order(query, single, run["docno"])
    run, query = run.iloc[order].reset_index(drop=True), query[order]
    rank = _position_in_group(query)
    _warn_if_reordered(run, query, single[order], what)
    run["rank"] = rank
    return run if depth is None else run[rank < depth].reset_index(drop=True)


def _trec_order(query: np.ndarray, score: np.ndarray, docno: pd.Series) -> np.ndarray:
    """Row order by query code, score descending, docno descending; docnos are only compared within ties."""
    key = (query.astype(np.int64) << 32) | _descending_code(score)
    order = np.argsort(key)
    same = np.diff(key[order]) == 0
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    block = np.concatenate([[0], np.cumsum(~same)])[tied]
    rows = order[tied]
    names = pd.Categorical(docno.iloc[rows].astype(object)).codes
    order[tied] = rows[np.lexsort((-names.astype(np.int64), block))]
    return order


def _descending_code(score: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 2³² − 1 in the order of the float32 scores, highest first."""
    bits = (score + np.float32(0)).view(np.uint32).astype(np.int64)
    ascending = np.where(bits < 1 << 31, bits + (1 << 31), (1 << 32) - 1 - bits)
    return (1 << 32) - 1 - ascending


def _position_in_group(group: np.ndarray) -> np.ndarray:
    """0, 1, 2, … within each run of equal values."""
    start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    return np.arange(len(group)) - np.repeat(start, np.diff(np.append(start, len(group))))


def _warn_if_reordered(run: pd.DataFrame, query: np.ndarray, score: np.ndarray, what: str) -> None:
    if "rank" not in run.columns:
        return
    rank = pd.to_numeric(run["rank"], errors="coerce").to_numpy(dtype=np.float64)
    inverted = (rank[1:] < rank[:-1]) & (query[1:] == query[:-1]) & (score[1:] < score[:-1])
    if inverted.any():
        warnings.warn(
            f"{what}: the rank column disagrees with the order of the scores in "
            f"{len(np.unique(query[1:][inverted]))} queries; the scores decide, as in trec_eval",
            stacklevel=4,
        )
