"""Runs an active evaluation on the simulated collection: plan, judge, compare, and check against the truth.

The truth is known, so single documents and whole queries, each chosen by a design, are compared with queries at random
at the same number of judgments: on one sample, which may be lucky, and over many samples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.demo.collection import MAX_GRADE, DemoCollection, demo_collection
from pt_active.frames.atomic import new_folder
from pt_active.frames.visible import guarded
from pt_active.frames.worklists import write_assessments
from pt_active.inference.replay import Method, Population, Replays
from pt_active.plans.answers.results import Comparison
from pt_active.plans.plan import Plan
from pt_active.relevance.grades.learned import OrderedLogitGrades
from pt_active.studies.simulate import labelled_population, replays
from pt_active.transformers import Runs

MEASURE = "DCG@10"
RANKERS = ("candidate", "production")  # The first is compared with the second
QUERIES = 200
BUDGET = 800  # Judgments
REPETITIONS = 400  # Samples of each method

METHODS = {
    "single documents": Method("successive", "regression", False),
    "whole queries": Method("optimal", "snis", False),
    "random queries": Method("passive", "snis", False),
}
"""The compared methods: the default of plans, the sources' design and estimator, and a plain mean of random queries."""


class MethodResult(NamedTuple):
    """The results of one method, on one sample and over many."""

    plan: Plan
    judgments: pd.DataFrame  # the assessments of the plan with a ``label``
    comparison: Comparison  # candidate minus production
    samples: dict[str, float]  # over many samples: ``error``, and the shares ``coverage`` and ``found``


@dataclass(frozen=True)
class Demo:
    """All results of the demo.

    Attributes:
        seed: Random seed of all draws.
        budget: Number of judgments that may be spent.
        collection: The simulated collection.
        population: The pool with all its labels.
        truth: The measure of each ranker over all queries, and the ``difference``.
        answers: The results of each of `METHODS`.
    """

    seed: int
    budget: int
    collection: DemoCollection
    population: Population
    truth: dict[str, float]
    answers: dict[str, MethodResult]

    def to_dict(self) -> dict[str, object]:
        """All numbers, as plain values for JSON."""
        answers = {name: a.comparison.to_dict() | {"samples": a.samples} for name, a in self.answers.items()}
        head = {"simulated": True, "seed": self.seed, "measure": MEASURE, "budget": self.budget}
        return {**head, "truth": self.truth, "repetitions": REPETITIONS, **answers}

    def __str__(self) -> str:
        documents, apart = f"{self.population.documents.sum():,}", self.truth["difference"]
        asked, past = len(self.collection.topics), len(self.collection.past_topics)
        return f"""SIMULATED: no query, document or judgment here is real.

Two rankers answer {asked} queries; people judge {self.budget} of the {documents} documents in their top 10s.
A model that has learned from {past} judged queries of a past release helps to choose single documents (the
default) or whole queries (by the design of Sawade et al. 2012). Random queries need no model.

{self._table()}

The true difference is {apart:+.3f}. One sample can be lucky, so {REPETITIONS} samples are drawn in each way: error is
their RMSE, coverage the share of 95% intervals that contain the truth, found that of the right winners."""

    def _table(self) -> str:
        """A row for each method."""
        row = "{:<17} {:>6}   {:<24} {:<11} {:>6} {:>9} {:>6}"
        rows = [
            row.format("people judge", "labels", f"difference in {MEASURE}", "winner", "error", "coverage", "found")
        ]
        for name, (_, judgments, compared, samples) in self.answers.items():
            low, high = compared.confidence_interval()
            apart = f"{compared.difference:+.3f} [{low:+.3f}, {high:+.3f}]"
            error, *shares = samples.values()
            shown = f"{error:.3f}", *(f"{share:.0%}" for share in shares)
            rows.append(row.format(name, len(judgments), apart, compared.winner or "unresolved", *shown))
        return "\n".join(rows)


def run_demo(seed: int) -> Demo:
    """Simulate a collection, plan, judge, estimate and compare, once and then many times."""
    collection = demo_collection(queries=QUERIES)
    pool = _graded_pool(collection)
    population = labelled_population(pool.merge(collection.judge(pool), on=["qid", "docno"]), MEASURE, rankers=RANKERS)
    replayed = replays(population, METHODS.values(), REPETITIONS, budgets=[BUDGET], seed=seed, progress=False)
    answers = {name: _answer(method, pool, collection, seed, replayed[method]) for name, method in METHODS.items()}
    values = (population.weight @ population.values).tolist()
    truth = dict(zip(RANKERS, values, strict=True)) | {"difference": population.truth}
    return Demo(seed, BUDGET, collection, population, truth, answers)


def write_demo(demo: Demo, folder: Path) -> None:
    """Write the plan, its assessments, the judgments and the numbers into a new folder."""
    chosen = demo.answers["single documents"]
    with new_folder(folder) as inside:
        chosen.plan.save(inside / "plan")
        write_assessments(chosen.plan.assessments, inside / "assessments.csv", "csv")
        chosen.judgments.apply(guarded).to_csv(inside / "judgments.csv", index=False)
        (inside / "result.json").write_text(json.dumps(demo.to_dict(), indent=2) + "\n", encoding="utf-8")


def demo_plan(seed: int = 7, queries: int = 600, budget: float = 1500) -> tuple[Plan, DemoCollection]:
    """A plan of documents of the simulated collection, to try out how judging goes."""
    collection = demo_collection(seed, queries)
    pool = _graded_pool(collection)
    return Plan.create(
        pool, collection.topics, MEASURE, budget=budget, seed=seed, texts=collection.documents
    ), collection


def _graded_pool(collection: DemoCollection) -> pd.DataFrame:
    """The pool of both rankers on the release, graded by a model that learned from the past release."""
    runs = {name: collection.runs[name] for name in RANKERS}
    grades = OrderedLogitGrades(MAX_GRADE).fit(collection.past_run, collection.past_qrels)
    return (Runs(10, allow_missing_queries=False, **runs) >> grades).transform(collection.topics)


def _answer(
    method: Method, pool: pd.DataFrame, collection: DemoCollection, seed: int, replayed: Replays
) -> MethodResult:
    plan = Plan.create(
        pool, collection.topics, MEASURE, budget=BUDGET, design=method.design, seed=seed, texts=collection.documents
    )
    labels = collection.judge(plan.assessments)
    judgments = plan.assessments.drop(columns="inclusion").merge(labels, on=["qid", "docno"])
    (low, high), truth = replayed.intervals(0.95), replayed.truth
    samples = {
        "error": float(np.sqrt((replayed.error**2).mean())),
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "found": float((np.where(truth > 0, low, -high) > 0).mean()),
    }
    return MethodResult(plan, judgments, plan.compare(labels, estimator=method.estimator), samples)
