"""Does a grade model know its own errors, and so foresee those of estimates?

    python examples/reproduce/model_errors.py POOL.parquet … [--repetitions 100] [--quick] [--evidence FOLDER]

Grade models learn from a few queries of a training fold and grade the other folds, where ``errors`` are
``Σ (gain − μ)² / Σ v`` over all documents: 1 if the model knows its own. ``by folds`` is the same within the training
queries, by cross-validation. ``squared error`` is the mean of ``(gain − μ)²``. ``forecast`` is the standard error to
expect of samples of documents, by DCG@10 at 5, 10 and 25 % of the pool's cost, over the root mean squared error of
``--repetitions`` of them: for one ranker, a clear pair and a near-tied pair, with the smallest and the largest. Numbers
are geometric means over two draws of training queries. Scores are those of rankers that were trained on the training
fold, where a pool has such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from judged_pools import JudgedPool
from leagues import tabled, tasks

from pt_active import ForestGrades, OrderedLogitGrades, Outlook
from pt_active.frames.columns import grade_columns
from pt_active.relevance.grades.models import FittedGrades
from pt_active.relevance.grades.report import out_of_fold
from pt_active.studies.simulate import labelled_population, pool_of_rankers, replays

MODELS: dict[str, Callable[[int], FittedGrades]] = {
    "ordered logit, prior 1": lambda max_grade: OrderedLogitGrades(max_grade, prior_scale=1.0),
    "ordered logit": OrderedLogitGrades,
    "forest": ForestGrades,
}
QUERIES = {"features": (10, 50), "scores": (50,)}
"""What models learn from → the numbers of training queries."""

SHARES, DRAWS = (0.05, 0.1, 0.25), 2
MOST = 500
"""Queries that are replayed, at most."""


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, object]]:
    """One row per source, number of training queries, and model."""
    for source in QUERIES if len(pool.train_folds) == 1 else ("features",):
        frame = pool.frame.drop(columns=[] if source == "features" else "features", errors="ignore")
        for number in QUERIES[source]:
            for name, make in MODELS.items():
                found = [of_draw(pool, frame, make(pool.max_grade), number, draw, repetitions) for draw in range(DRAWS)]
                yield {"data": pool.name, "learned from": source, "queries": number, "model": name} | summary(found)


def of_draw(
    pool: JudgedPool, frame: pd.DataFrame, model: FittedGrades, number: int, draw: int, repetitions: int
) -> dict[str, np.ndarray]:
    """What a model says after some training queries, and what then happens."""
    fold = pool.train_folds[draw % len(pool.train_folds)]
    known = frame["fold"] == fold
    qids = np.random.default_rng(draw).permutation(np.sort(frame.loc[known, "qid"].unique()))
    past = frame[known & frame["qid"].isin(qids[:number])].reset_index(drop=True)
    rest = frame[~known & frame["qid"].isin(np.sort(frame.loc[~known, "qid"].unique())[:MOST])]
    run, label = past.drop(columns="label"), past["label"].to_numpy(dtype=int)
    graded = model.fit(run, past[["qid", "docno", "label"]]).transform(rest)
    grades = graded[grade_columns(graded.columns)].to_numpy()
    errors, squared = errors_of(grades, rest["label"].to_numpy(dtype=int))
    by_folds, _ = errors_of(out_of_fold(model, run, label), label)
    found = {"errors": errors, "by folds": by_folds, "squared": squared}
    forecasts = [each for rankers in tasks(pool, fold).values() for each in foreseen(graded, rankers, repetitions)]
    return {name: np.array(value) for name, value in (found | {"forecast": forecasts}).items()}


def errors_of(grades: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """``Σ (gain − μ)² / Σ v``, and the mean of the squares."""
    values = 2.0 ** np.arange(grades.shape[1]) - 1
    mean = grades @ values
    squared = (values[label] - mean) ** 2
    return float(squared.sum() / (grades @ values**2 - mean**2).sum()), float(squared.mean())


def foreseen(graded: pd.DataFrame, rankers: list[str], repetitions: int) -> Iterator[float]:
    """The forecast of samples of documents over the error that they have, at each share of the cost."""
    frame = pool_of_rankers(graded, rankers)
    population = labelled_population(frame, "DCG@10")
    curves = Outlook.of(frame.drop(columns="label"), None, "DCG@10").curves
    method = next(each for each in curves if each.of_documents)
    budgets = [share * population.cost.sum() for share in SHARES]
    found = replays(population, [method], repetitions, budgets=budgets, seed=0, progress=False)[method]
    for budget, error in zip(budgets, found.error, strict=True):
        yield curves[method].standard_error(budget) / np.sqrt((error**2).mean())


def summary(found: list[dict[str, np.ndarray]]) -> dict[str, object]:
    """The cells of a row."""
    means = {name: np.exp(np.mean([np.log(each[name]) for each in found])) for name in found[0]}
    forecast = np.exp(np.mean([np.log(each["forecast"]) for each in found], axis=0))
    return {
        "by folds": f"{means['by folds']:.2f}",
        "errors": f"{means['errors']:.2f}",
        "squared error": f"{means['squared']:.3g}",
        "forecast": f"{means['forecast']:.2f}",
        "smallest": f"{forecast.min():.2f}",
        "largest": f"{forecast.max():.2f}",
    }


def main() -> None:
    """Fit, forecast, replay, and print the table."""
    tabled("model-errors", __doc__, rows_of, repetitions=100, quick=10)


if __name__ == "__main__":
    main()
