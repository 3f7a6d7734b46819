"""Intervals of a proportion from a plain random sample [T 3.19, 3.20]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.results import ConfidenceInterval, Estimate

BINOMIAL_REFERENCES = {"wilson": "wilson", "clopper-pearson": "beta"}
"""Intervals of a proportion by name, and what statsmodels calls them."""


@dataclass(frozen=True)
class ProportionEstimate(Estimate):
    """An estimate whose interval is read off the binomial distribution, so that it has one even where nothing varies.

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
        """What a reader must know before trusting the interval; empty if there is nothing."""
        return self.basis.caution if self.trials == 0 else ""

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """Wilson's or Clopper and Pearson's interval; of a sample without replacement it is too wide, if anything.

        Args:
            confidence_level: In (0, 1); the level asked for at estimation if left out.

        Returns:
            Low and high; NaN where there is no trial.

        Raises:
            ValueError: If the level lies outside (0, 1).
        """
        from statsmodels.stats.proportion import proportion_confint

        level = self._level(confidence_level)
        if self.trials == 0:
            return ConfidenceInterval(np.nan, np.nan)
        if self.basis.census:
            return ConfidenceInterval(self.value, self.value)
        low, high = proportion_confint(self.successes, self.trials, 1 - level, BINOMIAL_REFERENCES[self.method])
        return ConfidenceInterval(float(low), float(high))


def refuse_binomial(reference: str) -> None:
    """Refuse an interval of one share where differences are tested.

    Raises:
        ValueError: If the reference is one of `BINOMIAL_REFERENCES`.
    """
    if reference in tuple(BINOMIAL_REFERENCES):
        raise ValueError(f"the {reference} interval is for one share, not for the difference of two")


def counted(
    numerator: np.ndarray, weight: np.ndarray, count: np.ndarray, importance: np.ndarray, method: str
) -> tuple[int, int]:
    """Successes and trials of a sample.

    Args:
        numerator: float64[n], u.
        weight: float64[n], w.
        count: int64[n].
        importance: float64[n], v.
        method: A name in `BINOMIAL_REFERENCES`, for messages.

    Raises:
        ValueError: If the draws are weighted, or the risk is not a share of counted pairs.
    """
    if not np.allclose(importance, importance[0], rtol=1e-9, atol=0):
        raise ValueError(
            f"{method} intervals count successes in a plain random sample, and this sample is weighted: how many "
            'unweighted trials it is worth is not a whole number that they could use; draw with design="passive", or '
            'read the interval off reference="effective"'
        )
    if not (np.isin(numerator, (0, 1)) & np.isin(weight, (0, 1))).all():
        raise ValueError(
            f"{method} intervals are for shares of pairs, such as errors, accuracy, precision and recall; here pairs "
            "have other weights or losses than 0 and 1"
        )
    return int((count * numerator).sum()), int((count * weight).sum())
