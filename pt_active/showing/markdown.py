"""How does a report become Markdown, for a pull request or a chat?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pt_active.frames.visible import visible_field
from pt_active.showing.shown import Headline

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&]|(?<!\w)@)")


def first_screen(head: Headline) -> list[str]:
    """Question, answer, number and facts, as lines."""
    number = ", ".join(
        filter(None, (f"{head.number} {head.measure} {head.of}".rstrip() if head.number else "", head.relative))
    )
    lines = [f"### {escaped(head.question)}", "", f"**{escaped(head.answer)}**", ""]
    lines += [escaped(line) for line in (number, head.meaning) if line for line in (line, "")]
    return [*lines, *(f"- **{escaped(name)}**: {escaped(text)}" for name, text in head.facts), ""]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines, with an empty line after it."""
    lines = [columns, ["---"] * len(columns), *[[escaped(cell) for cell in row] for row in rows]]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def escaped(text: str) -> str:
    """A text on one line that Markdown and HTML take for nothing but text."""
    return _SPECIAL.sub(r"\\\1", visible_field(text))
