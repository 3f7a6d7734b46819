"""Is the default really worse than a random sample in the lowest cells of the league table?

The lowest of many noisy cells is too low. This script replays the lowest cells of the default with ten times as many
new samples, and prints what they turn out to be.

    python examples/reproduce/lowest_cells.py league.csv POOL.parquet … [--judge NAME=QRELS] [--evidence FOLDER]

``league.csv`` is what ``league_table.py`` writes with ``--csv``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import read_judged_pool
from league_table import METHODS, Case, cases
from leagues import budget_of, covered
from tqdm import tqdm

from pt_active.inference.replay import YARDSTICK, ratio_of_means
from pt_active.studies.simulate import replays

KEYS = ["data", "measure", "task", "model"]

DEFAULT = METHODS["default"]

TABLES = ("queries-lowest",)


def chosen(pools: list[Path], judges: dict[str, Path], cells: set[tuple[str, ...]]) -> Iterator[Case]:
    """The cases of some cells, one for each training fold."""
    for pool in map(read_judged_pool, pools):
        for judge in [None, judges[pool.name]] if pool.name in judges else [None]:
            name = f"{pool.name}, LLM judge" if judge else pool.name
            if name not in {cell[0] for cell in cells}:
                continue
            for fold in pool.train_folds:
                yield from (case for case in cases(pool, fold, judge) if case[:4] in cells)


def replayed(case: Case, repetitions: int, seed: int) -> dict[str, object]:
    """Label-equivalents of the default with their Monte Carlo error, and its coverage, in one fold."""
    settings = {"budgets": [budget_of(case.population)], "seed": seed, "progress": False}
    found = replays(case.population, [YARDSTICK, DEFAULT], repetitions, **settings)
    passive, default = (np.atleast_2d(found[method].error) ** 2 for method in (YARDSTICK, DEFAULT))
    ratio, error = ratio_of_means(passive, default)
    coverage = covered(found[DEFAULT], *found[DEFAULT].intervals(0.95))
    return dict(zip(KEYS, case[:4], strict=True)) | {"ratio": ratio[0], "error": error[0], "coverage": coverage}


def shown(rows: pd.DataFrame, league: pd.DataFrame) -> pd.DataFrame:
    """One row per cell, averaged over its folds, beside what the league table has."""
    of = rows.groupby(KEYS, sort=False)
    error = of["error"].agg(lambda each: np.sqrt((each**2).sum()) / len(each))
    table = pd.DataFrame(
        {
            "in the league table": league.set_index(KEYS)["ratio"].map("{:.2f}".format),
            "replayed": [f"{ratio:.3f} ± {se:.3f}" for ratio, se in zip(of["ratio"].mean(), error, strict=True)],
            "coverage": of["coverage"].mean().map("{:.3f}".format),
        },
        index=of["ratio"].mean().index,
    )
    return table.loc[league.set_index(KEYS).index].reset_index()


def main() -> None:
    """Replay the lowest cells, and print them or put them into a page."""
    parser = parser_with(__doc__, seed=1)
    parser.add_argument("league", type=Path, metavar="league.csv")
    parser.add_argument("pools", type=Path, nargs="+", metavar="POOL.parquet")
    parser.add_argument("--judge", action="append", default=[], metavar="NAME=QRELS")
    parser.add_argument("--cells", type=int, default=8, help="how many cells are replayed")
    parser.add_argument("--repetitions", type=int, default=3000, help="samples of each training fold")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table = pd.read_csv(arguments.league).query("method == 'default'")
    lowest = table.nsmallest(arguments.cells, "ratio")
    judges = {name: Path(path) for name, path in (entry.split("=", 1) for entry in arguments.judge)}
    found = chosen(arguments.pools, judges, set(lowest[KEYS].itertuples(index=False, name=None)))
    rows = pd.DataFrame([replayed(case, arguments.repetitions, arguments.seed) for case in tqdm(found, unit="fold")])
    text = markdown(shown(rows, lowest))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
