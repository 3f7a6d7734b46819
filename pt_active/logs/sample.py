"""Which queries of a log are enough to plan from? A sample by their traffic, which answers for the log [theory 13]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import MAX_SEED, how_many, shown, whole_number
from pt_active.frames.progress import working
from pt_active.logs.files import FileLog, read_by_duckdb
from pt_active.logs.frames import DIGITS, WRONG, DaskLog, SparkLog, place_of
from pt_active.sampling.chances import inclusion_probabilities

Log = FileLog | DaskLog | SparkLog


@dataclass(frozen=True)
class QuerySample:
    """Queries that were drawn from a log, and the runs of these queries.

    Attributes:
        topics: One row for each query, in the order of the qids: ``qid``; ``traffic``, the weight that it stands for,
            its traffic over its inclusion probability; ``inclusion``, that probability; and other columns of a table
            of queries. The weights sum to the traffic of the log.
        runs: Ranker → ``qid, docno, score``.
        queries: How many queries with traffic the log has.
    """

    topics: pd.DataFrame
    runs: dict[str, pd.DataFrame]
    queries: int

    @property
    def certain(self) -> int:
        """How many queries were certain to be drawn."""
        return int((self.topics["inclusion"] >= 1).sum())


def sample_queries(source: Any, n: int, *, weight: str | Path | None = None, seed: int = 0) -> QuerySample:
    """Draw n queries of a log, each at most once, with probabilities in proportion to their traffic [theory 13].

    A query whose share of the traffic is so large that it would come more than once is certain, and the others share
    what is left of n. The inclusion probabilities are exact: the queries are ordered by a hash of the seed and the qid,
    and drawn systematically from a random start. So the sample depends on the seed, the qids and their traffic alone,
    and is the same from files, Dask and Spark.

    Plan with ``Plan.create(Runs(**sample.runs) >> grades, sample.topics, …)`` and ask for ``queries="new"``: the answer
    is for the mean over the log's queries, weighted by traffic. All queries have the same weight in the sample but the
    certain ones, which have more. That these could not have been others is not used, so intervals are wide where few
    queries have most of the traffic.

    Args:
        source: Ranker → a file, a pattern, or a list of these: Parquet or CSV with ``qid, docno, score``, read by
            DuckDB (extra ``logs``). Or a frame of Dask or Spark with ``run, qid, docno, score``, where ``run``
            names the ranker.
        n: How many queries to draw. Those of all rankers are drawn together.
        weight: The column of the rows with the traffic of their query; or, for files, a Parquet or CSV file with
            ``qid, traffic`` and perhaps ``query``. By default all queries have the same traffic, 1.
        seed: Random seed.

    Raises:
        TypeError: If the source is none of these.
        FileNotFoundError: If there is no such file.
        ValueError: If a file is malformed, a column is missing, the traffic of a query is not a number from 0 on or
            differs between its rows, fewer than n queries have traffic, or a ranker answers none that were drawn.
    """
    whole_number("n", n, 1)
    whole_number("seed", seed, 0, MAX_SEED)
    with working("sampling the log"), _log(source, weight, seed) as log:
        drawn, number = _drawn(log, n, seed)
        rows, known = log.rows(drawn.index.to_numpy())
    qids = np.sort(rows["qid"].unique())
    topics = drawn.loc[[place_of(seed, qid) for qid in qids]].reset_index(drop=True)
    topics.insert(0, "qid", qids)
    if known is not None:
        known = known.drop_duplicates()
        if (twice := known["qid"].duplicated()).any():
            raise ValueError(f"the table of queries has different rows for query {shown(known['qid'][twice].iloc[0])}")
        topics = topics.merge(known, how="left", on="qid")
    return QuerySample(topics, _by_ranker(rows, log.names), number)


def drawn_in_order(chance: np.ndarray, start: float) -> np.ndarray:
    """Draw queries that stand in a random order, systematically from a start [theory 13].

    Certain queries are taken out. Of the others, x comes if a whole number lies in ``(Σ_{<x} π + u, Σ_{≤x} π + u]``:
    with probability ``π_x`` whatever the order.

    Args:
        chance: float64[N], the `inclusion_probabilities` π, whose sum is a whole number: as many are drawn.
        start: u, from 0 on and below 1.

    Returns:
        bool[N], whether each is drawn.
    """
    drawn = chance >= 1
    if drawn.all():
        return drawn
    reach = np.where(drawn, 0.0, chance)
    np.cumsum(reach, out=reach)
    # Rounding must not make the sum of the probabilities another number than the whole one that it is.
    number = np.rint(reach[-1])
    reach /= reach[-1]
    reach *= number
    reach += start
    np.minimum(np.floor(reach, out=reach), number, out=reach)
    drawn[0] |= reach[0] > 0
    drawn[1:] |= reach[1:] > reach[:-1]
    return drawn


def _log(source: Any, weight: str | Path | None, seed: int) -> AbstractContextManager[Log]:
    """The log of a source."""
    if isinstance(source, Mapping):
        return read_by_duckdb(source, weight, seed)
    column = None if weight is None else str(weight)
    match type(source).__module__.partition(".")[0]:
        case "dask" | "dask_expr":
            return nullcontext(DaskLog(source, column, seed))
        case "pyspark":
            return nullcontext(SparkLog(source, column, seed))
    raise TypeError(f"a log is files by ranker, or a frame of Dask or Spark, got {shown(source)}")


def _drawn(log: Log, n: int, seed: int) -> tuple[pd.DataFrame, int]:
    """``traffic`` (the weight) and ``inclusion`` of drawn queries, by their places; and how many queries there are."""
    place, traffic = log.queries()
    _check_traffic(log, place, traffic)
    if not (traffic > 0).all():
        place, traffic = place[traffic > 0], traffic[traffic > 0]
    if len(place) < n:
        raise ValueError(f"{n} queries are too many: the log has {len(place)} with traffic")
    order = np.argsort(place)
    place = place[order]
    traffic = traffic[order]
    del order  # Where there are many queries, memory is short here.
    chance = inclusion_probabilities(traffic, n)
    rows = np.flatnonzero(drawn_in_order(chance, place_of(seed, "") / 16**DIGITS))
    if np.isin(place[rows], place[1:][place[1:] == place[:-1]]).any():
        raise ValueError(f"two queries have the same hash with the seed {seed}; take another")
    about = {"traffic": traffic[rows] / chance[rows], "inclusion": chance[rows]}
    return pd.DataFrame(about, index=place[rows]), len(place)


def _check_traffic(log: Log, place: np.ndarray, traffic: np.ndarray) -> None:
    """Raise if the traffic of a query is no number, naming the query."""
    if (wrong := traffic == WRONG).any():
        rows, _ = log.rows(place[wrong][:1])
        where = f"{how_many('query', int(wrong.sum()))}, as of query {shown(rows['qid'].iloc[0])}"
        raise ValueError(f"expected one traffic from 0 on in all rows of a query; it is another in {where}")


def _by_ranker(rows: pd.DataFrame, names: Sequence[str] | None) -> dict[str, pd.DataFrame]:
    """The rows of each ranker."""
    found = {str(name): run.drop(columns="run").reset_index(drop=True) for name, run in rows.groupby("run")}
    if absent := [name for name in names or () if name not in found]:
        raise ValueError(f"run {shown(absent[0])} answers none of the queries that were drawn; do the qids match?")
    return {name: found[name] for name in names or found}
