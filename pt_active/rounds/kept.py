"""What an active test holds: its instances, its draws and its manifest, and their form on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import Labels, check_policy, checked_qrels, drawn_labels, missing_pairs
from pt_active.frames.strays import stray_labels
from pt_active.inference.weightings import inclusion_regression
from pt_active.plans.making.manifest import Provenance, from_json
from pt_active.relevance.grades.learned import ForestGrades
from pt_active.relevance.grades.models import FittedGrades
from pt_active.relevance.grades.recalibration import recalibrated_grades
from pt_active.relevance.losses import from_description
from pt_active.rounds.instances import Instances, Measure, instances_of
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
        """The labels of the drawn instances that a measure needs, in the order of the frame of instances."""
        check_policy(missing)
        instances, checked = self.instances, checked_qrels(qrels)
        inside, what = self.rounds.drawn[instances.instance], "pair" if instances.level == "pair" else "document"
        label = np.full(len(inside), -1, dtype=np.int64)
        known, ignored = drawn_labels(instances.frame[inside], checked, instances.grades.shape[1] - 1, what)
        label[inside] = np.nan_to_num(known, nan=-1.0)
        lacking = inside & instances.wanted(measure) & (label < 0)
        strays = stray_labels(instances.frame, lacking, checked)
        return Labels(label, missing_pairs(instances.frame, lacking, missing, what, strays=strays), ignored, strays)

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
        drawn = {str(name): each.to_numpy() for name, each in frames["drawn"].items()}
        size, independent = (
            frames["steps"][name].to_numpy(kind) for name, kind in (("size", float), ("independent", bool))
        )
        steps = Steps(instances.score(), drawn["step"], drawn["probability"], size, independent)
        return cls(instances, steps, drawn["new"], manifest)
