"""A plan that is cut to what is judged estimates what its status does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn_order import in_order, judged_by_ann, ordered, prefix, small_plan, small_pool
from samples import wanted

from pt_active import DCG, Plan

CUT = "the plan was cut to what is judged: the interval here assumes a number of labels fixed beforehand"


@pytest.mark.parametrize(("n", "census"), [(2, False), (9, True), (23, False)])
def test_a_cut_plan_estimates_what_the_status_does(
    n: int, census: bool, plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    whole = Plan.create(graded, None, DCG @ 10, budget=1e6, seed=3, level="query") if census else plan
    cut, status = whole.so_far(prefix(whole, labels, n)), whole.status(prefix(whole, labels, n), None)
    found = cut.compare(prefix(whole, labels, n))
    assert found.difference == pytest.approx(status.value, rel=1e-12, abs=1e-12)
    assert found.standard_error == pytest.approx(status.standard_error, rel=1e-12)
    assert CUT in found.note
    assert cut.manifest["cut"] == {"unit": "queries", "of": status.drawn, "to": n}
    assert cut.manifest["spent"] == pytest.approx(status.spent)
    assert cut.manifest["counts"]["draws"] == n == len(cut.sample)
    assert len(cut.assessments) == cut.manifest["counts"]["assessments"] == status.n_judged
    assert f"cut       to the first {n} of {status.drawn} queries, which are judged" in str(cut)


def test_a_cut_plan_is_the_plan_that_would_have_stopped_there(
    plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    short = Plan.create(graded, None, DCG @ 10, draws=12, seed=3, defensive=plan.manifest["arguments"]["defensive"])
    cut = plan.so_far(prefix(plan, labels, 12))
    columns = ["qid", "q_draws", "q_importance", "q_inclusion"]
    pd.testing.assert_frame_equal(cut.queries[columns], short.queries[columns], rtol=1e-12)
    pd.testing.assert_frame_equal(cut.assessments, short.assessments)


def test_a_cut_plan_is_kept_and_cut_again(plan: Plan, labels: pd.DataFrame, tmp_path: Path) -> None:
    some = prefix(plan, labels, 14)
    cut = Plan.load(plan.so_far(some).save(tmp_path / "cut").path)
    assert cut.compare(some) == plan.so_far(some).compare(some)
    assert cut.status(some, None) == plan.status(some, None)
    fewer = prefix(plan, labels, 9)
    again = cut.so_far(fewer)
    assert again.manifest["cut"] == {"unit": "queries", "of": plan.status(some, None).drawn, "to": 9}
    assert again.compare(fewer) == plan.so_far(fewer).compare(fewer)


@pytest.mark.parametrize("looks", ["always", None])
def test_a_cut_plan_of_documents_still_waits_for_what_was_cut_off(looks: str | None) -> None:
    plan = small_plan("document", small_pool(4), 60)
    some = judged_by_ann(plan)[["qid", "docno", "label"]].head(40)
    cut = plan.so_far(some)
    assert cut.status(some, looks) == plan.status(some, looks)
    assert cut.gate(some, 9.0, looks=None, queries="these").outcome == "unresolved"


@pytest.mark.parametrize("design", ["depth", "surprises"])
def test_a_plan_without_an_order_that_was_cut_decides_no_gate(design: str) -> None:
    pool = small_pool(4)
    plan = Plan.create(pool, None, "nDCG@3", budget=60, level="document", design=design, seed=1)
    some = ordered(plan, pool.assign(label=np.arange(len(pool)) % 3)[["qid", "docno", "label"]])[:-9]
    with pytest.raises(ValueError, match="the plan was cut to what is judged, .* ask the plan that was drawn"):
        plan.so_far(some).gate(some, 9.0, looks=None, queries="these")


def test_what_lacks_labels_says_the_way(plan: Plan, labels: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"or look at what is judged so far: plan\.status\(qrels\), or plan\.so_far"):
        plan.compare(prefix(plan, labels, 9))
    order = in_order(plan)
    later = wanted(plan, labels)[lambda frame: frame.qid != order[0]]
    with pytest.raises(
        ValueError, match=f"nothing is judged so far without a gap: document .* of query '{order[0]}' and "
    ):
        plan.so_far(later)
    with pytest.raises(ValueError, match="hold no judgment"):
        plan.so_far(later.head(0))
    with pytest.raises(ValueError, match="no label belongs to a document of the plan"):
        plan.so_far(later.assign(qid="x" + later.qid))


def test_rounds_of_documents_are_cut_as_wholes(graded: pd.DataFrame, labels: pd.DataFrame, tmp_path: Path) -> None:
    one = Plan.create(graded, None, DCG @ 10, budget=150, level="document", design="depth", seed=3)
    first = wanted(one, labels)
    two = one.extend(80)
    part = pd.concat([first, wanted(two, labels).head(20)])
    cut = two.so_far(part)
    assert cut.compare(part).difference == one.compare(first).difference
    status, found = two.status(part, None), cut.compare(part)
    assert (found.difference, found.standard_error) == pytest.approx((status.value, status.standard_error), rel=1e-12)
    assert cut.manifest["cut"] == {"unit": "rounds", "of": 2, "to": 1}
    assert CUT in found.note
    for column in ("q_prob", "q_draws", "q_importance", "q_inclusion"):
        np.testing.assert_array_equal(cut.queries[column], one.queries[column])
    keys = ["qid", "docno", "inclusion"]
    pd.testing.assert_frame_equal(cut.assessments[keys], one.assessments[keys])
    for key in ("counts", "spent", "rounds"):
        assert cut.manifest[key] == one.manifest[key]
    assert Plan.load(cut.save(tmp_path / "cut").path).compare(part) == found
    with pytest.raises(ValueError, match=r"plan\.so_far"):
        two.compare(part)
    with pytest.raises(ValueError, match="extend the plan as it was drawn"):
        cut.extend(50)
    with pytest.raises(
        ValueError, match=r"nothing is judged so far without a gap: document .* and \d+ more lack a label"
    ):
        two.so_far(part.tail(30))
    both = pd.concat([first, wanted(two, labels)])
    three = two.extend(60)
    part = pd.concat([both, wanted(three, labels).iloc[:-5]])
    assert three.so_far(part).compare(part).difference == two.compare(both).difference
    assert three.so_far(part).manifest["rounds"] == two.manifest["rounds"]
