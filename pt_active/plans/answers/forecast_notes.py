"""What must a reader know before trusting a forecast of errors?"""

from __future__ import annotations

import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.plans.answers.pilot import Pilot

SUFFICIENT_PILOT = 30
"""From so many queries on, a pilot's own errors say more than the model's opinion of them."""

MIN_DOCUMENTS = 4
"""Fewer documents are no sample that an interval can rest on."""


def pilot_notes(pilot: Pilot | None) -> list[str]:
    """What to say about a pilot with few queries or labels; nothing without a pilot."""
    if pilot is None or pilot.n_queries >= SUFFICIENT_PILOT:
        return []
    if pilot.n_documents < MIN_DOCUMENTS:
        return [f"The pilot has {how_many('label', pilot.n_documents)}, which say next to nothing about errors."]
    return [
        f"The pilot has {how_many('query', pilot.n_queries)}. Below {SUFFICIENT_PILOT}, chance decides which errors it "
        "shows, so the forecast leans on the grade model; expect anything between low and high."
    ]


def tiny_budgets(table: pd.DataFrame) -> list[str]:
    """What to say about the rows whose budget buys too little for an interval."""
    if "documents" not in table.columns:
        return []
    single = (table["level"] == "query") & (table["queries"] < 2)
    rows = table[(table["documents"] < MIN_DOCUMENTS) | single]
    if rows.empty:
        return []
    names = dict.fromkeys(f"{row.level} {row.design} at {row.budget:.4g}" for row in rows.itertuples())
    return [
        f"Some budgets buy fewer than {MIN_DOCUMENTS} documents or less than two queries, too few for an interval: "
        f"{', '.join(names)}."
    ]
