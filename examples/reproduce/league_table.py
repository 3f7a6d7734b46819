"""The league table: designs and estimators of whole queries, and PPI++, on real judged data.

The table has label-equivalents (mean squared error of a plain random sample of queries ÷ that of the method, at equal
numbers of judged documents) and coverage of 95 % intervals, for each data set, measure and task (one ranker, a clear
pair, a near-tied pair), with a fitted grade model and three spoilt on purpose. It needs the extra ``peers``.

    python examples/reproduce/league_table.py POOL.parquet … [--evidence FOLDER] [--csv league.csv]

The scripts in ``data_scripts/`` make the labelled pools. With ``--evidence`` the tables are kept as CSV files.
``--judge NAME=QRELS`` adds the pool NAME a second time, with an LLM judge's labels as grade model.
500 repetitions take some minutes; with ``--keep FOLDER`` a run goes on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from evidence import markdown
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import SPOILERS, averaged, budget_of, covered, folds_of, parser_of, rows_of_folds, tasks, written

from pt_active import JudgeGrades
from pt_active.frames.columns import grade_columns
from pt_active.frames.trec import read_qrels
from pt_active.inference.replay import YARDSTICK, Method, Population, share_columns
from pt_active.sampling.draws import priorities
from pt_active.studies.simulate import labelled_population, replays

TABLES = ("queries-in-short", "queries-league")
MEASURES = ("DCG@10", "DCG", "ERR@10", "ERR")

METHODS = {
    "passive": YARDSTICK,
    "passive repeatedly": Method("passive", "snis"),
    "passive + regression": Method("passive", "regression", with_replacement=False),
    "optimal": Method("optimal", "regression", with_replacement=False),
    "default": Method("hedged", "regression", with_replacement=False),
}
"""All but one draw each query at most once."""

PEER = "PPI++"

SHOWN = (PEER, "default")
"""The columns of the long tables."""


class Case(NamedTuple):
    """A population to replay.

    Attributes:
        data: Name of the data set.
        measure: Measure in the notation of `ir_measures`.
        task: Name of the choice of rankers.
        model: ``fitted``, or how the grade model was spoilt.
        population: Values, moments and costs.
    """

    data: str
    measure: str
    task: str
    model: str
    population: Population


def cases(pool: JudgedPool, train_fold: int, judge: Path | None) -> Iterator[Case]:
    """All cases of one pool and training fold."""
    if judge is None:
        model, name = GRADE_MODELS["random forest"](pool.max_grade), pool.name
    else:
        model, name = JudgeGrades(read_qrels(judge), pool.max_grade), f"{pool.name}, LLM judge"
    graded = pool.graded(model, train_fold)
    columns = grade_columns(graded.columns)
    deepest = int(graded.filter(regex="^rank_").to_numpy().max()) + 1
    measures = [measure for measure in MEASURES if "@" in measure or deepest > 10]
    for spoilt, spoil in SPOILERS.items():
        frame = graded.assign(**dict(zip(columns, spoil(graded[columns].to_numpy()).T, strict=True)))
        for measure in measures:
            for task, rankers in tasks(pool, train_fold).items():
                yield Case(name, measure, task, spoilt, labelled_population(frame, measure, rankers=rankers))


def replayed(case: Case, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """One row per method: ratio of squared errors to passive sampling, and coverage with its Monte Carlo error."""
    budget = budget_of(case.population)
    settings = {"budgets": [budget], "seed": seed, "progress": False}
    replays_of = replays(case.population, METHODS.values(), repetitions, **settings)
    yardstick = (replays_of[YARDSTICK].error ** 2).mean()
    head = {"data": case.data, "measure": case.measure, "task": case.task, "model": case.model}
    for name, method in METHODS.items():
        coverage = covered(replays_of[method], *replays_of[method].intervals(0.95))
        ratio = yardstick / (replays_of[method].error ** 2).mean()
        yield head | {"method": name, "ratio": ratio} | share_columns("coverage", coverage, repetitions)
    ratio, coverage = peer(case.population, budget, repetitions, seed)
    yield head | {"method": PEER, "ratio": ratio} | share_columns("coverage", coverage, repetitions)


def rows_of(
    pool: JudgedPool, fold: int, judge: Path | None, repetitions: int, seed: int
) -> Iterator[dict[str, object]]:
    """The rows of one pool and training fold."""
    for case in cases(pool, fold, judge):
        yield from replayed(case, repetitions, seed)


def peer(population: Population, budget: float, repetitions: int, seed: int) -> tuple[float, float]:
    """PPI++ of ``ppi-python`` on plain random samples.

    Returns:
        The mean squared error of the plain mean over that of PPI++ on the same samples, and the coverage of its 95 %
        intervals.
    """
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    target, model, truth = population.target, population.model, population.target.mean()
    equal = np.full(len(target), 1 / len(target))
    samples = next(priorities(equal, population.cost, [budget], repetitions, np.random.default_rng(seed)))
    plain = squared = hits = 0.0
    for order, drawn in zip(samples.rows, samples.count > 0, strict=True):
        sample = order[drawn]
        parts = target[sample], model[sample], np.delete(model, sample)
        low, high = (float(np.squeeze(end)) for end in ppi_mean_ci(*parts, alpha=0.05))
        hits += low <= truth <= high
        plain += (target[sample].mean() - truth) ** 2
        squared += (float(np.squeeze(ppi_mean_pointestimate(*parts))) - truth) ** 2
    return plain / squared, hits / repetitions


def league(arguments: argparse.Namespace) -> pd.DataFrame:
    """One row per data set, measure, task, grade model and method, averaged over the training folds."""
    judges = {name: Path(path) for name, path in (entry.split("=", 1) for entry in arguments.judge)}
    folds = {}
    for pool in map(read_judged_pool, arguments.pools):
        for judge in [None, judges[pool.name]] if pool.name in judges else [None]:
            for fold in folds_of(pool, arguments):
                name = f"{pool.name}, {judge.stem if judge else 'fitted'}, fold {fold}"
                folds[name] = partial(rows_of, pool, fold, judge, arguments.repetitions, arguments.seed)
    return averaged(rows_of_folds(folds, arguments), ["data", "measure", "task", "model", "method"])


def long_table(table: pd.DataFrame, model: str) -> str:
    """Label-equivalents and coverage of the `SHOWN` methods under one grade model."""
    chosen = table[(table["model"] == model) & table["method"].isin(SHOWN)]
    cells = [f"{r:.2f} ({c:.3f})".replace("(0", "(") for r, c in zip(chosen["ratio"], chosen["coverage"], strict=True)]
    keys = ["data", "measure", "task"]
    wide = chosen.assign(cell=cells).pivot(index=keys, columns="method", values="cell")[list(SHOWN)]
    return markdown(wide.reindex(chosen[keys].drop_duplicates().itertuples(index=False, name=None)).reset_index())


def short_table(table: pd.DataFrame) -> str:
    """Geometric means of label-equivalents over data sets and measures, with the smallest in brackets."""
    short = averaged(table.drop(columns="smallest"), ["model", "task", "method"])
    cells = [f"{r:.2f} ({s:.2f})" for r, s in zip(short["ratio"], short["smallest"], strict=True)]
    wide = short.assign(cell=cells).pivot(index=["model", "task"], columns="method", values="cell")
    order = short[["model", "task"]].drop_duplicates().itertuples(index=False, name=None)
    return markdown(wide.reindex(order)[[*(name for name in METHODS if name != "passive"), PEER]].reset_index())


def page(table: pd.DataFrame) -> str:
    """All tables, with what is said of them."""
    parts = [
        "### In short\n\nGeometric means of label-equivalents over data sets and measures, in brackets the smallest.",
        short_table(table),
    ]
    for model in SPOILERS:
        error = table.loc[(table["model"] == model) & table["method"].isin(SHOWN), "coverage_se"].max()
        brackets = f"in brackets the coverage of 95 % intervals (Monte Carlo errors up to {error:.3f})"
        parts.append(f"### Grade model: {model}\n\nLabel-equivalents, {brackets}.")
        parts.append(long_table(table, model))
    return "\n\n".join(parts)


def main() -> None:
    """Replay everything, print the short table, and write the requested files."""
    parser = parser_of(__doc__, repetitions=2000, quick="one training fold of each pool")
    parser.add_argument("--judge", action="append", default=[], metavar="NAME=QRELS")
    print(short_table(written(parser.parse_args(), league, page, *TABLES)))


if __name__ == "__main__":
    main()
