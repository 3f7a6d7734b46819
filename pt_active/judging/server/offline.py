"""How does a judge work without a server, in one HTML file?"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from pt_active.frames.checks import Argument, ArgumentError, shown
from pt_active.frames.visible import json_text
from pt_active.judging.grade_names import GradeNames
from pt_active.judging.server.campaign import shown_document
from pt_active.judging.server.order import Document, JudgingOrder
from pt_active.judging.server.templates import PAGES, environment, judge_values, named_grades
from pt_active.plans.plan import Plan

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


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
    data = {
        "documents": [_with_judges(order.documents[place], max(1, len(judges))) for place in places],
        "plan": plan.id,
        "annotator": annotator,
        "file": f"{_NOT_IN_NAMES.sub('-', annotator)}-{plan.id}.jsonl",
    }
    offline = {
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:",
        "script": Markup(script),
        "style": Markup(style),
        # In a script element a text ends at the first tag that closes it, whatever is quoted.
        "data": Markup(json_text(data).replace("<", "\\u003c")),
    }
    grades = named_grades(names or GradeNames(), plan.tables.pool.max_grade)
    values = judge_values(plan.id, annotator, grades, guideline)
    return environment().get_template("judge.html.jinja").render(**values, offline=offline)


def _with_judges(document: Document, people: int) -> dict[str, Any]:
    """A document as the page gets it, and how many people are asked to judge it, which the records say."""
    return shown_document(document) | {"judges": min(document.judges, people)}


def share_of(order: JudgingOrder, judges: Sequence[str], name: str) -> list[int]:
    """The documents of a judge if all are shared out beforehand.

    Queries of a block go round among the judges. A document that several people judge also goes to those who come next.
    """
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
