"""One ranker before and after an index update: how often a sample picks the worse one [T Fig. 6.4 left].

The update removes 10 % of the documents at random, and the documents below them move up. The script replays the
source's active comparison (``optimal``, `snis`), its passive sampling with replacement, its baselines and the package's
methods. The source saves 75 % of the labels for ERR and 30 % for DCG against passive sampling with replacement.

    python examples/reproduce/index_update.py POOL.parquet … --out FOLDER [--quick] [--measure ERR@10 DCG@10]

writes ``index_update.csv`` and ``index_update.png``. The source's own data are MSLR-WEB30k, from Microsoft's page of
learning-to-rank data sets; ``data_scripts/letor_to_pool.py`` makes a pool of them.
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
    comparison_figure,
    error_rows,
    facts,
    print_comparison,
    replayed_rows,
    settings_of,
    train_folds,
    write,
)
from judged_pools import GRADE_MODELS, JudgedPool

from pt_active.studies.simulate import labelled_population

REMOVED = 0.1
"""Share of the documents that the update removes."""

UPDATES = 20
"""Random updates in total over the training folds; the figure averages over them (one per fold with ``--quick``)."""


def updated(frame: pd.DataFrame, ranker: str, seed: int) -> pd.DataFrame:
    """The documents that a ranker retrieved, with their ranks before and after a random update of the index.

    Args:
        frame: Graded documents with ``rank_<ranker>``.
        ranker: Name of the ranker.
        seed: Random seed of the update.

    Returns:
        The frame with ``rank_before`` and ``rank_after`` (-1 for removed documents) as its only rankers.
    """
    retrieved = frame[frame[f"rank_{ranker}"] >= 0].sort_values(["qid", "docno"])
    before = retrieved[f"rank_{ranker}"]
    stays = np.random.default_rng(seed).random(len(retrieved)) >= REMOVED
    after = before[stays].groupby(retrieved["qid"][stays]).rank() - 1
    ranked = retrieved.columns[retrieved.columns.str.match("rank_|score_")]
    after = after.reindex(retrieved.index, fill_value=-1).astype(int)
    return retrieved.drop(columns=ranked).assign(rank_before=before, rank_after=after)


def replayed(pool: JudgedPool, train_fold: int, arguments: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """Errors over the budget for each update and measure of one training fold."""
    ranker = pool.standing("DCG@10", train_fold)[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), train_fold)
    for update in settings_of(train_folds(pool, arguments), UPDATES, arguments):
        seed = arguments.seed + update
        frame = updated(graded, ranker, seed)
        for measure in arguments.measure:
            population = labelled_population(frame, measure, pool.cost)
            rows = error_rows(population, METHODS, budgets_for(population), arguments.repetitions, seed)
            yield rows.assign(data=pool.name, measure=measure, **facts(population), **asymptotic_savings(population))


def main() -> None:
    """Replay, print the savings, and write the figure."""
    arguments = asked_of_measures(__doc__)
    rows = replayed_rows(arguments, replayed)
    table = averaged(rows, ["data", "measure", "method", "step"])
    print_comparison(table, ["data", "measure"])
    figure = comparison_figure(table, "Before and after an index update that removes 10 % of the documents")
    write(table, figure, arguments.out, "index_update")


if __name__ == "__main__":
    main()
