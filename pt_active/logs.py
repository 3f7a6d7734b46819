"""Which queries of a log are enough to plan from? A sample by their traffic, which answers for the log [theory 13]."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pt_active.frames.checks import MAX_SEED, how_many, shown, some, whole_number
from pt_active.frames.progress import working
from pt_active.frames.visible import check_visible
from pt_active.sampling.chances import at_most_one

Files: TypeAlias = "str | Path | Sequence[str | Path]"
"""A file, a pattern such as ``runs/*.parquet``, or several of these."""

_MEMORY, _LESS = "512MB", "128MB"
"""What DuckDB keeps in memory while it reads, and while queries are drawn; the rest is in a temporary folder."""

_DIGITS = 15  # Hexadecimal digits of a hash that make the place of a query: as many as fit into int64
_NO_NUMBER, _SEVERAL = -1.0, -2.0  # What stands for the traffic of a query that has none, or several different ones


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
        source: Ranker → a file, a pattern, or a list of these: Parquet or CSV with ``qid, docno, score``, or TREC runs,
            read by DuckDB (extra ``logs``). Or a frame of Dask or Spark with ``run, qid, docno, score``, where ``run``
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
        chance = inclusion(traffic, n)
        drawn = drawn_in_order(chance, _place(seed, "") / 16**_DIGITS)
        if np.isin(place[drawn], place[1:][place[1:] == place[:-1]]).any():
            raise ValueError(f"two queries have the same hash with the seed {seed}; take another")
        rows, known = log.rows(place[drawn])
    about = pd.DataFrame({"traffic": (traffic / chance)[drawn], "inclusion": chance[drawn]}, index=place[drawn])
    qids = np.sort(rows["qid"].unique())
    topics = about.loc[[_place(seed, qid) for qid in qids]].reset_index(drop=True)
    topics.insert(0, "qid", qids)
    if known is not None:
        topics = topics.merge(_once_each(known), how="left", on="qid")
    return QuerySample(topics, _by_ranker(rows, log.names), len(place))


def inclusion(traffic: np.ndarray, n: int) -> np.ndarray:
    """The probabilities ``min(1, τ w)`` with the sum n, as `chances.inclusion_probabilities` [theory 13].

    They are found without sorting, in little memory: certain queries are taken out until there are no more.

    Args:
        traffic: float64[N], positive.
        n: At most N.
    """
    chance = at_most_one(traffic * (n / traffic.sum()))
    certain = np.zeros(len(traffic), dtype=bool)
    while chance[~certain].max(initial=0.0) >= 1:
        certain |= chance >= 1
        left = traffic[~certain].sum()
        chance = at_most_one(traffic * ((n - certain.sum()) / left if left > 0 else 0.0))
        chance[certain] = 1.0
    return chance


def drawn_in_order(chance: np.ndarray, start: float) -> np.ndarray:
    """Draw queries that stand in a random order, systematically from a start [theory 13].

    Certain queries are taken out. Of the others, x comes if a whole number lies in ``(Σ_{<x} π + u, Σ_{≤x} π + u]``:
    with probability ``π_x`` whatever the order.

    Args:
        chance: float64[N], the inclusion probabilities π, whose sum is a whole number: as many are drawn.
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


def places(qids: Iterable[str], seed: int) -> np.ndarray:
    """int64[n], by which the queries of a log are ordered; DuckDB and Spark compute the same."""
    return np.array([_place(seed, qid) for qid in qids], dtype=np.int64)


def _place(seed: int, qid: str) -> int:
    return int(hashlib.md5(f"{seed}:{qid}".encode(), usedforsecurity=False).hexdigest()[:_DIGITS], 16)


class _Traffic(NamedTuple):
    """The queries of a log, in any order."""

    place: np.ndarray  # int64[N]
    traffic: np.ndarray  # float64[N]; `_NO_NUMBER` or `_SEVERAL` where it is not one number from 0 on


class _Log(ABC):
    """A log, and the engine that reads it."""

    names: Sequence[str] | None = None  # the rankers; None if the rows name them

    @abstractmethod
    def queries(self) -> _Traffic:
        """Aggregate the rows of each query."""

    @abstractmethod
    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """``run, qid, docno, score`` of the queries at some places, int64[n], and what else is known of these."""


@contextmanager
def _log(source: Any, weight: str | Path | None, seed: int) -> Iterator[_Log]:
    """The log of a source."""
    package = type(source).__module__.partition(".")[0]
    if isinstance(source, Mapping):
        with TemporaryDirectory(prefix="pt-active-") as folder:
            yield from _read_by_duckdb(source, weight, seed, folder)
    elif package in ("dask", "dask_expr", "pyspark"):
        columns = ["run", "qid", "docno", "score", *([] if weight is None else [str(weight)])]
        _check_columns("the frame", source.columns, columns)
        _check_ids("the frame", str(dict(source.dtypes)["qid"]))
        yield (_Spark if package == "pyspark" else _Dask)(source, None if weight is None else str(weight), seed)
    else:
        raise TypeError(f"a log is files by ranker, or a frame of Dask or Spark, got {shown(source)}")


def _read_by_duckdb(source: Mapping[str, Files], weight: str | Path | None, seed: int, folder: str) -> Iterator[_Log]:
    try:
        import duckdb
    except ImportError:
        raise ValueError("files of a log are read by DuckDB: pip install 'pt-active[logs]'") from None
    config: dict[str, Any] = {"temp_directory": folder, "preserve_insertion_order": "false"}
    try:
        with duckdb.connect(config=config) as database:
            database.execute("SET enable_progress_bar = false")
            yield _Files(database, source, weight, seed)
    except duckdb.Error as error:
        raise ValueError(f"DuckDB cannot read the log: {' '.join(str(error).split())[:300]}") from error


def _check_columns(what: str, columns: Iterable[object], wanted: Sequence[str]) -> None:
    if absent := [name for name in wanted if name not in set(columns)]:
        raise ValueError(f"{what} needs the columns {', '.join(wanted)}; it lacks {some(absent)}")


def _check_ids(what: str, kind: str) -> None:
    """Raise if qids have a type whose texts depend on who writes them."""
    if kind.lower().startswith(("double", "float", "decimal")):
        raise ValueError(f"{what}: qids must be texts or whole numbers, and the column has the type {kind}")


def _check_traffic(log: _Log, place: np.ndarray, traffic: np.ndarray) -> None:
    """Raise if the traffic of a query is no number, naming the query."""
    for fault, says in ((_NO_NUMBER, "not a number from 0 on"), (_SEVERAL, "not the same in all of its rows")):
        if (wrong := traffic == fault).any():
            rows, _ = log.rows(place[wrong][:1])
            where = how_many("query", int(wrong.sum()))
            raise ValueError(f"the traffic of {where} is {says}, as of query {shown(rows['qid'].iloc[0])}")


def _once_each(known: pd.DataFrame) -> pd.DataFrame:
    """A table of queries with one row for each."""
    known = known.drop_duplicates()
    if (twice := known["qid"].duplicated()).any():
        raise ValueError(f"the table of queries has different rows for query {shown(known['qid'][twice].iloc[0])}")
    return known


def _by_ranker(rows: pd.DataFrame, names: Sequence[str] | None) -> dict[str, pd.DataFrame]:
    """The rows of each ranker."""
    found = {str(name): run.drop(columns="run").reset_index(drop=True) for name, run in rows.groupby("run")}
    if absent := [name for name in names or () if name not in found]:
        raise ValueError(f"run {shown(absent[0])} answers none of the queries that were drawn; do the qids match?")
    return {name: found[name] for name in names or found}


class _Files(_Log):
    """Runs in files, read by DuckDB."""

    def __init__(self, database: Any, runs: Mapping[str, Files], weight: str | Path | None, seed: int) -> None:
        if not runs:
            raise ValueError("a log needs at least one ranker")
        check_visible("ranker", runs)
        self.database, self.seed, self.names = database, seed, list(runs)
        self.table = None
        column = None if weight is None else str(weight)
        if column is not None and (isinstance(weight, Path) or Path(column).suffix in (".parquet", ".csv", ".tsv")):
            self.table, column = self._scan("the traffic", column, ["qid", "traffic"]), None
        wanted = ["qid", "docno", "score", *([] if column is None else [column])]
        self.runs = {name: self._scan(f"run {shown(name)}", files, wanted) for name, files in runs.items()}
        self.weight = None if column is None else _quoted(column)

    def _scan(self, what: str, files: Files, columns: Sequence[str]) -> str:
        """What DuckDB reads from some files."""
        scan = _scan([files] if isinstance(files, (str, Path)) else files)
        about = self.database.sql(f"SELECT * FROM {scan} LIMIT 0")
        _check_columns(what, about.columns, columns)
        _check_ids(what, str(about.types[about.columns.index("qid")]))
        return scan

    def _keep(self, memory: str) -> None:
        """Set what DuckDB keeps in memory; what is more goes to disk at once."""
        self.database.execute(f"SET memory_limit = '{memory}'")

    def queries(self) -> _Traffic:
        self._keep(_MEMORY)
        number = "1.0" if self.weight is None else _number(f"TRY_CAST({self.weight} AS DOUBLE)")
        parts = " UNION ALL ".join(f"SELECT qid, {number} AS w FROM {scan}" for scan in self.runs.values())
        if self.table is not None:
            known = f"SELECT CAST(qid AS VARCHAR) AS qid, {_number('TRY_CAST(traffic AS DOUBLE)')} AS w"
            asked = f"SELECT DISTINCT CAST(qid AS VARCHAR) AS qid FROM ({parts})"
            joined = f"({asked}) LEFT JOIN ({known} FROM {self.table}) USING (qid)"
            parts = f"SELECT qid, coalesce(w, {_NO_NUMBER}) AS w FROM {joined}"
        digits = f"substr(md5('{self.seed}:' || qid), 1, {_DIGITS})"
        same = f"CASE WHEN min(w) = max(w) THEN min(w) WHEN min(w) < 0 THEN {_NO_NUMBER} ELSE {_SEVERAL} END"
        whole = f"SELECT CAST(qid AS VARCHAR) AS qid, {same} AS traffic FROM ({parts}) GROUP BY qid"
        table = f"SELECT qid, CAST('0x' || {digits} AS BIGINT) AS place, traffic FROM ({whole})"
        self.database.execute(f"CREATE TEMP TABLE queries AS {table}")
        if self.database.sql("SELECT count(*) - count(qid) FROM queries").fetchall() != [(0,)]:
            raise ValueError("a row of the log has no qid")
        found = self.database.sql("SELECT place, traffic FROM queries").fetchnumpy()
        self._keep(_LESS)
        return _Traffic(found["place"], found["traffic"])

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        self._keep(_MEMORY)
        wanted = pd.DataFrame({"place": drawn})
        self.database.register("wanted", wanted)
        chosen = "SELECT qid FROM queries SEMI JOIN wanted USING (place)"
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE drawn AS {chosen}")
        own = "CAST(qid AS VARCHAR) AS qid"
        columns = f"{own}, CAST(docno AS VARCHAR) AS docno, CAST(score AS DOUBLE) AS score"
        parts = [
            f"SELECT * FROM (SELECT {_text(name)} AS run, {columns} FROM {scan}) SEMI JOIN drawn USING (qid)"
            for name, scan in self.runs.items()
        ]
        rows = self.database.sql(" UNION ALL ".join(parts)).df()
        if self.table is None:
            return rows, None
        known = f"SELECT {own}, * EXCLUDE (qid, traffic) FROM {self.table}"
        return rows, self.database.sql(f"SELECT * FROM ({known}) SEMI JOIN drawn USING (qid)").df()


def _number(value: str) -> str:
    """Traffic in SQL, or `_NO_NUMBER`; NaN is larger than all numbers."""
    return f"CASE WHEN {value} >= 0 AND {value} < CAST('inf' AS DOUBLE) THEN {value} ELSE {_NO_NUMBER} END"


def _scan(files: Sequence[str | Path]) -> str:
    """What reads files of one kind in SQL, which the suffix of the first tells."""
    found: list[str] = []
    for each in map(str, files):
        matching = [each] if Path(each).exists() else sorted(glob.glob(each, recursive=True))
        if not matching:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), each)
        found += matching
    listed = f"[{', '.join(map(_text, found))}]"
    suffixes = set(Path(found[0]).suffixes)
    if ".parquet" in suffixes:
        return f"read_parquet({listed}, union_by_name = true)"
    if suffixes & {".csv", ".tsv"}:
        return f"read_csv({listed}, header = true, all_varchar = true, union_by_name = true)"
    how = "header = false, auto_detect = false, strict_mode = false, quote = '', escape = '', delim = '\x1f'"
    how += ", columns = {'line': 'VARCHAR'}"
    split = "regexp_split_to_array(trim(line, ' \t\r'), '[ \t]+')"
    fields = f"SELECT line, {split} AS fields FROM read_csv({listed}, {how})"
    wrong = "error('a line of a TREC run has six fields, not as here: ' || line)"
    six = f"SELECT CASE WHEN len(fields) = 6 THEN fields ELSE {wrong} END AS fields FROM ({fields})"
    six += " WHERE fields <> ['']"
    return f"(SELECT fields[1] AS qid, fields[3] AS docno, fields[5] AS score FROM ({six}))"


def _text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


class _Dask(_Log):
    """A frame of Dask."""

    def __init__(self, frame: Any, weight: str | None, seed: int) -> None:
        self.frame, self.weight, self.seed = frame, weight, seed

    def queries(self) -> _Traffic:
        traffic = self.frame["qid"].notnull().astype("float64")
        if self.weight is not None:
            traffic = self.frame[self.weight].astype("float64")
            traffic = traffic.where((traffic >= 0) & (traffic < np.inf), _NO_NUMBER)
        rows = self.frame[["qid"]].assign(w=traffic)
        found = rows.groupby("qid", dropna=False)["w"].agg(["min", "max"], split_out=self.frame.npartitions)
        found = found.reset_index().compute()
        if found["qid"].isna().any():
            raise ValueError("a row of the log has no qid")
        low, high = found["min"].to_numpy(), found["max"].to_numpy()
        same = np.where(low == high, low, np.where(low < 0, _NO_NUMBER, _SEVERAL))
        return _Traffic(places(found["qid"].astype(str), self.seed), same)

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        frame, seed = self.frame[["run", "qid", "docno", "score"]], self.seed

        def among(part: pd.DataFrame) -> pd.DataFrame:
            code, qids = pd.factorize(part["qid"].astype(str))
            return part[np.isin(places(qids, seed), drawn)[code]]

        rows = frame.map_partitions(among, meta=frame._meta).compute()
        return rows.astype({"qid": str, "docno": str, "score": "float64"}).reset_index(drop=True), None


class _Spark(_Log):
    """A frame of Spark."""

    def __init__(self, frame: Any, weight: str | None, seed: int) -> None:
        from pyspark.sql import functions

        self.frame, self.weight = frame, weight
        text = functions.concat(functions.lit(f"{seed}:"), functions.col("qid").cast("string"))
        digits = functions.substring(functions.md5(text), 1, _DIGITS)
        self.place = functions.conv(digits, 16, 10).cast("long").alias("place")

    def queries(self) -> _Traffic:
        from pyspark.sql import functions

        traffic = functions.lit(1.0)
        if self.weight is not None:
            given = functions.col(self.weight).cast("double")
            right = (given >= 0) & (given < float("inf"))
            traffic = functions.when(right, given).otherwise(functions.lit(_NO_NUMBER))
        low, high = functions.min("w"), functions.max("w")
        same = functions.when(low == high, low).when(low < 0, _NO_NUMBER).otherwise(_SEVERAL)
        by_query = self.frame.select("qid", traffic.alias("w")).groupBy("qid").agg(same.alias("traffic"))
        found = by_query.select(self.place, "traffic").toPandas()
        if found["place"].isna().any():
            raise ValueError("a row of the log has no qid")
        return _Traffic(found["place"].to_numpy(np.int64), found["traffic"].to_numpy())

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        from pyspark.sql import functions

        texts = [functions.col(name).cast("string").alias(name) for name in ("run", "qid", "docno")]
        rows = self.frame.select(*texts, functions.col("score").cast("double").alias("score"))
        wanted = self.frame.sparkSession.createDataFrame([(int(each),) for each in drawn], "place long")
        rows = rows.select("*", self.place).join(functions.broadcast(wanted), "place", "left_semi")
        return rows.drop("place").toPandas(), None
