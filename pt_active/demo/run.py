"""Runs an active evaluation on the simulated collection: plan, judge, compare, and check against the truth.

The truth is known, so active sampling is compared with passive sampling (queries drawn at random, plain mean) at the
same number of judgments: on one sample, which may be lucky, and over many samples.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.demo.collection import MAX_GRADE, DemoCollection, demo_collection
from pt_active.frames.atomic import new_folder
from pt_active.frames.visible import guarded
from pt_active.frames.worklists import write_assessments
from pt_active.inference.replay import Method, Population
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.plan import Plan
from pt_active.relevance.grades.features import run_features
from pt_active.relevance.grades.learned import OrderedLogitGrades
from pt_active.studies.simulate import labelled_population, replays
from pt_active.transformers import Runs

MEASURE = "DCG@10"
RANKERS = ("candidate", "production")  # The first is compared with the second
REPETITIONS = 1000  # Samples of each method, from which its typical error is computed

METHODS = {"active": Method("hedged", "regression", False), "passive": Method("passive", "snis", False)}
"""The compared methods; passive is a uniform sample of queries and its plain mean."""

MODEL_ALONE = Method("passive", "regression", False)
"""Passive sampling with the active estimator: shows how much of the gain is due to the model in the estimate."""


class MethodResult(NamedTuple):
    """The results of one method on one sample."""

    plan: Plan
    judgments: pd.DataFrame  # the assessments of the plan with a ``label``
    estimates: dict[str, Estimate]  # of each ranker
    comparison: Comparison  # candidate minus production


@dataclass(frozen=True)
class Demo:
    """All results of the demo.

    Attributes:
        seed: Random seed of the collection and of all draws.
        budget: Number of judgments that may be spent.
        collection: The simulated collection.
        population: The pool with all its labels.
        truth: The measure of each ranker over all queries, and the ``difference``.
        answers: For each of `METHODS`, the answer from one sample.
        typical_error: For each of `METHODS` and ``model_alone``, the root mean squared error over many samples.
    """

    seed: int
    budget: float
    collection: DemoCollection
    population: Population
    truth: dict[str, float]
    answers: dict[str, MethodResult]
    typical_error: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        """All numbers, as plain values for JSON."""
        answers = {
            name: answer.comparison.to_dict() | {"estimates": {r: e.to_dict() for r, e in answer.estimates.items()}}
            for name, answer in self.answers.items()
        }
        repetitions = {"samples": REPETITIONS, "typical_error": self.typical_error}
        head = {"simulated": True, "seed": self.seed, "measure": MEASURE, "budget": self.budget}
        return {**head, "truth": self.truth, **answers, "repetitions": repetitions}

    def __str__(self) -> str:
        documents = int(self.population.documents.sum())
        error = self.typical_error
        return (
            "SIMULATED: no query, document or judgment here is real.\n\n"
            f"Two rankers, {len(self.collection.topics)} queries, {documents:,} documents in their top 10s; "
            f"the budget is {self.budget:,.0f} judgments.\n"
            f"From {len(self.collection.past_topics)} judged queries of a past release, a model learned what grades to "
            "expect.\nActive sampling judges more often where the model expects the comparison to be uncertain, and\n"
            "uses the judgments to correct the model; passive sampling judges queries at random and takes the mean."
            f"\n\n{self._table()}\n\n"
            f"One sample can be lucky. Over {REPETITIONS} samples of each kind, the typical error (RMSE) of the\n"
            f"difference is {error['active']:.3f} active and {error['passive']:.3f} passive, a ratio of "
            f"{error['active'] / error['passive']:.2f}.\n"
            f"Passive sampling that is corrected by the model has an error of {error['model_alone']:.3f}."
        )

    def _table(self) -> str:
        """The truth beside the results of each method."""
        difference = self.truth["difference"]
        values = [f"{self.truth[name]:.3f}" for name in RANKERS]
        named = [MEASURE, *RANKERS, "difference", "p-value", "winner"]
        columns = [named, ["truth", *values, f"{difference:+.3f}", "", RANKERS[difference < 0]]]
        for name, answer in self.answers.items():
            compared, head = answer.comparison, f"{name}, {answer.comparison.basis.n_judged:,} judgments"
            estimates = [_with_interval(e.value, e, "") for e in (answer.estimates[ranker] for ranker in RANKERS)]
            apart = _with_interval(compared.difference, compared, "+")
            columns.append([head, *estimates, apart, f"{compared.pvalue:.2g}", compared.winner or "unresolved"])
        return "\n".join("{:<11} {:>9}   {:<27} {}".format(*row) for row in zip(*columns, strict=True))


def run_demo(seed: int) -> Demo:
    """Simulate a collection, plan, judge, estimate and compare, once and then many times."""
    collection = demo_collection(seed)
    pool = _graded_pool(collection)
    population = labelled_population(pool.merge(collection.judge(pool), on=["qid", "docno"]), MEASURE, rankers=RANKERS)
    budget = float(np.round(population.cost.sum() / 3, -2))
    answers = {name: _answer(method, pool, collection, seed, budget) for name, method in METHODS.items()}
    methods = {**METHODS, "model_alone": MODEL_ALONE}
    replayed = replays(population, methods.values(), REPETITIONS, budgets=[budget], seed=seed, progress=False)
    errors = {name: float(np.sqrt((replayed[method].error ** 2).mean())) for name, method in methods.items()}
    values = (population.weight @ population.values).tolist()
    truth = dict(zip(RANKERS, values, strict=True)) | {"difference": population.truth}
    return Demo(seed, budget, collection, population, truth, answers, errors)


def write_demo(demo: Demo, folder: Path) -> None:
    """Write the plan, its assessments, the judgments and the numbers into a new folder."""
    active = demo.answers["active"]
    with new_folder(folder) as inside:
        active.plan.save(inside / "plan")
        write_assessments(active.plan.assessments, inside / "assessments.csv", "csv")
        active.judgments.apply(guarded).to_csv(inside / "judgments.csv", index=False)
        (inside / "result.json").write_text(json.dumps(demo.to_dict(), indent=2) + "\n", encoding="utf-8")


def demo_plan(seed: int = 7, queries: int = 600, budget: float = 1500) -> tuple[Plan, DemoCollection]:
    """A plan of documents of the simulated collection, to try out how judging goes."""
    collection = demo_collection(seed, queries)
    pool = _graded_pool(collection)
    return Plan.create(pool, collection.topics, MEASURE, budget=budget, seed=seed), collection


def _graded_pool(collection: DemoCollection) -> pd.DataFrame:
    """The pool of both rankers on the release, graded by a model that learned from the past release."""
    runs = {name: collection.runs[name] for name in RANKERS}
    past = Runs(production=collection.past_run).transform(collection.past_topics)
    release = Runs(None, allow_missing_queries=False, **runs).transform(collection.topics)
    past, release = (_with_features(each, collection.documents) for each in (past, release))
    return OrderedLogitGrades(MAX_GRADE).fit(past, collection.past_qrels).transform(release)


def _with_features(frame: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """Add texts and features: the shares of the query's words in text and title, and those of ranks and scores."""
    frame = frame.merge(documents, on="docno")
    asked, *read = (
        [set(re.findall(r"\w+", text.lower())) for text in texts]
        for texts in (frame["query"], frame["text"], frame["text"].str.partition(".")[0])
    )
    shares = [[len(words & said) / len(words) for words, said in zip(asked, part, strict=True)] for part in read]
    return frame.assign(features=list(np.column_stack([*shares, run_features(frame)])))


def _with_interval(value: float, result: Estimate | Comparison, sign: str) -> str:
    low, high = result.confidence_interval()
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def _answer(method: Method, pool: pd.DataFrame, collection: DemoCollection, seed: int, budget: float) -> MethodResult:
    plan = Plan.create(pool, collection.topics, MEASURE, budget=budget, design=method.design, seed=seed)
    labels = collection.judge(plan.assessments)
    comparison = plan.compare(labels, estimator=method.estimator)
    judgments = plan.assessments.drop(columns="inclusion").merge(labels, on=["qid", "docno"])
    return MethodResult(plan, judgments, plan.estimate(labels, estimator=method.estimator), comparison)
