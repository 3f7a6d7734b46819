"""The whole road on the simulated collection: plan, judge, compare, and how far off the answers are.

The truth is known there, so active sampling can be put beside passive sampling (queries drawn at random, plain mean)
with the same number of judgments: in one sample, which may be a lucky one, and over many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.demo.collection import MAX_GRADE, DemoCollection, demo_collection
from pt_active.inference.methods import Method
from pt_active.inference.replay import Population
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.pool import Pool
from pt_active.plans.plan import Plan
from pt_active.relevance.grades.features import run_features
from pt_active.relevance.grades.learned import OrderedLogitGrades
from pt_active.relevance.measures import parse_measure
from pt_active.studies.simulate import labelled_population, replays
from pt_active.transformers import Runs

MEASURE = "DCG@10"
"""What the demo measures."""

RANKERS = ("candidate", "production")
"""The first is compared with the second."""

REPETITIONS = 1000
"""Samples that are drawn of each method and budget to find its typical error."""

_FACTORS = 2.0 ** (np.arange(-6, 7) / 2)
"""Budgets of the error curves, as multiples of the demo's."""

METHODS = {"active": Method("hedged", "regression", False), "passive": Method("passive", "snis", False)}
"""What is put side by side; passive is a uniform sample of queries and its plain mean."""

MODEL_ALONE = Method("passive", "regression", False)
"""Active without its sampling: tells how much of the gain is due to the model's part in the estimate."""


@dataclass(frozen=True)
class Answer:
    """What one method says of its sample.

    Attributes:
        plan: The sample.
        judgments: The assessments of the plan with a ``label``.
        estimates: Ranker name → estimate.
        comparison: Candidate minus production.
    """

    plan: Plan
    judgments: pd.DataFrame
    estimates: dict[str, Estimate]
    comparison: Comparison


@dataclass(frozen=True)
class Repetitions:
    """Estimates of the difference from many samples.

    Attributes:
        budgets: float64[b], increasing.
        chosen: The place of the demo's budget among them.
        estimates: For each of `METHODS`, float64[b, REPETITIONS].
        model_alone: Of `MODEL_ALONE` at the demo's budget, float64[REPETITIONS].
        truth: The true difference.
    """

    budgets: np.ndarray
    chosen: int
    estimates: dict[str, np.ndarray]
    model_alone: np.ndarray
    truth: float

    @property
    def typical_errors(self) -> dict[str, np.ndarray]:
        """Root mean squared error of each of `METHODS` at each budget, float64[b]."""
        return {name: self._rmse(estimates) for name, estimates in self.estimates.items()}

    @property
    def error_of_model_alone(self) -> float:
        """Root mean squared error of `MODEL_ALONE` at the demo's budget."""
        return float(self._rmse(self.model_alone))

    def _rmse(self, estimates: np.ndarray) -> np.ndarray:
        return np.sqrt(((estimates - self.truth) ** 2).mean(axis=-1))

    @property
    def error_ratio(self) -> float:
        """Typical error of active divided by that of passive, at the demo's budget."""
        errors = self.typical_errors
        return float(errors["active"][self.chosen] / errors["passive"][self.chosen])

    @property
    def equal_error_budget(self) -> float:
        """What active needs for the typical error that passive has at the demo's; off the curve, to two digits."""
        errors = self.typical_errors
        wanted = np.log(errors["passive"][self.chosen])
        curve = np.log(np.minimum.accumulate(errors["active"]))
        needed = np.exp(np.interp(-wanted, -curve, np.log(self.budgets)))
        return float(f"{needed:.2g}")


@dataclass(frozen=True)
class Demo:
    """Everything that the demo shows.

    Attributes:
        seed: Of the collection and of all draws.
        budget: Judgments that may be spent.
        collection: The simulated collection.
        truth: The measure of each ranker over all queries.
        answers: For each of `METHODS`, the answer from one sample.
        repetitions: The same from many samples.
    """

    seed: int
    budget: float
    collection: DemoCollection
    truth: dict[str, float]
    answers: dict[str, Answer]
    repetitions: Repetitions

    def to_dict(self) -> dict[str, object]:
        """All numbers, ready for JSON."""
        many = self.repetitions
        answers = {
            name: answer.comparison.to_dict() | {"estimates": {r: e.to_dict() for r, e in answer.estimates.items()}}
            for name, answer in self.answers.items()
        }
        repetitions = {
            "samples": REPETITIONS,
            "budgets": many.budgets.tolist(),
            "typical_error": {name: error.tolist() for name, error in many.typical_errors.items()},
            "error_ratio": many.error_ratio,
            "error_of_model_alone": many.error_of_model_alone,
            "equal_error_budget": many.equal_error_budget,
        }
        head = {"simulated": True, "seed": self.seed, "measure": MEASURE, "budget": self.budget}
        truth = self.truth | {"difference": many.truth}
        return {**head, "truth": truth, **answers, "repetitions": repetitions}

    def __str__(self) -> str:
        pool_cost = self.answers["active"].plan.tables.manifest.pool_cost
        head = (
            "SIMULATED: no query, document or judgment here is real.\n\n"
            f"Two rankers, {len(self.collection.topics)} queries, {pool_cost:,.0f} documents in their top 10s; "
            f"the budget is {self.budget:,.0f} judgments.\n"
            f"From {len(self.collection.past_topics)} judged queries of a past release, a model learned what grades to "
            "expect. Active\nsampling judges more often where it expects the comparison to be uncertain, and corrects "
            "the\nmodel by what the judges say; passive sampling judges queries at random and takes the mean."
        )
        return f"{head}\n\n{self._table()}\n\n{self._verdict()}"

    def _table(self) -> str:
        """The truth beside what each method says."""
        difference = self.repetitions.truth
        named = [MEASURE, *RANKERS, "difference", "p-value", "winner"]
        values = [f"{self.truth[name]:.3f}" for name in RANKERS]
        truth = ["truth", *values, f"{difference:+.3f}", "", RANKERS[difference < 0]]
        columns = [named, truth, *(_cells(name, answer) for name, answer in self.answers.items())]
        return "\n".join("{:<11} {:>9}   {:<27} {}".format(*row) for row in zip(*columns, strict=True))

    def _verdict(self) -> str:
        many = self.repetitions
        active, passive = (many.typical_errors[name][many.chosen] for name in METHODS)
        text = (
            f"One sample can be lucky, so here are {REPETITIONS} of each: the typical error (RMSE) of the difference "
            f"is\n{active:.3f} active, {passive:.3f} passive, ratio {many.error_ratio:.2f}."
        )
        if many.equal_error_budget < self.budget:
            text += (
                f"\nFor the error that passive has at {self.budget:,.0f} judgments, active needs about "
                f"{many.equal_error_budget:,.0f}."
            )
        return (
            f"{text}\nHow much of it is the model: with the model's correction, passive sampling alone has "
            f"{many.error_of_model_alone:.3f}."
        )


def run_demo(seed: int, budget: float | None = None) -> Demo:
    """Simulate a collection, plan, judge, estimate and compare, once and then many times.

    Args:
        seed: Of the collection and of all draws.
        budget: Judgments that may be spent; a third of the pool, rounded, if left out.

    Raises:
        ValueError: If the budget is too small for a query, or pays for all of them, so that nothing is sampled.
    """
    collection = demo_collection(seed)
    pool = _graded_pool(collection)
    budget = _third(pool) if budget is None else budget
    answers = {name: _answer(method, pool, collection, seed, budget) for name, method in METHODS.items()}
    population = _population(pool, collection)
    truth = dict(zip(RANKERS, (population.weight @ population.values).tolist(), strict=True))
    return Demo(seed, budget, collection, truth, answers, repeat(population, budget, seed))


def _population(pool: pd.DataFrame, collection: DemoCollection) -> Population:
    """The pool with the hidden truth."""
    labelled = pool.merge(collection.judge(pool), on=["qid", "docno"])
    return labelled_population(labelled, MEASURE, rankers=RANKERS)


def repeat(population: Population, budget: float, seed: int) -> Repetitions:
    """Draw many samples of each method, to several budgets, and estimate the difference from each.

    Args:
        population: The pool with the hidden truth.
        budget: The demo's; the others are multiples of it.
        seed: Of the draws.
    """
    cost = population.cost
    usable = (budget * _FACTORS > 10 * cost.max()) & (budget * _FACTORS < 0.8 * cost.sum())
    budgets = np.unique(np.append(np.round(budget * _FACTORS[usable]), budget))
    chosen = int(np.searchsorted(budgets, budget))
    found = replays(
        population, [*METHODS.values(), MODEL_ALONE], REPETITIONS, budgets=budgets, seed=seed, progress=False
    )
    estimates = {name: found[method].estimate for name, method in METHODS.items()}
    return Repetitions(budgets, chosen, estimates, found[MODEL_ALONE].estimate[chosen], population.truth)


def _graded_pool(collection: DemoCollection) -> pd.DataFrame:
    """Both rankings of the release, graded by a model of the past one."""
    past, release = (
        _with_features(
            Runs(None, allow_missing_queries=False, **runs).transform(topics).merge(collection.documents, on="docno")
        )
        for runs, topics in (
            ({"production": collection.past_run}, collection.past_topics),
            ({name: collection.runs[name] for name in RANKERS}, collection.topics),
        )
    )
    return OrderedLogitGrades(MAX_GRADE).fit(past, collection.past_qrels).transform(release)


def _with_features(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the shares of the query's words that the text and its title have, and what the ranks and scores say."""
    asked = [_words(query) for query in frame["query"]]
    shares = [
        [len(words & _words(part)) / len(words) for words, part in zip(asked, parts, strict=True)]
        for parts in (frame["text"], frame["text"].str.partition(".")[0])
    ]
    return frame.assign(features=list(np.column_stack([*shares, run_features(frame)])))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _cells(name: str, answer: Answer) -> list[str]:
    """What a method says, from the top of the table to its bottom."""
    found = answer.comparison
    estimates = [_with_interval(e.value, e, "") for e in (answer.estimates[ranker] for ranker in RANKERS)]
    head = f"{name}, {found.basis.n_judged:,} judgments"
    difference = _with_interval(found.difference, found, "+")
    return [head, *estimates, difference, f"{found.pvalue:.2g}", found.winner or "unresolved"]


def _with_interval(value: float, found: Estimate | Comparison, sign: str) -> str:
    low, high = found.confidence_interval()
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def _third(pool: pd.DataFrame) -> float:
    """A third of what judging the whole pool costs, to the nearest hundred."""
    return float(np.round(Pool.from_frame(pool, parse_measure(MEASURE)).query_cost.sum() / 3, -2))


def _answer(method: Method, pool: pd.DataFrame, collection: DemoCollection, seed: int, budget: float) -> Answer:
    plan = Plan.create(pool, collection.topics, MEASURE, budget=budget, design=method.design, seed=seed)
    manifest = plan.tables.manifest
    if manifest.census:
        raise ValueError(
            f"a budget of {budget:g} judges every query, which costs {manifest.pool_cost:g}; the demo shows "
            "sampling, so choose a smaller one"
        )
    labels = collection.judge(plan.assessments)
    comparison = plan.compare(labels, estimator=method.estimator)
    judgments = plan.assessments.drop(columns="inclusion").merge(labels, on=["qid", "docno"])
    return Answer(plan, judgments, plan.estimate(labels, estimator=method.estimator), comparison)
