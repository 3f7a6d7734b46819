"""Coverage of intervals from few labels, on populations that are made to mislead and on judged pools.

    python examples/reproduce/small_intervals.py POOL.parquet … [--evidence FOLDER]

Each sample is a plan with the default ``reference="auto"``: plain random queries with their plain mean, the default
plan of queries, and the default plan of documents. One ranker is estimated and two are compared. ``t`` is the coverage
of the t interval (``reference="effective"``), ``covers`` that of the default, both of all samples that have the
interval; ``none`` is the share of samples without one by default; ``width`` is the median width of the default over
that of t; ``silent`` is the share of samples whose interval misses without a note. Of populations, four pools are made.
The rankers of a judged pool are the best one alone, and against the second best, by their order on the training fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from evidence import markdown, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import parser_of, tasks
from tqdm import tqdm

from pt_active import Plan
from pt_active.inference.replay import share_error
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.studies.populations import POPULATIONS, HostilePopulation
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURE, POOLS = "DCG@10", 4

NAMES = ("plain", "heavy", "rare", "dominant", "skewed", "skewed_32", "ties", "constant", "overconfident", "wrong")

SAMPLED = {
    "random queries": ({"design": "passive"}, "snis", (10, 20, 60)),
    "queries": ({}, "regression", (10, 20, 60)),
    "documents": ({"level": "document"}, "regression", (60, 150, 400)),
}
"""What is sampled → arguments of the plan, the estimator, and the numbers of units."""

TABLES = ("small-intervals",)


class Asked(NamedTuple):
    """A question about a pool whose answer is known.

    Attributes:
        data: Name of the data.
        pools: Graded pools with the judgments of all documents, one of them for each seed in turn.
    """

    data: str
    pools: list[HostilePopulation]


def rare_grade(seed: int, queries: int = 200) -> HostilePopulation:
    """The top grade is rare, and a fair model expects it far too often.

    The pool is that of `populations.plain`. Its labels are made again from the ranks of its expected grades.
    """
    pool, qrels = POPULATIONS["plain"](seed, queries)
    rng, columns = np.random.default_rng(seed), [f"grade_{g}" for g in range(4)]
    latent = 1.2 * (pool[columns].to_numpy() @ np.arange(4.0)) + rng.normal(0, 1, len(pool))
    label = np.where(latent > np.quantile(latent, 0.99), 3, np.where(latent > np.quantile(latent, 0.85), 1, 0))
    return HostilePopulation(pool, qrels.assign(label=label))


def populations() -> Iterator[Asked]:
    """The populations that are made."""
    yield Asked("rare grade", [rare_grade(seed) for seed in range(POOLS)])
    for name in NAMES:
        yield Asked(name, [POPULATIONS[name](seed) for seed in range(POOLS)])


def judged(pool: JudgedPool) -> Asked:
    """A judged pool, of the rankers a and b."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    rankers = tasks(pool, fold)["near-tied pair"]
    named = zip(rankers, "ab", strict=True)
    names = {f"{kind}_{ranker}": f"{kind}_{name}" for ranker, name in named for kind in ("rank", "score")}
    frame = pool_of_rankers(graded, rankers).rename(columns=names)
    return Asked(pool.name, [HostilePopulation(frame.drop(columns="label"), frame[["qid", "docno", "label"]])])


def rows_of(asked: Asked, repetitions: int) -> Iterator[dict[str, object]]:
    """One row for each kind of sample and size."""
    labelled = [pool.merge(qrels, on=["qid", "docno"]) for pool, qrels in asked.pools]
    truths = [[labelled_population(each, MEASURE, rankers=r).truth for r in (["a"], ["a", "b"])] for each in labelled]
    most = len(asked.pools[0].pool["qid"].unique())
    for kind, (arguments, estimator, sizes) in SAMPLED.items():
        for size in sizes:
            documents = kind == "documents"
            if size > (0.5 * len(asked.pools[0].pool) if documents else 0.6 * most):
                continue
            answers = []
            for seed in tqdm(range(repetitions), desc=f"{asked.data}, {size} {kind}", leave=False):
                which = seed % len(asked.pools)
                pool, qrels = asked.pools[which]
                spend = {"budget": float(size)} if documents else {"draws": size}
                plan = Plan.create(pool, None, MEASURE, seed=seed, **spend, **arguments)
                alone = plan
                if documents:
                    alone = Plan.create(pool_of_rankers(pool, ["a"]), None, MEASURE, seed=seed, **spend, **arguments)
                plans = zip((alone, plan), truths[which], (True, False), strict=True)
                answers.append([answered(each, qrels, estimator, truth, one) for each, truth, one in plans])
            for place, what in enumerate(("one ranker", "two rankers")):
                head = {"data": asked.data, "estimated": what, "sampled": f"{size} {kind}"}
                yield head | summary(pd.DataFrame([each[place] for each in answers]))


def answered(plan: Plan, qrels: pd.DataFrame, estimator: str, truth: float, one: bool) -> dict[str, float]:
    """Whether the intervals of a sample cover, their widths, and whether there is a note."""

    def answer(reference: str) -> Estimate | Comparison:
        how = {"estimator": estimator, "reference": reference}
        return plan.estimate(qrels, **how)["a"] if one else plan.compare(qrels, **how)

    default, usual = answer("auto"), answer("effective")
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
        return f"{known.mean():.3f} ± {share_error(known.mean(), len(known)):.3f}" if len(known) else "–"

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
    parser = parser_of(__doc__, 200, "a tenth of the repetitions")
    parser.add_argument("--only", nargs="*", default=[], help="names of populations or pools to take")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    repetitions = max(arguments.repetitions // 10, 10) if arguments.quick else arguments.repetitions
    rows: list[dict[str, object]] = []
    for asked in [*populations(), *(judged(read_judged_pool(Path(path))) for path in arguments.pools)]:
        if arguments.only and asked.data not in arguments.only:
            continue
        for row in rows_of(asked, repetitions):
            rows.append(row)
            print("  ".join(map(str, row.values())), flush=True)
    table = markdown(pd.DataFrame(rows))
    publish(table, arguments, *TABLES)


if __name__ == "__main__":
    main()
