"""How far off is what a model expects of its own errors, and how sure is that?

The variance of an estimate is the one that the grade model expects, times a factor φ. The model's opinion is that
``φ = 1``, and counts as `PRIOR_DEGREES` degrees of freedom; a pilot shows the ratio r on ν degrees. Together they make
a scaled inverse chi-square distribution, ``φ ~ (ν₀ + ν r)/χ²`` on ``ν₀ + ν`` degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PRIOR_DEGREES = 2.0  # ν₀. Before any label, φ then lies between 0.43 and 9.5 with a probability of 80 %
MIN_KURTOSIS = 5.0  # The least kurtosis of errors: normal ones have 3, but a few do not show their tail
# A forecast for single documents counts the labels of a pilot for fewer degrees of freedom, because another budget
# reaches documents with other errors
MAX_DOCUMENT_DEGREES = 15.0
# Labels of single documents count for fewer degrees where they speak of whole queries, or of another way to draw them:
# they do not show how the errors in the documents of a query hang together
MAX_OTHER_UNIT_DEGREES = 6.0
_NORMAL_KURTOSIS = 3.0


@dataclass(frozen=True)
class Optimism:
    """The variance over the one that the model expects."""

    ratio: float  # What the labels show; NaN if they show nothing, or the model expects no variance
    degrees: float  # Degrees of freedom that the ratio rests on; 0 if the labels show nothing

    def quantile(self, share: np.ndarray | float) -> np.ndarray:
        """The value below which φ lies with a given probability."""
        from scipy import special

        shown = self.degrees * self.ratio if self.degrees > 0 else 0.0
        return np.asarray((PRIOR_DEGREES + shown) / special.chdtri(PRIOR_DEGREES + self.degrees, share))

    @property
    def median(self) -> float:
        """The value that φ exceeds as often as not."""
        return float(self.quantile(0.5))


MODEL_ALONE = Optimism(np.nan, 0.0)  # What is known of φ without labels


def times_median(optimism: Optimism | None, share: float) -> float:
    """The factor below which φ lies with a probability, over the median; without labels, over the model's own 1."""
    known = optimism or MODEL_ALONE
    return float(known.quantile(share)) / (1.0 if optimism is None else known.median)


def degrees_of_squares(number: float, *kurtosis: float) -> float:
    """Degrees of freedom of a mean of squared errors, ``2 n/(κ − 1)``; NaN counts as no kurtosis at all."""
    return 2 * max(number, 0.0) / (float(np.nanmax([MIN_KURTOSIS, *kurtosis])) - 1)


def limited(degrees: float, limit: float) -> float:
    """Degrees of freedom if there is a second, independent reason for error: ``1/(1/ν + 1/limit)``."""
    return 1 / (1 / degrees + 1 / limit) if degrees > 0 else 0.0


def observed_kurtosis(square: np.ndarray, count: np.ndarray) -> float:
    """``n Σ x²/(Σ x)²`` of squared errors; NaN if all are 0."""
    total = float(count @ square)
    return float(count.sum() * (count @ square**2) / total**2) if total > 0 else np.nan


def expected_kurtosis(gain: np.ndarray, q: np.ndarray) -> float:
    """The kurtosis of the weighted error of a draw, ``3 Σ g²/q³ / (Σ g/q)²``, if each unit's is normal."""
    gain, q = gain[q > 0], q[q > 0] / q.sum()
    total = float((gain / q).sum())
    return _NORMAL_KURTOSIS * float((gain**2 / q**3).sum()) / total**2 if total > 0 else np.nan
