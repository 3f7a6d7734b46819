"""What the package answers, as plain values for JSON."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from package import pta

Cases = dict[str, Callable[[], Any]]
"""Name → what is asked."""

LEFT_OUT = ("versions", "inputs", "query", "text")
"""Of manifests and tables: what depends on the machine, and what is long and repeated."""


def told(value: Any) -> Any:
    """Numbers and texts of anything that the package returns."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return told(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): told(each) for key, each in value.items() if key not in LEFT_OUT}
    if isinstance(value, (list, tuple)):
        return [told(each) for each in value]
    if isinstance(value, pd.DataFrame):
        return told({column: value[column].tolist() for column in value.columns})
    fields = next(FIELDS[kind] for kind in FIELDS if isinstance(value, kind))
    return told(fields(value)) | {"printed": str(value)}


def answer(ask: Callable[[], Any]) -> dict[str, Any]:
    """What is answered, or the message with which it is refused, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            found = {"answer": told(ask())}
        except ValueError as error:
            found = {"refused": str(error)}
    return found | ({"warned": [str(each.message) for each in said]} if said else {})


def inference(found: pta.Estimate | pta.Comparison) -> dict[str, Any]:
    """Beside the row the numbers that it leaves out."""
    ends = {str(level): found.confidence_interval(level) for level in (0.5, 0.99)}
    return {"row": found.to_frame(), "degrees": found.degrees_of_freedom, "degenerate": found.degenerate, "ends": ends}


def outlook(found: pta.Outlook) -> dict[str, Any]:
    """Both directions: from budgets to errors, and from errors to budgets."""
    budgets = {"difference": found.budget_for(difference=0.5), "width": found.budget_for(width=0.3, confidence=0.9)}
    return {"table": found.table(difference=0.4)} | budgets


FIELDS: dict[type, Callable[[Any], dict[str, Any]]] = {
    pta.Estimate: inference,
    pta.Comparison: inference,
    pta.Outlook: outlook,
    pta.Status: lambda found: found.to_dict(),
    pta.Ranking: lambda found: found.to_dict() | {"corrected": found.corrected, "letters": found.letters},
    pta.Report: lambda found: found.to_dict() | {"effects": found.contributions.documents},
    pta.ModelCheck: lambda found: {"row": found.to_frame(), "bins": found.bins},
    pta.GradeReport: lambda found: vars(found),
    pta.LearnerComparison: lambda found: {"row": found.to_frame(), "queries": found.per_query, "folds": found.per_fold},
    pta.Plan: lambda plan: {"judge": plan.assessments, "queries": plan.queries, "manifest": plan.manifest},
    pta.Audit: lambda audit: {
        "judge": audit.assessments,
        "design": audit.pairs[["prob", "draws", "importance", "inclusion"]],
        "manifest": audit.manifest,
    },
    pta.ActiveTest: lambda test: {"judge": test.assessments, "manifest": test.manifest},
}
