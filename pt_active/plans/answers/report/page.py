"""How does a report become one HTML page, with the template `report.html.jinja`?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pt_active.frames.visible import json_text, visible
from pt_active.plans.answers.report.findings import Findings
from pt_active.plans.answers.report.glossary import meaning, used_in
from pt_active.plans.answers.report.headline import Headline
from pt_active.plans.answers.report.rounding import minus
from pt_active.plans.answers.report.sections import sections_of
from pt_active.plans.answers.report.shown import Section, manifest_rows
from pt_active.plans.answers.report.verdict import verdict_of
from pt_active.plans.answers.report.words import reassures
from pt_active.plans.making.artifact import Facts


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


def rendered(
    title: str,
    head: Headline,
    verdict: Sequence[Section],
    sections: Sequence[Section],
    made: str,
    data: dict[str, Any],
    note: str = "",
    reassures: bool = False,
    status: Facts | None = None,
) -> str:
    """A page that loads no other file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pt_active.plans.answers.report", ""),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"meaning": meaning, "minus": minus}
    known = {
        "title": title,
        "head": head,
        "verdict": verdict,
        "status": status,
        "note": note,
        "reassures": reassures,
        "sections": sections,
        "made": made,
        "manifest": manifest_rows(data["manifest"]),
        "data": _in_script(data),
    }
    template = environment.get_template("report.html.jinja")
    own = _QUOTED.sub(" ", template.render(known, glossary=[], without_data=True).partition("<body>")[2])
    words = _TAG.sub(" ", own)
    return template.render(known, glossary=used_in(words), without_data=False)


_TAG = re.compile(r"<[^>]*>")

_QUOTED = re.compile(r'<(?P<tag>details|span) class="(?:text|name)">.*?</(?P=tag)>', re.DOTALL)
"""Texts and ids of documents, whose words are not the report's."""


def _in_script(data: dict[str, Any]) -> str:
    """JSON that is safe inside a ``<script>`` element, whatever text it contains."""
    return json_text(data).replace("<", "\\u003c")


def _visible(value: Any) -> Any:
    """What the template prints, without characters that a page would obey rather than show."""
    return visible(value) if type(value) is str else value
