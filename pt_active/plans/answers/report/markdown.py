"""How does a report become Markdown, for a pull request or a chat?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pt_active.frames.visible import visible_field
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.differences import how_sure
from pt_active.plans.answers.report.findings import Findings
from pt_active.plans.answers.report.headline import Headline, in_percent
from pt_active.plans.answers.report.rounding import minus, with_interval

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&]|(?<!\w)@)")

_MAX_PAIRS = 28
"""Pairs in the table."""


def markdown(report: Findings) -> str:
    """The first screen of a plan's report and the numbers behind it."""
    lines = first_screen(report.headline)
    if report.note:
        lines += [f"**Before you trust this:** {escaped(report.note)}.", ""]
    if isinstance(report.result, Ranking):
        letters = report.result.letters
        rows = [(str(place), name, letters[name]) for place, name in enumerate(report.result.names, start=1)]
        lines += table(("place", "ranker", "groups (a common letter: not told apart)"), rows)
    if report.differences:
        pairs = [
            (
                each.what,
                with_interval(each.value, each.low, each.high, sign=True),
                in_percent(each.relative),
                each.verdict,
            )
            for each in report.differences[:_MAX_PAIRS]
        ]
        lines += table(("pair", report.result.basis.measure, "change", "verdict"), pairs)
    if isinstance(report.result, Ranking):
        lines += [escaped(how_sure(report.differences[:_MAX_PAIRS], 1 - report.result.alpha)), ""]
    facts = [f"{name}: {minus(text)}" for name, text in report.result.basis.facts()]
    lines += [*(f"- {escaped(fact)}" for fact in facts), f"- plan {escaped(report.made.id)}"]
    return "\n".join(lines) + "\n"


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
