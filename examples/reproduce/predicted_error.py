"""How well `Outlook` predicts the errors of replays, with and without a pilot.

    python examples/reproduce/predicted_error.py POOL.parquet … [--quick] [--evidence FOLDER]

The realised error is the root mean squared error of many samples at a quarter of the pool's cost. The predicted error
is the standard error expected by the grade model, or by a pilot at a twelfth of the cost (median and middle 80 % of
pilots). The level that a plan chooses if it is not told is marked, and the choice is wrong where the other level has
the smaller realised error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from judged_pools import GRADE_MODELS, JudgedPool
from leagues import tabled, tasks

from pt_active import Outlook, Plan, UnitCost
from pt_active.plans.answers.pilot import Pilot
from pt_active.studies.simulate import labelled_population, pool_of_rankers, replays

MEASURES = ("DCG@10", "ERR@10")
SHARE, PILOT_SHARE = 1 / 4, 1 / 12
OVERHEADS = (0.0, 3.0, 10.0, 30.0)


def rows_of(pool: JudgedPool, repetitions: int, pilots: int) -> Iterator[dict[str, object]]:
    """One row per measure, task, cost of opening a query, and method (of queries or of documents, as the pilot)."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for measure in MEASURES:
        for task, rankers in tasks(pool, fold).items():
            frame = pool_of_rankers(graded, rankers)
            for overhead in OVERHEADS:
                head = {"data": pool.name, "measure": measure, "task": task, "opening": f"{overhead:g}"}
                for row in _foreseen(frame, measure, UnitCost(per_query=overhead), repetitions, pilots):
                    yield head | row


def _foreseen(
    frame: pd.DataFrame, measure: str, cost: UnitCost, repetitions: int, pilots: int
) -> Iterator[dict[str, object]]:
    population = labelled_population(frame, measure, cost)
    labels, frame = frame[["qid", "docno", "label"]], frame.drop(columns="label")
    budget, pilot = SHARE * population.cost.sum(), PILOT_SHARE * population.cost.sum()
    model = Outlook.of(frame, None, measure, cost)
    found = replays(population, list(model.curves), repetitions, budgets=[budget], seed=0, progress=False)
    realised = {method: float(np.sqrt((replay.error**2).mean())) for method, replay in found.items()}
    choice = Plan.create(frame, None, measure, cost, budget=budget).tables.manifest.choice
    by_design = {method.design: error for method, error in realised.items()}
    wrong = by_design[choice.design] > by_design[choice.other_design]
    for level in ("query", "document"):
        chosen = [method for method in model.curves if method.of_documents == (level == "document")]
        said: dict[object, list[float]] = {method: [] for method in chosen}
        for seed in range(pilots):
            plan = Plan.create(frame, None, measure, cost, budget=pilot, level=level, seed=seed)
            judged = plan.assessments[["qid", "docno"]].merge(labels)
            curves = Outlook.looked(model.forecast, chosen, Pilot.of(plan, judged)).curves
            for method in chosen:
                said[method].append(curves[method].standard_error(budget) / realised[method])
        for method in chosen:
            low, middle, high = np.quantile(said[method], [0.1, 0.5, 0.9])
            yield {
                "method": f"{'documents' if method.of_documents else 'queries'}, {method.design}",
                "realised": f"{realised[method]:.4f}",
                "chosen": ("wrongly" if wrong else "rightly") if method.design == choice.design else "",
                "model / realised": f"{model.curves[method].standard_error(budget) / realised[method]:.2f}",
                "pilot / realised": f"{middle:.2f}",
                "80 % of pilots": f"{low:.2f} to {high:.2f}",
            }


def main() -> None:
    """Predict, replay, and print the table."""
    tabled(
        "predicted-error",
        __doc__,
        lambda pool, number: rows_of(pool, number, max(3, number * 3 // 50)),
        repetitions=500,
        quick=20,
    )


if __name__ == "__main__":
    main()
