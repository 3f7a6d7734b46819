"""Active evaluation of rankers: which is better, and by how much, from few human judgments.

The steps: runs → pool → grades → moments → design → draw → plan → judgments → estimate. ``pt_docs`` holds the
documentation, and ``pt-active demo`` shows every step on simulated data.
"""

from pt_active.experiment import Experiment
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.answers.outlook import Outlook
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import ColumnCost, LogLengthCost, TimeCost, UnitCost
from pt_active.relevance.grades.learned import ClassifierGrades, ForestGrades, OrderedLogitGrades
from pt_active.relevance.grades.models import JudgeGrades, MixtureGrades, PriorGrades, UniformGrades
from pt_active.relevance.grades.report import GradeReport
from pt_active.relevance.measure_values import measure_values
from pt_active.relevance.measures import DCG, ERR, parse_measure
from pt_active.risk import Audit
from pt_active.rounds import ActiveTest
from pt_active.studies.crossval import LearnerComparison, compare_learners
from pt_active.transformers import Draw, Runs, SamplingDistribution

__all__ = [
    "DCG",
    "ERR",
    "ActiveTest",
    "Audit",
    "ClassifierGrades",
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
    "TimeCost",
    "UniformGrades",
    "UnitCost",
    "compare_learners",
    "measure_values",
    "parse_measure",
]
