"""Turns answers of the package into plain values for JSON."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import pt_active as pta

Cases = dict[str, Callable[[], Any]]
"""Name of a case → function that computes it."""

LEFT_OUT = ("versions", "inputs", "query", "text")
"""Keys and columns left out: they depend on the machine, or are long and repeated."""


def told(value: Any) -> Any:
    """The numbers and texts in anything that the package returns."""
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
    fields = next((FIELDS[kind] for kind in FIELDS if isinstance(value, kind)), vars)
    return told(fields(value)) | {"printed": str(value)}


def answer(ask: Callable[[], Any]) -> dict[str, Any]:
    """The answer or the error message, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            result = {"answer": told(ask())}
        except ValueError as error:
            result = {"refused": str(error)}
    return result | ({"warned": [str(each.message) for each in said]} if said else {})


def inference(result: pta.Estimate | pta.Comparison) -> dict[str, Any]:
    """The row of an estimate or comparison, and the numbers that it leaves out."""
    ends = {str(level): result.confidence_interval(level) for level in (0.5, 0.99)}
    return {
        "row": result.to_frame(),
        "degrees": result.degrees_of_freedom,
        "degenerate": result.degenerate,
        "ends": ends,
    }


def outlook(result: pta.Outlook) -> dict[str, Any]:
    """An outlook's errors by budget, and its budgets by error."""
    budgets = {"difference": result.budget_for(difference=0.5), "width": result.budget_for(width=0.3, confidence=0.9)}
    return {"table": result.table(difference=0.4)} | budgets


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
