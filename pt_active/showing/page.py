"""How does a page of results become HTML, with the template `page.html.jinja`, Markdown, or JSON?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pt_active.frames.atomic import write_file
from pt_active.frames.checks import Argument, ArgumentError
from pt_active.frames.visible import json_text, visible, visible_field
from pt_active.showing.glossary import meaning, used_in
from pt_active.showing.printed import Facts
from pt_active.showing.rounding import minus
from pt_active.showing.shown import Headline, Section, Shown, manifest_rows
from pt_active.showing.wording import is_of_answers, of_answers, page_of_answers

if TYPE_CHECKING:
    from jinja2 import Template

FORMATS = ("html", "md", "json")  # Forms of a page: for a browser, Markdown for a pull request, JSON for a dashboard

_TAG = re.compile(r"<[^>]*>")

_QUOTED = re.compile(r'<(?P<tag>details|span|desc) (?:class="(?:text|name)"|id="[^"]*")>.*?</(?P=tag)>', re.DOTALL)
"""Texts and ids of documents, whose words are not the report's, and charts in words."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&]|(?<!\w)@)")


@dataclass(frozen=True)
class Page:
    """A page of results, whatever its form."""

    title: str
    made: str  # what was sampled: ``plan`` or ``audit``; ``data`` has its manifest
    head: Headline
    data: Mapping[str, Any]
    verdict: Sequence[Section]  # the sections that belong to the answer; ``sections`` are the details
    sections: Sequence[Section]
    tables: Sequence[Shown]  # those of the short form, Markdown; ``lines`` are its last, paragraphs and facts
    lines: Sequence[str]
    note: str = ""  # what a reader must know before trusting the answer; empty if there is nothing
    reassures: bool = False  # whether that is good news
    status: Facts | None = None  # the state of the judging if it goes on

    def written(self, format: str) -> str:
        """The page in one of `FORMATS`."""
        return {"html": self.html, "md": self.markdown, "json": self.json}[format]()

    def save(self, path: str | Path, format: str | None = None) -> Path:
        """Write the page to a new file, in the form that is asked for or that the name of the file ends with."""
        check_page(Path(path))
        write_file(Path(path), self.written(format_of(Path(path), format)))
        return Path(path)

    def json(self) -> str:
        """All numbers, for a dashboard."""
        return json_text(self.data, indent=2) + "\n"

    def markdown(self) -> str:
        """The first screen and its numbers, for a pull request."""
        head = self.head
        number = f"{head.number} {head.measure} {head.of}".rstrip() if head.number else ""
        said = [", ".join(filter(None, (number, head.relative))), head.meaning]
        lines = [f"### {_escaped(head.question)}", "", f"**{_escaped(head.answer)}**", ""]
        lines += [each for line in filter(None, said) for each in (_escaped(line), "")]
        lines += [*(f"- **{_escaped(name)}**: {_escaped(text)}" for name, text in head.facts), ""]
        if self.note:
            lines += [f"**Before you trust this:** {_escaped(self.note)}.", ""]
        for table in self.tables:
            rows = [[_escaped(cell) for cell in row] for row in (table.columns, *table.rows)]
            rows.insert(1, ["---"] * len(table.columns))
            lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
        for line in self.lines:
            lines += [f"- {_escaped(line[2:])}"] if line.startswith("- ") else [_escaped(line), ""]
        text = "\n".join(lines) + "\n"
        return of_answers(text) if is_of_answers(head.measure) else text

    def html(self) -> str:
        """One page that loads no other file."""
        # Inside of a script, JSON must not close the element, whatever text it contains.
        data = json_text(self.data).replace("<", "\\u003c")
        known = {"page": self, "manifest": manifest_rows(self.data["manifest"])}
        template = _template()
        own = _QUOTED.sub(" ", template.render(known, glossary=[], data="").partition("<body>")[2])
        html = template.render(known, glossary=used_in(_TAG.sub(" ", own)), data=data)
        return page_of_answers(html) if is_of_answers(self.head.measure) else html


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
    environment.filters |= {"meaning": meaning, "minus": minus}
    return environment.get_template("page.html.jinja")


def format_of(path: Path, asked: str | None = None) -> str:
    """The form of a page that is written to a path."""
    if asked is None:
        ending = path.suffix.removeprefix(".").lower()
        return ending if ending in FORMATS else FORMATS[0]
    if asked not in FORMATS:
        raise ArgumentError("unknown ", Argument("format", asked), f"; it is one of {', '.join(FORMATS)}")
    return asked


def check_page(path: Path) -> None:
    """Raise if no page can be written at a path."""
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another file for the report")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def _escaped(text: str) -> str:
    """A text on one line that Markdown and HTML take for nothing but text."""
    return _SPECIAL.sub(r"\\\1", visible_field(text))
