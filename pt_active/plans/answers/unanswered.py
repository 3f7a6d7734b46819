"""What will a plan not answer, however its labels turn out?"""

from __future__ import annotations

import numpy as np

from pt_active.plans.answers.judged_documents import MAX_UNREACHED_SHARE
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import seen_by
from pt_active.sampling.drawings import can_serve_singles
from pt_active.sampling.pools import Variables


def unanswered(tables: PlanTables) -> str:
    """Says that single rankers will have no interval, if documents that matter to them alone are never judged."""
    arguments, pool = tables.manifest.arguments, tables.pool
    if not tables.rounds or len(pool.names) == 1 or tables.manifest.later_rankers:
        return ""
    seen = seen_by(tables.measure, pool)
    if can_serve_singles(seen.form, arguments.design, arguments.per_query):
        return ""
    share = _unreached(tables)
    if not share > MAX_UNREACHED_SHARE:
        return ""
    return (
        f"the plan is for differences: single rankers will have no intervals, because {share:.0%} of the variance that "
        'the model expects of one lies in documents that are never judged; design="spread" judges some of them'
    )


def _unreached(tables: PlanTables) -> float:
    """The largest share of a ranker's variance in documents that are never judged, as the model expects it."""
    pool, tiny = tables.pool, np.finfo(float).tiny
    if rest := tables.manifest.rest:
        singles = [rest.of(s, None) for s in range(len(pool.names))]
        return max(each.unreached / max(each.variance, tiny) for each in singles)
    seen = seen_by(tables.measure, pool)
    variables = Variables.of(seen.form, pool.grades)
    variance = (seen.weight[seen.query] * seen.gradients(variables.mean)) ** 2 * variables.variance
    never = np.all([each.sample.design.inclusion == 0 for each in tables.rounds], axis=0)
    return float((variance[:, never].sum(axis=1) / np.maximum(variance.sum(axis=1), tiny)).max())
