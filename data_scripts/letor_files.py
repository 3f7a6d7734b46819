"""Reads files with features of documents, SVMlight text and numpy arrays, in blocks.

A block is parsed at the speed of pyarrow's CSV reader. If that fails or gives odd values, its lines are checked one by
one to report the first wrong line.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pool_writer import BadInput, Documents, lines_of, opened
from pyarrow import csv

from pt_active.frames.qrels import HIGHEST_LABEL
from pt_active.frames.sources import naming

ROWS_AT_ONCE = 10_000

MAX_FEATURE = 10_000
"""A higher feature number is treated as an error."""

_LARGEST = float(np.finfo(np.float32).max)
_LABEL = re.compile(rb"\d+(\.0*)?")
_FEATURE = re.compile(rb"\d+:[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_DOCID = re.compile(rb"docid\s*=\s*(\S+)")
_ANY_INFINITY = re.compile(rb":[-+]?inf", re.IGNORECASE)
_BLANKS_TO_NEWLINES = bytes.maketrans(b" \t\r\v\f", b"\n" * 5)
_CSV = {
    "read_options": csv.ReadOptions(column_names=["number", "value"]),
    "parse_options": csv.ParseOptions(delimiter=":", quote_char=False),
    "convert_options": csv.ConvertOptions(
        column_types={"number": pa.int32(), "value": pa.float64()}, null_values=[], strings_can_be_null=False
    ),
}


class Heads(NamedTuple):
    """The parts of some lines: ids and labels, and the unparsed features.

    Attributes:
        frame: ``line, qid, docno, label``; an id is empty if the line has none.
        features: The text between label and comment, one entry per line.
    """

    frame: pd.DataFrame
    features: list[bytes]


def read_fold(path: Path, sizes: Path | None, prefix: str) -> Iterator[Documents]:
    """Read one file in any of the formats, in blocks of whole queries.

    Args:
        path: SVMlight text, plain or ``.gz``, or a two-dimensional ``.npy`` or ``.npy.gz`` array: label, qid, features.
        sizes: A file with the number of documents of each query, one per line, if the lines have no ``qid:``.
        prefix: Prefix of the numbers of queries without names.

    Returns:
        ``line, qid, docno, label``, and the features, float32[n, d], where d may differ between blocks. Values too
        large for float32, which mark missing values in Istella, become 0.

    Raises:
        BadInput: If a line is malformed, or the sizes do not add up.
    """
    if ".npy" in path.suffixes:
        blocks = _read_array(path)
    else:
        blocks = _read_text(path, numbered=sizes is None)
    if sizes is not None:
        blocks = _with_queries(blocks, _query_ends(sizes), prefix, f"{sizes}", path)
    return map(_with_docnos, _whole_queries(blocks))


def _read_text(path: Path, numbered: bool) -> Iterator[Documents]:
    begin, lines = 1, lines_of(path)
    while block := list(islice(lines, ROWS_AT_ONCE)):
        documents = _parsed(block, begin, path, numbered)
        if len(documents.frame):
            yield documents
        begin += len(block)


def _parsed(block: list[bytes], begin: int, path: Path, numbered: bool) -> Documents:
    try:
        heads = _heads(block, begin, numbered)
        return Documents(heads.frame, _dense(heads.features))
    except (ValueError, IndexError) as error:
        _complain(block, begin, path, numbered)
        raise BadInput(f"{path}: lines {begin} to {begin + len(block) - 1}: {error}") from error


def _heads(block: list[bytes], begin: int, numbered: bool) -> Heads:
    rows, features = [], []
    for line, text in enumerate(block, begin):
        data, _, comment = text.partition(b"#")
        fields = data.split(None, 2 if numbered else 1)
        if fields:
            qid = _qid(fields.pop(1)) if numbered else ""
            rows.append((line, qid, _docid(comment), _label(fields[0])))
            features.append(fields[1] if len(fields) > 1 else b"")
    return Heads(pd.DataFrame(rows, columns=["line", "qid", "docno", "label"]), features)


def _qid(field: bytes) -> str:
    name, _, qid = field.partition(b":")
    if name != b"qid" or not qid:
        raise ValueError("no qid")
    return qid.decode()


def _docid(comment: bytes) -> str:
    match = _DOCID.search(comment) if comment else None
    return match[1].decode() if match else ""


def _label(field: bytes) -> int:
    if not _LABEL.fullmatch(field) or float(field) > HIGHEST_LABEL:
        raise ValueError("no label")
    return int(float(field))


def _dense(features: list[bytes]) -> np.ndarray:
    """float32[n, d] from ``NUMBER:VALUE …`` of each document; absent features are 0.

    Raises:
        ValueError: If a feature is malformed or infinite.
    """
    counts = np.array([text.count(b":") for text in features], dtype=np.int64)
    if not counts.any() and not b"".join(features).strip():
        return np.zeros((len(features), 1), dtype=np.float32)
    body = b"\n".join(features).translate(_BLANKS_TO_NEWLINES)
    table = csv.read_csv(pa.py_buffer(body), **_CSV)
    number, value = table["number"].to_numpy(), table["value"].to_numpy()
    row = np.repeat(np.arange(len(features)), counts)
    rising = (np.diff(number) > 0) | (np.diff(row) > 0)
    if number.min() < 1 or number.max() > MAX_FEATURE or not rising.all() or np.isnan(value).any():
        raise ValueError("odd features")
    if np.isinf(value).any() and _ANY_INFINITY.search(body):
        raise ValueError("an infinite value")
    dense = np.zeros((len(features), number.max()), dtype=np.float32)
    dense[row, number - 1] = _single(value)
    return dense


def _single(value: np.ndarray) -> np.ndarray:
    """The values as float32; values too large become 0."""
    return np.where(np.abs(value) > _LARGEST, 0, value).astype(np.float32)


def _complain(block: list[bytes], begin: int, path: Path, numbered: bool) -> None:
    """Raise for the first wrong line, if there is one."""
    for line, text in enumerate(block, begin):
        wrong = _wrong(text, numbered)
        if wrong:
            raise BadInput(f"{path}:{line}: {wrong}")


def _wrong(text: bytes, numbered: bool) -> str | None:
    tokens = text.partition(b"#")[0].split()
    if not tokens:
        return None
    if not _LABEL.fullmatch(tokens[0]) or float(tokens[0]) > HIGHEST_LABEL:
        return f"expected a whole label from 0 to {HIGHEST_LABEL}, got {_shown(tokens[0])}"
    if numbered and (len(tokens) == 1 or not re.fullmatch(rb"qid:.+", tokens[1])):
        return f"expected qid:QUERY after the label, got {_shown(tokens[1]) if len(tokens) > 1 else 'nothing'}"
    return _wrong_feature(tokens[2 if numbered else 1 :]) or _wrong_bytes(text)


def _wrong_feature(tokens: list[bytes]) -> str | None:
    before = 0
    for token in tokens:
        number = int(token.partition(b":")[0]) if _FEATURE.fullmatch(token) else 0
        if not 1 <= number <= MAX_FEATURE:
            return f"expected NUMBER:VALUE, from 1 to {MAX_FEATURE} and finite, got {_shown(token)}"
        if number <= before:
            return f"expected numbers of features that increase, got {_shown(token)} after {before}"
        before = number
    return None


def _wrong_bytes(text: bytes) -> str | None:
    try:
        text.decode()
    except UnicodeDecodeError:
        return "expected UTF-8, got other bytes"
    return None


def _shown(token: bytes) -> str:
    return repr(token.decode("utf-8", "replace"))


def _read_array(path: Path) -> Iterator[Documents]:
    with naming(path), NamedTemporaryFile(suffix=".npy") as plain:
        if path.suffix == ".gz":
            _uncompress(path, Path(plain.name))
        array = np.load(plain.name if path.suffix == ".gz" else path, mmap_mode="r")
        if array.ndim != 2 or array.shape[1] < 3 or array.dtype.kind not in "iuf" or not len(array):
            raise BadInput(f"expected rows of label, qid, features, got {array.dtype} of shape {array.shape}")
        for begin in range(0, len(array), ROWS_AT_ONCE):
            yield _rows(np.array(array[begin : begin + ROWS_AT_ONCE]), begin + 1)


def _uncompress(path: Path, plain: Path) -> None:
    with opened(path) as (stream, _), plain.open("wb") as target:
        shutil.copyfileobj(stream, target)


def _rows(array: np.ndarray, begin: int) -> Documents:
    label, qid = array[:, 0], array[:, 1]
    labels = (label >= 0) & (label <= HIGHEST_LABEL) & (label == np.floor(label))
    _refuse(~labels, begin, f"a whole label from 0 to {HIGHEST_LABEL}", label)
    _refuse(~(np.isfinite(qid) & (qid == np.floor(qid))), begin, "a whole number as qid", qid)
    finite = np.isfinite(array).all(axis=1)
    _refuse(~finite, begin, "finite features", np.where(finite, 0, np.nan))
    frame = {"line": np.arange(begin, begin + len(array)), "qid": qid.astype(np.int64).astype(str), "docno": ""}
    return Documents(pd.DataFrame({**frame, "label": label.astype(np.int64)}), _single(array[:, 2:]))


def _refuse(wrong: np.ndarray, begin: int, expected: str, values: np.ndarray) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise BadInput(f"row {begin + first}: expected {expected}, got {values[first]:g}")


def _query_ends(sizes: Path) -> np.ndarray:
    """int64[n], the number of documents up to the end of each query."""
    counts = []
    for line, text in enumerate(lines_of(sizes), 1):
        if not text.strip().isdigit():
            raise BadInput(f"{sizes}:{line}: expected a number of documents, got {_shown(text.strip())}")
        counts.append(int(text))
    return np.cumsum(counts)


def _with_queries(
    blocks: Iterable[Documents], ends: np.ndarray, prefix: str, sizes: str, path: Path
) -> Iterator[Documents]:
    done = 0
    for frame, features in blocks:
        query = np.searchsorted(ends, np.arange(done, done + len(frame)), side="right")
        done += len(frame)
        yield Documents(frame.assign(qid=prefix + pd.Series(query, frame.index).astype(str)), features)
    if done != ends[-1]:
        raise BadInput(f"{sizes}: expected numbers that add up to the {done} documents of {path}, got {ends[-1]}")


def _whole_queries(blocks: Iterable[Documents]) -> Iterator[Documents]:
    """The documents in blocks that end at the end of a query."""
    held: Documents | None = None
    for block in blocks:
        held = block if held is None else _joined(held, block)
        qid = held.frame["qid"].to_numpy()
        others = np.flatnonzero(qid != qid[-1])
        if len(others):
            end = int(others[-1]) + 1
            yield Documents(held.frame[:end], held.features[:end])
            held = Documents(held.frame[end:], held.features[end:])
    if held is not None:
        yield held


def _joined(first: Documents, second: Documents) -> Documents:
    width = max(first.features.shape[1], second.features.shape[1])
    features = np.concatenate([padded(first.features, width), padded(second.features, width)])
    return Documents(pd.concat([first.frame, second.frame], ignore_index=True), features)


def padded(features: np.ndarray, width: int) -> np.ndarray:
    """The features with zeros up to a width."""
    return np.pad(features, ((0, 0), (0, width - features.shape[1])))


def _with_docnos(documents: Documents) -> Documents:
    """Name documents without a docno ``QUERY-NUMBER``, numbered from 0 within the query."""
    frame = documents.frame
    place = frame.groupby("qid", sort=False).cumcount().astype(str)
    docno = frame["docno"].where(frame["docno"] != "", frame["qid"] + "-" + place)
    return Documents(frame.assign(docno=docno), documents.features)
