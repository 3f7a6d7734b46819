"""Audits of relevance predictors: how often a classifier or an LLM judge is wrong, and which is better.

The road: predictions → pairs → loss → introspection → design → draw → audit → judgments → estimate.
"""

from pt_active.relevance.losses import (
    F1,
    Accuracy,
    CostMatrix,
    FMeasure,
    GaussianSquared,
    Precision,
    Recall,
    Squared,
    ZeroOne,
)
from pt_active.risk.audit import Audit

__all__ = [
    "F1",
    "Accuracy",
    "Audit",
    "CostMatrix",
    "FMeasure",
    "GaussianSquared",
    "Precision",
    "Recall",
    "Squared",
    "ZeroOne",
]
