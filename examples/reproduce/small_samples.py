"""Does the default lose on small samples? Label-equivalents of 5 to 60 draws, with good, spoilt and empty grade models.

Each cell is a data set, measure, task, grade model and number of queries of average cost. Its label-equivalents are the
mean squared error of the plain mean of a random sample, over that of the method at equal cost. The cells that come out
lowest, and those with the largest bias, are replayed once more with new random numbers, because the lowest of many
noisy cells is too low. PPI++ is the power-tuned mean [Angelopoulos, Duchi and Zrnic 2023] on the same random samples.

    python examples/reproduce/small_samples.py POOL.parquet … [--csv cells.csv]

With ``--spent`` it prints only which share of the budget the default spends, and which share it would spend if it went
on after the first query that does not fit, with those that do.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from evidence import parser_with
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import LARGEST_SHARE, SPOILERS, tasks
from tqdm import tqdm

from pt_active.frames.columns import grade_columns
from pt_active.inference.estimators import Controls, MeanEstimate, estimator_named
from pt_active.inference.intervals import interval
from pt_active.inference.replay import Population, ratio_of_means
from pt_active.sampling.chances import within_budget
from pt_active.sampling.designs import defensive_share
from pt_active.sampling.draws import draw_priorities, prefixes, priorities
from pt_active.sampling.sample import Sample
from pt_active.studies.simulate import labelled_population

DRAWS = (5, 8, 10, 12, 20, 60)
"""Queries of average cost that the budget pays for; at most half of the pool is drawn."""

AGAIN = 3
"""Cells per method and number of draws that are replayed once more: the lowest, and as many with the largest bias."""

CLOSER = 10
"""Factor of the repetitions with which they are."""


def constant(grades: np.ndarray) -> np.ndarray:
    """All grades are equally probable for every document."""
    return np.full_like(grades, 1 / grades.shape[1])


MODELS = SPOILERS | {"constant": constant}


def populations(pool: JudgedPool) -> Iterator[tuple[dict[str, str], Population]]:
    """All populations of a pool with the first training fold: measures × tasks × grade models."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    columns = grade_columns(graded.columns)
    for model, spoil in MODELS.items():
        frame = graded.assign(**dict(zip(columns, spoil(graded[columns].to_numpy()).T, strict=True)))
        for measure in ("DCG@10", "ERR@10", f"P(rel={pool.relevant})@10"):
            for task, rankers in tasks(pool, fold).items():
                cell = {"data": pool.name, "measure": measure, "task": task, "model": model}
                yield cell, labelled_population(frame, measure, rankers=rankers)


def ppi(sample: Sample, population: Population) -> np.ndarray:
    """Power-tuned prediction-powered means of plain random samples, float64[R]."""
    values, model, m = sample.of(population.target), sample.of(population.model), len(population.model)
    n, share = sample.draws, sample.count / sample.draws[:, None]
    mean, expected = (share * values).sum(axis=1), (share * model).sum(axis=1)
    covariance = (share * (values - mean[:, None]) * (model - expected[:, None])).sum(axis=1)
    variance = (1 + n / (m - n)) * population.model.var()
    power = np.clip(np.divide(covariance, variance, out=np.zeros_like(covariance), where=variance > 0), 0, 1)
    return mean + power * ((population.model.sum() - n * expected) / (m - n) - expected)


def budget_and_default(population: Population, draws: int) -> tuple[float, np.ndarray]:
    """A budget for a number of queries of average cost, and the default's q at it, float64[m]."""
    cost = population.cost
    budget = min(max(draws * cost.mean(), cost.max()), LARGEST_SHARE * cost.sum())
    return budget, population.distribution("hedged", defensive_share(budget / cost.mean()))


def replayed(population: Population, draws: int, repetitions: int, seed: int) -> Iterator[dict[str, Any]]:
    """One row per method: label-equivalents with their Monte Carlo error, bias in standard deviations, and coverage."""
    cost, (budget, q) = population.cost, budget_and_default(population, draws)
    plain, designed = (
        next(priorities(each, cost, [budget], repetitions, np.random.default_rng(seed)))
        for each in (population.weight, q)
    )
    yardstick = (_estimated(plain, population, "snis").value - population.truth) ** 2
    found: dict[str, MeanEstimate | np.ndarray] = {
        "PPI++": ppi(plain, population),
        "passive + regression": _estimated(plain, population, "regression"),
        "default": _estimated(designed, population, "regression"),
    }
    for method, each in found.items():
        error = (each.value if isinstance(each, MeanEstimate) else each) - population.truth
        if not (error**2).mean() > 1e-20:
            continue
        ratio, ratio_se = ratio_of_means(yardstick[None], error[None] ** 2)
        row = {"method": method, "ratio": float(ratio[0]), "ratio_se": float(ratio_se[0])}
        row |= {"bias": error.mean() / error.std(), "coverage": np.nan}
        if isinstance(each, MeanEstimate):
            low, high = interval(each.value, each.standard_error, each.degrees_of_freedom, 0.95)
            row["coverage"] = ((low <= population.truth) & (population.truth <= high)).mean()
        yield row


def _estimated(sample: Sample, population: Population, estimator: str) -> MeanEstimate:
    controls = Controls(population.weight, population.model)
    return estimator_named(estimator).estimate(sample, controls, sample.of(population.target))


def league(arguments: argparse.Namespace) -> pd.DataFrame:
    """One row per cell and method; ``again`` marks the cells that were replayed once more."""
    known = [each for path in arguments.pools for each in populations(read_judged_pool(path))]
    sizes = DRAWS[:2] if arguments.quick else DRAWS
    rows = []
    for number, (cell, population) in enumerate(tqdm(known, unit="population")):
        for draws in sizes:
            for row in replayed(population, draws, arguments.repetitions, arguments.seed + number):
                rows.append(cell | {"number": number, "draws": draws, "again": False} | row)
    first = pd.DataFrame(rows).assign(size=lambda table: table["bias"].abs())
    of = first.groupby(["method", "draws"])
    closely = pd.concat([of["ratio"].nsmallest(AGAIN), of["size"].nlargest(AGAIN)]).index.get_level_values(2)
    for number, draws in tqdm(sorted(set(first.loc[closely, ["number", "draws"]].itertuples(index=False, name=None)))):
        cell, population = known[number]
        for row in replayed(population, draws, CLOSER * arguments.repetitions, arguments.seed + len(known) + number):
            rows.append(cell | {"number": number, "draws": draws, "again": True} | row)
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per number of draws and method."""
    lines = []
    for (draws, method), cells in rows.groupby(["draws", "method"], sort=False):
        first, again = cells[~cells["again"]], cells[cells["again"]]
        log, error = np.log(first["ratio"]), first["ratio_se"] / first["ratio"]
        lowest, biased = again.loc[again["ratio"].idxmin()], again.loc[again["bias"].abs().idxmax()]
        mean = np.exp(log.mean())
        lines.append(
            {
                "draws": draws,
                "method": method,
                "mean": f"{mean:.3f} ± {mean * np.sqrt((error**2).sum()) / len(log):.3f}",
                "lowest cell": f"{lowest['ratio']:.3f} ± {lowest['ratio_se']:.3f}",
                "largest bias": f"{abs(biased['bias']):.2f}",
                "coverage": "" if first["coverage"].isna().all() else f"{first['coverage'].mean():.3f}",
            }
        )
    return pd.DataFrame(lines)


def spent(population: Population, draws: int, repetitions: int, seed: int) -> dict[str, float]:
    """Mean shares of the budget that are spent in successive order, and if queries that do not fit are skipped."""
    cost, (budget, q) = population.cost, budget_and_default(population, draws)
    priority = draw_priorities(q, repetitions, np.random.default_rng(seed))
    sample = next(prefixes(priority, q, cost, [budget]))
    skipping = np.zeros(repetitions)
    for price in cost[np.argsort(priority, axis=1)].T:
        skipping += np.where(within_budget(skipping + price, budget), price, 0.0)
    in_order = float((sample.count * cost[sample.rows]).sum(axis=1).mean() / budget)
    half = 1 - cost.mean() / (2 * budget)
    return {"spent": in_order, "all but half a query": half, "spent with skips": float(skipping.mean() / budget)}


def spent_shares(arguments: argparse.Namespace) -> pd.DataFrame:
    """One row per number of draws: `spent` in cells whose queries differ in cost, on average and in the lowest one."""
    known = [each for path in arguments.pools for _, each in populations(read_judged_pool(path)) if np.ptp(each.cost)]
    sizes, repetitions = DRAWS[:2] if arguments.quick else DRAWS, arguments.repetitions
    rows = [
        {"draws": draws} | spent(population, draws, repetitions, arguments.seed + number)
        for number, population in enumerate(tqdm(known, unit="population"))
        for draws in sizes
    ]
    of = pd.DataFrame(rows).groupby("draws")
    table = of.mean().join(of.min(), rsuffix=", lowest cell").round(3).reset_index()
    return table.assign(cells=len(known))


def main() -> None:
    """Replay all cells and print the table."""
    quick = "two numbers of draws only"
    parser = parser_with(__doc__, pools="+", repetitions=400, seed=0, quick=quick, evidence=False)
    parser.add_argument("--csv", type=Path, metavar="FILE.csv")
    parser.add_argument("--spent", action="store_true", help="only the shares of the budget that are spent")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.spent:
        print(spent_shares(arguments).to_string(index=False))
        return
    rows = league(arguments)
    if arguments.csv:
        rows.to_csv(arguments.csv, index=False)
    print(summary(rows).to_string(index=False))


if __name__ == "__main__":
    main()
