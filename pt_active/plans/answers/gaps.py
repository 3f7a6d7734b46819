"""Which documents keep the labels from being complete up to the last, and who left them out?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.qrels import checked_qrels, label_columns, whole_labels
from pt_active.frames.records import JUDGED, checked_records, latest
from pt_active.plans.making.judgments import as_qrels, changed_of, waiting_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.queries import has_order, place_of
from pt_active.plans.making.sampled import wanted_documents
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


class Said(NamedTuple):
    """What is known of labels beside their values."""

    gaps: tuple[Gap, ...]
    due: int = 0
    changed: int = 0


def said_of(
    tables: PlanTables, qrels: pd.DataFrame, records: pd.DataFrame | None = None, at_once: bool = False
) -> Said:
    """What is known of the labels of a plan beside their values.

    ``at_once`` says that all documents without a label were passed over if the plan has no order.
    """
    keys, label = tables.pool.keys, whole_labels(tables.pool.keys, checked_qrels(qrels))
    place = place_of(tables)
    lacking = wanted_documents(tables) & np.isfinite(place) & (label < 0)
    passed: dict[tuple[str, str], tuple[str, str]] = {}
    if records is None:
        last = place[(label >= 0) & np.isfinite(place)].max(initial=-np.inf)
        rows = np.flatnonzero(lacking & ((place <= last) if at_once and not has_order(tables) else (place < last)))
    else:
        passed = _passed_over(records)
        pairs = zip(keys["qid"], keys["docno"], strict=True)
        rows = np.flatnonzero(lacking & np.fromiter((pair in passed for pair in pairs), bool, len(lacking)))
    found = keys.iloc[rows[np.argsort(place[rows], kind="stable")]][["qid", "docno"]].itertuples(index=False, name=None)
    gaps = tuple(Gap(qid, docno, *passed.get((qid, docno), ("", NO_LABEL))) for qid, docno in found)
    return Said(gaps) if records is None else Said(gaps, len(waiting_of(records)), len(changed_of(records)))


def _passed_over(records: pd.DataFrame) -> dict[tuple[str, str], tuple[str, str]]:
    """Document that nobody judged → who passed it over and how, of the latest records of each annotator."""
    last = latest(checked_records(records))
    judged = (last["status"] == JUDGED).groupby([last["qid"], last["docno"]]).transform("any")
    last = last[~judged.astype(bool)]
    passed: dict[tuple[str, str], tuple[str, str]] = {}
    columns = ["qid", "docno", "annotator", "status"]
    for qid, docno, annotator, status in last[columns].itertuples(index=False, name=None):
        before, worse = passed.get((qid, docno), ("", ""))
        # One who says that nobody can judge it weighs more than one who left it to others.
        passed[qid, docno] = (", ".join(filter(None, [before, annotator])), max(worse, status))
    return passed


def filled(qrels: pd.DataFrame, gaps: Iterable[Gap]) -> pd.DataFrame:
    """The labels with grade 0 for the gaps."""
    added = pd.DataFrame([(each.qid, each.docno, 0) for each in gaps], columns=["qid", "docno", "label"])
    return pd.concat([qrels[["qid", "docno", "label"]], added], ignore_index=True) if len(added) else qrels


def labels_and_said(
    tables: PlanTables, qrels: pd.DataFrame, records: pd.DataFrame | None, policy: str | None
) -> tuple[pd.DataFrame, Said, bool]:
    """The labels, what is known of them, and whether the documents that were passed over have got grade 0."""
    labels, given = as_qrels(qrels, records), policy == "nonrelevant"
    check_minus_ones(tables.measure, label_columns(labels)["label"])
    said = said_of(tables, labels, records, at_once=given)
    return filled(labels, said.gaps) if given else labels, said, given
