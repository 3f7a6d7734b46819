"""Of what parts is a page made?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from pt_active.showing.printed import Facts
from pt_active.showing.rounding import number

MAX_ROWS = 50
"""Rows of a table that are shown; all are in the page's data."""


@dataclass(frozen=True)
class Shown:
    """A table as the page shows it.

    Attributes:
        caption: What the table holds.
        columns: The heads of its columns.
        rows: Cells, each as text and whether it is a number.
        more: The number of rows that are not shown.
    """

    caption: str
    columns: list[str]
    rows: list[list[tuple[str, bool]]]
    more: int = 0


SETTLED, OPEN, MEASURED = "settled", "not settled", "measured"
"""The state of a question: it has an answer, it has none yet, or a number was asked for."""


@dataclass(frozen=True)
class Headline:
    """The first screen of a report.

    Attributes:
        question: What was asked.
        state: ``settled``, ``not settled`` or ``measured``.
        answer: The answer in one sentence.
        measure: What is measured.
        number: The number with its interval, rounded to what the interval supports; empty if there is none.
        of: What the number is, but for its measure; empty if it is the value of one ranker.
        relative: The difference as a share, with its interval if that is known; empty if there is none.
        meaning: What the number means, in a sentence.
        facts: How much was judged of how much, by whom, when, and what to do next.
    """

    question: str
    state: str
    answer: str
    measure: str
    number: str
    of: str
    relative: str
    meaning: str
    facts: Facts

    def to_dict(self) -> dict[str, Any]:
        """The first screen, ready for JSON."""
        return asdict(self) | {"facts": dict(self.facts)}


@dataclass(frozen=True)
class Returned:
    """A document at its rank.

    Attributes:
        docno: Its name.
        label: Its grade; None if it was not judged.
        expected: The grade that the model expects.
        text: Its text; empty if the plan does not have it.
    """

    docno: str
    label: int | None
    expected: float
    text: str = ""


@dataclass(frozen=True)
class Beside:
    """A query with the first documents of two rankers.

    Attributes:
        qid: The query's id.
        query: Its text; empty if there is none.
        values: The measure of both rankers, by the labels and, where there are none, by the grade model.
        judged: How many of the shown documents are judged.
        shown: How many different documents are shown.
        ranks: For each rank from 1, the document of the first ranker and that of the second; None past the end.
    """

    qid: str
    query: str
    values: tuple[float, float]
    judged: int
    shown: int
    ranks: tuple[tuple[Returned | None, Returned | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """The query and its documents, ready for JSON."""
        return asdict(self) | {"values": [float(value) for value in self.values]}


@dataclass(frozen=True)
class Decided:
    """A document whose label counted.

    Attributes:
        qid: Its query.
        query: The text of the query; empty if there is none.
        docno: Its name.
        label: Its grade, in words.
        effect: How far its label moved the estimate.
        text: Its text; empty if the plan does not have it.
    """

    qid: str
    query: str
    docno: str
    label: str
    effect: str
    text: str


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: Title of the section; empty if it has none.
        words: Its paragraphs.
        svg: Its chart; empty if there is none.
        caption: Caption of the chart.
        tables: Tables below the chart; folded if there is a chart.
        facts: Names and values above the chart.
        open: A table that is never folded.
        decided: Documents whose labels counted, with their texts.
        beside: Queries with the documents of two rankers, folded one by one.
        sides: The names of these two rankers.
        folded: Further tables, each under its caption.
    """

    title: str
    words: Sequence[str] = ()
    svg: str = ""
    caption: str = ""
    tables: Sequence[Shown] = ()
    facts: Facts | Sequence[tuple[str, str]] = ()
    open: Shown | None = None
    decided: Sequence[Decided] = ()
    beside: Sequence[Beside] = ()
    sides: tuple[str, str] = ("", "")
    folded: Sequence[Shown] = ()


def shown_table(table: pd.DataFrame, caption: str) -> Shown:
    """A frame as a page shows it: numbers with four digits, the first `MAX_ROWS` rows, no columns of empty texts."""
    table = table.loc[:, [name for name in table.columns if len(table) == 0 or not (table[name] == "").all()]]
    head = table.head(MAX_ROWS)
    kinds = [pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    rows = [
        [
            (number(v), True) if kind else ("–" if pd.isna(v) else str(v), False)
            for v, kind in zip(row, kinds, strict=True)
        ]
        for row in head.astype(object).itertuples(index=False)
    ]
    return Shown(caption, [str(name).replace("_", " ") for name in table.columns], rows, len(table) - len(head))


def manifest_rows(manifest: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A manifest as names and values, nested ones with a dot between."""
    rows: list[tuple[str, str]] = []
    for name, value in manifest.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping):
            rows += manifest_rows(value, f"{full}.")
        elif isinstance(value, (list, tuple)) and any(isinstance(each, Mapping) for each in value):
            for place, each in enumerate(value, start=1):
                rows += manifest_rows(each, f"{full}.{place}.") if isinstance(each, Mapping) else [(full, str(each))]
        elif value is not None and not (isinstance(value, (list, tuple)) and not value):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            rows.append((full.replace("_", " "), text))
    return rows
