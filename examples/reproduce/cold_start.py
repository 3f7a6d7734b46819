"""What a plan of documents gains without training data, and from a model of another collection.

One ranker, a clear pair and a near-tied pair by DCG@10, at two budgets. Label-equivalents: the variance of plain random
queries without replacement, judged in full, over the mean variance that the plan's samples state, at the same number of
labels.

    python cold_start.py mq2007-agg.parquet mq2008.parquet lambdarank.parquet dl21.parquet

``--repetitions`` says how many samples are drawn of each plan, ``--evidence FOLDER`` keeps the table as a CSV file.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import JudgedPool, read_judged_pool
from leagues import tasks
from tqdm import tqdm

from pt_active import ColdGrades, ForestGrades, UniformGrades, parse_measure
from pt_active.frames.columns import ranker_names
from pt_active.inference.drawn_documents import drawn_by, estimate_documents, pool_sizes
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.sampling.drawings import DrawingSettings, usual_variance

MEASURE = "DCG@10"

SHARES = (0.05, 0.2)
"""Budgets as shares of the cost of the whole pool."""

TABLES = ("cold-start",)


@dataclass(frozen=True)
class Task:
    """What is estimated from a pool.

    Attributes:
        pool: The pool of the rankers.
        measure: The measure.
        truth: int64[N], the label of each document.
        contrast: float64[k], 1 for the only ranker, 1 and −1 for the difference of two.
    """

    pool: Pool
    measure: irm.Measure
    truth: np.ndarray
    contrast: np.ndarray

    def of_queries(self, budget: float) -> float:
        """The variance of a plain random sample of queries that costs the budget."""
        values = measured_values(self.pool, self.measure, self.truth) @ self.contrast
        drawn = budget / self.pool.query_cost.mean()
        return float((1 - drawn / len(values)) * values.var(ddof=1) / drawn)

    def of_documents(self, grades: np.ndarray, budget: float, repetitions: int) -> float:
        """The mean variance that samples of documents state."""
        graded = graded_pool(replace(self.pool, grades=grades), self.measure, 0.0)
        settings = DrawingSettings(graded.usual_drawing, usual_variance(graded.seen.form))
        sizes, stated = pool_sizes(graded, settings), []
        for repetition in range(repetitions):
            rng = np.random.default_rng(repetition)
            drawn = drawn_by(sizes, graded, settings, budget, rng, rng.exponential(size=len(self.truth)))
            known = np.where(drawn.sample.drawn, self.truth, -1)
            estimate = estimate_documents(graded.seen, drawn, known, self.contrast, "regression")
            stated.append(estimate.first + estimate.second)
        return float(np.mean(stated))


def past_and_rest(pool: JudgedPool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first training fold of a pool, and its other folds, with ranks and scores, which all collections have."""
    frame = pool.frame.drop(columns="features", errors="ignore")
    past = frame["fold"] == pool.train_folds[0]
    return frame[past], frame[~past]


def fitted(pool: JudgedPool, max_grade: int) -> ForestGrades:
    """A forest fitted to the training fold of a pool, whose labels are stretched to another highest grade."""
    past, _ = past_and_rest(pool)
    labels = past[["qid", "docno"]].assign(label=np.rint(past["label"] * max_grade / pool.max_grade).astype(int))
    return ForestGrades(max_grade, trees=50, min_leaf=20).fit(past.drop(columns="label"), labels, unjudged="missing")


def task_of(frame: pd.DataFrame, rankers: list[str], max_grade: int) -> Task:
    """The task of some rankers on a graded frame."""
    others = set(ranker_names(frame.columns)) - set(rankers)
    frame = frame.drop(columns=[f"{kind}_{name}" for name in others for kind in ("rank", "score")], errors="ignore")
    frame = frame[(frame[[f"rank_{name}" for name in rankers]] >= 0).any(axis=1)]
    measure = parse_measure(MEASURE, max_grade)
    pool = Pool.from_frame(frame, measure)
    truth = pool.keys[["qid", "docno"]].merge(frame[["qid", "docno", "label"]], how="left")["label"].to_numpy(int)
    contrast = np.ones(1) if len(rankers) == 1 else np.array([{pool.names[0]: 1.0}.get(n, -1.0) for n in pool.names])
    return Task(pool, measure, truth, contrast)


def rows(pool: JudgedPool, other: JudgedPool, repetitions: int) -> Iterator[Mapping[str, object]]:
    """One row per task and budget of a pool; the model of another collection comes from ``other``."""
    _, rest = past_and_rest(pool)
    models = {
        "no model": UniformGrades(pool.max_grade),
        "ranks alone": ColdGrades(pool.max_grade),
        "another collection": fitted(other, pool.max_grade),
        "its own past": fitted(pool, pool.max_grade),
    }
    graded = {name: model.transform(rest) for name, model in models.items()}
    for what, rankers in tasks(pool, pool.train_folds[0]).items():
        each = {name: task_of(frame, rankers, pool.max_grade) for name, frame in graded.items()}
        for share in SHARES:
            task = next(iter(each.values()))
            budget = share * float(task.pool.query_cost.sum())
            row: dict[str, object] = {"data": pool.name, "task": what, "labels": f"{budget:,.0f} ({share:.0%})"}
            for name, one in each.items():
                variance = one.of_documents(one.pool.grades, budget, repetitions)
                row[name] = f"{task.of_queries(budget) / variance:.2f}"
            yield row


def main() -> None:
    """Print the table, and write it into a page if one is given."""
    parser = parser_with(__doc__, pools="+", repetitions=100)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    pools = [read_judged_pool(path) for path in arguments.pools]
    others = pools[1:] + pools[:1]
    pairs = list(zip(pools, others, strict=True))
    table = [row for pair in pairs for row in tqdm(rows(*pair, arguments.repetitions), unit="row", desc=pair[0].name)]
    text = markdown(pd.DataFrame(table))
    publish(text, arguments, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
