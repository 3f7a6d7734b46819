"""What an active test holds: its instances, its draws and its manifest, and their form on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import ir_measures.measures as irm
import numpy as np
import pandas as pd
from pyterrier.validate import InputValidationError

from pt_active.frames.checks import how_many, some
from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.frames.qrels import Labels
from pt_active.inference.weightings import inclusion_regression
from pt_active.plans.making.artifact import Record
from pt_active.plans.making.stored import Stored, StoredTable, write_tables
from pt_active.relevance.grades.learned import ForestGrades
from pt_active.relevance.grades.models import FittedGrades
from pt_active.relevance.grades.recalibration import recalibrated_grades
from pt_active.relevance.losses import (
    F1,
    Accuracy,
    CrossEntropy,
    Loss,
    PairMeasure,
    Precision,
    Recall,
    Squared,
    ZeroOne,
    described,
    from_description,
)
from pt_active.rounds.instances import Instances, Measure, PairInstances, QueryInstances
from pt_active.sampling.sample import Steps

STRATEGIES = ("ori", "rec", "rf", "uniform")
"""The models that set the probabilities of a round: the original one, the same recalibrated on the labels so far, a new
one fitted to them, or none."""

FORMAT_VERSION = 2
"""The format of the files on disk."""

READABLE_FORMATS = (1, FORMAT_VERSION)
"""Formats that can be read. A test in format 1 is in format 2 once it is saved again."""

_MIN_LEAF = 5
"""The smallest leaf of the forest that ``rf`` fits; it is small, since the labels are few."""


@dataclass(frozen=True)
class ActiveTestArguments(Record):
    """The arguments of ``ActiveTest.create``.

    Attributes:
        measure: The full name of a measure of rankings; or a loss as plain values: its class and its arguments.
        seed: The random seed of all rounds.
    """

    measure: str | dict[str, Any]
    seed: int


@dataclass(frozen=True)
class RoundEntry(Record):
    """A round in the manifest.

    Attributes:
        size: The number of draws that was asked for.
        strategy: One of `STRATEGIES`.
        drawing: ``fixed``, ``poisson`` or ``single``.
        drawn: The number of instances that were drawn.
        labels: The digest of the labels that were given for the round; None if there were none.
    """

    size: int
    strategy: str
    drawing: str
    drawn: int
    labels: str | None


@dataclass(frozen=True)
class ActiveTestManifest(Record):
    """Everything that is needed to repeat an active test, and to check that the result is the same.

    Attributes:
        format_version: The format of the files on disk.
        versions: Package → version.
        arguments: The arguments of ``ActiveTest.create``.
        inputs: The digest of the pool.
        rounds: An entry for each round.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {"arguments": ActiveTestArguments, "rounds": RoundEntry}

    format_version: int
    versions: dict[str, str]
    arguments: ActiveTestArguments
    inputs: dict[str, str]
    rounds: tuple[RoundEntry, ...]


@dataclass(frozen=True)
class Progress:
    """The state of an active test.

    Attributes:
        instances: The N instances of the pool.
        rounds: The draws of all rounds.
        new: bool[N], the instances that the last round drew.
        manifest: Versions, arguments with the seed, digests of the inputs, and an entry for each round.
    """

    instances: Instances
    rounds: Steps
    new: np.ndarray
    manifest: ActiveTestManifest

    def worklist(self) -> pd.DataFrame:
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
        labels = self.labels(qrels, self.instances.measure, missing).label
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

    def labels(self, qrels: pd.DataFrame, measure: Measure, missing: str) -> Labels:
        """The labels of the drawn instances."""
        return self.instances.labels(qrels, self.rounds.drawn, self.instances.wanted(measure), missing)


def instances_of(frame: pd.DataFrame, measure: Measure) -> Instances:
    """The instances that a test draws: pairs for a measure of predictors, else queries."""
    if isinstance(measure, PairMeasure):
        return PairInstances.of(frame, measure)
    if not ranker_names(frame.columns):
        raise ValueError(
            f"the pool has no ranker, so its grades are tested, which takes a loss such as CrossEntropy() or "
            f"Precision(rel=2), not {measure!r}"
        )
    return QueryInstances.of(frame, measure)


def kept_measure(measure: irm.Measure | Loss) -> str | dict[str, Any]:
    """The measure of a test for the manifest: the name of a measure of rankings, or a loss as plain values."""
    return described(measure) if isinstance(measure, Loss) else str(measure)


def _measure_kept(arguments: ActiveTestArguments) -> Measure:
    kept = arguments.measure
    return kept if isinstance(kept, str) else from_description(kept)


def _from_format_1(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest of format 1, which named each loss and had the lowest relevant grade beside it, in today's format."""
    arguments = dict(manifest["arguments"])
    rel, name = arguments.pop("relevant"), arguments["measure"]
    losses: dict[str, Loss] = {"cross_entropy": CrossEntropy(), "zero_one": ZeroOne(), "accuracy": Accuracy()}
    losses |= {"squared": Squared(), "precision": Precision(rel), "recall": Recall(rel), "F1": F1(rel)}
    if name in losses:
        arguments["measure"] = described(losses[name])
    return manifest | {"format_version": FORMAT_VERSION, "arguments": arguments}


def write_state(state: Progress, folder: Path) -> None:
    """Write the state into an empty folder: the pool, the draws, and ``manifest.json`` with their digests."""
    rounds = state.rounds
    drawn = pd.DataFrame({"step": rounds.step, "probability": rounds.probability, "new": state.new})
    steps = pd.DataFrame({"size": rounds.size, "independent": rounds.independent})
    write_tables(folder, {"pool": state.instances.frame, "drawn": drawn, "steps": steps}, state.manifest)


def read_state(folder: Path) -> Progress:
    """Read the state of a saved test."""
    stored = Stored.open(folder, "active test", READABLE_FORMATS)
    with stored.checked():
        manifest = ActiveTestManifest.from_json(stored.values)
        if manifest.format_version == 1:
            manifest = ActiveTestManifest.from_json(_from_format_1(stored.values))
    pool, drawn, steps = (stored.table(name) for name in ("pool", "drawn", "steps"))
    with stored.checked():
        instances = _instances_kept(pool, manifest.arguments)
        rounds, new = _draws(drawn, steps, instances, manifest)
    return Progress(instances, rounds, new, manifest)


def _instances_kept(pool: StoredTable, arguments: ActiveTestArguments) -> Instances:
    pool.texts("qid")
    pool.texts("docno")
    try:
        return instances_of(pool.frame, _measure_kept(arguments))
    except (InputValidationError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{pool.file}: {error}") from error


def _draws(
    drawn: StoredTable, steps: StoredTable, instances: Instances, manifest: ActiveTestManifest
) -> tuple[Steps, np.ndarray]:
    """The draws of all rounds, and bool[N], which instances are new in the last."""
    drawn.length(instances.number, "instance")
    most = sum(entry.drawn if entry.drawing == "single" else 1 for entry in manifest.rounds)
    if len(steps.frame) > most:
        raise ValueError(f"{steps.file} has {how_many('row', len(steps.frame))} for {how_many('step', most)}")
    size, independent = steps.within("size", 0, open=True), steps.truths("independent")
    step, new = drawn.whole("step"), drawn.truths("new")
    drawn.must("step", step <= len(size), f"be at most {len(size)}, the number of rows of {steps.file}")
    probability = drawn.within("probability", 0, 1, open=True, where=step > 0)
    drawn.must("new", ~new | (step > 0), "be true only where drawn")
    if (step > 0).sum() != sum(entry.drawn for entry in manifest.rounds):
        raise ValueError(f"{drawn.file} has {(step > 0).sum()} draws, which is not what manifest.json says")
    return Steps(instances.score(), step, probability, size, independent), new
