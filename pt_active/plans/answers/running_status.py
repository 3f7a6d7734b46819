"""What does one more label change?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.frames.qrels import check_some_known, checked_qrels
from pt_active.frames.records import is_records
from pt_active.frames.strays import Strays
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.gaps import Said, said_of
from pt_active.plans.answers.labelled_plan import points_so_far
from pt_active.plans.answers.looks import Question
from pt_active.plans.answers.sequence import UnitSequence, sequence_of
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import proved_status, with_strays
from pt_active.plans.making.judgments import qrels_of, records_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.sampled import strays_of


class RunningStatus:
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
        self._counted = self._label
        self._unknown = pd.DataFrame(columns=["qid", "docno", "label"])
        self._records: pd.DataFrame | None = None
        self._decided = False
        self._changed, self._since = np.zeros((2, len(keys)), dtype=bool)
        self._sequence = self._begun()

    def _begun(self) -> UnitSequence:
        return sequence_of(self._tables, self._label, self._question.measure)

    def add(self, labels: pd.DataFrame) -> Status:
        """Take new labels, and say whether judging can stop."""
        said, open_again = Said(()), np.empty(0, dtype=np.int64)
        if is_records(labels):
            new = records_of_plan(self._tables, self._tables.manifest.id, labels)
            self._records = new if self._records is None else pd.concat([self._records, new], ignore_index=True)
            decided = qrels_of(self._records)
            said = said_of(self._tables, decided, self._records)
            now = new[["qid", "docno"]].drop_duplicates().merge(decided, how="left", on=["qid", "docno"])
            unsettled = now["label"].isna()
            labels, open_again = now[~unsettled], self._rows_of(now[unsettled])
        status = self._added(checked_qrels(labels, self._tables.pool.max_grade), open_again)
        self._decided |= status.resolved
        voided = bool(self._since.any())
        changed = int((self._since if voided else self._changed).sum())
        return status.with_said(said._replace(changed=changed, voided=voided), given=False)

    def _rows_of(self, documents: pd.DataFrame) -> np.ndarray:
        """int64[n], the rows of documents in the pool; -1 for others."""
        return np.asarray(self._rows.get_indexer(pd.MultiIndex.from_frame(documents[["qid", "docno"]])))

    def _added(self, new: pd.DataFrame, open_again: np.ndarray) -> Status:
        """The status with new labels, and without those of some rows."""
        rows = self._rows_of(new)
        known = rows >= 0
        if len(new):
            check_some_known(known, self._tables.pool.keys, new)
        rows, before, label = rows[known], self._label, self._label.copy()
        label[rows], label[open_again] = new["label"].to_numpy(dtype=np.int64)[known], -1
        changed = (self._counted >= 0) & (label >= 0) & (label != self._counted)
        self._changed, self._since = self._changed | changed, self._since | (changed & self._decided)
        self._label, self._counted = label, np.where(label >= 0, label, self._counted)
        replaced = ((before >= 0) & (label != before)).any()
        self._sequence = self._begun() if replaced else self._sequence.labelled(label)
        if not known.all():
            self._unknown = pd.concat([self._unknown, new[~known]]).drop_duplicates(["qid", "docno"])
        strays = strays_of(self._tables, self._unknown, label) if len(self._unknown) else Strays()
        (point,) = points_so_far(self._tables, label, [self._question.contrast], self._question.how, self._records)
        return with_strays(proved_status(self._tables, self._sequence, self._question, point), strays)
