"""How often a sample favours the worse of two rankers, over the labelling budget [T Fig. 6.3].

The pairs come from the order of the rankers on the training fold: the best against the median one (clear), against the
one halfway to it (middle), and against the second (near-tied). The script replays the source's active comparison
(``optimal``, `snis`), its passive sampling with replacement, its baselines and the package's methods. The source saves
30 to 55 % of the labels against passive sampling with replacement. Costs are the source's (logarithms of document
lengths) if the pool has lengths; otherwise each document costs 1.

    python examples/reproduce/model_selection_error.py POOL.parquet … --out FOLDER [--quick] [--measure DCG@10 ERR@10]

writes ``model_selection_error.csv`` and ``model_selection_error.png``. The source's own data are MSLR-WEB30k, from
Microsoft's page of learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pandas as pd
from figures import (
    ERRORS,
    METHODS,
    asked_of_measures,
    asymptotic_savings,
    averaged,
    budgets_for,
    error_curves,
    error_rows,
    facts,
    legend_below,
    panels,
    print_comparison,
    replayed_rows,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib.figure import Figure
from type_errors import pairs_of

from pt_active.studies.simulate import labelled_population


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """Errors over the budget for each pair and measure of one training fold."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    for pair, rankers in pairs_of(pool.standing("DCG@10", train_fold)).items():
        for measure in arguments.measure:
            population = labelled_population(graded, measure, pool.cost, rankers)
            budgets, seed = budgets_for(population), arguments.seed + train_fold
            rows = error_rows(population, METHODS, budgets, arguments.repetitions, seed)
            head = facts(population) | asymptotic_savings(population)
            yield rows.assign(data=pool.name, measure=measure, pair=pair, **head)


def draw(table: pd.DataFrame) -> Figure:
    """One row per pool and measure, one column per pair."""
    rows = list(table[["data", "measure"]].drop_duplicates().itertuples(index=False, name=None))
    pairs = table["pair"].unique()
    figure, axes = panels(len(rows), len(pairs))
    figure.suptitle("Model selection error: share of samples that favour the worse ranker")
    for line, (data, measure) in zip(axes, rows, strict=True):
        for axis, pair in zip(line, pairs, strict=True):
            chosen = table[(table["data"] == data) & (table["measure"] == measure) & (table["pair"] == pair)]
            if chosen.empty:
                axis.set_axis_off()
                continue
            error_curves(axis, chosen, "selection_error", list(METHODS), ERRORS["selection_error"])
            axis.set_ylim(0)
            axis.set_title(f"{data}, {measure}, {pair}")
    legend_below(figure, axes[0, 0])
    return figure


def main() -> None:
    """Replay, print the savings, and write the figure."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    keys = ["data", "measure", "pair"]
    table = averaged(rows, [*keys, "method", "step"])
    print_comparison(table, keys)
    write(table, draw(table), arguments.out, "model_selection_error")


if __name__ == "__main__":
    main()
