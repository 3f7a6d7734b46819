"""Intervals of a proportion from a plain random sample [T 3.19, 3.20]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.plans.answers.results import ConfidenceInterval, Estimate

BINOMIAL_REFERENCES = {"wilson": "wilson", "clopper-pearson": "beta"}
"""The intervals of a proportion: name → name in statsmodels."""


@dataclass(frozen=True)
class ProportionEstimate(Estimate):
    """An estimate with an interval from the binomial distribution, which exists even if all labels are equal.

    Attributes:
        successes: Drawn pairs that count in the numerator.
        trials: Drawn pairs that count in the weight.
        method: A name in `BINOMIAL_REFERENCES`.
    """

    successes: int = 0
    trials: int = 0
    method: str = "wilson"

    @property
    def note(self) -> str:
        """What a reader must know before trusting the interval; empty if there is nothing to say."""
        return self.basis.caution if self.trials == 0 else ""

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """Wilson's or Clopper and Pearson's interval; for a sample without replacement it is rather too wide."""
        from statsmodels.stats.proportion import proportion_confint

        level = self._level(confidence_level)
        if self.trials == 0:
            return ConfidenceInterval(np.nan, np.nan)
        if self.basis.census:
            return ConfidenceInterval(self.value, self.value)
        low, high = proportion_confint(self.successes, self.trials, 1 - level, BINOMIAL_REFERENCES[self.method])
        return ConfidenceInterval(float(low), float(high))


def refuse_binomial(reference: str) -> None:
    """Raise if the interval of one share is asked for a difference."""
    if reference in tuple(BINOMIAL_REFERENCES):
        raise ValueError(f"the {reference} interval is for one share, not for the difference of two")
