"""The cells in which judging documents gains least over judging whole queries drawn at random.

    python document_worst.py mq2007-agg.parquet mq2008.parquet lambdarank.parquet dl21.parquet --evidence FOLDER

A cell is a grade model (fitted or spoilt), a training fold, a measure and a budget; every training fold is taken where
a pool has fewer than 100 queries, otherwise the first. All cells are screened by the variance that the estimates state.
The `REPLAYED` lowest of each pool, cost of opening a query and task are then replayed with other random numbers, and
the lowest of those is shown with its Monte Carlo error and the coverage of its 95 % intervals.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import DRAWS, LARGEST_SHARE, SPOILERS, add_keep, covered, kept, tasks, with_error
from tqdm import tqdm

from pt_active import UnitCost
from pt_active.frames.columns import grade_columns
from pt_active.inference.replay import YARDSTICK, Method, Population, Replays
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("DCG@10", "ERR@10")

OVERHEADS = (0.0, 3.0)
"""Costs of opening a query, in documents."""

FEW_DRAWS = 12
"""Average queries that the smaller of the two budgets pays for."""

REPLAYED = 2
"""Cells that are replayed after screening, of each pool, cost and task."""

SCREENED_SHARE = 0.02
"""Share of the repetitions that screening takes."""

TABLES = ("documents-worst",)


@dataclass(frozen=True)
class Cell:
    """A population, and how a budget for it reads in the table.

    Attributes:
        head: What the rows of a table are grouped by: data, opening and task.
        said: Grade model, fold, measure and budget in words.
        population: The population.
        budget: Λ.
    """

    head: tuple[str, float, str]
    said: tuple[str, int, str, int]
    population: Population
    budget: float

    @property
    def method(self) -> Method:
        """Documents, drawn as a plan draws them by default."""
        single = self.population.single
        if single is None:
            raise ValueError("the measure does not allow the judging of single documents")
        return Method(single.graded.usual_drawing, "regression", False)

    def replayed(self, method: Method, repetitions: int, seed: int) -> Replays:
        """Samples of one method."""
        many = replays(self.population, [method], repetitions, budgets=[self.budget], seed=seed, progress=False)
        return many[method]


def cells(pool: JudgedPool) -> Iterator[Cell]:
    """All cells of a pool."""
    folds = pool.train_folds if pool.frame["qid"].nunique() < 100 else pool.train_folds[:1]
    for fold in folds:
        graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
        columns = grade_columns(graded.columns)
        for model, spoil in SPOILERS.items():
            frame = graded.assign(**dict(zip(columns, spoil(graded[columns].to_numpy()).T, strict=True)))
            for task, rankers in tasks(pool, fold).items():
                for overhead, measure in ((a, b) for a in OVERHEADS for b in MEASURES):
                    population = labelled_population(frame, measure, UnitCost(per_query=overhead), rankers)
                    most = LARGEST_SHARE * len(population.weight)
                    for number in sorted({FEW_DRAWS, int(min(DRAWS, most))}):
                        budget = number * float(population.cost.mean())
                        said = model, fold, measure, number
                        if budget >= population.cost.max():
                            yield Cell((pool.name, overhead, task), said, population, budget)


def screened(cell: Cell, repetitions: int) -> float:
    """Label-equivalents by the variance that estimates from documents state."""
    passive = cell.replayed(YARDSTICK, 10 * repetitions, 0).error ** 2
    return float(passive.mean() / (cell.replayed(cell.method, repetitions, 1).standard_error ** 2).mean())


def measured(cell: Cell, repetitions: int) -> tuple[float, float, float]:
    """Label-equivalents by squared errors, their Monte Carlo error, and the coverage of 95 % intervals."""
    passive = cell.replayed(YARDSTICK, 4 * repetitions, 2).error ** 2
    found = cell.replayed(cell.method, repetitions, 3)
    documents = found.error**2
    ratio = passive.mean() / documents.mean()
    relative = [each.var() / each.size / each.mean() ** 2 for each in (passive, documents)]
    return float(ratio), float(ratio * np.sqrt(sum(relative))), covered(found, *found.intervals(0.95))


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, object]]:
    """One row per cost of opening a query and task."""
    few = max(5, int(SCREENED_SHARE * repetitions))
    table = [(screened(cell, few), cell) for cell in tqdm(cells(pool), unit="cell", desc=pool.name)]
    for head in dict.fromkeys(cell.head for _, cell in table):
        mine = sorted((each for each in table if each[1].head == head), key=lambda each: each[0])
        (ratio, error, coverage), cell = min(
            ((measured(cell, repetitions), cell) for _, cell in mine[:REPLAYED]), key=lambda each: each[0][0]
        )
        model, fold, measure, number = cell.said
        yield {
            "data": head[0],
            "opening": f"{head[1]:g}",
            "task": head[2],
            "cells": len(mine),
            "median": f"{np.median([ratio for ratio, _ in mine]):.1f}",
            "lowest": f"{ratio:.2f} ± {error:.2f}",
            "coverage": with_error(coverage, repetitions),
            "where": f"{model}, fold {fold}, {measure}, {number} queries",
        }


def main() -> None:
    """Replay, and print the table or put it into a page."""
    parser = parser_with(__doc__, pools="+", repetitions=2000)
    parser.add_argument("--quick", dest="repetitions", action="store_const", const=50, help="50 repetitions only")
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    number = arguments.repetitions
    rows = [
        row
        for pool in map(read_judged_pool, arguments.pools)
        for row in kept(arguments.keep, f"{pool.name}, {number} repetitions", rows_of(pool, number))
    ]
    text = markdown(pd.DataFrame(rows))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
