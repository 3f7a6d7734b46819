"""Estimates taken apart, and estimates of groups: against the public estimates, and by brute force."""

from functools import cache

import ir_measures.measures as irm
import pandas as pd
import pytest

from pt_active import DCG, ERR, Plan, Report, measure_values

NO_VALUE = "(none)"
KEYS = ["qid", "docno", "label"]
GRADES = [f"grade_{grade}" for grade in range(4)]
CASES = [
    *(("query", DCG @ 10, each) for each in ("regression", "difference", "ht", "snis")),
    *(("document", DCG @ 10, each) for each in ("regression", "difference", "ht")),
    *(("query", each, "regression") for each in (ERR @ 10, irm.nDCG @ 5)),
    *(("document", each, "regression") for each in (ERR @ 10, irm.AP)),
]

pytestmark = pytest.mark.filterwarnings("ignore:more labels")


@pytest.fixture(scope="module")
def grouped(graded):
    """The pool with the number of words of each query, as text; None for long queries; and a group of all."""
    words = graded["query"].str.split().str.len()
    return graded.assign(qall="x", qwords=words.where(words < 5).map(lambda n: None if pd.isna(n) else f"{n:.0f}"))


@pytest.fixture(scope="module")
def planned(grouped, demo):
    """A plan and its labels, made once for the same measure, level and drawing: estimators do not change them."""

    @cache
    def make(measure, level: str, replace: bool = False) -> tuple[Plan, pd.DataFrame]:
        plan = Plan.create(grouped, None, measure, budget=300, level=level, replace=replace)
        return plan, demo.judge(plan.assessments)[KEYS]

    return make


@pytest.mark.parametrize(("level", "measure", "estimator"), CASES)
def test_contributions_sum_to_the_estimate(level, measure, estimator, planned):
    plan, qrels = planned(measure, level)
    found = Report.of(plan, qrels, estimator=estimator).contributions
    whole = plan.compare(qrels, estimator=estimator).difference
    assert found.base + found.queries["contribution"].sum() == pytest.approx(whole, abs=1e-10)
    assert found.queries["weight"].sum() == pytest.approx(1, abs=1e-12)
    size = found.queries["contribution"].abs()
    assert (size.diff().dropna() <= 1e-12 * size.max()).all()
    if level == "query" and estimator in ("regression", "difference"):
        model = plan.tables.pool.moments(plan.measure).mean @ [1.0, -1.0]
        base = plan.tables.pool.query_weight @ model
        if estimator == "regression":  # The draws' mean of the model's own values, and what its line adds.
            drawn = plan.queries["q_draws"].to_numpy() > 0
            share = plan.queries.loc[drawn, "q_importance"].to_numpy()
            value = found.queries.set_index("qid")["value"][plan.queries.loc[drawn, "qid"]].to_numpy()
            base = share @ (model[drawn] - value) / share.sum() + whole
        assert found.base == pytest.approx(base, abs=1e-10)
    if measure == DCG @ 10:
        sums = found.documents.groupby("qid")["effect"].sum()
        each = found.queries.set_index("qid")["contribution"]
        assert sums.reindex(each.index, fill_value=0.0).to_numpy() == pytest.approx(each.to_numpy(), abs=1e-10)


@pytest.mark.parametrize(
    ("measure", "estimator", "replace"),
    [(DCG @ 10, "ht", False), (ERR @ 10, "snis", True), (irm.nDCG @ 5, "difference", False)],
)
def test_a_labels_effect_is_what_the_estimate_loses_without_it(measure, estimator, replace, planned, graded):
    """Replace a label by every grade, weighted by its probability under the model, and estimate again."""
    plan, qrels = planned(measure, "query", replace)
    documents = Report.of(plan, qrels, estimator=estimator).contributions.documents
    whole = plan.compare(qrels, estimator=estimator).difference
    for row in documents.iloc[[0, 7]].itertuples():
        here = (qrels["qid"] == row.qid) & (qrels["docno"] == row.docno)
        chance = graded.loc[(graded["qid"] == row.qid) & (graded["docno"] == row.docno), GRADES]
        others = (qrels.assign(label=qrels["label"].mask(here, grade)) for grade in range(4))
        values = [plan.compare(each, estimator=estimator).difference for each in others]
        assert row.effect == pytest.approx(whole - chance.to_numpy()[0] @ values, abs=1e-10)


@pytest.mark.parametrize("rankers", [1, 2])
def test_rounds_and_single_rankers_are_taken_apart_too(rankers, demo, graded):
    alone = graded[graded["rank_candidate"] >= 0].drop(columns=["rank_production", "score_production"])
    pool = graded if rankers == 2 else alone
    plan = Plan.create(pool, None, DCG @ 10, budget=300, design="depth")
    longer = plan.extend(150)
    every = pd.concat([demo.judge(each.assessments)[KEYS] for each in (plan, longer)])
    report = Report.of(longer, every)
    whole, found = report.result.point, report.contributions
    assert found.base + found.queries["contribution"].sum() == pytest.approx(whole, abs=1e-10)
    assert found.documents["effect"].sum() == pytest.approx(found.queries["contribution"].sum(), abs=1e-10)


@pytest.mark.parametrize("level", ["query", "document"])
def test_values_that_are_equal_up_to_rounding_stand_in_the_order_of_their_ids(level, demo, graded):
    """Copies of one query; each weighs 1e-14 more than the copy before it."""
    one = graded[graded["qid"] == graded["qid"].iloc[0]]
    copies = pd.concat([one.assign(qid=f"q{i}", traffic=1 + i * 1e-14) for i in range(6)])
    plan = Plan.create(copies, None, DCG @ 10, budget=1e6, level=level)
    labels = plan.assessments[["qid", "docno"]].merge(demo.judge(one)[["docno", "label"]], on="docno")
    found = Report.of(plan, labels).contributions
    assert found.queries["qid"].tolist() == [f"q{i}" for i in range(6)]
    assert found.queries["contribution"].abs().nunique() > 1
    assert found.documents["qid"].head(6).tolist() == [f"q{i}" for i in range(6)]
    assert found.documents["docno"].head(6).nunique() == 1


@pytest.mark.parametrize(("level", "estimator"), [("query", "regression"), ("document", "ht")])
def test_a_group_of_all_is_the_whole(level, estimator, planned):
    plan, qrels = planned(DCG @ 10, level)
    report = Report.of(plan, qrels, estimator=estimator, slices=["qall"])
    (found,) = report.slices.to_dict("records")
    (whole,) = report.estimates.to_dict("records")
    assert (found["share"], found["queries"]) == (pytest.approx(1), 120)
    for name in ("estimate", "standard_error", "low", "high"):
        assert found[name] == pytest.approx(whole[name], rel=1e-9), name


@pytest.mark.parametrize("replace", [False, True])
def test_groups_are_horvitz_thompson_by_hand(replace, demo, planned):
    plan, qrels = planned(DCG @ 10, "query", replace)
    of_runs = [measure_values(demo.runs[name], demo.qrels, DCG @ 10).set_index("qid")["value"] for name in plan.rankers]
    table = plan.queries.assign(truth=(of_runs[0] - of_runs[1])[plan.queries["qid"]].to_numpy())
    report, parts = Report.of(plan, qrels, estimator="ht", slices=["qwords"]), 0.0
    for each in report.slices.itertuples():
        here = table[table["qwords"].fillna(NO_VALUE) == each.value]
        drawn, share = here[here["q_draws"] > 0], here["q_weight"].sum()
        if replace:
            q = drawn["q_prob"] / here["q_prob"].sum()
            by_hand = (drawn["q_draws"] * drawn["q_weight"] / share / q * drawn["truth"]).sum() / drawn["q_draws"].sum()
        else:
            by_hand = (drawn["q_weight"] / share / drawn["q_inclusion"] * drawn["truth"]).sum()
        assert each.estimate == pytest.approx(by_hand, abs=1e-10)
        parts += each.share * by_hand
    if not replace:
        assert parts == pytest.approx(report.result.point, abs=1e-10)


def test_small_groups_and_groups_without_draws(demo, grouped):
    plan = Plan.create(grouped, None, DCG @ 10, budget=300, level="query")
    drawn = plan.sample["qid"].tolist()
    others = plan.queries.loc[~plan.queries["qid"].isin(drawn), "qid"].head(3)
    kinds = {min(drawn): "lone"} | dict.fromkeys(others, "empty")
    grouped = grouped.assign(qkind=grouped["qid"].map(kinds).fillna("rest"))
    plan = Plan.create(grouped, None, DCG @ 10, budget=300, level="query")
    found = Report.of(plan, demo.judge(plan.assessments), slices=["qkind"]).slices.set_index("value")
    assert found.loc["empty", "note"] == "none of these queries was drawn"
    lone = found.loc["lone", ["estimator", "note"]].tolist()
    assert lone == ["snis", "too few draws for an interval"]
    assert found.loc["rest", "estimator"] == "regression"


def test_bad_columns_are_refused(planned):
    plan, qrels = planned(DCG @ 10, "query")
    for column, message in (
        ("q_importance", "'q_importance' is the plan's own; the plan has qid, query"),
        ("q_mean_candidate", "'q_mean_candidate' is the plan's own"),
        ("qid", "has 120 values, such as .*at most 20 make slices"),
    ):
        with pytest.raises(ValueError, match=message):
            Report.of(plan, qrels, slices=[column])
