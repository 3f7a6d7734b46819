"""Compares two learning algorithms by cross-validation over queries, with a test that allows for it [theory 8]."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import data_frame, how_many, level, number, shown, some, truth_value, whole_number
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.progress import bar
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run
from pt_active.frames.visible import visible
from pt_active.inference import ties
from pt_active.inference.intervals import interval
from pt_active.inference.significance import cross_validated_error, two_sided_pvalue
from pt_active.plans.answers.results import ConfidenceInterval
from pt_active.relevance.measure_values import measure_values
from pt_active.relevance.measures import parse_measure
from pt_active.showing.printed import Printed

# A pipeline, which is copied for each fold, or a function that returns a new one for each fold
Learner = pt.Transformer | Callable[[], pt.Transformer]

Part = tuple[pd.DataFrame, pd.DataFrame]
"""Some queries: all their rows in the form that the learners take, and their labels, ``qid, docno, label``."""


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
        validation: Share of the training queries used as the learners' validation set.
        seed: Random seed of the splits.
        confidence_level: Level of the printed interval; the test has the level ``1 − confidence_level``.
        corrected: Whether error, interval and test are corrected for the overlap of the training sets. The copy
            ``dataclasses.replace(result, corrected=False)`` gives the plain paired t-test.
        unanswered: Number of queries for which the first and the second learner returned nothing; these count 0.
        per_query: ``repeat, fold, qid, first, second, difference``, one row per query and repeat.
    """

    first: str
    second: str
    measure: str
    folds: int
    repeats: int
    validation: float
    seed: int
    confidence_level: float
    corrected: bool
    unanswered: tuple[int, int]
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

    @property
    def note(self) -> str:
        """Warnings about the interval; empty if there are none."""
        notes = [
            f"{name} returned nothing for {how_many('query', count)}, counted as 0"
            for name, count in zip((self.first, self.second), self.unanswered, strict=True)
            if count
        ]
        if self.degenerate:
            same = "the difference is the same in every fold, so the folds do not show how far off it is"
            notes.append(f"{same}: no {'test' if self.difference else 'interval'}")
        return "; ".join(notes)

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
        ends = interval(self.difference, self.standard_error, self.degrees_of_freedom, asked)
        return ConfidenceInterval(np.nan, np.nan) if self.degenerate else ConfidenceInterval(*map(float, ends))

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
        ends = "no interval" if self.degenerate else f"[{low:.4f}, {high:.4f}]"
        opposite, each = replace(self, corrected=not self.corrected), f"1/{self.repeats * self.folds}"
        overlap = f"1/{self.folds - 1}"
        if self.corrected:
            each = f"({each} + {overlap}); {overlap} = queries to test / all others"
        lines = [
            f"{self.measure}: {self.first} − {self.second} ({times}{self.folds}-fold cross-validation, {kind} t-test)",
            f"difference  {self.difference:+.4f}   {self.confidence_level:.0%} interval {ends}   "
            f"SE {self.standard_error:.4f}",
            f"p-value     {self.pvalue:.4g}",
            f"winner      {self.winner or f'unresolved at the {1 - self.confidence_level:.2g} level'}",
            f"sample      {how_many('query', len(self.per_query) // self.repeats)}",
            f"SE²         variance over folds × {each}",
            f"{other:<12}SE {opposite.standard_error:.4f}, p-value {opposite.pvalue:.4g}",
        ]
        return visible("\n  ".join(lines + ([f"note        {self.note}"] if self.note else [])))


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
    ``fit(topics, qrels, None, None)`` and measured on the fold. One of the two may be a pipeline without a
    `pt.Estimator`, which needs no training.

    Args:
        learners: Name → learner, two of them; the difference is first minus second. Each fold gets a copy of a
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
        ValueError: If an argument is out of range, a frame is malformed, both learners are the same object, neither
            learns anything, a learner cannot be copied, or a function returns an estimator that it returned before.
    """
    measure = parse_measure(measure)
    confidence, corrected = level("confidence", confidence), truth_value("corrected", corrected)
    progress = truth_value("progress", progress)
    if not 0 <= number("validation", validation) < 1:
        raise ValueError(f"validation must be at least 0 and below 1, got {shown(validation)}")
    first, second = pair = trainees(learners)
    data = _checked(topics, qrels)
    measure_values(data.qrels.assign(score=0.0), data.qrels, measure)  # reject unsuitable labels before any training
    splits = fold_numbers(len(data.qids), folds, repeats, seed)
    tables = []
    with bar(what="comparing learners", total=2 * repeats * folds, unit="fold", shown=progress) as done:
        for repeat, fold_of in enumerate(splits):
            columns = {"repeat": repeat, "fold": fold_of, "qid": data.qids}
            for name, learner in zip(("first", "second"), pair, strict=True):
                runs = _runs(learner, data, fold_of, validation, [seed, repeat], done)
                columns[name] = learner.values(runs, data.qrels, measure)
            tables.append(pd.DataFrame(columns))
    for learner in pair:
        if learner.unanswered:
            warnings.warn(
                f"learner {learner.name!r} returned nothing for {how_many('query', len(learner.unanswered))}, counted "
                f"as 0: {some(sorted(learner.unanswered))}",
                stacklevel=2,
            )
    per_query = pd.concat(tables, ignore_index=True)
    per_query["difference"] = ties.difference(per_query["first"].to_numpy(), per_query["second"].to_numpy())
    settings = (str(measure), folds, repeats, validation, seed, confidence, corrected)
    unanswered = (len(first.unanswered), len(second.unanswered))
    return LearnerComparison(first.name, second.name, *settings, unanswered, per_query)


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


class _Data(NamedTuple):
    """Topics or results and qrels, sorted by id so that the order of the rows does not matter."""

    qids: np.ndarray  # object[n], the queries that have qrels, sorted
    topics: pd.DataFrame  # The rows of these queries
    qrels: pd.DataFrame  # Their labels, ``qid, docno, label``

    def of(self, chosen: np.ndarray) -> Part:
        """The rows of some of the queries, int64[n], their places in `qids`."""
        topics, qrels = (frame[frame["qid"].isin(self.qids[chosen])] for frame in (self.topics, self.qrels))
        return topics.reset_index(drop=True), qrels.reset_index(drop=True)


def _checked(topics: pd.DataFrame, qrels: pd.DataFrame) -> _Data:
    """The queries of the topics that have qrels."""
    if "qid" not in data_frame("topics", topics).columns:
        raise ValueError(f"topics need the column qid, got {some(topics.columns, 20)}")
    topics, qrels, order = with_string_ids(topics), checked_qrels(qrels), ["qid"]
    if "docno" in topics.columns:
        check_pairs(topics, "topics")
        order = ["qid", "docno"]
    elif topics["qid"].duplicated().any():
        raise ValueError(f"topics hold a query twice: {some(topics['qid'][topics['qid'].duplicated()])}")
    every = topics["qid"].unique().astype(object)
    judged = np.isin(every, qrels["qid"].to_numpy(dtype=object))
    if not judged.any():
        raise ValueError("no query of the topics has qrels; do the qids match?")
    if not judged.all():
        absent = f"queries without qrels are left out, {(~judged).sum()} of {len(every)}"
        warnings.warn(f"{absent}: {some(every[~judged])}", stacklevel=3)
    known = np.sort(every[judged])
    topics, qrels = topics[topics["qid"].isin(known)], qrels[qrels["qid"].isin(known)]
    return _Data(known, topics.sort_values(order), qrels.sort_values(["qid", "docno"]))


def _runs(
    learner: Trainee, data: _Data, fold_of: np.ndarray, validation: float, seed: list[int], done: Any
) -> list[pd.DataFrame]:
    """The run of a learner on each fold, trained on the other folds."""
    runs = []
    for fold in np.unique(fold_of):
        seen, tested = np.flatnonzero(fold_of != fold), data.of(np.flatnonzero(fold_of == fold))[0]
        # The number of queries to validate is at least 1 unless the share is 0.
        count = max(round(validation * len(seen)), 1) if validation else 0
        if count == len(seen):
            raise ValueError(f"validation must leave a training query, got {validation} of {how_many('query', count)}")
        mixed = np.random.default_rng([*seed, int(fold)]).permutation(seen)
        training, validating = data.of(mixed[count:]), data.of(mixed[:count]) if count else None
        runs.append(learner.run(training, validating, tested))
        done.update()
    return runs


@dataclass
class Trainee:
    """A learner in a cross-validation, and what is known of it so far."""

    name: str  # Name of the learner
    learner: Learner  # The pipeline or function given by the caller
    unanswered: set[str] = field(default_factory=set)  # Queries for which the learner returned nothing
    made: list[pt.Estimator] = field(default_factory=list)  # Estimators that its function returned last

    def pipeline(self) -> pt.Transformer:
        """A pipeline that has learned nothing from other folds."""
        if isinstance(self.learner, pt.Transformer):
            try:
                return copy.deepcopy(self.learner)
            except Exception as error:
                raise ValueError(
                    f"learner {self.name!r} cannot be copied ({error}); give a function that makes a new one"
                ) from error
        pipeline = self.learner()
        if not isinstance(pipeline, pt.Transformer):
            raise ValueError(f"learner {self.name!r} must make a pt.Transformer, got {pipeline!r}")
        made = fitted(pipeline)
        if any(estimator is other for estimator in made for other in self.made):
            raise ValueError(f"the function of learner {self.name!r} must make new estimators each time")
        self.made = made
        return pipeline

    def run(self, training: Part, validating: Part | None, tested: pd.DataFrame) -> pd.DataFrame:
        """Train on some queries and rank for others."""
        pipeline = self.pipeline()
        if fitted(pipeline):
            # Copies, for a learner may write into the frames.
            cast(Any, pipeline).fit(
                *(frame.copy() for frame in training),
                *(frame.copy() for frame in validating or ()),
                *([] if validating else [None, None]),
            )
        run = pipeline.transform(tested.copy())
        columns = ["qid", "docno", "score"]
        if missing := set(columns) - set(getattr(run, "columns", ())):
            raise ValueError(f"learner {self.name!r} must return {columns}; it lacks {some(sorted(missing))}")
        run = with_string_ids(run[columns])
        run = run[run["qid"].isin(tested["qid"])]
        return run if run.empty else ranked_run(run, self.name)

    def values(self, runs: list[pd.DataFrame], qrels: pd.DataFrame, measure: irm.Measure) -> np.ndarray:
        """The measure of each query; the measure's default (0) for queries without documents."""
        run, qids = pd.concat(runs), qrels["qid"].unique()
        self.unanswered.update(np.setdiff1d(qids.astype(object), run["qid"].to_numpy(dtype=object)))
        if run.empty:
            return np.full(len(qids), float(measure.DEFAULT))
        return measure_values(run, qrels, measure)["value"].to_numpy()


def trainees(learners: Mapping[str, Learner]) -> tuple[Trainee, Trainee]:
    """Check two learners before any training starts."""
    if not isinstance(learners, Mapping) or len(learners) != 2:
        raise ValueError(f"learners must map two names to learners, got {learners!r}")
    for name, learner in learners.items():
        if not isinstance(learner, pt.Transformer) and not callable(learner):
            raise ValueError(
                f"learner {name!r} must be a pt.Transformer or a function that makes one, got {learner!r}; "
                "pt.ltr.apply_learned_model(model) makes one of a scikit-learn model"
            )
    first, second = (Trainee(str(name), learner) for name, learner in learners.items())
    if first.learner is second.learner:
        raise ValueError(
            f"{first.name!r} and {second.name!r} are the same object; a learner cannot be compared with itself"
        )
    if not fitted(first.pipeline()) and not fitted(second.pipeline()):
        raise ValueError(
            "neither learner has a pt.Estimator that PyTerrier would fit, so there is nothing to cross-validate; "
            "compare rankers with pt.Experiment"
        )
    return first, second


def fitted(pipeline: pt.Transformer) -> list[pt.Estimator]:
    """The estimators that PyTerrier fits: the pipeline itself, or members of a chain ``a >> b >> c``."""
    chain = list(pipeline) if isinstance(pipeline, pt.Compose) else [pipeline]
    return [part for part in chain if isinstance(part, pt.Estimator)]
