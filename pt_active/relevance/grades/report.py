"""A report on how well a graded-relevance model's probabilities agree with labels."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.columns import check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import checked_qrels
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import document_labels
from pt_active.relevance.revealed import fitted_leniency


@dataclass(frozen=True)
class GradeReport:
    """How well a grade model's probabilities agree with labels outside its training data.

    Attributes:
        n_judged: The number of documents with a label.
        n_unjudged: The number of documents without a label, which are left out.
        max_grade: G, the highest grade.
        likelihood: Exponentiated mean log-likelihood per document; uniform grades have ``1 / (G + 1)``.
        calibration_error: Expected calibration error, the mean of ``|predicted − observed|`` over documents and
            grades, in ten bins of equal width.
        leniency: τ, the standard deviation of the shift that the labels of a query have in common, on the scale of
            cumulative logits, fitted to the labels; 0 if they err independently.
        reliability: A row for each grade and bin that contains a document: the ``grade``, the ends ``low`` and
            ``high`` of the bin, the number ``n`` of documents, the mean probability ``predicted``, and the share
            ``observed`` of documents that have the grade.
    """

    n_judged: int
    n_unjudged: int
    max_grade: int
    likelihood: float
    calibration_error: float
    leniency: float
    reliability: pd.DataFrame = field(repr=False, compare=False)

    @classmethod
    def of(cls, graded: pd.DataFrame, qrels: pd.DataFrame) -> GradeReport:
        """Compare the grades of a frame with labels.

        Args:
            graded: ``qid, docno, grade_0 … grade_G``.
            qrels: ``qid, docno, label``; -1 counts as no label, -2 as grade 0.

        Raises:
            ValueError: If there are no grade columns, a row is not a distribution, no document has a label, a label
                is above G, or a pair occurs twice.
        """
        columns = grade_columns(graded.columns)
        if not columns:
            raise ValueError("the frame has no columns grade_0 … grade_G; end its pipeline in a grade model")
        graded = with_string_ids(graded)
        check_pairs(graded, "the graded frame")
        labels = document_labels(graded, checked_qrels(qrels, len(columns) - 1), "the graded frame")
        judged = labels >= 0
        probabilities = _checked(graded[columns].to_numpy(dtype=np.float64))[judged]
        table = fitting.reliability(probabilities, labels[judged])
        return cls(
            n_judged=int(judged.sum()),
            n_unjudged=int((~judged).sum()),
            max_grade=len(columns) - 1,
            likelihood=fitting.likelihood_per_document(probabilities, labels[judged]),
            calibration_error=fitting.calibration_error(table),
            leniency=fitted_leniency(probabilities, labels[judged], pd.factorize(graded["qid"][judged])[0]),
            reliability=pd.DataFrame(table._asdict()),
        )

    def to_frame(self) -> pd.DataFrame:
        """One row with all numbers except the reliability table."""
        names = ("n_judged", "n_unjudged", "max_grade", "likelihood", "calibration_error", "leniency")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def reliability_by_grade(self) -> pd.DataFrame:
        """The reliability table for reading: a row per bin, a column per grade, ``observed (n)`` in each cell."""
        table = self.reliability
        shown = [f"{share:.2f} ({n:,})" for share, n in zip(table["observed"], table["n"], strict=True)]
        bins = [f"{low:.1f}–{high:.1f}" for low, high in zip(table["low"], table["high"], strict=True)]
        columns = {"predicted": bins, "grade": [f"grade {g}" for g in table["grade"]], "observed": shown}
        return pd.DataFrame(columns).pivot(index="predicted", columns="grade", values="observed").fillna("")

    def _summary(self) -> list[str]:
        return [
            f"Grades of {self.n_judged:,} judged documents ({self.n_unjudged:,} without a label left out)",
            f"  likelihood         {self.likelihood:.4f} a document (uniform grades: {1 / (self.max_grade + 1):.4f})",
            f"  calibration error  {self.calibration_error:.4f}",
            f"  leniency           {self.leniency:.1f} (0 if the labels of a query err independently)",
            "  share that has the grade (documents), by predicted probability:",
        ]

    def __str__(self) -> str:
        table = self.reliability_by_grade().rename_axis(index=None, columns=None).to_string()
        return "\n".join([*self._summary(), *(f"    {line}" for line in table.splitlines())])

    def _repr_html_(self) -> str:
        return "<pre>" + "\n".join(self._summary()) + "</pre>" + self.reliability_by_grade().to_html()


def _checked(probabilities: np.ndarray) -> np.ndarray:
    """The grade probabilities, float64[N, G+1], if each row is a distribution.

    Raises:
        ValueError: If a probability is negative, or the probabilities of a row do not sum to 1.
    """
    right = (probabilities >= 0).all(axis=1) & (np.abs(probabilities.sum(axis=1) - 1) <= 1e-6)
    if not right.all():
        raise ValueError(
            "grade probabilities must not be negative and must sum to 1; those of "
            f"{how_many('document', int((~right).sum()))} do not, such as {probabilities[~right][0].tolist()}"
        )
    return probabilities
