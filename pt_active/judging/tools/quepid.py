"""Quepid: a book as JSON, in and out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pt_active.frames.checks import shown, some
from pt_active.frames.records import SKIPPED, UNJUDGEABLE
from pt_active.frames.sources import naming
from pt_active.frames.visible import json_text
from pt_active.judging.delivery import Delivery
from pt_active.judging.given import Given, check_each_once, ids_in, list_of, object_of, text_of
from pt_active.judging.worklist import Worklist

_TOOL = "quepid"

_OURS = "pt_active"
"""The key in the options of a pair under which the ids stand."""


def recognises(delivery: Delivery) -> bool:
    """Whether it is a book, or an archive that holds one."""
    if delivery.is_archive:
        return any(recognises(each) for each in _books(delivery))
    return delivery.is_object_with("query_doc_pairs")


def _books(delivery: Delivery) -> list[Delivery]:
    return [each for each in delivery.members if each.path.endswith(".json")]


def read(delivery: Delivery) -> list[Given]:
    """What judges said in a book."""
    if delivery.is_archive:
        return [each for book in _books(delivery) for each in read(book)]
    with naming(delivery.path):
        pairs = list_of(object_of(delivery.json, "the book", "query_doc_pairs")["query_doc_pairs"], "the book", "pairs")
        places = [f"pair {i}" for i in range(1, len(pairs) + 1)]
        ours = [_options(object_of(pair, place), place) for pair, place in zip(pairs, places, strict=True)]
        check_each_once((ids_in(each, place, _TOOL) for each, place in zip(ours, places, strict=True)), places)
        return [
            each
            for pair, about, place in zip(pairs, ours, places, strict=True)
            for each in _judgements(pair, about, place)
        ]


def _options(pair: dict[str, Any], place: str) -> dict[str, Any]:
    """The ids and the plan of a pair, from its options, which may be JSON in a text."""
    options = pair.get("options")
    if isinstance(options, str) and options.strip():
        try:
            options = json.loads(options)
        except ValueError:
            raise ValueError(f"{place}: expected options that are JSON; got {shown(options)}") from None
    return options.get(_OURS, {}) if isinstance(options, dict) else {}


def _judgements(pair: dict[str, Any], ours: dict[str, Any], place: str) -> Iterator[Given]:
    qid, docno = ids_in(ours, place, _TOOL)
    for judgement in list_of(pair.get("judgements"), place, "judgements"):
        about = object_of(judgement, place)
        status = UNJUDGEABLE if about.get("unrateable") else SKIPPED if about.get("judge_later") else ""
        yield Given(
            place,
            qid,
            docno,
            None if status else about.get("rating"),
            text_of(about.get("user_email") or about.get("judge_name")),
            status,
            "",
            text_of(about.get("explanation")),
            text_of(ours.get("plan")),
        )


def write(worklist: Worklist) -> dict[str, str | bytes]:
    """A book without positions, which would tell judges how documents were ranked."""
    _check_pairs(worklist)
    pairs: list[dict[str, Any]] = [
        {
            "query_text": item.query or item.qid,
            "doc_id": item.docno,
            "position": None,
            "document_fields": json_text({"text": item.text} if item.text else {}),
            "information_need": None,
            "notes": None,
            "options": {_OURS: {"qid": item.qid, "docno": item.docno, "plan": worklist.plan}},
            "judgements": [],
        }
        for item in worklist
    ]
    book = {
        "name": f"pt_active {worklist.plan}".strip(),
        "show_rank": False,
        "support_implicit_judgements": False,
        "scale": list(worklist.grades),
        "scale_with_labels": {str(grade): worklist.names.of(grade) for grade in worklist.grades},
        "query_doc_pairs": pairs,
    }
    return {"": json_text(book, indent=1) + "\n"}


def _check_pairs(worklist: Worklist) -> None:
    queries: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in worklist:
        queries[item.query or item.qid, item.docno].add(item.qid)
    for (query, docno), qids in queries.items():
        if len(qids) > 1:
            raise ValueError(
                f"Quepid takes a query text and document once, and the queries {some(sorted(qids))} have the same "
                f"text, {shown(query)}, and document {shown(docno)}"
            )
