"""What do the pages of the server show?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures.measures as irm
from jinja2 import Environment, PackageLoader, StrictUndefined

from pt_active.frames.sources import naming, read_source
from pt_active.frames.visible import json_text, visible, visible_field
from pt_active.judging.server.order import Document
from pt_active.relevance.measures import SCORE
from pt_active.showing.printed import listed

PAGES = Path(__file__).parent / "pages"  # The templates, the style sheet and the script
SCRIPTS = ("judge.js", "adjudicate.js", "organiser.js")
FILES = {**dict.fromkeys(SCRIPTS, "text/javascript"), "style.css": "text/css"}
"""The files that pages load, with their types."""


def environment(measure: irm.Measure) -> Environment:
    """The templates, in which every text is escaped; ``answers`` says whether answers are judged, not documents."""
    made = Environment(
        loader=PackageLoader("pt_active.judging.server", "pages"),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"field": visible_field, "json": json_text, "listed": listed}
    made.globals["answers"] = measure.NAME == SCORE.NAME
    return made


def guideline_html(path: str | Path) -> str:
    """The HTML of a Markdown file: HTML in it is shown as text, and pictures are left out."""
    from markdown_it import MarkdownIt

    source = read_source(path)
    with naming(path):
        text = source.text
    # With these settings links to scripts stay text, and so does all HTML.
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(visible(text)))


def shown_document(document: Document) -> dict[str, Any]:
    """A document as a judge's page gets it: its ids, and what the judge reads, without characters that a page obeys."""
    about = {name: visible(value) for name, value in document.about.items()}
    named = {"name": visible_field(document.docno), "topic": visible_field(document.qid)}
    return {"qid": document.qid, "docno": document.docno, "text": visible(document.text), **named, **about}
