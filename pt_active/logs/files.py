"""How does DuckDB read the runs of a log from files?"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown
from pt_active.frames.visible import check_visible
from pt_active.logs.frames import DIGITS, WRONG, check_columns, check_ids

Files: TypeAlias = "str | Path | Sequence[str | Path]"
"""A file, a pattern such as ``runs/*.parquet``, or several of these."""

_MEMORY, _LESS = "384MB", "128MB"
"""What DuckDB keeps in memory while it reads, and while queries are drawn; the rest is in a temporary folder."""


@contextmanager
def read_by_duckdb(runs: Mapping[str, Files], weight: str | Path | None, seed: int) -> Iterator[FileLog]:
    """The log of runs in files; errors of DuckDB are errors about the files."""
    try:
        import duckdb
    except ImportError:
        raise ValueError("files of a log are read by DuckDB: pip install 'pt-active[logs]'") from None
    with TemporaryDirectory(prefix="pt-active-") as folder:
        config: dict[str, Any] = {"temp_directory": folder, "preserve_insertion_order": "false"}
        try:
            with duckdb.connect(config=config) as database:
                database.execute("SET enable_progress_bar = false")
                yield FileLog(database, runs, weight, seed)
        except duckdb.Error as error:
            raise ValueError(f"DuckDB cannot read the log: {' '.join(str(error).split())[:300]}") from error


class FileLog:
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
        self.weight = None if column is None else '"' + column.replace('"', '""') + '"'

    def _scan(self, what: str, files: Files, columns: Sequence[str]) -> str:
        """What DuckDB reads from some files."""
        scan = _sql_of([files] if isinstance(files, (str, Path)) else files)
        about = self.database.sql(f"SELECT * FROM {scan} LIMIT 0")
        check_columns(what, about.columns, columns)
        check_ids(what, str(about.types[about.columns.index("qid")]))
        return scan

    def queries(self) -> tuple[np.ndarray, np.ndarray]:
        """The place, int64[N], and the traffic, float64[N], of each query, in any order."""
        self.database.execute(f"SET memory_limit = '{_MEMORY}'")
        number = "1.0" if self.weight is None else _number(self.weight)
        parts = " UNION ALL ".join(f"SELECT qid, {number} AS w FROM {scan}" for scan in self.runs.values())
        if self.table is not None:
            known = f"SELECT CAST(qid AS VARCHAR) AS qid, {_number('traffic')} AS w"
            asked = f"SELECT DISTINCT CAST(qid AS VARCHAR) AS qid FROM ({parts})"
            joined = f"({asked}) LEFT JOIN ({known} FROM {self.table}) USING (qid)"
            parts = f"SELECT qid, coalesce(w, {WRONG}) AS w FROM {joined}"
        digits = f"substr(md5('{self.seed}:' || qid), 1, {DIGITS})"
        # NaN is larger than all numbers.
        right = "min(w) = max(w) AND min(w) >= 0 AND max(w) < CAST('inf' AS DOUBLE)"
        same = f"CASE WHEN {right} THEN min(w) ELSE {WRONG} END"
        whole = f"SELECT CAST(qid AS VARCHAR) AS qid, {same} AS traffic FROM ({parts}) GROUP BY qid"
        table = f"SELECT qid, CAST('0x' || {digits} AS BIGINT) AS place, traffic FROM ({whole})"
        self.database.execute(f"CREATE TEMP TABLE queries AS {table}")
        if self.database.sql("SELECT count(*) - count(qid) FROM queries").fetchall() != [(0,)]:
            raise ValueError("a row of the log has no qid")
        found = self.database.sql("SELECT place, traffic FROM queries").fetchnumpy()
        self.database.execute(f"SET memory_limit = '{_LESS}'")
        return found["place"], found["traffic"]

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """``run, qid, docno, score`` of the queries at some places, int64[n], and the table of these queries."""
        self.database.execute(f"SET memory_limit = '{_MEMORY}'")
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


def _number(column: str) -> str:
    """A column as numbers in SQL, `WRONG` where it holds none."""
    return f"coalesce(TRY_CAST({column} AS DOUBLE), {WRONG})"


def _sql_of(files: Sequence[str | Path]) -> str:
    """What reads files of one kind in SQL, which the suffix of the first tells."""
    found: list[str] = []
    for each in map(str, files):
        matching = [each] if Path(each).exists() else sorted(glob.glob(each, recursive=True))
        if not matching:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), each)
        found += matching
    listed = f"[{', '.join(map(_text, found))}]"
    if ".parquet" in Path(found[0]).suffixes:
        return f"read_parquet({listed}, union_by_name = true)"
    return f"read_csv({listed}, header = true, all_varchar = true, union_by_name = true)"


def _text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
