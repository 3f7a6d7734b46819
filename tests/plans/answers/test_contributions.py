"""Estimates taken apart, and estimates of groups: against the public estimates, and by brute force."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, ERR, Plan, measure_values
from pt_active.demo.collection import DemoCollection
from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.plans.answers.contributions import (
    MAX_GROUPS,
    MIN_REGRESSION_DRAWS,
    NO_VALUE,
    Contributions,
    Slice,
    slices_of,
)
from pt_active.plans.answers.labelled_plan import asked, labelled_plan

PAIR = np.array([1.0, -1.0])
CASES = [
    *(("query", DCG @ 10, each) for each in ("regression", "difference", "ht", "snis")),
    *(("document", DCG @ 10, each) for each in ("regression", "difference", "ht")),
    *(("query", each, "regression") for each in (ERR @ 10, irm.nDCG @ 5)),
    ("document", ERR @ 10, "regression"),
]


def taken_apart(plan: Plan, qrels: pd.DataFrame, contrast: np.ndarray, **how) -> Contributions:
    return Contributions.of_labelled(labelled_plan(plan.tables, qrels), contrast, asked(plan.tables, **how))


def slices(plan: Plan, qrels: pd.DataFrame, column: str, pair: tuple[int, int] | None = None, **how) -> list[Slice]:
    return slices_of(labelled_plan(plan.tables, qrels), column, pair, asked(plan.tables, **how))


@pytest.fixture(scope="module")
def grouped(graded: pd.DataFrame) -> pd.DataFrame:
    """The pool with the number of words of each query, as text; None for long queries; and a group of all."""
    words = graded["query"].str.split().str.len()
    return graded.assign(qall="x", qwords=words.where(words < 5).map(lambda n: None if pd.isna(n) else f"{n:.0f}"))


@pytest.fixture(scope="module")
def planned(grouped: pd.DataFrame, demo: DemoCollection) -> Callable[..., tuple[Plan, pd.DataFrame]]:
    """A plan and its labels, made once for the same measure, level and drawing: estimators do not change them."""

    @cache
    def make(measure, level: str, replace: bool = False) -> tuple[Plan, pd.DataFrame]:
        plan = Plan.create(grouped, None, measure, budget=300, level=level, replace=replace)
        return plan, demo.judge(plan.assessments)[["qid", "docno", "label"]]

    return make


@pytest.mark.parametrize(("level", "measure", "estimator"), CASES)
def test_contributions_sum_to_the_estimate(level, measure, estimator, planned) -> None:
    plan, qrels = planned(measure, level)
    found = taken_apart(plan, qrels, PAIR, estimator=estimator)
    whole = plan.compare(qrels, estimator=estimator).difference
    assert found.base + found.queries["contribution"].sum() == pytest.approx(whole, abs=1e-10)
    assert found.queries["weight"].sum() == pytest.approx(1, abs=1e-12)
    size = found.queries["contribution"].abs()
    assert (size.diff().dropna() <= 1e-12 * size.max()).all()
    if level == "query" and estimator in ("regression", "difference"):
        model = plan.model_means(plan.measure) @ PAIR
        base = plan.tables.pool.query_weight @ model
        if estimator == "regression":  # The draws' mean of the model's own values, and what its line adds.
            drawn = plan.queries["q_draws"].to_numpy() > 0
            share = plan.queries.loc[drawn, "q_importance"].to_numpy()
            value = found.queries.set_index("qid")["value"][plan.queries.loc[drawn, "qid"]].to_numpy()
            base = share @ (model[drawn] - value) / share.sum() + plan.compare(qrels).difference
        assert found.base == pytest.approx(base, abs=1e-10)
    if measure == DCG @ 10:
        sums = found.documents.groupby("qid")["effect"].sum()
        each = found.queries.set_index("qid")["contribution"]
        assert sums.reindex(each.index, fill_value=0.0).to_numpy() == pytest.approx(each.to_numpy(), abs=1e-10)


@pytest.mark.parametrize(
    ("measure", "estimator", "replace"),
    [(DCG @ 10, "regression", False), (ERR @ 10, "snis", True), (irm.nDCG @ 5, "difference", False)],
)
def test_a_labels_effect_is_what_the_estimate_loses_without_it(measure, estimator, replace, planned, graded) -> None:
    """Replace a label by every grade, weighted by its probability under the model, and estimate again.

    A line is trusted as far as with all labels.
    """
    plan, qrels = planned(measure, "query", replace)
    found = taken_apart(plan, qrels, PAIR, estimator=estimator)
    judged = plan.judged(qrels)
    controls = Controls(judged.pool_weight, judged.pool_model @ PAIR)
    weighting = ESTIMATORS[estimator].weigh(judged.sample, controls).at(judged.values @ PAIR)

    def estimated(labels: pd.DataFrame) -> float:
        return float(weighting.estimate(plan.judged(labels).values @ PAIR).value)

    whole = plan.compare(qrels, estimator=estimator).difference
    assert whole == pytest.approx(estimated(qrels), abs=1e-12)
    columns = [f"grade_{g}" for g in range(4)]
    for row in found.documents.iloc[[0, 7]].itertuples():
        here = (qrels["qid"] == row.qid) & (qrels["docno"] == row.docno)
        chance = graded[(graded["qid"] == row.qid) & (graded["docno"] == row.docno)][columns].to_numpy()[0]
        other = [estimated(qrels.assign(label=qrels["label"].where(~here, g))) for g in range(4)]
        assert row.effect == pytest.approx(whole - chance @ other, abs=1e-10)


def test_extended_plans_and_single_rankers_are_taken_apart_too(demo, graded) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=300, design="depth")
    longer, keys = plan.extend(150), ["qid", "docno", "label"]
    every = pd.concat([demo.judge(each.assessments)[keys] for each in (plan, longer)])
    for contrast, whole in (
        (PAIR, longer.compare(every).difference),
        (np.array([0.0, 1.0]), longer.estimate(every)["candidate"].value),
    ):
        found = taken_apart(longer, every, contrast)
        assert found.base + found.queries["contribution"].sum() == pytest.approx(whole, abs=1e-10)
        assert found.documents["effect"].sum() == pytest.approx(found.queries["contribution"].sum(), abs=1e-10)
    with pytest.raises(ValueError, match="one number for each of 2 rankers"):
        taken_apart(longer, every, np.ones(3))


@pytest.mark.parametrize("level", ["query", "document"])
def test_values_that_are_equal_up_to_rounding_stand_in_the_order_of_their_ids(level, demo, graded) -> None:
    """Copies of one query; each weighs 1e-14 more than the copy before it."""
    one = graded[graded["qid"] == graded["qid"].iloc[0]]
    copies = pd.concat([one.assign(qid=f"q{i}", traffic=1 + i * 1e-14) for i in range(6)])
    plan = Plan.create(copies, None, DCG @ 10, budget=1e6, level=level)
    labels = demo.judge(one)[["docno", "label"]]
    found = taken_apart(plan, plan.assessments.merge(labels, on="docno")[["qid", "docno", "label"]], PAIR)
    assert found.queries["qid"].tolist() == [f"q{i}" for i in range(6)]
    assert found.queries["contribution"].abs().nunique() > 1
    assert found.documents["qid"].head(6).tolist() == [f"q{i}" for i in range(6)]
    assert found.documents["docno"].head(6).nunique() == 1


# --- groups of queries ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "estimator"), [("query", "regression"), ("document", "ht")])
def test_a_group_of_all_is_the_whole(level, estimator, planned) -> None:
    plan, qrels = planned(DCG @ 10, level)
    (found,) = slices(plan, qrels, "qall", (0, 1), estimator=estimator)
    whole = plan.compare(qrels, estimator=estimator)
    (result,) = found.results
    assert (found.share, found.n_queries) == (pytest.approx(1), 120)
    for name in ("difference", "standard_error", "degrees_of_freedom", "pvalue"):
        assert getattr(result, name) == pytest.approx(getattr(whole, name), rel=1e-9), name


@pytest.mark.parametrize("replace", [False, True])
def test_groups_are_horvitz_thompson_by_hand(replace, demo, planned) -> None:
    plan, qrels = planned(DCG @ 10, "query", replace)
    of_runs = [measure_values(demo.runs[name], demo.qrels, DCG @ 10).set_index("qid")["value"] for name in plan.rankers]
    table = plan.queries.assign(truth=(of_runs[0] - of_runs[1])[plan.queries["qid"]].to_numpy())
    parts = 0.0
    for each in slices(plan, qrels, "qwords", (0, 1), estimator="ht"):
        here = table[table["qwords"].fillna(NO_VALUE) == each.value]
        drawn, share = here[here["q_draws"] > 0], here["q_weight"].sum()
        if replace:
            q = drawn["q_prob"] / here["q_prob"].sum()
            by_hand = (drawn["q_draws"] * drawn["q_weight"] / share / q * drawn["truth"]).sum() / drawn["q_draws"].sum()
        else:
            by_hand = (drawn["q_weight"] / share / drawn["q_inclusion"] * drawn["truth"]).sum()
        assert each.results[0].difference == pytest.approx(by_hand, abs=1e-10)
        parts += each.share * by_hand
    if not replace:
        assert parts == pytest.approx(plan.compare(qrels, estimator="ht").difference, abs=1e-10)


def test_small_groups_and_groups_without_draws(demo, grouped) -> None:
    plan = Plan.create(grouped, None, DCG @ 10, budget=300, level="query")
    drawn = plan.sample["qid"].tolist()
    kind = plan.queries["qid"].where(plan.queries["qid"].isin([min(drawn)]), "rest").replace(min(drawn), "lone")
    kind[kind.index[~plan.queries["qid"].isin(drawn)][:3]] = "empty"
    plan.tables.queries["qkind"] = kind.to_numpy()
    found = {each.value: each for each in slices(plan, demo.judge(plan.assessments), "qkind")}
    assert found["empty"].results == ()
    assert found["empty"].rows()[0]["note"] == "none of these queries was drawn"
    assert [each.name for each in found["lone"].results] == ["production", "candidate"]
    assert found["lone"].results[0].basis.estimator == "snis"
    assert found["lone"].results[0].note == "too few draws for an interval"
    assert found["rest"].results[0].basis.n_effective > MIN_REGRESSION_DRAWS
    assert found["rest"].results[0].basis.estimator == "regression"


def test_bad_columns_are_refused(planned) -> None:
    plan, qrels = planned(DCG @ 10, "query")
    own = ["q_draws", "q_importance", "q_inclusion", "q_priority", "q_prob", "q_mean_candidate"]
    assert set(own) <= set(plan.queries.columns)
    refused = {name: f"'{name}' is the plan's own; the plan has qid, query" for name in own}
    refused["colour"] = r"there is no column 'colour'; the plan has qid, query.* .* names start with q"
    refused["qid"] = f"has 120 values, such as .*at most {MAX_GROUPS} make slices"
    for column, message in refused.items():
        with pytest.raises(ValueError, match=message):
            slices(plan, qrels, column)


@pytest.mark.parametrize("level", ["query", "document"])
def test_missing_labels_stay_with_their_group(level, planned) -> None:
    plan, qrels = planned(DCG @ 10, level)
    gone, some = qrels.iloc[:3], qrels.iloc[3:]
    found = slices(plan, some, "qwords", (0, 1), missing="nonrelevant")
    lost = [pair for each in found for pair in each.results[0].missing]
    assert sorted(lost) == sorted(zip(gone["qid"], gone["docno"], strict=True))
    if level == "document":
        each = [result.results[0].basis for result in found]
        assert (sum(basis.n_judged for basis in each), sum(basis.n_draws for basis in each)) == (len(some), len(qrels))
        lines = str(plan.compare(some, missing="nonrelevant"))
        assert re.search(rf"{len(qrels)} documents of .* effective; {len(some)} judged\n", lines)
