"""Which qrels follow from the records of several judges, and which records fit a plan [theory 12]?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown
from pt_active.frames.records import ADJUDICATOR, checked_records, is_records, latest, place_of, refuse_rows
from pt_active.frames.strays import not_found
from pt_active.inference.several_judges import TIES, dawid_skene, middle, most_frequent, rounded_mean, votes_of
from pt_active.plans.making.kept import PlanTables

RULES = ("majority", "median", "mean", "dawid-skene")
"""How the labels of several judges become one: the most frequent grade, the median grade, the whole grade nearest to
the mean, or the most probable grade under Dawid and Skene's model of the judges' errors."""


def qrels_of(records: pd.DataFrame, rule: str = RULES[0], ties: str = TIES[0]) -> pd.DataFrame:
    """The qrels that follow from records: of each annotator the latest record, of each document one label.

    A label of the annotator ``adjudicator`` settles its document.

    Args:
        records: Records of judgments; a document without a label of anybody is left out.
        rule: ``majority``, ``median``, ``mean`` or ``dawid-skene``.
        ties: Whether a tie goes to the lowest of the tied grades, ``"down"``, or to the highest, ``"up"``. With
            ``median`` it chooses between the two middle grades of an even number of labels.

    Returns:
        ``qid, docno, label``, in the order in which the documents first occur.

    Raises:
        ValueError: If the rule or ``ties`` is unknown, or a record is malformed.
    """
    for name, value, known in (("rule", rule, RULES), ("ties", ties, TIES)):
        if value not in known:
            raise ValueError(f"unknown {name} {shown(value)}; it is one of {', '.join(known)}")
    each = latest(checked_records(records))
    counted = _without_overruled(each[each["label"].notna()]).reset_index(drop=True)
    pairs = counted[["qid", "docno"]].drop_duplicates()
    if counted.empty:
        return pairs.assign(label=np.array([], dtype=np.int64))
    item = counted.groupby(["qid", "docno"], sort=False).ngroup().to_numpy()
    grade = counted["label"].to_numpy(dtype=np.int64)
    votes = votes_of(item, grade)
    if rule == "dawid-skene":
        label = most_frequent(dawid_skene(item, pd.factorize(counted["annotator"])[0], grade), ties)
    else:
        label = {"majority": most_frequent, "median": middle, "mean": rounded_mean}[rule](votes, ties)
    return pairs.assign(label=label).reset_index(drop=True)


def _without_overruled(labels: pd.DataFrame) -> pd.DataFrame:
    """The labels, without those of documents that the adjudicator has settled."""
    keys, last = pd.MultiIndex.from_frame(labels[["qid", "docno"]]), (labels["annotator"] == ADJUDICATOR).to_numpy()
    return labels[last | ~keys.isin(keys[last])]


def as_qrels(given: pd.DataFrame) -> pd.DataFrame:
    """Qrels as they are, and records as the qrels that follow from them by the majority of the judges.

    Raises:
        ValueError: If a record is malformed.
    """
    return qrels_of(given) if is_records(given) else given


def records_of_plan(tables: PlanTables, plan: str, records: pd.DataFrame) -> pd.DataFrame:
    """Check that records belong to a plan.

    Args:
        tables: The plan's content.
        plan: Its id. Records without a plan may belong to any.
        records: Records of judgments.

    Returns:
        As `records.checked_records` returns them.

    Raises:
        ValueError: If a record is malformed, is of another plan or of a document that is not in the plan, or its label
            is above the highest grade. The message has the row.
    """
    checked = checked_records(records)
    refuse_rows(checked, ~checked["plan"].isin(["", plan]), "plan", f"{shown(plan)}, the id of this plan")
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
