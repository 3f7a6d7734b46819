"""What stopping early risks and saves: replays of looks at growing samples from labelled pools.

    python examples/reproduce/stopping.py POOL.parquet … [--repetitions 2000] [--evidence FOLDER]

The default design draws queries without replacement up to a quarter of the pool's cost, with 60 looks on the way.
Bets are looked at after each query, or after each document of a plan of documents that come one after the other; their
null replays go on until everything is judged.

The column ``wrong`` is the share of null replays (the rankers trade places in a random half of the queries) in which
any interval misses the truth, with its Monte Carlo error. The columns ``found`` and ``spent`` are for the true pair:
how often a difference is resolved by the end, and the mean cost until then as a share of the fixed budget (for bets
from half of the repetitions).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from judged_pools import GRADE_MODELS, JudgedPool
from leagues import tabled, tasks, with_error
from sequences import Sequence, contributions, ever_excluded, flipped, sequences
from tqdm import tqdm

from pt_active import Plan, UnitCost
from pt_active.inference.replay import (
    Method,
    Population,
    Repetitions,
    Replays,
    replay,
)
from pt_active.plans.making.queries import DESIGN
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURE, BUDGET_SHARE, PEEKS, ALPHA = "DCG@10", 1 / 4, 60, 0.05
BETS = "always, by bets"


def peeks(population: Population, repetitions: int, null: bool, seed: int) -> Replays:
    """Estimates at every peek."""
    budget = BUDGET_SHARE * population.cost.sum()
    budgets = np.linspace(max(population.cost.max(), budget / PEEKS), budget, PEEKS)
    method = Method(DESIGN, "regression", with_replacement=False)
    return replay(population, [method], budgets.tolist(), Repetitions(repetitions, seed, null))["regression"]


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, object]]:
    """One row per task and kind of looks."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for task, rankers in tasks(pool, fold).items():
        frame = pool_of_rankers(graded, rankers)
        population = labelled_population(frame, MEASURE, UnitCost())
        if population.compared:
            null, real = (peeks(population, repetitions, *each) for each in ((True, 1), (False, 2)))
            head = {"data": pool.name, "task": task}
            yield head | {"drawn": "queries", "looks": "every time, plain interval"} | _naive(null)
            yield head | {"drawn": "queries", "looks": "once, at the end"} | _once(null, real)
            budget = BUDGET_SHARE * population.cost.sum()
            yield from (head | row for row in of_bets(frame, budget, repetitions // 2))


def of_bets(frame: pd.DataFrame, budget: float, repetitions: int) -> Iterator[dict[str, str]]:
    """The rows of bets on queries and on documents, looked at after each draw."""
    for drawn, level, design in (("queries", "query", None), ("documents", "document", "successive")):
        plan = Plan.create(frame, None, MEASURE, budget=budget, level=level, design=design)
        judged = sequences(plan, frame[["qid", "docno", "label"]], repetitions, 5, ALPHA)
        rng, wrong, spent, found = np.random.default_rng(6), [], [], []
        for each in tqdm(judged, total=repetitions, unit="sample", leave=False):
            wrong.append(_misses_when_traded(each, rng))
            at = each.resolved_at(ALPHA)
            cost = each.progress.spent[at] if at >= 0 else np.inf
            found.append(cost <= budget)
            spent.append(min(cost, budget) / budget)
        shares = {"found": f"{np.mean(found):.2f}", "spent": f"{np.mean(spent):.2f}"}
        yield {"drawn": drawn, "looks": BETS, "wrong": with_error(np.mean(wrong), repetitions)} | shares


def _misses_when_traded(judged: Sequence, rng: np.random.Generator) -> bool:
    """Whether the truth is ever excluded if the rankers trade places in a random half of the queries."""
    sign = rng.choice([-1.0, 1.0], int(judged.query.max()) + 1)[judged.query]
    truth = float(sign @ contributions(judged.proof))
    return ever_excluded(flipped(judged.proof, sign), judged.proof, truth, ALPHA)


def _naive(null: Replays) -> dict[str, str]:
    low, high = null.intervals(1 - ALPHA)
    missed = ((null.truth < low) | (null.truth > high)).any(axis=0)
    return {"wrong": with_error(missed.mean(), len(missed)), "found": "", "spent": ""}


def _once(null: Replays, real: Replays) -> dict[str, str]:
    low, high = null.intervals(1 - ALPHA)
    wrong = (null.truth < low[-1]) | (null.truth > high[-1])
    low, high = real.intervals(1 - ALPHA)
    found = (low[-1] > 0) | (high[-1] < 0)
    return {"wrong": with_error(wrong.mean(), len(wrong)), "found": f"{found.mean():.2f}", "spent": "1.00"}


def main() -> None:
    """Replay, and print the table."""
    tabled("stopping-looks", __doc__, rows_of, repetitions=2000, quick=100)


if __name__ == "__main__":
    main()
