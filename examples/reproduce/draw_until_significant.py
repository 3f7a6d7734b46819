"""Drawing until a test is significant: what it costs and how often it is wrong [T Table 5.1].

Queries are drawn until a test at level .05 finds a difference of two rankers, or half of the pool has been paid for.
The source reports the labels spent and the share of wrong winners. In a null pair the rankers trade places at random in
each query, so every winner is false, and there are more than 5 % of them: drawing until significance is NOT A TEST AT
LEVEL .05.

    python examples/reproduce/draw_until_significant.py POOL.parquet … --out FOLDER [--quick] [--measure ERR@10 DCG@10]

writes ``draw_until_significant.csv`` and ``.png``. The pairs are those of ``type_errors.py``. The largest suitable data
set, MSLR-WEB30k, is on Microsoft's page of learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool
of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from figures import COLOURS, asked_of_measures, averaged, legend_below, panels, replayed_rows, write
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib.figure import Figure
from type_errors import ALPHA, COMPARED, pairs_of

from pt_active.inference.replay import Population, Replays, share_columns
from pt_active.studies.simulate import labelled_population, replays

FIRST_LOOK, LOOKS = 15.0, 25
"""The first look, in average queries, and the number of looks, at equal steps from it to half of the pool."""

NULL = "null"
"""Name of the near-tied pair with rankers that trade places."""

METHODS_SHOWN = {name: method for name, method in COMPARED.items() if method.design != "assisted"}
"""The methods of ``type_errors.py`` without ``assisted``, to save time."""


def ends(population: Population, arguments: argparse.Namespace, null: bool) -> pd.DataFrame:
    """How the samples of the `METHODS_SHOWN` methods end.

    Args:
        population: Two systems.
        arguments: The command-line options.
        null: Whether the systems trade places.

    Returns:
        ``method``; ``resolved``, the share of samples with a winner, and ``wrong``, with a wrong one, both with their
        standard errors; ``spent``, in average queries; ``judged``, in documents.
    """
    cost = population.cost
    looks = np.linspace(max(FIRST_LOOK * cost.mean(), cost.max()), cost.sum() / 2, LOOKS)
    settings = {"budgets": list(looks), "seed": arguments.seed, "null": null, "progress": False}
    found = replays(population, METHODS_SHOWN.values(), arguments.repetitions, **settings)
    table = pd.DataFrame([{"method": name} | ending(found[method], null) for name, method in METHODS_SHOWN.items()])
    return table.assign(spent=table["spent"] / cost.mean())


def ending(found: Replays, null: bool) -> dict[str, object]:
    """Shares of resolved and wrong samples of one method, and their mean costs when drawing ends [T Table 5.1].

    People often stop this way, but the procedure is not a test: with ``null`` any winner is wrong.
    """
    significant = found.pvalues(found.truth if null else 0.0) < ALPHA
    resolved = significant.any(axis=0)
    at, sample = np.where(resolved, significant.argmax(axis=0), len(significant) - 1), np.arange(significant.shape[1])
    wrong = resolved & (null | (np.sign(found.estimate[at, sample]) != np.sign(found.truth)))
    shares = share_columns("resolved", resolved.mean(), len(sample)) | share_columns("wrong", wrong.mean(), len(sample))
    return shares | {"spent": found.spent[at, sample].mean(), "judged": found.n_judged[at, sample].mean()}


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """`ends` of each pair and measure of one training fold."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    pairs = pairs_of(pool.standing("DCG@10", train_fold))
    for pair, rankers in {**pairs, NULL: pairs["near-tied"]}.items():
        for measure in arguments.measure:
            population = labelled_population(graded, measure, pool.cost, rankers)
            table = ends(population, arguments, null=pair == NULL)
            yield table.assign(data=pool.name, measure=measure, pair=pair, queries=len(population.cost))


def draw(table: pd.DataFrame) -> Figure:
    """Bars of labels spent and wrong winners by method: a row per pool, a column per measure and value."""
    names, measures = table["data"].unique(), table["measure"].unique()
    values = {"spent": "labels spent (average queries)", "wrong": "share of wrong winners"}
    cells = [(name, value, measure) for name in names for value in values for measure in measures]
    figure, axes = panels(len(names), len(values) * len(measures))
    figure.suptitle(f"Drawing until p < {ALPHA} or half of the pool is judged; in a null pair each winner is wrong")
    for axis, (name, value, measure) in zip(axes.flat, cells, strict=True):
        chosen = table[(table["data"] == name) & (table["measure"] == measure)]
        pairs = list(chosen["pair"].unique())
        for number, method in enumerate(METHODS_SHOWN):
            bars = chosen[chosen["method"] == method]
            place = np.arange(len(pairs)) + 0.8 * ((number + 0.5) / len(METHODS_SHOWN) - 0.5)
            spread = 2 * bars[f"{value}_se"] if value == "wrong" else None
            axis.bar(place, bars[value], 0.8 / len(METHODS_SHOWN), yerr=spread, color=COLOURS[method], label=method)
        if value == "wrong":
            axis.axhline(ALPHA, color="black", linewidth=0.8, linestyle=":")
        axis.set_xticks(range(len(pairs)), pairs)
        axis.set_ylabel(values[value])
        axis.set_title(f"{name}, {measure}")
    legend_below(figure, axes[0, 0])
    return figure


def print_ends(table: pd.DataFrame) -> None:
    """Print the results of each method, and a warning that the procedure is not a test."""
    print("\nLabels spent (average queries) | share of samples with a winner | with a wrong winner:")
    columns = zip(*(table[name] for name in ("spent", "resolved", "wrong", "wrong_se")), strict=True)
    cells = [f"{spent:.0f} | {found:.0%} | {wrong:.1%} ± {error:.1%}" for spent, found, wrong, error in columns]
    wide = table.assign(cell=cells).pivot(index=["data", "measure", "pair"], columns="method", values="cell")
    order = table[["data", "measure", "pair"]].drop_duplicates().itertuples(index=False, name=None)
    print(wide.reindex(order)[list(METHODS_SHOWN)].to_string())
    false = table[table["pair"] == NULL]["wrong"]
    print(
        f"\nWARNING: drawing until p < {ALPHA} is not a test at level {ALPHA}. Where there was no difference it found "
        f"one in {false.min():.0%} to {false.max():.0%} of the samples. Fix the budget before, or spend alpha over "
        "planned looks."
    )


def main() -> None:
    """Replay, print the results, and write the figure."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    table = averaged(rows, ["data", "measure", "pair", "method"])
    print_ends(table)
    write(table, draw(table), arguments.out, "draw_until_significant")


if __name__ == "__main__":
    main()
