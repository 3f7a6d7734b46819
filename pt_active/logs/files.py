"""How do files of runs that do not fit into memory become partitions of whole queries?"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import file_path, how_many, shown, some
from pt_active.frames.sources import naming, opened, source_of
from pt_active.frames.tables import is_parquet
from pt_active.frames.trec import RUN, read_columns
from pt_active.logs.rows import PARTITION_COLUMNS, RANKER

if TYPE_CHECKING:
    import polars

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


def partitioned(
    files: Mapping[str, Sequence[Path]], folder: Path, number: int | None, topics: pd.DataFrame | None = None
) -> list[Path]:
    """Write the runs again, so that each partition holds all rows of its queries."""
    try:
        import polars as pl
    except ImportError:
        raise ValueError('runs larger than memory are partitioned by Polars: pip install "pt-active[logs]"') from None
    texts = folder / "texts"
    tables = {name: _as_parquet(paths, texts / str(place)) for place, (name, paths) in enumerate(files.items())}
    rows = {name: sum(_rows_of(pl, path) for path in paths) for name, paths in tables.items()}
    if empty := [name for name, count in rows.items() if not count]:
        raise ValueError(f"run {shown(empty[0])}: its tables are empty; expected rows with {some(_COLUMNS)}")
    number = max(1, -(-sum(rows.values()) // ROWS_OF_PARTITION)) if number is None else number
    for place, (name, paths) in enumerate(tables.items()):
        scanned = pl.concat([_checked_scan(pl, name, path) for path in paths])
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
    return [folder / str(part) for part in range(number)]


def _check_zeros(pl: Any, name: str, rows: polars.LazyFrame, topics: polars.LazyFrame) -> None:
    """Raise if queries of a run have no topic, and differ from one by leading zeros alone."""
    number = pl.col("qid").str.strip_chars_start("0").alias("number")
    numbers = topics.filter(pl.col("qid").str.contains("^[0-9]+$")).select(number)
    near = rows.select("qid", number).join(topics, on="qid", how="anti").join(numbers, on="number", how="semi")
    if left := near.select("qid").unique().sort("qid").collect(engine="streaming")["qid"].to_list():
        counted = f"{how_many('query', len(left), 'has')} no topic but for leading zeros, such as {some(left)}"
        raise ValueError(f"run {shown(name)}: {counted}; give the topics the ids of the runs")


def read_partition(path: Path, names: Sequence[str]) -> pd.DataFrame:
    """A partition that `partitioned` wrote, ranker by ranker."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables: list[Any] = []
    rows: list[int] = []
    for place in range(len(names)):
        files = sorted((path.parent / str(place) / f"part={path.name}").glob("*.parquet"))
        tables += [pq.ParquetFile(file).read() for file in files]
        rows.append(sum(table.num_rows for table in tables) - sum(rows))
    if not tables:
        return pd.DataFrame(columns=PARTITION_COLUMNS)
    frame = pa.concat_tables(tables).combine_chunks().to_pandas()
    run = pd.Categorical.from_codes(np.repeat(np.arange(len(names)), rows), categories=pd.Index(names))
    return frame.assign(**{RANKER: run})[PARTITION_COLUMNS]


def read_queries(folder: Path, names: Sequence[str], qids: Sequence[str]) -> pd.DataFrame:
    """The rows of some queries in all partitions below a folder."""
    import polars as pl

    wanted = pl.col("qid").is_in(pl.Series(qids, dtype=pl.String))
    scanned = [
        pl.scan_parquet(folder / str(place) / "*" / "*.parquet", hive_partitioning=False)
        .filter(wanted)
        .select(pl.lit(name).alias(RANKER), *_COLUMNS)
        for place, name in enumerate(names)
    ]
    return pl.concat(scanned).collect(engine="streaming").to_pandas()


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
        ids = [pl.col(column).cast(pl.String) for column in ("qid", "docno")]
        checked = scanned.select(*ids, pl.col("score").cast(pl.Float64))
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
