"""Judging documents against judging whole queries, on labelled pools: label-equivalents and coverage.

The script replays one ranker, a clear pair and a near-tied pair, by DCG and ERR at 10 and at full depth, with a fitted
grade model and with spoilt ones, at equal numbers of judged documents and at equal cost when opening a query costs 0, 2
or 5 documents, in one round and in five. All results are relative to a plain random sample of queries without
replacement.

    python document_league.py mq2007-agg.parquet mq2008.parquet --evidence FOLDER

With ``--drawings`` it compares the ways to draw documents with each other instead, at a fitted and at a useless grade
model: mean squared errors relative to the best drawing of the cell.

    python document_league.py mq2008.parquet lambdarank.parquet dl21.parquet --drawings --repetitions 400 --keep kept

``--quick`` takes one training fold and few repetitions. The tables take hours; with ``--keep FOLDER`` a run goes on
where an earlier one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from evidence import markdown
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import (
    AT_ONCE,
    DRAWS,
    LARGEST_SHARE,
    SPOILERS,
    averaged,
    budget_of,
    covered,
    folds_of,
    parser_of,
    rows_of_folds,
    tasks,
    written,
)

from pt_active import UnitCost
from pt_active.frames.columns import grade_columns
from pt_active.inference.replay import YARDSTICK, Method, Population, share_columns
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("DCG@10", "ERR@10", "DCG", "ERR")

BUDGETS = {"mq2007-agg": (1000.0, 3000.0)}
"""Pool → numbers of judged documents; other pools use the cost of 60 average queries, or half of the pool."""

OVERHEADS = (0.0, 2.0, 5.0)
"""Costs of opening a query, in documents."""

ROUNDS = 5

DRAWN_MEASURES = ("DCG@10", "ERR@10")

DRAWN_SHARE = 0.15
"""The share of the pool's cost at which drawings are compared with each other."""

QUERIES = {
    "queries, optimal + snis": Method("optimal", "snis"),
    "queries, assisted + regression": Method("assisted", "regression"),
    "queries, default": Method("hedged", "regression", with_replacement=False),
}
"""The source's method, the method of theory, and the default of a plan of queries."""


def methods(population: Population, rounds: int) -> dict[str, Method]:
    """Name → method to replay for a population."""
    if population.single is None:
        raise ValueError("the measure does not allow the judging of single documents")
    drawing = AT_ONCE[population.single.graded.seen.form.family]
    chosen = QUERIES | {"documents": Method(drawing, "regression", False)}
    if rounds > 1:
        chosen["documents, 1 round"] = chosen["documents"]
        chosen[f"documents, {rounds} rounds"] = Method(drawing, "regression", False, rounds)
    return chosen


def settings_of(fold_number: int) -> Iterator[tuple[str, float, int]]:
    """Grade model, cost of opening a query and number of rounds; only the first fold has all combinations."""
    yield "fitted", 0.0, ROUNDS if fold_number == 0 else 1
    if fold_number == 0:
        yield from ((model, 0.0, 1) for model in SPOILERS if model != "fitted")
        yield from (("fitted", overhead, 1) for overhead in OVERHEADS if overhead > 0)


def replayed(
    pool: JudgedPool, frame: pd.DataFrame, measure: str, task: str, rankers: list[str], overhead: float, rounds: int
) -> Iterator[tuple[Population, str, float, dict[str, Method]]]:
    """Population, budget (also in words) and methods of each cell; several rounds only at the smallest budget."""
    population = labelled_population(frame, measure, UnitCost(per_query=overhead), rankers)
    for number, (said, budget) in enumerate(budgets(pool, population).items()):
        yield population, said, budget, methods(population, rounds if number == 0 else 1)


def budgets(pool: JudgedPool, population: Population) -> dict[str, float]:
    """Budget in words → budget in documents."""
    if pool.name in BUDGETS:
        return {f"{budget:,.0f}": budget for budget in BUDGETS[pool.name]}
    budget = budget_of(population)
    return {f"{DRAWS} queries" if budget < LARGEST_SHARE * population.cost.sum() else "half": budget}


def rows_of(pool: JudgedPool, fold_number: int, fold: int, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """One row per method and cell of one training fold."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    columns = grade_columns(graded.columns)
    deepest = int(graded.filter(regex="^rank_").to_numpy().max()) + 1
    measures = [measure for measure in MEASURES if "@" in measure or deepest > 10]
    for model, overhead, rounds in settings_of(fold_number):
        frame = graded.assign(**dict(zip(columns, SPOILERS[model](graded[columns].to_numpy()).T, strict=True)))
        for measure in measures:
            for task, rankers in tasks(pool, fold).items():
                head = {"data": pool.name, "measure": measure, "task": task, "model": model, "opening": overhead}
                for population, said, budget, chosen in replayed(pool, frame, measure, task, rankers, overhead, rounds):
                    yield from _compared(head | {"budget": said}, population, chosen, budget, repetitions, seed)


def drawn_by_all(
    pool: JudgedPool, fold: int, repetitions: int, seed: int, measure: str, model: str
) -> Iterator[dict[str, object]]:
    """One row per drawing and cell of one training fold, measure and grade model."""
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    columns = grade_columns(graded.columns)
    frame = graded.assign(**dict(zip(columns, SPOILERS[model](graded[columns].to_numpy()).T, strict=True)))
    for task, rankers in tasks(pool, fold).items():
        for overhead in OVERHEADS:
            population = labelled_population(frame, measure, UnitCost(per_query=overhead), rankers)
            budget = DRAWN_SHARE * float(population.cost.sum())
            each = [Method(drawing, "regression", False) for drawing in DOCUMENT_DRAWINGS]
            found = replays(population, each, repetitions, budgets=[budget], seed=seed, progress=False)
            head = {"data": pool.name, "measure": measure, "model": model, "task": task, "opening": overhead}
            for method in each:
                squared = found[method].error ** 2
                error = float(squared.std() / squared.mean() / np.sqrt(squared.size))
                yield head | {"drawing": method.design, "squared": float(squared.mean()), "error": error}


def drawings(arguments: argparse.Namespace) -> str:
    """The drawings as columns: geometric means over pools and tasks of mean squared errors, over the least of the row.

    In brackets in how many of the cells no other drawing is better by more than two Monte Carlo errors.
    """
    parts = {
        f"{pool.name}, {measure}, {model}": partial(
            drawn_by_all, pool, pool.train_folds[0], arguments.repetitions, arguments.seed, measure, model
        )
        for pool in map(read_judged_pool, arguments.pools)
        for measure in DRAWN_MEASURES
        for model in ("fitted", "useless")
    }
    rows = rows_of_folds(parts, arguments)
    cell, row = ["data", "measure", "model", "task", "opening"], ["measure", "model", "opening"]
    best = rows.loc[rows.groupby(cell)["squared"].idxmin(), [*cell, "squared", "error"]]
    rows = rows.merge(best, on=cell, suffixes=("", "_best"))
    ratio = rows["squared"] / rows["squared_best"]
    margin = 2 * ratio * np.hypot(rows["error"], rows["error_best"])
    rows = rows.assign(log=np.log(rows["squared"]), stays=ratio - margin <= 1)
    by_row = rows.groupby([*row, "drawing"], sort=False)
    table = by_row.agg(log=("log", "mean"), stays=("stays", "sum"), n=("log", "size"))
    wide = np.exp(table["log"] - table.groupby(row)["log"].transform("min"))
    shown = [f"{r:.2f} ({s} of {n})" for r, s, n in zip(wide, table["stays"], table["n"], strict=True)]
    pivot = table.assign(cell=shown)["cell"].unstack("drawing")[list(dict.fromkeys(rows["drawing"]))]
    return markdown(pivot.reset_index().astype(str))


def _compared(
    head: dict[str, object],
    population: Population,
    chosen: dict[str, Method],
    budget: float,
    repetitions: int,
    seed: int,
) -> Iterator[dict[str, object]]:
    found = replays(
        population,
        dict.fromkeys([YARDSTICK, *chosen.values()]),
        repetitions,
        budgets=[budget],
        seed=seed,
        progress=False,
    )
    yardstick = (found[YARDSTICK].error ** 2).mean()
    for name, method in chosen.items():
        replay = found[method]
        squared = (replay.error**2).mean()
        yield head | {
            "method": name,
            "ratio": yardstick / squared,
            "bias": float(replay.error.mean() / (replay.error.std() / np.sqrt(replay.error.size))),
            "judged": replay.n_judged.mean(),
            **share_columns("coverage", covered(replay, *replay.intervals(0.95)), repetitions),
        }


TABLES = ("documents-league", "documents-spoilt", "documents-opening", "documents-rounds")
KEYS = ["data", "measure", "task", "model", "opening", "budget", "method"]


def league(arguments: argparse.Namespace) -> pd.DataFrame:
    """One row per cell and method, averaged over the training folds."""
    repetitions = 20 if arguments.quick else arguments.repetitions
    folds = {
        f"{pool.name}, fold {fold}": partial(rows_of, pool, number, fold, repetitions, arguments.seed)
        for pool in map(read_judged_pool, arguments.pools)
        for number, fold in enumerate(folds_of(pool, arguments))
    }
    return averaged(rows_of_folds(folds, arguments), KEYS)


def wide(table: pd.DataFrame, rows: list[str]) -> str:
    """Label-equivalents (coverage in brackets), one column per method, averaged over all keys but ``rows``."""
    table = averaged(table, [*rows, "method"])
    cells = [f"{r:.2f} ({c:.3f})".replace("(0", "(") for r, c in zip(table["ratio"], table["coverage"], strict=True)]
    pivot = table.assign(cell=cells).pivot(index=rows, columns="method", values="cell")
    order = table[rows].drop_duplicates().itertuples(index=False, name=None)
    pivot = pivot.reindex(order)[list(dict.fromkeys(table["method"]))].fillna("")
    return markdown(pivot.reset_index().astype({c: str for c in rows}))


def page(table: pd.DataFrame) -> str:
    """All tables, with what is said of them."""
    fitted = table[(table["model"] == "fitted") & (table["opening"] == 0)]
    several = fitted[fitted["method"].str.contains("round")]
    one_round = fitted.drop(several.index)
    spoilt = table[(table["model"] != "fitted") & (table["opening"] == 0)]
    costs = table[(table["opening"] > 0) & (table["model"] == "fitted")]
    error = table["coverage_se"].max()
    parts = [
        f"Monte Carlo errors of coverage are up to {error:.3f} for each measure, task and budget.",
        "### At equal judged documents\n\nFitted grade model, mean over the training folds.",
        wide(one_round, ["data", "measure", "task", "budget"]),
        "### With spoilt grade models\n\nFirst training fold, mean over tasks and budgets.",
        wide(spoilt, ["model", "data", "measure"]),
        "### Where opening a query costs as much as some documents\n\n"
        "At equal cost, first training fold, mean over tasks and budgets.",
        wide(costs, ["opening", "data", "measure"]),
        f"### In one round and in {ROUNDS}\n\nThe grade model stays as it was; first training fold, mean over tasks.",
        wide(several, ["data", "measure", "budget"]),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Replay everything, print the tables, and write the requested files."""
    parser = parser_of(__doc__, repetitions=1000, quick="one training fold of each pool, 20 repetitions")
    parser.add_argument("--drawings", action="store_true", help="compare the drawings with each other")
    arguments = parser.parse_args()
    print(drawings(arguments) if arguments.drawings else page(written(arguments, league, page, *TABLES)))


if __name__ == "__main__":
    main()
