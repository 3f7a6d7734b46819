"""Active testing on frames: draw a round, have it judged, learn from the labels, draw again [theory 7]."""

from __future__ import annotations

import platform
import warnings
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames import worklists
from pt_active.frames.checks import shown, whole_number
from pt_active.frames.qrels import checked_qrels
from pt_active.inference import weightings
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.results import Estimate
from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.pool import graded_frame
from pt_active.relevance.grades.models import FittedGrades
from pt_active.relevance.losses import MIN_PROBABILITY, Loss, PairMeasure
from pt_active.rounds.instances import PairInstances
from pt_active.rounds.judged import judged_instances
from pt_active.rounds.kept import (
    FORMAT_VERSION,
    STRATEGIES,
    ActiveTestArguments,
    ActiveTestManifest,
    Progress,
    RoundEntry,
    instances_of,
    kept_measure,
    read_state,
    write_state,
)
from pt_active.sampling.chances import defended
from pt_active.sampling.designs import DEFENSIVE_SHARE
from pt_active.sampling.draws import draw_round
from pt_active.sampling.sample import Steps


class ActiveTest(KeptArtifact[Progress]):
    """An evaluation in rounds: what was drawn so far, and everything an estimate needs.

    Make one with `create`, read one with ``ActiveTest.load(path)``. It is never changed: `next_round` returns another.

    Args:
        path: The folder of a saved test.
    """

    ARTIFACT_TYPE = "active_test"
    _read = staticmethod(read_state)
    _write = staticmethod(write_state)

    @classmethod
    def create(
        cls,
        pool: pt.Transformer | pd.DataFrame,
        topics: pd.DataFrame | None,
        measure: str | irm.Measure | Loss,
        *,
        seed: int = 0,
    ) -> ActiveTest:
        """Say what is to be estimated; nothing is drawn yet.

        Args:
            pool: For a measure of rankings a pipeline that ends in a graded-relevance model, or its frame, with one
                ranker or two, whose difference is then estimated. For a measure of a grade predictor the pairs with its
                ``grade_0 … grade_G``.
            topics: ``qid, query`` (+ ``traffic``). May be None if ``pool`` is a frame.
            measure: ``DCG@10``, …, drawn query by query; or a loss such as ``CrossEntropy()`` or ``Precision(rel=2)``,
                drawn pair by pair.
            seed: Of everything random.

        Raises:
            ValueError: If the measure is unknown, the pool is malformed or has more than two rankers.
        """
        frame = graded_frame(pool, topics)
        seed = whole_number("seed", seed, 0)
        instances = instances_of(frame, measure)
        if isinstance(instances, PairInstances):
            _warn_of_certainty(instances)
        packages = ("pt-active", "pyterrier", "ir_measures", "numpy", "pandas")
        manifest = ActiveTestManifest(
            format_version=FORMAT_VERSION,
            versions={"python": platform.python_version()} | {name: version(name) for name in packages},
            arguments=ActiveTestArguments(kept_measure(instances.measure), seed),
            inputs={"pool": artifact.digest(frame)},
            rounds=(),
        )
        nothing = np.zeros(instances.number, dtype=bool)
        return cls._of(Progress(instances, Steps.none_yet(instances.score()), nothing, manifest))

    @property
    def manifest(self) -> dict[str, Any]:
        """Seed, versions, arguments, digests of the inputs, and a row for every round."""
        return self.tables.manifest.to_json()

    @property
    def rounds(self) -> Steps:
        """What was drawn so far, as arrays."""
        return self.tables.rounds

    @property
    def assessments(self) -> pd.DataFrame:
        """What a person judges in the last round: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        Sorted by qid and docno; ``inclusion`` is the probability given all rounds before. Empty before the first round,
        and where a ``poisson`` round drew nothing.
        """
        return self.tables.worklist()

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
        """Draw more queries or pairs among those that were not drawn yet.

        Args:
            size: How many, for ``poisson`` on average; all that are left, with a warning, if there are no more. Do not
                let it depend on the labels.
            qrels: The labels of all rounds so far; needed by ``rec`` and ``rf``.
            strategy: One of `STRATEGIES`.
            drawing: ``fixed``, ``poisson``, or ``single`` (one at a time).
            model: What ``rf`` fits to the labels; `ForestGrades` if left out.
            missing: What to do about a drawn document without a label, as in `estimate`.

        Returns:
            A test with one round more, in memory. Its `assessments` are the new ones.

        Raises:
            ValueError: If an argument is unknown or out of range, labels are needed and do not come or fit, or nothing
                is left to draw.
        """
        state = self.tables
        size = whole_number("size", size, 1)
        if strategy not in STRATEGIES:
            raise ValueError(f"unknown strategy {strategy!r}; it is one of {', '.join(STRATEGIES)}")
        if not (model is None or isinstance(model, FittedGrades)):
            raise ValueError(f"model must be a grade model that learns, such as ForestGrades, got {shown(model)}")
        if model is not None and strategy != "rf":
            raise ValueError(f'a model is fitted for strategy="rf" only, not for {strategy!r}')
        expected = np.ones(state.instances.number)
        if strategy != "uniform":
            expected = state.instances.size(state.believed(strategy, qrels, model, missing))
        left = ~state.rounds.drawn
        sizes = np.ones(len(left))
        if left.any():
            _warn_of_the_last(size, int(left.sum()))
            sizes[left] = defended(expected[left], DEFENSIVE_SHARE)
        rng = np.random.default_rng([state.manifest.arguments.seed, len(state.manifest.rounds)])
        rounds = draw_round(state.rounds, sizes, size, drawing, rng)
        new = rounds.drawn & left
        learnt_from = None if qrels is None else artifact.digest(checked_qrels(qrels))
        entry = RoundEntry(size, strategy, drawing, int(new.sum()), learnt_from)
        manifest = replace(state.manifest, rounds=(*state.manifest.rounds, entry))
        return self._of(Progress(state.instances, rounds, new, manifest))

    def estimate(
        self,
        qrels: pd.DataFrame,
        measure: str | irm.Measure | PairMeasure | None = None,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        bandwidth: float | str | None = None,
        slice: str | None = None,
    ) -> Estimate:
        """Estimate the measure over the whole pool [theory 7].

        Args:
            qrels: ``qid, docno, label``, of all rounds. Labels of what was not drawn are ignored and warned of.
            measure: Another measure than the test's, on the same labels; for pairs also ``AUC()`` and ``AP()``.
            estimator: A name in `estimators.ROUND_ESTIMATORS`; ratios, areas and slices take those without a model. If
                left out ``lur_regression`` for queries (``lur`` for slices of them) and ``aiipw_ratio`` for pairs
                (``lur`` where a slice of them was drawn for).
            confidence: Level of the interval.
            missing: What to do about a drawn document without a label: ``"error"``, ``"nonrelevant"`` (grade 0) or
                ``"expected"`` (the model's mean).
            bandwidth: h of the kernel regressions, in the unit of g; ``"cross_validated"``, or a rule of thumb if left
                out.
            slice: A column of the pool that is true on a slice of the queries, to which the estimate is then confined.
                A measure of pairs says its slice itself: ``ZeroOne(slice="column")``.

        Returns:
            The estimate; NaN, with the reason as its note, where the labels do not define it, such as AUC with labels
            of one class only.

        Raises:
            ValueError: If nothing was drawn yet, an argument is unknown or out of range, or the labels do not fit.
        """
        state = self.tables
        if not state.rounds.drawn.any():
            so_far = "nothing was drawn yet, so there is nothing to estimate from: call next_round first"
            if number := len(state.manifest.rounds):
                so_far = (
                    f"a poisson round may draw nothing, and so it was in the {number} so far: call next_round again"
                )
            raise ValueError(so_far)
        if estimator is None:
            estimator = state.instances.usual_estimator(slice is not None)
        if estimator not in weightings.ROUND_ESTIMATORS:
            known = ", ".join(weightings.ROUND_ESTIMATORS)
            raise ValueError(f"unknown estimator {estimator!r}; the estimators are {known}")
        chosen = state.instances.parsed(state.instances.measure if measure is None else measure)
        how = How(chosen, estimator, confidence, missing)
        return judged_instances(state, qrels, how, bandwidth, slice).estimate(0, how)

    def export(self, path: str | Path, format: str = "trec") -> Path:
        """Write the assessments of the last round for the judges.

        Args:
            path: A new file.
            format: A name in `worklists.FORMATS`, such as ``csv``.

        Returns:
            The path.

        Raises:
            FileExistsError: If the file exists.
            ValueError: If the format is unknown.
        """
        worklists.write_assessments(self.assessments, path, format)
        return Path(path)

    def __str__(self) -> str:
        state, rounds = self.tables, self.tables.manifest.rounds
        what = "queries" if state.instances.level == "query" else "pairs"
        lines = [f"Active test of {state.instances.measure} of {state.instances.name}"]
        lines += [
            f"  round {number}   {each.drawn} {what} by {each.strategy}, {each.drawing}"
            for number, each in enumerate(rounds, 1)
        ]
        return "\n".join([*lines, f"  drawn     {int(state.rounds.drawn.sum())} of {state.instances.number} {what}"])


def _warn_of_the_last(size: int, left: int) -> None:
    """Say so where fewer are left than were asked for."""
    if size > left:
        warnings.warn(f"size={size}, but only {left} are left to draw: the round draws them all", stacklevel=3)


def _warn_of_certainty(pairs: PairInstances) -> None:
    """Say so where the predictor gives a single grade, so that its own grades cannot say where it may be wrong."""
    certain, distribution = int((pairs.grades == 1).any(axis=1).sum()), pairs.measure.needs_distribution
    largest = f"{-np.log(MIN_PROBABILITY):.1f}"
    if certain == pairs.number:
        warnings.warn(
            "the predictor is certain of the grade of every pair, so its grades do not tell where it may be wrong"
            + (f", and its {pairs.measure} counts {largest} wherever it is" if distribution else "")
            + "; test a predictor of single grades with pt_active.Audit, which draws by another model's grades",
            stacklevel=3,
        )
    elif certain and distribution:
        warnings.warn(
            f"the predictor is certain of the grade of {certain} of {pairs.number} pairs; wherever it is wrong there, "
            f"its {pairs.measure} is infinite, and counts as {largest}",
            stacklevel=3,
        )
