"""Is a difference found as often as budgets for new queries promise?

    python examples/reproduce/promised_power.py POOL.parquet … [--repetitions 20] [--quick] [--evidence FOLDER]

The judged queries of a pool are the population, and the difference of its clear pair of rankers is to be found with a
probability of 80 %. A past pool of 100 queries says how many queries and labels that takes if a query costs as much as
5 labels, by the grade model alone. New pools of as many queries are drawn from the
population, planned, judged and tested for queries like them. ``--repetitions`` is the number of past pools; each has 20
new ones. ``of past pools`` is the share of past pools after which at least 80 % (less the error of 20) were found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from judged_pools import GRADE_MODELS, JudgedPool
from leagues import tabled, tasks

from pt_active import Outlook, Plan
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURES = ("DCG@10", "nDCG@10")
TASK = "clear pair"
PAST, QUERY_COST, POWER = 100, 5.0, 0.8
NEW_POOLS = 20
MOST = 3000
"""Past pools that ask for more queries than this are counted as not answered."""


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, object]]:
    """One row per measure and level."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    frame = pool_of_rankers(graded, tasks(pool, fold)[TASK])
    queries = [rows for _, rows in frame.groupby("qid", sort=True)]
    for measure in MEASURES:
        values = labelled_population(frame, measure).values
        true = float((values[:, 0] - values[:, 1]).mean())
        for level in ("query", "document"):
            rng = np.random.default_rng(1)
            found = [asked(queries, measure, level, true, rng) for _ in range(repetitions)]
            yield {"data": pool.name, "measure": measure, "level": level} | summary(pd.DataFrame(found))


def drawn(queries: list[pd.DataFrame], number: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A pool of queries from the population, drawn with replacement, and its labels."""
    rows = [queries[row].assign(qid=f"q{i}") for i, row in enumerate(rng.integers(len(queries), size=number))]
    frame = pd.concat(rows, ignore_index=True)
    return frame.drop(columns="label"), frame[["qid", "docno", "label"]]


def asked(
    queries: list[pd.DataFrame], measure: str, level: str, true: float, rng: np.random.Generator
) -> dict[str, float]:
    """What a past pool asks for, and how often that finds the difference."""
    frame, labels = drawn(queries, PAST, rng)
    outlook = Outlook.of(frame, None, measure, queries="new")
    table = outlook.budget_for(difference=true, power=POWER, query_cost=QUERY_COST)
    row = table[(table["level"] == level) & (table["design"] != "passive")].iloc[0]
    if row["topics"] > MOST:
        return {"topics": row["topics"], "budget": row["budget"], "found": np.nan}
    hits = 0
    for _ in range(NEW_POOLS):
        frame, labels = drawn(queries, int(row["topics"]), rng)
        budget, seed = float(row["budget"]), int(rng.integers(2**31))
        plan = Plan.create(frame, None, measure, budget=budget, level=level, design=row["design"], seed=seed)
        judged = plan.assessments[["qid", "docno"]].merge(labels)
        first, second = plan.rankers
        result = plan.compare(judged, first=first, second=second, queries="new")
        hits += bool(result.pvalue < 0.05 and result.difference * true > 0)
    return {"topics": row["topics"], "budget": row["budget"], "found": hits / NEW_POOLS}


def summary(found: pd.DataFrame) -> dict[str, str]:
    """The cells of a row."""
    known = found["found"].dropna()
    error = known.std() / np.sqrt(len(known))
    enough = known >= POWER - np.sqrt(POWER * (1 - POWER) / NEW_POOLS)
    return {
        "topics": f"{found['topics'].median():.0f}",
        "labels": f"{found['budget'].median():.0f}",
        "power": f"{known.mean():.2f} ± {error:.2f}",
        "of past pools": f"{enough.mean():.2f}",
    }


def main() -> None:
    """Ask, plan, test, and print the table."""
    warnings.simplefilter("ignore")
    tabled("promised-power", __doc__, rows_of, repetitions=20, quick=2)


if __name__ == "__main__":
    main()
