"""Runs an active evaluation on the simulated collection: plan, judge, compare, and check against the truth.

The truth is known, so active sampling is compared with passive sampling (queries drawn at random, plain mean) at the
same number of judgments: on one sample, which may be lucky, and over many samples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.demo.collection import MAX_GRADE, DemoCollection, demo_collection
from pt_active.inference.replay import Method, Population
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.pool import Pool
from pt_active.plans.plan import Plan
from pt_active.relevance.grades.features import run_features
from pt_active.relevance.grades.learned import OrderedLogitGrades
from pt_active.relevance.measures import parse_measure
from pt_active.studies.simulate import labelled_population, replays
from pt_active.transformers import Runs

MEASURE = "DCG@10"
RANKERS = ("candidate", "production")  # The first is compared with the second
REPETITIONS = 1000  # Samples of each method, from which its typical error is computed
_FACTORS = 2.0 ** (np.arange(-6, 7) / 2)  # Budgets of the error curves, as multiples of the demo's budget

METHODS = {"active": Method("hedged", "regression", False), "passive": Method("passive", "snis", False)}
"""The compared methods; passive is a uniform sample of queries and its plain mean."""

MODEL_ALONE = Method("passive", "regression", False)
"""Passive sampling with the active estimator: shows how much of the gain is due to the model in the estimate."""


@dataclass(frozen=True)
class MethodResult:
    """The results of one method on one sample.

    Attributes:
        plan: The plan that drew the sample.
        judgments: The assessments of the plan with a ``label``.
        estimates: Ranker → estimate.
        comparison: Comparison of candidate minus production.
    """

    plan: Plan
    judgments: pd.DataFrame
    estimates: dict[str, Estimate]
    comparison: Comparison


@dataclass(frozen=True)
class SampledEstimates:
    """Estimates of the difference from many samples.

    Attributes:
        budgets: float64[b], increasing.
        chosen: Index of the demo's budget in ``budgets``.
        estimates: For each of `METHODS`, float64[b, REPETITIONS].
        model_alone: float64[REPETITIONS], estimates of `MODEL_ALONE` at the demo's budget.
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
        return {name: np.sqrt(((each - self.truth) ** 2).mean(axis=-1)) for name, each in self.estimates.items()}

    @property
    def error_of_model_alone(self) -> float:
        """Root mean squared error of `MODEL_ALONE` at the demo's budget."""
        return float(np.sqrt(((self.model_alone - self.truth) ** 2).mean()))

    @property
    def error_ratio(self) -> float:
        """Typical error of active divided by that of passive, at the demo's budget."""
        errors = self.typical_errors
        return float(errors["active"][self.chosen] / errors["passive"][self.chosen])

    @property
    def equal_error_budget(self) -> float:
        """The budget at which active has the typical error of passive, interpolated and rounded to two digits."""
        errors = self.typical_errors
        wanted = np.log(errors["passive"][self.chosen])
        curve = np.log(np.minimum.accumulate(errors["active"]))
        needed = np.exp(np.interp(-wanted, -curve, np.log(self.budgets)))
        return float(f"{needed:.2g}")


@dataclass(frozen=True)
class Demo:
    """All results of the demo.

    Attributes:
        seed: Random seed of the collection and of all draws.
        budget: Number of judgments that may be spent.
        collection: The simulated collection.
        truth: The measure of each ranker over all queries.
        answers: For each of `METHODS`, the answer from one sample.
        repetitions: The estimates from many samples.
    """

    seed: int
    budget: float
    collection: DemoCollection
    truth: dict[str, float]
    answers: dict[str, MethodResult]
    repetitions: SampledEstimates

    def to_dict(self) -> dict[str, object]:
        """All numbers, as plain values for JSON."""
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
            "expect.\nActive sampling judges more often where the model expects the comparison to be uncertain, and\n"
            "uses the judgments to correct the model; passive sampling judges queries at random and takes the mean."
        )
        return f"{head}\n\n{self._table()}\n\n{self._verdict()}"

    def _table(self) -> str:
        """The truth beside the results of each method."""
        difference = self.repetitions.truth
        named = [MEASURE, *RANKERS, "difference", "p-value", "winner"]
        values = [f"{self.truth[name]:.3f}" for name in RANKERS]
        truth = ["truth", *values, f"{difference:+.3f}", "", RANKERS[difference < 0]]
        columns = [named, truth]
        for name, answer in self.answers.items():
            compared, head = answer.comparison, f"{name}, {answer.comparison.basis.n_judged:,} judgments"
            estimates = [_with_interval(e.value, e, "") for e in (answer.estimates[ranker] for ranker in RANKERS)]
            apart = _with_interval(compared.difference, compared, "+")
            columns.append([head, *estimates, apart, f"{compared.pvalue:.2g}", compared.winner or "unresolved"])
        return "\n".join("{:<11} {:>9}   {:<27} {}".format(*row) for row in zip(*columns, strict=True))

    def _verdict(self) -> str:
        many = self.repetitions
        active, passive = (many.typical_errors[name][many.chosen] for name in METHODS)
        text = (
            f"One sample can be lucky. Over {REPETITIONS} samples of each kind, the typical error (RMSE) of the\n"
            f"difference is {active:.3f} active and {passive:.3f} passive, a ratio of {many.error_ratio:.2f}."
        )
        if many.equal_error_budget < self.budget:
            text += (
                f"\nWith active sampling, about {many.equal_error_budget:,.0f} judgments give the error of passive "
                f"sampling with {self.budget:,.0f}."
            )
        return (
            f"{text}\nPassive sampling that is corrected by the model has an error of {many.error_of_model_alone:.3f}."
        )


def run_demo(seed: int, budget: float | None = None) -> Demo:
    """Simulate a collection, plan, judge, estimate and compare, once and then many times."""
    collection = demo_collection(seed)
    pool = _graded_pool(collection)
    if budget is None:  # a third of the cost of judging the whole pool, to the nearest hundred
        budget = float(np.round(Pool.from_frame(pool, parse_measure(MEASURE)).query_cost.sum() / 3, -2))
    answers = {name: _answer(method, pool, collection, seed, budget) for name, method in METHODS.items()}
    labelled = pool.merge(collection.judge(pool), on=["qid", "docno"])
    population = labelled_population(labelled, MEASURE, rankers=RANKERS)
    truth = dict(zip(RANKERS, (population.weight @ population.values).tolist(), strict=True))
    return Demo(seed, budget, collection, truth, answers, repeat(population, budget, seed))


def demo_plan(seed: int = 7, queries: int = 600, budget: float = 1500) -> tuple[Plan, DemoCollection]:
    """A plan of documents of the simulated collection, to try out how judging goes."""
    collection = demo_collection(seed, queries)
    pool = _graded_pool(collection)
    return Plan.create(pool, collection.topics, MEASURE, budget=budget, seed=seed), collection


def repeat(population: Population, budget: float, seed: int) -> SampledEstimates:
    """Draw many samples of each method at several budgets, and estimate the difference from each."""
    cost = population.cost
    usable = (budget * _FACTORS > 10 * cost.max()) & (budget * _FACTORS < 0.8 * cost.sum())
    budgets = np.unique(np.append(np.round(budget * _FACTORS[usable]), budget))
    chosen = int(np.searchsorted(budgets, budget))
    replayed = replays(
        population, [*METHODS.values(), MODEL_ALONE], REPETITIONS, budgets=budgets, seed=seed, progress=False
    )
    estimates = {name: replayed[method].estimate for name, method in METHODS.items()}
    return SampledEstimates(budgets, chosen, estimates, replayed[MODEL_ALONE].estimate[chosen], population.truth)


def _graded_pool(collection: DemoCollection) -> pd.DataFrame:
    """The pool of both rankers on the release, graded by a model that learned from the past release."""
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
    """Add features: the shares of the query's words in the text and in the title, and those of ranks and scores."""
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
    manifest = plan.tables.manifest
    if manifest.census:
        raise ValueError(
            f"a budget of {budget:g} judges every query, which costs {manifest.pool_cost:g}; the demo shows "
            "sampling, so choose a smaller one"
        )
    labels = collection.judge(plan.assessments)
    comparison = plan.compare(labels, estimator=method.estimator)
    judgments = plan.assessments.drop(columns="inclusion").merge(labels, on=["qid", "docno"])
    return MethodResult(plan, judgments, plan.estimate(labels, estimator=method.estimator), comparison)
