"""How often the test of a comparison is wrong: type I and type II errors and p-values [AC Fig. 2, 3].

For the type I error the two rankers trade places at random in each query, so that they differ by chance alone [AC 4.2].
Type II error and mean p-value are for three pairs, by the order of the rankers on the training fold: the best against
the median one (clear), against the one halfway to it (middle), and against the second (near-tied). Tests have the level
.05; the reference distribution is the normal [T 3.24], t on n − 1 (the source), or t on the effective number of draws
(the package). The source's designs draw queries with replacement: passive, the active comparison (``optimal``) and the
mixture of two active risk estimations (``risk_mixture``).

    python examples/reproduce/type_errors.py POOL.parquet … --out FOLDER [--quick] [--measure ERR@10 DCG@10]

writes ``type_1_error`` and ``type_2_error``, each as ``.csv`` and ``.png``. The largest suitable data set, MSLR-WEB30k,
is on Microsoft's page of learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from figures import (
    METHODS,
    PASSIVE,
    PASSIVE_ONCE,
    asked_of_measures,
    averaged,
    budgets_for,
    error_curves,
    facts,
    legend_below,
    panels,
    print_facts,
    print_savings,
    replayed_rows,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib.figure import Figure

from pt_active.inference.replay import Method, Population, Replays, share_error
from pt_active.studies.simulate import labelled_population, replays

ALPHA = 0.05

REFERENCES = ("effective", "t", "normal")
"""t with the estimator's own degrees of freedom, t with ``n − 1`` [ARE], and the normal distribution [T 3.24]."""

SIZES = (0, 8, 15, 40, np.inf)
"""Budgets in average queries between which type I errors are averaged."""

COMPARED = {
    PASSIVE: METHODS[PASSIVE],
    "risk_mixture": Method("risk_mixture", "snis"),
    "optimal": METHODS["optimal"],
    "optimal + regression": METHODS["optimal + regression"],
    "assisted + regression": METHODS["assisted + regression"],
    PASSIVE_ONCE: METHODS[PASSIVE_ONCE],
    "hedged once + regression": METHODS["hedged once + regression"],
}
"""The source's three designs with its estimator, and the package's methods."""


def pairs_of(standing: list[str]) -> dict[str, list[str]]:
    """Pairs by name; with three rankers or fewer, the clear pair has the last one and there is no middle pair.

    Args:
        standing: Rankers from best to worst.
    """
    half = len(standing) // 2 if len(standing) > 3 else len(standing) - 1
    others = {"clear": half, "middle": half // 2, "near-tied": 1}
    if half < 4:
        del others["middle"]
    return {name: [standing[0], standing[other]] for name, other in others.items()}


def tested(population: Population, arguments: argparse.Namespace, null: bool) -> pd.DataFrame:
    """Share of rejections and mean p-value of every method, reference and budget.

    Args:
        population: Two systems.
        arguments: The command-line options.
        null: Whether the systems trade places; the null hypothesis is then the difference after trading.

    Returns:
        ``method, reference, step, budget`` (in average queries), ``rejected, rejected_se, pvalue, pvalue_se``.
    """
    budgets = budgets_for(population)
    replayed_methods = replays(
        population,
        COMPARED.values(),
        arguments.repetitions,
        budgets=budgets,
        seed=arguments.seed,
        null=null,
        progress=False,
    )
    rows = []
    for name, method in COMPARED.items():
        for reference in REFERENCES:
            pvalue = with_reference(replayed_methods[method], reference).pvalues(
                replayed_methods[method].truth if null else 0.0
            )
            columns = {"rejected": pvalue < ALPHA, "pvalue": pvalue}
            head = {"method": name, "reference": reference, "step": np.arange(len(budgets))}
            means = {key: value.mean(axis=1) for key, value in columns.items()}
            spread = {
                "rejected_se": share_error(means["rejected"], arguments.repetitions),
                "pvalue_se": columns["pvalue"].std(axis=1) / np.sqrt(arguments.repetitions),
            }
            rows.append(pd.DataFrame(head | {"budget": budgets / population.cost.mean()} | means | spread))
    return pd.concat(rows, ignore_index=True)


def with_reference(replayed: Replays, reference: str) -> Replays:
    """Replays with the degrees of freedom of another reference."""
    own = replayed.degrees
    degrees = {"effective": own, "t": replayed.n_draws - np.ones_like(own), "normal": np.full_like(own, np.inf)}
    return replace(replayed, degrees=degrees[reference])


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """`tested` of each measure and pair of one training fold, as they are and with traded places."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    for pair, rankers in pairs_of(pool.standing("DCG@10", train_fold)).items():
        for measure in arguments.measure:
            population = labelled_population(graded, measure, pool.cost, rankers)
            head = {"data": pool.name, "measure": measure, "pair": pair} | facts(population)
            for null in (False, True):
                yield tested(population, arguments, null).assign(null=null, **head)


def draw_type_1(table: pd.DataFrame) -> Figure:
    """Type I error by budget: one row per pool and measure, one column per reference."""
    rows = list(table[["data", "measure"]].drop_duplicates().itertuples(index=False, name=None))
    figure, axes = panels(len(rows), len(REFERENCES))
    figure.suptitle("Type I error: rankers that trade places at random")
    for line, (data, measure) in zip(axes, rows, strict=True):
        for axis, reference in zip(line, REFERENCES, strict=True):
            chosen = table[(table["data"] == data) & (table["measure"] == measure) & (table["reference"] == reference)]
            error_curves(axis, chosen, "rejected", list(COMPARED), f"type I error, level {ALPHA}")
            axis.axhline(ALPHA, color="black", linewidth=0.8, linestyle=":")
            axis.set_ylim(0, 0.2)
            axis.set_title(f"{data}, {measure}, {reference}")
    legend_below(figure, axes[0, 0])
    return figure


def draw_type_2(table: pd.DataFrame) -> Figure:
    """Type II error and p-value by budget: one row per pool and pair, one column per measure and value."""
    rows = list(table[["data", "pair"]].drop_duplicates().itertuples(index=False, name=None))
    values = {"type_2_error": f"type II error, level {ALPHA}", "pvalue": "mean p-value"}
    columns = [(value, measure) for value in values for measure in table["measure"].unique()]
    figure, axes = panels(len(rows), len(columns))
    figure.suptitle("Type II error and mean p-value of pairs of rankers (t on the effective number of draws)")
    for line, (data, pair) in zip(axes, rows, strict=True):
        for axis, (value, measure) in zip(line, columns, strict=True):
            chosen = table[(table["data"] == data) & (table["measure"] == measure) & (table["pair"] == pair)]
            error_curves(axis, chosen[chosen["reference"] == "effective"], value, list(COMPARED), values[value])
            axis.set_title(f"{data}, {pair}, {measure}")
    legend_below(figure, axes[0, 0])
    return figure


def print_type_1(table: pd.DataFrame) -> None:
    """Print the type I error, averaged over the budgets, by method and reference."""
    print(f"\nType I error at the level {ALPHA}, averaged over the budgets of at least 15 average queries:")
    large = table[table["budget"] >= 15]
    keys = ["data", "measure", "reference"]
    # The budgets of a sample are not independent, so the error of their mean is taken to be that of one.
    means = large.groupby([*keys, "method"], sort=False)[["rejected", "rejected_se"]].mean().reset_index()
    cells = [f"{share:.3f} ± {error:.3f}" for share, error in zip(means["rejected"], means["rejected_se"], strict=True)]
    print(means.assign(cell=cells).pivot(index=keys, columns="method", values="cell")[list(COMPARED)].to_string())
    print("\nThe same by average queries, averaged over data sets and measures:")
    by_size = table.assign(budget=pd.cut(table["budget"], SIZES, right=False))
    keys = ["data", "measure", "budget", "reference", "method"]
    shares = by_size.groupby(keys, observed=True)["rejected"].mean().groupby(keys[2:], observed=True).mean()
    print(shares.unstack("method")[list(COMPARED)].round(3).to_string())


def print_type_2(table: pd.DataFrame) -> None:
    """Print type II errors and p-values at one budget, and savings at equal type II error."""
    effective = table[table["reference"] == "effective"]
    print_savings(effective, ["data", "measure", "pair"], "type_2_error", "type II error")
    print("\nType II error / mean p-value at the largest budget of at most a quarter of the pool, effective reference:")
    chosen = effective[effective["budget"] <= effective["queries"] / 4]
    chosen = chosen[chosen["step"] == chosen.groupby(["data", "measure", "pair"])["step"].transform("max")]
    cells = [f"{e:.2f} / {p:.2f}" for e, p in zip(chosen["type_2_error"], chosen["pvalue"], strict=True)]
    wide = chosen.assign(cell=cells, budget=chosen["budget"].round().astype(int))
    wide = wide.pivot(index=["data", "measure", "pair", "budget"], columns="method", values="cell")
    print(wide[list(COMPARED)].to_string())


def main() -> None:
    """Replay, print the errors, and write the figures."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    keys = ["data", "measure", "method", "reference", "step"]
    first = averaged(rows[rows["null"]].drop(columns="null"), keys)
    second = averaged(rows[~rows["null"]].drop(columns="null"), [*keys, "pair"])
    second = second.assign(type_2_error=1 - second["rejected"], type_2_error_se=second["rejected_se"])
    print_type_1(first)
    print_type_2(second)
    print_facts(second, ["data", "measure", "pair"])
    write(first, draw_type_1(first), arguments.out, "type_1_error")
    write(second, draw_type_2(second), arguments.out, "type_2_error")


if __name__ == "__main__":
    main()
