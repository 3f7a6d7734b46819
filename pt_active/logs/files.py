"""How do files of runs that do not fit into memory become partitions of whole queries?"""

from __future__ import annotations

import glob
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pt_active.frames.checks import file_path, how_many, shown, some
from pt_active.frames.clocks import keys
from pt_active.frames.columns import id_string
from pt_active.frames.sources import naming, opened, read_unpacked, source_of
from pt_active.frames.tables import is_parquet, reading_parquet
from pt_active.frames.trec import RUN, read_columns
from pt_active.logs.rows import PARTITION_COLUMNS, RANKER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetWriter

ROWS_OF_PARTITION = 1 << 19  # Rows of all runs that a partition has, about; a process needs some 700 bytes for each

ROWS_OF_BLOCK = 1 << 20  # Rows of a table that are read at a time where they are written again
ROWS_OF_READ = 1 << 16  # … and where they are not, so that few are read beyond the last that is needed

FILES = 512  # New tables of a run that are written at the same time, at most
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
    start: int
    rows: int


Partition: TypeAlias = "tuple[list[Span], ...]"
"""All rows of some queries, ranker by ranker."""


class Partitions(NamedTuple):
    """Where the rows of the runs are."""

    parts: list[list[Partition]]  # together are those that begin in the same part of a table, which is read once
    whole: Partition  # the rows of all parts


def partitioned(
    files: Mapping[str, Sequence[Path]], folder: Path, number: int | None, topics: pd.DataFrame | None = None
) -> Partitions:
    """Partitions of whole queries: parts of the files where these agree in the order of queries, or new files."""
    texts = folder / "texts"
    tables = {name: _as_parquet(paths, texts / str(place)) for place, (name, paths) in enumerate(files.items())}
    rows = {name: [_checked_rows(name, path) for path in paths] for name, paths in tables.items()}
    if empty := [name for name, counts in rows.items() if not sum(counts)]:
        raise ValueError(f"run {shown(empty[0])}: its tables are empty; expected rows with {some(_COLUMNS)}")
    number = max(1, -(-sum(map(sum, rows.values())) // ROWS_OF_PARTITION)) if number is None else number
    if (found := _cut(tables, rows, number, topics)) is not None:
        return found
    runs = list(enumerate(tables.items()))
    spread = [_spread(name, paths, folder / str(place), min(number, FILES), topics) for place, (name, paths) in runs]
    shutil.rmtree(texts, ignore_errors=True)
    whole = tuple([Span(path, 0, sum(_groups(path))) for path in paths] for paths in spread)
    return Partitions([[tuple([span] for span in part)] for part in zip(*whole, strict=True)], whole)


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
    groups = np.cumsum([number for path in next(iter(tables.values())) for number in _groups(path)])
    parts: dict[int, list[Partition]] = {}
    for place, group in enumerate(np.searchsorted(groups, bounds[0][:-1], side="right").tolist()):
        parts.setdefault(group, []).append(tuple(_spans(*each, place) for each in about))
    return Partitions([*parts.values()], tuple(_spans(*each[:2], [0, sum(each[1])], 0) for each in about))


def _heads(paths: Sequence[Path]) -> tuple[np.ndarray, pa.ChunkedArray] | None:
    """The rows at which a query begins, int64[m], and these queries; None if the rows do not come query by query."""
    import pyarrow as pa
    import pyarrow.compute as pc

    starts, qids, row = [], [pa.array([], pa.large_string())], 0
    for column in (block["qid"] for path in paths for block in _blocks(path, columns=["qid"])):
        code = column.indices
        first = np.append(True, pc.not_equal(code[1:], code[:-1]).to_numpy(zero_copy_only=False))[: len(code)]
        heads = column.filter(first).cast(pa.large_string())
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


def _spread(name: str, tables: Sequence[Path], folder: Path, number: int, topics: pd.DataFrame | None) -> list[Path]:
    """New tables of the rows that have a topic; each holds all rows of its queries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    folder.mkdir()
    paths, zeros = [folder / f"{part}.parquet" for part in range(number)], set[str]()
    known = None if topics is None else pa.array(topics["qid"].to_numpy(dtype=object).tolist(), pa.string())
    with naming(f"run {name}"), ExitStack() as stack:
        writers = [stack.enter_context(_written(path)) for path in paths]
        for block in (block for path in tables for block in _blocks(path, most=ROWS_OF_BLOCK)):
            qids = block["qid"]
            part = (keys(0, pd.Series(qids.dictionary.to_pandas())) % np.uint64(number)).astype(np.uint16)
            if known is not None:
                there = pc.is_in(qids.dictionary, known)
                part[~there.to_numpy(zero_copy_only=False)] = number
                zeros.update(_but_for_zeros(qids.dictionary.filter(pc.invert(there)), known))
            part = part[qids.indices.to_numpy()]
            order = np.argsort(part, kind="stable")
            bounds = np.searchsorted(part[order], np.arange(number + 1)).tolist()
            rows = pa.Table.from_batches([block.cast(_schema())]).take(order)
            for writer, start, stop in zip(writers, bounds, bounds[1:], strict=False):
                if start < stop:
                    writer.write_table(rows.slice(start, stop - start))
    if zeros:
        counted = (
            f"{how_many('query', len(zeros), 'has')} no topic but for leading zeros, such as {some(sorted(zeros))}"
        )
        raise ValueError(f"run {shown(name)}: {counted}; give the topics the ids of the runs")
    return paths


def _but_for_zeros(qids: pa.Array, topics: pa.Array) -> list[str]:
    """Those queries that differ from one in the topics by leading zeros alone."""
    import pyarrow.compute as pc

    numbers = pc.ascii_ltrim(topics.filter(pc.match_substring_regex(topics, "^[0-9]+$")), characters="0")
    return list(qids.filter(pc.is_in(pc.ascii_ltrim(qids, characters="0"), numbers)).to_pylist())


def read_partitions(parts: Sequence[Partition], names: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The rows of partitions, ranker by ranker; what lies together in a table is read in one go."""
    for blocks in zip(*(_read_in_turn(spans) for spans in zip(*parts, strict=True)), strict=True):
        yield _frame(blocks, names)


def read_queries(whole: Partition, names: Sequence[str], qids: Sequence[str]) -> pd.DataFrame:
    """The rows of some queries, ranker by ranker."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted, found = pa.array(qids, pa.string()), []
    for blocks in ((block for span in spans for block in _blocks(*span)) for spans in whole):
        there = ((each, pc.is_in(each["qid"].dictionary, wanted)) for each in blocks)
        found.append([each.filter(known.take(each["qid"].indices)) for each, known in there])
    return _frame(found, names)


def _frame(blocks: Sequence[Sequence[pa.RecordBatch]], names: Sequence[str]) -> pd.DataFrame:
    """The rows in the blocks of each ranker."""
    import pyarrow as pa

    rows = [sum(map(len, each)) for each in blocks]
    if not sum(rows):
        return pd.DataFrame(columns=PARTITION_COLUMNS)
    frame = pa.Table.from_batches([block.cast(_schema()) for each in blocks for block in each]).to_pandas()
    run = pd.Categorical.from_codes(np.repeat(np.arange(len(names)), rows), categories=pd.Index(names))
    return frame.assign(**{RANKER: run})[PARTITION_COLUMNS]


def _read_in_turn(parts: Sequence[Sequence[Span]]) -> Iterator[list[pa.RecordBatch]]:
    """The blocks of each part of a run, of which each begins where the one before ends."""
    tables = (list(own) for _, own in groupby(chain.from_iterable(parts), lambda span: span.table))
    blocks = (each for own in tables for each in _blocks(*own[0][:2], sum(span.rows for span in own)))
    rest = None
    for left in (sum(span.rows for span in spans) for spans in parts):
        found = []
        while left and (block := next(blocks, None) if rest is None else rest) is not None:
            found.append(block.slice(0, left))
            left, rest = left - len(found[-1]), block.slice(left) if len(block) > left else None
        yield found


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("qid", pa.string()), ("docno", pa.string()), ("score", pa.float64())])


def _groups(path: Path) -> list[int]:
    """How many rows each part of a Parquet table has."""
    from pyarrow.parquet import read_metadata

    about = read_metadata(path)
    return [about.row_group(group).num_rows for group in range(about.num_row_groups)]


def _blocks(
    path: Path, start: int = 0, rows: int | None = None, columns: Sequence[str] = _COLUMNS, most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Rows of a Parquet table, one after the other: ids as strings, qid with a dictionary, and scores as numbers."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, read_metadata

    with _reading(path), ParquetFile(path, read_dictionary=_with_dictionary(read_metadata(path))) as table:
        ends = np.cumsum(_groups(path), dtype=int)
        stop = table.metadata.num_rows if rows is None else start + rows
        groups = np.arange(np.searchsorted(ends, start, side="right"), min(np.searchsorted(ends, stop) + 1, len(ends)))
        row = ends[groups[0] - 1] if len(groups) and groups[0] else 0
        for batch in table.iter_batches(most or ROWS_OF_READ, groups.tolist(), [*columns], use_threads=False):
            low, high = max(start - row, 0), min(stop - row, len(batch))
            row += len(batch)
            if low < high:
                found = batch.slice(low, high - low)
                yield pa.RecordBatch.from_arrays([_typed(found[name], name) for name in columns], names=[*columns])


def _with_dictionary(about: FileMetaData) -> list[str]:
    """The columns that Arrow reads with a dictionary: qid, unless a part of it holds differences of strings."""
    groups, place = map(about.row_group, range(about.num_row_groups)), about.schema.names.index("qid")
    return [] if any("DELTA" in " ".join(group.column(place).encodings) for group in groups) else ["qid"]


def _typed(values: pa.Array, column: str) -> pa.Array:
    import pyarrow as pa

    if column == "qid" and values.type == pa.dictionary(pa.int32(), pa.string()):
        return values
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if column == "score":
        if not (pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type) or pa.types.is_decimal(plain.type)):
            plain = pa.array(pd.to_numeric(plain.to_pandas(), errors="coerce").to_numpy(np.float64, na_value=np.nan))
        return plain.cast(pa.float64(), safe=False)
    if pa.types.is_floating(plain.type):
        plain = pa.array(plain.to_pandas().map(id_string, na_action="ignore"), pa.string(), from_pandas=True)
    text = plain.cast(pa.string())
    return text.dictionary_encode() if column == "qid" else text


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the file in errors of reading a table, those of the system too."""
    try:
        with naming(path), reading_parquet():
            yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


@contextmanager
def _written(path: Path) -> Iterator[ParquetWriter]:
    from pyarrow.parquet import ParquetWriter

    writer = ParquetWriter(path, _schema(), compression="lz4")
    try:
        yield writer
        writer.close()
    finally:
        writer.is_open = False  # or it would be closed once more when it goes, and complain


def _checked_rows(name: str, path: Path) -> int:
    """How many rows a Parquet run has; raises if it lacks columns or values, or has wrong ones."""
    import pyarrow.compute as pc
    from pyarrow.parquet import read_schema

    with _reading(path):
        schema = read_schema(path)
        if absent := [column for column in _COLUMNS if column not in schema.names]:
            raise ValueError(f"run {shown(name)} needs the columns qid, docno, score; it lacks {some(absent)}")
        for column in _COLUMNS:
            _check_kind(column, schema.field(column).type)
        wrong, rows = Counter[str](), 0
        for block in _blocks(path):
            block.validate(full=True)
            rows += len(block)
            wrong["qid"] += block["qid"].null_count
            wrong["docno"] += block["docno"].null_count
            wrong["score"] += len(block) - (pc.sum(pc.is_finite(block["score"])).as_py() or 0)
        for column, number in wrong.items():
            if number:
                score = f"{how_many('score', number, 'is')} not a finite number"
                raise ValueError(score if column == "score" else f"{how_many('row', number, 'has')} no {column}")
    return rows


def _check_kind(column: str, kind: pa.DataType) -> None:
    from pyarrow import types

    held = kind.value_type if types.is_dictionary(kind) else kind
    known = types.is_integer, types.is_floating, types.is_string, types.is_large_string, types.is_string_view
    known = *known, types.is_null, *([types.is_decimal] * (column == "score"))  # null: tables without rows
    if not any(is_kind(held) for is_kind in known):
        raise ValueError(f"the column {column!r} must hold {'text or ' * (column != 'score')}numbers, not {kind}")


def _as_parquet(paths: Sequence[Path], folder: Path) -> list[Path]:
    """The files of a run as Parquet; TREC files are read block by block and written again."""
    import pyarrow as pa

    texts = [path for path in paths if not (is_parquet(path) or path.is_dir())]
    tables = [table for path in paths if path not in texts for table in _tables_of(path)]
    for path in texts:
        folder.mkdir(parents=True, exist_ok=True)
        tables.append(folder / f"{len(tables)}.parquet")
        with _written(tables[-1]) as writer:
            for block in run_blocks(path):
                writer.write_table(pa.Table.from_pandas(block[_COLUMNS], _schema(), preserve_index=False))
    return tables


def _tables_of(path: Path) -> list[Path]:
    """A Parquet table, or the tables of a folder, as Spark and Dask write one."""
    if not path.is_dir():
        return [path]
    if tables := [each for each in sorted(path.rglob("*")) if not (each.is_dir() or each.name.startswith((".", "_")))]:
        return tables
    raise ValueError(f"{path}: the folder is empty; expected Parquet tables")


def run_blocks(path: Path) -> Iterator[pd.DataFrame]:
    """The rows of a TREC run, compressed or not, block by block."""
    line, rest, empty = 0, b"", True
    with naming(path), opened(path) as (stream, _):
        while True:
            read = read_unpacked(stream, BLOCK)
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
        return read_columns(source_of(path, b"\n" * before + content), RUN)[0]
