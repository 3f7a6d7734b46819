"""The gain from trusting a grade model less in a second round if the labels contradict it.

    python examples/reproduce/misleading_model.py POOL.parquet … [--quick] [--evidence FOLDER]

Each sample has two rounds of documents, at an eighth of the pool's cost each. In the second round `Plan.extend` either
decides how far to trust the grades, or is given the original grades and must use them. ``misleads`` is the share of
samples whose first round shows that the model misleads. The errors are root mean squared errors after both rounds, from
the same first rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from judged_pools import GRADE_MODELS, JudgedPool
from leagues import SPOILERS, tabled, tasks
from tqdm import tqdm

from pt_active import Plan
from pt_active.frames.columns import grade_columns
from pt_active.inference.calibration import MISLEADING_FACTOR
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURES = ("DCG@10", "ERR@10")
SHARE = 1 / 8
MODELS = ("useless", "wrong-signed", "overconfident")


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, str]]:
    """One row per spoilt model, measure and task."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    columns = grade_columns(graded.columns)
    for model in MODELS:
        spoilt = graded.assign(**dict(zip(columns, SPOILERS[model](graded[columns].to_numpy()).T, strict=True)))
        for measure in MEASURES:
            for task, rankers in tasks(pool, fold).items():
                frame = pool_of_rankers(spoilt, rankers)
                head = {"data": pool.name, "model": model, "measure": measure, "task": task}
                yield head | compared(frame, measure, repetitions)


def compared(frame: pd.DataFrame, measure: str, repetitions: int) -> dict[str, str]:
    """The errors with and without trusting the model less, and the share of samples in which they differ."""
    population = labelled_population(frame, measure)
    labels, frame = frame[["qid", "docno", "label"]], frame.drop(columns="label")
    grades = frame[["qid", "docno", *grade_columns(frame.columns)]].drop_duplicates(["qid", "docno"])
    budget, all_errors, misled = SHARE * population.cost.sum(), [], 0
    for seed in tqdm(range(repetitions), unit="sample", leave=False):
        first = Plan.create(frame, None, measure, budget=budget, level="document", seed=seed)
        judged = first.assessments[["qid", "docno"]].merge(labels)
        check = ModelCheck.of(first, judged)
        misled += check.calibration.misleads or check.optimism > MISLEADING_FACTOR
        errors = []
        for again in (grades, None):
            second = first.extend(budget, judged, again)
            every = pd.concat([judged, second.assessments[["qid", "docno"]].merge(labels)])
            errors.append(_estimate(second, every) - population.truth)
        all_errors.append(errors)
    as_it_is, less = np.sqrt((np.array(all_errors) ** 2).mean(axis=0))
    row = {"misleads": f"{misled / repetitions:.2f}", "error, as it is": f"{as_it_is:.4f}"}
    return row | {"error, leaning less": f"{less:.4f}", "labels it is worth": f"{(as_it_is / less) ** 2:.2f}"}


def _estimate(plan: Plan, qrels: pd.DataFrame) -> float:
    if len(plan.rankers) == 2:
        return plan.compare(qrels).difference
    return plan.estimate(qrels)[plan.rankers[0]].value


def main() -> None:
    """Replay, and print the table."""
    tabled("misleading-model", __doc__, rows_of, repetitions=100, quick=5)


if __name__ == "__main__":
    main()
