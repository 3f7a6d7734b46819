"""A report on how well a graded-relevance model's probabilities agree with labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.columns import check_pairs, grade_columns, with_string_ids
from pt_active.frames.qrels import checked_qrels
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import document_labels, ranking_columns
from pt_active.relevance.grades.guards import UNLIKE, check_unjudged, standardised_difference
from pt_active.relevance.grades.models import PriorGrades
from pt_active.relevance.grades.validation import (
    FOLDS,
    Slope,
    log_likelihood,
    mean_by_query,
    out_of_fold,
    some_queries,
)
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
        slope: The slope of the labels on the grades that the model expects, with an interval at 95 %.
        unlike: The expected grade of unjudged documents minus that of judged ones, in standard deviations; NaN if all
            are judged.
        gain: The mean log-likelihood of a document minus that of `PriorGrades`; NaN unless cross-validated on a frame
            with ranks or scores.
        gain_error: Its standard error, with the documents of a query as a cluster.
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
    slope: Slope = field(compare=False)
    unlike: float = field(compare=False)
    gain: float = field(compare=False)
    gain_error: float = field(compare=False)
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
        probabilities = graded[columns].to_numpy(dtype=np.float64)
        right = (probabilities >= 0).all(axis=1) & (np.abs(probabilities.sum(axis=1) - 1) <= 1e-6)
        if not right.all():
            raise ValueError(
                "grade probabilities must not be negative and must sum to 1; those of "
                f"{how_many('document', int((~right).sum()))} do not, such as {probabilities[~right][0].tolist()}"
            )
        return cls._of(probabilities, labels, graded["qid"].to_numpy(dtype=object))

    @classmethod
    def cross_validated(
        cls, model: Any, run: pd.DataFrame, qrels: pd.DataFrame, folds: int = FOLDS, unjudged: str | None = None
    ) -> GradeReport:
        """Compare a model's grades with the labels of queries that it has not learned from.

        Args:
            model: A grade model with ``fit``, which is not changed.
            run: The training run, of at least two judged queries. If it has more than 20,000 labels, a random part of
                the queries is used.
            qrels: ``qid, docno, label``; -1 counts as no label, -2 as grade 0.
            folds: The number of folds of queries.
            unjudged: ``"nonrelevant"`` takes documents without a label for grade 0.

        Raises:
            ValueError: If no document has a label, a label is above ``max_grade``, or a frame is malformed.
        """
        check_unjudged(unjudged)
        frame = with_string_ids(run)
        check_pairs(frame, "the training run")
        labels = document_labels(frame, checked_qrels(qrels, model.max_grade), "the training run")
        labels = np.maximum(labels, 0) if unjudged == "nonrelevant" else labels
        use = some_queries(frame, labels)
        frame, labels = frame[use].reset_index(drop=True), labels[use]
        grades, prior = out_of_fold(model, frame, labels, folds), None
        if set(ranking_columns(frame.columns)) <= set(frame.columns):
            prior = out_of_fold(PriorGrades(model.max_grade), frame, labels, folds)
        return cls._of(grades, labels, frame["qid"].to_numpy(dtype=object), prior)

    @classmethod
    def _of(
        cls, grades: np.ndarray, labels: np.ndarray, qid: np.ndarray, prior: np.ndarray | None = None
    ) -> GradeReport:
        judged = labels >= 0
        probabilities, known = grades[judged], labels[judged]
        table = fitting.reliability(probabilities, known)
        expected = grades @ np.arange(grades.shape[1])
        likelihood, gain = log_likelihood(probabilities, known), (np.nan, np.nan)
        if prior is not None:
            gain = mean_by_query(likelihood - log_likelihood(prior[judged], known), qid[judged])
        return cls(
            n_judged=int(judged.sum()),
            n_unjudged=int((~judged).sum()),
            max_grade=grades.shape[1] - 1,
            likelihood=float(np.exp(likelihood.mean())),
            calibration_error=fitting.calibration_error(table),
            leniency=fitted_leniency(probabilities, known, pd.factorize(qid[judged])[0]),
            slope=Slope.of(probabilities, known, qid[judged]),
            unlike=-float(standardised_difference(expected[:, None], judged)[0]),
            gain=gain[0],
            gain_error=gain[1],
            reliability=pd.DataFrame(table._asdict()),
        )

    @property
    def share_judged(self) -> float:
        """The share of the documents that have a label."""
        return self.n_judged / (self.n_judged + self.n_unjudged)

    @property
    def cautions(self) -> list[str]:
        """What is wrong with the model, a sentence each: a slope far from 1, or less likelihood than by rank alone."""
        said = [self.slope.caution] if self.slope.misleads else []
        if self.gain + 2 * self.gain_error < 0:
            said.append(
                f"the grade model is worse than the shares of grades by rank (log-likelihood {self.gain:.3f} ± "
                f"{self.gain_error:.3f} a document); take PriorGrades instead"
            )
        return said

    def to_frame(self) -> pd.DataFrame:
        """One row with all numbers except the reliability table."""
        names = ["n_judged", "n_unjudged", "share_judged", "max_grade", "likelihood", "calibration_error", "leniency"]
        row = {name: getattr(self, name) for name in names}
        row |= {"slope": self.slope.value, "slope_low": self.slope.low, "slope_high": self.slope.high}
        return pd.DataFrame([row | {"unlike": self.unlike, "gain": self.gain, "gain_error": self.gain_error}])

    def reliability_by_grade(self) -> pd.DataFrame:
        """The reliability table for reading: a row per bin, a column per grade, ``observed (n)`` in each cell."""
        table = self.reliability
        shown = [f"{share:.2f} ({n:,})" for share, n in zip(table["observed"], table["n"], strict=True)]
        bins = [f"{low:.1f}–{high:.1f}" for low, high in zip(table["low"], table["high"], strict=True)]
        columns = {"predicted": bins, "grade": [f"grade {g}" for g in table["grade"]], "observed": shown}
        return pd.DataFrame(columns).pivot(index="predicted", columns="grade", values="observed").fillna("")

    def _summary(self) -> list[str]:
        lines = [
            f"Grades of {self.n_judged:,} judged documents ({self.n_unjudged:,} without a label left out)",
            f"  likelihood         {self.likelihood:.4f} a document (uniform grades: {1 / (self.max_grade + 1):.4f})",
            f"  calibration error  {self.calibration_error:.4f}",
            f"  leniency           {self.leniency:.1f} (0 if the labels of a query err independently)",
        ]
        if np.isfinite(self.slope.value):
            interval = f"95% interval [{self.slope.low:.2f}, {self.slope.high:.2f}]"
            lines.append(f"  slope              {self.slope.value:.2f}, {interval}; 1 where the model is right")
        if np.isfinite(self.unlike):
            lines.append(
                f"  judged             {self.share_judged:.1%}; the expected grade of the others is "
                f"{self.unlike:+.2f} SD apart{', so they are unlike' if abs(self.unlike) > UNLIKE else ''}"
            )
        if np.isfinite(self.gain):
            lines.append(f"  above the prior    {self.gain:.4f} ± {self.gain_error:.4f} log-likelihood a document")
        lines += [f"  caution            {caution}" for caution in self.cautions]
        return [*lines, "  share that has the grade (documents), by predicted probability:"]

    def __str__(self) -> str:
        table = self.reliability_by_grade().rename_axis(index=None, columns=None).to_string()
        return "\n".join([*self._summary(), *(f"    {line}" for line in table.splitlines())])

    def _repr_html_(self) -> str:
        return "<pre>" + "\n".join(self._summary()) + "</pre>" + self.reliability_by_grade().to_html()
