"""Judging documents against judging whole queries, on labelled pools: label-equivalents and coverage.

The script replays one ranker, a clear pair and a near-tied pair, by DCG@10 and ERR@10, with a fitted grade model, at
equal numbers of judged documents. All results are relative to a plain random sample of queries without replacement.
`document_worst` has spoilt models and costs of opening a query.

    python document_league.py mq2007-agg.parquet mq2008.parquet --evidence FOLDER

``--quick`` takes one training fold and few repetitions. With ``--keep FOLDER`` a run goes on where an
earlier one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from evidence import markdown
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import (
    DRAWS,
    LARGEST_SHARE,
    averaged,
    budget_of,
    covered,
    folds_of,
    parser_of,
    rows_of_folds,
    tasks,
    written,
)

from pt_active.inference.replay import YARDSTICK, Method, Population, share_columns
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("DCG@10", "ERR@10")

BUDGETS = {"mq2007-agg": (1000.0, 3000.0)}
"""Pool → numbers of judged documents; other pools use the cost of 60 average queries, or half of the pool."""


def methods(population: Population) -> dict[str, Method]:
    """Whole queries and documents, drawn as plans draw them by default."""
    if population.single is None:
        raise ValueError("the measure does not allow the judging of single documents")
    return {
        "queries, default": Method("hedged", "regression", with_replacement=False),
        "documents": Method(population.single.graded.usual_drawing, "regression", False),
    }


def budgets(pool: JudgedPool, population: Population) -> dict[str, float]:
    """Budget in words → budget in documents."""
    if pool.name in BUDGETS:
        return {f"{budget:,.0f}": budget for budget in BUDGETS[pool.name]}
    budget = budget_of(population)
    return {f"{DRAWS} queries" if budget < LARGEST_SHARE * population.cost.sum() else "half": budget}


def rows_of(pool: JudgedPool, fold: int, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """One row per method and cell of one training fold."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for measure in MEASURES:
        for task, rankers in tasks(pool, fold).items():
            population = labelled_population(graded, measure, rankers=rankers)
            for said, budget in budgets(pool, population).items():
                head = {"data": pool.name, "measure": measure, "task": task, "budget": said}
                yield from (head | row for row in _compared(population, budget, repetitions, seed))


def _compared(population: Population, budget: float, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    chosen = methods(population)
    found = replays(population, [YARDSTICK, *chosen.values()], repetitions, budgets=[budget], seed=seed, progress=False)
    squared = {method: found[method].error ** 2 for method in found}
    spread = {method: each.var() / each.size / each.mean() ** 2 for method, each in squared.items()}
    for name, method in chosen.items():
        yield {
            "method": name,
            "ratio": squared[YARDSTICK].mean() / squared[method].mean(),
            "relative_error": float(np.sqrt(spread[YARDSTICK] + spread[method])),
            **share_columns("coverage", covered(found[method], *found[method].intervals(0.95)), repetitions),
        }


TABLES = ("documents-league",)
KEYS = ["data", "measure", "task", "budget"]


def league(arguments: argparse.Namespace) -> pd.DataFrame:
    """One row per cell and method, averaged over the training folds."""
    repetitions = 20 if arguments.quick else arguments.repetitions
    folds = {
        f"{pool.name}, fold {fold}": partial(rows_of, pool, fold, repetitions, arguments.seed)
        for pool in map(read_judged_pool, arguments.pools)
        for fold in folds_of(pool, arguments)
    }
    return averaged(rows_of_folds(folds, arguments), [*KEYS, "method"])


def page(table: pd.DataFrame) -> str:
    """Label-equivalents (coverage in brackets), one column per method, with what is said of them."""
    cells = [f"{r:.2f} ({c:.3f})".replace("(0", "(") for r, c in zip(table["ratio"], table["coverage"], strict=True)]
    pivot = table.assign(cell=cells).pivot(index=KEYS, columns="method", values="cell")
    order = table[KEYS].drop_duplicates().itertuples(index=False, name=None)
    pivot = pivot.reindex(order)[list(dict.fromkeys(table["method"]))]
    error, relative = table["coverage_se"].max(), table["relative_error"].max()
    said = f"Monte Carlo errors of coverage are up to {error:.3f}, those of label-equivalents up to {relative:.0%}."
    return f"Means over the training folds. {said}\n\n{markdown(pivot.reset_index())}"


def main() -> None:
    """Replay everything, print the table, and write the requested files."""
    parser = parser_of(__doc__, repetitions=200, quick="one training fold of each pool, 20 repetitions")
    print(page(written(parser.parse_args(), league, page, *TABLES)))


if __name__ == "__main__":
    main()
