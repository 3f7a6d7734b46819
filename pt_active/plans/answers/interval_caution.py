"""Is a plan large enough for intervals, and which will there be none of?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.estimators import ESTIMATOR, degrees_left, estimator_named
from pt_active.plans.answers.basis import SAMPLED
from pt_active.plans.answers.judged import SUFFICIENT_DEGREES
from pt_active.plans.answers.judged_documents import MAX_UNREACHED_SHARE
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import sample_of
from pt_active.sampling.drawings import can_serve_singles
from pt_active.sampling.pools import Variables


def interval_caution(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect from the number of its draws; empty if there is none."""
    if tables.manifest.census or len(tables.rounds) > 1:
        return ""
    if tables.rounds:
        degrees, unit = float(tables.rounds[0].sample.drawn.sum()) - 1, SAMPLED["document"]
    else:
        sample, unit = sample_of(tables), SAMPLED["query"]
        weights = sample.importance(tables.pool.query_weight)
        degrees = float(degrees_left(sample, weights, estimator_named(ESTIMATOR).fitted))
    if not degrees > 0:
        return "these are too few draws for an interval; a larger budget buys more"
    if degrees < SUFFICIENT_DEGREES:
        few = f"the error will be estimated from few {unit}, with {degrees:.1f} degrees of freedom"
        return f"{few}: a larger budget makes its interval more reliable"
    return ""


def single_rankers_caution(tables: PlanTables) -> str:
    """The caution that single rankers have no interval, if documents that matter to them alone are never judged."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.rounds or len(pool.names) == 1 or tables.manifest.later_rankers:
        return ""
    seen = seen_by(tables.measure, pool)
    if can_serve_singles(seen.form, arguments.design):
        return ""
    share = _unreached(tables)
    if not share > MAX_UNREACHED_SHARE:
        return ""
    return (
        f"the plan is for differences: single rankers will have no intervals, because {share:.0%} of the variance that "
        'the model expects of one lies in documents that are never judged; design="successive" judges some of them'
    )


def _unreached(tables: PlanTables) -> float:
    """The largest share of a ranker's variance in documents that are never judged, as the model expects it."""
    pool, tiny = tables.pool, np.finfo(float).tiny
    seen = seen_by(tables.measure, pool)
    variables = Variables.of(seen.form, pool.grades)
    variance = (seen.weight[seen.query] * seen.gradients(variables.mean)) ** 2 * variables.variance
    never = np.all([each.sample.design.inclusion == 0 for each in tables.rounds], axis=0)
    return float((variance[:, never].sum(axis=1) / np.maximum(variance.sum(axis=1), tiny)).max())
