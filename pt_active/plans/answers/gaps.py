"""Which documents keep the labels from being complete up to the last, and who left them out?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.qrels import checked_qrels, known_labels, label_columns, whole_labels
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.plans.making.judgments import as_qrels, changed_of, waiting_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.queries import place_of
from pt_active.plans.making.sampled import strays_told, wanted_documents
from pt_active.relevance.measures import check_minus_ones

NO_LABEL = "no label"
"""The status of a document that nobody has judged or skipped although later ones are judged."""

_MAX_NAMED = 5
"""Documents that are named in a printed status, at most."""


class Gap(NamedTuple):
    """A document that has no label and holds up those that come after it."""

    qid: str
    docno: str
    annotator: str  # Who skipped it or said that nobody can judge it; empty if that is unknown
    status: str  # ``skipped``, ``unjudgeable``, or `NO_LABEL`

    def __str__(self) -> str:
        who = f" by {self.annotator}" if self.annotator else ""
        return f"document {shown(self.docno)} of query {shown(self.qid)} ({self.status}{who})"


def in_words(gaps: Iterable[Gap]) -> str:
    """The first few gaps, with their number if there are more."""
    listed = list(gaps)
    named = ", ".join(map(str, listed[:_MAX_NAMED]))
    return named if len(listed) <= _MAX_NAMED else f"{named}, … ({how_many('document', len(listed))} in all)"


def read_labels(
    tables: PlanTables, qrels: pd.DataFrame, records: pd.DataFrame | None = None
) -> tuple[np.ndarray, dict[str, Any]]:
    """The labels, int64[N], -1 where there is none, and the fields of `Status` on labels beside their values."""
    labels = as_qrels(qrels, records)
    check_minus_ones(tables.measure, label_columns(labels)["label"])
    labels = checked_qrels(labels, tables.pool.max_grade)
    label = (known_labels if len(labels) else whole_labels)(tables.pool.keys, labels)
    known: dict[str, Any] = {"unknown": strays_told(tables, labels, label), "blocked": _gaps(tables, label, records)}
    if records is not None:
        known |= {"due": len(waiting_of(records)), "changed": len(changed_of(records))}
    return label, known


def _gaps(tables: PlanTables, label: np.ndarray, records: pd.DataFrame | None) -> tuple[Gap, ...]:
    """The documents that were passed over, in the order in which they come."""
    keys, place, passed = tables.pool.keys, place_of(tables), _passed_over(records)
    lacking = wanted_documents(tables) & np.isfinite(place) & (label < 0)
    if records is not None:
        skipped = keys.set_index(["qid", "docno"]).index.isin(list(passed))
    else:
        skipped = place < place[(label >= 0) & np.isfinite(place)].max(initial=-np.inf)
    rows = np.flatnonzero(lacking & skipped)
    rows = rows[np.argsort(place[rows], kind="stable")]
    found = keys.iloc[rows][["qid", "docno"]].itertuples(index=False, name=None)
    return tuple(Gap(qid, docno, *passed.get((qid, docno), ("", NO_LABEL))) for qid, docno in found)


def _passed_over(records: pd.DataFrame | None) -> dict[tuple[str, str], tuple[str, str]]:
    """Document that nobody judged → who passed it over and how, of the latest records of each annotator."""
    if records is None:
        return {}
    last = latest(checked_records(records))
    judged = (last["status"] == JUDGED).groupby([last["qid"], last["docno"]]).transform("any")
    # One who says that nobody can judge it weighs more than one who left it to others.
    found = last[~judged.astype(bool)].groupby(["qid", "docno"], sort=False)
    passed = {}
    for (qid, docno), some in found:
        passed[str(qid), str(docno)] = ", ".join(filter(None, some["annotator"])), some["status"].max()
    return passed
