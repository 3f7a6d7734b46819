"""Which grade model is best for the labels at hand?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import HELP
from pt_active.relevance.digits import rounded
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import feature_columns, has_features, ranking_columns
from pt_active.relevance.grades.judges import AnyJudge, JudgeGrades
from pt_active.relevance.grades.learned import ForestGrades, OrderedLogitGrades
from pt_active.relevance.grades.models import ColdGrades, FittedGrades, PriorGrades, UniformGrades
from pt_active.relevance.grades.recalibration import regraded
from pt_active.relevance.grades.validation import (
    Slope,
    log_likelihood,
    mean_by_query,
    out_of_fold,
    safe_recalibration,
    some_queries,
)

MAX_COMPARED = 10_000  # With more labels, a random part of the queries chooses the model

MIN_FOREST_LABELS = 300  # With fewer labels a forest is not tried

FOREST_TREES, FOREST_LEAF = 50, 20
"""Half of the trees of `ForestGrades`, which halves the time; smaller leaves, for smaller training data."""

TABLE_COLUMNS = ("model", "likelihood", "gain", "gain_error", "slope", "slope_low", "slope_high")
"""The columns of `AutoGrades.table_`."""


class AutoGrades(FittedGrades):
    """The best of several grade models by cross-validated likelihood over queries, recalibrated.

    The candidates are the shares of grades by rank, the ordered logit, a forest, each judge, and all judges together.
    With more than 10,000 labels, a random part of the queries chooses; the winner learns from all.

    Args:
        max_grade: G, the highest grade.
        **judges: Judges by name, as `JudgeGrades` takes them.

    Attributes:
        winner_: The name of the best model.
        model_: That model, fitted to all labels.
        table_: One row per candidate, the best first: ``model``, ``likelihood`` (exponentiated mean log-likelihood a
            document), ``gain`` (in mean log-likelihood over the shares by rank, or of grades alone), ``gain_error``,
            and the ``slope`` of labels on expected grades with its interval.
        correction_: float64[G+1], the parameters of the winner's `recalibration`; None if it does not help.
        misleads_: Whether the winner misleads on queries that it has not seen, and recalibration does not help.
    """

    schematic = {"label": "AutoGrades", "help_url": HELP}  # noqa: RUF012

    correction_: np.ndarray | None

    def __init__(self, max_grade: int, **judges: AnyJudge) -> None:
        self.max_grade = max_grade
        self.judges = judges

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """The columns of ranks and scores; none if there are judges and the frame has no ranks."""
        columns = list(columns)
        if self.judges and not has_features(columns):
            return []
        return ranking_columns(columns) if getattr(self, "winner_", "") == "prior" else feature_columns(columns)

    def _candidates(self, frame: pd.DataFrame, labels: int) -> dict[str, Any]:
        by_name: dict[str, Any] = {}
        described = has_features(frame.columns)
        if described and set(ranking_columns(frame.columns)) <= set(frame.columns):
            by_name["prior"] = PriorGrades(self.max_grade)
        if described:
            by_name["ordered-logit"] = OrderedLogitGrades(self.max_grade)
        if described and labels >= MIN_FOREST_LABELS:
            by_name["forest"] = ForestGrades(self.max_grade, trees=FOREST_TREES, min_leaf=FOREST_LEAF)
        by_name |= {name: JudgeGrades(judge, self.max_grade) for name, judge in self.judges.items()}
        if len(self.judges) + described > 1 and self.judges:
            by_name["stack"] = JudgeGrades(None, self.max_grade, **self.judges)  # type: ignore[arg-type]
        return by_name

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        candidates = self._candidates(frame, int((labels >= 0).sum()))
        judged = frame["qid"][labels >= 0]
        if judged.nunique() < 2:
            self.winner_, self.correction_ = next(iter(candidates)), None
            self.table_ = pd.DataFrame(columns=list(TABLE_COLUMNS))
        else:
            self._choose(candidates, frame, labels)
        qrels = frame[["qid", "docno"]].assign(label=labels)[labels >= 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model_ = copy.copy(candidates[self.winner_]).fit(frame, qrels, unjudged="missing")

    def _choose(self, candidates: dict[str, Any], frame: pd.DataFrame, labels: np.ndarray) -> None:
        use = some_queries(frame, labels, MAX_COMPARED)
        order = np.lexsort([frame["docno"].to_numpy(dtype=str)[use], frame["qid"].to_numpy(dtype=str)[use]])
        part, known = frame[use].iloc[order].reset_index(drop=True), labels[use][order]
        judged = known >= 0
        grades = {name: out_of_fold(model, part, known)[judged] for name, model in candidates.items()}
        known, qid = known[judged], part["qid"].to_numpy(dtype=object)[judged]
        alone = np.tile(fitting.marginal(known, self.max_grade), (len(known), 1))
        least = log_likelihood(grades.get("prior", alone), known)
        rows, slopes = [], {name: Slope.of(each, known, qid) for name, each in grades.items()}
        for name, slope in slopes.items():
            likelihood = log_likelihood(grades[name], known)
            gain = mean_by_query(likelihood - least, qid)
            rows.append((name, float(np.exp(likelihood.mean())), *gain, slope.value, slope.low, slope.high))
        table = pd.DataFrame(rows, columns=list(TABLE_COLUMNS))
        best_first = np.argsort(-rounded(table["likelihood"].to_numpy()), kind="stable")
        self.table_ = table.iloc[best_first].reset_index(drop=True)
        self.winner_ = str(self.table_["model"].iloc[0])
        self.correction_ = safe_recalibration(grades[self.winner_], known, qid)
        slope = slopes[self.winner_]
        self.misleads_ = self.correction_ is None and slope.misleads
        if self.misleads_:
            warnings.warn(slope.caution, stacklevel=5)

    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        graded = self.model_.transform(frame)
        grades = graded[[f"grade_{g}" for g in range(self.max_grade + 1)]].to_numpy(dtype=np.float64)
        return grades if self.correction_ is None else regraded(self.correction_, grades)

    def described(self) -> str:
        """The winner and the table of the candidates, for printing."""
        if not hasattr(self, "winner_"):
            return f"AutoGrades({self.max_grade}), not fitted"
        head = f"Grade model: {self.winner_}, the best of {len(self.table_)} on queries that it has not seen"
        if self.table_.empty:
            return f"Grade model: {self.winner_}; one query is too few to compare models"
        slopes = ["slope", "slope_low", "slope_high"]
        table = self.table_.assign(**self.table_[slopes].where(np.isfinite(self.table_[slopes])))
        shown = f"{head}\n{table.to_string(index=False, na_rep='–', float_format=lambda number: f'{number:.4g}')}"
        if not self.misleads_:
            return shown
        return (
            f"{shown}\nThis model misleads on queries that it has not seen, so forecasts with it, such as the ± "
            "of a plan, may be far off. Intervals from labels still hold."
        )


GRADES: dict[str, Callable[[int], Any]] = {
    "auto": AutoGrades,
    "ordered-logit": OrderedLogitGrades,
    "forest": ForestGrades,
    "prior": PriorGrades,
    "cold": ColdGrades,
    "uniform": UniformGrades,
}
"""The grade models that can be made from the highest grade alone, by name; those with ``fit`` learn from labels."""
