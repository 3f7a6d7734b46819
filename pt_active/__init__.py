"""Active evaluation of rankers: which is better, and by how much, from few human judgments.

The steps: runs → pool → grades → moments → design → draw → plan → judgments → estimate. ``pt_docs`` holds the
documentation, and ``pt-active demo`` shows every step on simulated data.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # To import ``typing`` takes ten times as long as this file, and Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from typing import Any

    from pt_active.answers.comparison import Answers
    from pt_active.experiment import Experiment
    from pt_active.plans.answers.model_check import ModelCheck
    from pt_active.plans.answers.outlook import Outlook
    from pt_active.plans.answers.ranking import Ranking
    from pt_active.plans.answers.report.report import Report
    from pt_active.plans.answers.results import Comparison, Estimate
    from pt_active.plans.answers.status import Status
    from pt_active.plans.plan import Plan
    from pt_active.relevance.costs import ColumnCost, LogLengthCost, UnitCost
    from pt_active.relevance.grades.judges import JudgeGrades
    from pt_active.relevance.grades.learned import ForestGrades, OrderedLogitGrades
    from pt_active.relevance.grades.models import ColdGrades, MixtureGrades, PriorGrades, UniformGrades
    from pt_active.relevance.grades.report import GradeReport
    from pt_active.relevance.measure_values import measure_values
    from pt_active.relevance.measures import DCG, ERR, parse_measure
    from pt_active.risk import Audit
    from pt_active.rounds import ActiveTest
    from pt_active.studies.crossval import LearnerComparison, compare_learners
    from pt_active.transformers import Draw, Runs, SamplingDistribution, plan_of

__all__ = [
    "DCG",
    "ERR",
    "ActiveTest",
    "Answers",
    "Audit",
    "ColdGrades",
    "ColumnCost",
    "Comparison",
    "Draw",
    "Estimate",
    "Experiment",
    "ForestGrades",
    "GradeReport",
    "JudgeGrades",
    "LearnerComparison",
    "LogLengthCost",
    "MixtureGrades",
    "ModelCheck",
    "OrderedLogitGrades",
    "Outlook",
    "Plan",
    "PriorGrades",
    "Ranking",
    "Report",
    "Runs",
    "SamplingDistribution",
    "Status",
    "UniformGrades",
    "UnitCost",
    "compare_learners",
    "measure_values",
    "parse_measure",
    "plan_of",
]

_SOURCES = {
    "answers.comparison": "Answers",
    "experiment": "Experiment",
    "plans.answers.model_check": "ModelCheck",
    "plans.answers.outlook": "Outlook",
    "plans.answers.ranking": "Ranking",
    "plans.answers.report.report": "Report",
    "plans.answers.results": "Comparison Estimate",
    "plans.answers.status": "Status",
    "plans.plan": "Plan",
    "relevance.costs": "ColumnCost LogLengthCost UnitCost",
    "relevance.grades.judges": "JudgeGrades",
    "relevance.grades.learned": "ForestGrades OrderedLogitGrades",
    "relevance.grades.models": "ColdGrades MixtureGrades PriorGrades UniformGrades",
    "relevance.grades.report": "GradeReport",
    "relevance.measure_values": "measure_values",
    "relevance.measures": "DCG ERR parse_measure",
    "risk": "Audit",
    "rounds": "ActiveTest",
    "studies.crossval": "LearnerComparison compare_learners",
    "transformers": "Draw Runs SamplingDistribution plan_of",
}
"""Module → the public names that it holds."""

_FOLDERS = ("frames", "relevance", "sampling", "inference", "plans", "studies", *_SOURCES)
"""Folders and files of the package that are there once the names are."""


def __getattr__(name: str) -> Any:
    """Import everything when the first name is asked for: importing the package alone costs nothing."""
    if name not in __all__ and name not in _FOLDERS:
        raise AttributeError(f"module 'pt_active' has no attribute {name!r}")
    for source, names in _SOURCES.items():
        module = import_module(f"pt_active.{source}")
        globals().update({each: getattr(module, each) for each in names.split()})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
