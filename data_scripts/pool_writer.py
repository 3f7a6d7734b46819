"""Labelled pools on disk: one Parquet file, a row a document, with a manifest of what it was made from.

Columns: ``qid, docno, label``, then ``rank_<ranker>`` (from 0; -1 where not retrieved) and ``score_<ranker>`` for each
ranker, and where the source has them ``fold``, ``length``, ``features`` (one list a row), ``query`` and ``text``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

MANIFEST = b"pt_active"
"""The key of the manifest in the file's metadata."""

BLOCK = 1 << 20

ROWS_AT_ONCE = 100_000
"""Documents of a row group."""


class BadInput(ValueError):
    """Something is wrong with a file or an argument; the message says what and where."""


def ranked(qid: pd.Series, docno: pd.Series, score: np.ndarray) -> np.ndarray:
    """Ranks within each query: score descending, ties by docno descending, as in trec_eval.

    Args:
        qid: Of each document.
        docno: Of each document.
        score: float64[N]; NaN where the ranker does not retrieve it.

    Returns:
        int32[N] from 0; -1 where it is not retrieved.
    """
    frame = pd.DataFrame({"qid": qid.to_numpy(), "docno": docno.to_numpy(), "score": score})
    found = frame[frame["score"].notna()].sort_values(["score", "docno"], ascending=False, kind="stable")
    rank = np.full(len(frame), -1, dtype=np.int32)
    rank[found.index] = found.groupby("qid", sort=False).cumcount().to_numpy()
    return rank


def check_pairs(pool: pd.DataFrame) -> None:
    """Refuse a document that stands twice in a query.

    Raises:
        BadInput: If one does.
    """
    twice = pool.duplicated(["qid", "docno"])
    if twice.any():
        row = pool[twice].iloc[0]
        raise BadInput(f"document {row['docno']!r} stands twice in query {row['qid']!r}")


def write_pool(
    pool: pd.DataFrame,
    out: Path,
    sources: Sequence[Path],
    arguments: dict[str, Any],
    features: np.ndarray | None = None,
) -> None:
    """Write a labelled pool, whole or not at all, and say what was written.

    Args:
        pool: With ``qid, docno, label`` and the rankers' columns; the rows of a query follow each other.
        out: A new file.
        sources: The files that it was made from, whose digests the manifest records.
        arguments: What the script was told; paths are recorded by name only.
        features: float32[N, d], for a column ``features``.
    """
    check_pairs(pool)
    rankers = [c.removeprefix("rank_") for c in pool.columns if c.startswith("rank_")]
    grades = pool["label"].value_counts().sort_index()
    manifest = {
        "script": Path(sys.argv[0]).name,
        "arguments": {name: _plain(value) for name, value in arguments.items()},
        "sources": {path.name: digest(path) for path in sources},
        "versions": {name: version(name) for name in ("pyterrier-active", "pandas", "pyarrow", "scikit-learn")},
        "counts": {
            "queries": int(pool["qid"].nunique()),
            "documents": len(pool),
            "labels": {str(int(grade)): int(n) for grade, n in grades.items()},
        },
        "rankers": rankers,
    }
    unfinished = out.with_name(f".{out.name}.unfinished")
    metadata = {MANIFEST: json.dumps(manifest).encode()}
    first = _rows(pool, features, 0).schema
    schema = first.with_metadata({**(first.metadata or {}), **metadata})
    with pq.ParquetWriter(unfinished, schema) as writer:
        for start in tqdm(range(0, len(pool), ROWS_AT_ONCE), unit="block", desc=out.name, leave=False):
            writer.write_table(_rows(pool, features, start).cast(schema))
    os.replace(unfinished, out)
    print(_summary(manifest, out))


def _rows(pool: pd.DataFrame, features: np.ndarray | None, start: int) -> pa.Table:
    """Some rows as they are written."""
    table = pa.Table.from_pandas(pool.iloc[start : start + ROWS_AT_ONCE], preserve_index=False)
    if features is None:
        return table
    block = features[start : start + ROWS_AT_ONCE]
    ends = np.arange(len(block) + 1, dtype=np.int32) * np.int32(block.shape[1])
    return table.append_column("features", pa.ListArray.from_arrays(ends, pa.array(block.ravel())))


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a labelled pool; empty if it has none."""
    return json.loads((pq.read_schema(path).metadata or {}).get(MANIFEST, b"{}"))


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, str) and os.sep in value:
        name, equals, path = value.rpartition("=")
        return f"{name}{equals}{Path(path).name}"
    return value


def _summary(manifest: dict[str, Any], out: Path) -> str:
    counts = manifest["counts"]
    labels = ", ".join(f"{grade}: {n:,}" for grade, n in counts["labels"].items())
    rankers = manifest["rankers"]
    shown = ", ".join(rankers[:5]) + (", …" if len(rankers) > 5 else "")
    return (
        f"{out.name}: {counts['documents']:,} documents of {counts['queries']:,} queries\n"
        f"labels {labels}\n{len(rankers)} rankers: {shown}"
    )


def check_new(out: Path) -> None:
    """Refuse a file that exists, or whose folder does not.

    Raises:
        BadInput: If it does, or does not.
    """
    if out.exists():
        raise BadInput(f"{out} exists; choose another --out")
    if not out.absolute().parent.is_dir():
        raise BadInput(f"the folder of {out} does not exist")


def named(entries: Sequence[str], option: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` entries.

    Raises:
        BadInput: If one is not of that form, or a name comes twice.
    """
    found: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if not name or not value:
            raise BadInput(f"{option} needs NAME=VALUE, got {entry!r}")
        if name in found:
            raise BadInput(f"{option} {entry}: the name {name!r} is taken")
        found[name] = value
    return found


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, plain or ``.gz``, with a progress bar over its bytes."""
    with (
        path.open("rb") as raw,
        tqdm(total=path.stat().st_size, unit="B", unit_scale=True, desc=path.name, leave=False) as bar,
        gzip.open(raw) if path.suffix == ".gz" else nullcontext(raw) as stream,
    ):
        for number, line in enumerate(stream):
            if number % 1000 == 0:
                bar.update(raw.tell() - bar.n)
            yield line


def run(main: Callable[[list[str] | None], None], argv: list[str] | None = None) -> int:
    """Call a script's main function; bad input becomes one line on stderr.

    Returns:
        The exit code: 0, or 2 for bad input.
    """
    try:
        main(argv)
    except (ValueError, OSError, EOFError) as error:
        tqdm.write(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the option that all scripts have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--out", type=Path, required=True, metavar="FILE.parquet", help="the file to make")
    return found
