"""The plan from its making to the verdict, and what happens to bad input on the way."""

import ir_measures
import numpy as np
import pandas as pd
import pytest
from samples import wanted

from pt_active import (
    DCG,
    ERR,
    LogLengthCost,
    Plan,
    Runs,
    UniformGrades,
    UnitCost,
    measure_values,
)
from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.sampling.sample import Sample

BUDGET = 600

OWN = ir_measures.define_byquery(lambda *_: 1.0, name="Own")


@pytest.fixture(scope="module")
def plan(demo, pipeline):
    return Plan.create(pipeline, demo.topics, DCG @ 10, budget=BUDGET, seed=4, level="query")


@pytest.fixture(scope="module")
def qrels(plan, demo):
    return demo.judge(plan.assessments)


def test_assessments_are_the_documents_above_the_cutoff(plan, graded):
    drawn = graded[graded.qid.isin(plan.sample.qid)]
    seen = drawn[drawn.rank_production.between(0, 9) | drawn.rank_candidate.between(0, 9)]
    found = plan.assessments
    assert sorted(zip(found.qid, found.docno, strict=True)) == sorted(zip(seen.qid, seen.docno, strict=True))
    assert (found.inclusion == 1).all()
    assert found["query"].notna().all()
    assert len(found) == plan.manifest["spent"] <= BUDGET


def test_comparison_is_first_minus_second(plan, qrels):
    comparison = plan.compare(qrels, confidence=0.9)
    assert (comparison.first, comparison.second) == plan.rankers == ("production", "candidate")
    assert comparison.to_frame().low[0] == comparison.confidence_interval(0.9).low
    for estimator in ("ht", "difference", "snis"):
        first, second = plan.estimate(qrels, estimator=estimator).values()
        difference = plan.compare(qrels, estimator=estimator).difference
        assert difference == pytest.approx(first.value - second.value, abs=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_estimators_see_weights_values_and_model(replace, graded, demo):
    plan = Plan.create(graded, demo.topics, DCG @ 10, draws=90, seed=2, replace=replace)
    sample, judged = plan.sample, demo.judge(plan.assessments)
    values = measure_values(demo.runs["candidate"], judged, DCG @ 10).set_index("qid").value[sample.qid].to_numpy()
    assert sample.q_draws.sum() == 90
    assert (len(sample) < 90) == sample.q_inclusion.isna().all() == replace
    expected = (90 * sample.q_prob if replace else sample.q_inclusion).to_numpy()
    assert sample.q_importance.to_numpy() == pytest.approx(90 * sample.q_weight.to_numpy() / expected)
    controls = Controls(plan.queries.q_weight.to_numpy(), plan.queries.q_mean_candidate.to_numpy())
    drawn = np.flatnonzero(plan.queries.q_draws > 0)
    queries = Sample(drawn, sample.q_draws.to_numpy(), expected, repeated=replace)
    for name in ["snis"] if replace else ESTIMATORS:
        wanted = ESTIMATORS[name].estimate(queries, controls, values)
        found = plan.estimate(judged, estimator=name)["candidate"]
        shown = found.value, found.standard_error
        assert shown == pytest.approx((wanted.value, wanted.standard_error), abs=1e-12)


@pytest.mark.parametrize(
    ("size", "share"),
    [({"draws": 9}, 0.25), ({"draws": 3}, 1.0), ({"draws": 40}, 0.1), ({"draws": 9, "defensive": 0.3}, 0.3)],
)
def test_a_plan_of_few_draws_is_nearer_to_plain_random_sampling(size, share, graded):
    plan = Plan.create(graded, None, DCG @ 10, **size)
    queries = plan.queries
    assert plan.manifest["arguments"]["defensive"] == pytest.approx(share)
    assert ("a larger budget" in plan.caution) == ("a larger budget" in str(plan)) == (size["draws"] < 10)
    assert (queries.q_weight / queries.q_prob).max() <= 1 / share + 1e-9
    # A budget counts as the queries of average cost that it pays for.
    budget = size.pop("draws") * float(queries.q_weight @ queries.q_cost)
    paid = Plan.create(graded, None, DCG @ 10, budget=budget, level="query", **size)
    assert paid.manifest["arguments"]["defensive"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("measure", "spelt"),
    [
        (DCG @ 5, "DCG@5"),
        *((each, "ERR(max_rel=3)@10") for each in ("ERR@10", ERR @ 10, ir_measures.ERR @ 10)),
        ("RR(rel=2)@10", "RR(rel=2)@10"),
    ],
)
def test_other_measures_from_the_same_labels(measure, spelt, plan, qrels):
    comparison = plan.compare(qrels, measure=measure)
    assert comparison.basis.measure == spelt
    assert np.isfinite(comparison.difference)


def test_census(demo, graded):
    plan = Plan.create(graded, demo.topics, DCG @ 10, budget=10**6, level="query")
    assert plan.manifest["census"]
    assert len(plan.sample) == len(demo.topics)
    judged = demo.judge(plan.assessments)
    expected = {name: measure_values(run, judged, DCG @ 10).value.mean() for name, run in demo.runs.items()}
    for estimator in ESTIMATORS:
        for name, estimate in plan.estimate(judged, estimator=estimator).items():
            assert estimate.value == pytest.approx(expected[name], abs=1e-10)
            assert estimate.standard_error == 0
            assert estimate.confidence_interval() == (estimate.value, estimate.value)
    whole, lacking = plan.compare(judged), plan.compare(judged.iloc[5:], missing="nonrelevant")
    assert (whole.winner, lacking.winner) == ("candidate", None)
    assert np.isnan([lacking.pvalue, lacking.confidence_interval().low]).all()
    assert "except for 5 labels" in str(lacking)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either budget= or draws="),
        ({"budget": 500, "draws": 3}, "either budget= or draws="),
        ({"draws": 0}, "draws must be at least 1, got 0"),
        ({"draws": 3.7}, "draws must be a whole number, got 3.7"),
        ({"draws": 5, "seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"budget": 500, "defensive": 2, "level": "query"}, "defensive must lie between 0 and 1"),
        ({"budget": 500, "replace": "no"}, "replace must be True or False, got 'no'"),
        ({"budget": 500, "cost": 1.0}, "cost must be a labelling cost"),
        ({"draws": 5, "measure": "Judged@10"}, "depends on which documents are judged"),
        ({"budget": 50, "measure": "INST"}, r"INST needs its max_rel: write INST\(max_rel=…\)"),
        ({"budget": 50, "measure": "P"}, "P needs its cutoff: write P@…"),
        ({"budget": 50, "measure": "Accuracy"}, "ir_measures cannot compute Accuracy for all labels: it divides"),
        ({"budget": 50, "measure": "nDCG(judged_only=True)@10"}, "depends on which documents are judged"),
        ({"draws": 5, "measure": OWN}, "Own was defined at run time"),
        ({"draws": 5, "level": "document"}, "documents are drawn to a budget"),
        ({"budget": 0.99, "design": "depth"}, "budget 0.99 may not pay for the documents drawn in one query"),
        ({"budget": 0.99}, "budget 0.99 does not pay for the dearest document, which costs 1"),
        ({"budget": 50, "replace": True, "level": "document"}, "a document is judged once"),
        ({"budget": 50, "defensive": -1, "level": "document"}, "defensive must be a number from 0"),
        ({"budget": 1, "cost": UnitCost(4), "level": "document"}, "pay for the dearest document, which costs 5"),
        ({"budget": 500, "measure": ERR(max_rel=2) @ 10}, "grade 3 lies above max_rel=2"),
    ],
)
def test_arguments_out_of_range(graded, arguments, message):
    with pytest.raises(ValueError, match=message):
        Plan.create(graded, None, **({"measure": DCG @ 10} | arguments))


def test_pools_that_cannot_be_planned(demo, graded, grades):
    runs = Runs(**demo.runs)
    for pool, topics, message in (
        (runs, demo.topics, "no grade columns"),
        (graded.iloc[:0], None, "pool is empty"),
        (runs >> grades, None, "topics are needed"),
        (None, None, "pool must be a pandas DataFrame, got None"),
        (graded[["docno"]], None, "pool must have the columns qid, docno; it lacks 'qid'"),
        (graded, demo.topics[["query"]], "topics must have the columns qid; it lacks 'qid'"),
        (graded, pd.concat([demo.topics, demo.topics.iloc[:1]]), "topics hold a query twice"),
    ):
        with pytest.raises(ValueError, match=message):
            Plan.create(pool, topics, DCG @ 10, budget=500, level="query")
    topics = pd.concat([demo.topics, pd.DataFrame({"qid": ["nothing"], "query": ["x"]})])
    with pytest.warns(UserWarning, match="1 topic has no document .* is left out .*'nothing'"):
        plan = Plan.create(graded, topics, DCG @ 10, budget=BUDGET, level="query")
    assert len(plan.queries) == len(demo.topics)


def test_nothing_varies(plan):
    nothing = plan.assessments[["qid", "docno"]].assign(label=0)
    flat = plan.estimate(nothing, estimator="snis")["production"]
    still = plan.compare(nothing, estimator="snis")
    assert "nothing varies" in str(flat)
    assert (flat.value, still.difference, still.pvalue, still.winner) == (0, 0, 1, None)
    assert np.isnan([*flat.confidence_interval(), *still.confidence_interval()]).all()
    assert plan.compare(nothing).difference == pytest.approx(0, abs=1e-12)


def test_a_budget_of_what_the_pool_costs_is_a_census(graded):
    lengths = graded.assign(words=np.random.default_rng(1).integers(1, 300, len(graded)))
    cost, queries = LogLengthCost("words"), graded.qid.nunique()
    plan = Plan.create(lengths, None, DCG @ 10, cost, budget=queries, level="query")
    assert (plan.manifest["census"], len(plan.sample)) == (True, queries)


@pytest.mark.filterwarnings("ignore:.*can never be drawn")
@pytest.mark.parametrize("replace", [True, False])
def test_a_census_has_queries_that_the_design_would_never_draw(replace, graded):
    """Each ranker does in half of the queries what the other does in the other half, and they agree in twenty."""
    one = graded.drop(columns=["score_production", "score_candidate"])
    same = one.qid.isin(one.qid.unique()[:10])
    one["rank_candidate"] = one["rank_candidate"].where(~same, one["rank_production"])
    turned = {"rank_production": one["rank_candidate"], "rank_candidate": one["rank_production"]}
    frame = pd.concat([one, one.assign(qid="turned " + one.qid, **turned)])
    arguments = {"design": "optimal", "defensive": 0.0, "replace": replace}
    plan = Plan.create(frame, None, DCG @ 5, budget=1e6, **arguments)
    assert (plan.manifest["census"], len(plan.sample)) == (True, frame.qid.nunique())
    short = Plan.create(frame, None, DCG @ 5, budget=0.999 * plan.manifest["pool_cost"], **arguments)
    assert not short.manifest["census"]
    assert 0 < short.manifest["spent"] < plan.manifest["pool_cost"]
    labels = short.assessments[["qid", "docno"]]
    assert np.isfinite(short.compare(labels.assign(label=np.arange(len(labels)) % 3)).difference)


@pytest.mark.parametrize("level", ["query", "document"])
def test_the_plan_keeps_the_texts_of_what_it_draws(level, graded, tmp_path):
    """Texts given apart change neither the sample nor the id; those of a pool flow through by themselves."""
    texts = graded[["docno"]].drop_duplicates().iloc[1:].assign(text=lambda rows: "text of " + rows["docno"])
    about = {"budget": 60, "level": level, "seed": 2}
    bare, told = (Plan.create(graded, None, DCG @ 10, **about, **kept) for kept in ({}, {"texts": texts}))
    assert told.id == bare.id
    expected = bare.assessments.merge(texts, how="left", on="docno")
    saved = Plan.load(told.save(tmp_path / "plan").path)
    for each in (told, saved):
        pd.testing.assert_frame_equal(each.assessments, expected, check_like=True)
    through = Plan.create(graded.assign(text="text of " + graded["docno"]), None, DCG @ 10, **about).assessments
    assert (through["text"] == "text of " + through["docno"]).all()
    with pytest.raises(ValueError, match="texts"):
        Plan.create(graded, None, DCG @ 10, **about, texts=texts.drop(columns="text"))


@pytest.mark.parametrize("values", [[{"a": 1.0}, {"b": 2.0, "c": 1.0}], [[], ["b", "c"]]], ids=["dict", "list"])
def test_columns_of_lists_and_dictionaries_are_kept(demo, pipeline, values, tmp_path):
    """Such as ``query_toks``, which query expansion of PyTerrier adds."""
    topics = demo.topics.assign(query_toks=(values * len(demo.topics))[: len(demo.topics)])
    graded = pipeline(topics)
    plan, other = (
        Plan.create(graded.assign(tags=tags), topics, "DCG@10", budget=50) for tags in (graded["query_toks"], 0)
    )
    assert Plan.load(plan.save(tmp_path / "plan").path).id == plan.id
    assert other.manifest["inputs"] != plan.manifest["inputs"]


# Query 2 has no relevant document; -2 is spam, which counts as grade 0, and "01" is not "1".
LABELS = {"01": (2, 0, 1, 0), "1": (0, 1, -2, 2), "2": (0, -2, 0, 0), "3": (1, 0, 0, 2)}
ODD = pd.DataFrame(LABELS, index=pd.Index(list("abcd"), name="docno"))
ODD = ODD.melt(var_name="qid", value_name="label", ignore_index=False).reset_index()
FIRST, TURNED = (ODD[["qid", "docno"]].assign(score=sign * ODD["docno"].map(ord)) for sign in (-1, 1))


@pytest.mark.parametrize(("topics", "unanswered"), [("01 1 2 3", "3"), ("1", "")])
@pytest.mark.parametrize(
    ("measure", "design"),
    [
        *((each, None) for each in ("nDCG@3", "AP", "DCG@3", "RR@10")),
        ("DCG@3", "successive"),
        *((each, "depth") for each in ("RR@10", "nDCG(dcg='exp-log2')@2", "AP(rel=2)@3", "Bpref")),
        *((each, "surprises") for each in ("nDCG@3", "AP", "AP(rel=2)@3", "nDCG(dcg='exp-log2')")),
    ],
)
def test_a_census_has_the_values_of_trec_eval(topics, unanswered, measure, design):
    """Of collections that are odd but right: a run with nothing for a topic, and a single query."""
    first, second = (run[run["qid"].isin(topics.split())] for run in (FIRST, TURNED))
    second, qrels = second[second["qid"] != unanswered], ODD[ODD["qid"].isin(topics.split())]
    frame = pd.DataFrame({"qid": topics.split()})
    pool = (Runs(first=first, second=second, allow_missing_queries=True) >> UniformGrades(2))(frame)
    how = {"level": "document" if design else "query", "design": design, "budget": len(pool)}
    plan = Plan.create(pool, frame, measure, **how)
    values = [measure_values(run, qrels, measure)["value"].mean() for run in (first, second)]
    asked = wanted(plan, qrels)
    estimates = plan.estimate(asked) if design != "depth" else {}
    found = [plan.compare(asked), *estimates.values()]
    expected = [values[0] - values[1], *values[: len(estimates)]]
    assert [each.point for each in found] == pytest.approx(expected, abs=1e-9)
    assert {each.standard_error for each in found} == {0}
