"""Rankings: how often a family of comparisons errs at least once."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.inference.significance import tukey_pvalues, two_sided_pvalue
from pt_active.plans.answers.judged import How
from pt_active.relevance.moments import Moments
from pt_active.risk import Audit, ZeroOne
from pt_active.sampling.designs import sampling_distribution
from pt_active.sampling.draws import priorities


def null_population(rng, scales, queries=400):
    """Values of k correlated systems whose means over the pool are exactly equal, and a model of middling quality."""
    values = rng.gamma(2, 1, (queries, 1)) + rng.standard_normal((queries, len(scales))) * scales
    values = values - values.mean(axis=0) + values.mean()
    error = rng.normal(0, 1, values.shape)
    return values, Moments(values + error, np.tile(np.eye(len(scales)), (queries, 1, 1)))


def replayed_tests(values, moments, draws, repetitions, rng):
    """Differences, standard errors and degrees of freedom of all pairs in many weighted samples, [pairs, R]."""
    m, k = values.shape
    p = np.full(m, 1 / m)
    q = sampling_distribution("optimal", moments, np.ones(m), p)
    sample = next(priorities(q, np.ones(m), [draws], repetitions, rng))
    found = []
    for a, b in itertools.combinations(range(k), 2):
        value, model = values[:, a] - values[:, b], moments.mean[:, a] - moments.mean[:, b]
        estimate = ESTIMATORS["regression"].weigh(sample, Controls(p, model)).estimate(value[sample.rows])
        found.append((estimate.value, estimate.standard_error, estimate.degrees_of_freedom))
    return np.array(found).transpose(1, 0, 2)


REPETITIONS = 2000
LEVEL = 0.05 + 3 * np.sqrt(0.05 * 0.95 / REPETITIONS)


@pytest.mark.parametrize("scales", [[1, 1, 1, 1, 1], [0.2, 0.5, 1, 2, 4]], ids=["alike", "unlike"])
def test_five_equal_systems_are_told_apart_in_one_of_twenty_samples(scales):
    rng = np.random.default_rng(3)
    values, moments = null_population(rng, np.array(scales))
    difference, error, degrees = replayed_tests(values, moments, 100, REPETITIONS, rng)
    alone = two_sided_pvalue(difference, error, degrees)
    best, column = alone.argmin(axis=0), np.arange(REPETITIONS)
    least = [part[best, column] for part in (difference, error, np.round(degrees, 1))]
    tukey = tukey_pvalues(*least, alone[best, column], 5)
    assert (alone.min(axis=0) < 0.05).mean() > 0.2
    assert 0.02 < (tukey < 0.05).mean() <= LEVEL
    assert 0.02 < (alone.min(axis=0) < 0.05 / 10).mean() <= LEVEL


@pytest.fixture(scope="module")
def four_rankers(demo: DemoCollection, grades: OrderedLogitGrades) -> pd.DataFrame:
    """The graded pool of the demo's rankers and of two noisy copies of the candidate."""
    run = demo.runs["candidate"].drop(columns="rank").sort_values(["qid", "docno"])
    noise = {seed: np.random.default_rng(seed).normal(0, spread, len(run)) for seed, spread in ((1, 0.1), (2, 0.4))}
    copies = {f"noisy {seed}": run.assign(score=run.score + each) for seed, each in noise.items()}
    return (Runs(**demo.runs, **copies, depth=15) >> grades)(demo.topics)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "budget"), [("query", 700), ("document", 500)])
@pytest.mark.filterwarnings("ignore:.*of the variance that the model expects")
def test_families_of_intervals_hold_all_true_differences(demo, four_rankers, level, budget) -> None:
    """The tests of all differences from the truth err together in one of twenty samples; 40 find one of six."""
    samples = 40
    everything = Plan.create(four_rankers, None, DCG @ 10, budget=10**6, level="query").rank(demo.judge(four_rankers))
    truth = {found.name: found.value for found in everything.estimates}
    wrong = {"holm": 0, "tukey": 0}
    for seed in range(samples):
        plan = Plan.create(four_rankers, None, DCG @ 10, budget=budget, level=level, seed=seed)
        judged = plan.judged(demo.judge(plan.assessments))
        pairs = itertools.combinations(range(4), 2)
        found = [judged.compare(a, b, How(DCG @ 10, reference="effective")) for a, b in pairs]
        error = np.array([each.difference - truth[each.first] + truth[each.second] for each in found])
        spread = np.array([each.standard_error for each in found])
        degrees = np.array([each.degrees_of_freedom for each in found])
        alone = two_sided_pvalue(error, spread, degrees)
        wrong["holm"] += alone.min() < 0.05 / 6
        wrong["tukey"] += tukey_pvalues(error, spread, degrees, alone, 4).min() < 0.05
    most = samples * 0.05 + 3 * np.sqrt(samples * 0.05 * 0.95)
    assert 0 <= wrong["holm"] <= wrong["tukey"] <= most


def equal_judges(rng: np.random.Generator, pairs: int, wrong: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs with five judges that have exactly the same share of errors, each in pairs of its own; and every label."""
    grades = rng.dirichlet([2.0, 1, 1], pairs)
    label = (grades.cumsum(axis=1) < rng.random((pairs, 1))).sum(axis=1)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(pairs)]})
    errors = {k: rng.permutation(pairs) < wrong * pairs for k in "abcde"}
    judges = {k: np.where(e, (label + rng.integers(1, 3, pairs)) % 3, label) for k, e in errors.items()}
    frame = frame.assign(**{f"grade_{g}": grades[:, g] for g in range(3)}, **judges)
    return frame, frame[["qid", "docno"]].assign(label=label)


@pytest.mark.slow
def test_equal_predictors_are_told_apart_in_one_of_twenty_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 audits find a level of .19."""
    monkeypatch.setattr(gc, "collect", lambda: 0)  # statsmodels does so at every call, which takes most of the time
    rng, samples, wrong = np.random.default_rng(3), 100, {"holm": 0, "none": 0}
    for seed in range(samples):
        if seed % 25 == 0:
            frame, qrels = equal_judges(rng, 400, 0.3)
        judges = {k: k for k in "abcde"}
        audit = Audit.create(frame, judges, ZeroOne(), budget=100, design="passive", seed=seed)
        ranking = audit.rank(
            audit.assessments[["qid", "docno"]].merge(qrels, on=["qid", "docno"]), "snis", reference="effective"
        )
        wrong["holm"] += any(winner is not None for winner in ranking.winners)
        wrong["none"] += any(found.winner is not None for found in ranking.comparisons)
    most = samples * 0.05 + 3 * np.sqrt(samples * 0.05 * 0.95)
    assert wrong["holm"] <= most < wrong["none"]
