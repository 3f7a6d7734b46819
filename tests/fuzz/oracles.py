"""What small files hold, by the plainest possible reading of each format, independent of the package.

Each oracle takes the bytes of a file and returns its rows. It raises one of `REFUSED` if the format does not allow it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import string
from collections.abc import Callable, Iterable

Rows = list[tuple[object, ...]]
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
REFUSED = (ValueError, KeyError, TypeError, RecursionError, csv.Error)


def must(holds: object) -> None:
    if not holds:
        raise ValueError


def text_of(data: bytes) -> str:
    """UTF-8 text without NUL, and without byte order marks in front, which blanks may precede."""
    text = re.sub("^([ \t]*\ufeff)+", "", data.decode("utf-8"))
    must("\0" not in text)
    return text


def lines_of(data: bytes) -> list[str]:
    text = text_of(data).replace("\r\n", "\n")
    must("\r" not in text or "\n" not in text)
    lines = [line for line in re.split("[\r\n]", text) if line.strip(" \t")]
    must(lines)
    return lines


def number_of(field: str) -> float:
    field = field.strip(string.whitespace)
    must(NUMBER.fullmatch(field))
    return float(field)


def label_of(field: str) -> int:
    """A grade, -1 (unjudged) or -2 (spam)."""
    number = number_of(field)
    must(-2 <= number <= 1000 and number == int(number))
    return int(number)


def judged(rows: Iterable[tuple[str, str, str]]) -> Rows:
    """``(qid, docno, label)`` of what is judged, sorted; no pair has two labels, and an empty one is none."""
    labels = [(qid, docno, label_of(said) if said.strip() else -1) for qid, docno, said in rows]
    known = {(qid, docno, max(label, 0)) for qid, docno, label in labels if label != -1}
    must(len({row[:2] for row in known}) == len(known))
    return sorted(known)


def fields_of(data: bytes, width: int) -> list[list[str]]:
    rows = [[field for field in re.split("[ \t]", line) if field] for line in lines_of(data)]
    must(all(len(row) == width and row[0].strip() and row[2].strip() for row in rows))
    return rows


def run(data: bytes) -> Rows:
    """``(qid, docno, score)``, sorted."""
    found = [(qid, docno, number_of(score)) for qid, _, docno, _, score, _ in fields_of(data, 6)]
    must(len({row[:2] for row in found}) == len(found) and all(abs(score) < float("inf") for *_, score in found))
    return sorted(found)


def qrels(data: bytes) -> Rows:
    """``(qid, docno, label)``, sorted; five equal labels beside several whole iterations are swapped columns."""
    rows = fields_of(data, 4)
    iterations = {row[1] for row in rows}
    whole = len(iterations) > 1 and all(re.fullmatch("[+-]?[0-9]+", each) for each in iterations)
    must(not (len(rows) >= 5 and whole and len({number_of(row[3]) for row in rows}) == 1))
    must(all(row[3].strip() for row in rows))
    return judged((qid, docno, label) for qid, _, docno, label in rows)


def table(data: bytes, wanted: tuple[str, ...], separator: str, fold: Callable[[str], str], quoting: int) -> Rows:
    """The cells of some columns of a table, by Python's csv in its strict form."""
    stream = io.StringIO(text_of(data), newline="")
    cells = csv.reader(stream, delimiter=separator, quoting=quoting, strict=True)
    head, *body = [row for row in cells if any(cell.strip() for cell in row)]
    head = [name.strip() for name in head]
    named = [name for name in head if name]
    must(len(set(named)) == len(named) and all(len(row) == len(head) for row in body))
    must(not any(cell.strip() for row in body for name, cell in zip(head[1:], row[1:], strict=True) if not name))
    names = [fold(name) for name in head]
    must(all(names.count(name) == 1 for name in wanted))
    return [tuple(row[names.index(name)] for name in wanted) for row in body]


def worklist(data: bytes) -> Rows:
    """``(qid, docno, label)`` of the judged rows of a CSV table, sorted."""
    rows = table(data, ("qid", "docno", "label"), ",", str.casefold, csv.QUOTE_MINIMAL)
    must(all(qid.strip() and docno.strip() for qid, docno, _ in rows))
    return judged(rows)


def topics(data: bytes) -> Rows:
    """``(qid, query)``, in order, of a table if its first line names these columns, else of lines of two columns."""
    first = re.split("[\r\n]+", text_of(data).lstrip("\r\n \t"))[0]
    for separator in "\t,":
        names = [name.strip().strip(' "') for name in first.split(separator)]
        if len(names) > 1 and (names[0] == "qid" or {"qid", "query"} <= set(names)):
            must(separator == "\t")
            rows = list(dict.fromkeys(table(data, ("qid", "query"), "\t", str, csv.QUOTE_NONE)))
            must(rows and all(qid.strip() for qid, _ in rows) and len(dict(rows)) == len(rows))
            return rows
    rows = pairs(data)
    must(not any("\t" in query for _, query in rows))
    return rows


def pairs(data: bytes) -> Rows:
    """``(key, text)``, in order, each once."""
    found: dict[str, str] = {}
    for key, tab, text in (line.partition("\t") for line in lines_of(data) if line.strip()):
        must(key.strip() and tab and found.setdefault(key, text) == text)
    must(found)
    return list(found.items())


def json_lines(data: bytes) -> Rows:
    """``(qid, docno, label)`` of the judged objects, sorted."""

    def once(items: list[tuple[str, object]]) -> dict[str, object]:
        must(len(dict(items)) == len(items))
        return dict(items)

    rows = []
    for line in lines_of(data):
        if not line.strip():
            continue
        entry = json.loads(line, object_pairs_hook=once, parse_constant=lambda _: must(False))
        qid, docno, label = entry["qid"], entry["docno"], entry["label"]
        for name in (qid, docno):
            must(isinstance(name, (str, int)) and not isinstance(name, bool))
            must(str(name).strip() and "\0" not in str(name))
        must(not isinstance(label, (list, dict, bool)))
        rows.append((str(qid), str(docno), "" if label is None else str(label)))
    return judged(rows)
