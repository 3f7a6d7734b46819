"""How many topics and judgments does a new track need, by the data of a past one?

    python examples/reproduce/new_track.py FOLDER [--measures nDCG@10] [--differences 0.05 0.1] [--runs 12]

FOLDER is that of `tracks.py`: the files of the TREC 2021 Deep Learning track, passages. The new track has runs, judges
and topics like those of the past one, and finds a difference of two runs by a test of queries like its own, at the .05
level, with a probability of 80 %. Runs are evenly spread over the ranking of the past track.

- *topic set size design* (Sakai 2016): t-tests on topics whose whole pools are judged. The number of topics follows
  from the residual variance of the past track as if that were known.
- *all judged*: the same, by the outlook.
- *documents*: a plan of single documents, with the number of topics that is cheapest if a topic costs nothing, or as
  much as 20 or 100 judgments.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from statsmodels.stats.power import TTestPower
from tqdm import tqdm
from tracks import Track, pooled, read_track

from pt_active import Outlook, Plan
from pt_active.inference.replay import YARDSTICK

MEASURES = ("nDCG@10", "AP(rel=2)")
TOPIC_COSTS = (0, 20, 100)
DEAR = 1e6
"""The cost of a topic at which all of its documents are judged."""


def scores(track: Track, measure: str) -> np.ndarray:
    """The scores of runs on topics from all labels, float64[m, k]."""
    everything = pooled(measure, lambda topic, number: np.ones(len(topic.label), dtype=bool))
    return np.array([everything(topic, 0, np.random.default_rng(0)) for topic in track.topics])


def of_runs(track: Track, number: int) -> Track:
    """The track with some of its runs, evenly spread over their ranking by nDCG@10."""
    ranks = [column for column in track.pool.columns if column.startswith("rank_")]
    order = np.argsort(scores(track, "nDCG@10").mean(axis=0))
    kept = [ranks[row] for row in order[np.linspace(0, len(ranks) - 1, min(number, len(ranks))).round().astype(int)]]
    pool = track.pool.drop(columns=[column for column in ranks if column not in kept])
    reached = (pool[kept] >= 0).any(axis=1)
    return Track(pool[reached].reset_index(drop=True), track.qrels)


def residual_variance(values: np.ndarray) -> float:
    """The variance beyond topics and systems of float64[n, k], ``Σ (x_ts − x̄_t − x̄_s + x̄)²/((n − 1)(k − 1))``."""
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return float((rest**2).sum() / ((values.shape[0] - 1) * (values.shape[1] - 1)))


def needed(track: Track, measure: str, differences: list[float]) -> list[dict]:
    """Rows with topics and judgments, one for each difference and way."""
    plan = Plan.create(track.pool, None, measure, level="query", budget=1e9)
    outlook = Outlook.of_plan(plan, track.qrels, queries="new")
    variance = residual_variance(scores(track, measure))
    documents = len(plan.assessments) / len(track.topics)
    rows = []
    for difference in differences:
        about = {"measure": measure, "difference": difference}
        topics = np.ceil(TTestPower().solve_power(difference / np.sqrt(2 * variance), power=0.8, alpha=0.05))
        rows.append(about | {"way": "topic set size design", "topics": topics, "judgments": topics * documents})
        for cost in (DEAR, *TOPIC_COSTS):
            found = outlook.budget_for(difference=difference, query_cost=cost)
            of_documents = found["level"] == "document"
            best = found[of_documents if cost < DEAR else found["design"] == YARDSTICK.design].iloc[0]
            way = "all judged" if cost == DEAR else f"documents, a topic costs {cost}"
            rows.append(about | {"way": way, "topics": best["topics"], "judgments": best["documents"]})
    return rows


def main() -> None:
    """Read the track, plan and print."""
    parser = parser_with(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), choices=MEASURES)
    parser.add_argument("--differences", type=float, nargs="+", default=[0.05, 0.1])
    parser.add_argument("--runs", type=int, default=12)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    track = of_runs(read_track(arguments.folder), arguments.runs)
    rows = [row for each in tqdm(arguments.measures) for row in needed(track, each, arguments.differences)]
    table = pd.DataFrame(rows)
    table[["topics", "judgments"]] = table[["topics", "judgments"]].round().astype(int)
    text = markdown(table)
    publish(text, arguments, "new-track")
    print(text)


if __name__ == "__main__":
    main()
