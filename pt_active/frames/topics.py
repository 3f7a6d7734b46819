"""Queries and document texts, read from tables, TREC files and Parquet."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.trec import NOT_UTF8, first_line, line_number, naming, read_json_lines, read_parquet, text_lines


def read_topics(path: str | Path) -> pd.DataFrame:
    """Read queries from lines of ``qid<TAB>query``, a table, a TREC topics file (SGML or XML), or a Parquet frame.

    A table is a file whose first line names its columns, starting with ``qid`` and separated by tabs or commas. The
    query of a TREC topic is its title or query field; its description and narrative are not read.

    Args:
        path: A text file, compressed or not, or ``.parquet`` with ``qid`` and ``query``.

    Returns:
        ``qid, query`` in the file's order. Tables and Parquet frames keep their other columns; those of tables are
        strings.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line cannot be read as a topic, or a qid has two queries.
    """
    if Path(path).suffix == ".parquet":
        frame = read_parquet(path, ("qid", "query"))
    elif (head := first_line(path).lstrip()).startswith("<"):
        frame = _read_tagged_topics(path)
    elif separator := re.match(r'"?qid"?([\t,])', head):
        frame = _read_topic_table(path, separator[1])
    else:
        frame = _read_pairs(path, ("qid", "query"))
        _check_two_columns(frame, path)
    return _once_each(frame, "qid", "query", path)


def read_texts(path: str | Path) -> pd.DataFrame:
    """Read document texts from lines of ``docno<TAB>text``, JSON lines, or a Parquet frame.

    The first tab ends the docno. Further tabs and quotation marks are part of the text.

    Args:
        path: A text file, ``.jsonl`` or ``.parquet`` with ``docno`` and ``text``; all but Parquet may be compressed.

    Returns:
        ``docno, text`` in the file's order; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line cannot be read as a text, or a docno has two texts.
    """
    if Path(path).suffix == ".parquet":
        frame = read_parquet(path, ("docno", "text"))
    elif ".jsonl" in Path(path).suffixes[-2:]:
        frame = read_json_lines(path, ("docno", "text")).reset_index(drop=True)
    else:
        frame = _read_pairs(path, ("docno", "text"))
    return _once_each(frame, "docno", "text", path)


def _read_pairs(path: str | Path, columns: tuple[str, str]) -> pd.DataFrame:
    """Read lines of two columns, which the first tab of each line separates."""
    rows = []
    with naming(path):
        for number, line in text_lines(path):
            key, tab, value = line.rstrip("\r\n").partition("\t")
            if not key.strip() or not tab or NOT_UTF8.search(line):
                if line.strip():
                    raise ValueError(f"line {number}: expected {'<TAB>'.join(columns)} in UTF-8; got {line[:80]!r}")
            else:
                rows.append((key, value))
        if not rows:
            raise ValueError(f"the file is empty; expected lines of {'<TAB>'.join(columns)}")
    return pd.DataFrame(rows, columns=list(columns))


def _read_topic_table(path: str | Path, separator: str) -> pd.DataFrame:
    """Read a table with a header line. Quotation marks enclose cells if commas separate them, not if tabs do."""
    with naming(path):
        quoting: Literal[0, 3] = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
        table = csv.reader((line for _, line in text_lines(path)), delimiter=separator, quoting=quoting)
        head = [name.strip() for name in next(row for row in table if any(row))]
        if len(set(head)) < len(head) or "query" not in head or "" in head:
            raise ValueError(f"the header must name qid, query and any further columns, each once; got {some(head)}")
        rows = [(table.line_num, row) for row in table if any(cell.strip() for cell in row)]
        for number, row in rows:
            if len(row) != len(head) or not row[0].strip() or NOT_UTF8.search("".join(row)):
                raise ValueError(f"line {number}: expected {some(head)} in UTF-8, as in the header; got {some(row)}")
        if not rows:
            raise ValueError("the file has a header but no topics")
    frame = pd.DataFrame([row for _, row in rows], columns=head, dtype=object)
    further = [name for name in head if name not in ("qid", "query")]
    frame[further] = frame[further].where(frame[further] != "", None)
    frame = frame.drop_duplicates(ignore_index=True)
    if repeated := set(frame["qid"][frame["qid"].duplicated()]):
        raise ValueError(
            f"{path}: each qid must have one row; these have several different rows: {some(sorted(repeated))}"
        )
    return frame


def _check_two_columns(frame: pd.DataFrame, path: str | Path) -> None:
    """Raise if lines without a header have more than two columns."""
    wide = frame[frame["query"].str.contains("\t", regex=False)]
    if len(wide):
        raise ValueError(
            f"{path}: line {line_number(path, int(wide.index[0]))}: expected qid<TAB>query; got more "
            "columns. To keep them, add a first line that names all columns, such as qid<TAB>query<TAB>qlength"
        )


def _read_tagged_topics(path: str | Path) -> pd.DataFrame:
    xml = any("<topic " in line or "<topic>" in line for _, line in text_lines(path))
    try:
        if not xml:
            return pt.io.read_topics(str(path), format="trec")
        with pt.io.autoopen(str(path), "rb") as stream:
            return pt.io.read_topics(stream, format="trecxml", tags=["query", "title"])
    except (ElementTree.ParseError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected TREC topics with a number and a title; got {error}") from error


def _once_each(frame: pd.DataFrame, key: str, value: str, path: str | Path) -> pd.DataFrame:
    """Drop repeated rows, and raise if a key has two values."""
    frame = with_string_ids(frame).drop_duplicates([key, value], ignore_index=True)
    repeated = frame[key][frame[key].duplicated()].unique()
    if len(repeated):
        raise ValueError(f"{path}: each {key} must have one {value}; these have several: {some(repeated)}")
    return frame
