"""How does a report become one HTML page, with the template `page.html.jinja`?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pt_active.frames.visible import json_text, visible
from pt_active.showing.glossary import meaning, used_in
from pt_active.showing.printed import Facts
from pt_active.showing.rounding import minus
from pt_active.showing.shown import Headline, Section, manifest_rows


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
        loader=PackageLoader("pt_active.showing", ""),
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
    template = environment.get_template("page.html.jinja")
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
