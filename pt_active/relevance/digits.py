"""Which digits of a number are the same on every processor [theory 17]?

Matrix products, logarithms and fitted models differ between processors in their last digits. What is decided by such
numbers is decided by rounded ones, so that what is equal but for rounding is equal.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.core.util.hashing import combine_hash_arrays  # type: ignore[attr-defined]

from pt_active.frames.clocks import keys

SURE_BITS = 30
"""Bits of the mantissa that decide an order. Exact ties, which are common, agree in them; chance hardly ever meets the
edge between two of them."""

GRADE_BITS = 16
"""Bits of the mantissa of what a grade model says. Fits differ by less than 1e-12, so one value in 10⁷ may differ."""


def rounded(values: np.ndarray | float, bits: int = SURE_BITS) -> np.ndarray:
    """Numbers with so many bits of mantissa; infinite ones and NaN stay as they are."""
    values = np.asarray(values, dtype=np.float64)
    # Half of the last bit that stays is added to the bits of a float, and carries; ties go to the even number.
    unit, word = 1 << (53 - bits), values.copy().view(np.uint64)
    even = (word >> np.uint64(53 - bits)) & np.uint64(1)
    even += np.uint64(unit // 2 - 1)
    word += even
    word &= np.uint64(2**64 - unit)
    short = word.view(np.float64)
    np.copyto(short, values, where=np.isnan(values))
    return short


def rounded_grades(grades: np.ndarray) -> np.ndarray:
    """Grade probabilities with `GRADE_BITS` bits, divided by their sum, which adds them up from grade 0."""
    short = rounded(grades, GRADE_BITS)
    return np.asarray(short / product(short, np.ones(short.shape[1]))[:, None])


def hashed(*columns: np.ndarray) -> np.ndarray:
    """uint64[N], the hash of each row of some columns, [N] each; of floats `GRADE_BITS` bits count."""
    whole = (rounded(each, GRADE_BITS) + 0.0 if each.dtype == np.float64 else each for each in columns)
    return np.asarray(combine_hash_arrays(map(pd.util.hash_array, map(np.ascontiguousarray, whole)), len(columns)))


def believed(ids: pd.DataFrame, known: np.ndarray) -> int:
    """A digest of what is known, [N, c], of documents, ``qid, docno``, before people judge, in any order of rows."""
    return int(hashed(keys(0, ids["qid"], ids["docno"]), *known.T).sum()) >> 1


def product(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """``matrix @ vector``, added up column by column: neither processor nor neighbours change its digits."""
    total = np.zeros((*vector.shape[1:], len(matrix)))
    for column, factor in zip(matrix.T, vector, strict=True):
        total += np.multiply.outer(factor, column)
    return total.T
