"""What share of the nuggets of an item does each answer support?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from pt_active.answers.formats import lines_of
from pt_active.frames.checks import shown, unfit

SUPPORT = {"not_support": 0.0, "partial_support": 0.5, "support": 1.0}
"""What an assignment is worth."""

IMPORTANCE = {"vital": 1.0, "okay": 0.5}
"""The weight of a nugget."""


def nugget_table(*files: str | Path) -> pd.DataFrame:
    """Nuggets and answers as a table for `Answers`: each nugget is an item, and asks whether the answer supports it.

    The score of an answer is the weighted share of the nuggets that it supports, a sum over nuggets. So single
    decisions are drawn, each nugget with its share as the weight: the mean score of the table is that of the answers.
    A nugget's ``cluster`` is the item that it belongs to.

    Args:
        *files: JSON lines as AutoNuggetizer writes them, of one or more systems: ``qid, query, run_id, answer_text``
            and ``nuggets``, a list of ``text, importance`` (vital, which weighs 1, or okay, which weighs half) and
            ``assignment`` if a model made one and has not ``failed``, which counts as a judge's score.

    Returns:
        ``item, system, question, answer, weight, cluster`` and ``score``, for ``Answers(…, scale="0-1:0.5")``.

    Raises:
        ValueError: If a key or an importance is not known, or the systems' nuggets of an item differ.
    """
    rows: list[dict[str, Any]] = []
    known: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        for number, entry in lines_of(path):
            place = f"{path}: line {number}"
            if missing := {"qid", "run_id", "answer_text", "nuggets"} - entry.keys():
                raise ValueError(f"{place}: an answer with nuggets needs {', '.join(sorted(missing))}")
            qid, nuggets = str(entry["qid"]), entry["nuggets"]
            whole = isinstance(nuggets, list) and all(isinstance(each, dict) for each in nuggets)
            if not whole or any({"text", "importance"} - each.keys() for each in nuggets):
                raise unfit(place, "nuggets with text and importance", shown(nuggets))
            named = [(str(each["text"]), str(each["importance"])) for each in nuggets]
            if known.setdefault(qid, named) != named:
                raise ValueError(f"{place}: the nuggets of item {shown(qid)} differ between systems")
            if unknown := [kind for _, kind in named if kind not in IMPORTANCE]:
                raise ValueError(f"{place}: the importance of a nugget is vital or okay, got {shown(unknown[0])}")
            rows += _decisions(entry, qid, [IMPORTANCE[kind] for _, kind in named], place)
    table = pd.DataFrame(rows)
    if table.empty:
        raise ValueError("there are no nuggets")
    return table


def _decisions(entry: dict[str, Any], qid: str, weights: list[float], place: str) -> list[dict[str, Any]]:
    if not weights:
        raise ValueError(f"{place}: item {shown(qid)} has no nugget")
    rows = []
    for number, (nugget, weight) in enumerate(zip(entry["nuggets"], weights, strict=True), start=1):
        assigned = nugget.get("assignment") if nugget.get("assignment") != "failed" else None
        if assigned is not None and str(assigned) not in SUPPORT:
            raise ValueError(f"{place}: an assignment is one of {', '.join(SUPPORT)}; got {shown(assigned)}")
        rows.append(
            {
                "item": f"{qid} nugget {number}",
                "system": str(entry["run_id"]),
                "question": f"{entry.get('query', qid)}\n\nDoes the answer say: {nugget['text']}",
                "answer": entry["answer_text"],
                "weight": weight / sum(weights),
                "cluster": qid,
                "score": None if assigned is None else SUPPORT[assigned],
            }
        )
    return rows
