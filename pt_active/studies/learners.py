"""Learners in a cross-validation: trained from scratch for each fold, and measured on its unseen queries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.runs import ranked_run
from pt_active.relevance.measure_values import measure_values

# A pipeline, which is copied for each fold, or a function that returns a new one for each fold
Learner = pt.Transformer | Callable[[], pt.Transformer]


Part = tuple[pd.DataFrame, pd.DataFrame]
"""Some queries: all their rows in the form that the learners take, and their labels, ``qid, docno, label``."""


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
