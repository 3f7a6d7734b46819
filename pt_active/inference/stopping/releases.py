"""At which level is each of many releases tested, so that hardly ever any of them is claimed wrongly?"""

from __future__ import annotations

import numpy as np


def release_level(number: int, alpha: float) -> float:
    """``6α/(π² j²)``, the level of release j ≥ 1 of a sequence that may go on for ever [theory 14].

    All of them add up to α. So the probability that any test errs is at most α, whatever labels and baselines the tests
    share, and whichever errs first.
    """
    return float(6 * alpha / (np.pi * number) ** 2)
