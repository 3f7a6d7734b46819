"""Which reference an interval has, what it says about itself, and when there is none."""

import numpy as np
import pytest
from populations import POPULATIONS
from samples import by_t
from scipy import stats

from pt_active import DCG, Plan

pytestmark = pytest.mark.filterwarnings("ignore:.*hand-picked", "ignore:more labels")


@pytest.fixture(scope="module", params=["query", "document", "rounds"])
def plan(request, graded):
    if request.param == "rounds":  # They are replayed as the one with the largest weight.
        first = Plan.create(graded, None, DCG @ 10, budget=60, level="document", design="depth")
        return first.extend(200)
    size = {"draws": 25} if request.param == "query" else {"budget": 150, "level": "document"}
    return Plan.create(graded, None, DCG @ 10, seed=1, **size)


def test_the_default_is_simulated_and_never_narrower_than_t(plan, labels):
    found, usual = plan.compare(labels), by_t(plan.compare, labels)
    assert (found.reference, usual.reference) == ("simulated", "effective")
    assert (found.difference, found.standard_error) == (usual.difference, usual.standard_error)
    assert found.confidence_interval().low <= usual.confidence_interval().low
    assert found.confidence_interval().high >= usual.confidence_interval().high
    assert found.pvalue >= usual.pvalue
    row = found.to_dict()
    assert row["reference"] == "simulated"
    for each, answer in ((row, found), (usual.to_dict(), usual)):
        reach = each["standard_error"] * stats.t.ppf(0.975, each["reference_degrees"])
        ends = each["difference"] - each["low_factor"] * reach, each["difference"] + each["high_factor"] * reach
        assert ends == pytest.approx(answer.confidence_interval())
        assert each["degrees_of_freedom"] == answer.degrees_of_freedom


def test_samples_that_cannot_be_replayed_say_so(few, labels):
    plan = Plan.create(few, None, "DCG@10", draws=25, seed=1)
    found = plan.compare(labels[labels["qid"].isin(few["qid"])], measure="Bpref")
    assert found.reference == "effective"
    assert "reference   t alone; samples of this kind are not replayed" in str(found)


def test_the_interval_depends_on_nothing_but_the_labels_and_agrees_with_the_test(plan, labels):
    found = plan.compare(labels)
    assert found == plan.compare(labels.sample(frac=1, random_state=3))
    a, b = plan.rankers
    turned = plan.compare(labels, first=b, second=a)
    low, high = turned.confidence_interval()
    assert found.tails is not None
    assert turned.difference == pytest.approx(-found.difference, rel=1e-9)
    assert (-high, -low) == pytest.approx(found.confidence_interval(), rel=1e-9)
    assert turned.pvalue == pytest.approx(found.pvalue, rel=1e-9)
    for confidence in (0.8, 0.9, 0.95, 0.99):
        found = plan.compare(labels, confidence=confidence)
        low, high = found.confidence_interval()
        assert (low > 0 or high < 0) == (found.pvalue < 1 - confidence)


def test_queries_of_one_value_have_no_interval_but_a_reason() -> None:
    """Four of 200 queries have any gain: three of the sampled ones differ from the others at most."""
    pool, qrels = POPULATIONS["rare"](1)
    for seed in range(2):
        plan = Plan.create(pool, None, DCG @ 10, draws=60, seed=seed)
        found = plan.estimate(qrels)["a"]
        assert np.isnan(found.confidence_interval()).all()
        assert "no interval, no test" in found.note


def test_a_top_grade_that_no_sample_sees_makes_intervals_wide():
    """A document in 32 queries decides, and the model expects it, though not where; t misses in most samples."""
    pool, qrels = POPULATIONS["skewed_32"](2)
    misses = 0
    for seed in range(4):
        plan = Plan.create(pool, None, DCG @ 10, draws=20, seed=seed)
        found = plan.compare(qrels)
        assert found.note
        assert np.isnan(found.pvalue) == np.isnan(found.confidence_interval().low)
        assert found.winner is None
        misses += by_t(plan.compare, qrels).pvalue < 0.05
    assert misses >= 2


def test_one_query_with_half_of_the_traffic_leaves_an_interval():
    """It is certain to be drawn, so it has no error: the others determine the interval."""
    pool, qrels = POPULATIONS["dominant"](3)
    found = Plan.create(pool, None, DCG @ 10, draws=40, seed=1).compare(qrels)
    assert found.n_effective < 6
    assert found.degrees_of_freedom > 10
    low, high = found.confidence_interval()
    assert low < 0 < high
    assert high - low < 12 * found.standard_error


@pytest.mark.slow
def test_intervals_of_heavy_tails_cover_where_those_of_t_do_not():
    """A grade in 64 documents carries the mean. 60 samples: three standard errors of .93 are .1."""
    covers = {"replays": 0, "t": 0}
    for seed in range(60):
        pool, qrels = POPULATIONS["heavy"](seed % 4, 100)
        truth = Plan.create(pool, None, DCG @ 10, budget=1e9, level="query").estimate(qrels)["a"].value
        plan = Plan.create(pool, None, DCG @ 10, draws=20, seed=seed, design="passive")
        estimates = plan.estimate(qrels, estimator="snis"), by_t(plan.estimate, qrels, estimator="snis")
        for reference, found in zip(covers, estimates, strict=True):
            low, high = found["a"].confidence_interval()
            covers[reference] += bool(np.isnan(low) or low <= truth <= high)
    assert covers["replays"] / 60 > 0.86
    assert covers["t"] / 60 < 0.75
