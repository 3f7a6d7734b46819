"""Numbers that scripts of the reproductions compute for themselves, against enumeration, the package, or by hand."""

import numpy as np
import pytest
from populations import plain
from samples import by_t

from pt_active import Plan
from pt_active.frames.qrels import whole_labels
from pt_active.inference.replay import Method, Population
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.sequence import sequence_of
from pt_active.relevance.moments import Moments
from pt_active.risk import Audit, Precision, Recall, ZeroOne
from pt_active.sampling.sample import Sample
from pt_active.studies.simulate import replays

pytest.importorskip("matplotlib")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*hand-picked"),
]

# --- leagues and figures ----------------------------------------------------------------------------------------------


def population_of(values: np.ndarray, model: np.ndarray, cost: np.ndarray) -> Population:
    """One system with a value, an expected value and a cost for each query."""
    m = len(values)
    moments = Moments(model[:, None], np.ones((m, 1, 1)))
    return Population(values[:, None], moments, moments, cost, np.full(m, 1 / m), np.ones(m, dtype=np.int64))


def test_ppi_of_many_samples_is_that_of_each(script):
    """The power is the slope that makes the variance least, cut to between 0 and 1 [PPI++, for means]."""
    rng = np.random.default_rng(3)
    values, noise = rng.normal(size=(2, 30))
    model = values + noise
    population = population_of(values, model, np.ones(30))
    rows = rng.random((20, 30)).argsort(axis=1)[:, :9]
    sample = Sample(rows, np.ones_like(rows), np.full(rows.shape, 9 / 30))
    for row, found in zip(rows, script("small_samples").ppi(sample, population), strict=True):
        rest = np.delete(model, row)
        power = np.cov(values[row], model[row], ddof=0)[0, 1] / ((1 + 9 / 21) * model.var())
        power = min(max(power, 0), 1)
        assert found == pytest.approx(power * rest.mean() + (values[row] - power * model[row]).mean())


def test_a_large_pool_saves_what_theory_says(script):
    """The best saving is computed by hand; replays from a very large pool agree with a design's predicted saving."""
    rng = np.random.default_rng(1)
    model, noise, cost = rng.normal(3, 1, 2000), rng.normal(0, 1, 2000), rng.uniform(1, 5, 2000)
    figures, pool = script("figures"), population_of(model + noise, model, cost)
    assert figures.asymptotic_saving(pool, pool.weight) == pytest.approx(0)
    saving = figures.asymptotic_savings(pool)
    best, spread = saving["perfect"], np.abs(pool.target - pool.truth)
    by_hand = 1 - np.mean(spread * np.sqrt(pool.cost)) ** 2 / (np.mean(spread**2) * np.mean(pool.cost))
    assert best == pytest.approx(by_hand)
    assert 0 < saving["asymptotic"] < best
    methods = {name: Method(name, "snis") for name in ("passive", "optimal")}
    found = replays(pool, methods.values(), 2000, budgets=[40 * pool.cost.mean()], seed=2, progress=False)
    squared = {name: found[method].error[0] ** 2 for name, method in methods.items()}
    ratio = squared["optimal"].mean() / squared["passive"].mean()
    error = np.hypot(*(s.std() / s.mean() / np.sqrt(2000) for s in squared.values())) * ratio
    assert abs(ratio - (1 - saving["asymptotic"])) < 3 * error


# --- audits and rounds --------------------------------------------------------------------------------------------


def test_problems_are_estimated_without_error_from_everything(script):
    replays = script("audit_replays")
    rng = np.random.default_rng(0)
    grades = rng.dirichlet(np.ones(3), 80)
    prediction, label = grades.argmax(axis=1).astype(float), rng.integers(0, 3, 80).astype(float)
    called, relevant = prediction >= 1, label >= 1
    truths = {
        ZeroOne(): (prediction != label).mean(),
        Precision(): (called & relevant).sum() / called.sum(),
        Recall(): (called & relevant).sum() / relevant.sum(),
    }
    everything = replays.Sample(np.arange(80)[None], np.ones((1, 80), dtype=int), np.ones((1, 80)))
    for loss, truth in truths.items():
        problem = replays.graded_problem(loss, prediction, grades, label)
        assert problem.risk == pytest.approx(truth, abs=1e-12)
        assert problem.fixed == (loss != Recall())
        for estimator in ("snis", "regression"):
            assert replays.estimates(problem, everything, estimator).value[0] == pytest.approx(truth, abs=1e-12)
        assert replays.stratified_estimates(problem, 80, 1, 0).value[0] == pytest.approx(truth, abs=1e-12)


def test_what_is_replayed_for_coverage_is_an_audit(script, monkeypatch):
    coverage = script("audit_coverage")
    monkeypatch.setattr(coverage, "PAIRS", 400)
    frame, label = coverage.pool_of(coverage.COMMON, 3)
    qrels = frame[["qid", "docno"]].assign(label=label.astype(int))
    for name in ("recall", "difference of errors", "the same, `disagreement`"):
        case = coverage.CASES[name]
        judges = {judge: judge for judge in case.judges}
        audit = Audit.create(frame, judges, case.loss, draws=coverage.LABELS, design=case.design, seed=5)
        labels = audit.assessments[["qid", "docno"]].merge(qrels, on=["qid", "docno"])
        pairs = coverage.Pairs.from_frame(frame, judges, case.loss, coverage.UnitCost())
        sample = coverage.judged_sample(pairs, label, case.design, 5)
        for estimator in coverage.estimators_of("pair"):
            wanted = audit.compare(labels, estimator) if case.compare else audit.estimate(labels, estimator)["a"]
            found = coverage.inferred(case, sample, estimator, "auto")
            assert found.confidence_interval() == wanted.confidence_interval()


def test_one_at_a_time_lur_is_lure(script):
    """The weights are those of Farquhar et al. (2021): 1 + (N − M)/(N − m) (1/((N − m + 1) q_m) − 1), over M."""
    quick = script("active_testing")
    task = quick.digits_task(0)
    none = quick.Steps.none_yet(task.score)
    rounds = quick.draw_round(none, task.size("ori", none), 30, "single", np.random.default_rng(1))
    n, drawn = len(task.score), rounds.drawn
    m, q = rounds.step[drawn], rounds.probability[drawn]
    weight = (1 + (n - 30) / (n - m) * (1 / ((n - m + 1) * q) - 1)) / 30
    found = quick.estimates(task, rounds)
    np.testing.assert_allclose(found["cross-entropy", "lur"], weight @ task.values[drawn], rtol=1e-12)
    assert ("cross-entropy", "ailur") not in found
    assert {"lur_difference", "lur_regression", quick.SMOOTHED} < {name for _, name in found}


# --- looks and verdicts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [True, False])
def test_plain_intervals_are_those_of_the_comparison(script, each):
    module, queries = script("hostile"), 450
    pool, qrels = plain(3, queries)
    plan = Plan.create(pool, None, "DCG@10", budget=3600, seed=4, level="query")
    (population,) = (each for seed, each in enumerate(module.populations_of("plain", queries, 4)) if seed == 3)
    number, columns = plan.manifest["counts"]["sampled_queries"], plan.queries.sort_values("qid")
    q, priority = (columns[name].to_numpy() for name in ("q_prob", "q_priority"))
    np.testing.assert_allclose(population.distribution(module.DESIGN, module.DEFENSIVE_SHARE), q)
    low, high = module.looked_at(population, q, priority[None], number, each=each)
    judged = qrels.merge(plan.assessments[["qid", "docno"]])
    interval = by_t(plan.compare, judged, first="a", second="b").confidence_interval()
    assert (low[-1, 0], high[-1, 0]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert np.isinf(low[0, 0]) == each


def test_bets_are_those_of_the_status(script):
    """An interval that ever lacks the truth is one at some number of labels, and the status has it."""
    module = script("sequences")
    pool, qrels = plain(5, 24)
    plan = Plan.create(pool, None, "DCG@10", budget=1000, level="document", design="successive", seed=4)
    tables = plan.tables
    label = whole_labels(tables.pool.keys, qrels.merge(plan.assessments[["qid", "docno"]]))
    proof = sequence_of(tables, label, tables.measure).proof(Contrast(0, 1), 0.05)
    status = plan.status(qrels.merge(plan.assessments[["qid", "docno"]]), confidence=0.95)
    for value in (status.low - 0.01, status.high + 0.01):
        assert module.ever_excluded(proof.draws, proof, value, 0.05)
    orders = list(module.sequences(plan, qrels, 3, 1))
    assert len({each.proof.draws.value[0] for each in orders}) > 1
    for each in orders:
        assert each.proof.draws.base[-1] == pytest.approx(proof.draws.base[-1], abs=1e-9)
        assert each.labels(-1) == each.labels(len(each.proof.draws.value)) == len(each.query)
