"""Learners in a cross-validation: trained from scratch for each fold, and measured on its unseen queries."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
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
    # The learning parts of the pipeline that its function returned last
    made: list[object] = field(default_factory=list)

    def pipeline(self) -> pt.Transformer:
        """A pipeline that has learned nothing from other folds."""
        if isinstance(self.learner, pt.Transformer):
            try:
                return copy.deepcopy(self.learner, _shared(self.learner))
            except Exception as error:
                raise ValueError(
                    f"learner {self.name!r} cannot be copied ({error}); give a function that makes a new one"
                ) from error
        pipeline = self.learner()
        if not isinstance(pipeline, pt.Transformer):
            raise ValueError(f"learner {self.name!r} must make a pt.Transformer, got {pipeline!r}")
        made = _learning_parts(pipeline)
        if reused := [part for part in made if any(part is other for other in self.made)]:
            raise ValueError(
                f"the function of learner {self.name!r} must make new estimators each time; what one fold has "
                f"taught would leak into the next through {some(reused)}"
            )
        self.made = made
        return pipeline

    def run(self, training: Part, validating: Part | None, tested: pd.DataFrame) -> pd.DataFrame:
        """Train on some queries and rank for others."""
        pipeline = self.pipeline()
        if _fitted(pipeline):
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
        if not isinstance(learner, pt.Transformer) and not _callable_alone(learner):
            raise ValueError(f"learner {name!r} must be a function without arguments, got {learner!r}")
    first, second = (Trainee(str(name), learner) for name, learner in learners.items())
    if first.learner is second.learner:
        raise ValueError(
            f"{first.name!r} and {second.name!r} are the same object; a learner cannot be compared with itself"
        )
    pipelines = [first.pipeline(), second.pipeline()]
    if not any(map(_fitted, pipelines)):
        raise ValueError(
            "neither learner has a pt.Estimator that PyTerrier would fit, so there is nothing to cross-validate; "
            "compare rankers with pt.Experiment"
        )
    for trainee, pipeline in zip((first, second), pipelines, strict=True):
        _warn_of_hidden_estimators(trainee.name, pipeline)
    return first, second


def _callable_alone(function: Callable[..., object]) -> bool:
    """Whether a function can be called without arguments; True if it has no readable signature."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _children(pipeline: pt.Transformer) -> Iterator[pt.Transformer]:
    for child in pt.inspect.subtransformers(pipeline).values():
        yield from child if isinstance(child, (list, tuple)) else (child,)


def _parts(pipeline: pt.Transformer) -> Iterator[pt.Transformer]:
    yield pipeline
    for child in _children(pipeline):
        yield from _parts(child)


def _estimators(pipeline: pt.Transformer) -> list[pt.Estimator]:
    return [part for part in _parts(pipeline) if isinstance(part, pt.Estimator)]


def _fitted(pipeline: pt.Transformer) -> list[pt.Estimator]:
    """The estimators that PyTerrier fits: the pipeline itself, or members of a chain ``a >> b >> c``."""
    chain = list(pipeline) if isinstance(pipeline, pt.Compose) else [pipeline]
    return [part for part in chain if isinstance(part, pt.Estimator)]


def _learning_parts(pipeline: pt.Transformer) -> list[object]:
    """Estimators, and the models with a ``fit`` method that they hold, such as those of scikit-learn."""
    estimators = _estimators(pipeline)
    held = [value for estimator in estimators for value in vars(estimator).values()]
    models = [v for v in held if hasattr(v, "fit") and not isinstance(v, (type, pt.Transformer))]
    return [*estimators, *models]


def _shared(pipeline: pt.Transformer) -> dict[int, pt.Transformer]:
    """Parts that learn nothing, by id: given as memo, they are not copied by ``deepcopy``."""
    if not _estimators(pipeline):
        return {id(pipeline): pipeline}
    if isinstance(pipeline, pt.Estimator):
        return {}
    shared: dict[int, pt.Transformer] = {}
    for child in _children(pipeline):
        shared |= _shared(child)
    return shared


def _warn_of_hidden_estimators(name: str, pipeline: pt.Transformer) -> None:
    reached = [part for estimator in _fitted(pipeline) for part in _parts(estimator)]
    hidden = [e for e in _estimators(pipeline) if not any(e is part for part in reached)]
    if hidden:
        warnings.warn(
            f"learner {name!r} has estimators that PyTerrier's fit does not reach, so they stay as they are: "
            f"{some(hidden)}; put them into the chain (a >> b), or make sure that they never saw these queries",
            stacklevel=4,
        )
