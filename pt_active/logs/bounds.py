"""What do looks at any time need to know of queries that a plan does not keep?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.logs.partition import QueryRows, bounded_contrasts
from pt_active.plans.answers.units import QueryOrder, query_units, sums_after
from pt_active.plans.making.manifest import PlanArguments
from pt_active.plans.making.rest import Rest
from pt_active.sampling.chances import expected_size
from pt_active.sampling.designs import contrast_moments


def with_bounds(rest: Rest, rows: QueryRows, queries: pd.DataFrame, arguments: PlanArguments, rankers: int) -> Rest:
    """The same with what is needed for each contrast; as it is where nothing could be proved at any time."""
    priority, q, weight = (queries[c].to_numpy(dtype=np.float64) for c in ("q_priority", "q_prob", "q_weight"))
    order = np.argsort(priority, kind="stable")
    order = order[np.isfinite(priority[order])]
    drawn = int((queries["q_draws"].to_numpy() > 0).sum())
    never = np.ones(len(q), dtype=bool)
    never[order] = False
    reached = not ((rows.high > rows.low) & (weight > 0)[:, None])[never].any()
    if not len(rows.low.T) or not reached or len(order) <= drawn:
        return rest
    cost = rows.cost[order] if arguments.draws is None else np.ones(len(order))
    contrasts = []
    for column, contrast in enumerate(bounded_contrasts(rankers)):
        moments = contrast_moments(rows.moments, contrast.first, contrast.second)
        bounds = rows.low[:, column], rows.high[:, column]
        units = query_units(QueryOrder(order, q[order]), moments, bounds, weight)
        contrasts.append(sums_after(units, drawn, contrast))
    expected = expected_size(q[order], cost, float(arguments.budget or arguments.draws or 0))
    return replace(rest, units=len(order), expected_draws=expected, contrasts=tuple(contrasts))
