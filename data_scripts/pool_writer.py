"""Writes labelled pools: one Parquet file with a row per document, and a manifest of its sources.

The columns are ``qid, docno, label``, then for each ranker ``rank_<ranker>`` (from 0; -1 if not retrieved) and
``score_<ranker>``, and if the source has them ``fold``, ``length``, ``features`` (one list per row), ``query``,
``text``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from pt_active.frames.atomic import new_file
from pt_active.frames.columns import ranker_names
from pt_active.frames.runs import ordered_run
from pt_active.frames.sources import naming
from pt_active.plans.making.manifest import digest

MANIFEST = "pt_active"
"""The key of the manifest in the file's metadata."""

VERSIONS_OF = ("pt-active", "numpy", "pandas", "pyarrow", "scikit-learn", "ir_datasets")
"""The packages whose versions the manifest records."""

_TYPES = {"label": pa.int64(), "fold": pa.int64(), "length": pa.float64()}
_LINES_PER_UPDATE = 1000
_PREFIXES = {"rank_": pa.int32(), "score_": pa.float64()}


class BadInput(ValueError):
    """A file or an argument is invalid; the message says what is wrong and where."""


class Documents(NamedTuple):
    """Documents of whole queries, with the rows of a query next to each other.

    Attributes:
        frame: One row per document.
        features: float32[n, d], or None if there are none.
    """

    frame: pd.DataFrame
    features: np.ndarray | None = None


class Grouping:
    """Checks that the documents of a query are contiguous: no query returns later, in the same or another file."""

    def __init__(self) -> None:
        self._path_of: dict[str, Path] = {}

    def check(self, frame: pd.DataFrame, path: Path) -> None:
        """Check the next documents.

        Args:
            frame: ``qid, docno, line``: whole queries in the order of the file, and the line of each document.
            path: The file.

        Raises:
            BadInput: If a query has occurred before, or repeats a document.
        """
        begins = frame.loc[frame["qid"] != frame["qid"].shift(), ["line", "qid"]]
        for line, qid in begins.itertuples(index=False, name=None):
            if qid in self._path_of:
                place = "earlier" if self._path_of[qid] == path else f"in {self._path_of[qid]}"
                raise BadInput(f"{path}:{line}: expected each query once, got query {qid!r}, which stands {place} too")
            self._path_of[qid] = path
        for row in frame[frame.duplicated(["qid", "docno"])].head(1).itertuples():
            raise BadInput(
                f"{path}:{row.line}: expected each document once, got {row.docno!r} twice in query {row.qid!r}"
            )


def ranked(frame: pd.DataFrame, score: np.ndarray) -> np.ndarray:
    """Ranks within each query: score descending, ties by docno descending, as in trec_eval.

    Args:
        frame: ``qid, docno``.
        score: float64[N]; NaN if the ranker does not retrieve the document.

    Returns:
        int32[N], ranks from 0; -1 if not retrieved.
    """
    rank = np.full(len(frame), -1, dtype=np.int32)
    retrieved = np.flatnonzero(~np.isnan(score))
    if len(retrieved):
        run = ordered_run(
            frame[["qid", "docno"]].iloc[retrieved].assign(score=score[retrieved], row=retrieved), "ranked"
        )
        rank[run["row"]] = run["rank"]
    return rank


def write_pool(
    chunks: Iterable[Documents], out: Path, script: str, arguments: Mapping[str, Any], sources: Mapping[str, str]
) -> None:
    """Write a labelled pool, whole or not at all, and print a summary.

    Args:
        chunks: Parts of the pool, written as they come: ``qid, docno, label``, the rankers' columns, and others.
        out: A new file.
        script: Name of the script.
        arguments: The script's arguments; paths are recorded by name only.
        sources: Name → digest of each source.
    """
    manifest: dict[str, Any] = {
        "script": script,
        "arguments": {name: _plain(value) for name, value in arguments.items() if name != "out"},
        "sources": dict(sources),
        "versions": {name: version(name) for name in VERSIONS_OF},
    }
    with new_file(out) as unfinished:
        _write(chunks, unfinished, manifest)
    print(_summary(manifest, out))


def _write(chunks: Iterable[Documents], path: Path, manifest: dict[str, Any]) -> None:
    """Write the chunks, then the manifest with the counts.

    Arrow's own schema is left out, since it would hide the manifest from `pyarrow.parquet.read_schema`.
    """
    queries, labels = 0, Counter[int]()
    rest = iter(chunks)
    first = next(rest)
    manifest["rankers"] = ranker_names(first.frame.columns)
    schema = _table(first).schema
    with pq.ParquetWriter(path, schema, store_schema=False) as writer:
        for chunk in chain([first], rest):
            writer.write_table(_table(chunk).cast(schema))
            queries += chunk.frame["qid"].nunique()
            labels.update(chunk.frame["label"].tolist())
        by_grade = {str(grade): labels[grade] for grade in sorted(labels)}
        manifest["counts"] = {"queries": queries, "documents": labels.total(), "labels": by_grade}
        writer.add_key_value_metadata({MANIFEST: json.dumps(manifest)})


def _table(documents: Documents) -> pa.Table:
    columns = {name: _array(documents.frame[name]) for name in documents.frame.columns}
    if documents.features is not None:
        n, width = documents.features.shape
        ends = np.arange(n + 1, dtype=np.int32) * np.int32(width)
        columns["features"] = pa.ListArray.from_arrays(ends, pa.array(documents.features.ravel()))
    return pa.table(columns)


def _array(column: pd.Series) -> pa.Array:
    """The column as an Arrow array of its type; NaN stays NaN."""
    name = str(column.name)
    known = _TYPES.get(name) or next((kind for start, kind in _PREFIXES.items() if name.startswith(start)), None)
    if known is not None:
        return pa.array(column.to_numpy(dtype=known.to_pandas_dtype()), type=known)
    return pa.array(column, type=None if pd.api.types.is_numeric_dtype(column) else pa.string())


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a labelled pool.

    Raises:
        KeyError: If it has none.
    """
    return cast(dict[str, Any], json.loads(pq.read_metadata(path).metadata[MANIFEST.encode()]))


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """File name → digest; the name includes as many folders as needed to make it unique."""
    distinct = list(dict.fromkeys(path.absolute() for path in paths))
    parts = next(n for n in range(1, 1000) if len({path.parts[-n:] for path in distinct}) == len(distinct))
    return {"/".join(path.parts[-parts:]): digest(path) for path in progress("digests", iterable=distinct, unit="file")}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return value.absolute().name
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _summary(manifest: dict[str, Any], out: Path) -> str:
    counts, rankers = manifest["counts"], manifest["rankers"]
    labels = ", ".join(f"{grade}: {n:,}" for grade, n in counts["labels"].items())
    shown = ", ".join(rankers[:5]) + (", …" if len(rankers) > 5 else "")
    return (
        f"{out.name}: {counts['documents']:,} documents of {counts['queries']:,} queries\n"
        f"labels {labels}\n{len(rankers)} rankers: {shown}"
    )


def check_new(out: Path) -> None:
    """Check the path of a new file.

    Raises:
        BadInput: If the file exists, or its folder does not.
    """
    if out.exists():
        raise BadInput(f"{out} exists; choose another --out")
    if not out.absolute().parent.is_dir():
        raise BadInput(f"the folder of {out} does not exist")


def named(entries: Sequence[str], option: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` entries.

    Raises:
        BadInput: If an entry is not of that form, or a name is repeated.
    """
    values: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if not name or not value:
            raise BadInput(f"{option} needs NAME=VALUE, got {entry!r}")
        if name in values:
            raise BadInput(f"{option} {entry}: the name {name!r} is taken")
        values[name] = value
    return values


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], Callable[[], object]]]:
    """Open a file, plain or ``.gz``, with a function that updates a progress bar to the position in the file."""
    with (
        path.open("rb") as raw,
        progress(path.name, total=path.stat().st_size, unit="B", unit_scale=True) as bar,
        gzip.open(raw) if path.suffix == ".gz" else nullcontext(raw) as stream,
    ):
        yield cast(IO[bytes], stream), lambda: bar.update(raw.tell() - bar.n)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, plain or ``.gz``.

    Raises:
        BadInput: If it is empty.
        ValueError: If its compression is damaged.
    """
    number = 0
    with naming(path), opened(path) as (stream, move):
        for number, line in enumerate(stream, 1):
            if number % _LINES_PER_UPDATE == 0:
                move()
            yield line
    if not number:
        raise BadInput(f"{path}: the file is empty")


def progress(what: str, **options: Any) -> tqdm:
    """A progress bar on stderr, shown only in a terminal."""
    return tqdm(desc=what, leave=False, disable=None, **options)


def run(main: Callable[[list[str] | None], None], argv: list[str] | None = None) -> int:
    """Call a script's main function; print bad input and each warning as one line on stderr.

    Returns:
        The exit code: 0, or 2 for bad input.
    """
    usual = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        main(argv)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    finally:
        warnings.formatwarning = usual
    return 0


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the option that all scripts have."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, metavar="FILE.parquet", help="the file to write")
    return options


def fold_files(files: Sequence[Path], folds: Sequence[str]) -> list[tuple[int, Path]]:
    """The number and file of each fold.

    Args:
        files: Files by position: folds 1, 2, …
        folds: Entries ``NUMBER=FILE`` instead.

    Raises:
        BadInput: If neither or both are given, or a number is not a whole number.
    """
    if bool(files) == bool(folds):
        raise BadInput("name the input files either by place or as --fold NUMBER=FILE")
    given = named(folds, "--fold")
    for number in given:
        if not number.isdecimal():
            raise BadInput(f"--fold needs a whole number before the =, got {number!r}")
    return list(enumerate(files, 1)) or [(int(number), Path(path)) for number, path in given.items()]


def add_folds(options: argparse.ArgumentParser) -> None:
    """Add the options for `fold_files`."""
    options.add_argument("files", type=Path, nargs="*", metavar="FILE", help="folds 1, 2, …")
    options.add_argument(
        "--fold", action="append", default=[], metavar="NUMBER=FILE", help="a fold with its number; repeatable"
    )
