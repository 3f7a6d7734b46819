"""Which queries the active designs draw, and how many [T Fig. 6.5].

The first figure shows how often the ``optimal`` design draws a query, relative to passive sampling, by the cost of the
query and the grade model's expectation, for the best ranker of the training fold and for its difference from the median
one. The second shows how many distinct queries a budget pays for, with the source's designs, which draw with
replacement, and with the package's. Costs are the source's (logarithms of document lengths) if the pool has lengths;
otherwise each document costs 1.

    python examples/reproduce/sampling_distribution.py POOL.parquet … --out FOLDER [--quick] [--measure DCG@10 ERR@10]

writes ``sampling_distribution`` and ``distinct_queries``, each as ``.csv`` and ``.png``. The source's own data are
MSLR-WEB30k, from Microsoft's page of learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from figures import (
    DEFENSIVE_SHARE,
    METHODS,
    asked_of_measures,
    averaged,
    budgets_for,
    error_curves,
    jobs_of,
    legend_below,
    panels,
    with_ratio,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from type_errors import pairs_of

from pt_active.inference.replay import Population
from pt_active.studies.simulate import labelled_population, replays

TASKS = ("one ranker", "pair")
"""The estimated quantities."""

DRAWN = {name: method for name, method in METHODS.items() if name != "optimal + regression"}
"""One method per design, since the estimator does not affect the draws."""

COLOUR_RANGE = (0.25, 4.0)
"""Range of the colours, as multiples of passive sampling."""

GRID_COLUMNS = 24
"""Cells of the heat map along the horizontal axis."""


def populations(
    pool: JudgedPool, train_fold: int, arguments: argparse.Namespace
) -> Iterator[tuple[dict[str, object], Population]]:
    """Measure, task and population of the best ranker and of the clear pair."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    pair = pairs_of(pool.standing("DCG@10", train_fold))["clear"]
    for measure in arguments.measure:
        for task, rankers in zip(TASKS, (pair[:1], pair), strict=True):
            head = {"data": pool.name, "measure": measure, "task": task, "train_fold": train_fold}
            yield head, labelled_population(graded, measure, pool.cost, rankers)


def distribution_rows(population: Population) -> pd.DataFrame:
    """One row per query: ``cost`` (in average queries), ``expected`` and ``relative``, q ÷ p of ``optimal``."""
    q = population.distribution("optimal", DEFENSIVE_SHARE)
    cost = population.cost / population.cost.mean()
    return pd.DataFrame({"cost": cost, "expected": population.model, "relative": q / population.weight})


def count_rows(population: Population, repetitions: int, seed: int) -> pd.DataFrame:
    """One row per design and budget.

    Args:
        population: One or two systems.
        repetitions: Samples of each design.
        seed: Random seed of the draws.

    Returns:
        ``method, step, budget`` (in average queries), ``queries`` (distinct) with its standard error, and ``draws``.
    """
    budgets = budgets_for(population)
    replayed = replays(population, DRAWN.values(), repetitions, budgets=budgets, seed=seed, progress=False)
    head = {"step": np.arange(len(budgets)), "budget": budgets / population.cost.mean()}
    rows = []
    for name, method in DRAWN.items():
        queries = replayed[method].n_queries
        spread = queries.std(axis=1) / np.sqrt(repetitions)
        means = {"queries": queries.mean(axis=1), "queries_se": spread, "draws": replayed[method].n_draws.mean(axis=1)}
        rows.append(pd.DataFrame({"method": name} | head | means))
    return pd.concat(rows, ignore_index=True)


def heat_map(axis: Axes, rows: pd.DataFrame) -> PolyCollection:
    """Mean of ``relative`` over cost and expectation; cells without a query stay empty."""
    cells = axis.hexbin(
        rows["cost"],
        rows["expected"],
        C=rows["relative"],
        reduce_C_function=np.mean,
        gridsize=(GRID_COLUMNS, GRID_COLUMNS // 2),
        mincnt=1,
        norm=LogNorm(*COLOUR_RANGE),
        cmap="coolwarm",
        linewidths=0.1,
    )
    axis.set_xlabel("cost of the query (average queries)")
    return cells


def draw_distribution(table: pd.DataFrame) -> Figure:
    """One row per pool, one column per task and measure."""
    names = table["data"].unique()
    columns = [(task, measure) for task in TASKS for measure in table["measure"].unique()]
    figure, axes = panels(len(names), len(columns))
    figure.suptitle("The optimal design: how often a query is drawn, relative to passive sampling")
    for line, name in zip(axes, names, strict=True):
        for axis, (task, measure) in zip(line, columns, strict=True):
            chosen = (table["data"] == name) & (table["measure"] == measure) & (table["task"] == task)
            colours = heat_map(axis, table[chosen])
            axis.set_ylabel(f"expected {measure}" + (" difference" if task == "pair" else ""))
            axis.set_title(f"{name}, {measure}, {task}")
    bar = figure.colorbar(colours, ax=axes, shrink=0.6, extend="both", label="q / p (mean of the queries of a cell)")
    bar.set_ticks([0.25, 0.5, 1, 2, 4], labels=["1/4", "1/2", "1", "2", "4"])
    bar.ax.yaxis.set_minor_locator(ticker.NullLocator())
    return figure


def draw_counts(table: pd.DataFrame) -> Figure:
    """Distinct queries relative to passive sampling; one row per pool, one column per task and measure."""
    names = table["data"].unique()
    columns = [(task, measure) for task in TASKS for measure in table["measure"].unique()]
    figure, axes = panels(len(names), len(columns))
    figure.suptitle("Distinct queries that a budget pays for, relative to passive sampling with replacement")
    for line, name in zip(axes, names, strict=True):
        for axis, (task, measure) in zip(line, columns, strict=True):
            chosen = (table["data"] == name) & (table["measure"] == measure) & (table["task"] == task)
            error_curves(axis, table[chosen], "ratio", list(DRAWN), "distinct queries ÷ passive's")
            axis.set_title(f"{name}, {measure}, {task}")
    legend_below(figure, axes[0, 0])
    return figure


def print_distribution(table: pd.DataFrame) -> None:
    """Print rank correlations of q, and how far it is from uniform."""
    rows = {}
    for key, chosen in table.groupby(["data", "measure", "task"], sort=False):
        relative, distance = chosen["relative"], (chosen["expected"] - chosen["expected"].mean()).abs()
        largest = relative[relative >= relative.quantile(0.9)]
        rows[key] = {
            "cost": relative.corr(chosen["cost"], "spearman"),
            "expected": relative.corr(chosen["expected"], "spearman"),
            "distance from the mean": relative.corr(distance, "spearman"),
            "mass of the top tenth": largest.sum() / relative.sum(),
        }
    print("\nRank correlations of q with cost, with what is expected and how far that is from the mean; its top tenth:")
    print(pd.DataFrame(rows).T.round(2).to_string())


def print_counts(table: pd.DataFrame) -> None:
    """Print distinct queries relative to passive sampling."""
    print("\nDistinct queries ÷ those of passive sampling, mean over the budgets:")
    wide = table.pivot_table("ratio", "method", ["data", "measure", "task"], sort=False)
    print(wide.round(2).to_string())


def main() -> None:
    """Compute the distributions, count the queries they draw, print summaries, and write the figures."""
    arguments = asked_of_measures(__doc__)
    queries, counts = [], []
    for pool, fold in jobs_of(arguments):
        for head, population in populations(pool, fold, arguments):
            queries.append(distribution_rows(population).assign(**head))
            counts.append(count_rows(population, arguments.repetitions, arguments.seed + fold).assign(**head))
    distribution = pd.concat(queries)
    keys = ["data", "measure", "task", "step"]
    table = averaged(pd.concat(counts).drop(columns="train_fold"), [*keys, "method"])
    table = with_ratio(table, keys, "queries")
    print_distribution(distribution)
    print_counts(table)
    write(distribution, draw_distribution(distribution), arguments.out, "sampling_distribution")
    write(table, draw_counts(table), arguments.out, "distinct_queries")


if __name__ == "__main__":
    main()
