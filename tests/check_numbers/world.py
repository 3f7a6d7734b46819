"""Seeded pools from the simulated collection, their labels, and plans shared by many cases."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyterrier as pt

import pt_active as pta
from pt_active.demo.collection import DemoCollection, demo_collection

LEVELS = ("query", "document")
MEASURES = ("DCG@10", "ERR@10")
DESIGNS = (
    *("hedged", "assisted", "optimal", "passive"),
    *("active_uniform_grades", "active_uniform_cost", "cost_only", "risk_mixture"),
)
DRAWINGS = ("spread", "poisson", "depth")
ESTIMATORS = {"query": ("regression", "snis", "ht", "difference"), "document": ("regression", "difference", "ht")}
POLICIES = ("error", "nonrelevant", "expected")

PAIR = {"first": "candidate", "second": "production"}
BUDGET = {"query": 350, "document": 220}
COSTS: dict[str, dict[str, Any]] = {
    "two per query": {"cost": pta.UnitCost(per_query=2)},
    "hours": {"cost": pta.TimeCost(30, 60), "budget": 3.0},
    "column": {"cost": pta.ColumnCost("doc_cost")},
    "length": {"cost": pta.LogLengthCost(), "budget": 25},
}
COMMON: dict[str, dict[str, Any]] = {
    "plain": {},
    "census": {"budget": 1e6},
    "one against all": {"pairs": "production"},
    "pairs": {"pairs": {("candidate", "production"): 2.0}},
    **COSTS,
}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "query": COMMON
    | {design: {"design": design} for design in DESIGNS}
    | {f"{design}, replaced": {"design": design, "replace": True} for design in ("hedged", "optimal", "passive")}
    | {"draws": {"budget": None, "draws": 20}, "draws, replaced": {"budget": None, "draws": 20, "replace": True}}
    | {"not defended": {"defensive": 0.0}},
    "document": COMMON
    | {drawing: {"design": drawing} for drawing in DRAWINGS}
    | {f"{drawing}, two per query": {"design": drawing} | COSTS["two per query"] for drawing in DRAWINGS}
    | {"defended less": {"defensive": 0.5}, "largest": {"objective": "largest"}},
}
"""Arguments of ``Plan.create`` by level and name."""


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Cache a function's results, and ignore its warnings, so that the order of the cases does not matter."""

    @cache
    @wraps(make)
    def quiet(*arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(*arguments)

    return quiet


class World(NamedTuple):
    """A pool of some rankers with grades, groups of queries and costs, and the label of every document."""

    collection: DemoCollection
    grades: pt.Transformer
    runs: dict[str, pd.DataFrame]
    graded: pd.DataFrame
    labels: pd.DataFrame


def noisy(run: pd.DataFrame, spread: float) -> pd.DataFrame:
    """The run with noise in its scores."""
    run = run.drop(columns="rank").sort_values(["qid", "docno"])
    return run.assign(score=run["score"] + np.random.default_rng(1).normal(0, spread, len(run)))


@kept
def world(rankers: int = 2) -> World:
    """The world of one, two or three rankers; the queries and labels are the same."""
    collection = demo_collection(seed=11, queries=75)
    candidate, production = collection.runs["candidate"], collection.runs["production"]
    runs = {"candidate": candidate, "production": production, "noisy": noisy(candidate, 0.15)}
    runs = dict(list(runs.items())[:rankers])
    grades = pta.OrderedLogitGrades(max_grade=3).fit(collection.past_run, collection.past_qrels)
    graded = (pta.Runs(**runs, depth=15) >> grades)(collection.topics).merge(collection.documents, on="docno")
    words = graded["query"].str.split().str.len()
    graded = graded.assign(qwords=words.clip(upper=5).astype(str), qlong=words > 3)
    graded = graded.assign(doc_cost=np.random.default_rng(2).uniform(0.5, 2.0, len(graded)))
    return World(collection, grades, runs, graded, collection.judge(graded))


def created(level: str, rankers: int, measure: str, variant: str = "plain") -> pta.Plan:
    """A new plan."""
    options = {"budget": BUDGET[level]} | VARIANTS[level][variant]
    return pta.Plan.create(world(rankers).graded, None, measure, level=level, seed=5, **options)


@kept
def plan_of(level: str, rankers: int, measure: str, variant: str = "plain") -> pta.Plan:
    """A plan shared by several cases."""
    return created(level, rankers, measure, variant)


@kept
def extended(rankers: int, measure: str, refitted: bool) -> tuple[pta.Plan, ...]:
    """A plan of documents after one, two and three rounds; ``refitted`` gives the last one new grades."""
    first = plan_of("document", rankers, measure)
    second = first.extend(100, judged(first), seed=8)
    graded, columns = world(rankers).graded, [f"grade_{g}" for g in range(4)]
    grades = graded.assign(**{column: 0.5 * graded[column] + 0.125 for column in columns}) if refitted else None
    return first, second, second.extend(100, judged(first, second), grades=grades)


def judged(*rounds: Any) -> pd.DataFrame:
    """The labels of all drawn documents, in one round or several."""
    asked = pd.concat([each.assessments[["qid", "docno"]] for each in rounds])
    return asked.merge(world(3).labels, on=["qid", "docno"])


def first_half(plan: pta.Plan, qrels: pd.DataFrame) -> pd.DataFrame:
    """The labels of the queries drawn first; for plans of documents, which have no order, of one half."""
    drawn = plan.queries.query("q_draws > 0")
    drawn = drawn.sort_values("q_priority") if "q_priority" in drawn.columns else drawn
    return qrels[qrels["qid"].isin(drawn["qid"].head(len(drawn) // 2))]


def answers(plan: pta.Plan, qrels: pd.DataFrame, **how: Any) -> dict[str, Any]:
    """All answers of a plan about its rankers."""
    replies: dict[str, Any] = {"estimate": plan.estimate(qrels, **how)}
    replies |= {"compare": plan.compare(qrels, **how, **PAIR)} if len(plan.rankers) > 1 else {}
    return replies | ({"rank": plan.rank(qrels, **how)} if len(plan.rankers) > 2 else {})
