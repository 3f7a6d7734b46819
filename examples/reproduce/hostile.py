"""How often verdicts are false on populations that are made to mislead: `populations.py`.

    python examples/reproduce/hostile.py [--repetitions N] [--keep FOLDER] [--evidence FOLDER]
    python examples/reproduce/hostile.py --ties
    python examples/reproduce/hostile.py --late [--repetitions 50]
    python examples/reproduce/hostile.py --known-items --repetitions 300 [--keep FOLDER] [--evidence FOLDER]

The first takes some minutes. With ``--keep``, a run that was stopped goes on after the last finished part. The second
prints how often equal rankers are told apart (`equal_rankers`), in a quarter of an hour.

Neither ranker is better, so each winner is false. The tables have the share of samples in which an interval of the
difference lacks 0 at any look, so that a winner is named.

- Bets, looked at after each draw until everything is judged: of queries in the default design, and of documents one
  after the other. All budgets that depend on results end at one of these looks.
- Plain intervals of whole queries, after each query and once, at the end.

Each share is from four pools, with ``--repetitions`` samples of each (half of them for bets on documents), and has its
Monte Carlo error.

With ``--late``, the only table is of bets on documents whose labels come late or are changed (`late_labels.CASES`).

With ``--known-items``, the only table is of nDCG and AP where a query has one relevant document or few (`known_items`):
how often any of five looks at a plan by surprises misses the difference of two rankers, which is 0 for AP in the ties.

"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product

import equal_rankers
import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from known_items import PAIRS, pair_rows
from late_labels import CASES, campaigns, named
from leagues import add_keep, kept, with_error
from populations import DOCUMENTS, POPULATIONS
from scipy.stats import norm
from sequences import ever_excluded, sequences
from tqdm import tqdm

from pt_active import Plan
from pt_active.inference.estimators import Controls, estimator_named, scale_of
from pt_active.inference.replay import Population
from pt_active.inference.stopping.looks import half_widths
from pt_active.inference.ties import is_rounding
from pt_active.plans.making.queries import DESIGN
from pt_active.sampling.designs import DEFENSIVE_SHARE
from pt_active.sampling.draws import draw_priorities, prefixes
from pt_active.studies.simulate import labelled_population

MEASURE, ALPHA, POOLS = "DCG@10", 0.05, 4
QUERIES, JUDGED = 200, 60
"""Queries of a small pool, and how many of them are judged."""

LARGE, MOST, EVERY = 1000, 400, 5

BETS = {"query": "queries", "document": "documents"}
"""What comes one after the other → the name of its row."""

NAIVE = "each, plain"
"""Plain intervals at each query, as if it were the last."""

TABLES = ("hostile-bets", "hostile-looks")

LOOK = 40
"""Documents from one look to the next where labels come late."""


def estimates(
    population: Population, q: np.ndarray, priority: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Value, standard error and degrees of freedom of the first queries, float64[R] each, by size."""
    controls, regression = Controls(population.weight, population.model), estimator_named("regression").estimate
    for sample in prefixes(priority, q, np.ones_like(q), sizes.tolist()):
        target = sample.of(population.target)
        mean = regression(sample, controls, target)
        scale = scale_of(sample, np.abs(target), population.weight, np.abs(population.model))
        error = np.where(is_rounding(mean.standard_error, scale), np.nan, mean.standard_error)
        yield mean.value, error, mean.degrees_of_freedom


def looked_at(
    population: Population, q: np.ndarray, priority: np.ndarray, number: int, *, each: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Plain intervals of R growing samples of queries.

    Args:
        population: Two rankers to be compared.
        q: float64[m], the distribution that queries are drawn from.
        priority: float64[R, m], the order in which queries come in each sample, smallest first.
        number: How many queries are judged in the end, fewer than m.
        each: Whether there is a look after each query, and not only one at the end.

    Returns:
        Lower and upper ends, float64[L, R] each, at L looks; infinite where there is no interval.
    """
    sizes = np.arange(1 if each else number, number + 1)
    value, error, degrees = (np.array(part) for part in zip(*estimates(population, q, priority, sizes), strict=True))
    half = half_widths(np.full((len(sizes), 1), norm.isf(ALPHA / 2)), error, degrees)
    return value - half, value + half


RULES = {NAIVE: True, "once": False}
"""How often one looks at plain intervals, by name → whether after each query."""


def populations_of(name: str, queries: int, pools: int) -> Iterator[Population]:
    """Several pools of a population."""
    for seed in range(pools):
        pool, qrels = POPULATIONS[name](seed, queries)
        yield labelled_population(pool.merge(qrels, on=["qid", "docno"]), MEASURE, rankers=["a", "b"])


def of_queries(name: str, queries: int, judged: int, repetitions: int, pools: int) -> Iterator[dict[str, object]]:
    """One row for each way to look at plain intervals of whole queries."""
    for rule, each in RULES.items():
        wrong = []
        for seed, population in enumerate(populations_of(name, queries, pools)):
            q = population.distribution(DESIGN, DEFENSIVE_SHARE)
            priority = draw_priorities(q, repetitions, np.random.default_rng(seed))
            low, high = looked_at(population, q, priority, judged, each=each)
            wrong.append(((low > population.truth) | (high < population.truth)).any(axis=0))
        yield {"population": name, "looks": rule} | named_share(np.concatenate(wrong))


def of_bets(name: str, queries: int, repetitions: int, pools: int) -> Iterator[dict[str, object]]:
    """One row for each way in which bets are looked at after each draw, until everything is judged."""
    wrong: dict[str, list[bool]] = {}
    for seed in range(pools):
        for row, false in _named_by_bets(name, queries, repetitions, seed):
            wrong.setdefault(row, []).append(false)
    for row, each in wrong.items():
        yield {"population": name, "looks": row} | named_share(np.array(each))


def _named_by_bets(name: str, queries: int, repetitions: int, seed: int) -> Iterator[tuple[str, bool]]:
    """For each sample its row, and whether a winner was ever named."""
    pool, qrels = POPULATIONS[name](seed, queries)
    for level, number in (("query", repetitions), ("document", max(1, repetitions // 2))):
        design = None if level == "query" else "successive"
        plan = Plan.create(pool, None, MEASURE, budget=JUDGED * DOCUMENTS, design=design, level=level)
        for sequence in sequences(plan, qrels, number, seed, ALPHA):
            proof = sequence.proof
            yield BETS[level], ever_excluded(proof.draws, proof, 0.0, ALPHA)


def of_late_labels(name: str, queries: int, repetitions: int, pools: int) -> Iterator[dict[str, object]]:
    """One row for each case in which labels come late or change, and each way in which they count."""
    found: dict[tuple[str, str], list[bool]] = {}
    for seed in range(pools):
        pool, qrels = POPULATIONS[name](seed, queries)
        plan = Plan.create(pool, None, MEASURE, budget=JUDGED * DOCUMENTS, design="successive", level="document")
        for campaign, (case, looks) in product(campaigns(plan, qrels, repetitions, seed), CASES.items()):
            for labels, false in named(campaign, looks, LOOK, ALPHA).items():
                found.setdefault((case, labels), []).append(false)
    for (case, labels), false in found.items():
        yield {"population": name, "case": case, "counts": labels} | named_share(np.array(false))


def named_share(false: np.ndarray) -> dict[str, str]:
    """The share of samples with a false winner, of bool[R], with its Monte Carlo error."""
    return {"false": with_error(float(false.mean()), len(false))}


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """One row per population, one column per way to look, in the order of the table."""
    found = table.pivot(index="population", columns="looks", values="false")
    return found.loc[table["population"].unique(), table["looks"].unique()]


def page(tables: dict[str, pd.DataFrame]) -> str:
    """The tables for the documentation."""
    said = "Share of samples with a false winner at any look"
    return "\n\n".join(f"{said}, {title}.\n\n{markdown(wide(table).reset_index())}" for title, table in tables.items())


def late_page(table: pd.DataFrame) -> str:
    """The table of labels that come late, for the documentation."""
    rows = pd.MultiIndex.from_frame(table[["case", "counts"]]).unique()
    wide = table.pivot(index=["case", "counts"], columns="population", values="false")
    return markdown(wide.loc[rows, table["population"].unique()].reset_index())


def main() -> None:
    """Replay, and print the tables or put them into a page."""
    parser = parser_with(__doc__)
    parser.add_argument("--repetitions", type=int, default=100, help="samples of each pool; fewer for documents")
    parser.add_argument("--populations", nargs="+", choices=POPULATIONS, default=list(POPULATIONS))
    parser.add_argument("--ties", action="store_true", help="equal rankers alone, a tenth of the repetitions of each")
    parser.add_argument(
        "--known-items", action="store_true", help="only the table of nDCG and AP with one relevant document"
    )
    parser.add_argument("--late", action="store_true", help="only the table of labels that come late or change")
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    number = arguments.repetitions
    if arguments.ties:
        print(equal_rankers.page(max(1, number // 10)))
        return
    keep = partial(kept, arguments.keep)
    if arguments.known_items:
        found: list[dict[str, object]] = []
        for each in tqdm(PAIRS, unit="cell"):
            part = f"pair, {'; '.join(map(str, each))}, {number} repetitions"
            found += keep(part, pair_rows(each, number, 1))
        text = markdown(pd.DataFrame(found))
        print(text)
        publish(text, arguments, "hostile-known-items")
        return
    if arguments.late:
        rows = (
            row
            for name in tqdm(arguments.populations, unit="population")
            for row in keep(f"{name}, {number} repetitions, late", of_late_labels(name, QUERIES, number, POOLS))
        )
        print(late_page(pd.DataFrame(rows)))
        return
    bets, plain = [], []
    for name in tqdm(arguments.populations, unit="population"):
        setting = f"{name}, {number} repetitions"
        bets += keep(f"{setting}, bets", of_bets(name, QUERIES, number, POOLS))
        plain += keep(f"{setting}, plain", of_queries(name, QUERIES, JUDGED, number, POOLS))
    tables = {
        "by bets, until everything is judged": pd.DataFrame(bets),
        f"{JUDGED} of {QUERIES} queries": pd.DataFrame(plain),
    }
    text = page(tables)
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
