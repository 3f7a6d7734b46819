"""Coverage of intervals from few labels, on populations that are made to mislead.

    python examples/reproduce/small_intervals.py [--repetitions N] [--evidence FOLDER]

Each sample is a plan with the default intervals: plain random queries with their plain mean, the default
plan of queries, and the default plan of documents. One ranker is estimated and two are compared. ``t`` is the coverage
of the t interval, ``covers`` that of the default, both of all samples that have the
interval; ``none`` is the share of samples without one by default; ``width`` is the median width of the default over
that of t; ``silent`` is the share of samples whose interval misses without a note. Each population is four pools.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import with_error
from populations import POPULATIONS, HostilePopulation
from tqdm import tqdm

from pt_active import Plan
from pt_active.plans.answers.labelled import Settings
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURE, POOLS = "DCG@10", 4

NAMES = ("heavy", "dominant", "skewed_32")

SAMPLED = {
    "random queries": ({"design": "passive"}, "snis", (10, 60)),
    "queries": ({}, "regression", (10, 60)),
    "documents": ({"level": "document"}, "regression", (60, 400)),
}
"""What is sampled → arguments of the plan, the estimator, and the numbers of units."""

TABLES = ("small-intervals",)


def rare_grade(seed: int, queries: int = 200) -> HostilePopulation:
    """The top grade is rare, and a fair model expects it far too often.

    The pool is that of `populations.plain`. Its labels are made again from the ranks of its expected grades.
    """
    pool, qrels = POPULATIONS["plain"](seed, queries)
    rng, columns = np.random.default_rng(seed), [f"grade_{g}" for g in range(4)]
    latent = 1.2 * (pool[columns].to_numpy() @ np.arange(4.0)) + rng.normal(0, 1, len(pool))
    label = np.where(latent > np.quantile(latent, 0.99), 3, np.where(latent > np.quantile(latent, 0.85), 1, 0))
    return HostilePopulation(pool, qrels.assign(label=label))


def populations() -> Iterator[tuple[str, list[HostilePopulation]]]:
    """The name of each population, and its pools."""
    yield "rare grade", [rare_grade(seed) for seed in range(POOLS)]
    for name in NAMES:
        yield name, [POPULATIONS[name](seed) for seed in range(POOLS)]


def rows_of(name: str, pools: list[HostilePopulation], repetitions: int) -> Iterator[dict[str, object]]:
    """One row for each kind of sample, size and number of rankers."""
    labelled = [pool.merge(qrels, on=["qid", "docno"]) for pool, qrels in pools]
    truths = [[labelled_population(each, MEASURE, rankers=r).truth for r in (["a"], ["a", "b"])] for each in labelled]
    for kind, (arguments, estimator, sizes) in SAMPLED.items():
        for size in sizes:
            answers: tuple[list[dict[str, float]], ...] = [], []
            for seed in tqdm(range(repetitions), desc=f"{name}, {size} {kind}", leave=False):
                which = seed % len(pools)
                pool, qrels = pools[which]
                spend = {"budget": float(size)} if kind == "documents" else {"draws": size}
                plan = alone = Plan.create(pool, None, MEASURE, seed=seed, **spend, **arguments)
                if kind == "documents":
                    alone = Plan.create(pool_of_rankers(pool, ["a"]), None, MEASURE, seed=seed, **spend, **arguments)
                for found, each, truth, one in zip(answers, (alone, plan), truths[which], (True, False), strict=True):
                    found.append(answered(each, qrels, estimator, truth, one))
            for found, what in zip(answers, ("one ranker", "two rankers"), strict=True):
                head = {"data": name, "estimated": what, "sampled": f"{size} {kind}"}
                yield head | summary(pd.DataFrame(found))


def answered(plan: Plan, qrels: pd.DataFrame, estimator: str, truth: float, one: bool) -> dict[str, float]:
    """Whether the intervals of a sample cover, their widths, and whether there is a note."""
    both, judged = [Settings(estimator, replays=replays) for replays in (True, False)], plan.judged(qrels)
    default, usual = (judged.estimate(0, by) if one else judged.compare(0, 1, by) for by in both)
    (low, high), (t_low, t_high) = default.confidence_interval(), usual.confidence_interval()
    return {
        "t": np.nan if np.isnan(t_low) else float(t_low <= truth <= t_high),
        "covers": np.nan if np.isnan(low) else float(low <= truth <= high),
        "width": (high - low) / (t_high - t_low) if np.isfinite(t_high - t_low) else np.nan,
        "noted": bool(default.note),
    }


def summary(answers: pd.DataFrame) -> dict[str, object]:
    """The shares of samples, with the Monte Carlo error of both coverages, and the median ratio of the widths."""

    def covers(column: str) -> str:
        known = answers[column].dropna()
        return with_error(known.mean(), len(known)) if len(known) else "–"

    silent = (answers["covers"] == 0) & ~answers["noted"]
    return {
        "t": covers("t"),
        "covers": covers("covers"),
        "none": f"{answers['covers'].isna().mean():.2f}",
        "width": f"{answers['width'].median():.2f}",
        "silent": f"{silent.mean():.3f}",
    }


def main() -> None:
    """Print the table, and keep it if asked to."""
    arguments = parser_with(__doc__, repetitions=60).parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    for name, pools in populations():
        for row in rows_of(name, pools, arguments.repetitions):
            rows.append(row)
            print("  ".join(map(str, row.values())), flush=True)
    publish(markdown(pd.DataFrame(rows)), arguments, *TABLES)


if __name__ == "__main__":
    main()
