"""Surprises where nDCG is hard: small and large pools, weak models, and high grades that are rare.

    python examples/reproduce/hard_pools.py [--repetitions 12] [--keep FOLDER] [--evidence FOLDER]
    python examples/reproduce/hard_pools.py --known-items DL21 --repetitions 300 [--keep FOLDER] [--evidence FOLDER]

The pools are simulated. The relevance of a document is the sum of a part that its topic shares and one of its own, and
decides its grade from 0 to 4; `RATES` are the shares of the grades. The model sees relevance through noise, by the
correlation in the table. The *fitted* model states the true probabilities of what it sees, and the model from
*elsewhere* those of a collection where high grades are more common (see `surprises`, which also explains the columns).
A tenth of the documents is judged.

With ``--known-items`` the pools are those of `known_items`, of which a query has one relevant document, or few. In the
last two cells each topic of the track keeps one of its passages of grade 3, and all others have grade 0.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from known_items import SINGLES, coverage, single_rows
from leagues import add_keep, kept
from scipy import stats
from surprises import of_cell, read_collection
from tqdm import tqdm

SIZES, CORRELATIONS, MODELS = (30, 100, 435), (0.1, 0.3, 0.6), ("fitted", "elsewhere")
TASKS = {"one ranker": ["one"], "near-tied pair": ["one", "other"]}
RATES = (0.77, 0.14, 0.06, 0.025, 0.005)
TOPICS, SHARED, SHARE = 49, 0.3, 0.1  # Topics, the variance of relevance that is theirs, and of the judgments
QUALITY = {"one": 0.60, "other": 0.56}


def simulated(size: int, correlation: float, seed: int) -> pd.DataFrame:
    """A labelled pool with the grades of the fitted model."""
    rng = np.random.default_rng([seed, size])
    topic, noise = np.repeat(np.arange(TOPICS), size), rng.normal(size=(3, TOPICS * size))
    relevance = np.sqrt(SHARED) * rng.normal(size=TOPICS)[topic] + np.sqrt(1 - SHARED) * noise[0]
    limits = stats.norm.ppf(np.cumsum(RATES)[:-1])
    seen = correlation * relevance + np.sqrt(1 - correlation**2) * noise[1]
    below = stats.norm.cdf((limits - correlation * seen[:, None]) / np.sqrt(1 - correlation**2))
    grades = np.diff(below, axis=1, prepend=0.0, append=1.0)
    frame = pd.DataFrame({"qid": topic.astype(str), "docno": np.arange(len(topic)).astype(str)})
    for name, quality in QUALITY.items():
        score = quality * relevance + np.sqrt(0.5 - quality**2 / 2) * (noise[2] + rng.normal(size=len(topic)))
        frame[f"rank_{name}"] = (-pd.Series(score)).groupby(topic).rank().astype(int).to_numpy() - 1
    columns = {f"grade_{grade}": column for grade, column in enumerate(grades.T)}
    return frame.assign(label=np.searchsorted(limits, relevance), **columns)


def table(arguments: argparse.Namespace) -> Iterator[Mapping[str, object]]:
    """One row per pool, model, task and way."""
    for size, correlation, model, task in tqdm(list(product(SIZES, CORRELATIONS, MODELS, TASKS)), unit="cell"):
        head = {"documents": size, "correlation": correlation, "model": model, "task": task}
        part = f"{head}, {arguments.repetitions} repetitions, seed {arguments.seed}"
        frame = simulated(size, correlation, arguments.seed)
        made = of_cell(frame, model, "nDCG@10", TASKS[task], SHARE, arguments)
        yield from (head | dict(row) for row in kept(arguments.keep, part, made))


def one_passage(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A random passage of grade 3 of each topic that has one, and a random ranker, called a."""
    name = str(rng.choice([column for column in frame.columns if column.startswith("rank_")]))
    best = frame[frame["label"] == 3].groupby("qid").sample(1, random_state=int(rng.integers(1 << 30))).index
    some = frame.assign(label=np.where(frame.index.isin(best), 3, 0), rank_a=frame[name])
    return some[some["qid"].isin(frame.loc[best, "qid"])]


def known_item_table(arguments: argparse.Namespace) -> Iterator[Mapping[str, object]]:
    """One row per cell of `known_items.SINGLES`, and two of a track."""
    number, seed = arguments.repetitions, arguments.seed
    for each in tqdm(SINGLES, unit="cell"):
        part = f"{'; '.join(map(str, each))}, {number} repetitions, seed {seed}"
        yield from kept(arguments.keep, part, single_rows(each, number, seed))
    track = read_collection(arguments.known_items)[0]
    for measure in ("AP", "nDCG@10"):
        kind, sizes = f"1 ({track.name})", {"queries": track.frame["qid"].nunique(), "documents": "≤ 350"}
        head = {"kind": kind, "model": "fitted", **sizes, "measure": measure, "share": SHARE}
        frames = partial(one_passage, track.frame.reset_index(drop=True))
        rows = (head | coverage(frames, measure, SHARE, each, seed) for each in [number])
        yield from kept(arguments.keep, f"{head}, {number} repetitions, seed {seed}", rows)


def main() -> None:
    """Sample, print the table and write it."""
    parser = parser_with(__doc__, repetitions=12, seed=1)
    parser.add_argument("--known-items", type=Path, metavar="DL21", help="pools with one relevant document, or few")
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    made, name = (table, "hard-pools") if arguments.known_items is None else (known_item_table, "known-items")
    text = markdown(pd.DataFrame(made(arguments)))
    print(text)
    publish(text, arguments, name)


if __name__ == "__main__":
    main()
