"""How does the report of a plan become one HTML page, or Markdown for a pull request?"""

from __future__ import annotations

from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.differences import how_sure
from pt_active.plans.answers.report.findings import Findings
from pt_active.plans.answers.report.headline import in_percent
from pt_active.plans.answers.report.sections import sections_of
from pt_active.plans.answers.report.verdict import verdict_of
from pt_active.plans.answers.report.words import reassures
from pt_active.showing.markdown import escaped, first_screen, table
from pt_active.showing.page import rendered
from pt_active.showing.rounding import minus, with_interval

_MAX_PAIRS = 28
"""Pairs in the table."""


def page(report: Findings) -> str:
    """The page of a plan as text."""
    return rendered(
        title=f"{report.result.basis.measure} of {', '.join(report.made.rankers)}",
        head=report.headline,
        verdict=verdict_of(report),
        status=None if report.status is None else report.status.facts(),
        note=report.note,
        reassures=reassures(report.result),
        sections=sections_of(report),
        made="plan",
        data=report.to_dict(),
    )


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
