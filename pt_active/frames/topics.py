"""Queries and document texts, read from tables, TREC files, Parquet and data sets of ir_datasets."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from pt_active.frames.checks import data_frame, shown, some, unfit
from pt_active.frames.columns import with_string_ids
from pt_active.frames.sources import Source, naming, read_source
from pt_active.frames.tables import is_parquet, read_parquet, read_table

_QUERY_TAGS = ("query", "title")  # The tags of a topic in XML that hold its query
_TOPICS = "expected TREC topics with a number and a title"
PREFIXES = ("irds:", "ir_datasets:")
"""Before the id of a data set that stands in the place of a file, such as ``irds:msmarco-passage``."""

_ABOUT = ("description", "narrative")  # Further columns of queries of data sets that judges are shown


def read_topics(path: str | Path) -> pd.DataFrame:
    """Read queries from lines of ``qid<TAB>query``, a table, a TREC topics file (SGML or XML), or a Parquet frame.

    The first line of a table names its columns, among them ``qid`` and ``query``, separated by tabs or commas.
    The query of a TREC topic is its title or query field; its description and narrative are not read.

    Args:
        path: A text file, compressed or not, ``.parquet`` with ``qid`` and ``query``, or ``ir_datasets:ID``.

    Returns:
        ``qid, query`` in the file's order. Tables and Parquet frames keep their other columns; those of tables are
        strings.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty, a line cannot be read as a topic, a qid has two queries, or the data set
            cannot be fetched.
    """
    return _read(path, "qid", "query", _data_set_topics, _topics)


def read_texts(path: str | Path, docnos: Iterable[str] | None = None) -> pd.DataFrame:
    """Read document texts from lines of ``docno<TAB>text``, or a Parquet frame.

    The first tab ends the docno. Further tabs and quotation marks are part of the text.

    Args:
        path: A text file, compressed or not, ``.parquet`` with ``docno`` and ``text``, or ``ir_datasets:ID``.
        docnos: The documents that are wanted of a data set, which may be large; files are read in whole.

    Returns:
        ``docno, text`` in the file's order; a Parquet frame keeps its other columns too.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: As for `read_topics`.
    """
    of_data_set, of_text = partial(_data_set_texts, docnos=docnos), partial(_pairs, columns=("docno", "text"))
    return _read(path, "docno", "text", of_data_set, of_text)


def _read(
    path: str | Path,
    key: str,
    value: str,
    of_data_set: Callable[[str], pd.DataFrame],
    of_text: Callable[[Source], pd.DataFrame],
) -> pd.DataFrame:
    """Read what has one value for each key, from wherever it is, and drop repeated rows."""
    if (name := dataset_id(path)) is not None:
        frame = with_string_ids(of_data_set(name))
    elif is_parquet(path):
        frame = read_parquet(path, (key, value))
    else:
        with naming(path):
            frame = with_string_ids(of_text(read_source(path)), "line")
    frame = frame.drop_duplicates([key, value], ignore_index=True)
    if len(repeated := frame[key][frame[key].duplicated()].unique()):
        raise ValueError(f"{path}: each {key} must have one {value}; these have several: {some(repeated)}")
    return frame


def _topics(source: Source) -> pd.DataFrame:
    head = source.first_line().lstrip()
    if head.startswith("<"):
        xml = re.search(r"<topic[ >]", source.text)
        rows = list(_xml_topics(source.content) if xml else _sgml_topics(source.text))
        if not rows:
            raise ValueError(f"{_TOPICS}; got none")
        return pd.DataFrame(rows, columns=["qid", "query"])
    for separator in ("\t", ","):
        names = [name.strip().strip(' "') for name in head.split(separator)]
        if len(names) > 1 and (names[0] == "qid" or {"qid", "query"} <= set(names)):
            return _topic_table(source, separator)
    frame = _pairs(source, ("qid", "query"))
    wide = frame[frame["query"].str.contains("\t", regex=False)]
    if len(wide):
        hint = "To keep them, add a first line that names all columns, such as qid<TAB>query<TAB>qlength"
        raise ValueError(f"line {wide.index[0]}: expected qid<TAB>query; got more columns. {hint}")
    return frame


def with_texts(table: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Give documents their texts."""
    checked = with_string_ids(data_frame("texts", texts, "docno", "text")[["docno", "text"]])
    by_docno = checked.drop_duplicates("docno").set_index("docno")["text"]
    return table.assign(text=table["docno"].map(by_docno))


def _pairs(source: Source, columns: tuple[str, str]) -> pd.DataFrame:
    """Read lines of two columns, which the first tab of each line separates; the index holds the line numbers."""
    rows = {}
    for number, line in source.lines():
        key, tab, value = line.rstrip("\n").partition("\t")
        if key.strip() and tab:
            rows[number] = key, value
        elif line.strip():
            raise unfit(f"line {number}", "<TAB>".join(columns), shown(line))
    if not rows:
        raise ValueError(f"the file is empty; expected lines of {'<TAB>'.join(columns)}")
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns))


def _topic_table(source: Source, separator: str) -> pd.DataFrame:
    """Read a table with a header line. Quotation marks enclose cells if commas separate them, not if tabs do."""
    table = read_table(source, separator, ("qid", "query"), quoted=separator == ",")
    if table.empty:
        raise ValueError("the file has a header but no topics")
    table = with_string_ids(table)
    further = [name for name in table.columns if name not in ("qid", "query")]
    table[further] = table[further].where(table[further] != "", None)
    table = table.drop_duplicates(ignore_index=True)
    if repeated := set(table["qid"][table["qid"].duplicated()]):
        raise ValueError(f"each qid must have one row; these have several different rows: {some(sorted(repeated))}")
    return table


def _xml_topics(content: bytes) -> Iterator[tuple[str, str]]:
    if b"<!ENTITY" in content:
        raise ValueError(f"{_TOPICS}; got a document that declares entities")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"{_TOPICS}; got {error}") from error
    for topic in root.iter("topic"):
        number = topic.get("number") or topic.findtext("number") or ""
        query = " ".join("".join(each.itertext()).strip() for each in topic if each.tag in _QUERY_TAGS)
        yield _topic(number.strip(), query.strip(), number.strip() or "one")


def _sgml_topics(text: str) -> Iterator[tuple[str, str]]:
    """Topics between ``<top>`` and ``</top>``, in which the next tag or the end of the topic ends a field."""
    for match in re.finditer(r"<top>(.*?)(</top>|(?=<top>)|\Z)", text, re.DOTALL | re.IGNORECASE):
        number, query = _field(match[1], "num", "Number:"), _field(match[1], "title", "Topic:")
        fits = match[2] and number and query
        line = "" if fits else f"that begins in line {text.count(chr(10), 0, match.start()) + 1}"
        if not match[2]:
            raise ValueError(f"{_TOPICS}; no </top> ends the topic {line}")
        yield _topic(number, query, line)


def _field(topic: str, tag: str, prefix: str) -> str:
    """The text after a tag up to the next one, without a prefix that TREC repeats."""
    match = re.search(rf"<{tag}>(.*?)(?=</?[a-z]+>|\Z)", topic, re.DOTALL | re.IGNORECASE)
    said = " ".join(html.unescape(match[1]).split()) if match else ""
    return said.removeprefix(prefix).strip()


def _topic(number: str, query: str, which: str) -> tuple[str, str]:
    if not number or not query:
        raise ValueError(f"{_TOPICS}; the topic {which} has no {'title' if number else 'number'}")
    return number, query


def dataset_id(path: str | Path) -> str | None:
    """The id of the data set that stands in the place of a file; None if it is a file."""
    text = str(path)
    return next((text.removeprefix(prefix) for prefix in PREFIXES if text.startswith(prefix)), None)


def _data_set_texts(name: str, docnos: Iterable[str] | None) -> pd.DataFrame:
    with _fetched(name, "docs") as dataset:
        if docnos is None:
            documents = list(dataset.docs_iter())
        else:
            wanted = list(dict.fromkeys(docnos))
            known = dataset.docs_store().get_many(wanted)
            documents = [known[docno] for docno in wanted if docno in known]
        rows = [(each.doc_id, each.default_text()) for each in documents]
        return pd.DataFrame(rows, columns=["docno", "text"], dtype=object)


def _data_set_topics(name: str) -> pd.DataFrame:
    """``qid, query`` (+ ``description``, ``narrative``) of a data set."""
    with _fetched(name, "queries") as dataset:
        queries = list(dataset.queries_iter())
    # What a searcher typed is the title of a TREC topic, or the text of another query.
    titles = [str(getattr(each, "title", None) or each.default_text()).strip() for each in queries]
    rows = {"qid": [each.query_id for each in queries], "query": titles}
    rows |= {about: [getattr(each, about) for each in queries] for about in _ABOUT if hasattr(queries[0], about)}
    return pd.DataFrame(rows, dtype=object)


@contextmanager
def _fetched(name: str, kind: str) -> Iterator[Any]:
    """The data set; everything that fails on the way to its content is one message."""
    import ir_datasets

    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise ValueError(f"ir_datasets has no data set {shown(name)}; ir-datasets.com lists them") from error
    if not getattr(dataset, f"has_{kind}")():
        raise ValueError(f"the data set {shown(name)} has no {kind} of its own; ir-datasets.com says which has")
    try:
        yield dataset
    except (OSError, RuntimeError) as error:
        why = shown(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ValueError(
            f"the {kind} of the data set {shown(name)} are not on this machine and cannot be fetched ({why}); with a "
            f"network, `ir_datasets export {name} {kind}` fetches them once, or give a file"
        ) from error
