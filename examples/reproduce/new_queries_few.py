"""Does an interval for new queries hold where few queries differ, or where a few carry most of the difference?

    python examples/reproduce/new_queries_few.py mq2007-agg.parquet dl21.parquet --evidence FOLDER

Pools of 30 to 500 queries are drawn from populations whose true difference is 0, and everything is judged. *Few
differ*: the rankers are equal in 90 % of the queries, the candidate is better by .5 to 1.5 in 7 of 8 of the others, and
worse by 7 times as much in 1 of 8. *A third differs* and *all differ* have the same in a third of the queries and in
all. The other populations are named after their distribution; long tails are losses of the candidate. Of each judged
pool that is named, all queries are the population, and each sample takes another pair of rankers.

The first table: *t* is how often the interval of the paired t-test misses, *interval* that of `Plan.compare`, *width*
how wide the latter is in those of t on average, *decided* in how many pools a gate may decide. Gates compare with the
truth, so that each pass and each fail is wrong: at the *end* and at *any time*. At 95 % an interval may miss in .05,
and a gate may pass in .025 and fail in .025. *Half judged* are plans of whole queries of which half are drawn.

The second table has what else was tried, without any rule on how many differ: misses and mean widths in those of t.
*Johnson* (1978) and *Hall* (1992) correct for skewness, and never make an interval narrower than t's. *Bootstrap-t* has
400 resamples. *Bernstein* (Maurer and Pontil 2009) and *t + unseen* know how large a difference can be: the latter adds
``ln(2/α)/m`` queries at either bound, as many as may be missing from a sample of m.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import read_judged_pool
from leagues import with_error
from scipy import stats
from tqdm import tqdm

from pt_active import Plan, measure_values
from pt_active.inference.new_queries import SHARE_OF_LABELS, ByQuery, widened_by_queries
from pt_active.studies.simulate import pool_of_rankers

Draw = Callable[[np.random.Generator, int], np.ndarray]

TABLES = ("new-queries-few", "new-queries-ways")
SIZES = (30, 60, 100, 200, 500)
MEASURES = ("nDCG@10", "DCG@10")
ALPHA, RESAMPLES = 0.05, 400
LARGEST = 10.5  # The largest difference of the first three populations


def differing(share: float) -> Draw:
    """Values that differ in a share of the queries: about 1 in 7 of 8 of these and about −7 in the others."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        value = np.where(rng.random(size) < 1 / 8, -7.0, 1.0) * rng.uniform(0.5, 1.5, size=size)
        return np.where(rng.random(size) < share, value, 0.0)

    return draw


POPULATIONS: dict[str, Draw] = {
    "few differ": differing(0.1),
    "a third differs": differing(1 / 3),
    "all differ": differing(1.0),
    "lognormal": lambda rng, size: np.exp(0.5) - rng.lognormal(size=size),
    "exponential": lambda rng, size: 1 - rng.exponential(size=size),
    "normal": lambda rng, size: rng.normal(size=size),
    "t with 3 degrees": lambda rng, size: rng.standard_t(3, size=size),
    "few differ, normal": lambda rng, size: np.where(rng.random(size) < 0.1, rng.normal(size=size), 0.0),
    "half differ, normal": lambda rng, size: np.where(rng.random(size) < 0.5, rng.normal(size=size), 0.0),
}


def real(path: Path) -> Iterator[tuple[str, Draw]]:
    """The differences of pairs of rankers of a judged pool, less their means."""
    pool = read_judged_pool(path)
    frame = pool_of_rankers(pool.frame, pool.rankers)
    qrels, qids = frame[["qid", "docno", "label"]], frame["qid"].unique()
    for measure in MEASURES:
        values = []
        for ranker in pool.rankers:
            rank = frame[f"rank_{ranker}"]
            run = frame.loc[rank >= 0, ["qid", "docno"]].assign(score=-rank[rank >= 0].astype(float))
            values.append(measure_values(run, qrels, measure).set_index("qid")["value"].reindex(qids).fillna(0.0))
        table = np.array(values)

        def draw(rng: np.random.Generator, size: int, table: np.ndarray = table) -> np.ndarray:
            one, other = rng.choice(len(table), size=2, replace=False)
            difference = table[one] - table[other]
            return (difference - difference.mean())[rng.integers(len(difference), size=size)]

        yield f"{pool.name}, {measure}", draw


def answer(value: np.ndarray) -> dict[str, float]:
    """What a census of one pool says, if the truth is 0."""
    m, mean = len(value), float(value.mean())
    by_query = ByQuery(np.full(m, 1 / m), value, 0.0)
    error, degrees, tails = widened_by_queries(0.0, np.inf, None, by_query, ALPHA)
    by_t = stats.t.ppf(1 - ALPHA / 2, m - 1) * error
    half = stats.t.ppf(1 - ALPHA / 2, degrees) * error
    low, high = (half, half) if tails is None else (tails.low * half, tails.high * half)
    apart, decided = by_query.apart((1 - SHARE_OF_LABELS) * ALPHA), by_query.enough()
    return {
        "t": float(abs(mean) > by_t),
        "interval": float(mean > low or mean < -high),
        "width": (low + high) / (2 * by_t) if by_t > 0 else 1.0,
        "decided": float(decided),
        "passes, end": float(decided and mean > low),
        "fails, end": float(decided and mean < -high),
        "passes, any time": float(mean > apart),
        "fails, any time": float(mean < -apart),
    }


def half_judged(size: int, seed: int) -> dict[str, float]:
    """What gates say of a plan that judges half of the queries, if few differ; DCG@1 is 1 and 7 for grades 1 and 3."""
    value = np.rint(differing(0.1)(np.random.default_rng((size, seed)), size))
    keys = pd.DataFrame({"qid": np.repeat(np.arange(size).astype(str), 2), "docno": ["x", "y"] * size})
    pool = keys.assign(rank_b=[1, 0] * size, rank_a=[0, 1] * size, grade_0=0.7, grade_1=0.1, grade_2=0.1, grade_3=0.1)
    labels = np.c_[np.where(value < -1, 3, 0), np.where(value > 0, 1, 0)]
    qrels = keys.assign(label=labels.ravel())
    plan = Plan.create(pool, None, "DCG@1", budget=size, level="query", seed=seed)
    qrels = plan.assessments[["qid", "docno"]].merge(qrels)
    found = plan.compare(qrels, queries="new")
    low, high = found.confidence_interval()
    row = {"t": np.nan, "interval": float(low > 0 or high < 0), "width": np.nan, "decided": 0.0}
    row["decided"] = float(found.population is not None and found.population.enough)
    for name, looks in (("end", None), ("any time", "always")):
        outcome = plan.gate(qrels, 0.0, looks=looks, queries="new").outcome
        row |= {f"passes, {name}": float(outcome == "pass"), f"fails, {name}": float(outcome == "fail")}
    return row


def summed(name: str, size: int, rows: list[dict[str, float]]) -> dict[str, object]:
    """A row of the first table."""
    means = pd.DataFrame(rows).mean()
    shares: dict[str, object] = {
        str(column): "–" if np.isnan(each) else with_error(float(each), len(rows))
        for column, each in means.items()
        if column not in ("width", "decided")
    }
    wide = "–" if np.isnan(means["width"]) else f"{means['width']:.3f}"
    return {"population": name, "queries": size, "decided": f"{means['decided']:.2f}", "width": wide, **shares}


def ways(value: np.ndarray, bound: float, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """How far the ends of each interval are below and above the mean; NaN where there is none."""
    m, centred = len(value), value - value.mean()
    error, t = stats.sem(value), stats.t.ppf(1 - ALPHA / 2, m - 1)
    square = float(centred @ centred)
    skewness = float(centred**2 @ centred) / square**1.5  # of the mean
    by_johnson = 1 + abs(skewness) * (1 + 2 * t**2) / (6 * t)
    by_hall = [
        max(3 * side * (np.cbrt(1 + skewness * (side * t - skewness / 6)) - 1) / skewness, t) if skewness else t
        for side in (1, -1)
    ]
    drawn = value[rng.integers(m, size=(RESAMPLES, m))]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(m)
    shown = errors > 0
    low, high = np.quantile(
        (drawn.mean(axis=1)[shown] - value.mean()) / errors[shown], [ALPHA / 2, 1 - ALPHA / 2], method="nearest"
    )
    log = np.log(4 / ALPHA)
    bernstein = error * np.sqrt(2 * log) + 7 * 2 * bound * log / (3 * (m - 1))
    unseen = t * error + bound * np.log(2 / ALPHA) / m
    tails = ByQuery(np.full(m, 1 / m), value, 0.0).tails(ALPHA)
    quantile = stats.t.ppf(1 - ALPHA / 2, tails.degrees)
    long = (1.0, by_johnson) if skewness > 0 else (by_johnson, 1.0)
    return {
        "t": (t * error, t * error),
        "Johnson": (long[0] * t * error, long[1] * t * error),
        "Hall": (by_hall[0] * error, by_hall[1] * error),
        "bootstrap-t": (high * error, -low * error),
        "Bernstein": (bernstein, bernstein),
        "t + unseen": (unseen, unseen),
        "this package": (tails.low * quantile * error, tails.high * quantile * error),
    }


def tried(name: str, size: int, pools: int, seed: int) -> dict[str, object]:
    """A row of the second table: misses, and mean widths in those of t."""
    rng, found = np.random.default_rng((size, seed)), []
    for _ in range(pools):
        value = POPULATIONS[name](rng, size)
        if np.ptp(value) > 0:
            ends = ways(value, LARGEST if "differ" in name and "normal" not in name else np.nan, rng)
            found.append({way: (each, value.mean()) for way, each in ends.items()})
    row: dict[str, object] = {"population": name, "queries": size}
    for way in found[0]:
        lows, highs, means = np.array([(*each[way][0], each[way][1]) for each in found]).T
        own = np.array([each["t"][0][0] for each in found])
        missed = ((means > lows) | (means < -highs)).sum() / pools
        row[way] = "–" if np.isnan(lows).all() else f"{missed:.3f} ({np.median((lows + highs) / (2 * own)):.2f})"
    return row


def main() -> None:
    """Print the tables, and keep them if asked to."""
    parser = parser_with(__doc__, pools="*", repetitions=4000, seed=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    populations = POPULATIONS | {name: draw for path in arguments.pools for name, draw in real(path)}
    held, others = [], []
    for name, draw in tqdm(populations.items()):
        for size in SIZES:
            rng = np.random.default_rng((size, arguments.seed))
            held.append(summed(name, size, [answer(draw(rng, size)) for _ in range(arguments.repetitions)]))
    for size in SIZES[1:4]:
        rows = [half_judged(size, arguments.seed + each) for each in range(max(arguments.repetitions // 10, 1))]
        held.append(summed("few differ, half judged", size, rows))
    for name in POPULATIONS:
        others += [tried(name, size, max(arguments.repetitions // 4, 1), arguments.seed) for size in SIZES]
    text = "\n\n".join(markdown(pd.DataFrame(each)) for each in (held, others))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
