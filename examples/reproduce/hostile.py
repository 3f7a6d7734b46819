"""How often verdicts are false on populations that are made to mislead: `pt_active.studies.populations`.

    python examples/reproduce/hostile.py [--repetitions 500] [--docs pt_active/pt_docs/stopping.md]

Neither ranker is better, so each winner is false. Queries are drawn by the default design, and their labels come one
query after the other; an interval that holds at its looks is taken at each of them. ``false`` is the share of samples
in which an interval of the difference lacks 0 at any look, so that a winner is named; ``missed`` is the share in which
an interval of one ranker's value lacks the true value at any look. Documents come in five rounds, with a look after
each. A last table has the single look at the end of a fixed number of queries, for many such numbers. Each share is
from four pools, with ``--repetitions`` samples of each (a quarter of them for documents), and has its Monte Carlo
error.

To follow the labels in another way, write a function with the arguments and the result of `looked_at`, and a line in
`RULES`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from leagues import insert, markdown
from stopping import ROUNDS, half_of_rounds, rounds_of
from tqdm import tqdm

from pt_active.inference.estimators import Controls, effective_size, estimator_named, is_rounding
from pt_active.inference.replay import Population
from pt_active.inference.replays import share_error
from pt_active.inference.stopping.boundaries import half_widths
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import ALWAYS, critical_values, information, look_names, look_sizes
from pt_active.plans.making.queries import DESIGN
from pt_active.sampling.designs import DEFENSIVE_SHARE
from pt_active.sampling.draws import draw_priorities, prefixes
from pt_active.studies.populations import POPULATIONS
from pt_active.studies.simulate import labelled_population

MEASURE, ALPHA, POOLS = "DCG@10", 0.05, 4
QUERIES, JUDGED = 200, 60
"""Queries of a pool, and how many of them are judged."""

LARGE, SIZES = 1000, (10, 20, 30, 50, 80, 120, 200)
"""Queries of a pool for the single look, and how many of them are judged."""

NAIVE = "each, plain"
"""Plain intervals at each query, as if it were the last."""

BEGIN, END = "<!-- hostile populations: begin -->", "<!-- hostile populations: end -->"


def estimates(
    population: Population, q: np.ndarray, priority: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Value, standard error, degrees of freedom and effective number of the first queries, float64[R] each, by size."""
    controls, weigh = Controls(population.weight, population.model), estimator_named("regression").weigh
    for sample in prefixes(priority, q, np.ones_like(q), sizes.tolist()):
        target = sample.of(population.target)
        mean = weigh(sample, controls).estimate(target)
        error = np.where(is_rounding(mean.standard_error, sample.count, target), np.nan, mean.standard_error)
        effective = effective_size(sample.count, sample.importance(population.weight))
        yield mean.value, error, mean.degrees_of_freedom, effective


def looked_at(
    population: Population, q: np.ndarray, priority: np.ndarray, number: int, *, looks: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of R growing samples of queries, as `Plan.status` computes them.

    Args:
        population: One ranker, or two to be compared.
        q: float64[m], the distribution that queries are drawn from.
        priority: float64[R, m], the order in which queries come in each sample, smallest first.
        number: How many queries are judged in the end, fewer than m.
        looks: A name of `look_names`, `NAIVE`, or None for the end alone.

    Returns:
        Lower and upper ends, float64[L, R] each, at L looks; infinite where there is no interval.
    """
    sizes = look_sizes(ALWAYS if looks == NAIVE else looks, number)
    value, error, degrees, _ = (np.array(part) for part in zip(*estimates(population, q, priority, sizes), strict=True))
    unit = np.ones_like(q)
    curve = ErrorCurve(q, q**2, unit, unit, np.arange(len(q)), share=population.weight)
    time = information(curve, sizes.astype(np.float64), float(number))
    critical = critical_values(None if looks == NAIVE else looks, sizes, time, ALPHA)
    half = half_widths(critical[:, None], error, degrees)
    return value - half, value + half


Follow = Callable[[Population, np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]

RULES: dict[str, Follow] = {looks or "once": partial(looked_at, looks=looks) for looks in (NAIVE, *look_names(), None)}
"""Ways to follow the labels, by name."""


def populations_of(name: str, queries: int, pools: int, *rankers: str) -> Iterator[Population]:
    """Several pools of a population; of one ranker, or of the difference of two."""
    for seed in range(pools):
        pool, qrels = POPULATIONS[name](seed, queries)
        yield labelled_population(pool.merge(qrels, on=["qid", "docno"]), MEASURE, rankers=rankers)


def excluded(population: Population, follow: Follow, number: int, repetitions: int, seed: int) -> np.ndarray:
    """bool[R], whether an interval lacks the truth at any look."""
    q = population.distribution(DESIGN, DEFENSIVE_SHARE)
    priority = draw_priorities(q, repetitions, np.random.default_rng(seed))
    low, high = follow(population, q, priority, number)
    return np.asarray(((low > population.truth) | (high < population.truth)).any(axis=0))


def of_queries(name: str, repetitions: int, pools: int) -> Iterator[dict[str, object]]:
    """One row for each way to follow the labels of whole queries."""
    for rule, follow in RULES.items():
        shares = {
            column: np.concatenate(
                [
                    excluded(population, follow, JUDGED, repetitions, seed)
                    for seed, population in enumerate(populations_of(name, QUERIES, pools, *rankers))
                ]
            )
            for column, rankers in (("false", "ab"), ("missed", "a"))
        }
        yield {"population": name, "level": "query", "looks": rule} | with_errors(shares)


def of_documents(name: str, repetitions: int, pools: int) -> Iterator[dict[str, object]]:
    """One row for each way to look at rounds of documents."""
    replayed = [
        rounds_of(population, repetitions, False, seed)
        for seed, population in enumerate(populations_of(name, QUERIES, pools, "a", "b"))
    ]
    for looks, at in ((ALWAYS, np.arange(ROUNDS)), (None, np.array([ROUNDS - 1]))):
        wrong = [np.abs(found.error[at]) > half_of_rounds(found, time, looks, at) for found, time in replayed]
        shares = {"false": np.concatenate([each.any(axis=0) for each in wrong])}
        yield {"population": name, "level": "document", "looks": looks or "once"} | with_errors(shares)


def of_sizes(
    name: str, repetitions: int, pools: int, large: int, numbers: Sequence[int]
) -> Iterator[dict[str, object]]:
    """One row for each of some numbers of queries, of ``large`` in a pool, with a single look at their end."""
    cases = [
        (population, q, draw_priorities(q, repetitions, np.random.default_rng(seed)))
        for seed, population in enumerate(populations_of(name, large, pools, "a", "b"))
        for q in [population.distribution(DESIGN, DEFENSIVE_SHARE)]
    ]
    for number in numbers:
        wrong, effective = [], []
        for population, q, priority in cases:
            ((value, error, degrees, size),) = estimates(population, q, priority, np.array([number]))
            critical = critical_values(None, np.array([number]), np.ones(1), ALPHA)
            wrong.append(np.abs(value - population.truth) > half_widths(critical, error, degrees))
            effective.append(size)
        row = {"population": name, "queries": number, "effective": np.concatenate(effective).mean()}
        yield row | with_errors({"false": np.concatenate(wrong)})


def with_errors(shares: dict[str, np.ndarray]) -> dict[str, object]:
    """Shares and their Monte Carlo errors, of bool[R] each."""
    means = {name: float(each.mean()) for name, each in shares.items()}
    return means | {f"{name}_se": share_error(means[name], len(each)) for name, each in shares.items()}


def wide(table: pd.DataFrame, columns: str, value: str = "false") -> pd.DataFrame:
    """Shares with their errors, one row per population."""
    cells = [f"{share:.3f} ± {error:.3f}" for share, error in zip(table[value], table[f"{value}_se"], strict=True)]
    return table.assign(cell=cells).pivot(index="population", columns=columns, values="cell")


def page(followed: pd.DataFrame, sizes: pd.DataFrame, names: list[str], large: int) -> str:
    """The tables for the documentation."""
    queries, documents = (followed[followed["level"] == level] for level in ("query", "document"))
    few = wide(documents, "looks").rename(columns=lambda looks: f"documents, {looks}")
    first = wide(queries, "looks")[list(RULES)].join(few).loc[names]
    second = wide(queries, "looks", "missed")[list(RULES)].loc[names]
    third = wide(sizes, "queries").loc[names]
    titles = (
        f"Share of samples with a false winner at any look, {JUDGED} of {QUERIES} queries:",
        "Share of samples in which an interval of one ranker's value misses the truth at any look:",
        f"Share of samples with a false winner at a single look, by the number of queries of {large}:",
    )
    tables = (markdown(table.reset_index()) for table in (first, second, third))
    return "\n\n".join(f"{title}\n\n{table}" for title, table in zip(titles, tables, strict=True))


def main() -> None:
    """Replay, and print the tables or put them into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500, help="samples of each pool, a quarter for documents")
    parser.add_argument("--populations", nargs="+", choices=POPULATIONS, default=list(POPULATIONS))
    parser.add_argument("--large", type=int, default=LARGE, help="queries of a pool for the single look")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many of them are judged")
    parser.add_argument("--csv", type=Path, metavar="FILE.csv")
    parser.add_argument("--docs", type=Path, metavar="PAGE.md")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    followed, sizes = [], []
    for name in tqdm(arguments.populations, unit="population"):
        followed += of_queries(name, arguments.repetitions, POOLS)
        followed += of_documents(name, max(1, arguments.repetitions // POOLS), POOLS)
        sizes += of_sizes(name, arguments.repetitions, POOLS, arguments.large, arguments.sizes)
    tables = pd.DataFrame(followed), pd.DataFrame(sizes)
    if arguments.csv:
        pd.concat(tables).to_csv(arguments.csv, index=False)
    text = page(*tables, arguments.populations, arguments.large)
    print(text)
    if arguments.docs:
        insert(text, arguments.docs, (BEGIN, END))


if __name__ == "__main__":
    main()
