"""How do files of runs that do not fit into memory become partitions of whole queries?"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pt_active.frames.checks import file_path, how_many, shown, some
from pt_active.frames.sources import naming, opened, source_of
from pt_active.frames.tables import is_parquet
from pt_active.frames.trec import RUN, read_columns
from pt_active.logs.rows import PARTITION_COLUMNS, RANKER

if TYPE_CHECKING:
    import polars
    import pyarrow as pa

ROWS_OF_PARTITION = 1 << 19  # Rows of all runs that a partition has, about; a process needs some 700 bytes for each

BLOCK = 1 << 26  # Bytes of a TREC run that are parsed at a time

_COLUMNS = PARTITION_COLUMNS[1:]


def matching(name: str, given: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files of a run."""
    files: list[Path] = []
    for each in [given] if isinstance(given, (str, Path)) else given:
        path = file_path(name, each)
        found = [path] if path.exists() else sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not found:
            raise FileNotFoundError(f"run {shown(name)}: no file matches {shown(str(path))}")
        files += found
    return files


class Span(NamedTuple):
    """Rows of a Parquet table, one after the other."""

    table: Path
    start: int = 0
    rows: int | None = None  # all that follow if None


Partition: TypeAlias = "tuple[list[Span], ...]"
"""All rows of some queries, ranker by ranker."""


class Partitions(NamedTuple):
    """Where the rows of the runs are."""

    parts: list[Partition]
    whole: Partition  # the rows of all parts


def partitioned(
    files: Mapping[str, Sequence[Path]], folder: Path, number: int | None, topics: pd.DataFrame | None = None
) -> Partitions:
    """Partitions of whole queries: parts of the files where these agree in the order of queries, or new files."""
    try:
        import polars as pl
    except ImportError:
        raise ValueError('runs larger than memory are partitioned by Polars: pip install "pt-active[logs]"') from None
    texts = folder / "texts"
    tables = {name: _as_parquet(paths, texts / str(place)) for place, (name, paths) in enumerate(files.items())}
    rows = {name: [_rows_of(pl, path) for path in paths] for name, paths in tables.items()}
    if empty := [name for name, counts in rows.items() if not sum(counts)]:
        raise ValueError(f"run {shown(empty[0])}: its tables are empty; expected rows with {some(_COLUMNS)}")
    scans = {name: pl.concat([_checked_scan(pl, name, path) for path in paths]) for name, paths in tables.items()}
    number = max(1, -(-sum(map(sum, rows.values())) // ROWS_OF_PARTITION)) if number is None else number
    if (found := _cut(tables, rows, number, topics)) is not None:
        return found
    for place, (name, scanned) in enumerate(scans.items()):
        if topics is not None:
            known = pl.LazyFrame({"qid": topics["qid"].to_numpy(dtype=object).tolist()}, schema={"qid": pl.String})
            _check_zeros(pl, name, scanned, known)
            scanned = scanned.join(known, on="qid", how="semi")
        part = scanned.with_columns((pl.col("qid").hash() % number).cast(pl.UInt32).alias("part"))
        target = pl.PartitionBy(folder / str(place), key="part", include_key=False)
        # Polars does not always tell why it cannot write what was checked.
        unwritten = f"its partitions cannot be written below {folder.parent}; is the disk full?"
        with naming(f"run {name}"), _polars_told(pl, unwritten):
            part.sink_parquet(target, mkdir=True, compression="lz4")
    shutil.rmtree(texts, ignore_errors=True)

    def written(pattern: str) -> Partition:
        return tuple([Span(each) for each in sorted((folder / str(n)).glob(pattern))] for n in range(len(tables)))

    return Partitions([written(f"part={part}/*.parquet") for part in range(number)], written("*/*.parquet"))


def _cut(
    tables: Mapping[str, list[Path]], rows: Mapping[str, list[int]], number: int, topics: pd.DataFrame | None
) -> Partitions | None:
    """Parts of the files, if all hold the rows query by query in one order of queries; None otherwise."""
    import pyarrow as pa
    import pyarrow.compute as pc

    qids, starts = None, []
    for paths in tables.values():
        if (found := _heads(paths)) is None or (qids is not None and found[1] != qids):
            return None
        starts.append(found[0])
        qids = found[1]
    assert qids is not None
    wanted = qids if topics is None else pa.chunked_array([pa.array(topics["qid"].array, type=pa.large_string())])
    if pc.count_distinct(qids).as_py() < len(qids) or not pc.all(pc.is_in(qids, wanted)).as_py():
        return None
    ends = [sum(counts) for counts in rows.values()]
    cut = np.unique(np.searchsorted(np.sum(starts, axis=0), np.linspace(0, sum(ends), number, endpoint=False)))
    bounds = [np.append(start[cut[cut < len(qids)]], end).tolist() for start, end in zip(starts, ends, strict=True)]
    about = list(zip(tables.values(), rows.values(), bounds, strict=True))
    parts = [tuple(_spans(*about_run, place) for about_run in about) for place in range(len(bounds[0]) - 1)]
    return Partitions(parts, tuple([Span(path) for path in paths] for paths in tables.values()))


def _heads(paths: Sequence[Path]) -> tuple[np.ndarray, pa.ChunkedArray] | None:
    """The rows at which a query begins, int64[m], and these queries; None if the rows do not come query by query."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if any(path.is_dir() for path in paths):
        return None
    starts, qids, row = [], [pa.array([], pa.large_string())], 0
    for path in paths:
        for batch in pq.ParquetFile(path, read_dictionary=["qid"]).iter_batches(1 << 20, columns=["qid"]):
            column = batch.column(0)
            code = column.indices if pa.types.is_dictionary(column.type) else column
            first = np.append(True, pc.not_equal(code[1:], code[:-1]).to_numpy(zero_copy_only=False))[: len(code)]
            heads = column.filter(first)
            heads = (heads.dictionary_decode() if heads is not column and code is not column else heads).cast(
                pa.large_string()
            )
            if pc.count_distinct(heads).as_py() < len(heads):
                return None
            goes_on = int(len(qids[-1]) > 0 and len(heads) > 0 and qids[-1][-1] == heads[0])
            starts.append(row + np.flatnonzero(first)[goes_on:])
            if len(heads) > goes_on:
                qids.append(heads[goes_on:])
            row += len(code)
    return np.concatenate(starts), pa.chunked_array(qids)


def _spans(tables: Sequence[Path], rows: Sequence[int], bounds: Sequence[int], place: int) -> list[Span]:
    """Where the rows from one bound to the next are in tables that come one after the other."""
    (start, stop), spans, before = bounds[place : place + 2], [], 0
    for table, number in zip(tables, rows, strict=True):
        low, high = max(start - before, 0), min(stop - before, number)
        if low < high:
            spans.append(Span(table, low, high - low))
        before += number
    return spans


def _check_zeros(pl: Any, name: str, rows: polars.LazyFrame, topics: polars.LazyFrame) -> None:
    """Raise if queries of a run have no topic, and differ from one by leading zeros alone."""
    number = pl.col("qid").str.strip_chars_start("0").alias("number")
    numbers = topics.filter(pl.col("qid").str.contains("^[0-9]+$")).select(number)
    near = rows.select("qid", number).join(topics, on="qid", how="anti").join(numbers, on="number", how="semi")
    if left := near.select("qid").unique().sort("qid").collect(engine="streaming")["qid"].to_list():
        counted = f"{how_many('query', len(left), 'has')} no topic but for leading zeros, such as {some(left)}"
        raise ValueError(f"run {shown(name)}: {counted}; give the topics the ids of the runs")


def read_partition(partition: Partition, names: Sequence[str], qids: Sequence[str] | None = None) -> pd.DataFrame:
    """The rows of a partition, ranker by ranker, or those of some of its queries."""
    import polars as pl

    tables, rows = [], []
    for spans in partition:
        scanned = [_typed(pl, pl.scan_parquet(span.table).slice(span.start, span.rows)) for span in spans]
        if qids is not None:
            wanted = pl.col("qid").is_in(pl.Series(qids, dtype=pl.String).implode())
            scanned = [each.filter(wanted) for each in scanned]
        read = [each.collect(engine="auto" if qids is None else "streaming").to_arrow() for each in scanned]
        tables += read
        rows.append(sum(table.num_rows for table in read))
    if not tables:
        return pd.DataFrame(columns=PARTITION_COLUMNS)
    import pyarrow as pa

    frame = pa.concat_tables(tables).to_pandas()
    run = pd.Categorical.from_codes(np.repeat(np.arange(len(names)), rows), categories=pd.Index(names))
    return frame.assign(**{RANKER: run})[PARTITION_COLUMNS]


@contextmanager
def _reading(pl: Any, path: Path) -> Iterator[None]:
    """Name the file in errors of reading a table, those of Polars too."""
    with naming(path):
        if path.is_dir() and not any(path.iterdir()):
            raise ValueError("the folder is empty; expected Parquet tables")
        with _polars_told(pl, "this is not a Parquet table, or a damaged one"):
            yield


@contextmanager
def _polars_told(pl: Any, wrong: str) -> Iterator[None]:
    """Errors of Polars as ours, and what it says of the system, such as of a full disk, as Python has it."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if number := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{wrong} ({' '.join(str(error).split())[:200]})") from error


def _typed(pl: Any, scanned: polars.LazyFrame) -> polars.LazyFrame:
    """The rows with ids as strings and scores as numbers."""
    return scanned.select(*(pl.col(c).cast(pl.String) for c in ("qid", "docno")), pl.col("score").cast(pl.Float64))


def _rows_of(pl: Any, path: Path) -> int:
    with _reading(pl, path):
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _checked_scan(pl: Any, name: str, path: Path) -> polars.LazyFrame:
    """The rows of a Parquet run with ids as strings and scores as numbers."""
    with _reading(pl, path):
        scanned = pl.scan_parquet(path)
        schema = scanned.collect_schema()
        if absent := [column for column in _COLUMNS if column not in schema]:
            raise ValueError(f"run {shown(name)} needs the columns qid, docno, score; it lacks {some(absent)}")
        for column in ("qid", "docno"):
            kind = schema[column]
            if not (kind == pl.String or kind.is_integer() or kind in (pl.Categorical, pl.Enum, pl.Null)):
                raise ValueError(f"the column {column!r} must hold text or whole numbers, not {kind}")
        if not schema["score"].is_numeric():
            raise ValueError(f"the column 'score' must hold numbers, not {schema['score']}")
        checked = _typed(pl, scanned)
        wrong = {column: pl.col(column).is_null().sum() for column in ("qid", "docno")}
        wrong["score"] = (~pl.col("score").is_finite().fill_null(False)).sum()
        counts = checked.select(**wrong).collect(engine="streaming").row(0, named=True)
        for column, number in counts.items():
            if number and column == "score":
                raise ValueError(f"{how_many('score', number, 'is')} not a finite number")
            if number:
                raise ValueError(f"{how_many('row', number, 'has')} no {column}")
    return checked


def _as_parquet(paths: Sequence[Path], folder: Path) -> list[Path]:
    """The files of a run as Parquet; TREC files are read block by block and written again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [path for path in paths if is_parquet(path)]
    schema = pa.schema([("qid", pa.string()), ("docno", pa.string()), ("score", pa.float64())])
    for path in paths:
        if is_parquet(path):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        table = folder / f"{len(tables)}.parquet"
        with pq.ParquetWriter(table, schema, compression="lz4") as writer:
            for block in run_blocks(path):
                writer.write_table(pa.Table.from_pandas(block[_COLUMNS], schema, preserve_index=False))
        tables.append(table)
    return tables


def run_blocks(path: Path) -> Iterator[pd.DataFrame]:
    """The rows of a TREC run, compressed or not, block by block."""
    line, rest, empty = 0, b"", True
    with naming(path), opened(path) as (stream, _):
        while True:
            read = stream.read(BLOCK)
            content = rest + read
            end = content.rfind(b"\n") + 1 if read else len(content)
            whole, rest = content[:end], content[end:]
            if read and not end:
                source_of(path, content)  # A line as long as this is longer than the limits allow.
            if whole.strip():
                empty = False
                yield _rows(path, whole, line)
            line += whole.count(b"\n")
            if not read:
                break
        if empty:
            raise ValueError(f"the file is empty; expected {RUN.shape}")


def _rows(path: Path, content: bytes, before: int) -> pd.DataFrame:
    """The rows of some lines; blank lines stand for the ``before`` ones, so that messages name the file's line."""
    try:
        return read_columns(source_of(path, content), RUN)[0]
    except ValueError:
        if before == 0:
            raise
        first_wrong = source_of(path, b"\n" * before + content)
        return read_columns(first_wrong, RUN)[0]
