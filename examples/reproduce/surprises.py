"""Surprises in every topic beside judging from the top, whole queries, and the estimators of tracks.

    python surprises.py DL21 mq2007-agg.parquet mq2008.parquet lambdarank.parquet --evidence FOLDER
    python surprises.py DL21 lambdarank.parquet --models useless wrong-signed elsewhere partial --evidence FOLDER

A collection is a folder with the files of a track (see `revealed_saving`) or a labelled pool made by ``data_scripts/``,
which also make pools of the collections of `ir_datasets`. The best ranker is estimated, and compared with the median
(clear pair) and with the second (near-tied pair). All ways may spend the same share of the judgments:

- *surprises*, *depth*: plans of documents, by the functions that a plan uses.
- *queries*: uniform random queries without replacement that are judged in full. Its error is exact, and the unit of
  ``ratio``, the mean squared error of whole queries over that of the way.
- *xinfAP*, *infNDCG*, *statAP* (`track_baselines`): in every topic so many judgments as its size asks for. Nine tenths
  of those of the inferred measures go to the documents that a ranker has among its first ten. As ``NIST`` sets them,
  half go to the best ranks, which are judged whole, and half are a sample of the rest.
- *pool*, *move to front*: the same number in every topic, and all that was not judged is not relevant.

Columns of the table: ``spent`` of the budget, ``over best`` the root mean squared error over the smallest of the cell,
whole queries included, ``bias`` in standard deviations of the estimate (none where every sample is the same, and all of
the error is bias), ``stated`` standard error (root mean square) over the root mean squared error, and ``coverage`` of
95 % intervals.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import ir_measures.measures as irm
import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import FOLDS, JudgedPool, read_judged_pool
from leagues import SPOILERS, add_keep, kept, tasks, with_error
from revealed_saving import Collection, of_pool, of_track
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

from pt_active.frames.columns import grade_columns
from pt_active.inference.class_fit import MAX_MISFIT
from pt_active.inference.drawn_documents import drawn_by, estimate_documents, pool_sizes
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.drawings import DrawingSettings, usual_variance
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.revealed import RevealedPool

MEASURES = ("AP", "nDCG@10")
SHARES = (0.05, 0.1, 0.25)
DRAWINGS = ("surprises", "depth")
NIST, POOLED = ", NIST", ("pool", "move to front")
TOP, TOP_SHARE = 10, 0.9  # The first stratum of inferred measures, and its share of the judgments
LEVEL = 0.95


class Found(NamedTuple):
    """What one sample says; the error is NaN for ways that state none, the reach infinite if there is no interval."""

    value: float
    error: float
    reach: float
    spent: float


@dataclass(frozen=True)
class Cell:
    """A contrast of rankers on a labelled collection.

    Attributes:
        measure: The measure.
        graded: The pool with its grades.
        label: int64[N].
        prior: float64[N], the prior of statAP of all rankers of the collection.
    """

    measure: irm.Measure
    graded: GradedPool
    label: np.ndarray
    prior: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, measure: str, rankers: list[str]) -> Cell:
        """The documents of a frame, in the order of a pool."""
        columns = ["qid", "docno", *grade_columns(frame.columns), *(f"rank_{name}" for name in rankers)]
        parsed = parse_measure(measure)
        pool = Pool.from_frame(frame[columns], parsed)
        ranks = [column for column in frame.columns if column.startswith("rank_")]
        known = pool.keys.merge(frame[["qid", "docno", "label", *ranks]], on=["qid", "docno"])
        every = known[ranks].to_numpy().T + 1
        prior = stat_ap_prior(every, int(every.max()))
        return cls(parsed, graded_pool(pool, parsed, 0.0), known["label"].to_numpy(int), prior)

    @property
    def seen(self) -> RevealedPool:
        """The pool as nDCG or AP sees it."""
        assert isinstance(self.graded.seen, RevealedPool)
        return self.graded.seen

    @property
    def contrast(self) -> np.ndarray:
        """float64[k]."""
        return np.array([1.0, -1.0])[: len(self.seen.ranks)]

    @cached_property
    def truth(self) -> np.ndarray:
        """float64[m], the contrast in each query."""
        return self.seen.values(self.seen.form.values[self.label]) @ self.contrast

    def whole_queries(self, share: float) -> float:
        """The mean squared error of random queries without replacement."""
        return float(self.truth.var(ddof=1) / (share * len(self.truth)) * (1 - share))


def by_documents(cell: Cell, drawing: str, budget: float) -> Callable[[np.random.Generator], Found]:
    """Samples of a plan of documents, and their estimates."""
    settings = DrawingSettings(drawing, usual_variance(cell.seen.form))
    sizes = pool_sizes(cell.graded, settings)

    def sampled(rng: np.random.Generator) -> Found:
        drawn = drawn_by(sizes, cell.graded, settings, budget, rng)
        label = np.where(drawn.sample.drawn, cell.label, -1)
        found = estimate_documents(cell.seen, drawn, label, cell.contrast, "regression")
        quantile = stats.t.ppf((1 + LEVEL) / 2, max(found.degrees_of_freedom, 1.0))
        reach = np.inf if abs(found.misfit) > MAX_MISFIT else quantile * found.standard_error
        return Found(found.value, found.standard_error, reach, drawn.sample.spent)

    return sampled


def by_tracks(cell: Cell, way: str, budget: float) -> Callable[[np.random.Generator], Found]:
    """Samples of topics as tracks draw them, and their estimates."""
    seen, form = cell.seen, cell.seen.form
    ends = np.round(budget * seen.indptr / seen.indptr[-1]).astype(int)
    topics = [(slice(a, b), n) for a, b, n in zip(seen.indptr[:-1], seen.indptr[1:], np.diff(ends), strict=True)]
    relevant = int(np.argmax(form.worth > 0))

    def of_topic(rows: slice, number: int, rng: np.random.Generator) -> np.ndarray:
        ranks, label = seen.ranks[:, rows].astype(np.int64), cell.label[rows]
        stratum, chance = top_strata(ranks, TOP), np.ones(len(label))
        if way == "statAP":
            chance = inclusion_of(cell.prior[rows], min(number, (cell.prior[rows] > 0).sum()))
            drawn = rng.random(len(label)) < chance
        elif way in POOLED:
            deep = depth_pool(ranks, number) if way == "pool" else move_to_front(ranks, label, number, relevant)
            label, stratum, drawn = np.where(deep, label, 0), np.zeros_like(stratum), chance > 0
        else:
            if way.endswith(NIST):
                stratum = np.where(depth_pool(ranks, number // 2), 0, 1)
            drawn = in_strata(stratum, number, rng)
        if form.compiled != "AP":
            return inferred_ndcg(ranks, stratum, form.worth, label, drawn, form.cutoff or ranks.shape[1])
        if way == "statAP" or way in POOLED:
            return stat_ap(ranks, chance, label, drawn, relevant)
        return inferred_ap(ranks, stratum, label, drawn, relevant)

    def sampled(rng: np.random.Generator) -> Found:
        values = np.array([of_topic(rows, number, rng) for rows, number in topics])
        return Found(float(seen.weight @ values @ cell.contrast), np.nan, np.nan, float(ends[-1]))

    return sampled


def in_strata(stratum: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """bool[n], random documents of both strata."""
    first, second = np.flatnonzero(stratum == 0), np.flatnonzero(stratum == 1)
    top = min(len(first), max(round(TOP_SHARE * number), number - len(second)))
    drawn = np.zeros(len(stratum), dtype=bool)
    drawn[rng.permutation(first)[:top]] = True
    drawn[rng.permutation(second)[: number - top]] = True
    return drawn


def ways(cell: Cell, budget: float) -> dict[str, Callable[[np.random.Generator], Found]]:
    """All ways to sample and to estimate, by name."""
    tracks = ("xinfAP", f"xinfAP{NIST}", "statAP") if cell.seen.form.compiled == "AP" else ("infNDCG", f"infNDCG{NIST}")
    plans = {drawing: by_documents(cell, drawing, budget) for drawing in DRAWINGS}
    return plans | {way: by_tracks(cell, way, budget) for way in (*tracks, *POOLED)}


def rows_of(cell: Cell, share: float, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """One row per way."""
    budget, truth = float(round(share * len(cell.label))), float(cell.seen.weight @ cell.truth)
    found = {
        name: np.array([sampled(np.random.default_rng([seed, number])) for number in range(repetitions)], dtype=float).T
        for name, sampled in ways(cell, budget).items()
    }
    errors = {name: value - truth for name, (value, *_) in found.items()}
    squares = {name: float((off**2).mean()) for name, off in errors.items()}
    whole, root = cell.whole_queries(share), np.sqrt(repetitions)
    best = min(squares, key=squares.__getitem__)
    noise = {name: (off**2).std(ddof=1) / squares[name] / root for name, off in errors.items()}
    for name, (_, error, reach, spent) in found.items():
        off, square, of_square = errors[name], squares[name], noise[name]
        ratio, stated = whole / square, np.sqrt((error**2).mean() / square)
        over, varies = np.sqrt(square / min(squares[best], whole)), off.std(ddof=1) > 1e-9 * np.abs(off).max()
        of_over = over / 2 * np.hypot(of_square, noise[best] if squares[best] < whole else 0.0) * (name != best)
        known = not np.isnan(reach).any()
        yield {
            "judgments": f"{budget:.0f}",
            "way": name,
            "spent": f"{spent.mean() / budget:.1%}",
            "RMSE": f"{np.sqrt(square):.4f}",
            "over best": f"{over:.2f} ± {of_over:.2f}",
            "ratio": f"{ratio:.2f} ± {ratio * of_square:.2f}",
            "bias": f"{off.mean() / off.std(ddof=1):+.2f} ± {1 / root:.2f}" if varies else "",
            "stated": f"{stated:.2f} ± {stated * of_square / 2:.2f}" if known else "",
            "coverage": with_error(float((np.abs(off) <= reach).mean()), repetitions) if known else "",
        }


def read_collection(path: Path) -> tuple[Collection, JudgedPool, int]:
    """A collection, and the pool and the fold by which rankers are chosen."""
    if path.is_dir():
        track = of_track(path)
        frame = track.frame.assign(fold=pd.factorize(track.frame["qid"])[0] % FOLDS + 1)
        return track, JudgedPool(track.name, frame, int(frame["label"].max()), [1]), 1
    pool = read_judged_pool(path)
    return of_pool(path), pool, pool.train_folds[0]


def league(arguments: argparse.Namespace) -> Iterator[Mapping[str, object]]:
    """One row per cell and way."""
    for path in arguments.collections:
        collection, pool, fold = read_collection(path)
        cells = product(arguments.models, arguments.measures, tasks(pool, fold).items(), arguments.shares)
        for model, measure, (task, rankers), share in tqdm(list(cells), desc=collection.name, unit="cell"):
            head = {"data": collection.name, "model": model, "measure": measure, "task": task, "share": f"{share:g}"}
            part = f"{', '.join(head.values())}, {arguments.repetitions} repetitions, seed {arguments.seed}"
            made = of_cell(collection.frame, model, measure, rankers, share, arguments)
            yield from (head | dict(row) for row in kept(arguments.keep, part, made))


def elsewhere(grades: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Grades as if learned where each is three times as common beside the one below."""
    common = grades * 3.0 ** np.arange(grades.shape[1])
    return np.asarray(common / common.sum(axis=1, keepdims=True))


def partial(grades: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Grades of a judge that sees the first ten documents of the best ranker one grade too high."""
    higher = np.column_stack([np.zeros(len(grades)), grades[:, :-2], grades[:, -2:].sum(axis=1)])
    return np.where(best[:, None], higher, grades)


SPOILT = {"elsewhere": elsewhere, "partial": partial}


def of_cell(
    frame: pd.DataFrame, model: str, measure: str, rankers: list[str], share: float, arguments: argparse.Namespace
) -> Iterator[dict[str, object]]:
    """The rows of one cell."""
    columns = grade_columns(frame.columns)
    grades, best = frame[columns].to_numpy(), frame[f"rank_{rankers[0]}"].between(0, TOP - 1).to_numpy()
    spoilt = SPOILT[model](grades, best) if model in SPOILT else SPOILERS[model](grades)
    cell = Cell.of(frame.assign(**dict(zip(columns, spoilt.T, strict=True))), measure, rankers)
    yield from rows_of(cell, share, arguments.repetitions, arguments.seed)


def main() -> None:
    """Sample, print the table and write it."""
    parser = parser_with(__doc__, repetitions=40, seed=1)
    parser.add_argument("collections", type=Path, nargs="+", metavar="FOLDER|POOL.parquet")
    parser.add_argument("--measures", nargs="+", default=list(MEASURES))
    parser.add_argument("--models", nargs="+", default=["fitted"], choices=[*SPOILERS, *SPOILT])
    parser.add_argument("--shares", type=float, nargs="+", default=list(SHARES))
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = markdown(pd.DataFrame(league(arguments)))
    print(text)
    names = (
        ("surprises", "surprises-spoilt") if "AP" in arguments.measures else ("surprises-ndcg", "surprises-ndcg-spoilt")
    )
    publish(text, arguments, names[arguments.models != ["fitted"]])


if __name__ == "__main__":
    main()
