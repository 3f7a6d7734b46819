"""What small files hold, by the plainest possible reading of each format, independent of the package.

Each oracle takes the bytes of a file and returns its rows, or None if the format does not allow the file.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import string

Rows = list[tuple[object, ...]]
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def text_of(data: bytes) -> str | None:
    """UTF-8 text without NUL, and without byte order marks in front, which blanks may precede."""
    try:
        text = re.sub("^([ \t]*\ufeff)+", "", data.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def lines_of(data: bytes) -> list[str] | None:
    text = text_of(data)
    if text is None:
        return None
    text = text.replace("\r\n", "\n")
    if "\r" in text and "\n" in text:
        return None
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip(" \t")]


def number_of(field: str) -> float | None:
    field = field.strip(string.whitespace)
    if re.fullmatch("[+-]?inf(inity)?", field, re.IGNORECASE):
        return -math.inf if field.startswith("-") else math.inf
    return float(field) if NUMBER.fullmatch(field) else None


def label_of(field: str) -> int | None:
    """A grade, -1 (unjudged) or -2 (spam); None if it is none of these."""
    number = number_of(field)
    if number is None or not -2 <= number <= 1000 or number != int(number):
        return None
    return int(number)


def fields_of(data: bytes, width: int) -> list[list[str]] | None:
    lines = lines_of(data)
    if not lines:
        return None
    rows = [[field for field in re.split("[ \t]", line) if field] for line in lines]
    return rows if all(len(row) == width and row[0].strip() and row[2].strip() for row in rows) else None


def run(data: bytes) -> Rows | None:
    """``(qid, docno, score)``, sorted."""
    rows = fields_of(data, 6)
    if rows is None:
        return None
    found = [(qid, docno, number_of(score)) for qid, _, docno, _, score, _ in rows]
    if len({row[:2] for row in found}) < len(found):
        return None
    return sorted(found) if all(score is not None and math.isfinite(score) for *_, score in found) else None


def _judged(rows: list[tuple[str, str, int | None]]) -> Rows | None:
    """``(qid, docno, label)`` of what is judged, sorted; None if a label is wrong or a pair has two."""
    if any(label is None for *_, label in rows):
        return None
    known = {(qid, docno, max(label, 0)) for qid, docno, label in rows if label != -1}
    return sorted(known) if len({row[:2] for row in known}) == len(known) else None


def qrels(data: bytes) -> Rows | None:
    rows = fields_of(data, 4)
    return None if rows is None or _swapped(rows) else _judged([(q, d, label_of(label)) for q, _, d, label in rows])


def _swapped(rows: list[list[str]]) -> bool:
    """Whether all labels of five lines or more are equal, and the iterations are several whole numbers."""
    iterations = {row[1] for row in rows}
    whole = all(re.fullmatch("[+-]?[0-9]+", each) for each in iterations)
    return len(rows) >= 5 and len({number_of(row[3]) for row in rows}) == 1 and whole and len(iterations) > 1


def table(data: bytes, separator: str, quoted: bool = True) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows of a table, by Python's csv in its strict form."""
    text = text_of(data)
    if text is None:
        return None
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting, strict=True)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:
        return None
    if not rows:
        return None
    head, body = [name.strip() for name in rows[0]], rows[1:]
    named = [name for name in head if name]
    if len(set(named)) < len(named) or any(len(row) != len(head) for row in body):
        return None
    if any(cell.strip() for row in body for name, cell in zip(head[1:], row[1:], strict=True) if not name):
        return None
    return head, body


def worklist(data: bytes) -> Rows | None:
    """``(qid, docno, label)`` of the judged rows of a CSV table, sorted."""
    found, wanted = table(data, ","), ("qid", "docno", "label")
    names = [] if found is None else [name.casefold() for name in found[0]]
    if found is None or any(names.count(name) != 1 for name in wanted):
        return None
    at = [names.index(name) for name in wanted]
    rows = [[row[i] for i in at] for row in found[1]]
    if any(not qid.strip() or not docno.strip() for qid, docno, _ in rows):
        return None
    return _judged([(qid, docno, label_of(label.strip()) if label.strip() else -1) for qid, docno, label in rows])


def topic_table(data: bytes) -> Rows | None:
    """``(qid, query)``, in order, each once."""
    found = table(data, "\t", quoted=False)
    if found is None or not {"qid", "query"} <= set(found[0]) or not found[1]:
        return None
    at = found[0].index("qid"), found[0].index("query")
    rows = list(dict.fromkeys(tuple(row) for row in found[1]))
    if any(not row[at[0]].strip() for row in rows) or len({row[at[0]] for row in rows}) < len(rows):
        return None
    return [(row[at[0]], row[at[1]]) for row in rows]


def topics(data: bytes) -> Rows | None:
    """``(qid, query)`` of a table if its first line names these columns, else of lines of two columns."""
    first = re.split("[\r\n]+", (text_of(data) or "").lstrip("\r\n \t"))[0]
    for separator in "\t,":
        names = [name.strip().strip(' "') for name in first.split(separator)]
        if len(names) > 1 and (names[0] == "qid" or {"qid", "query"} <= set(names)):
            return topic_table(data) if separator == "\t" else None
    rows = pairs(data)
    return None if rows is None or any("\t" in str(query) for _, query in rows) else rows


def pairs(data: bytes) -> Rows | None:
    """``(key, text)``, in order, each once."""
    lines = lines_of(data)
    if not lines:
        return None
    found: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            continue
        key, tab, text = line.partition("\t")
        if not key.strip() or not tab or found.setdefault(key, text) != text:
            return None
    return list(found.items()) or None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def json_lines(data: bytes) -> Rows | None:
    """``(qid, docno, label)`` of the judged objects, sorted."""
    lines = lines_of(data)
    if not lines:
        return None
    rows = []
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse)
            qid, docno, label = entry["qid"], entry["docno"], entry["label"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        for name in (qid, docno):
            usable = isinstance(name, (str, int)) and not isinstance(name, bool) and str(name).strip()
            if not usable or "\0" in str(name):
                return None
        if isinstance(label, (list, dict, bool)):
            return None
        text = "" if label is None else str(label).strip()
        rows.append((str(qid), str(docno), label_of(text) if text else -1))
    return _judged(rows)
