"""How far off may an estimate be because of who judged [theory 12]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.inference.agreement import coincidences, judges_variance
from pt_active.plans.answers.contributions import document_pull, influence, values_by_label
from pt_active.plans.answers.judged import Contrast, How, Judged
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.labelled_plan import LabelledPlan


@dataclass(frozen=True)
class JudgesError:
    """The error of judges in what is estimated from a plan.

    Attributes:
        labelled: The plan with the labels that follow from the records.
        records: As `records.checked_records` returns them.
        how: The measure and the estimator.
    """

    labelled: LabelledPlan[Any]
    records: pd.DataFrame
    how: How[irm.Measure]

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[N], the number of judges of each document; and the coincidences of their grades."""
        labels = self._labels[self._labels["annotator"] != ADJUDICATOR]
        item, grade = self._rows(labels), labels["label"].to_numpy(dtype=np.int64)
        item, grade = item[item >= 0], grade[item >= 0]
        number = np.bincount(item, minlength=len(self.labelled.label))
        return number, coincidences(item, grade, self.labelled.tables.pool.max_grade + 1)

    @cached_property
    def _settled(self) -> np.ndarray:
        """bool[N], the documents that the adjudicator settled: one person decided."""
        rows = self._rows(self._labels[self._labels["annotator"] == ADJUDICATOR])
        return np.isin(np.arange(len(self.labelled.label)), rows[rows >= 0])

    @cached_property
    def _labels(self) -> pd.DataFrame:
        last = latest(self.records)
        return last[last["label"].notna()]

    def _rows(self, labels: pd.DataFrame) -> np.ndarray:
        """int64, the document of each label; -1 if it is not in the plan."""
        keys = pd.MultiIndex.from_frame(self.labelled.tables.pool.keys[["qid", "docno"]])
        return np.asarray(keys.get_indexer(pd.MultiIndex.from_frame(labels[["qid", "docno"]])))

    @cached_property
    def twice(self) -> np.ndarray:
        """bool[N], the documents whose label is used and that two judges or more have judged."""
        return np.asarray((self.labelled.label >= 0) & (self._counted[0] > 1))

    def added(self, judged: Judged, contrast: Contrast, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a result with the error of judges in them."""
        used = int((self.labelled.label >= 0).sum())
        basis = replace(fields["basis"], judged_twice=float(self.twice.sum()) / max(used, 1))
        if not self.twice.any():
            return fields | {"basis": basis}
        variance = self._variance(judged, contrast.weights(len(judged.names)))
        before, degrees = fields["standard_error"], fields["degrees_of_freedom"]
        both = before**2 + variance
        if variance > 0 and degrees > 0:
            # Satterthwaite: the error of judges is known from the documents with two labels alone.
            spread = before**4 / degrees + variance**2 / float(self.twice.sum())
            degrees = both**2 / spread
        basis = replace(basis, error_of_judges=float(np.sqrt(variance)))
        return fields | {"basis": basis, "standard_error": float(np.sqrt(both)), "degrees_of_freedom": degrees}

    def _variance(self, judged: Judged, weights: np.ndarray) -> float:
        """The variance that comes from who judged."""
        label, size = self.labelled.label, self.labelled.tables.pool.max_grade + 1
        change = np.zeros((len(label), size))
        if isinstance(judged, JudgedDocuments):
            values = judged.pool.form.values
            pull = document_pull(judged, weights, self.how.estimator)
            change = pull[:, None] * (values[None, :size] - values[np.maximum(label, 0)][:, None])
        else:
            pull = influence(judged, weights, self.how.estimator)[1]  # type: ignore[arg-type]
            for weight, (rows, values, value) in zip(
                pull, values_by_label(self.labelled, weights, self.how), strict=True
            ):
                change[rows] = weight * (values - value)
        rows, (judges, coincidence) = np.flatnonzero(label >= 0), self._counted
        known = np.where(self._settled[rows], 1, np.maximum(judges[rows], 1))
        return judges_variance(change[rows], self.labelled.chance[rows], label[rows], known, coincidence)


def judged_with(labelled: LabelledPlan[Any], records: pd.DataFrame | None, how: How[irm.Measure]) -> Any:
    """The sample with its labels, whose results contain the error of the judges if there are records."""
    judged = labelled.judged(how)
    return judged if records is None else replace(judged, judges=JudgesError(labelled, records, how).added)
