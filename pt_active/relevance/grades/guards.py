"""Checks of training labels that would ruin a grade model, made before anything is judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, Named, how_many, shown
from pt_active.frames.columns import ranker_names
from pt_active.relevance.grades.features import FEATURES, best_rank, document_features, has_features

UNJUDGED_POLICIES = ("missing", "nonrelevant")
"""What an unjudged document of a training run is: left out of the training, or taken for grade 0."""

USUAL_DEPTH = 10  # The depth at which the share of judged documents is checked if no measure says another

MIN_JUDGED_SHARE = 0.5  # If a smaller share of the documents at that depth is judged, there is a warning

UNLIKE = 0.25
"""Judged and unjudged documents are unlike if a feature differs by more than this many standard deviations."""

Words = tuple[str | Named, ...]  # The parts of a warning that names arguments, as `checks.ArgumentError` takes them


class TrainingWarning(UserWarning):
    """A warning of training labels that ruin a grade model."""


@dataclass(frozen=True)
class TrainingCoverage:
    """Which documents of a training run were judged, and with which grades.

    Attributes:
        documents: int64[R], the number of documents whose best rank is 1 … R. Where the frame has no ranks, and for
            documents that no ranker retrieves, it is R.
        judged: int64[R], the number of them that have a label.
        grades: int64[G+1], the number of labels of each grade.
        feature: The feature in which judged and unjudged documents differ most; empty if it cannot be told.
        difference: By how much, in standard deviations: the mean of judged documents minus that of the others; NaN if
            it cannot be told.
    """

    documents: np.ndarray
    judged: np.ndarray
    grades: np.ndarray
    feature: str
    difference: float

    @classmethod
    def of(cls, frame: pd.DataFrame, labels: np.ndarray, max_grade: int) -> TrainingCoverage:
        """Count the judged documents of a frame.

        Args:
            frame: A plain R frame or a union frame; one without ranks and scores counts as one rank.
            labels: int64[N], -1 where there is none.
            max_grade: G, the highest grade.
        """
        ranked = bool(ranker_names(frame.columns)) or "score" in frame.columns
        ranks = best_rank(frame) if ranked else np.ones(len(frame), dtype=np.int64)
        place = np.where(ranks > 0, ranks, ranks.max(initial=1)) - 1
        known, feature, difference = labels >= 0, "", np.nan
        if has_features(frame.columns) and known.any() and not known.all():
            differences = standardised_difference(document_features(frame), known)
            largest = int(np.abs(differences).argmax())
            given = "features" in frame.columns
            feature = f"feature {largest}" if given else FEATURES[largest].replace("_", " ")
            difference = float(differences[largest])
        judged = np.bincount(place, known).astype(np.int64)
        grades = np.bincount(labels[known], minlength=max_grade + 1)
        return cls(np.bincount(place), judged, grades, feature, difference)

    def share(self, depth: int | None = None) -> float:
        """The share of judged documents among those with a best rank up to the depth; of all if it is None."""
        return float(self.judged[:depth].sum() / max(self.documents[:depth].sum(), 1))

    @property
    def unlike(self) -> bool:
        """Whether judged and unjudged documents differ by more than `UNLIKE` standard deviations in a feature."""
        return bool(abs(self.difference) > UNLIKE)

    def cautions(self, unjudged: str | None = None, depth: int | None = USUAL_DEPTH) -> list[Words]:
        """What is wrong with the training labels, and what to do about it.

        Args:
            unjudged: What the user said about unjudged documents, one of `UNJUDGED_POLICIES`; None if nothing was said.
                What was said is not asked again.
            depth: The depth of the documents that matter; None for all.

        Returns:
            The parts of one warning each; none if nothing is wrong.
        """
        present = np.flatnonzero(self.grades)
        left_out = unjudged != "nonrelevant" and int(self.documents.sum() - self.judged.sum()) > 0
        if len(present) == 1 and (present[0] > 0 or not left_out) and not (unjudged == "nonrelevant" and present[0]):
            return [self._of_one_grade(int(present[0]), left_out)]
        if unjudged is not None:
            return []
        if present[0] > 0:
            said = "no training label is grade 0, so the grade model would treat every document as relevant; "
            ask = f"{_IF_NONRELEVANT}, pass ", _NONRELEVANT, "; if they are unknown, pass ", _MISSING
            return [(said + ask[0], *ask[1:])]
        return [self._of_few(depth)] if self.share(depth) < MIN_JUDGED_SHARE else []

    def _of_one_grade(self, grade: int, left_out: bool) -> Words:
        head = f"all {how_many('training label', int(self.grades.sum()))} are grade {grade}, so the grade model "
        if not left_out:
            return (f"{head}cannot tell documents apart; train it on judgments of several grades",)
        return (f"{head}would expect grade {grade} of every document; {_IF_NONRELEVANT}, pass ", _NONRELEVANT)

    def _of_few(self, depth: int | None) -> Words:
        within = "documents" if depth is None else f"documents down to rank {depth}"
        counted = f"{self.judged[:depth].sum():,} of {self.documents[:depth].sum():,}"
        unlike = (
            f", and the others are unlike them ({self.difference:+.2f} SD in {self.feature})" if self.unlike else ""
        )
        return (
            f"only {self.share(depth):.1%} of the training run's {within} are judged ({counted}){unlike}, so that the "
            f"grade model may be wrong about the others; {_IF_NONRELEVANT}, pass ",
            _NONRELEVANT,
            "; if they are unknown, judge more of the training run, or pass ",
            _MISSING,
        )


_IF_NONRELEVANT = "if documents without a label are not relevant"

_NONRELEVANT, _MISSING = (Argument("unjudged", policy) for policy in reversed(UNJUDGED_POLICIES))


def check_unjudged(unjudged: str | None) -> None:
    """Raise if a policy for unjudged documents is unknown."""
    if unjudged is not None and unjudged not in UNJUDGED_POLICIES:
        raise ValueError(f"unknown unjudged {shown(unjudged)}; it is one of {', '.join(UNJUDGED_POLICIES)}")


def standardised_difference(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """float64[d]: ``(mean of the known − mean of the others) / √(half the sum of both variances)``."""
    if known.all() or not known.any():
        return np.full(values.shape[1], np.nan)
    here, there = values[known], values[~known]
    apart, spread = here.mean(axis=0) - there.mean(axis=0), np.sqrt((here.var(axis=0) + there.var(axis=0)) / 2)
    return np.asarray(np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0))
