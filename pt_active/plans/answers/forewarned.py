"""What does the grade model say of a plan's intervals before anything is judged [theory 14]?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.estimators import ESTIMATOR, Controls, estimator_named
from pt_active.inference.reference import MAX_DRAWS, REPLAYS
from pt_active.inference.replayed_documents import DocumentReplays
from pt_active.plans.answers.judged import SUFFICIENT_DEGREES, Contrast
from pt_active.plans.answers.replayed import REPLAY_SEED, QueryReplays
from pt_active.plans.answers.results import SAMPLED
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import model_means
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import sample_of

MAX_CONTRASTS = 5
"""At most so many rankers are compared with the first one."""


def forewarning(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect; empty if there is none, or the sample is large.

    Args:
        tables: The plan's content, of one round.
    """
    manifest, names = tables.manifest, tables.pool.names
    if manifest.census or len(tables.rounds) > 1 or manifest.counts.draws >= MAX_DRAWS:
        return ""
    contrasts = [Contrast(0)] if len(names) == 1 else [Contrast(0, s) for s in range(1, len(names))][:MAX_CONTRASTS]
    degrees = (_of_documents if tables.rounds else _of_queries)(tables, contrasts)
    least = int(np.argmin(degrees))
    if not degrees[least] < SUFFICIENT_DEGREES:
        return ""
    unit = SAMPLED["document" if tables.rounds else "query"]
    return (
        f"few {unit} carry the error of {contrasts[least].named(names)} under the grade model "
        f"({degrees[least]:.1f} degrees of freedom): its interval may be wide, or miss more often than its level says"
    )


def _of_queries(tables: PlanTables, contrasts: list[Contrast]) -> list[float]:
    """The degrees of freedom of each contrast, by the drawn weights and by replays under the grade model."""
    pool, measure, sample = tables.pool, tables.measure, sample_of(tables.queries, tables.manifest.census)
    replays = QueryReplays(pool, sample, measure, np.full(len(pool.docno), -1))
    weigh, means, degrees = estimator_named(ESTIMATOR).weigh, model_means(tables, measure), []
    for contrast in contrasts:
        controls = Controls(pool.query_weight, contrast.of(means))
        own = float(weigh(sample, controls).degrees)
        shown = replays.of(REPLAYS, contrast, weigh, controls).degrees if replays.possible else np.inf
        degrees.append(min(own, shown))
    return degrees


def _of_documents(tables: PlanTables, contrasts: list[Contrast]) -> list[float]:
    """The degrees of freedom of each contrast, by replays under the grade model."""
    pool, design = tables.pool, tables.rounds[0].sample.design
    seen, grades = seen_by(tables.measure, pool), tables.rounds[0].grades
    mean = grades @ seen.form.values
    replays = (
        DocumentReplays(seen, design, each.weights(len(pool.names)), grades, pool.by_name, mean, 0.0)
        for each in contrasts
    )
    return [each.replayed(REPLAYS, REPLAY_SEED).degrees for each in replays]
