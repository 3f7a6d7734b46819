"""Judgments meet the drawn documents: estimates and comparisons from one or several rounds [theory 9]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.frames.qrels import LOOK_SO_FAR, check_policy, missing_pairs
from pt_active.inference.documents import DocumentEstimate, DocumentPool
from pt_active.inference.intervals import reference_degrees
from pt_active.inference.rounds import Round, estimate_rounds, judged_before
from pt_active.plans.answers.results import Basis, Comparison, Estimate
from pt_active.plans.making.labelled import label_calibration, labels_of_drawn, last_unseen_grades, round_chance
from pt_active.plans.making.pool import Pool, seen_by
from pt_active.sampling.documents import Variables

_UNREACHED = 0.01
"""Share of the model's variance in documents that could never be drawn above which an estimate says so."""

_TOO_MUCH = 0.05
"""The same share above which no interval is given."""

_FEW = 10
"""Effective documents below which an estimate says that it rests on few."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class JudgedDocuments:
    """Labels of drawn documents, and what they can be used for.

    Attributes:
        names: The k rankers.
        pool: What the measure sees.
        rounds: Of judging.
        grades: float64[N, G+1] of the first round.
        label: int64[N], of the documents that were drawn; -1 elsewhere and where it is missing.
        basis: What every inference rests on, but for the estimator.
    """

    names: tuple[str, ...]
    pool: DocumentPool
    rounds: Sequence[Round]
    grades: np.ndarray
    label: np.ndarray
    basis: Basis

    def estimate(self, ranker: int, estimator: str, reference: str, confidence: float) -> Estimate:
        """Estimate the performance of one ranker; see `JudgedSample.estimate`."""
        contrast = np.zeros(len(self.names))
        contrast[ranker] = 1.0
        value, fields = self._infer(contrast, self.names[ranker], estimator, reference, confidence)
        return Estimate(name=self.names[ranker], value=value, **fields)

    def compare(self, first: int, second: int, estimator: str, reference: str, confidence: float) -> Comparison:
        """Estimate and test the difference of two rankers, first minus second; see `JudgedSample.compare`."""
        contrast = np.zeros(len(self.names))
        contrast[first], contrast[second] = 1.0, -1.0
        what = f"{self.names[first]} − {self.names[second]}"
        difference, fields = self._infer(contrast, what, estimator, reference, confidence)
        return Comparison.tested(self.names[first], self.names[second], difference, fields)

    def _infer(
        self, contrast: np.ndarray, what: str, estimator: str, reference: str, confidence: float
    ) -> tuple[float, dict]:
        confidence = level("confidence", confidence)
        found = estimate_rounds(self.pool, self.rounds, self.label, contrast, estimator)
        unreached, variance = self._unreached(contrast)
        error = float(np.sqrt(found.standard_error**2 + variance))
        census = self.basis.census and variance == 0
        still = error <= _ROUNDING * max(1.0, abs(found.value))
        degrees = reference_degrees(reference, np.array(found.degrees_of_freedom), self.basis.n_draws)
        caution = self._caution(found, what, unreached)
        basis = replace(
            self.basis,
            estimator=estimator,
            census=census,
            n_effective=found.n_effective,
            error_of_queries=float(np.sqrt(max(found.first, 0.0))),
            error_of_documents=float(np.sqrt(max(found.second, 0.0))),
            error_of_model=float(np.sqrt(variance + found.cautious)),
            unreached=unreached,
            caution=caution,
        )
        return found.value, {
            "basis": basis,
            "standard_error": 0.0 if census or still else error,
            "degrees_of_freedom": np.inf if census else float(degrees),
            "confidence_level": confidence,
            "degenerate": unreached > _TOO_MUCH or (bool(self.basis.missing) if census else still),
        }

    def _unreached(self, contrast: np.ndarray) -> tuple[float, float]:
        """Share and size of the model's variance in documents that could never be drawn."""
        variables = Variables.of(self.pool.form, self.grades)
        part = (contrast @ self.pool.gradients(variables.mean)) * self.pool.weight[self.pool.query]
        variance = part**2 * variables.variance
        possible, known = np.ones(len(self.label), dtype=bool), np.zeros(len(self.label), dtype=bool)
        for each in self.rounds:
            possible &= known | (each.sample.design.inclusion > 0)
            known |= each.sample.drawn
        rest, total = float(variance[~possible].sum()), float(variance.sum())
        return (rest / total, rest) if rest > 1e-9 * total else (0.0, 0.0)

    def _caution(self, found: DocumentEstimate, what: str, unreached: float) -> str:
        """What the user should know, and is warned of."""
        said = []
        if unreached > _UNREACHED:
            said.append(
                f"{unreached:.0%} of the variance that the model expects of {self.basis.measure} of {what} lies in "
                "documents that were never to be judged for this plan; there the estimate rests on the model alone"
                + (", so there is no interval and no test" if unreached > _TOO_MUCH else "")
            )
        if self.basis.missing:
            said.append(
                f"labels are missing ({len(self.basis.missing)}), and the interval does not know how far off what "
                "stands in their place may be"
            )
        if not self.basis.census and found.n_effective < _FEW:
            said.append(f"the estimate rests on {found.n_effective:.1f} effective documents")
        for caution in said:
            warnings.warn(caution, stacklevel=5)
        return "; ".join(said)


def judged_documents(
    pool: Pool, rounds: Sequence[Round], measure: irm.Measure, qrels: pd.DataFrame, missing: str
) -> JudgedDocuments:
    """Bring the labels of a plan together with its drawn documents.

    Args:
        pool: All queries.
        rounds: Of judging.
        measure: The measure to estimate, additive or cascade.
        qrels: The labels of all rounds. Those of documents that were not drawn are ignored, counted and warned of.
        missing: One of `qrels.MISSING_POLICIES`.

    Raises:
        ValueError: If a label is not one of the model's grades, no label belongs to a drawn document, or one has none
            and ``missing`` is ``"error"``; or the measure is neither additive nor cascade.
    """
    check_policy(missing)
    seen = seen_by(measure, pool)
    drawn = judged_before(rounds)
    label, ignored = labels_of_drawn(pool, drawn, qrels)
    line = label_calibration(pool, measure, label, round_chance(pool, rounds), last_unseen_grades(rounds))
    otherwise = LOOK_SO_FAR if (label[rounds[0].sample.drawn] >= 0).all() else ()
    unlabelled = missing_pairs(pool.keys, drawn & (label < 0), missing, otherwise=otherwise)
    if missing == "nonrelevant":
        label = np.where(drawn & (label < 0), 0, label)
    basis = Basis(
        measure=str(measure),
        estimator="",
        n_draws=int(drawn.sum()),
        n_queries=len(np.unique(pool.query_of_document[drawn])),
        n_judged=int(drawn.sum()) - len(unlabelled),
        n_effective=np.nan,
        census=any(each.expected <= 0 for each in rounds),
        missing=unlabelled,
        missing_policy=missing,
        ignored=ignored,
        level="document",
        n_rounds=len(rounds),
        model_caution="" if line is None else line.caution,
    )
    return JudgedDocuments(pool.names, seen, rounds, pool.grades, label, basis)
