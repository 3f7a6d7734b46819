"""Quepid: a book as JSON, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pt_active.frames.checks import shown, some
from pt_active.frames.records import SKIPPED, UNJUDGEABLE
from pt_active.frames.sources import naming
from pt_active.frames.tables import json_value
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery, Given, items, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist

_OURS = "pt_active"  # The key in the options of a pair under which the ids stand


def read(delivery: Delivery) -> Iterator[Given]:
    """What judges said in a book."""
    pairs = list_of(object_of(delivery.json, "the book", "query_doc_pairs")["query_doc_pairs"], "the book", "pairs")
    checked = ((f"pair {i}", object_of(pair, f"pair {i}")) for i, pair in enumerate(pairs, start=1))
    for item, pair in items("quepid", ((place, _ours(pair, place), pair) for place, pair in checked)):
        for judgement in list_of(pair.get("judgements"), str(item.place), "judgements"):
            about = object_of(judgement, str(item.place))
            status = UNJUDGEABLE if about.get("unrateable") else SKIPPED if about.get("judge_later") else ""
            yield item._replace(
                label=None if status else about.get("rating"),
                annotator=text_of(about.get("user_email") or about.get("judge_name")),
                status=status,
                note=text_of(about.get("explanation")),
            )


def _ours(pair: dict[str, Any], place: str) -> Any:
    """The ids and the plan of a pair, from its options, which may be JSON in a text."""
    options = pair.get("options")
    if isinstance(options, str) and options.strip():
        with naming(f"{place}: options"):
            options = json_value(options)
    return options.get(_OURS, {}) if isinstance(options, dict) else {}


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """A book without positions, which would tell judges how documents were ranked."""
    queries: dict[tuple[str, str], str] = {}
    pairs: list[dict[str, Any]] = []
    for item in worklist:
        query = item.query or item.qid
        if (other := queries.setdefault((query, item.docno), item.qid)) != item.qid:
            same = f"the queries {some([other, item.qid])} have the same text, {shown(query)}, and document"
            raise ValueError(f"Quepid takes a query text and document once, and {same} {shown(item.docno)}")
        pairs.append(
            {
                "query_text": query,
                "doc_id": item.docno,
                "position": None,
                "document_fields": json_text({"text": item.text} if item.text else {}),
                "information_need": None,
                "notes": None,
                "options": {_OURS: {"qid": item.qid, "docno": item.docno, "plan": worklist.plan}},
                "judgements": [],
            }
        )
    book = {
        "name": f"pt_active {worklist.plan}".strip(),
        "show_rank": False,
        "support_implicit_judgements": False,
        "scale": list(worklist.grades),
        "scale_with_labels": {str(grade): worklist.names.of(grade) for grade in worklist.grades},
        "query_doc_pairs": pairs,
    }
    return {"": json_text(book, indent=1) + "\n"}
