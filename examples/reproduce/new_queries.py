"""Do intervals cover the queries of a pool, and the population that these were drawn from?

    python examples/reproduce/new_queries.py mq2007-agg.parquet dl21.parquet … --evidence FOLDER

All queries of a judged pool are the population. Each repetition draws a pool of 20, 60 or 200 of them with replacement,
plans whole queries (DCG@10; the same labels estimate ERR@10, nDCG@10 and AP) and single documents (DCG@10, and a second
plan for nDCG@10), each with 30 % of all judgments, or a little more than the longest query has, and asks for the best
ranker, for its difference to the median one (clear pair) and to the second (near-tied pair). *these, pool* is how often
the interval for these queries covers the mean of the pool, *these, population* how often it covers that of the
population, *new, population* how often the one for new queries does; all at 95 %, of the samples that have an interval.
*noted* is the share of the latter with a caution, and *silent* the share that misses without one. Errors are those of
the repetitions, whose answers are not independent.

The first table has this by measure, over all data and tasks. The second has populations in which few queries carry the
difference, and clusters of 1 to 10 queries that are alike, drawn as wholes: *apart* takes each query as its own,
and *new* sums clusters first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, read_judged_pool
from leagues import tasks
from populations import POPULATIONS
from tqdm import tqdm

from pt_active import Plan, measure_values
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.studies.simulate import pool_of_rankers

Held = tuple[Estimate | Comparison, float]

TABLES = ("new-queries-measures", "new-queries-hard")
SIZES = (20, 60, 200)
SHARE = 0.3
HARD = ("skewed", "heavy", "dominant")
CLUSTERS = (10, 30)
KINDS = ("these, pool", "these, population", "new, population")


@dataclass(frozen=True)
class Everyone:
    """A population of judged queries.

    Attributes:
        name: Name of the data.
        parts: The graded documents of each query, with their labels.
        values: Measure → float64[N, k], the values of the rankers.
        pairs: Task → the places of its rankers.
        clusters: What is drawn: the places of the queries of each cluster.
    """

    name: str
    parts: list[pd.DataFrame]
    values: dict[str, np.ndarray]
    pairs: dict[str, tuple[int, ...]]
    clusters: list[np.ndarray]

    def drawn(self, picked: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
        """The graded documents of clusters, their topics, and the places of their queries."""
        rows = np.concatenate([self.clusters[each] for each in picked])
        need = np.repeat(np.arange(len(picked)), [len(self.clusters[each]) for each in picked])
        frames = [self.parts[row].assign(qid=f"q{place}") for place, row in enumerate(rows)]
        topics = pd.DataFrame({"qid": [f"q{place}" for place in range(len(rows))], "qneed": need.astype(str)})
        return pd.concat(frames, ignore_index=True), topics, rows


def everyone(name: str, graded: pd.DataFrame, chosen: dict[str, list[str]], measures: Sequence[str]) -> Everyone:
    """A population from graded and labelled documents, in which each query is its own cluster."""
    names = list(dict.fromkeys(ranker for rankers in chosen.values() for ranker in rankers))
    frame = pool_of_rankers(graded, names)
    parts, qrels = dict(iter(frame.groupby("qid"))), frame[["qid", "docno", "label"]]
    values = {measure: np.empty((len(parts), len(names))) for measure in measures}
    for place, ranker in enumerate(names):
        run = frame.loc[frame[f"rank_{ranker}"] >= 0, ["qid", "docno"]]
        run = run.assign(score=-frame[f"rank_{ranker}"].astype(float))
        for measure in measures:
            values[measure][:, place] = measure_values(run, qrels, measure).set_index("qid")["value"].loc[list(parts)]
    pairs = {task: tuple(names.index(ranker) for ranker in rankers) for task, rankers in chosen.items()}
    return Everyone(name, list(parts.values()), values, pairs, [np.array([row]) for row in range(len(parts))])


def in_clusters(population: Everyone, seed: int) -> Everyone:
    """The same queries in clusters of 1 to 10 whose values are alike."""
    rng = np.random.default_rng(seed)
    value = population.values["DCG@10"] @ np.array([1.0, -1.0, 0.0])[: population.values["DCG@10"].shape[1]]
    order = np.argsort(value + value.std() * rng.standard_normal(len(value)))
    cuts = np.cumsum(rng.integers(1, 11, size=len(value)))
    clusters = [each for each in np.split(order, cuts[cuts < len(value)]) if len(each)]
    return Everyone("clusters of 1 to 10", population.parts, population.values, population.pairs, clusters)


def answers(population: Everyone, size: int, seed: int, clustered: bool = False) -> Iterator[dict[str, object]]:
    """Whether the intervals of one pool cover."""
    rng = np.random.default_rng((size, seed))
    graded, topics, rows = population.drawn(rng.integers(len(population.clusters), size=size))
    qrels, pool, every = graded[["qid", "docno", "label"]], graded.drop(columns="label"), list(population.values)
    budget = max(SHARE * len(pool), 1.2 * float(pool["qid"].value_counts().max()))
    single = [each for each in every if each.startswith(("DCG", "nDCG"))]
    plans = [("query", every[0], every), *(("document", measure, [measure]) for measure in single)]
    for level, designed, measures in plans:
        plan = Plan.create(pool, topics, designed, budget=budget, level=level, seed=seed)
        for measure in measures:
            values, head = population.values[measure], {"sampled": level, "measure": measure.partition("(")[0]}
            ranking = plan.rank(qrels, measure, queries="new", clusters="qneed" if clustered else None)
            alone = plan.rank(qrels, measure, queries="new") if clustered else ranking
            for task, places in population.pairs.items():
                truth = values[:, places[0]] - (values[:, places[1]] if len(places) > 1 else 0.0)
                names = [plan.rankers[place] for place in places]
                yield head | {"task": task} | covers(*(about(each, names) for each in (ranking, alone)), truth, rows)


def about(ranking: Ranking, names: list[str]) -> Held:
    """What a ranking says about a ranker or a pair, and 1, or -1 if it is the difference the other way round."""
    if len(names) == 1:
        return next(each for each in ranking.estimates if each.name == names[0]), 1.0
    found = next(each for each in ranking.comparisons if {each.first, each.second} == set(names))
    return found, 1.0 if found.first == names[0] else -1.0


def covers(new: Held, alone: Held, value: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    """Which intervals hold which mean; NaN where there is no interval."""
    (result, sign), (apart, _) = new, alone

    def holds(one: Estimate | Comparison, truth: float) -> float:
        low, high = one.confidence_interval()
        return np.nan if np.isnan(low) else float(low <= sign * truth <= high)

    pool, population = float(value[rows].mean()), float(value.mean())
    noted = bool(result.basis.interval_caution)
    own = holds(result.beside, pool), holds(result.beside, population)
    held = dict(zip(KINDS, (*own, holds(result, population)), strict=True)) | {"apart": holds(apart, population)}
    return held | {"noted": float(noted), "silent": float(held[KINDS[-1]] == 0 and not noted)}


def found(population: Everyone, size: int, repetitions: int, seed: int, clustered: bool = False) -> pd.DataFrame:
    """The answers of many pools, a row each."""
    rows: list[dict[str, object]] = []
    for each in tqdm(range(repetitions), desc=f"{population.name}, {size}", leave=False):
        rows += [{"repetition": each} | row for row in answers(population, size, seed + each, clustered)]
    return pd.DataFrame(rows).assign(data=population.name, size=size)


def table(rows: pd.DataFrame, by: list[str], columns: Sequence[str]) -> pd.DataFrame:
    """Shares by group, with the Monte Carlo error over repetitions."""
    made = []
    for key, group in rows.groupby(by, sort=False):
        head = dict(zip(by, key, strict=True)) | {"repetitions": group.groupby("data")["repetition"].nunique().sum()}
        made.append(head | {name: share(group, name) for name in columns})
    return pd.DataFrame(made)


def share(group: pd.DataFrame, name: str) -> str:
    """A mean with its error; the answers of a repetition belong together."""
    means = group.groupby(["data", "repetition"])[name].mean().dropna()
    if len(means) < 2:
        return "–"
    return f"{group[name].mean():.3f} ± {means.std(ddof=1) / np.sqrt(len(means)):.3f}"


def hard(repetitions: int, seed: int, whole: Everyone) -> Iterator[pd.DataFrame]:
    """Populations in which few queries carry the difference, and queries in clusters."""
    for name in HARD:
        pool, qrels = POPULATIONS[name](seed, 400)
        labelled = pool.merge(qrels, on=["qid", "docno"])
        population = everyone(name, labelled, {"one ranker": ["a"], "pair": ["a", "b"]}, ["DCG@10"])
        for size in SIZES:
            yield found(population, size, repetitions, seed)
    alike = in_clusters(Everyone(whole.name, whole.parts, {"DCG@10": whole.values["DCG@10"]}, whole.pairs, []), seed)
    for size in CLUSTERS:
        yield found(alike, size, repetitions, seed, clustered=True)


def main() -> None:
    """Print the tables, and keep them if asked to."""
    parser = parser_with(__doc__, pools="+", seed=0)
    parser.add_argument(
        "--repetitions", type=int, default=60, help="pools of 200 queries; of 60 twice, of 20 four times as many"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    populations, answered = [], []
    for path in arguments.pools:
        pool = read_judged_pool(path)
        graded = pool.graded(GRADE_MODELS["ordered logit"](pool.max_grade), pool.train_folds[0])
        measures = ["DCG@10", f"ERR(max_rel={pool.max_grade})@10", "nDCG@10", f"AP(rel={pool.relevant})"]
        populations.append(everyone(pool.name, graded, tasks(pool, pool.train_folds[0]), measures))
        for size, more in zip(SIZES, (4, 2, 1), strict=True):
            answered.append(found(populations[-1], size, more * arguments.repetitions, arguments.seed))
            print(table(answered[-1], ["data", "size"], KINDS).to_string(index=False, header=False), flush=True)
    rows, difficult = pd.concat(answered), pd.concat(hard(2 * arguments.repetitions, arguments.seed, populations[0]))
    tables = (
        table(rows, ["sampled", "measure", "size"], (*KINDS, "noted", "silent")),
        table(difficult, ["data", "size", "task"], (*KINDS[1:], "apart", "noted", "silent")),
    )
    text = "\n\n".join(markdown(each) for each in tables)
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
