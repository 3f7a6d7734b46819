"""Active testing in rounds: draw, let people judge, learn from the labels, and draw again [theory 7, AI].

The road: grades → instances → design → round → judgments → the next round → estimate.
"""

from pt_active.inference.statistics import AP, AUC
from pt_active.relevance.losses import (
    F1,
    Accuracy,
    CostMatrix,
    CrossEntropy,
    FMeasure,
    Precision,
    Recall,
    Squared,
    ZeroOne,
)
from pt_active.rounds.active_test import ActiveTest

__all__ = [
    "AP",
    "AUC",
    "F1",
    "Accuracy",
    "ActiveTest",
    "CostMatrix",
    "CrossEntropy",
    "FMeasure",
    "Precision",
    "Recall",
    "Squared",
    "ZeroOne",
]
