"""Which qrels follow from the records of several judges, and which records fit a plan [theory 12]?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, check_known, how_many, shown, some
from pt_active.frames.columns import place_of, refuse_rows
from pt_active.frames.qrels import LOOK_SO_FAR, checked_qrels
from pt_active.frames.records import (
    ADJUDICATOR,
    JUDGED,
    as_they_came,
    checked_records,
    is_records,
    latest,
    still_wanted,
)
from pt_active.frames.strays import not_found
from pt_active.inference.agreement import TIES, middle, most_frequent, votes_of
from pt_active.plans.making.kept import PlanTables

RULES = ("majority", "median")
"""How the labels of several judges become one: the most frequent grade, or the median grade."""


def qrels_of(records: pd.DataFrame, rule: str = RULES[0], ties: str = TIES[0]) -> pd.DataFrame:
    """The qrels that follow from records: of each annotator the latest record, of each document one label.

    A label of the annotator ``adjudicator`` settles its document. A document that waits for another judge
    (`waiting_of`) has no label yet.

    Args:
        records: Records of judgments; a document without a label of anybody is left out.
        rule: ``majority`` or ``median``.
        ties: Whether a tie goes to the lowest of the tied grades, ``"down"``, or to the highest, ``"up"``. With
            ``median`` it chooses between the two middle grades of an even number of labels.

    Returns:
        ``qid, docno, label``, in the order in which the documents first occur.

    Raises:
        ValueError: If the rule or ``ties`` is unknown, or a record is malformed.
    """
    check_known("rule", rule, RULES)
    check_known("ties", ties, TIES)
    each = latest(checked_records(records))
    labels = _without(each[each["label"].notna()], _waiting(each))
    keys, last = pd.MultiIndex.from_frame(labels[["qid", "docno"]]), (labels["annotator"] == ADJUDICATOR).to_numpy()
    counted = labels[last | ~keys.isin(keys[last])].reset_index(drop=True)
    pairs = counted[["qid", "docno"]].drop_duplicates()
    if counted.empty:
        return pairs.assign(label=np.array([], dtype=np.int64))
    item = counted.groupby(["qid", "docno"], sort=False).ngroup().to_numpy()
    grade = counted["label"].to_numpy(dtype=np.int64)
    votes = votes_of(item, grade)
    label = most_frequent(votes, ties) if rule == "majority" else middle(votes, ties)
    return pairs.assign(label=label).reset_index(drop=True)


def waiting_of(records: pd.DataFrame) -> pd.DataFrame:
    """The documents that somebody has judged and that wait for another judge, who may change their label."""
    return _waiting(latest(checked_records(records)))


def _waiting(last: pd.DataFrame) -> pd.DataFrame:
    """The documents that wait for another judge, by the latest record of each annotator."""
    judged, settling = last["status"] == JUDGED, last["annotator"] == ADJUDICATOR
    by_people = last.assign(judged=judged & ~settling, passed=~judged & ~settling, settled=judged & settling)
    found = by_people.groupby(["qid", "docno"], sort=False).agg(
        {"judges": "max", "judged": "sum", "passed": "sum", "settled": "any"}
    )
    found = found[(found["judged"] > 0) & ~found["settled"]]
    numbers = zip(found["judges"], found["judged"], found["passed"], strict=True)
    return found[[still_wanted(*each) > 0 for each in numbers]].index.to_frame(index=False)


def check_settled(documents: pd.DataFrame, records: pd.DataFrame | None) -> None:
    """Raise if a document waits for another judge."""
    if records is None:
        return
    waiting = waiting_of(records).merge(documents[["qid", "docno"]])
    if len(waiting):
        pairs = some(waiting.itertuples(index=False, name=None))
        counted = f"{how_many('document', len(waiting), 'has')} a label that does not count yet: {pairs}"
        raise ValueError(f"{counted}; let another judge see them{LOOK_SO_FAR}")


def changed_of(records: pd.DataFrame) -> pd.DataFrame:
    """The documents whose label was another one before some record, by the majority of the judges."""
    checked = checked_records(records)
    if (checked["time"] == "").any():
        return checked.loc[[], ["qid", "docno"]]
    came = checked.iloc[as_they_came(checked)]
    came = came[came.duplicated(["qid", "docno"], keep=False)].reset_index(drop=True)
    if came.empty:
        return came[["qid", "docno"]]
    by_document = came.groupby(["qid", "docno"], sort=False)
    document, turn, number = by_document.ngroup(), by_document.cumcount(), by_document["label"].transform("size")
    # A document with n records is taken for n documents: as it was after the first, after the second, and so on.
    rows = np.repeat(came.index, number - turn)
    after = np.concatenate([np.arange(first, last) for first, last in zip(turn, number, strict=True)])
    states = came.loc[rows].assign(qid=document[rows].map(str).to_numpy(), docno=after.astype(str), time="")
    labels = qrels_of(states)
    kinds = labels.groupby("qid")["label"].nunique()
    changed = document.isin(kinds[kinds > 1].index.astype(int))
    return came.loc[changed, ["qid", "docno"]].drop_duplicates(ignore_index=True)


def _without(rows: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows but those of some documents."""
    keys = (pd.MultiIndex.from_frame(each[["qid", "docno"]]) for each in (rows, pairs))
    return rows[~next(keys).isin(next(keys))] if len(pairs) else rows


def as_qrels(given: pd.DataFrame, records: pd.DataFrame | None = None) -> pd.DataFrame:
    """Qrels as they are, and records as the qrels that follow from them by the majority of the judges."""
    if is_records(given):
        return qrels_of(given)
    waiting = None if records is None else waiting_of(records)
    return given if waiting is None or waiting.empty else _without(checked_qrels(given), waiting)


def records_given(qrels: pd.DataFrame, records: pd.DataFrame | None) -> pd.DataFrame | None:
    """The records that the labels follow from, checked; None if there are none."""
    said = qrels if records is None and is_records(qrels) else records
    return None if said is None else checked_records(said)


def records_of_plan(tables: PlanTables, records: pd.DataFrame) -> pd.DataFrame:
    """Check that records belong to a plan, or to the plan that it extends."""
    checked, ids = checked_records(records), (tables.manifest.origin, tables.manifest.id)
    refuse_rows(checked, ~checked["plan"].isin(["", *ids]), "plan", f"{shown(ids[0])}, the id of this plan")
    keys = pd.MultiIndex.from_frame(tables.pool.keys[["qid", "docno"]])
    unknown = ~pd.MultiIndex.from_frame(checked[["qid", "docno"]]).isin(keys)
    if unknown.any():
        row, place, number = checked[unknown].iloc[0], checked.index[unknown][0], int(unknown.sum())
        complaint = (
            f"{place_of(place)}: document {shown(row['docno'])} of query {shown(row['qid'])} is not in the plan; "
            f"{how_many('record', number)} {agreeing('is', number)} of such documents"
        )
        raise not_found(complaint, tables.pool.keys, checked[unknown].head(1))
    highest = tables.pool.max_grade
    above = checked["label"].fillna(-1).to_numpy(dtype=np.int64) > highest
    refuse_rows(checked, above, "label", f"a grade of the plan, from 0 to {highest}")
    return checked
