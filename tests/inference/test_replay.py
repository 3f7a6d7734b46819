"""The replay engine against a plain Python loop over the functions that a plan uses, on small pools."""

import numpy as np
import pytest

from pt_active import DCG, ColumnCost, measure_values
from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.inference.intervals import interval
from pt_active.inference.replay import (
    CHUNK,
    YARDSTICK,
    Method,
    Population,
    random_swaps,
    ratio_of_means,
    savings,
    share_error,
)
from pt_active.inference.significance import two_sided_pvalue
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import defensive_share, sampling_distribution
from pt_active.sampling.draws import priorities, races
from pt_active.sampling.sample import Sample
from pt_active.studies.simulate import labelled_population, replays, simulate


def random_population():
    """Values near what the model expects, costs of whole documents."""
    rng = np.random.default_rng(0)
    mean, root = rng.uniform(0, 1, (40, 2)), rng.normal(0, 0.2, (40, 2, 2))
    cost = rng.integers(3, 9, 40)
    values = mean + rng.normal([0.0, 0.02], 0.2, (40, 2))
    uniform = Moments(np.full((40, 2), 0.5), np.tile(np.eye(2) * 0.1, (40, 1, 1)))
    moments, weight = Moments(mean, root @ root.transpose(0, 2, 1)), rng.dirichlet(np.full(40, 8.0))
    return Population(values, moments, uniform, cost.astype(np.float64), weight, documents=cost)


POOL = random_population()
BUDGETS = [30.0, 60.0, 120.0]
NUMBERS = ("truth", "estimate", "standard_error", "n_draws", "n_queries", "n_judged", "spent")


def replays_of(method, repetitions, budgets=BUDGETS, pool=POOL, seed=1, **settings):
    return replays(pool, [method], repetitions, budgets=budgets, seed=seed, progress=False, **settings)[method]


def test_repetitions_do_not_depend_on_how_many_there_are():
    method = Method("optimal", "regression")
    few, many = (replays_of(method, n) for n in (CHUNK, 2 * CHUNK + 7))
    np.testing.assert_array_equal(few.estimate, many.estimate[:, :CHUNK])
    assert many.estimate.shape == (3, 2 * CHUNK + 7)
    np.testing.assert_array_equal(many.estimate, replays_of(method, 2 * CHUNK + 7).estimate)
    assert (replays_of(method, CHUNK, seed=2).estimate != few.estimate).any()


def test_the_caution_of_a_design_is_that_of_a_plan_with_the_largest_budget():
    method = Method("hedged", "regression", False)
    shares = [defensive_share(budget / float(POOL.weight @ POOL.cost)) for budget in BUDGETS]
    usual, *told = (replays_of(method, 20, defensive=share).estimate for share in (None, *shares))
    np.testing.assert_array_equal(usual, told[-1])
    assert (usual != told[0]).any()


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(("design", "with_replacement"), [("optimal", True), ("hedged", False)])
def test_a_replay_is_what_a_loop_of_plans_would_give(design, with_replacement, null):
    """One repetition at a time, with the same random numbers; under label swapping each has a swap of its own."""
    method, size = Method(design, "regression", with_replacement), 7
    found = replays_of(method, size, null=null)
    draw_seed, swap_seed = np.random.SeedSequence(1).spawn(1)[0].spawn(2)
    traded = random_swaps(40, np.random.default_rng(swap_seed), size) & null
    assert len(np.unique(found.truth)) == (size if null else 1)
    pools = [POOL.swapped(row) for row in traded]
    q = np.stack([sampling_distribution(design, x.moments, x.cost, x.weight, 0.1, x.uniform) for x in pools])
    draw = races if with_replacement else priorities
    for b, sample in enumerate(draw(q, POOL.cost, BUDGETS, size, np.random.default_rng(draw_seed))):
        for r, pool in enumerate(pools):
            kept = sample.count[r] > 0
            one = Sample(sample.rows[r][kept], sample.count[r][kept], sample.expected[r][kept], with_replacement)
            controls = Controls(pool.weight, pool.model)
            mean = ESTIMATORS["regression"].estimate(one, controls, pool.target[one.rows])
            spread = mean.value, mean.standard_error, mean.degrees_of_freedom
            judged, spent = (of[one.rows].sum() for of in (pool.documents, pool.cost))
            told = [np.broadcast_to(getattr(found, name), (3, size))[b, r] for name in NUMBERS]
            expected = [pool.truth, *spread[:2], float(one.draws), len(one.rows), judged, spent]
            assert told == pytest.approx(expected), NUMBERS
            assert found.pvalues()[b, r] == pytest.approx(two_sided_pvalue(*spread))
            ends = [end[b, r] for end in found.intervals(0.95)]
            assert ends == pytest.approx(list(interval(*spread, 0.95)))


def test_the_table_says_what_the_replays_say():
    method = Method("optimal", "regression", False)
    table = simulate(POOL, designs=["optimal"], estimators=["regression"], budgets=BUDGETS, repetitions=100, seed=3)
    true = replays(POOL, [YARDSTICK, method], 100, budgets=BUDGETS, seed=3, progress=False)
    null = replays_of(method, 100, seed=3, null=True)
    mine = table[(table["design"] == "optimal") & ~table["with_replacement"]]
    found, passive = true[method], true[YARDSTICK].estimate - POOL.truth
    error, (low, high) = found.estimate - POOL.truth, found.intervals(0.95)
    averages = {
        "truth": np.full((3, 1), POOL.truth),
        "bias": error,
        "mae": abs(error),
        "coverage": (low <= POOL.truth) & (POOL.truth <= high),
        "width": high - low,
        "selection_error": found.estimate * POOL.truth < 0,
        "type_2_error": found.pvalues() >= 0.05,
        "type_1_error": null.pvalues(null.truth) < 0.05,
    }
    expected = {name: values.mean(axis=1) for name, values in averages.items()}
    expected["rmse"] = np.sqrt((error**2).mean(axis=1))
    expected["label_equivalents"] = (passive**2).sum(axis=1) / (error**2).sum(axis=1)
    for name, values in expected.items():
        np.testing.assert_allclose(mine[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_ratio_of_means_and_its_error():
    """The error against the spread of 2,000 independent ratios, within a tenth."""
    rng = np.random.default_rng(0)
    first = rng.gamma(2, 1, (2000, 400))
    second = 0.5 * first + rng.gamma(3, 0.3, (2000, 400))
    ratio, error = ratio_of_means(first, second)
    assert ratio == pytest.approx(first.mean(axis=1) / second.mean(axis=1))
    assert error.mean() == pytest.approx(ratio.std(), rel=0.1)


def test_a_share_and_its_error():
    """The binomial formula in the middle; at the ends, twice the error is within a tenth of the rule of three."""
    share, repetitions = np.array([0.05, 0.5, 0.95]), np.array([1000, 300, 4000])
    plain = np.sqrt(share * (1 - share) / repetitions)
    np.testing.assert_allclose(share_error(share, repetitions), plain, rtol=0.05)
    assert 2 * share_error(np.array([0.0, 1.0]), 1000) == pytest.approx(3 / 1000, rel=0.1)


def test_savings_are_read_off_the_curve():
    """Errors proportional to 1/budget: half the squared error needs twice the budget."""
    passive = np.array([8.0, 4.0, 2.0, 1.0])
    found = savings([10.0, 20.0, 40.0, 80.0], passive / 2, passive)
    assert found == pytest.approx([np.nan, 0.5, 0.5, 0.5], nan_ok=True)


@pytest.fixture(scope="module")
def labelled(demo, graded):
    some = graded[graded["qid"].isin([f"q{x}" for x in range(1, 61)])]
    return some.merge(demo.judge(some), on=["qid", "docno"])


def test_a_labelled_pool_has_the_values_of_its_runs(demo, labelled):
    names = ["candidate", "production"]
    pool, backward = (labelled_population(labelled, DCG @ 10, rankers=each) for each in (names, names[::-1]))
    for s, name in enumerate(names):
        expected = measure_values(demo.runs[name], demo.judge(labelled), DCG @ 10).sort_values("qid")["value"]
        np.testing.assert_allclose(pool.values[:, s], expected, atol=1e-12)
    assert pool.truth == pytest.approx((pool.values[:, 0] - pool.values[:, 1]).mean())
    assert backward.truth == pytest.approx(-pool.truth)
    assert pool.documents.tolist() == pool.cost.tolist()
    alone = labelled_population(labelled, DCG @ 10, rankers=names[:1])
    np.testing.assert_allclose(alone.values[:, 0], pool.values[:, 0])
    assert (alone.cost <= pool.cost).all()
    below = labelled[["rank_production", "rank_candidate"]].replace(-1, 99).min(axis=1) >= 10
    assert below.any()
    unlabelled = labelled.assign(label=labelled["label"].where(~below))
    np.testing.assert_array_equal(labelled_population(unlabelled, DCG @ 10, rankers=names).values, pool.values)


def test_a_pool_that_cannot_be_replayed_says_why(labelled):
    third = labelled.assign(rank_third=labelled["rank_production"])
    for frame, rankers, message in (
        (labelled.drop(columns="label"), None, "needs a column 'label'"),
        (labelled, ["bm25"], "no ranker 'bm25' in the pool; it has 'production', 'candidate'"),
        (third, None, "choose one or two rankers"),
    ):
        with pytest.raises(ValueError, match=message):
            labelled_population(frame, DCG @ 10, rankers=rankers)
    nowhere = labelled.assign(rank_production=labelled["rank_production"].where(labelled["qid"] != "q7", -1))
    with pytest.warns(UserWarning, match="1 query for which production found nothing is left out: 'q7'"):
        pool = labelled_population(nowhere, DCG @ 10, rankers=["production"])
    assert len(pool.cost) == labelled["qid"].nunique() - 1


def test_samples_of_documents_are_replayed_for_any_measure(labelled):
    """The truth and the swaps are those of whole queries, nearly all of the budget is spent, and nothing is biased."""
    priced = labelled.assign(price=1 + np.arange(len(labelled)) % 3)
    pool = labelled_population(priced, "nDCG@5", ColumnCost("price", per_query=2.0), samples=20)
    assert pool.cost.sum() == pytest.approx(priced["price"].sum() + 2 * labelled["qid"].nunique())
    assert pool.moments.monte_carlo_error is not None
    traded = random_swaps(len(pool.weight), np.random.default_rng(0))[0]
    assert traded.any()
    for single, whole in ((pool.single, pool), (pool.single.swapped(traded), pool.swapped(traded))):
        np.testing.assert_allclose(single.target, whole.target, atol=1e-12)
    budget = 0.2 * pool.cost.sum()
    found = replays_of(Method("depth", "difference", False), 25, [budget], pool)
    error = found.error[0]
    assert abs(error.mean()) < 3 * error.std() / np.sqrt(len(error))
    assert found.spent.mean() > 0.97 * budget
    assert found.spent.max() <= budget * (1 + 1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budgets": [50.0, 50.0]}, "budgets must be increasing"),
        ({"budgets": []}, "budgets must be increasing"),
        ({"budgets": [np.nan]}, "budgets outside the pool: nan"),
        ({"repetitions": 0}, "repetitions must be at least 1, got 0"),
        ({"estimators": ["mle"]}, "unknown estimator 'mle'; the estimators are regression"),
    ],
)
def test_bad_settings_of_a_simulation(settings, message):
    with pytest.raises(ValueError, match=message):
        simulate(POOL, **{"budgets": BUDGETS, "progress": False} | settings)
