"""How many times fewer judgments single documents need than whole queries, for nDCG@10 and AP.

    python revealed_saving.py --track dl21 --evidence FOLDER
    python revealed_saving.py --track dl21 --pools mq2007-agg.parquet mq2008.parquet lambdarank.parquet

The variance of a plan of documents is exact, computed from its design and all labels. It is compared with the variance
of uniform random queries without replacement that are judged in full, at the same budget. A track is a folder with
``qrels.txt``, ``runs/*.gz`` and the labels of an LLM judge in ``judges/umbrela-gpt-4.qrels``; the grades are those
labels through a table of confusions that is fitted to the other queries (five folds). Grades of pools are from a random
forest.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, read_judged_pool

from pt_active.frames.columns import grade_columns, ranker_names
from pt_active.frames.trec import read_qrels, read_run
from pt_active.inference.drawn_documents import pool_sizes
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance._revealed_kernels import log_chances
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.revealed import LOG_PRIOR, revealed_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import DrawingSettings, usual_variance

MEASURES = {"nDCG@10": "nDCG(dcg='exp-log2')@10", "AP": "AP"}

FOLDS = 5

TABLES = ("revealed-saving",)

LENIENCIES = np.arange(31) / 10
"""The values of τ that are tried to fit it to labels."""


class Collection(NamedTuple):
    """Graded documents with their labels.

    Attributes:
        name: Name of the data set.
        frame: ``qid, docno, label``, ``rank_<name>`` of each ranker and ``grade_0 … grade_G``.
    """

    name: str
    frame: pd.DataFrame


def of_track(folder: Path, seed: int = 0) -> Collection:
    """All judged documents of a track, with the grades that a judge's labels give them."""
    frame = read_qrels(folder / "qrels.txt")[["qid", "docno", "label"]]
    said = read_qrels(folder / "judges" / "umbrela-gpt-4.qrels").rename(columns={"label": "said"})
    frame = frame.merge(said[["qid", "docno", "said"]], how="left", on=["qid", "docno"]).fillna({"said": 0})
    columns = {}
    for path in sorted((folder / "runs").glob("*.gz")):
        run = read_run(path)[["qid", "docno", "rank"]]
        columns[f"rank_{path.stem}"] = frame.merge(run, how="left", on=["qid", "docno"])["rank"].fillna(-1).astype(int)
    frame = pd.concat([frame, pd.DataFrame(columns)], axis=1)
    return Collection(folder.name, pd.concat([frame, _through_confusions(frame, seed)], axis=1))


def _through_confusions(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """``grade_0 … grade_G``: how often each label occurs with what the judge said, in the other folds."""
    qids = np.random.default_rng(seed).permutation(frame["qid"].unique())
    fold = frame["qid"].map(dict(zip(qids, np.arange(len(qids)) % FOLDS, strict=True))).to_numpy()
    said, label = frame["said"].to_numpy(int), frame["label"].to_numpy(int)
    grades = np.zeros((len(frame), label.max() + 1))
    for number in range(FOLDS):
        counts, others = np.full((said.max() + 1, grades.shape[1]), 0.5), fold != number
        np.add.at(counts, (said[others], label[others]), 1)
        grades[~others] = (counts / counts.sum(axis=1, keepdims=True))[said[~others]]
    return pd.DataFrame({f"grade_{g}": column for g, column in enumerate(grades.T)})


def of_pool(path: Path) -> Collection:
    """The replayed folds of a labelled pool, graded by a random forest of the training fold."""
    pool = read_judged_pool(path)
    return Collection(pool.name, pool.graded(GRADE_MODELS["random forest"](pool.max_grade), pool.train_folds[0]))


def chosen_pairs(names: list[str], number: int, seed: int) -> list[tuple[str, str]]:
    """Random pairs of rankers, or all pairs if there are no more."""
    pairs = list(combinations(names, 2))
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:number]
    return [pairs[at] for at in sorted(chosen)]


def saving(frame: pd.DataFrame, measure: str, names: tuple[str, ...], share: float) -> float:
    """The variance of whole queries over that of a plan of documents, for one ranker or a difference."""
    columns = ["qid", "docno", *grade_columns(frame.columns), *(f"rank_{name}" for name in names)]
    parsed = parse_measure(measure)
    pool = Pool.from_frame(frame[columns], parsed)
    graded, contrast = graded_pool(pool, parsed, 0.0), np.array([1.0, -1.0])[: len(names)]
    seen = graded.seen
    label = pool.keys.merge(frame[["qid", "docno", "label"]], on=["qid", "docno"])["label"].to_numpy(int)
    truth = seen.form.values[label]
    sizes = pool_sizes(graded, DrawingSettings("depth", usual_variance(seen.form)))
    design = document_design(sizes, "depth", graded.prices, share * len(label))
    order = sizes.order
    step = (contrast @ seen.steps(order, pool.grades, truth))[order] * seen.weight[seen.query[order]]
    excess = step * (1 / design.chance(seen.query)[order] - 1)
    sums = np.cumsum(excess)
    before = sums - np.r_[0.0, sums][np.searchsorted(seen.query[order], seen.query[order])] - excess
    target, part = seen.values(truth) @ contrast, share * len(seen.weight)
    return float(target.var(ddof=1) / part * (1 - share) / (step @ (excess + 2 * before)))


def fitted_leniency(grades: np.ndarray, label: np.ndarray, query: np.ndarray) -> float:
    """The τ under which the labels are most probable, if each query has a hidden class of leniency.

    Args:
        grades: float64[N, G+1], ``P(y = g)``, of a model that was not fitted to these labels.
        label: int64[N], the labels.
        query: int64[N], the query of each document, in any order.
    """
    order = np.argsort(query, kind="stable")
    indptr = np.r_[0, np.cumsum(np.unique(query, return_counts=True)[1])]
    form = revealed_form(parse_measure("AP"), grades.shape[1] - 1)
    belief, label = np.ascontiguousarray(grades[order]), label[order].astype(np.int64)
    of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))

    def likelihood(leniency: float) -> float:
        factors, logs = replace(form, leniency=leniency).factors, np.tile(LOG_PRIOR, (len(indptr) - 1, 1))
        for z in np.flatnonzero(label >= 0):
            log_chances(belief[z], factors, label[z], logs[of[z]])
        return float((np.logaddexp.reduce(logs, axis=1) - np.logaddexp.reduce(LOG_PRIOR)).sum())

    return float(max(LENIENCIES, key=likelihood))


def rows_of(collection: Collection, pairs: int, share: float, seed: int = 1) -> Iterator[dict[str, str]]:
    """One row per measure and task."""
    frame = collection.frame
    grades = frame[grade_columns(frame.columns)].to_numpy()
    fitted = fitted_leniency(grades, frame["label"].to_numpy(int), pd.factorize(frame["qid"])[0])
    chosen = chosen_pairs(ranker_names(frame.columns), pairs, seed)
    for name, measure in MEASURES.items():
        for task, rankers in (("one ranker", [pair[:1] for pair in chosen]), ("difference", chosen)):
            usual = np.array([saving(frame, measure, names, share) for names in rankers])
            found = f"{_mean(usual):.1f} ({usual.min():.1f}–{usual.max():.1f})"
            row = {"data": f"{collection.name} (τ = {fitted:.1f})", "measure": name, "task": task}
            yield row | {"as planned": f"**{found}**"}


def _mean(ratios: np.ndarray) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def main() -> None:
    """Compute the variances, and print the table or put it into a page."""
    parser = parser_with(__doc__)
    parser.add_argument("--track", type=Path, metavar="FOLDER")
    parser.add_argument("--pools", type=Path, nargs="*", default=[], metavar="POOL.parquet")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--share", type=float, default=0.1, help="the budget as a share of all judgments")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    collections = [*([of_track(arguments.track)] if arguments.track else []), *map(of_pool, arguments.pools)]
    rows = [row for each in collections for row in rows_of(each, arguments.pairs, arguments.share)]
    text = markdown(pd.DataFrame(rows))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
