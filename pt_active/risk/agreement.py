"""How far do judges and people agree beyond chance, from the labels of an audit [theory 6, 12]?"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from pt_active.inference.agreement import COEFFICIENTS, agreement_estimate
from pt_active.plans.answers.judged import Contrast, How, Measured
from pt_active.plans.answers.results import ConfidenceInterval, Estimate
from pt_active.risk.judged import JudgedPairs
from pt_active.sampling.designs import STRATIFIED


@dataclass(frozen=True)
class AgreementEstimate(Estimate):
    """A coefficient of agreement, with an interval that never exceeds 1."""

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """``1 − (1 − κ) exp(± t SE/(1 − κ))``: symmetric for the logarithm of the disagreement."""
        low, high = super().confidence_interval(confidence_level)
        apart = 1 - self.value
        if not np.isfinite(low) or apart <= 0 or low == high:
            return ConfidenceInterval(low, min(high, 1.0))
        half = (high - low) / 2 / apart
        return ConfidenceInterval(1 - apart * float(np.exp(half)), 1 - apart * float(np.exp(-half)))


@dataclass(frozen=True)
class JudgedAgreement(JudgedPairs):
    """The labels of an audit, asked for a coefficient of agreement in place of a loss."""

    coefficient: str = "Kappa"  # a name in `weighted_agreement.COEFFICIENTS`

    @classmethod
    def of(cls, judged: JudgedPairs, coefficient: str) -> JudgedAgreement:
        """The same labels, asked for a coefficient."""
        if judged.pairs.is_gaussian:
            raise ValueError(f"{coefficient} is for grades, not for labels that are real numbers")
        basis = replace(judged.basis, measure=coefficient)
        parts = judged.names, basis, judged.pairs, judged.sample, judged.label, judged.for_differences
        return cls(*parts, coefficient=coefficient)

    @property
    def lower_is_better(self) -> bool:
        """False: more agreement is better."""
        return False

    def estimate(self, system: int, how: How) -> AgreementEstimate:
        """The coefficient of one predictor with people."""
        plain = super().estimate(system, how)
        return AgreementEstimate(**{each.name: getattr(plain, each.name) for each in fields(plain)})

    def agree(self, first: int, second: int) -> bool:
        """Whether two predictors give every pair that counts the same grade, which makes their difference 0."""
        closest = self.pairs.closest_grades[self.pairs.member]
        return bool((closest[:, first] == closest[:, second]).all())

    def measured(self, contrast: Contrast, how: How) -> Measured:
        """The coefficient of one predictor with people, or the difference of two."""
        pairs = self.pairs
        if how.estimator == STRATIFIED:
            raise ValueError(f"{self.coefficient} is not estimated from strata; draw the audit by another design")
        self._check_drawable(pairs.member, self.coefficient)
        if contrast.second is not None and self.agree(contrast.first, contrast.second):
            return self._agreeing(contrast.first, contrast.second, how.estimator)
        predictors = [s for s in (contrast.first, contrast.second) if s is not None]
        closest = pairs.closest_grades
        label = np.where(np.isnan(self.label), 0, self.label).astype(np.int64)
        mean = agreement_estimate(
            COEFFICIENTS[self.coefficient],
            [closest[:, s] for s in predictors],
            label,
            pairs.grades,
            self.sample,
            pairs.weight,
            how.estimator,
        )
        undefined, certain = bool(np.isnan(mean.value)), self._all_judged(pairs.member)
        reason = f"{self.coefficient} is not defined: all labels in the sample are equal; judge more pairs"
        basis = replace(self.basis, estimator=how.estimator, census=certain, caution=reason if undefined else "")
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=basis,
            certain=certain and not undefined,
            scale=1.0,
            unusable=undefined,
        )
