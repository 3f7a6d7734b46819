"""What do other judges, such as language models, say about a document's grade, and how are several put together?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pt_active.frames.checks import HELP, Argument, ArgumentError, how_many
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import (
    document_features,
    document_votes,
    feature_columns,
    first_pairs,
    has_features,
)
from pt_active.relevance.grades.judge_tables import SCORE, is_scored, judge_table, votes_in
from pt_active.relevance.grades.models import FittedGrades, check_positive
from pt_active.relevance.grades.recalibration import regraded
from pt_active.relevance.grades.validation import (
    Model,
    cross_fitted,
    log_likelihood,
    mean_by_query,
    safe_recalibration,
    some_queries,
)

AnyJudge = pd.DataFrame | str | Path
"""A frame or a file, as `judge_tables.judge_table` takes it."""

RANKS = "ranks"  # The name of ranks and scores (or of ``features``) beside the judges

NEEDED_ERRORS = 2.0
"""A judge is used if it raises the cross-validated log-likelihood by more than this many standard errors."""


class JudgeGrades(FittedGrades):
    """Labels, votes, probabilities or scores of judges, such as language models, corrected by people's labels.

    One judge: a pair with the shares ``s_h`` of the votes has ``P(y = g) = Σ_h s_h C[h, g]``, where C is the smoothed
    confusion matrix of the judge. A pair that the judge has not judged has the shares of the grades in training.

    Without ``fit``, where there is no human label yet: ``C[h, g] ∝ 0.4^|g − h|``, the mean of several judges, and
    for a pair that a judge has not judged the mean of those that it has. Scores need ``fit``. Only the precision of a
    plan rests on this; estimates and intervals are as valid as with any model.

    Args:
        judge: A frame or a file with ``qid, docno`` and ``label``, ``votes_0 … votes_H``, ``prob_0 … prob_H``,
            ``prob_yes, prob_no``, ``probability`` or ``score``. H may differ from the highest grade.
        max_grade: G, the highest grade.
        smoothing: The weight of the overall shares of the grades in each row of the confusion matrix, in pairs.
        **judges: Further judges by name.

    Attributes:
        shares_: ``qid, docno`` and the share of the judge's votes for each label; of one judge.
        confusion_: float64[H+1, G+1], ``P(y = g | vote h)``; of one judge.
        marginal_: float64[G+1], the shares of the grades in training.
        stack_: Which judges are used, and what each adds; of several judges or scores.
        agreement_: The share of the judge's votes that are people's labels in training; of one judge.
    """

    schematic = {"label": "JudgeGrades", "help_url": HELP}  # noqa: RUF012

    def __init__(
        self,
        judge: AnyJudge | None = None,
        max_grade: int | None = None,
        smoothing: float = 5.0,
        **judges: AnyJudge,
    ) -> None:
        if max_grade is None:
            raise ArgumentError("pass the highest grade: ", Argument("max_grade", asked=True))
        if judge is None and not judges:
            raise ArgumentError("name a judge: ", Argument("judge", asked=True), ", or several by name")
        self.judge = judge
        self.max_grade = max_grade
        self.smoothing = smoothing
        self.judges = judges
        self._given = ({} if judge is None else {"judge": judge}) | judges

    def needed_columns(self, columns: Iterable[object]) -> list[str]:
        """The columns of ranks and scores, if a fitted stack uses them."""
        return feature_columns(columns) if hasattr(self, "stack_") and RANKS in self.stack_.used else []

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        check_positive("smoothing", self.smoothing)
        judged = labels >= 0
        ranks = {RANKS: document_features(frame)[judged]} if has_features(frame.columns) else {}
        frame, labels = frame[judged].reset_index(drop=True), labels[judged]
        tables = {name: judge_table(each) for name, each in self._given.items()}
        self.marginal_ = fitting.marginal(labels, self.max_grade)
        for name, table in tables.items():
            if not len(frame[["qid", "docno"]].merge(table[["qid", "docno"]])):
                none = f"no judged training document ({len(frame)} in all)"
                which = f"judge {name}" if len(tables) > 1 else "judge"
                raise ValueError(
                    f"{none} is in the {which}'s frame; do qid and docno match? {first_pairs(frame, table)}"
                )
        only = next(iter(tables.values()))
        if len(tables) == 1 and not is_scored(only):
            self.shares_ = only
            shares, seen = document_votes(frame, only)
            self.confusion_ = fitting.judge_confusion(shares[seen], labels[seen], self.marginal_, self.smoothing)
            same = np.pad(shares, ((0, 0), (0, self.max_grade + 1)))[np.arange(len(labels)), labels]
            self.agreement_ = float(same[seen].mean())
            return
        opinions = {name: opinion(frame, table) for name, table in tables.items()}
        self.widths_ = {name: features.shape[1] for name, features in opinions.items()}
        # Rounding depends on the order of the rows, so that of the frame must not reach the fit.
        order = np.lexsort([frame["docno"].to_numpy(dtype=str), frame["qid"].to_numpy(dtype=str)])
        use = order[some_queries(frame, labels)[order]]
        groups = {name: features[use] for name, features in (ranks | opinions).items()}
        qid = frame["qid"].to_numpy(dtype=object)[use]
        self.stack_ = fitted_stack(groups, tuple(ranks), labels[use], qid, self.max_grade)

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        if hasattr(self, "n_judged_"):
            return super()._grades(frame)
        return np.asarray(np.mean([self._assumed(frame, name) for name in self._given], axis=0))

    def _assumed(self, frame: pd.DataFrame, name: str) -> np.ndarray:
        """float64[N, G+1], the grades from a judge that no human label has checked."""
        table = judge_table(self._given[name])
        given = votes_in(table, name)
        confusion = fitting.assumed_confusion(given.shape[1] - 1, self.max_grade)
        shares, seen = document_votes(frame, table)
        _warn_unseen(seen, f"the judge {name}", "each has the mean of the judge's grades", 4)
        usual = given.mean(axis=0) if len(given) else np.full(given.shape[1], 1 / given.shape[1])
        return np.asarray(np.where(seen[:, None], shares, usual) @ confusion)

    def described(self) -> str:
        """Where the grades come from, and how far the judges are trusted, for printing."""
        names = ", ".join(self._given)
        if not hasattr(self, "n_judged_"):
            return f"Grade model: what {names} says, not checked by any human label. {_ASSUMED}"
        if hasattr(self, "stack_"):
            left_out = ", ".join(name for name in self._given if name not in self.stack_.used)
            return f"Grade model: {', '.join(self.stack_.used)}" + (f"; {left_out} adds nothing" if left_out else "")
        labels = how_many("human label", self.n_judged_)
        return f"Grade model: {names}, corrected by {labels}; it agrees with {self.agreement_:.0%} of them"

    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        if not hasattr(self, "stack_"):
            shares, seen = document_votes(frame, self.shares_)
            _warn_unseen(seen, "the judge", "each has the shares of the grades in training", 4)
            return np.where(seen[:, None], shares @ self.confusion_, self.marginal_)
        groups = {}
        for name in self.stack_.used:
            if name == RANKS:
                groups[name] = document_features(frame)
                continue
            groups[name] = opinion(frame, judge_table(self._given[name]), self.widths_[name])
            _warn_unseen(groups[name][:, -1] > 0, f"the judge {name}", "the others stand in for it", 4)
        return self.stack_.probabilities(groups, len(frame), self.max_grade)


_ASSUMED = (
    f"The model assumes that its grade is the most probable one, and each step away {fitting.NEAR:g} times as probable "
    "as the step before.\nIf that is wrong, intervals get wider, but still hold."
)
"""What is said about judges that no human label has checked."""


def _warn_unseen(seen: np.ndarray, who: str, instead: str, stacklevel: int) -> None:
    if not seen.any():
        warnings.warn(f"{who} saw no document ({len(seen)} in all); {instead}", stacklevel=stacklevel + 1)


def opinion(frame: pd.DataFrame, table: pd.DataFrame, width: int | None = None) -> np.ndarray:
    """float64[N, h]: the shares of a judge's votes that are ≥ 1 … H, or its score, and whether it saw each."""
    if is_scored(table):
        score = frame[["qid", "docno"]].merge(table, how="left", on=["qid", "docno"])[SCORE].to_numpy(float)
        seen = ~np.isnan(score)
        values = np.where(seen, score, 0.0)[:, None]
    else:
        shares, seen = document_votes(frame, table)
        values = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][:, 1:]
    if width is not None:
        values = np.pad(values, ((0, 0), (0, max(width - 1 - values.shape[1], 0))))[:, : width - 1]
    return np.column_stack([values, seen])


@dataclass(frozen=True)
class Stack:
    """An ordered logit on chosen groups of features, recalibrated by cross-validation."""

    used: tuple[str, ...]  # the names of the groups, in the order in which they were chosen
    gains: dict[str, float]  # group → the gain in mean log-likelihood when it was chosen, or when it was last left out
    model: fitting.OrderedLogit
    correction: np.ndarray | None  # float64[G+1], the parameters of a recalibration; None if none helps

    def probabilities(self, groups: Mapping[str, np.ndarray], n: int, max_grade: int) -> np.ndarray:
        """float64[N, G+1], the grades of N documents."""
        grades = self.model.all_grades(_columns(groups, self.used, n), max_grade)
        return grades if self.correction is None else regraded(self.correction, grades)


def fitted_stack(
    groups: Mapping[str, np.ndarray], always: Sequence[str], labels: np.ndarray, qid: np.ndarray, max_grade: int
) -> Stack:
    """Choose groups one by one while they raise the cross-validated likelihood, and fit an ordered model on them."""

    def model(used: Sequence[str], rows: np.ndarray) -> fitting.OrderedLogit:
        return fitting.fit_ordered_logit(_columns(groups, used, len(labels))[rows], labels[rows], prior_scale=1.0)

    def out_of_fold(used: Sequence[str]) -> np.ndarray:
        def fit(train: np.ndarray) -> Model:
            fitted = model(used, train)
            return lambda test: fitted.all_grades(_columns(groups, used, len(labels))[test], max_grade)

        return cross_fitted(fit, qid)

    used, everything = tuple(always), np.ones(len(labels), dtype=bool)
    if len(np.unique(qid)) < 2:
        used = tuple(groups)
        return Stack(used, dict.fromkeys(groups, np.nan), model(used, everything), None)
    gains: dict[str, float] = {}
    best = out_of_fold(used)
    while left := [name for name in groups if name not in used]:
        tried = {name: out_of_fold((*used, name)) for name in left}
        apart = {
            name: mean_by_query(log_likelihood(each, labels) - log_likelihood(best, labels), qid)
            for name, each in tried.items()
        }
        gains |= {name: gain for name, (gain, _) in apart.items()}
        name = max(left, key=lambda each: apart[each][0])
        gain, error = apart[name]
        if not gain > NEEDED_ERRORS * error:
            break
        used, best = (*used, name), tried[name]
    return Stack(used, gains, model(used, everything), safe_recalibration(best, labels, qid))


def _columns(groups: Mapping[str, np.ndarray], used: Sequence[str], n: int) -> np.ndarray:
    return np.column_stack([np.empty((n, 0)), *(groups[name] for name in used)])
