"""How far off a sample's estimate of one ranker is, over the labelling budget [T Fig. 6.2].

The ranker is the best of the training fold. The script replays the source's active estimation (``optimal``, `snis`),
its passive sampling with replacement, its baselines and the package's methods, with grades from a random forest and
from an ordered logit. The source saves 10 to 20 % of the labels against passive sampling with replacement. Costs are
the source's (logarithms of document lengths) if the pool has lengths; otherwise each document costs 1.

    python examples/reproduce/estimation_error.py POOL.parquet … --out FOLDER [--quick] [--measure DCG@10 ERR@10]

writes ``estimation_error.csv`` and ``estimation_error.png``. The source's own data are MSLR-WEB30k, from Microsoft's
page of learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from figures import (
    METHODS,
    asked_of_measures,
    asymptotic_savings,
    averaged,
    budgets_for,
    error_curves,
    error_rows,
    legend_below,
    panels,
    print_asymptotic,
    print_means,
    print_savings,
    replayed_rows,
    with_ratio,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib.figure import Figure

from pt_active.inference.replay import Population
from pt_active.studies.simulate import labelled_population

FACTS = ["queries", "mean", "relative_spread", "correlation", "cost_spread"]

RATIO_RANGE = (0.4, 1.4)
"""Range of the axis of ratios to passive sampling's error; tiny samples have occasional huge errors."""


def facts_of_one(population: Population) -> dict[str, float]:
    """Facts that make one ranker easy or hard to estimate.

    Args:
        population: One system.

    Returns:
        ``queries``; ``mean`` of the measure; ``relative_spread``, its standard deviation ÷ its mean; ``correlation`` of
        the measure with the grade model's expectation; ``cost_spread``, the coefficient of variation of the cost.
    """
    value, cost = population.target, population.cost
    return {
        "queries": len(cost),
        "mean": population.truth,
        "relative_spread": value.std() / population.truth,
        "correlation": float(np.corrcoef(value, population.model)[0, 1]),
        "cost_spread": cost.std() / cost.mean(),
    }


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """Errors over the budget for each grade model and measure of one training fold."""
    ranker = pool.standing("DCG@10", train_fold)[0]
    for name, model in GRADE_MODELS.items():
        graded = pool.graded(model(pool.max_grade), train_fold)
        for measure in arguments.measure:
            population = labelled_population(graded, measure, pool.cost, [ranker])
            budgets, seed = budgets_for(population), arguments.seed + train_fold
            rows = error_rows(population, METHODS, budgets, arguments.repetitions, seed)
            head = facts_of_one(population) | asymptotic_savings(population)
            yield rows.assign(data=pool.name, measure=measure, grades=name, **head)


def draw(table: pd.DataFrame) -> Figure:
    """One row per pool and measure; for each grade model the error, absolute and relative to passive sampling."""
    rows = list(table[["data", "measure"]].drop_duplicates().itertuples(index=False, name=None))
    columns = [(grades, value) for grades in GRADE_MODELS for value in ("mae", "ratio")]
    figure, axes = panels(len(rows), len(columns))
    figure.suptitle("Estimation error of the best ranker")
    for line, (data, measure) in zip(axes, rows, strict=True):
        for axis, (grades, value) in zip(line, columns, strict=True):
            chosen = table[(table["data"] == data) & (table["measure"] == measure) & (table["grades"] == grades)]
            label = f"mean absolute error of {measure}" if value == "mae" else "error ÷ passive's"
            error_curves(axis, chosen, value, list(METHODS), label)
            if value == "mae":
                axis.set_yscale("log")
            else:
                axis.set_ylim(np.clip(axis.get_ylim(), *RATIO_RANGE))
            axis.set_title(f"{data}, {measure}, {grades}")
    legend_below(figure, axes[0, 0])
    return figure


def main() -> None:
    """Replay, print the savings, and write the figure."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    keys = ["data", "measure", "grades"]
    table = with_ratio(averaged(rows, [*keys, "method", "step"]), [*keys, "step"], "mae")
    print_savings(table, keys, "mae", "mean absolute error")
    print_means(table, keys, FACTS, "What was estimated")
    print_asymptotic(table, keys)
    write(table, draw(table), arguments.out, "estimation_error")


if __name__ == "__main__":
    main()
