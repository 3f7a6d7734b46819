"""What does the grade model say of a plan's intervals before anything is judged [theory 14]?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.estimators import ESTIMATOR, Controls, degrees_left, estimator_named
from pt_active.inference.reference import FEW, MAX_DRAWS, REPLAYS
from pt_active.inference.replayed_documents import DocumentReplays, Drawn
from pt_active.plans.answers.basis import SAMPLED
from pt_active.plans.answers.judged import SUFFICIENT_DEGREES, Contrast
from pt_active.plans.answers.replayed import REPLAY_SEED, QueryReplays
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import sample_of

MAX_CONTRASTS = 5
"""At most so many rankers are compared with the first one."""


def interval_caution(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect; empty if there is none, or the sample is large."""
    manifest, names = tables.manifest, tables.pool.names
    if manifest.census or len(tables.rounds) > 1 or manifest.counts.draws >= MAX_DRAWS:
        return ""
    contrasts = [Contrast(0)] if len(names) == 1 else [Contrast(0, s) for s in range(1, len(names))][:MAX_CONTRASTS]
    own, shown = (_of_documents if tables.rounds else _of_queries)(tables, contrasts)
    if not own > 0:
        return "these are too few draws for an interval"
    least = int(np.argmin(shown))
    unit, what = SAMPLED["document" if tables.rounds else "query"], contrasts[least].named(names)
    if shown[least] < min(FEW * own, SUFFICIENT_DEGREES):
        most = "there will probably be no interval" if shown[least] < 1 else "its interval may be wide or miss"
        return (
            f"few {unit} carry the error of {what}: replays under the grade model show {shown[least]:.1f} degrees of "
            f"freedom, so {most}"
        )
    if own < SUFFICIENT_DEGREES:
        return f"the error will be estimated from few {unit}, with {own:.1f} degrees of freedom"
    return ""


def _of_queries(tables: PlanTables, contrasts: list[Contrast]) -> tuple[float, list[float]]:
    """The degrees of freedom by the drawn weights, and those of each contrast by replays under the grade model."""
    pool, measure, sample = tables.pool, tables.measure, sample_of(tables)
    replays = QueryReplays(pool, sample, measure, np.full(len(pool.docno), -1))
    kind, means = estimator_named(ESTIMATOR), model_means(tables, measure)
    own = float(degrees_left(sample, sample.importance(pool.query_weight), kind.fitted))
    if not replays.possible:
        return own, [np.inf]
    controls = [Controls(pool.query_weight, each.of(means)) for each in contrasts]
    pairs = zip(contrasts, controls, strict=True)
    return own, [replays.of(REPLAYS, each, kind.weigh, known).degrees for each, known in pairs]


def _of_documents(tables: PlanTables, contrasts: list[Contrast]) -> tuple[float, list[float]]:
    """The number of documents, and the degrees of freedom of each contrast by replays under the grade model."""
    pool, first = tables.pool, tables.rounds[0]
    if tables.manifest.rest is not None:
        return float(first.sample.drawn.sum()) - 1, [np.inf]
    seen = seen_by(tables.measure, pool)
    kept: dict[tuple[int, int], list[Drawn]] = {}
    mean = first.grades @ seen.form.values
    weights = [each.weights(len(pool.names)) for each in contrasts]
    replays = (
        DocumentReplays(seen, first.sample.design, each, first.grades, pool.by_name, mean, kept) for each in weights
    )
    return float(first.sample.drawn.sum()) - 1, [each.replayed(REPLAYS, REPLAY_SEED).degrees for each in replays]
