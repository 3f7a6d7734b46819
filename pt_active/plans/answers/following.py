"""What does one more label change?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.frames.qrels import check_some_known, checked_qrels
from pt_active.frames.records import is_records
from pt_active.frames.strays import Strays
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.gaps import gaps_of
from pt_active.plans.answers.progress import Question
from pt_active.plans.answers.sequence import sequence_of
from pt_active.plans.answers.so_far import points_so_far
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import proved_status, with_strays
from pt_active.plans.making.judgments import qrels_of, records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import strays_of


class Following:
    """A plan that is followed while labels come in: `add` takes new ones alone and returns the `Status`.

    It keeps what does not depend on the new labels, and so is several times faster than asking again with all labels.

    Args:
        tables: The plan's content.
        question: What is asked; only looks at any time can be followed.

    Raises:
        ValueError: If the plan has no successive order, or the looks are others.
    """

    def __init__(self, tables: PlanTables, question: Question) -> None:
        if question.looks != ALWAYS:
            raise ValueError(f"only looks {ALWAYS!r} can be followed label by label, got {question.looks!r}")
        keys = tables.pool.keys
        self._tables, self._question = tables, question
        self._rows = pd.MultiIndex.from_arrays([keys["qid"], keys["docno"]])
        self._label = np.full(len(keys), -1, dtype=np.int64)
        self._unknown = pd.DataFrame(columns=["qid", "docno", "label"])
        self._records: pd.DataFrame | None = None
        self._sequence = sequence_of(tables, self._label, question.measure)

    def add(self, labels: pd.DataFrame) -> Status:
        """Take new labels, and say whether judging can stop.

        Args:
            labels: ``qid, docno, label``, or records of judgments, of whose documents the majority of all records so
                far decides; may be empty. Labels of documents that are not in the plan are counted in the status if
                there are others.

        Raises:
            ValueError: If a label is malformed or above the highest grade, none belongs to a document of the plan, or
                one differs from the one given before: what was proved from a label cannot be taken back.
        """
        if not is_records(labels):
            return self._added(labels)
        tables = self._tables
        new = records_of_plan(tables, tables.manifest.id, labels)
        self._records = new if self._records is None else pd.concat([self._records, new], ignore_index=True)
        decided = qrels_of(self._records)
        state = self._added(decided.merge(new[["qid", "docno"]].drop_duplicates(), on=["qid", "docno"]))
        return state.with_gaps(gaps_of(tables, decided, self._records), given=False)

    def _added(self, qrels: pd.DataFrame) -> Status:
        new = checked_qrels(qrels, self._tables.pool.max_grade)
        rows = self._rows.get_indexer(pd.MultiIndex.from_arrays([new["qid"], new["docno"]])) if len(new) else new.index
        known = np.asarray(rows) >= 0
        if len(new):
            check_some_known(known, self._tables.pool.keys, new)
        rows, labels = np.asarray(rows)[known], new["label"].to_numpy(dtype=np.int64)[known]
        changed = (self._label[rows] >= 0) & (self._label[rows] != labels)
        if changed.any():
            qid, docno = self._rows[rows[changed][0]]
            raise ValueError(f"document {docno} of query {qid} has another label than before; follow the plan anew")
        label = self._label.copy()
        label[rows] = labels
        self._label, self._sequence = label, self._sequence.labelled(label)
        if not known.all():
            self._unknown = pd.concat([self._unknown, new[~known]]).drop_duplicates(["qid", "docno"])
        strays = strays_of(self._tables, self._unknown, label) if len(self._unknown) else Strays()
        (point,) = points_so_far(self._tables, label, self._question.measure, [self._question.contrast], self._records)
        return with_strays(proved_status(self._tables, self._sequence, self._question, point), strays)
