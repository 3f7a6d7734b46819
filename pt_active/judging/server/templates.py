"""What do pages show: those of the server, and the one in which a judge works without it?"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pt_active.frames.checks import Argument, ArgumentError, shown
from pt_active.frames.sources import naming, read_source
from pt_active.frames.visible import json_text, visible, visible_field
from pt_active.judging.server.order import Document, JudgingOrder
from pt_active.judging.worklist import GradeNames
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import SCORE, least_label

PAGES = Path(__file__).parent / "pages"  # The templates, the style sheet and the script
SCRIPTS = ("judge.js", "adjudicate.js", "organiser.js")
FILES = {**dict.fromkeys(SCRIPTS, "text/javascript"), "style.css": "text/css"}
"""The files that pages load, with their types."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_HIGHEST_KEY = 9  # The highest grade that has a key


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


def judge_values(plan: str, name: str, grades: Sequence[tuple[int, str]], guideline: str) -> dict[str, Any]:
    """What the template of a judge's page needs."""
    # Under this name the browser keeps what is not sent yet; it tells nothing about the judge's token.
    key = hashlib.sha256(f"{plan} {name}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    keyed = [(grade, word, str(grade) if grade <= _HIGHEST_KEY else "") for grade, word in grades]
    return {"judge": name, "grades": keyed, "key": key, "guideline": Markup(guideline)}


def offline_page(
    plan: Plan,
    order: JudgingOrder,
    annotator: str,
    judges: Sequence[str] = (),
    names: GradeNames | None = None,
    guideline: str = "",
) -> str:
    """A page that works from a file: labels stay in the browser, and are saved as a file of records."""
    places = share_of(order, judges or [annotator], annotator)
    if not places:
        raise ArgumentError("there are more judges than queries: nothing is left for ", shown(annotator))
    script, style = ((PAGES / name).read_text(encoding="utf-8") for name in ("judge.js", "style.css"))
    documents, people = [order.documents[place] for place in places], max(1, len(judges))
    data = {
        "documents": [shown_document(each) | {"judges": min(each.judges, people)} for each in documents],
        "plan": plan.tables.manifest.origin,
        "annotator": annotator,
        "file": f"{_NOT_IN_NAMES.sub('-', annotator)}-{plan.tables.manifest.origin}.jsonl",
    }
    offline = {
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:",
        "script": Markup(script),
        "style": Markup(style),
        # In a script element a text ends at the first tag that closes it, whatever is quoted.
        "data": Markup(json_text(data).replace("<", "\\u003c")),
    }
    grades = (names or GradeNames()).listed(plan.tables.pool.max_grade, least_label(plan.measure))
    values = judge_values(plan.tables.manifest.origin, annotator, grades, guideline)
    return environment(plan.measure).get_template("judge.html.jinja").render(**values, offline=offline)


def share_of(order: JudgingOrder, judges: Sequence[str], name: str) -> list[int]:
    """The documents of a judge if all are shared out beforehand: queries go round, doubled ones also to the next."""
    if name not in judges:
        raise ArgumentError(Argument("annotator", name), f" must be one of the judges, {', '.join(judges)}")
    own, places = list(judges).index(name), []
    for number, query in enumerate(query for block in order.blocks for query in block):
        turn = (own - number) % len(judges)
        places += [place for place in query if turn < order.documents[place].judges]
    return places


def _hash(text: str) -> str:
    """The source of a content security policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
