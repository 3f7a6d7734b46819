"""A table that grows: do intervals of runs that came after the plan hold, and how often is a claim of a release false?

    python examples/reproduce/growing_table.py FOLDER [--repetitions 6] [--sequences 20000] [--evidence FOLDER]

FOLDER is that of `tracks.py`. First table: plans of documents for nDCG@10 are made for 42 or 21 random runs of the
track, from the first documents of each (``depth``). `Plan.with_rankers` adds the others, and samples are drawn anew.
Rows are by the share of a later run's first ten documents that is not in the pool (``outside``). ``as stated`` is the
share of 95% intervals that hold the value with those as not relevant, ``true`` that of all labels, ``off`` the mean of
the true value minus the other; ``pair`` is for the difference to the best of the plan's runs. ``wrong`` is the share of
differences that are found, with the wrong sign. Errors are those of independent runs. Intervals are those before the
package refuses them for documents outside the pool.

Second table: sequences of 50 releases. Some are better by three standard errors, the others equal to what they are
compared with: *other labels* for each; *one baseline* with the same labels; *near copies* of each other, which share
nine tenths of the variance; or the last one that was claimed (*record*). ``any`` is the share of sequences with a false
claim, ``false`` the mean share of false ones among the claims, ``found`` that of better ones that are claimed. *Each*
tests at α = .025, *spending* is `release_level`, and LORD++ is that of Ramdas et al. 2017.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import with_error
from scipy.special import ndtr
from tqdm import tqdm
from tracks import Track, read_track, redrawn, true_scores

from pt_active import Plan
from pt_active.inference.stopping.looks import release_level
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.labelled_documents import labelled_documents

MEASURE, BUDGET = "nDCG@10", 1083
DEPTHS, KEPT, SPLITS = (10, 50), (42, 21), 2
"""Documents of each run in the pool, runs of the plan, and how often they are chosen."""

BANDS = {"to 2%": 0.02, "to 5%": 0.05, "more": 1.0}
ALPHA, RELEASES, EFFECT = 0.025, 50, 3.0
TABLES = ("growing-table", "growing-claims")


def run_of(pool: pd.DataFrame, name: str) -> pd.DataFrame:
    """A run from its ranks in a pool."""
    rows = pool[pool[f"rank_{name}"] >= 0]
    return rows[["qid", "docno"]].assign(score=-rows[f"rank_{name}"].astype(float))


def later_runs(track: Track, depth: int, kept: int, seed: int, samples: int) -> Iterator[dict[str, object]]:
    """What samples of a plan say of each run that it was not made for."""
    ranks = [column for column in track.pool.columns if column.startswith("rank_")]
    names = [column.removeprefix("rank_") for column in ranks]
    order = np.random.default_rng(seed).permutation(len(names))
    new = [names[s] for s in order[kept:]]
    pool = track.pool.drop(columns=[f"rank_{name}" for name in new])
    first = pool[[f"rank_{names[s]}" for s in order[:kept]]]
    pool = pool[((first >= 0) & (first < depth)).any(axis=1)]
    plan = Plan.create(pool, None, MEASURE, level="document", budget=BUDGET, seed=1)
    plan = plan.with_rankers(**{name: run_of(track.pool, name) for name in new})
    inside = Track(track.pool.merge(pool[["qid", "docno"]]), track.qrels)
    stated, true = (dict(zip(names, true_scores(each, MEASURE), strict=True)) for each in (inside, track))
    best = max(range(kept), key=lambda s: stated[plan.rankers[s]])
    tables, settings, shared = plan.tables, Settings(), None
    label = tables.pool.keys[["qid", "docno"]].merge(track.qrels, how="left")["label"].to_numpy()
    for sample in range(samples):
        drawn = redrawn(plan, tables.documents, sample)
        judged = labelled_documents(tables, drawn, np.where(drawn.sample.drawn, label, -1), plan.measure)
        shared = shared or judged.pool  # all samples share what it keeps
        judged = replace(judged, pool=shared)
        for s, name in list(enumerate(plan.rankers))[kept:]:
            alone, pair = judged.estimate(s, settings), judged.compare(s, best, settings)
            gap, known = (each[name] - each[plan.rankers[best]] for each in (true, stated))
            yield {
                "depth": depth,
                "run": f"{kept} {seed} {name}",
                "outside": tables.manifest.strangers.get(name, 0.0),
                "as stated": holds(alone, stated[name]),
                "true": holds(alone, true[name]),
                "off": true[name] - stated[name],
                "pair as stated": holds(pair, known),
                "pair true": holds(pair, gap),
                "wrong": pair.winner is not None and (pair.difference > 0) != (gap > 0),
            }


def holds(found: object, value: float) -> bool:
    """Whether an interval holds a value."""
    low, high = found.confidence_interval()
    return bool(low - 1e-9 <= value <= high + 1e-9)


def by_share(rows: pd.DataFrame) -> Iterator[dict[str, object]]:
    """The first table."""
    of_runs = rows.groupby(["depth", "run"]).mean()
    band = np.searchsorted(list(BANDS.values()), of_runs.pop("outside"))
    for (depth, place), runs in of_runs.groupby(["depth", band]):
        mean, error = runs.mean(), runs.sem()
        cells = {column: f"{mean[column]:.3f} ± {error[column]:.3f}" for column in runs}
        yield {"depth": depth, "outside": list(BANDS)[place], "later runs": len(runs)} | cells


def each(past: np.ndarray) -> float:
    """The level of a release that is tested as if it were the only one."""
    return ALPHA


def spending(past: np.ndarray) -> float:
    """That of the package."""
    return release_level(past.shape[1] + 1, ALPHA)


def lord(past: np.ndarray) -> np.ndarray:
    """float64[S], the next level by LORD++ [Ramdas et al. 2017, sec. 3.1], whose first wealth is half of α.

    ``past`` is bool[S, t], the claims so far.
    """
    time, wealth = past.shape[1], ALPHA / 2
    earned = np.where(past.cumsum(axis=1) == 1, ALPHA - wealth, ALPHA) * past
    return wealth * GAMMA[time] + earned @ GAMMA[:time][::-1]


_PLACE = np.arange(1, RELEASES + 2.0)
GAMMA = 0.0722 * np.log(np.maximum(_PLACE, 2)) / (_PLACE * np.exp(np.sqrt(np.log(_PLACE))))
"""float64[T], how wealth is spent after a claim [Javanmard & Montanari 2018, sec. 4]."""

RULES: dict[str, Callable[[np.ndarray], np.ndarray | float]] = {"each": each, "spending": spending, "LORD++": lord}


def errors(kind: str, sequences: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Errors of releases, float64[S, T], and of the first baseline, float64[S]; a difference has the variance 1."""
    own = rng.standard_normal((sequences, RELEASES))
    baseline = rng.standard_normal(sequences)
    if kind == "other labels":
        return own, np.zeros(sequences)
    if kind == "near copies":
        return np.sqrt(0.1) * own + np.sqrt(0.9) * baseline[:, None], np.zeros(sequences)
    return own / np.sqrt(2), baseline / np.sqrt(2)


def claims(kind: str, share: float, rule: str, sequences: int) -> tuple[np.ndarray, np.ndarray]:
    """bool[S, T] each: what is claimed, and what is true."""
    rng = np.random.default_rng(0)
    error, baseline = errors(kind, sequences, rng)
    better, found = rng.random(error.shape) < share, np.zeros(error.shape, dtype=bool)
    for release in range(RELEASES):
        pvalue = ndtr(baseline - error[:, release] - EFFECT * better[:, release])
        found[:, release] = pvalue <= RULES[rule](found[:, :release])
        if kind == "record":  # the equal ones are then equal to it
            baseline = np.where(found[:, release], error[:, release], baseline)
    return found, better


def of_claims(sequences: int) -> Iterator[dict[str, object]]:
    """The second table."""
    for kind in ("other labels", "one baseline", "near copies", "record"):
        for share in (0.0, 0.1, 0.3):
            for rule in RULES:
                found, better = claims(kind, share, rule, sequences)
                wrong = found & ~better
                among = wrong.sum(axis=1) / np.maximum(found.sum(axis=1), 1)
                yield {
                    "releases": kind,
                    "better": f"{share:.1f}",
                    "rule": rule,
                    "any": with_error(wrong.any(axis=1).mean(), sequences),
                    "false": f"{among.mean():.3f} ± {among.std() / np.sqrt(sequences):.3f}",
                    "found": f"{found[better].mean():.3f}" if share else "–",
                }


def main() -> None:
    """Read the track, replay and print."""
    parser = parser_with(__doc__, repetitions=6)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sequences", type=int, default=20_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    track, rows = read_track(asked.folder), []
    for cell in tqdm(list(product(DEPTHS, KEPT, range(SPLITS))), unit="plan"):
        rows += later_runs(track, *cell, asked.repetitions)
    tables = by_share(pd.DataFrame(rows)), of_claims(asked.sequences)
    text = "\n\n".join(markdown(pd.DataFrame(table)) for table in tables)
    publish(text, asked, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
