"""The variance of an estimate from documents that come one after the other, relative to documents that are spread.

    python successive_drawing.py mq2007-agg.parquet mq2008.parquet --evidence FOLDER

Each number is the mean squared error of `regression` for DCG@10 from ``successive`` samples over that from ``spread``
ones, with its Monte Carlo error, at shares of the cost of the pool.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import tasks

from pt_active.inference.replay import Method, ratio_of_means
from pt_active.studies.simulate import labelled_population, replays

SHARES = (0.05, 0.15, 0.4)

DRAWINGS = [Method(name, "regression", False) for name in ("successive", "spread")]

TABLES = ("successive-drawing",)


def rows_of(pool: JudgedPool, repetitions: int, seed: int = 0) -> Iterator[dict[str, str]]:
    """One row per task."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for task in ("one ranker", "clear pair", "near-tied pair"):
        population = labelled_population(graded, "DCG@10", rankers=tasks(pool, fold)[task])
        budgets = [share * float(population.cost.sum()) for share in SHARES]
        found = replays(population, DRAWINGS, repetitions, budgets=budgets, seed=seed)
        ratio, error = ratio_of_means(*(found[method].error ** 2 for method in DRAWINGS))
        cells = [f"{r:.2f} ± {e:.2f}" for r, e in zip(ratio, error, strict=True)]
        yield {"data": pool.name, "task": task} | dict(zip((f"{s:.0%}" for s in SHARES), cells, strict=True))


def main() -> None:
    """Replay, and print the table or put it into a page."""
    parser = parser_with(__doc__, pools="+", repetitions=1000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for path in arguments.pools for row in rows_of(read_judged_pool(path), arguments.repetitions)]
    text = markdown(pd.DataFrame(rows))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
