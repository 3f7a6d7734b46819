"""What the labels of an active test answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from pt_active.inference.estimators import MeanEstimate, is_rounding
from pt_active.inference.statistics import Area
from pt_active.plans.answers.results import Basis
from pt_active.relevance.losses import Loss
from pt_active.rounds.instances import Measure


def is_share(measure: Measure) -> bool:
    """Whether a measure of pairs lies between 0 and 1, whatever the labels; estimates that weigh labels then do too."""
    return isinstance(measure, Area) or (isinstance(measure, Loss) and measure.proportion)


def inferred(found: MeanEstimate, basis: Basis, values: np.ndarray, confidence: float) -> dict[str, Any]:
    """The fields of an `Estimate` but for its name and value."""
    undefined = not np.isfinite(found.value)
    still = not undefined and bool(is_rounding(found.standard_error, np.ones(len(values)), values))
    return {
        "basis": basis,
        "standard_error": 0.0 if still or basis.census else float(found.standard_error),
        "degrees_of_freedom": np.inf if basis.census else float(found.degrees_of_freedom),
        "confidence_level": confidence,
        "degenerate": undefined or (bool(basis.missing) if basis.census else still),
    }
