"""What does an answer promise, and what has to be true for that?"""

from __future__ import annotations

import ir_measures.measures as irm

from pt_active.plans.making.kept import PlanTables
from pt_active.relevance.measures import has_rank_form
from pt_active.sampling.drawings import SURPRISES

EXACT = "exact"  # Nothing was left to chance
ANY_TIME = "any time"  # At least the level, for any data, however often one looks
LARGE_SAMPLES = "large samples"  # The level in the limit of many draws and queries

LABELS_RIGHT = "the labels are right"
JUDGES_APART = "judges err independently of each other"
QUERIES_RANDOM = "the pool's queries are a random sample of them"
NOT_RELEVANT = "documents without a label are not relevant"

HOLDS = {
    EXACT: "exactly",
    ANY_TIME: "at any time, for any data",
    LARGE_SAMPLES: "in large samples",
}
"""Guarantee → how it is said."""


def assumptions_of(tables: PlanTables, measure: irm.Measure) -> tuple[str, ...]:
    """What the answers of a plan for a measure assume beside the labels [theory 20]."""
    assumed = ["documents outside the pool are not relevant"]
    if has_rank_form(measure):
        return tuple(assumed) if tables.manifest.strangers else ()
    if tables.documents and tables.documents.sample.design.drawing == SURPRISES:
        assumed.append("the bias of single documents is small beside the error")
    return tuple(assumed)


def promised(guarantee: str, assumptions: tuple[str, ...]) -> str:
    """A guarantee and its assumptions in words, for one line."""
    return f"{HOLDS[guarantee]}, if {'; '.join(assumptions)}"
