"""How far off plans of single documents are for nDCG@10 and AP, and whether their errors are stated right.

    python revealed_coverage.py mq2008.parquet lambdarank.parquet --evidence FOLDER

Replays plans at a tenth of all judgments on labelled pools, with the grades of a random forest. *spent* is the share of
the budget, *bias* the mean error in standard errors of that mean, *SE / RMSE* the mean standard error over the root
mean squared error, and *coverage* that of 95 % intervals by t with the degrees of freedom of the estimate.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import covered, tasks, with_error

from pt_active.inference.replay import Method
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("nDCG@10", "AP")
TASKS = ("one ranker", "near-tied pair")
METHOD = Method("depth", "difference", False)
TABLES = ("revealed-coverage",)


def rows_of(pool: JudgedPool, share: float, repetitions: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """One row per measure and task."""
    fold = pool.train_folds[0]
    graded, chosen = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold), tasks(pool, fold)
    for measure in MEASURES:
        for task in TASKS:
            population = labelled_population(graded, measure, rankers=chosen[task], samples=10)
            budget = share * population.cost.sum()
            found = replays(population, [METHOD], repetitions, budgets=[budget], seed=seed, progress=False)[METHOD]
            error, rmse = found.error[0], float(np.sqrt((found.error[0] ** 2).mean()))
            stated = found.standard_error[0].mean() / rmse
            yield {
                "data": pool.name,
                "measure": measure,
                "task": task,
                "judgments": f"{budget:,.0f}",
                "spent": f"{found.spent.mean() / budget:.1%}",
                "RMSE": f"{rmse:.4f}",
                "bias": f"{error.mean() / error.std() * np.sqrt(repetitions):+.1f}",
                "SE / RMSE": f"{stated:.2f} ± {stated / np.sqrt(2 * repetitions):.2f}",
                "coverage": with_error(covered(found, *found.intervals(0.95)), repetitions),
            }


def main() -> None:
    """Replay, and print the table or put it into a page."""
    parser = parser_with(__doc__, pools="+", repetitions=200)
    parser.add_argument("--share", type=float, default=0.1, help="the budget as a share of all judgments")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    for path in arguments.pools:
        rows += rows_of(read_judged_pool(path), arguments.share, arguments.repetitions)
    text = markdown(pd.DataFrame(rows))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
