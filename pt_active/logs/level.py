"""Single documents or whole queries, from a part of runs that do not fit into memory [theory 10]?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.logs.partition import Question, partition_pool
from pt_active.plans.answers.forecast import Forecast
from pt_active.plans.answers.level import level_by_part, rows_to_compare
from pt_active.plans.making.manifest import LevelChoice
from pt_active.plans.making.rankers import Pairs, pair_weights


def queries_to_compare(qids: np.ndarray) -> np.ndarray:
    """int64[n], the queries by which levels are compared.

    Shapes: qids object[m].
    """
    return rows_to_compare(len(qids)) if len(qids) else np.empty(0, dtype=np.int64)


def chosen_from(
    graded: pd.DataFrame,
    weight: np.ndarray,
    question: Question,
    budget: float | None,
    defensive: float | None,
    pairs: Pairs | None,
) -> LevelChoice:
    """The choice that `level_chosen` makes in memory.

    Shapes: weight float64[m].
    """
    pool = partition_pool(graded, question)
    own = weight[rows_to_compare(len(weight))]
    pool = replace(pool, query_weight=own / own.sum())
    forecast = Forecast(pool, question.parsed(pool.max_grade), float(question.cost.per_query))
    return level_by_part(forecast, len(weight), budget, defensive, pair_weights(pairs, pool.names))
