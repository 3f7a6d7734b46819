"""What do past systems' answers, which people scored, say of new answers to the same items [theory 18]?

A model of people's scores is fitted to the past answers. Its features are what people said of other past answers to the
item, what each judge says, and what people said of those others that the judge scores the same. Labels of an answer's
own system count for none of its features, so that past answers are seen as those of new systems.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.answers.scales import ScoreScale
from pt_active.answers.table import SCORE, as_text, judge_columns, long_rows, named_rows, numbers, with_ids
from pt_active.frames.checks import shown, some
from pt_active.frames.sources import naming
from pt_active.relevance.digits import rounded
from pt_active.relevance.grades.fitting import fit_ordered_logit
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import sampling_distribution

LABEL = "label"
"""The column of people's scores; in a table with a row for each item, ``label_NAME`` of each past system."""

SHARES = (0.1, 0.2, 0.3, 0.5)
ITEM_DESIGNS: list[dict[str, Any]] = [
    {"design": design, "defensive": share} for design in ("optimal", "residual") for share in SHARES
]
"""The designs of items that cross-validation chooses from, with their shares of plain random sampling."""

_LESS_PRECISE = 1.1
"""How many times the variance of items, for the same number of labels, that of single answers may be."""

_FOLDS = 5  # The most groups that past systems are split into for cross-validation
_PRIOR = 2.0  # Number of answers that what is usual counts for, beside those to an item


class Answered(NamedTuple):
    """Answers, a row for each."""

    item: np.ndarray  # int64[n]
    system: np.ndarray  # int64[n], from 1; 0 for all new systems
    score: np.ndarray  # int64[n], people's scores of past answers, in steps above the lowest
    judged: np.ndarray  # float64[n, J, L], the share of each score in what each judge says; 0 where a judge is silent

    def among(self, rows: np.ndarray) -> Answered:
        """Some of the answers, bool[n]."""
        return Answered(*(column[rows] for column in self))


class History(NamedTuple):
    """Past answers with people's scores, for new answers that some of the same judges scored."""

    past: Answered
    items: pd.Index  # Their names
    judges: list[str]  # The columns of the judges
    scale: ScoreScale

    @classmethod
    def of(cls, source: pd.DataFrame | str | Path, scale: ScoreScale, answers: pd.DataFrame) -> History:
        """Read a history as `Answers` takes it, for answers as `answer_table` returns them."""
        with naming("the history" if isinstance(source, pd.DataFrame) else source):
            table = _past_answers(source)
            if own := sorted(set(table["system"]) & set(answers["system"])):
                warnings.warn(f"left out of the history, since they are compared now: {some(own)}", stacklevel=3)
            table = table[~table["system"].isin(own)].sort_values(["item", "system", "run"])
            if table.empty:
                raise ValueError("there is no label of another system than those that are compared")
            both = [name for name in judge_columns(answers) if name in table.columns]
            judges = [name for name in both if table[name].notna().any() and answers[name].notna().any()]
            shared = table["item"].isin(answers["item"]).any()
            if not (judges or shared):
                first, other = shown(table["item"].iloc[0]), shown(answers["item"].iloc[0])
                raise ValueError(f"no item is among those of the answers; they begin with {first} and {other}")
            if not shared:
                warnings.warn(
                    "a history tells of judges alone: none of its items is among those of the answers", stacklevel=3
                )
            elif judge_columns(answers) and not judges:
                warnings.warn(
                    "a history tells of items alone: it has no scores of the judge of the answers", stacklevel=3
                )
            item, items = pd.factorize(table["item"])
            system, score = pd.factorize(table["system"], sort=True)[0] + 1, scale.labels(table[LABEL]) - scale.first
            return cls(Answered(item, system, score, _judged(table[judges], scale)), pd.Index(items), judges, scale)

    def grades(self, answers: pd.DataFrame) -> np.ndarray:
        """float64[n, L], how probable each score is of new answers, with ``item`` and judges' columns."""
        item = self.items.get_indexer(pd.Index(answers["item"]))
        item[item < 0], new = len(self.items), np.zeros(len(item), dtype=np.int64)
        return _predicted(self.past, Answered(item, new, new, _judged(answers[self.judges], self.scale)))

    def trusted(self) -> tuple[dict[str, Any] | None, dict[str, Any]] | None:
        """Which of `ITEM_DESIGNS` suits bets, None if single answers suit them better, and which a single look.

        Past systems are predicted from those of other folds, and two of one fold are compared as if they were new. The
        design with the least variance suits a single look. Bets need the draws of an `optimal` design, and about half
        the labels where answers are drawn, which may thus be less precise. None if there are too few past systems.
        """
        systems = int(self.past.system.max())
        folds, variances = min(_FOLDS, systems // 2), []
        for fold in range(folds if folds > 1 else 0):
            held = self.past.system % folds == fold
            rows, grades = self.past.among(held), _predicted(self.past.among(~held), self.past.among(held))
            variances += [_variances(rows, grades, *pair) for pair in pairwise(np.unique(rows.system))]
        known = [each for each in variances if np.isfinite(each).all()]
        if not known:
            return None
        answers, *items = rounded(np.log(np.maximum(known, np.finfo(float).tiny)).mean(axis=0))
        optimal = int(np.argmin(items[: len(SHARES)]))
        by_answer = answers < items[optimal] + np.log(_LESS_PRECISE)
        return None if by_answer else ITEM_DESIGNS[optimal], ITEM_DESIGNS[int(np.argmin(items))]


def _judged(scores: pd.DataFrame, scale: ScoreScale) -> np.ndarray:
    """float64[n, J, L], judges' scores as shares, from a column of each judge."""
    shares = np.zeros((*scores.shape, scale.max_grade - scale.first + 1))
    for place, (_, score) in enumerate(scores.items()):
        known = score.notna().to_numpy()
        shares[known, place] = scale.shares(score[known])[:, scale.first :]
    return shares


def _predicted(past: Answered, rows: Answered) -> np.ndarray:
    """float64[n, L], what a model that is fitted to past answers expects of others, or of themselves."""
    top = past.judged.shape[2] - 1
    model = fit_ordered_logit(_features(past, past), past.score, top, prior_scale=1.0)
    return model.probabilities(_features(past, rows))


def _features(past: Answered, rows: Answered) -> np.ndarray:
    """float64[n, 1 + 2J], the features of answers."""
    columns = [_log_odds(past, rows, np.ones((len(past.item), 1)), np.ones((len(rows.item), 1)))]
    for of_past, of_rows in zip(past.judged.swapaxes(0, 1), rows.judged.swapaxes(0, 1), strict=True):
        usual = of_past.sum(axis=0) / max(of_past.sum(), 1)
        says = of_rows + (1 - of_rows.sum(axis=1, keepdims=True)) * usual
        columns += [says @ np.arange(len(usual)), _log_odds(past, rows, of_past, of_rows)]
    return np.column_stack(columns)


def _log_odds(past: Answered, rows: Answered, of_past: np.ndarray, of_rows: np.ndarray) -> np.ndarray:
    """float64[n], the log-odds of people's mean score of past answers to a row's item, but for those of its system.

    They count by how much a judge says the same of them, float64[..., L] being shares of what the judge says.
    """
    value = past.score / (past.judged.shape[2] - 1)
    count = np.stack([of_past, of_past * value[:, None]], axis=1)  # float64[n, 2, L], how many, and their scores
    systems = int(past.system.max()) + 1
    own = past.item * systems + past.system, rows.item * systems + np.where(rows.system < systems, rows.system, 0)
    others = _summed(past.item, rows.item, count) - _summed(*own, count)
    number, total = np.einsum("nl,nkl->kn", of_rows, others)
    usual, always = ((0.5 + parts[1]) / (1 + parts[0]) for parts in (count.sum(axis=0), count.sum(axis=(0, 2))))
    expected = of_rows @ usual + (1 - of_rows.sum(axis=1)) * always
    share = (total + _PRIOR * expected) / (number + _PRIOR)
    return np.log(share / (1 - share))


def _summed(keys: np.ndarray, wanted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64[r, 2, L], the sums of values, float64[n, 2, L], over the rows with each wanted key."""
    _, code = np.unique(np.r_[keys, wanted], return_inverse=True)
    sums = np.zeros((int(code.max()) + 1, *values.shape[1:]))
    np.add.at(sums, code[: len(keys)], values)
    return sums[code[len(keys) :]]


def _variances(rows: Answered, grades: np.ndarray, first: int, second: int) -> np.ndarray:
    """float64[1 + len(ITEM_DESIGNS)], the variance that a label leaves in drawn answers, and in items by each design.

    NaN if two systems have fewer than two items in common.
    """
    one, other = (np.flatnonzero(rows.system == each) for each in (first, second))
    common, left, right = np.intersect1d(rows.item[one], rows.item[other], return_indices=True)
    if (n := len(common)) < 2:
        return np.full(1 + len(ITEM_DESIGNS), np.nan)
    at, value = np.stack([one[left], other[right]]), np.arange(grades.shape[1])
    mean = (grades @ value)[at]  # float64[2, n], as the next two
    variance, error = (grades @ value**2)[at] - mean**2, rows.score[at] - mean
    size = np.sqrt(variance + variance.mean())
    answers = (error**2 / size).sum() * size.sum()
    apart, even = error[0] - error[1], np.full(n, 1 / n)
    about = Moments(mean.T, variance.T[:, :, None] * np.eye(2)), np.ones(n), even
    designs = (sampling_distribution(how["design"], *about, how["defensive"]) for how in ITEM_DESIGNS)
    return np.array([answers, *(2 * ((apart - apart.mean()) ** 2 / q).sum() for q in designs)])


def _past_answers(source: pd.DataFrame | str | Path) -> pd.DataFrame:
    """``item, system, run, label`` and judges' columns, from a table with a row for each answer or for each item."""
    rows = named_rows(source)
    if "system" not in rows.columns:
        _refuse_twice(rows, ["item"])
        rows = long_rows(rows, (LABEL, SCORE))
    if LABEL not in rows.columns:
        raise ValueError(f"expected columns item, system and {LABEL}, or item and {LABEL}_NAME of each past system")
    rows = rows.assign(run=rows["run"] if "run" in rows.columns else "1")
    rows = with_ids(rows.assign(run=rows["run"].map(as_text)))
    rows = rows.assign(**{name: numbers(rows, name) for name in (LABEL, *judge_columns(rows))}).dropna(subset=LABEL)
    _refuse_twice(rows, ["item", "system", "run"])
    return rows


def _refuse_twice(rows: pd.DataFrame, keys: list[str]) -> None:
    if (twice := rows.duplicated(keys)).any():
        named = ", ".join(f"{name} {shown(rows[twice].iloc[0][name])}" for name in keys)
        raise ValueError(f"there is more than one row of {named}")
