"""The certificate of a judge: what a plan says of it, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active import DCG, Plan, measure_values

MEASURE = DCG @ 10


@pytest.fixture(scope="module")
def judged(five, demo):
    """A plan of five rankers of which two are the same, people's labels of it, and of all its documents."""
    plan = Plan.create(five, None, MEASURE, budget=500, level="document", seed=3)
    return plan, demo.judge(plan.assessments), demo.judge(five[["qid", "docno"]])


@pytest.fixture(scope="module")
def llm(judged):
    """A judge that is one grade too generous with every third document, and does not know those of grade 3."""
    labels = judged[2]
    generous = np.arange(len(labels)) % 3 == 0
    return labels.assign(label=np.minimum(labels["label"] + generous, 2))


def certificate_families(plan):
    return dict(zip(plan.rankers, ("old", "new", "new", "old", "other"), strict=True))


@pytest.fixture(scope="module")
def certificate(judged, llm):
    plan, qrels, _ = judged
    return plan.certificate(qrels, llm, families=certificate_families(plan))


def value_of(five, name, qrels):
    run = five.loc[five[f"rank_{name}"] >= 0, ["qid", "docno"]].assign(score=-five[f"rank_{name}"])
    return measure_values(run, qrels, MEASURE)["value"].mean()


def test_the_values_are_those_of_the_judges_labels_and_of_the_plan(judged, llm, certificate, five):
    plan, qrels, _ = judged
    runs, estimates = certificate.runs.set_index("name"), plan.estimate(qrels)
    assert runs["judge"].to_dict() == pytest.approx({name: value_of(five, name, llm) for name in plan.rankers})
    assert runs["people"].to_dict() == {name: estimates[name].value for name in plan.rankers}
    for name, row in runs.iterrows():
        ends = estimates[name].confidence_interval()
        np.testing.assert_allclose(row[["low", "high"]].tolist(), row["judge"] - np.array(ends[::-1]))
    assert runs["judge_rank"].is_monotonic_increasing
    said = certificate.to_dict()
    assert (said["guarantee"], len(said["people"]["pairs"])) == ("large samples", 10)
    assert said["assumptions"][-1].startswith("the judge errs normally about a curve")
    assert said["headline"] in str(certificate)
    tau, _ = stats.kendalltau(runs["judge"], runs["people"])
    assert certificate.figures["estimated"][0] == pytest.approx(tau)


def test_its_intervals_hold_the_truth_of_this_sample(judged, llm, certificate, five):
    plan, _, everything = judged
    true = {name: value_of(five, name, everything) for name in plan.rankers}
    runs = certificate.runs
    people = runs["name"].map(true)
    figures = certificate.figures.set_index("name")
    tau, _ = stats.kendalltau(runs["judge"], people)
    assert figures["low"]["tau"] <= tau <= figures["high"]["tau"]
    assert ((runs["low"] <= runs["judge"] - people) & (runs["judge"] - people <= runs["high"])).all()
    off = (runs["judge"] - people).to_numpy()
    for family, number, _, low, high in certificate.families.itertuples(index=False):
        inside = runs["name"].map(certificate_families(plan)).to_numpy() == family
        assert inside.sum() == number
        assert low <= off[inside].mean() - off[~inside].mean() <= high


def test_it_says_how_many_more_labels_a_width_takes(judged, llm, certificate):
    plan, qrels, _ = judged
    wide = plan.certificate(qrels, llm, half_width=1.0)
    assert wide.needed == 0
    assert 0 < certificate.needed <= plan.tables.manifest.pool_cost - plan.tables.manifest.spent
    assert f"{certificate.needed:.4g} more for τ ± 0.05" in str(certificate)


def test_with_all_labels_nothing_is_left_to_chance(judged, five):
    _, _, everything = judged
    plan = Plan.create(five, None, MEASURE, budget=1e9, level="document", seed=3)
    found = plan.certificate(everything, everything)
    assert found.guarantee == "exact"
    assert "curve" not in str(found)
    np.testing.assert_allclose(found.figures[["value", "low", "high"]], 1.0, rtol=0, atol=1e-12)
    assert not found.runs["error"].round(9).any()
    assert found.needed == 0


def test_people_who_find_all_rankers_equal_leave_no_order(judged, five):
    everything = judged[2]
    plan = Plan.create(five, None, MEASURE, budget=1e9, level="document", seed=3)
    with pytest.raises(ValueError, match="^by people's labels all 5 rankers have the value 0: there is no order"):
        plan.certificate(everything.assign(label=0), everything)


def test_documents_without_a_label_of_the_judge_are_not_relevant_if_that_is_said(judged, llm):
    plan, qrels, _ = judged
    some = llm[np.arange(len(llm)) % 10 > 0]
    with pytest.raises(
        ValueError, match=r"^\d+ documents have no label of the judge: .*; let it label them too, or pass"
    ):
        plan.certificate(qrels, some)
    found, whole = plan.certificate(qrels, some, missing="nonrelevant"), plan.certificate(qrels, llm)
    assert found.runs["judge"].sum() < whole.runs["judge"].sum()


def test_votes_are_taken_by_their_majority(judged, llm):
    plan, qrels, _ = judged
    votes = pd.DataFrame(np.eye(3)[llm["label"]] + 0.2, columns=[f"votes_{g}" for g in range(3)])
    voted = plan.certificate(qrels, llm[["qid", "docno"]].reset_index(drop=True).join(votes))
    pd.testing.assert_frame_equal(voted.runs, plan.certificate(qrels, llm).runs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"judge": lambda llm: llm.assign(label=0)},
            "^by the judge's labels all 5 rankers have the value 0: there is no order",
        ),
        ({"judge": lambda llm: llm.assign(label=9)}, "^the judge: row 0: .* not above the highest grade"),
        (
            {"judge": lambda llm: llm.assign(qid="not " + llm["qid"])},
            "^the judge: no label belongs to a document of the plan",
        ),
        ({"families": {"production": "old"}}, "have no family"),
        ({"families": "same"}, "there are no others to compare it with"),
        ({"half_width": 0}, "half_width must be a positive number"),
    ],
)
def test_what_it_refuses(judged, llm, change, message):
    plan, qrels, _ = judged
    judge = change.pop("judge", lambda llm: llm)(llm)
    if change.get("families") == "same":
        change["families"] = dict.fromkeys(plan.rankers, "one")
    with pytest.raises(ValueError, match=message):
        plan.certificate(qrels, judge, **change)


@pytest.mark.parametrize(("level", "budget"), [("document", 40), ("query", 60), ("query", 30)])
def test_five_queries_are_enough_or_said_to_be_too_few(five, judged, llm, level, budget):
    few = five[five["qid"].isin(five["qid"].unique()[:5])]
    plan = Plan.create(few, None, MEASURE, budget=budget, level=level, seed=1)
    found = plan.certificate(plan.assessments[["qid", "docno"]].merge(judged[2]), llm)
    figures, pairs = found.figures, found.people.pairs()
    told = pairs["pvalue"].notna() & np.isfinite(pairs["standard_error"])
    assert figures["low"].isna().all() == (told.mean() < 0.95)
    assert ((figures["low"] <= figures["value"]) & (figures["value"] <= figures["high"]) | figures["low"].isna()).all()
    assert ("no interval" in found.headline) == figures["low"].isna().all() == np.isnan(found.needed)


def test_two_rankers_are_too_few(judged, llm, graded):
    plan = Plan.create(graded, None, MEASURE, budget=300, level="document")
    with pytest.raises(ValueError, match="at least three rankers"):
        plan.certificate(plan.assessments[["qid", "docno"]].merge(judged[2]), llm)
