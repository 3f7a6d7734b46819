"""Run a track on a few of its judgments: how close is the ranking of all runs, and by which way of judging?

    python examples/reproduce/tracks.py FOLDER [--budgets 500 1000 2000 5000] [--repetitions 20] [--evidence FOLDER]

FOLDER has ``runs/<name>.gz``, ``qrels.txt`` and ``judges/umbrela-gpt-4.qrels``, in TREC formats: the files of the TREC
2021 Deep Learning track, passages. All judged documents of a topic are its pool. *documents* is a document plan of all
runs for the measure, with the LLM judge's labels as grade model, corrected by a fifth of the topics that are not
replayed with it. *from the top* is such a plan for nDCG with ``design="depth"``. The ways of tracks (`track_baselines`)
share the judgments out over topics by the size of their pools:

- *xinfAP*, *infNDCG*: the documents that a run ranks among its first ten are one stratum, the others of the pool the
  second; nine of ten judgments go to the first, as far as it has documents.
- *statAP*: documents are drawn independently, by the prior of the paper.
- *depth*: the documents of the best ranks are judged, and all others count as not relevant.
- *move to front*: the same with the pooling of Cormack et al.

The table has, against the values from all judgments: Kendall's τ and τ_AP of the ranking of runs, the root mean squared
error of a run's score and of the difference of two (``of pairs``), the mean error of a score (bias), and of pairs of
runs the share found different at the .05 level with the right sign and with the wrong one. *documents* tests the
difference over these topics, the others test the paired scores of topics by t, as is usual. ``covers`` is the share of
95 % intervals of scores that hold the true value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import add_keep, kept
from scipy import stats
from tqdm import tqdm
from track_baselines import (
    depth_pool,
    inclusion_of,
    inferred_ap,
    inferred_ndcg,
    move_to_front,
    stat_ap,
    stat_ap_prior,
    top_strata,
)

from pt_active import JudgeGrades, Plan
from pt_active.frames.trec import read_qrels, read_run
from pt_active.inference.drawn_documents import DrawnDocuments, estimate_documents
from pt_active.plans.making.pool import seen_by
from pt_active.sampling.sample import Costs
from pt_active.sampling.two_phase import draw_documents

MEASURES = ("nDCG@10", "AP(rel=2)")
MAX_GRADE, RELEVANT, CUTOFF, DEPTH = 3, 2, 10, 50
GAIN = np.arange(MAX_GRADE + 1.0)
FOLDS = 5
DESIGNS = {None: "documents", "depth": "from the top"}
TOP_SHARE = 0.9
"""The share of the judgments that goes to the first stratum of inferred measures."""

PAIRS = 200
"""Pairs of runs that are tested."""

LEVEL = 0.05
TABLES = ("tracks",)


@dataclass(frozen=True)
class Topic:
    """A topic's pool: the ranks of its documents in all runs, from 1, 0 where one does not retrieve it; and labels."""

    ranks: np.ndarray
    label: np.ndarray

    @cached_property
    def stratum(self) -> np.ndarray:
        """0 for documents among the first ten of a run, 1 for the others."""
        return top_strata(self.ranks, CUTOFF)


@dataclass(frozen=True)
class Track:
    """A track with all its labels.

    Attributes:
        pool: ``qid, docno, rank_<run>, grade_g`` of all judged documents.
        qrels: All labels.
    """

    pool: pd.DataFrame
    qrels: pd.DataFrame

    @cached_property
    def topics(self) -> list[Topic]:
        """The topics, in the order of their qids."""
        labelled = self.pool.merge(self.qrels, on=["qid", "docno"])
        ranks = [column for column in self.pool.columns if column.startswith("rank_")]
        return [Topic(rows[ranks].to_numpy().T + 1, rows["label"].to_numpy()) for _, rows in labelled.groupby("qid")]


def read_track(folder: Path) -> Track:
    """Read the runs, qrels and judge of a track; grades of a fifth of the topics are learnt from the other topics."""
    qrels, judge = read_qrels(folder / "qrels.txt"), read_qrels(folder / "judges" / "umbrela-gpt-4.qrels")
    pairs = pd.MultiIndex.from_frame(qrels[["qid", "docno"]])
    ranks = {}
    for path in sorted((folder / "runs").glob("*.gz")):
        run = read_run(path).sort_values("score", ascending=False, kind="stable")
        place = run.groupby("qid").cumcount()
        ranks[f"rank_{path.stem}"] = place.set_axis(pd.MultiIndex.from_frame(run[["qid", "docno"]])).reindex(pairs)
    frame = pd.concat([qrels[["qid", "docno"]], pd.DataFrame(ranks).reset_index(drop=True)], axis=1)
    frame = frame.fillna(-1).astype(dict.fromkeys(ranks, int))
    fold = pd.factorize(frame["qid"], sort=True)[0] % FOLDS
    graded = [
        JudgeGrades(judge, MAX_GRADE).fit(frame[fold != k], qrels[fold != k]).transform(frame[fold == k])
        for k in range(FOLDS)
    ]
    return Track(pd.concat(graded).sort_values(["qid", "docno"]).reset_index(drop=True), qrels)


@dataclass(frozen=True)
class Found:
    """What one sample says: scores of k runs, the shares of true intervals, and tests of pairs of runs.

    Attributes:
        scores: float64[k].
        covers: The share of intervals of scores that hold the truth; NaN without intervals.
        pvalues: float64[PAIRS].
        differences: float64[PAIRS], first minus second.
    """

    scores: np.ndarray
    covers: float
    pvalues: np.ndarray
    differences: np.ndarray


def of_topics(scores: np.ndarray, pairs: np.ndarray) -> Found:
    """The scores of runs on topics, float64[m, k], with paired t tests."""
    differences = scores[:, pairs[:, 0]] - scores[:, pairs[:, 1]]
    pvalues = np.nan_to_num(stats.ttest_1samp(differences, 0.0).pvalue, nan=1.0)
    return Found(scores.mean(axis=0), np.nan, pvalues, differences.mean(axis=0))


def in_strata(topic: Topic, number: int, rng: np.random.Generator) -> np.ndarray:
    """bool[n], random documents of both strata."""
    first, second = np.flatnonzero(topic.stratum == 0), np.flatnonzero(topic.stratum == 1)
    top = min(len(first), max(round(TOP_SHARE * number), number - len(second)))
    drawn = np.zeros(len(topic.label), dtype=bool)
    drawn[rng.permutation(first)[:top]] = True
    drawn[rng.permutation(second)[: number - top]] = True
    return drawn


def by_strata(measure: str) -> Callable[[Topic, int, np.random.Generator], np.ndarray]:
    """Inferred scores of a topic from so many judgments."""

    def scores(topic: Topic, number: int, rng: np.random.Generator) -> np.ndarray:
        drawn = in_strata(topic, number, rng)
        if measure == "nDCG@10":
            return inferred_ndcg(topic.ranks, topic.stratum, GAIN, topic.label, drawn, CUTOFF)
        return inferred_ap(topic.ranks, topic.stratum, topic.label, drawn, RELEVANT)

    return scores


def by_prior(topic: Topic, number: int, rng: np.random.Generator) -> np.ndarray:
    """StatAP scores of a topic from so many judgments, on average."""
    prior = stat_ap_prior(topic.ranks, DEPTH)
    inclusion = inclusion_of(prior, min(number, (prior > 0).sum()))
    return stat_ap(topic.ranks, inclusion, topic.label, rng.random(len(inclusion)) < inclusion, RELEVANT)


def pooled(measure: str, judged: Callable[[Topic, int], np.ndarray]) -> Callable[..., np.ndarray]:
    """Scores of a topic if documents that were not judged count as not relevant."""

    def scores(topic: Topic, number: int, rng: np.random.Generator) -> np.ndarray:
        label, known = np.where(judged(topic, number), topic.label, 0), np.ones(len(topic.label), dtype=bool)
        if measure == "nDCG@10":
            return inferred_ndcg(topic.ranks, np.zeros_like(label), GAIN, label, known, CUTOFF)
        return stat_ap(topic.ranks, np.ones(len(label)), label, known, RELEVANT)

    return scores


def ways(measure: str) -> dict[str, Callable[[Topic, int, np.random.Generator], np.ndarray]]:
    """The tracks' ways to estimate a measure, by name."""
    inferred = {"infNDCG": by_strata(measure)} if measure == "nDCG@10" else {"xinfAP": by_strata(measure)}
    if measure != "nDCG@10":
        inferred["statAP"] = by_prior
    pools = {
        "depth": lambda topic, number: depth_pool(topic.ranks, number),
        "move to front": lambda topic, number: move_to_front(topic.ranks, topic.label, number, RELEVANT),
    }
    return inferred | {name: pooled(measure, judged) for name, judged in pools.items()}


def by_tracks(track: Track, measure: str, budget: int, pairs: np.ndarray, repetitions: int) -> Iterator[dict]:
    """A row for each of the tracks' ways."""
    sizes = np.array([len(topic.label) for topic in track.topics])
    ends = np.round(budget * sizes.cumsum() / sizes.sum()).astype(int)
    numbers, truth = np.diff(ends, prepend=0), true_scores(track, measure)
    for name, way in ways(measure).items():
        found = []
        for seed in range(repetitions if name not in ("depth", "move to front") else 1):
            rng = np.random.default_rng(seed)
            scores = [way(topic, number, rng) for topic, number in zip(track.topics, numbers, strict=True)]
            found.append(of_topics(np.array(scores), pairs))
        yield {"way": name} | summary(found, truth, pairs)


def true_scores(track: Track, measure: str) -> np.ndarray:
    """The scores of all runs from all labels, float64[k]."""
    everything = pooled(measure, lambda topic, number: np.ones(len(topic.label), dtype=bool))
    return np.mean([everything(topic, 0, np.random.default_rng(0)) for topic in track.topics], axis=0)


def by_documents(
    track: Track, measure: str, budget: int, pairs: np.ndarray, repetitions: int, design: str | None = None
) -> Iterator[dict]:
    """The row of a document plan, whose draws are repeated with other random numbers."""
    plan = Plan.create(track.pool, None, measure, level="document", budget=budget, design=design)
    tables, truth, k = plan.tables, true_scores(track, measure), len(plan.rankers)
    first, seen = tables.documents, seen_by(plan.measure, tables.pool)
    label = track.qrels.set_index(["qid", "docno"])["label"].reindex(pd.MultiIndex.from_frame(tables.pool.keys))
    single, found = np.eye(k), []
    for seed in range(repetitions):
        drawn = redrawn(plan, first, seed)
        known = np.where(drawn.sample.drawn, label.to_numpy(), -1)
        scores = [estimate_documents(seen, drawn, known, contrast, "regression") for contrast in single]
        tests = [estimate_documents(seen, drawn, known, single[a] - single[b], "regression") for a, b in pairs]
        values, errors, degrees = (
            np.array([getattr(each, name) for each in scores])
            for name in ("value", "standard_error", "degrees_of_freedom")
        )
        reach = errors * stats.t.ppf(1 - LEVEL / 2, np.maximum(degrees, 1))
        differences = np.array([each.value for each in tests])
        distance = np.abs(differences) / np.array([each.standard_error for each in tests])
        pvalues = 2 * stats.t.sf(distance, [max(each.degrees_of_freedom, 1) for each in tests])
        found.append(Found(values, float((np.abs(values - truth) <= reach).mean()), pvalues, differences))
    yield {"way": DESIGNS[design]} | summary(found, truth, pairs)


def redrawn(plan: Plan, first: DrawnDocuments, seed: int) -> DrawnDocuments:
    """The plan's sample with other random numbers."""
    pool, arguments = plan.tables.pool, plan.tables.manifest.arguments
    rng, cost = np.random.default_rng(seed), pool.document_cost
    sample = draw_documents(
        first.sample.design, Costs(pool.indptr, cost, arguments.per_query), float(arguments.budget or 0.0), rng
    )
    return replace(first, sample=sample)


def tau_ap(scores: np.ndarray, truth: np.ndarray) -> float:
    """Rank correlation with weight on the top: of each run, the share of those above it that truly are better.

    Args:
        scores: float64[k], whose ranking is judged.
        truth: float64[k].
    """
    order = np.argsort(-scores, kind="stable")
    better = [(truth[order[:place]] > truth[order[place]]).mean() for place in range(1, len(order))]
    return float(2 * np.mean(better) - 1)


def summary(found: list[Found], truth: np.ndarray, pairs: np.ndarray) -> dict[str, float]:
    """The cells of a row."""
    scores = np.array([each.scores for each in found])
    sign = np.sign(truth[pairs[:, 0]] - truth[pairs[:, 1]])
    significant = np.array([each.pvalues < LEVEL for each in found])
    right = np.array([np.sign(each.differences) == sign for each in found])
    return {
        "τ": float(np.mean([stats.kendalltau(each, truth).statistic for each in scores])),
        "τ_AP": float(np.mean([tau_ap(each, truth) for each in scores])),
        "RMSE": float(np.sqrt(((scores - truth) ** 2).mean())),
        "of pairs": float(np.sqrt(2 * (scores - truth).var(axis=1, ddof=1).mean())),
        "bias": float((scores - truth).mean()),
        "found": float((significant & right).mean()),
        "wrong": float((significant & ~right).mean()),
        "covers": float(np.mean([each.covers for each in found])),
    }


def league(
    track: Track, measures: list[str], budgets: list[int], repetitions: int, keep: Path | None = None
) -> pd.DataFrame:
    """One row per measure, budget and way; ``keep`` is a folder for the rows of a way that are finished."""
    k, rows = track.topics[0].ranks.shape[0], []
    both = np.array(np.triu_indices(k, 1)).T
    pairs = np.random.default_rng(0).permutation(both)[:PAIRS]
    for measure, budget in tqdm(list(product(measures, budgets)), unit="budget"):
        about = track, measure, budget, pairs, repetitions
        designs = DESIGNS if measure == "nDCG@10" else (None,)
        made = {DESIGNS[design]: partial(by_documents, *about, design) for design in designs}
        for name, of_way in (made | {"tracks": partial(by_tracks, *about)}).items():
            found = kept(keep, f"{measure}, {budget}, {name}, {repetitions}", of_way())
            rows += [{"measure": measure, "judgments": budget} | dict(each) for each in found]
    return pd.DataFrame(rows)


def shown(table: pd.DataFrame) -> str:
    """The table for a page."""
    text = table.astype(object)
    for column in table.columns[3:]:
        text[column] = ["–" if np.isnan(each) else f"{each:.3f}" for each in table[column]]
    return markdown(text)


def main() -> None:
    """Read the track, replay and print."""
    parser = parser_with(__doc__, repetitions=20)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), choices=MEASURES)
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 1000, 2000, 5000])
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    about = arguments.measures, arguments.budgets, arguments.repetitions, arguments.keep
    text = shown(league(read_track(arguments.folder), *about))
    publish(text, arguments, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
