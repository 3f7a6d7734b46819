"""Is a plan large enough for intervals, and which will there be none of?"""

from __future__ import annotations

import numpy as np

from pt_active.inference.estimators import ESTIMATOR, degrees_left, estimator_named
from pt_active.plans.answers.basis import SAMPLED, SUFFICIENT_DEGREES
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import sample_of
from pt_active.sampling.drawings import can_serve_singles


def interval_caution(tables: PlanTables) -> str:
    """The caution that an interval of the plan is to expect from the number of its draws; empty if there is none."""
    if tables.manifest.census:
        return ""
    if tables.documents:
        sample = tables.documents.sample
        unit = SAMPLED["query" if sample.design.nested else "document"]  # Labels from the top of a query err together
        opened = len(np.unique(tables.pool.query_of_document[sample.drawn]))
        degrees = float(opened if sample.design.nested else sample.drawn.sum()) - 1
    else:
        queries, unit = sample_of(tables), SAMPLED["query"]
        weights = queries.importance(tables.pool.query_weight)
        degrees = float(degrees_left(queries, weights, estimator_named(ESTIMATOR).fitted))
    if not degrees > 0:
        return "these are too few draws for an interval; a larger budget buys more"
    if degrees < SUFFICIENT_DEGREES:
        few = f"the error will be estimated from few {unit}, with {degrees:.1f} degrees of freedom"
        return f"{few}: a larger budget makes its interval more reliable"
    return ""


def single_rankers_caution(tables: PlanTables) -> str:
    """The caution that single rankers may have no interval, if documents that matter to them alone are never judged."""
    pool, design = tables.pool, tables.manifest.arguments.design
    if tables.documents is None or len(pool.names) == 1 or tables.manifest.later_rankers:
        return ""
    never = tables.documents.sample.design.inclusion == 0
    served = can_serve_singles(seen_by(tables.measure, pool).form, design)
    if served or not (never & pool.seen(tables.measure)).any():
        return ""
    return (
        "the plan is for differences: single rankers may have no intervals, because some documents that matter to them "
        'alone are never judged; design="successive" judges them'
    )
