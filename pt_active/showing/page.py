"""Of what parts is a page of results made, and how does it become HTML (`page.html.jinja`) or JSON?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pt_active.frames.atomic import write_file
from pt_active.frames.visible import json_text, visible
from pt_active.showing.printed import Facts
from pt_active.showing.rounding import minus, number

if TYPE_CHECKING:
    from jinja2 import Template

GLOSSARY = "https://github.com/pt-active/pt_active/blob/main/pt_active/pt_docs/glossary.md"

MAX_ROWS = 50  # Rows of a table that are shown; all are in the page's data
_OPEN_ROWS = 20  # Rows of an open table that are not folded

SETTLED, OPEN, MEASURED = "settled", "not settled", "measured"
"""The state of a question: it has an answer, it has none yet, or a number was asked for."""


@dataclass(frozen=True)
class Headline:
    """The first screen of a report."""

    question: str
    state: str  # ``settled``, ``not settled`` or ``measured``
    answer: str  # the answer in one sentence
    measure: str  # what is measured
    number: str  # the number with its interval, rounded to what the interval supports; empty if there is none
    of: str  # what the number is, but for its measure; empty if it is the value of one ranker
    relative: str  # the difference as a share; empty if there is none
    meaning: str  # what the number means, in a sentence
    facts: Facts  # how much was judged of how much, by whom, when, and what to do next

    def to_dict(self) -> dict[str, Any]:
        """The first screen, ready for JSON."""
        return asdict(self) | {"facts": dict(self.facts)}


class Decided(NamedTuple):
    """A document whose label counted: its query with its text, its grade, how far that moved the estimate, its text."""

    qid: str
    query: str
    docno: str
    label: str
    effect: str
    text: str


@dataclass(frozen=True)
class Shown:
    """A table as a page shows it: texts, whether a column is aligned as numbers, and how many rows are left out."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    aligned: Sequence[bool] = ()
    more: int = 0

    @classmethod
    def of(
        cls, table: pd.DataFrame, caption: str = "", aligned: Collection[str] = (), most: int | None = MAX_ROWS
    ) -> Shown:
        """A frame: numbers with four digits, its first rows, no columns of empty texts."""
        table = table.loc[:, [name for name in table.columns if len(table) == 0 or not (table[name] == "").all()]]
        head = table.head(len(table) if most is None else most).astype(object)
        numeric = [pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
        rows = [
            [number(v) if n else "–" if pd.isna(v) else str(v) for v, n in zip(row, numeric, strict=True)]
            for row in head.itertuples(index=False)
        ]
        right = [n or name in aligned for name, n in zip(table.columns, numeric, strict=True)]
        return cls(
            caption, [str(name).replace("_", " ") for name in table.columns], rows, right, len(table) - len(head)
        )

    @property
    def halves(self) -> tuple[Shown, Shown]:
        """The rows that are never folded, and the others."""
        return replace(self, rows=self.rows[:_OPEN_ROWS], more=0), replace(self, rows=self.rows[_OPEN_ROWS:])


@dataclass(frozen=True)
class Section:
    """A part of the page, in this order: title, paragraphs, facts, a chart with its caption, and what is below it."""

    title: str
    words: Sequence[str] = ()
    svg: str = ""
    caption: str = ""
    tables: Sequence[Shown] = ()  # tables that are folded if there is a chart; the first rows of ``open`` never are
    facts: Facts | Sequence[tuple[str, str]] = ()
    open: Shown | None = None
    decided: Sequence[Decided] = ()  # documents whose labels counted, with their texts


@dataclass(frozen=True)
class Page:
    """A page of results, whatever its form."""

    title: str
    head: Headline
    data: Mapping[str, Any]  # all numbers, and the manifest of the plan
    verdict: Sequence[Section]  # the sections that belong to the answer; ``sections`` are the details
    sections: Sequence[Section]
    note: str = ""  # what a reader must know before trusting the answer; empty if there is nothing
    reassures: bool = False  # whether that is good news

    def save(self, path: Path) -> None:
        """Write the page to a new file: as JSON if its name ends so, and else as HTML."""
        check_page(path)
        write_file(path, self.json() if path.suffix.lower() == ".json" else self.html())

    def json(self) -> str:
        """All numbers, for a dashboard."""
        return json_text(self.data, indent=2) + "\n"

    def html(self) -> str:
        """One page that loads no other file."""
        # Inside of a script, JSON must not close the element, whatever text it contains.
        data = json_text(self.data).replace("<", "\\u003c")
        manifest = json_text(self.data["manifest"], indent=2)
        return _template().render(page=self, manifest=manifest, data=data, glossary=GLOSSARY)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pt_active.showing", ""),
        autoescape=True,
        # Without characters that a page would obey rather than show.
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["minus"] = minus
    return environment.get_template("page.html.jinja")


def check_page(path: Path) -> None:
    """Raise if no page can be written at a path."""
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another file for the report")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")
