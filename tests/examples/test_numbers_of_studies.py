"""Numbers that examples and scripts of the reproductions compute for themselves: by hand, or those of the package."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from populations import POPULATIONS, plain
from samples import by_t
from scipy import stats

from pt_active import Plan, Runs
from pt_active.frames.qrels import whole_labels
from pt_active.inference.replay import Population
from pt_active.plans.answers.labelled import Contrast
from pt_active.plans.answers.sequence import sequence_of
from pt_active.relevance.moments import Moments
from pt_active.risk import Audit
from pt_active.sampling.sample import Sample
from pt_active.studies.simulate import labelled_population

SCORES = Path(__file__).parents[3] / "shared" / "data" / "answers" / "gpqa_diamond_scores.csv"


@pytest.mark.slow
def test_ppi_of_many_samples_is_that_of_each(script):
    """The power is the slope that makes the variance least, cut to between 0 and 1 [PPI++, for means]."""
    rng = np.random.default_rng(3)
    values, noise = rng.normal(size=(2, 30))
    model = values + noise
    moments, ones = Moments(model[:, None], np.ones((30, 1, 1))), np.ones(30)
    population = Population(values[:, None], moments, moments, ones, ones / 30, ones.astype(np.int64))
    rows = rng.random((20, 30)).argsort(axis=1)[:, :9]
    sample = Sample(rows, np.ones_like(rows), np.full(rows.shape, 9 / 30))
    for row, found in zip(rows, script("small_samples").ppi(sample, population), strict=True):
        rest = np.delete(model, row)
        power = np.cov(values[row], model[row], ddof=0)[0, 1] / ((1 + 9 / 21) * model.var())
        power = min(max(power, 0), 1)
        assert found == pytest.approx(power * rest.mean() + (values[row] - power * model[row]).mean())


@pytest.mark.slow
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


def test_a_line_solves_its_estimating_equation(script):
    """``Σ a (y − α − β f)(1, f) = 0`` over the labels."""
    rng, line = np.random.default_rng(8), script("active_testing").recalibrated_line
    model, values, weights = rng.normal(size=30), rng.normal(size=30), rng.random(30) + 0.1
    values[20:] = np.nan
    off = weights * np.nan_to_num(values - line(model, values, weights))
    np.testing.assert_allclose([off.sum(), off @ model], 0, atol=1e-12)
    assert line(model, np.full(30, np.nan), weights) is model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*hand-picked")
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*hand-picked")
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


@pytest.mark.parametrize("name", POPULATIONS)
def test_neither_ranker_is_better_in_a_hostile_population_and_a_plan_takes_it(name):
    for seed, queries in ((0, 200), (1, 75)):
        found = POPULATIONS[name](seed, queries)
        frame = found.pool.merge(found.qrels, on=["qid", "docno"])
        assert frame["qid"].nunique() == queries
        traffic = frame.get("traffic", pd.Series(1.0, frame.index))
        ranks = frame[["rank_a", "rank_b"]].to_numpy()
        gains = (2.0 ** frame["label"] - 1).to_numpy()[:, None] / np.log2(ranks + 2)
        for worth in (gains, (frame["label"] > 0).to_numpy()[:, None]):
            of_query = pd.DataFrame(worth * (ranks < 10)).groupby(frame["qid"]).sum()
            difference = of_query[0] - of_query[1]
            weight = traffic.groupby(frame["qid"]).first()
            assert abs(difference @ weight) / weight.sum() < 1e-12
            assert worth is not gains or difference.any()
    plan = Plan.create(found.pool, None, "DCG@10", budget=10**6, level="query")
    assert plan.compare(found.qrels, first="a", second="b").difference == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("questions", "runs"), [(198, 5), (7, 3), (40, 1)])
def test_runs_are_repeats_of_their_question(script, questions, runs):
    rng, module = np.random.default_rng(questions), script("repeated_runs")
    index = pd.MultiIndex.from_product([np.arange(questions).astype(str), ["b", "a"], 1 + np.arange(runs)])
    scores = index.to_frame(index=False).set_axis(["item_id", "model_id", "epoch"], axis=1)
    scores["score"] = rng.binomial(1, np.repeat(rng.beta(1, 1, questions), 2 * runs)).astype(float)
    result, estimates = module.census(scores)
    means = scores.groupby(["item_id", "model_id"])["score"].mean().unstack()
    gain = means["a"] - means["b"]
    assert (result.first, result.second) == ("a", "b")
    assert result.difference == pytest.approx(gain.mean(), rel=1e-9)
    assert result.standard_error == pytest.approx(gain.sem(), rel=1e-9)
    assert result.pvalue == pytest.approx(stats.ttest_1samp(gain, 0).pvalue, rel=1e-9)
    assert result.beside.confidence_interval() == (result.difference, result.difference)
    errors = {name: estimate.standard_error for name, estimate in estimates.items()}
    assert errors == pytest.approx(means.sem().to_dict(), rel=1e-9)
    z = (gain.mean() - np.array(module.unpaired(estimates))) / np.sqrt(means["a"].var() + means["b"].var())
    assert z * np.sqrt(questions) == pytest.approx([1.959964, -1.959964], rel=1e-6)


@pytest.mark.skipif(not SCORES.exists(), reason="the scores are not here")
def test_the_published_numbers_of_two_models_on_198_questions(script):
    module = script("repeated_runs")
    result, estimates = module.census(pd.read_csv(SCORES))
    assert (round(abs(result.difference), 4), round(result.standard_error, 4)) == (0.0586, 0.0278)
    assert round(result.pvalue, 3) == 0.036
    interval = np.sign(result.difference) * np.array(module.unpaired(estimates))
    assert sorted(np.round(100 * interval, 1)) == [-2.1, 13.8]
    assert result.beside.pvalue == 0


def test_every_way_to_use_an_llm_judge_is_near_the_truth_on_average(script, demo, graded):
    """60 samples, four standard errors; the error of the judge alone, wrong in a third, is the same in every sample."""
    pytest.importorskip("ppi_py")
    frame = graded.merge(demo.qrels, on=["qid", "docno"])
    frame = frame[frame["qid"].isin(sorted(frame["qid"].unique())[:30])].reset_index(drop=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(frame)) < 1 / 3
    frame = frame.assign(said=np.where(wrong, rng.integers(0, 4, len(frame)), frame["label"]))
    ways = script("judge_ways")
    case = ways.case_of(frame, "DCG@10", list(demo.runs))
    for name, way in ways.WAYS.items():
        error = way(case, float(case.population.cost.sum() / 3), 60, 0).error
        if name == "LLM alone":
            assert np.ptp(error) == 0
        else:
            assert abs(error.mean()) < 4 * error.std() / np.sqrt(60), name


def test_the_units_of_the_bench_have_the_mean_that_all_methods_estimate(script, demo, grades):
    """By DCG, documents and whole queries add up to one number, as they do in what the model expects."""
    frame = (Runs(**demo.runs) >> grades)(demo.topics.head(12))
    labelled = frame.merge(demo.judge(frame[["qid", "docno"]]), on=["qid", "docno"])
    for rankers in (["candidate"], ["candidate", "production"]):
        population, bench = labelled_population(labelled, "DCG@5", rankers=rankers), script("bench")
        queries, documents = bench.queries_of(population), bench.documents_of(population)
        assert queries.value.mean() == pytest.approx(population.truth)
        assert documents.value.mean() == pytest.approx(population.truth)
        assert documents.expected.mean() == pytest.approx(queries.expected.mean())
        assert (documents.spread**2).sum() / len(documents.spread) ** 2 == pytest.approx(
            (queries.spread**2).sum() / len(queries.spread) ** 2
        )


@pytest.mark.parametrize("name", ["paired t", "PPI++", "GLIDE, active", "fewhumans, active", "svy, PPS and GREG"])
def test_a_rival_of_the_bench_is_right_on_average_and_knows_its_error(script, name):
    """Over 60 samples, within four standard errors; its intervals cover at least .8 of them."""
    rivals, rng = script("rivals"), np.random.default_rng(4)
    if name not in rivals.installed()[0]:
        pytest.skip("its package is not installed")
    spread = rng.gamma(2.0, size=400)
    expected = rng.normal(size=400)
    units = rivals.Units(expected + spread * rng.normal(size=400), expected, np.where(spread > 0.3, spread, 0.0), 2.0)
    units.value[units.spread == 0] = expected[units.spread == 0]
    method = rivals.METHODS[name][1]
    found = np.array([method(units, 160, np.random.default_rng(seed)) for seed in range(60)])
    value, low, high = found.T
    truth = units.value.mean()
    assert value.mean() == pytest.approx(truth, abs=4 * value.std() / np.sqrt(60))
    assert ((low <= truth) & (truth <= high)).mean() >= 0.8


def test_a_looking_rival_of_the_bench_stops_when_its_sequence_leaves_zero(script):
    pytest.importorskip("fewhumans")
    looks = script("bench").by_confidence_sequence
    assert looks(np.zeros(50)) == {"labels": 100, "verdict": None}
    assert looks(-np.ones(50))["verdict"] == "b"
