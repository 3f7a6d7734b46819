"""What a leaderboard claims of all runs of a track at once: do ranks and the best hold, and how much do they say?

    python examples/reproduce/leaderboard.py POOL ... [--sets exchanged submitted] [--repetitions 100]

A POOL is a folder of `tracks.py`, or a file of `judged_pools.py`, of which an ordered logit of one fold grades 200
random topics of the others. A plan of documents for nDCG@10, a tenth of all, is drawn anew for each sample; scores from
all labels are the truth. *submitted*: all runs. *exchanged*: 21 of them, whose rankings are dealt out anew in each
topic, so that all are nearly equal. ``ranks hold`` is the share of
samples in which all rank intervals hold the true ranks, ``best holds`` that in which a best run is among those that
may be it, ``may be best`` how many these are, ``width`` how many ranks an interval has, ``by Holm`` the same by Holm's
test; *new* is for queries like these, and *all judged* if everything is. ``too good`` is the mean error of the value
that seems best, ``left`` without luck, ``seconds`` those of CPU for a sample.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import read_judged_pool
from leagues import add_keep, kept, with_error
from tqdm import tqdm
from tracks import Track, read_track, redrawn

from pt_active import OrderedLogitGrades, Plan
from pt_active.inference.leaderboard import rank_intervals
from pt_active.inference.significance import corrected_pvalues
from pt_active.inference.ties import places
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.labelled_documents import labelled_documents
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.making.labelled import measured_values

MEASURE, LEVEL = "nDCG@10", 0.05
SHARE, EXCHANGED, TOPICS = 0.1, 21, 200
TABLES = ("leaderboard",)


def read(path: Path) -> Track:
    """A track's folder, or some topics of a labelled pool with the grades of a model that one fold trained."""
    if path.is_dir():
        return read_track(path)
    pool = read_judged_pool(path)
    graded = pool.graded(OrderedLogitGrades(pool.max_grade), pool.train_folds[0])
    topics = np.random.default_rng(0).permutation(np.sort(graded["qid"].unique()))[:TOPICS]
    graded = graded[graded["qid"].isin(topics)].reset_index(drop=True)
    columns = [each for each in graded.columns if each.startswith(("rank_", "grade_"))]
    return Track(graded[["qid", "docno", *columns]], graded[["qid", "docno", "label"]])


def exchanged(track: Track) -> Track:
    """Some runs, with rankings that are dealt out anew in each topic."""
    ranks = [column for column in track.pool.columns if column.startswith("rank_")]
    some, rng = ranks[:: max(len(ranks) // EXCHANGED, 1)], np.random.default_rng(0)
    pool = track.pool.drop(columns=[each for each in ranks if each not in some])
    for _, rows in pool.groupby("qid").groups.items():
        pool.loc[rows, some] = pool.loc[rows, rng.permutation(some)].to_numpy()
    return Track(pool, track.qrels)


def width(first: np.ndarray, last: np.ndarray) -> float:
    """How many ranks an interval has on average."""
    return float((last - first + 1).mean())


def width_by_holm(ranking: Ranking) -> float:
    """The same if Holm's test made the claims."""
    better = np.zeros((len(ranking.names), len(ranking.names)), dtype=bool)
    sure = corrected_pvalues(np.array([each.pvalue for each in ranking.comparisons]), LEVEL, "holm")[0]
    for (a, b), each, told in zip(combinations(range(len(better)), 2), ranking.comparisons, sure, strict=True):
        better[(a, b) if each.better == each.first else (b, a)] = told
    return width(*rank_intervals(better))


def of_sample(ranking: Ranking, truth: dict[str, float]) -> dict[str, float]:
    """What one ranking claims, and whether it is right; equal runs may have any order."""
    first, last = ranking.to_frame()[["rank_low", "rank_high"]].to_numpy().T
    true, new = np.array([truth[name] for name in ranking.names]), ranking.beside.to_frame()
    place, error = places(-true), ranking.estimates[0].value - true[0]
    least, most = 1 + (place < place[:, None]).sum(axis=1), (place <= place[:, None]).sum(axis=1)
    return {
        "ranks hold": ((first <= least) & (most <= last)).all(),
        "best holds": np.array(ranking.best)[place == 0].any(),
        "may be best": sum(ranking.best),
        "width": width(first, last),
        "by Holm": width_by_holm(ranking),
        "may be best, new": new["best"].sum(),
        "width, new": width(new["rank_low"], new["rank_high"]),
        "too good": error,
        "left": error - ranking.luck,
    }


def row(name: str, track: Track, repetitions: int) -> Iterator[dict[str, object]]:
    """The means over the samples of one set of runs."""
    every = Plan.create(track.pool, None, MEASURE, level="document", budget=len(track.pool), seed=1)
    whole = every.rank(track.qrels, confidence=1 - LEVEL).beside.to_frame()
    budget = np.ceil(SHARE * len(track.pool))
    plan = Plan.create(track.pool, None, MEASURE, level="document", budget=budget, seed=1)
    tables, settings, found = plan.tables, Settings(confidence=1 - LEVEL), []
    label = tables.pool.keys[["qid", "docno"]].merge(track.qrels, how="left")["label"].to_numpy()
    truth = dict(zip(plan.rankers, measured_values(tables.pool, plan.measure, label).mean(axis=0), strict=True))
    begin, pool = time.process_time(), None
    for seed in tqdm(range(repetitions), desc=name):
        drawn = redrawn(plan, tables.documents, seed)
        judged = labelled_documents(tables, drawn, np.where(drawn.sample.drawn, label, -1), plan.measure)
        pool = pool or judged.pool  # all samples share what it keeps
        found.append(of_sample(rank_judged(replace(judged, pool=pool), settings), truth))
    table, spent = pd.DataFrame(found).astype(float), time.process_time() - begin
    shares = {each: with_error(table[each].mean(), repetitions) for each in table.columns[:2]}
    sizes = {each: f"{table[each].mean():.1f}" for each in table.columns[2:7]}
    errors = {each: f"{table[each].mean():.4f} ± {table[each].sem():.4f}" for each in table.columns[7:]}
    about = {"runs": f"{len(plan.rankers)}, {name}", "judgments": int(budget), "samples": repetitions}
    complete = {"width, all judged, new": f"{width(whole['rank_low'], whole['rank_high']):.1f}"}
    yield about | shares | sizes | complete | errors | {"seconds": f"{spent / repetitions:.1f}"}


def main() -> None:
    """Read the track, replay and print."""
    sets, parser = {"exchanged": exchanged, "submitted": lambda track: track}, parser_with(__doc__, repetitions=100)
    parser.add_argument("pools", type=Path, nargs="+")
    parser.add_argument("--sets", nargs="+", default=list(sets), choices=sets)
    add_keep(parser)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Mapping[str, object]] = []
    for path, name in product(asked.pools, asked.sets):
        of = f"{path.stem}, {name}"
        made = row(of, sets[name](read(path)), asked.repetitions)
        rows += kept(asked.keep, f"{of}, {asked.repetitions}", made)
    publish(text := markdown(pd.DataFrame(rows)), asked, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
