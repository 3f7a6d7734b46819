"""Compares two learning algorithms by cross-validation over queries, with a test that allows for it [theory 8]."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import data_frame, how_many, level, number, shown, some, transformer, whole_number
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.progress import bar
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run
from pt_active.inference import ties
from pt_active.inference.intervals import interval
from pt_active.inference.significance import cross_validated_error, two_sided_pvalue
from pt_active.plans.answers.results import ConfidenceInterval
from pt_active.relevance.measure_values import measure_values
from pt_active.relevance.measures import parse_measure
from pt_active.showing.printed import Printed, printed

# A pipeline, which is copied for each fold, or a function that returns a new one for each fold
Learner = pt.Transformer | Callable[[], pt.Transformer]


@dataclass(frozen=True, eq=False)
class LearnerComparison(Printed):
    """The difference of two learning algorithms by cross-validation, first minus second [theory 8].

    The result describes learning algorithms trained on ``(K − 1)/K`` as many queries from the same population. It does
    not describe one trained ranker.

    Attributes:
        first: Name of the first learner.
        second: Name of the second learner, whose values are subtracted.
        measure: Full name of the measure.
        folds: K.
        repeats: R, the number of random splits into folds.
        confidence_level: Level of the printed interval; the test has the level ``1 − confidence_level``.
        corrected: Whether error, interval and test are corrected for the overlap of the training sets. The copy
            ``dataclasses.replace(result, corrected=False)`` gives the plain paired t-test.
        per_query: ``repeat, fold, qid, first, second, difference``, one row per query and repeat.
    """

    first: str
    second: str
    measure: str
    folds: int
    repeats: int
    confidence_level: float
    corrected: bool
    per_query: pd.DataFrame = field(repr=False)

    @cached_property
    def per_fold(self) -> pd.DataFrame:
        """``repeat, fold, n_queries, first, second, difference``: the means over the queries of each fold."""
        groups = self.per_query.groupby(["repeat", "fold"])
        means = groups[["first", "second", "difference"]].mean()
        means.insert(0, "n_queries", groups.size())
        return means.reset_index()

    @property
    def difference(self) -> float:
        """``δ̄``, the mean of the folds' differences; every fold has the same weight [CV]."""
        return float(ties.settled(self._differences.mean(), self._scale))

    @property
    def standard_error(self) -> float:
        """``SE = √((1/(RK) + 1/(K − 1)) s²)``, s² the variance of δ over folds; without 1/(K − 1) if not corrected."""
        return 0.0 if self.degenerate else float(cross_validated_error(self._differences, self.corrected))

    @property
    def degrees_of_freedom(self) -> int:
        """``R K − 1``."""
        return self.repeats * self.folds - 1

    @property
    def degenerate(self) -> bool:
        """Whether the difference is the same in every fold, so that there is no interval and no test."""
        return bool(ties.is_rounding(cross_validated_error(self._differences), self._scale))

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of no difference; NaN if the difference is the same in every fold, and not 0."""
        if self.degenerate and self.difference:
            return np.nan
        return float(two_sided_pvalue(self.difference, self.standard_error, self.degrees_of_freedom))

    @property
    def winner(self) -> str | None:
        """The learner with the larger measure, or None if the difference is not significant."""
        if not self.pvalue < 1 - self.confidence_level:
            return None
        return self.first if self.difference > 0 else self.second

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """``δ̄ ± t_{RK−1} · SE`` [CV].

        Args:
            confidence_level: In (0, 1); by default the level given to `compare_learners`.

        Returns:
            Low and high; NaN if the difference is the same in every fold.

        Raises:
            ValueError: If the level lies outside (0, 1).
        """
        asked = self.confidence_level if confidence_level is None else level("confidence_level", confidence_level)
        if self.degenerate:
            return ConfidenceInterval(np.nan, np.nan)
        ends = interval(self.difference, self.standard_error, self.degrees_of_freedom, asked)
        return ConfidenceInterval(*map(float, ends))

    @property
    def _differences(self) -> np.ndarray:
        return self.per_fold["difference"].to_numpy().reshape(self.repeats, self.folds)

    @property
    def _scale(self) -> float:
        return float(self.per_fold[["first", "second"]].abs().sum(axis=1).mean())

    def __str__(self) -> str:
        times = "" if self.repeats == 1 else f"{self.repeats} × "
        kind, other = ("corrected", "plain") if self.corrected else ("plain", "corrected")
        low, high = self.confidence_interval()
        ends = f"[{low:.4f}, {high:.4f}]"
        if self.degenerate:
            ends = "none, since the difference is the same in every fold"
        opposite = replace(self, corrected=not self.corrected)
        each, overlap = f"1/{self.repeats * self.folds}", f"1/{self.folds - 1}"
        if self.corrected:
            each = f"({each} + {overlap}); {overlap} = queries to test / all others"
        how = f"{times}{self.folds}-fold cross-validation, {kind} t-test"
        around = f"{self.confidence_level:.0%} interval {ends}"
        facts = [
            ("difference", f"{self.difference:+.4f}   {around}   SE {self.standard_error:.4f}"),
            ("p-value", f"{self.pvalue:.4g}"),
            ("winner", self.winner or f"unresolved at the {1 - self.confidence_level:.2g} level"),
            ("sample", how_many("query", len(self.per_query) // self.repeats)),
            ("SE²", f"variance over folds × {each}"),
            (other, f"SE {opposite.standard_error:.4f}, p-value {opposite.pvalue:.4g}"),
        ]
        return printed(f"{self.measure}: {self.first} − {self.second} ({how})", facts)


def compare_learners(
    learners: Mapping[str, Learner],
    topics: pd.DataFrame,
    qrels: pd.DataFrame,
    measure: str | irm.Measure,
    folds: int = 10,
    repeats: int = 1,
    *,
    validation: float = 0.0,
    seed: int = 0,
    corrected: bool = True,
    confidence: float = 0.95,
    progress: bool = True,
) -> LearnerComparison:
    """Cross-validate two learning algorithms over queries, and test their difference [theory 8].

    The queries are split into K folds. For each fold, both learners are fitted on the other folds by PyTerrier's
    ``fit(topics, qrels, None, None)`` and measured on the fold. What has no ``fit`` needs no training.

    Args:
        learners: Name → learner, two of them; the difference is first minus second. Each fold gets a deep copy of a
            pipeline. What cannot be copied, such as an open index, goes into a function without arguments: it is called
            once per fold, and must create new estimators each time.
        topics: ``qid, query``, or results with documents (and ``features``), as the pipelines need them. All rows of a
            query go to the same fold.
        qrels: ``qid, docno, label``. Queries without qrels are left out with a warning.
        measure: ``DCG@10``, ``"nDCG@10"``, …; documents without a label count as not relevant.
        folds: K, from 2 to the number of queries. Fold sizes differ by at most one query.
        repeats: R, the number of random splits into folds.
        validation: Share of the training queries, in [0, 1), that learners get as validation set instead of training on
            them. With 0 learners get None.
        seed: Random seed of the splits; the first splits do not depend on ``repeats``. It does not seed the learners.
        corrected: Whether error, interval and test are corrected for the overlap of the training sets. The plain paired
            t-test rejects a true null hypothesis too often.
        confidence: Confidence level of the interval; the test's level is ``1 − confidence``.
        progress: Whether to show a progress bar.

    Returns:
        The comparison. A query for which a learner returns nothing counts 0, with a warning.

    Raises:
        ValueError: If an argument is out of range, a frame is malformed, or there are not two learners.
    """
    measure, confidence = parse_measure(measure), level("confidence", confidence)
    if not 0 <= number("validation", validation) < 1:
        raise ValueError(f"validation must be at least 0 and below 1, got {shown(validation)}")
    if len(learners) != 2:
        raise ValueError(f"learners must map two names to learners, got {shown(learners)}")
    first, second = map(str, learners)
    topics, qrels = _judged(topics, qrels)
    measure_values(qrels.assign(score=0.0), qrels, measure)  # reject unsuitable labels before any training
    qids, tables = np.sort(topics["qid"].unique().astype(object)), []
    splits = fold_numbers(len(qids), folds, repeats, seed)
    with bar(what="comparing learners", total=repeats * folds, unit="fold", shown=progress) as done:
        for repeat, fold in np.ndindex(repeats, folds):
            inside = splits[repeat] == fold
            training, validating = _shared_out(np.flatnonzero(~inside), validation, [seed, repeat, fold])
            columns = {"repeat": repeat, "fold": fold, "qid": qids[inside]}
            for column, (name, learner) in zip(("first", "second"), learners.items(), strict=True):
                parts = [_of(qids[places], topics, qrels) for places in (training, validating, inside)]
                columns[column] = _values(learner, str(name), measure, *parts)
            tables.append(pd.DataFrame(columns))
            done.update()
    per_query = pd.concat(tables, ignore_index=True)
    for column, name in (("first", first), ("second", second)):
        if len(lost := per_query["qid"][per_query[column].isna()].unique()):
            silent = f"learner {name!r} returned nothing for {how_many('query', len(lost))}, counted as 0"
            warnings.warn(f"{silent}: {some(lost)}", stacklevel=2)
    per_query = per_query.fillna({"first": measure.DEFAULT, "second": measure.DEFAULT})
    per_query["difference"] = ties.difference(per_query["first"].to_numpy(), per_query["second"].to_numpy())
    return LearnerComparison(first, second, str(measure), folds, repeats, confidence, corrected, per_query)


def fold_numbers(queries: int, folds: int, repeats: int, seed: int) -> np.ndarray:
    """Split queries into folds at random, int64[repeats, queries]."""
    folds = whole_number("folds", folds, 2)
    repeats, seed = whole_number("repeats", repeats, 1), whole_number("seed", seed, 0)
    if folds > queries:
        raise ValueError(
            f"folds must not outnumber the queries that have qrels, got {folds} folds of {how_many('query', queries)}"
        )
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(np.arange(queries) % folds) for _ in range(repeats)])


Part = tuple[pd.DataFrame, pd.DataFrame]
"""Some queries: all their rows in the form that the learners take, and their labels, ``qid, docno, label``."""


def _judged(topics: pd.DataFrame, qrels: pd.DataFrame) -> Part:
    """The queries of the topics that have qrels, sorted by id so that the order of the rows does not matter."""
    topics, qrels = with_string_ids(data_frame("topics", topics, "qid")), checked_qrels(qrels)
    order = ["qid"]
    if "docno" in topics.columns:
        check_pairs(topics, "topics")
        order = ["qid", "docno"]
    judged = topics["qid"].isin(qrels["qid"])
    if not judged.any():
        raise ValueError("no query of the topics has qrels; do the qids match?")
    if len(absent := topics["qid"][~judged].unique()):
        left = f"queries without qrels are left out, {len(absent)} of {topics['qid'].nunique()}"
        warnings.warn(f"{left}: {some(absent)}", stacklevel=3)
    qrels = qrels[qrels["qid"].isin(topics["qid"])]
    return topics[judged].sort_values(order), qrels.sort_values(["qid", "docno"])


def _shared_out(queries: np.ndarray, validation: float, seed: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The queries to train on, int64[n], and those to validate on, which are at least 1 unless their share is 0."""
    count = max(round(validation * len(queries)), 1) if validation else 0
    if count == len(queries):
        raise ValueError(f"validation must leave a training query, got {validation} of {how_many('query', count)}")
    mixed = np.random.default_rng(seed).permutation(queries)
    return mixed[count:], mixed[:count]


def _of(qids: np.ndarray, topics: pd.DataFrame, qrels: pd.DataFrame) -> Part:
    """The rows of some queries, in new frames, since a learner may write into them."""
    inside, labelled = (frame[frame["qid"].isin(qids)].reset_index(drop=True) for frame in (topics, qrels))
    return inside, labelled


def _values(
    learner: Learner, name: str, measure: irm.Measure, training: Part, validating: Part, tested: Part
) -> np.ndarray:
    """The measure of each tested query, by a learner that has learned from the training queries alone.

    It is NaN for queries for which the learner returns nothing.
    """
    made = copy.deepcopy(learner) if isinstance(learner, pt.Transformer) else learner()
    pipeline = transformer(f"learner {name!r}", made, frames=False)
    if hasattr(pipeline, "fit"):
        pipeline.fit(*training, *(validating if len(validating[0]) else (None, None)))
    topics, qrels = tested
    run = data_frame(f"what learner {name!r} returns", pipeline.transform(topics), "qid", "docno", "score")
    run = with_string_ids(run)
    run = run.loc[run["qid"].isin(qrels["qid"]), ["qid", "docno", "score"]]
    if run.empty:
        return np.full(qrels["qid"].nunique(), np.nan)
    values = measure_values(ranked_run(run, name), qrels, measure)
    return values["value"].where(values["qid"].isin(run["qid"])).to_numpy()
