"""`ActiveTest`: draw a round, have it judged, learn from the labels, and draw the next round [theory 7]."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, check_known, how_many, shown, some, whole_number
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import JoinedLabels, checked_qrels, joined_labels
from pt_active.frames.visible import visible
from pt_active.inference.statistics import Area
from pt_active.inference.weightings import (
    BY_SCORE,
    CONTROLLED,
    estimate_mean,
    estimate_statistic,
    inclusion_regression,
    round_estimators,
)
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import Contrast, Labelled, Measured, Settings
from pt_active.plans.answers.results import Estimate
from pt_active.plans.making.kept import Kept
from pt_active.plans.making.manifest import Provenance, digest, from_json
from pt_active.plans.making.pool import graded_frame
from pt_active.relevance.digits import believed
from pt_active.relevance.grades.learned import ForestGrades
from pt_active.relevance.grades.models import FittedGrades
from pt_active.relevance.grades.recalibration import recalibrated_grades
from pt_active.relevance.losses import Loss, PairMeasure, described, from_description
from pt_active.rounds.instances import Instances, Measure, instances_of
from pt_active.sampling.chances import defended
from pt_active.sampling.draws import draw_round
from pt_active.sampling.sample import Steps

STRATEGIES = ("ori", "rec", "rf", "uniform")
"""The models that set the probabilities of a round: the original one, the same recalibrated on the labels so far, a new
one fitted to them, or none."""

_MIN_LEAF = 5  # The smallest leaf of the forest that ``rf`` fits; it is small, since the labels are few


@dataclass(frozen=True)
class ActiveTestArguments:
    """The arguments of ``ActiveTest.create``; the measure is its full name, or a loss as its class and arguments."""

    measure: str | dict[str, Any]
    seed: int


@dataclass(frozen=True)
class DrawnRound:
    """A round in the manifest."""

    size: int  # the number of draws that was asked for
    strategy: str  # one of `STRATEGIES`
    drawing: str  # one of `draws.ROUND_DRAWINGS`
    drawn: int  # the number of instances that were drawn
    labels: str | None  # the digest of the labels that were given for the round; None if there were none


@dataclass(frozen=True, kw_only=True)
class ActiveTestManifest(Provenance):
    """Everything that is needed to repeat an active test, and to check that the result is the same."""

    arguments: ActiveTestArguments
    inputs: dict[str, str] = field(default_factory=dict)  # the digest of the pool
    rounds: tuple[DrawnRound, ...]


@dataclass(frozen=True)
class RoundsSoFar:
    """The state of an active test."""

    KIND: ClassVar[str] = "active test"

    instances: Instances
    rounds: Steps  # the draws of all rounds
    new: np.ndarray  # bool[N], the instances that the last round drew
    manifest: ActiveTestManifest

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents to judge in the last round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``."""
        frame, instance = self.instances.frame, self.instances.instance
        judge = self.new[instance] & self.instances.wanted(self.instances.measure)
        shown = [column for column in ("qid", "docno", "query", "text") if column in frame.columns]
        table = frame.loc[judge, shown].assign(inclusion=self.rounds.probability[instance[judge]])
        return table.sort_values(["qid", "docno"]).reset_index(drop=True)

    def believed(
        self, strategy: str, qrels: pd.DataFrame | None, model: FittedGrades | None, missing: str
    ) -> np.ndarray:
        """float64[D, G+1], the grade probabilities that set the next round's drawing probabilities."""
        grades = self.instances.grades
        if strategy == "ori":
            return grades
        if qrels is None or not self.rounds.drawn.any():
            raise ValueError(
                f'strategy={strategy!r} learns from labels: draw the first round by "ori" or "uniform", and give the '
                "labels of all rounds as qrels"
            )
        labels = self.labels(qrels, self.instances.measure, missing).grade
        if strategy == "rec":
            weights = 1 / np.where(self.rounds.drawn, inclusion_regression(self.rounds), 1.0)
            return recalibrated_grades(grades, labels, weights[self.instances.instance])
        model = model or ForestGrades(grades.shape[1] - 1, min_leaf=_MIN_LEAF)
        known = self.instances.frame[["qid", "docno"]].assign(label=labels)[labels >= 0]
        columns = self.instances.frame.columns
        if absent := [column for column in model.needed_columns(columns) if column not in columns]:
            raise ValueError(
                f'strategy="rf" fits {type(model).__name__} to features or scores of the documents, and the pool lacks '
                f"{some(absent)}; give it a column features, or choose another strategy or model"
            )
        fitted = model.fit(self.instances.frame.drop(columns="label", errors="ignore"), known)
        return fitted.transform(self.instances.frame)[grade_columns(self.instances.frame.columns)].to_numpy(float)

    def labels(self, qrels: pd.DataFrame, measure: Measure, missing: str) -> JoinedLabels:
        """The labels of the drawn instances that a measure needs, in the order of the frame of instances."""
        instances = self.instances
        drawn, max_grade = self.rounds.drawn[instances.instance], instances.grades.shape[1] - 1
        what = "pair" if instances.level == "pair" else "document"
        known, needed = checked_qrels(qrels), instances.wanted(measure)
        return joined_labels(instances.frame, drawn, known, missing, max_grade, what, needed)

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables on disk: the pool, what was drawn of it, and the steps in which that was done."""
        rounds = self.rounds
        drawn = pd.DataFrame({"step": rounds.step, "probability": rounds.probability, "new": self.new})
        steps = pd.DataFrame({"size": rounds.size, "independent": rounds.independent})
        return {"pool": self.instances.frame, "drawn": drawn, "steps": steps}

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """The state that the tables of `frames` and the values of the manifest describe."""
        manifest = from_json(ActiveTestManifest, values)
        measure = manifest.arguments.measure
        instances = instances_of(frames["pool"], measure if isinstance(measure, str) else from_description(measure))
        drawn, steps = frames["drawn"], frames["steps"]
        columns = drawn["step"], drawn["probability"], steps["size"], steps["independent"]
        rounds = Steps(instances.score(), *(each.to_numpy() for each in columns))
        return cls(instances, rounds, drawn["new"].to_numpy(), manifest)


@dataclass(frozen=True)
class JudgedInstances(Labelled):
    """The drawn instances of all rounds with their labels, for one system."""

    state: RoundsSoFar
    measure: irm.Measure | PairMeasure
    grade: np.ndarray  # int64[D], the labels; -1 where there is none
    bandwidth: float | str | None  # of the kernel regressions; None for a rule of thumb

    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """The mean or the statistic over the whole pool, by a name in `weightings.round_estimators`."""
        rounds, measure, name = self.state.rounds, self.measure, settings.estimator
        statistic, model = self.state.instances.statistic(measure, self.grade)
        if isinstance(statistic, np.ndarray):
            mean = estimate_mean(rounds, statistic, name, model, self.bandwidth)
            scale = float(np.abs(statistic).max(initial=0.0))
        else:
            mean, scale = estimate_statistic(rounds, statistic, name, self.bandwidth), 1.0
        undefined = not np.isfinite(mean.value)
        census = rounds.census and not undefined
        caution = "" if census else self._beyond_score(name)
        if undefined:
            lacking = "an instance that counts in its denominator"
            lacking = measure.needs if isinstance(measure, Area) else lacking
            caution = f"{measure} is undefined: it needs {lacking}, and the labels so far have none"
        # Such measures lie in [0, 1] for all labels, and so do estimates that weight labels.
        share = isinstance(measure, Area) or (isinstance(measure, Loss) and measure.proportion)
        about = {"estimator": name, "n_effective": mean.effective, "census": census, "caution": caution}
        return Measured(
            value=mean.value,
            standard_error=mean.standard_error,
            degrees=mean.degrees_of_freedom,
            basis=replace(self.basis, **about),  # type: ignore[arg-type]
            certain=census,
            scale=scale,
            unusable=undefined,
            bounds=(0.0, 1.0) if share and name not in CONTROLLED else None,
        )

    def _beyond_score(self, estimator: str) -> str:
        """What a kernel estimator assumes of the rounds that does not hold; empty if nothing."""
        strategies = {each.strategy for each in self.state.manifest.rounds}
        beyond = sorted(strategies & self.state.instances.beyond_score)
        if estimator not in BY_SCORE or not beyond:
            return ""
        return (
            f"{estimator} assumes that draws depend on the values through the model's own score alone; "
            f"rounds by {', '.join(beyond)} depend on more, so compare with lur"
        )


class ActiveTest(Kept[RoundsSoFar]):
    """An evaluation in rounds: the draws so far, and everything that an estimate needs.

    Make one with `create`; read one with ``ActiveTest.load(path)``. It is immutable: `next_round` returns a new test.

    Args:
        path: The folder of a saved test.
    """

    ARTIFACT_TYPE = "active_test"
    TABLES = RoundsSoFar

    @classmethod
    def create(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure | Loss,
        *,
        seed: int = 0,
    ) -> ActiveTest:
        """Start a test of a measure, with nothing drawn yet.

        Args:
            pool: For a measure of rankings, a pipeline that ends in a graded-relevance model, or its output frame, with
                one ranker, or two to estimate their difference. For a measure of a grade predictor, a frame of pairs
                with the predictor's ``grade_0 … grade_G``.
            topics: ``qid, query`` (+ ``traffic``). May be None if ``pool`` is a frame.
            measure: A measure of rankings such as ``DCG@10``, for which queries are drawn; or a loss such as
                ``CrossEntropy()`` or ``Precision(rel=2)``, for which pairs are drawn.
            seed: Random seed of all rounds.

        Raises:
            ValueError: If the measure is unknown, or the pool is malformed or has more than two rankers.
        """
        frame = graded_frame(pool, topics)
        seed = whole_number("seed", seed, 0, MAX_SEED)
        instances = instances_of(frame, measure)
        said = described(instances.measure) if isinstance(instances.measure, Loss) else str(instances.measure)
        manifest = ActiveTestManifest(
            inputs={"pool": digest(frame)},
            arguments=ActiveTestArguments(said, seed),
            rounds=(),
        )
        none_new = np.zeros(instances.number, dtype=bool)
        return cls._of(RoundsSoFar(instances, Steps.none_yet(instances.score()), none_new, manifest))

    @property
    def rounds(self) -> Steps:
        """The draws so far, as arrays."""
        return self.tables.rounds

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents to judge in the last round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        They are sorted by qid and docno; ``inclusion`` is the probability of being drawn, given all earlier rounds. The
        frame is empty before the first round and after a ``poisson`` round that drew nothing.
        """
        return self.tables.assessments

    def next_round(
        self,
        size: int,
        qrels: pd.DataFrame | None = None,
        strategy: str = "ori",
        *,
        drawing: str = "fixed",
        model: FittedGrades | None = None,
        missing: str = "error",
    ) -> ActiveTest:
        """Draw more queries or pairs from those not drawn yet.

        Args:
            size: Number of draws, for ``poisson`` on average. If fewer are left, all of them are drawn, with a warning.
                It must not depend on the labels.
            qrels: The labels of all rounds so far; required by ``rec`` and ``rf``.
            strategy: Which model sets the probabilities: ``ori`` (the original one), ``rec`` (the original one,
                recalibrated on the labels), ``rf`` (a new one, fitted to the labels), or ``uniform`` (none).
            drawing: ``fixed`` (a round of that size), ``poisson`` (independent draws), or ``single`` (one at a time).
            model: The model that ``rf`` fits to the labels; `ForestGrades` by default.
            missing: How to treat a drawn document without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).

        Returns:
            A test with one more round, in memory. Its `assessments` are those of the new round.

        Raises:
            ValueError: If an argument is unknown or out of range, labels are required and missing or do not fit, or
                nothing is left to draw.
        """
        state = self.tables
        size = whole_number("size", size, 1, MAX_DRAWS)
        check_known("strategy", strategy, STRATEGIES)
        if model is not None and not (strategy == "rf" and isinstance(model, FittedGrades)):
            needed = 'model is for strategy="rf", and one that learns, such as ForestGrades'
            raise ValueError(f"{needed}; got {shown(model)}")
        left = ~state.rounds.drawn
        expected, sizes = np.ones((2, len(left)))
        if strategy != "uniform":
            expected = state.instances.size(state.believed(strategy, qrels, model, missing))
        if left.any():
            sizes[left] = defended(expected[left])
        if size > left.sum() > 0:
            few = f"size={size}, but only {left.sum()} are left: the round draws them all"
            warnings.warn(few, stacklevel=2)
        known = believed(state.instances.frame, state.instances.grades)
        rng = np.random.default_rng([state.manifest.arguments.seed, len(state.manifest.rounds), known])
        rounds = draw_round(state.rounds, sizes, size, drawing, rng)
        new = rounds.drawn & left
        learnt_from = None if qrels is None else digest(checked_qrels(qrels))
        entry = DrawnRound(size, strategy, drawing, int(new.sum()), learnt_from)
        manifest = replace(state.manifest, rounds=(*state.manifest.rounds, entry))
        return self._of(RoundsSoFar(state.instances, rounds, new, manifest))

    def estimate(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | PairMeasure | None = None,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        bandwidth: float | str | None = None,
    ) -> Estimate:
        """Estimate the measure over the whole pool [theory 7].

        Args:
            qrels: ``qid, docno, label``, of all rounds. Labels of what was not drawn are ignored, with a warning.
            measure: A measure to estimate from the same labels, instead of the test's; for pairs also ``AUC()`` and
                ``AP()``.
            estimator: A name in `weightings.round_estimators`; ratios, areas and slices need one without a model. The
                default is ``lur_regression`` for queries and ``aiipw_ratio`` for pairs (``lur`` if the test's measure
                has a slice).
            confidence: Confidence level of the interval.
            missing: How to treat a drawn document without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).
            bandwidth: h of the kernel regressions, in the unit of g, or ``"cross_validated"``; a rule of thumb by
                default.

        Returns:
            The estimate. It is NaN, with the reason as its note, if the labels do not define it, such as AUC when all
            labels are of one class.

        Raises:
            ValueError: If nothing was drawn yet, an argument is unknown or out of range, or the labels do not fit.
        """
        state, instances = self.tables, self.tables.instances
        drawn = state.rounds.drawn
        if not drawn.any():
            raise ValueError("no round has drawn anything, so there is nothing to estimate from: call next_round")
        estimator = instances.usual_estimator if estimator is None else estimator
        if estimator not in round_estimators():
            known = ", ".join(round_estimators())
            raise ValueError(f"unknown estimator {estimator!r}; the estimators are {known}")
        chosen = instances.parsed(instances.measure if measure is None else measure)
        settings = Settings(estimator, confidence)
        labels = state.labels(qrels, chosen, missing)
        basis = Basis(
            measure=str(chosen),
            n_draws=int(drawn.sum()),
            n_queries=int(instances.frame["qid"][drawn[instances.instance]].nunique()),
            n_judged=int((instances.wanted(chosen) & (labels.grade >= 0)).sum()),
            census=state.rounds.census,
            missing_policy=missing,
            level=instances.level,
            n_rounds=len(state.manifest.rounds),
            **labels.about,
        )
        judged = JudgedInstances((instances.name,), basis, state, chosen, labels.grade, bandwidth)
        return judged.estimate(0, settings)

    def __str__(self) -> str:
        state, rounds = self.tables, self.tables.manifest.rounds
        level, drawn = state.instances.level, int(state.rounds.drawn.sum())
        lines = [f"Active test of {state.instances.measure} of {state.instances.name}"]
        lines += [
            f"  round {number}   {how_many(level, each.drawn)} by {each.strategy}, {each.drawing}"
            for number, each in enumerate(rounds, 1)
        ]
        return visible("\n".join([*lines, f"  drawn     {drawn} of {how_many(level, state.instances.number)}"]))
