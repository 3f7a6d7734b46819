"""Queries and document texts, read from tables, TREC files and Parquet."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from pt_active.frames.checks import data_frame, shown, some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.datasets import dataset_id, dataset_texts, dataset_topics
from pt_active.frames.json_lines import read_json_lines
from pt_active.frames.layouts import NOT_UTF8
from pt_active.frames.parquet import read_parquet
from pt_active.frames.sources import Source, naming, read_source
from pt_active.frames.tables import read_table
from pt_active.frames.trec import is_parquet

_QUERY_TAGS = ("query", "title")
"""The tags of a topic in XML that hold its query."""


def read_topics(path: str | Path, no_limit: bool = False) -> pd.DataFrame:
    """Read queries from lines of ``qid<TAB>query``, a table, a TREC topics file (SGML or XML), or a Parquet frame.

    A table is a file whose first line names its columns, among them ``qid`` and ``query``, separated by tabs or commas.
    The query of a TREC topic is its title or query field; its description and narrative are not read.

    Args:
        path: A text file, compressed or not, ``.parquet`` with ``qid`` and ``query``, or ``ir_datasets:ID``.
        no_limit: Whether to read the file even if it goes beyond `sources.LIMITS`.

    Returns:
        ``qid, query`` in the file's order. Tables and Parquet frames keep their other columns; those of tables are
        strings.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line cannot be read as a topic, a qid has two queries, or the data set
            cannot be fetched.
    """
    if (name := dataset_id(path)) is not None:
        return _once_each(dataset_topics(name), "qid", "query", path)
    if is_parquet(path):
        return _once_each(read_parquet(path, ("qid", "query"), no_limit), "qid", "query", path)
    source = read_source(path, no_limit)
    with naming(path):
        frame = _topics(source)
    return _once_each(frame, "qid", "query", path)


def _topics(source: Source) -> pd.DataFrame:
    """The topics of a text file in the format that its first line shows."""
    head = source.first_line().lstrip()
    if head.startswith("<"):
        return _tagged_topics(source)
    for separator in ("\t", ","):
        names = [name.strip(' "\r') for name in head.split(separator)]
        if len(names) > 1 and (names[0] == "qid" or {"qid", "query"} <= set(names)):
            return _topic_table(source, separator)
    frame = _pairs(source, ("qid", "query"))
    wide = frame[frame["query"].str.contains("\t", regex=False)]
    if len(wide):
        raise ValueError(
            f"line {wide.index[0]}: expected qid<TAB>query; got more columns. To keep them, add a first line that "
            "names all columns, such as qid<TAB>query<TAB>qlength"
        )
    return frame


def read_texts(path: str | Path, no_limit: bool = False, docnos: Iterable[str] | None = None) -> pd.DataFrame:
    """Read document texts from lines of ``docno<TAB>text``, JSON lines, or a Parquet frame.

    The first tab ends the docno. Further tabs and quotation marks are part of the text.

    Args:
        path: A text file, ``.jsonl`` or ``.parquet`` with ``docno`` and ``text``; all but Parquet may be compressed. Or
            ``ir_datasets:ID``.
        no_limit: Whether to read the file even if it goes beyond `sources.LIMITS`.
        docnos: The documents that are wanted of a data set, which may be large; files are read in whole.

    Returns:
        ``docno, text`` in the file's order; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line cannot be read as a text, a docno has two texts, or the data set cannot
            be fetched.
    """
    if (name := dataset_id(path)) is not None:
        return _once_each(dataset_texts(name, docnos), "docno", "text", path)
    if is_parquet(path):
        return _once_each(read_parquet(path, ("docno", "text"), no_limit), "docno", "text", path)
    source = read_source(path, no_limit)
    with naming(path):
        if ".jsonl" in source.suffixes[-1:]:
            frame = read_json_lines(source, ("docno", "text"))
            _check_texts(frame)
        else:
            frame = _pairs(source, ("docno", "text"))
    return _once_each(frame, "docno", "text", path)


def with_texts(table: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Give documents their texts."""
    checked = with_string_ids(data_frame("texts", texts, "docno", "text")[["docno", "text"]])
    by_docno = checked.drop_duplicates("docno").set_index("docno")["text"]
    return table.assign(text=table["docno"].map(by_docno))


def _check_texts(frame: pd.DataFrame) -> None:
    """Raise if a text of JSON lines is something else."""
    wrong = ~frame["text"].map(lambda text: text is None or isinstance(text, str))
    if wrong.any():
        row = frame[wrong].iloc[0]
        raise ValueError(
            f"line {row.name}: expected a text of document {shown(row['docno'])}; got {shown(row['text'])}"
        )


def _pairs(source: Source, columns: tuple[str, str]) -> pd.DataFrame:
    """Read lines of two columns, which the first tab of each line separates; the index holds the line numbers."""
    rows = {}
    for number, line in source.lines():
        key, tab, value = line.rstrip("\n").partition("\t")
        if not key.strip() or not tab or NOT_UTF8.search(line):
            if line.strip():
                raise ValueError(f"line {number}: expected {'<TAB>'.join(columns)} in UTF-8; got {shown(line)}")
        else:
            rows[number] = key, value
    if not rows:
        raise ValueError(f"the file is empty; expected lines of {'<TAB>'.join(columns)}")
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))


def _topic_table(source: Source, separator: str) -> pd.DataFrame:
    """Read a table with a header line. Quotation marks enclose cells if commas separate them, not if tabs do."""
    table = read_table(source, separator, ("qid", "query"), quoted=separator == ",")
    if table.empty:
        raise ValueError("the file has a header but no topics")
    if (blank := table["qid"].str.strip() == "").any():
        raise ValueError(f"row {table.index[blank][0]}: expected a qid; it is empty")
    further = [name for name in table.columns if name not in ("qid", "query")]
    table[further] = table[further].where(table[further] != "", None)
    table = table.drop_duplicates(ignore_index=True)
    if repeated := set(table["qid"][table["qid"].duplicated()]):
        raise ValueError(f"each qid must have one row; these have several different rows: {some(sorted(repeated))}")
    return table


def _tagged_topics(source: Source) -> pd.DataFrame:
    """Read TREC topics in SGML, or in XML if there is a tag ``topic``."""
    text = source.text
    if re.search(r"<topic[ >]", text):
        rows = list(_xml_topics(source.content))
    else:
        rows = list(_sgml_topics(text))
    if not rows:
        raise ValueError("expected TREC topics with a number and a title; got none")
    return pd.DataFrame(rows, columns=["qid", "query"])


def _xml_topics(content: bytes) -> Iterator[tuple[str, str]]:
    wanted = "expected TREC topics with a number and a title"
    if b"<!ENTITY" in content:
        raise ValueError(f"{wanted}; got a document that declares entities")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"{wanted}; got {error}") from error
    for topic in root.iter("topic"):
        number = topic.get("number") or topic.findtext("number") or ""
        query = " ".join("".join(each.itertext()).strip() for each in topic if each.tag in _QUERY_TAGS)
        yield _topic(number.strip(), query.strip(), number.strip() or "one")


def _sgml_topics(text: str) -> Iterator[tuple[str, str]]:
    """Topics between ``<top>`` and ``</top>``, in which the next tag or the end of the topic ends a field."""
    for match in re.finditer(r"<top>(.*?)(</top>|(?=<top>)|\Z)", text, re.DOTALL | re.IGNORECASE):
        line = f"that begins in line {text.count(chr(10), 0, match.start()) + 1}"
        if not match[2]:
            raise ValueError(f"expected TREC topics with a number and a title; no </top> ends the topic {line}")
        number = _field(match[1], "num", "Number:")
        # The topics of TREC-1 have the number 051, and its qrels 51.
        yield _topic(number.removeprefix("0"), _field(match[1], "title", "Topic:"), line)


def _field(topic: str, tag: str, prefix: str) -> str:
    """The text after a tag up to the next one, without a prefix that TREC repeats."""
    match = re.search(rf"<{tag}>(.*?)(?=</?[a-z]+>|\Z)", topic, re.DOTALL | re.IGNORECASE)
    said = " ".join(html.unescape(match[1]).split()) if match else ""
    return said.removeprefix(prefix).strip()


def _topic(number: str, query: str, which: str) -> tuple[str, str]:
    if not number or not query:
        lacks = "title" if number else "number"
        raise ValueError(f"expected TREC topics with a number and a title; the topic {which} has no {lacks}")
    return number, query


def _once_each(frame: pd.DataFrame, key: str, value: str, path: str | Path) -> pd.DataFrame:
    """Drop repeated rows, and raise if a key has two values."""
    frame = with_string_ids(frame).drop_duplicates([key, value], ignore_index=True)
    repeated = frame[key][frame[key].duplicated()].unique()
    if len(repeated):
        raise ValueError(f"{path}: each {key} must have one {value}; these have several: {some(repeated)}")
    return frame
