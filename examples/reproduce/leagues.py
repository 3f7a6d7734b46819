"""Shared by the league tables: their command line, rankers and grade models to replay, and tables for the docs."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import JudgedPool, read_judged_pool
from tqdm import tqdm

from pt_active.frames.atomic import write_file
from pt_active.inference.replay import Population, Replays, share_error

DRAWS = 60
"""Average queries that the budget pays for; at most `LARGEST_SHARE` of the pool."""

LARGEST_SHARE = 0.5


def overconfident(grades: np.ndarray) -> np.ndarray:
    """Grade probabilities raised to the third power and normalised."""
    return grades**3 / (grades**3).sum(axis=1, keepdims=True)


def useless(grades: np.ndarray) -> np.ndarray:
    """Each document gets the probabilities of another document, chosen at random."""
    return np.random.default_rng(0).permutation(grades)


def wrong_signed(grades: np.ndarray) -> np.ndarray:
    """The most promising document gets the probabilities of the least promising one, and so on."""
    order = np.argsort(grades @ np.arange(grades.shape[1]), kind="stable")
    turned = np.empty_like(grades)
    turned[order] = grades[order[::-1]]
    return turned


SPOILERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fitted": lambda grades: grades,
    "overconfident": overconfident,
    "useless": useless,
    "wrong-signed": wrong_signed,
}


def tasks(pool: JudgedPool, train_fold: int) -> dict[str, list[str]]:
    """Task → rankers, by their order on the training fold: the best alone, against the median, against the second."""
    standing = pool.standing("DCG@10", train_fold)
    middle = standing[-1] if len(standing) < 4 else standing[len(standing) // 2]
    return {"one ranker": [standing[0]], "clear pair": [standing[0], middle], "near-tied pair": standing[:2]}


def budget_of(population: Population) -> float:
    """The budget, in judged documents."""
    return min(DRAWS * population.cost.mean(), LARGEST_SHARE * population.cost.sum())


def covered(replay: Replays, low: np.ndarray, high: np.ndarray) -> float:
    """Share of intervals that cover the truth."""
    return float(((low <= replay.truth) & (replay.truth <= high)).mean())


def with_error(share: float, repetitions: int) -> str:
    """A share of repetitions with its Monte Carlo error, as text."""
    return f"{share:.3f} ± {share_error(share, repetitions):.3f}"


def averaged(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Means over all but the keys; geometric means of ratios, and the smallest ratio.

    The Monte Carlo error of a mean coverage is that of independent samples.
    """
    groups = rows.groupby(keys, sort=False)
    smallest, error = groups["ratio"].min().to_numpy(), groups["coverage_se"].agg(independent_error).to_numpy()
    table = rows.assign(ratio=np.log(rows["ratio"])).groupby(keys, sort=False).mean(numeric_only=True).reset_index()
    return table.assign(ratio=np.exp(table["ratio"]), smallest=smallest, coverage_se=error)


def independent_error(errors: pd.Series) -> float:
    """The error of a mean of independent numbers, from the error of each."""
    return float(np.sqrt((errors**2).sum()) / len(errors))


def parser_of(description: str | None, repetitions: int, quick: str) -> argparse.ArgumentParser:
    """The command line of a league table.

    Args:
        description: The script's docstring.
        repetitions: Default number of repetitions.
        quick: Help text of ``--quick``.
    """
    parser = parser_with(description, pools="+", repetitions=repetitions, seed=0, quick=quick)
    parser.add_argument("--csv", type=Path, metavar="FILE.csv")
    add_keep(parser)
    parser.add_argument(
        "--folds", action="append", default=[], metavar="NAME=N", help="only the first training folds of a pool"
    )
    return parser


def folds_of(pool: JudgedPool, arguments: argparse.Namespace) -> list[int]:
    """The training folds of a pool that are replayed.

    Args:
        pool: The pool.
        arguments: Those of `parser_of`.
    """
    limits = {name: int(number) for name, number in (entry.split("=") for entry in arguments.folds)}
    return pool.train_folds[: 1 if arguments.quick else limits.get(pool.name)]


def rows_of_folds(
    folds: Mapping[str, Callable[[], Iterable[Mapping[str, object]]]], arguments: argparse.Namespace
) -> pd.DataFrame:
    """The rows of all folds; those that an earlier run of the same command has kept are read, not made again.

    Args:
        folds: Name of a fold → function that makes its rows.
        arguments: Those of `parser_of`.
    """
    setting = "quick" if arguments.quick else f"{arguments.repetitions} repetitions"
    rows: list[Mapping[str, object]] = []
    for name, make in tqdm(folds.items(), unit="fold"):
        made = tqdm(make(), desc=name, unit="row", leave=False)
        rows += kept(arguments.keep, f"{name}, {setting}, seed {arguments.seed}", made)
    return pd.DataFrame(rows)


def kept(folder: Path | None, name: str, rows: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Rows that an earlier run has kept under a name, or those that are made now and then kept.

    Args:
        folder: Where rows are kept; None keeps nothing.
        name: What the rows depend on.
        rows: The rows, which are only made if they are not found.
    """
    if folder is None:
        return list(rows)
    path = folder / f"{name}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(list(rows), default=float), replace=True)
    return json.loads(path.read_text(encoding="utf-8"))


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--keep`` to a command line."""
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep finished parts in a folder, so that a run can go on later"
    )


def written(
    arguments: argparse.Namespace,
    league: Callable[[argparse.Namespace], pd.DataFrame],
    page: Callable[[pd.DataFrame], str],
    *names: str,
) -> pd.DataFrame:
    """Replay a league, keep its table and those of its page under their names if requested, and return the table."""
    warnings.simplefilter("ignore")
    table = league(arguments)
    if arguments.csv:
        write_file(arguments.csv, table.to_csv(index=False), replace=True)
    publish(page(table), arguments, *names)
    return table


def tabled(
    name: str,
    description: str | None,
    rows: Callable[[JudgedPool, int], Iterable[Mapping[str, object]]],
    repetitions: int,
    quick: int,
) -> None:
    """Run a script that prints one table about pools and keeps it as evidence.

    Args:
        name: The name of the table.
        description: The script's docstring.
        rows: (pool, number of repetitions) → the pool's rows of the table.
        repetitions: Default number of repetitions.
        quick: Their number with ``--quick``.
    """
    parser = parser_with(description, pools="+", repetitions=repetitions)
    parser.add_argument(
        "--quick", dest="repetitions", action="store_const", const=quick, help=f"{quick} repetitions only"
    )
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    number = arguments.repetitions
    all_rows = [
        row
        for pool in map(read_judged_pool, arguments.pools)
        for row in kept(arguments.keep, f"{pool.name}, {number} repetitions", tqdm(rows(pool, number), unit="row"))
    ]
    table = markdown(pd.DataFrame(all_rows))
    publish(table, arguments, name)
    print(table)
