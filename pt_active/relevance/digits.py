"""Which digits of a number are the same on every processor [theory 17]?

Matrix products, logarithms and fitted models differ between processors in their last digits. What is decided by such
numbers is decided by rounded ones, so that what is equal but for rounding is equal.
"""

from __future__ import annotations

import numpy as np

SURE_BITS = 30
"""Bits of the mantissa that decide an order. Exact ties, which are common, agree in them; chance hardly ever meets the
edge between two of them."""

GRADE_BITS = 16
"""Bits of the mantissa of what a grade model says. Fits differ by less than 1e-12, so one value in 10⁷ may differ."""


def rounded(values: np.ndarray | float, bits: int = SURE_BITS) -> np.ndarray:
    """Numbers with so many bits of mantissa; infinite ones and NaN stay as they are."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**bits), exponent - bits))


def rounded_grades(grades: np.ndarray) -> np.ndarray:
    """Grade probabilities with `GRADE_BITS` bits, divided by their sum, which adds them up from grade 0."""
    short = rounded(grades, GRADE_BITS)
    return np.asarray(short / product(short, np.ones(short.shape[1]))[:, None])


def product(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """``matrix @ vector``, added up column by column: neither processor nor neighbours change its digits."""
    total = np.zeros((len(matrix), *vector.shape[1:]))
    for column, factor in zip(matrix.T, vector, strict=True):
        total += np.multiply.outer(column, factor)
    return total
