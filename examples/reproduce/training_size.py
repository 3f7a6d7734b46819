"""Two rankers, one trained on more queries: how often a sample picks the worse one [T Fig. 6.4 centre and right].

The rankers are random forests that predict the grade from the pool's ``features``. They are trained on random parts of
the training fold and replayed on the other folds. In the centre of the source's figure one has twice the training
queries, and the active comparison saves 45 % of the labels for ERR and 30 % for DCG against passive sampling with
replacement. On the right the budget is fixed and the training sizes vary.

    python examples/reproduce/training_size.py POOL.parquet … --out FOLDER [--quick] [--measure ERR@10 DCG@10]

writes ``training_size.csv`` and ``.png`` (errors over the budget), and ``training_size_fixed_budget.csv`` and ``.png``
(over the ratio of the sizes, the larger being the whole training fold, and over the larger size at a ratio of 2). The
source's own data are MSLR-WEB30k, from Microsoft's page of learning-to-rank data sets;
``data_scripts/letor_to_pool.py`` makes a pool of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from figures import (
    ERRORS,
    METHODS,
    PASSIVE,
    PASSIVE_ONCE,
    asked_of_measures,
    asymptotic_savings,
    averaged,
    budgets_for,
    comparison_figure,
    error_curves,
    error_rows,
    facts,
    legend_below,
    panels,
    print_comparison,
    replayed_rows,
    settings_of,
    train_folds,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestRegressor

from pt_active.studies.simulate import labelled_population

PARTS = 10
"""Random parts of the training folds; the figures average over them (one per fold with ``--quick``)."""

RATIOS = (1.25, 1.5, 2.0, 4.0, 8.0)
"""Ratios of the training sizes when the larger ranker has the whole training fold."""

SHARES = (0.125, 0.25, 0.5, 1.0)
"""Shares of the training fold that the larger ranker has when the ratio is 2."""

FIXED_BUDGET = 60
"""The fixed budget in average queries; at most half of the pool."""

SHOWN = (PASSIVE, PASSIVE_ONCE, "active_uniform_grades", "optimal", "optimal + regression", "hedged once + regression")
"""Methods in the figures of the fixed budget."""


def pairs() -> list[tuple[str, float, float, float]]:
    """The varied quantity, its value, and the shares of the training fold on which the two rankers are trained."""
    return [("ratio", ratio, 1 / ratio, 1.0) for ratio in RATIOS] + [("size", s, s / 2, s) for s in SHARES]


def rankings(train: pd.DataFrame, rest: pd.DataFrame, seed: int) -> dict[float, pd.Series]:
    """Train a ranker on each share of the training queries that `pairs` needs.

    Args:
        train: ``qid, features, label``.
        rest: The documents to rank: ``qid, features``.
        seed: Random seed of the order of the training queries and of the forests. Larger shares include smaller ones.

    Returns:
        Share → ranks from 0, with the index of ``rest``.
    """
    qids = np.random.default_rng(seed).permutation(np.sort(train["qid"].unique()))
    ranks = {}
    for share in sorted({share for _, _, *both in pairs() for share in both}):
        part = train[train["qid"].isin(qids[: max(1, round(share * len(qids)))])]
        forest = RandomForestRegressor(
            n_estimators=100, max_features=1 / 3, min_samples_leaf=5, random_state=seed, n_jobs=2
        )
        forest.fit(np.stack(part["features"]), part["label"])
        score = pd.Series(forest.predict(np.stack(rest["features"])), rest.index)
        ranks[share] = score.groupby(rest["qid"]).rank(ascending=False, method="first").astype(int) - 1
    return ranks


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """Errors of each part, pair and measure of one training fold: by budget at a ratio of 2, and at `FIXED_BUDGET`."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    graded = graded.sort_values(["qid", "docno"])
    rest = graded.drop(columns=graded.columns[graded.columns.str.match("rank_|score_")])
    train = pool.frame[pool.frame["fold"] == train_fold].sort_values(["qid", "docno"])
    shown = {name: METHODS[name] for name in SHOWN}
    for part in settings_of(train_folds(pool, arguments), PARTS, arguments):
        seed = arguments.seed + part
        ranks = rankings(train, rest, seed)
        for varied, value, small, large in pairs():
            frame = rest.assign(rank_small=ranks[small], rank_large=ranks[large])
            for measure in arguments.measure:
                population = labelled_population(frame, measure, pool.cost)
                head = {"data": pool.name, "measure": measure, "train": train["qid"].nunique()}
                head |= facts(population) | asymptotic_savings(population)
                fixed = [min(FIXED_BUDGET * population.cost.mean(), population.cost.sum() / 2)]
                rows = error_rows(population, shown, fixed, arguments.repetitions, seed)
                yield rows.assign(varied=varied, value=value, **head)
                if (varied, value) == ("ratio", 2.0):
                    budgets = budgets_for(population)
                    rows = error_rows(population, METHODS, budgets, arguments.repetitions, seed)
                    yield rows.assign(varied="budget", value=np.nan, **head)


def draw_fixed_budget(table: pd.DataFrame) -> Figure:
    """The right of the source's figure, by the ratio and by the larger size, with a row per pool."""
    names, measures = table["data"].unique(), table["measure"].unique()
    labels = {"ratio": "ratio of training queries, the larger all", "size": "larger training set (queries), ratio 2"}
    figure, axes = panels(len(names), len(labels) * len(measures))
    figure.suptitle(f"Model selection error at a budget of {FIXED_BUDGET} average queries")
    cells = [(name, varied, measure) for name in names for varied in labels for measure in measures]
    for axis, (name, varied, measure) in zip(axes.flat, cells, strict=True):
        chosen = table[(table["data"] == name) & (table["measure"] == measure) & (table["varied"] == varied)]
        scaled = chosen.assign(budget=chosen["value"] * (chosen["train"] if varied == "size" else 1))
        error_curves(axis, scaled, "selection_error", SHOWN, ERRORS["selection_error"])
        axis.set_xlabel(labels[varied])
        axis.set_title(f"{name}, {measure}")
    legend_below(figure, axes[0, 0])
    return figure


def main() -> None:
    """Replay, print the savings, and write the figures."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    over = rows["varied"] == "budget"
    keys = ["data", "measure", "method"]
    curves = averaged(rows[over].drop(columns=["varied", "value"]), [*keys, "step"])
    fixed = averaged(rows[~over].drop(columns="step"), [*keys, "varied", "value"])
    print_comparison(curves, ["data", "measure"])
    figure = comparison_figure(curves, "Rankers trained on half of the training fold and on all of it")
    write(curves, figure, arguments.out, "training_size")
    write(fixed, draw_fixed_budget(fixed), arguments.out, "training_size_fixed_budget")


if __name__ == "__main__":
    main()
