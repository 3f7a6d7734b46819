"""``Experiment`` returns the frame of ``pt.Experiment``, weighted."""

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from samples import by_t
from scipy import stats

from pt_active import DCG, Experiment, Plan, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.inference.significance import corrected_pvalues


@pytest.fixture(scope="module")
def plan(demo: DemoCollection, pipeline: pt.Transformer) -> Plan:
    return Plan.create(pipeline, demo.topics, DCG @ 10, budget=600, seed=4, level="query")


@pytest.fixture(scope="module")
def qrels(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


@pytest.fixture(scope="module")
def systems(demo) -> dict[str, pd.DataFrame]:
    """Those of the plan and one that it does not know."""
    run = demo.runs["production"].drop(columns="rank")
    return demo.runs | {"weak": run.assign(score=-run.score)}


def test_means_and_intervals_are_the_plans(plan, qrels, demo):
    everything = demo.qrels[demo.qrels.qid.isin(plan.sample.qid)]
    assert len(everything) > len(qrels)  # labels outside the pool change nothing
    frame = Experiment(demo.runs, plan, everything, [DCG @ 10, "ERR@5"], queries="these").set_index("name")
    assert frame.estimator.tolist() == ["regression", "regression"]
    for measure in ("DCG@10", "ERR(max_rel=3)@5"):
        for name, estimate in plan.estimate(qrels, measure, queries="these").items():
            said = frame.loc[name, [measure, f"{measure} low", f"{measure} high"]].tolist()
            assert said == pytest.approx([estimate.value, *estimate.confidence_interval()], abs=1e-10)


def test_a_census_reports_what_pt_experiment_reports(demo, pipeline):
    plan = Plan.create(pipeline, demo.topics, "nDCG@10", budget=10**6, level="query")
    judged = demo.judge(plan.assessments)
    names, systems = list(demo.runs), [pt.Transformer.from_df(run) for run in demo.runs.values()]
    ours = Experiment(systems, plan, judged, [DCG @ 10, "nDCG@10"], names=names, baseline=0)
    theirs = pt.Experiment(systems, demo.topics, judged, [DCG @ 10, "ndcg_cut_10"], names=names, baseline=0)
    for measure, its in (("DCG@10", "DCG@10"), ("nDCG@10", "ndcg_cut_10")):
        assert ours[measure].tolist() == pytest.approx(theirs[its].tolist(), abs=1e-10)
        assert ours[f"{measure} p-value"][1] == pytest.approx(theirs[f"{its} p-value"][1], rel=1e-12)
    each = pt.Experiment(systems, demo.topics, judged, [DCG @ 10], names=names, perquery=True)
    gain = each.pivot(index="qid", columns="name", values="value")[names].diff(axis=1).iloc[:, 1].round(9)
    for sign, count in (("+", (gain > 0).sum()), ("-", (gain < 0).sum())):  # what differs by rounding is equal
        assert ours[f"DCG@10 {sign}"][1] == count
        assert np.isnan(ours[f"DCG@10 {sign}"][0])


def test_clusters_are_one_draw_of_new_queries(demo, graded):
    need = (np.arange(len(demo.topics)) // 3).astype(str)
    plan = Plan.create(graded, demo.topics.assign(qneed=need), DCG @ 10, budget=10**6, level="query")
    judged = demo.judge(plan.assessments)
    both = {"baseline": 0, "perquery": "both", "clusters": "qneed"}
    means, values = Experiment(demo.runs, plan, judged, [DCG @ 10], **both)
    gain = values.pivot(index="qid", columns="name", values="value")[list(demo.runs)].diff(axis=1).iloc[:, 1]
    by_need = gain.loc[demo.topics["qid"]].groupby(need).mean()
    assert means["DCG@10 p-value"][1] == pytest.approx(stats.ttest_1samp(by_need, 0).pvalue, rel=1e-9)


def test_a_system_outside_the_plan(plan, qrels, systems):
    """It cannot be replayed, and its unjudged documents are never zeros in silence."""
    with pytest.raises(ValueError, match=r"DCG@10 of 'weak': \d+ sampled documents have no label"):
        Experiment(systems, plan, qrels, [DCG @ 10])
    frame = Experiment(systems, plan, qrels, [DCG @ 10], baseline="production", missing="nonrelevant")
    assert frame.estimator.tolist() == ["regression", "regression", "snis"]
    assert frame["DCG@10 p-value"].isna().tolist() == [True, False, False]
    alone = by_t(plan.compare, qrels, queries="new")
    assert frame["DCG@10 p-value"][1] == pytest.approx(alone.pvalue, abs=1e-10)
    known = [systems[name] for name in plan.rankers]
    with pytest.warns(UserWarning, match=r"nDCG@10 also depends on documents below the cutoff, and \d+ of the pool"):
        Experiment(known, plan, qrels, ["nDCG@10"], names=list(plan.rankers))


def test_perquery_values_and_weights(plan, qrels, demo):
    frame = Experiment(demo.runs, plan, qrels, [DCG @ 10], perquery=True)
    candidate = frame[frame.name == "candidate"].set_index("qid")
    expected = measure_values(demo.runs["candidate"], qrels, DCG @ 10).set_index("qid").value
    assert candidate.value.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)
    estimate = plan.estimate(qrels, estimator="snis")["candidate"]
    assert candidate.value @ candidate.weight == pytest.approx(estimate.value, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["a", "a"]}, "names must be different, one for each of 2 systems, got 'a', 'a'"),
        ({"correction": "holm"}, "needs a baseline"),
        ({"correction": "tukey", "baseline": 0}, "unknown correction 'tukey'"),
        ({"correction": "hulm", "baseline": 0}, "unknown correction 'hulm'"),
        ({"baseline": []}, r"got \[\]"),
        ({"baseline": ["production", 0]}, "none twice"),
        ({"baseline": "none"}, "unknown baseline 'none'"),
        ({"baseline": 7}, "unknown baseline 7"),
        ({"clusters": "qneed"}, "there is no column 'qneed'"),
    ],
)
def test_bad_arguments(plan, qrels, demo, arguments, message):
    systems = list(demo.runs.values()) if "names" in arguments else demo.runs
    with pytest.raises(ValueError, match=message):
        Experiment(systems, plan, qrels, [DCG @ 10], **arguments)


def test_several_baselines(plan, qrels, systems):
    """production − weak is one of three tests, although it appears in both columns."""
    asked = {"missing": "nonrelevant", "correction": "holm"}
    frame = Experiment(systems, plan, qrels, [DCG @ 10], baseline=["production", 2], **asked)
    for name in ("production", "weak"):
        single = Experiment(systems, plan, qrels, [DCG @ 10], baseline=name, missing="nonrelevant")
        for column in ("DCG@10 +", "DCG@10 -", "DCG@10 p-value"):
            pd.testing.assert_series_equal(frame[f"{column} vs {name}"], single[column], check_names=False)
    first, second = (frame[f"DCG@10 p-value corrected vs {name}"] for name in ("production", "weak"))
    raw = np.array([*frame["DCG@10 p-value vs production"][1:], frame["DCG@10 p-value vs weak"][1]])
    assert first[2] == second[0]
    assert [first[1], first[2], second[1]] == pytest.approx(corrected_pvalues(raw, 0.05, "holm")[1], abs=1e-12)
    assert np.isnan(first[0])
    assert np.isnan(second[2])
    assert frame["DCG@10 reject vs weak"].tolist() == [bool(p <= 0.05) for p in second.fillna(1)]
    columns = [f"DCG@10 {what} vs weak" for what in ("+", "-", "p-value", "reject", "p-value corrected")]
    assert frame.columns.tolist()[-5:] == columns


@pytest.mark.parametrize("design", ["successive", "depth"])
def test_a_plan_of_documents_answers_by_contrasts(design, demo, graded, systems):
    plan = Plan.create(graded, None, DCG @ 10, budget=400, seed=4, design=design)
    qrels = demo.judge(plan.assessments)
    with pytest.warns(UserWarning, match="not in the plan's pool and counted as not relevant"):
        longer = plan.with_rankers(weak=systems["weak"])
    with pytest.warns(UserWarning, match="not in the plan's pool"):
        frame = Experiment(systems, plan, qrels, [DCG @ 10], baseline="production", correction="holm")
    frame = frame.set_index("name")
    assert frame["estimator"].tolist() == ["regression"] * 3
    for name, estimate in longer.estimate(qrels, queries="new").items():
        said = frame.loc[name, ["DCG@10", "DCG@10 low", "DCG@10 high"]].tolist()
        assert said == pytest.approx([estimate.value, *estimate.confidence_interval()], rel=1e-9, nan_ok=True)
    own = longer.compare(qrels, queries="new", first="candidate", second="production")
    assert frame.loc["candidate", "DCG@10 p-value"] == pytest.approx(own.pvalue, rel=1e-9)
    assert frame["DCG@10 p-value"].isna().tolist() == [name != "candidate" for name in frame.index]
    assert not {"DCG@10 +", "DCG@10 -"} & set(frame)
    with pytest.raises(ValueError, match="perquery=True needs the values of whole queries"):
        Experiment(demo.runs, plan, qrels, [DCG @ 10], perquery=True)
    same = Experiment({"a": demo.runs["candidate"], "b": demo.runs["candidate"]}, plan, qrels, ["P(rel=1)@5"])
    assert same["P@5"].nunique() == 1
