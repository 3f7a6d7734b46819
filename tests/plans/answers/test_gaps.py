"""Documents that were passed over, or wait for a second judge, do not blind the status; plans cut to what is judged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import in_order, judged_by_ann, ordered, prefix, small_plan, small_pool
from samples import wanted

from pt_active import DCG, Plan
from pt_active.plans.answers.status import Status
from pt_active.plans.making.documents import part_of

BOTH = pytest.mark.parametrize("level", ["query", "document"])
LABELS = ["qid", "docno", "label"]


def plan_of(level: str) -> Plan:
    return small_plan(level, small_pool(4), 60)


@BOTH
def test_a_skip_is_named(level):
    plan = plan_of(level)
    records = judged_by_ann(plan)
    whole, skipped = plan.status(records), records.astype({"label": object})
    skipped.loc[7, ["label", "status"]] = [None, "skipped"]
    gap = {"qid": records.qid[7], "docno": records.docno[7], "annotator": "ann", "status": "skipped"}

    state, bridged = plan.status(skipped, None), plan.status(skipped)
    assert state.to_dict()["blocked"] == bridged.to_dict()["blocked"] == [gap]
    assert state.judged < bridged.judged == whole.judged - 1 == state.drawn - 1
    assert state.left_out > 0
    assert bridged.open == 1


def test_the_gaps_come_in_the_order_of_the_draws_and_name_everyone():
    plan = plan_of("query")
    records = judged_by_ann(plan).astype({"label": object})
    for row, who, status in ((10, "bob", "unjudgeable"), (2, "eve", "skipped")):
        records.loc[row, ["label", "annotator", "status"]] = [None, who, status]
    again = records.loc[[10]].assign(annotator="kim", status="skipped")
    blocked = plan.status(pd.concat([records, again])).blocked
    assert [(each.annotator, each.status) for each in blocked] == [("eve", "skipped"), ("bob, kim", "unjudgeable")]


@pytest.mark.parametrize(
    ("design", "measure", "rankers"), [("depth", "RR", 1), ("depth", "nDCG@3", 3), ("surprises", "nDCG@3", 2)]
)
def test_parts_count_with_every_label_that_a_gap_may_have(design, measure, rankers):
    """So nobody can win by what people skip: what is proved with a gap is proved whatever its label is."""
    pool = small_pool(4, rankers)
    plan = Plan.create(pool, None, measure, budget=70, level="document", design=design, seed=3)
    labels = ordered(plan, judged_by_ann(plan)[LABELS])
    about: dict[str, Any] = {"margin": 0.5} if rankers == 1 else {"queries": "new"}

    def states(labels: pd.DataFrame) -> tuple[Status, ...]:
        found = plan.status(labels, **about)
        return (found,) if isinstance(found, Status) else found.pairs

    some, gap = labels.drop(index=2), labels.loc[2]
    wholes = [states(labels.assign(label=labels["label"].where(labels.index != 2, y))) for y in range(3)]
    for state, *filled in zip(states(some), *wholes, strict=True):
        assert (state.judged, state.open, state.n_judged, state.spent) == (4, 1, len(some), len(some))
        assert [(each.qid, each.docno) for each in state.blocked] == [(gap.qid, gap.docno)]
        assert state.waiting == f"document {gap.docno} of query {gap.qid}"
        assert np.isnan(state.value)
        other = state.beside or state
        for each in (one.beside or one for one in filled):
            assert other.low - 1e-12 <= each.low <= each.high <= other.high + 1e-12
        assert {each.resolution for each in filled} == {state.resolution} or state.resolution is None
    # Three grades of four documents have 81 sets; a part whose labels lack is begun if any later part has some.
    ends = np.cumsum(np.bincount(part_of(plan.tables))[1:])
    for lacking in ([0, 1, ends[0], ends[0] + 1], [2, *range(ends[0], ends[1])]):
        state = states(labels.drop(index=lacking))[0]
        assert (state.judged, state.open) == (0, 1)
    many = states(labels.drop(index=range(4)))[0]
    assert (many.judged, many.left_out, len(many.blocked)) == (0, len(labels) - 4, 4)


@BOTH
def test_what_is_due_counts_as_if_it_had_no_label(level):
    plan = plan_of(level)
    records = judged_by_ann(plan)
    due = records.index.isin([2, 9, 30])
    records, rest = records.assign(judges=np.where(due, 2, 1)), records[~due]
    state = plan.status(records)
    assert state.due == 3
    assert 1 <= state.open <= 3
    assert replace(state, due=0) == plan.status(rest)
    assert state == plan.status(records[LABELS], records=records)
    gate, without = (plan.gate(each, 0.2, queries="these") for each in (records, rest))
    assert (gate.outcome, gate.status.low, gate.status.due) == (without.outcome, state.low, 3)
    message = r"3 documents have a label that does not count yet: .*; or look at what is judged so far"
    for missing in ("error", "nonrelevant"):
        with pytest.raises(ValueError, match=message):
            plan.compare(records, missing=missing)


CUT = "the plan was cut to what is judged: the interval here assumes a number of labels fixed beforehand"


def test_a_cut_plan_is_the_plan_that_would_have_stopped_there(plan, graded, labels):
    short = Plan.create(graded, None, DCG @ 10, draws=12, seed=3, defensive=plan.manifest["arguments"]["defensive"])
    cut = plan.so_far(prefix(plan, labels, 12))
    columns = ["qid", "q_draws", "q_importance", "q_inclusion"]
    pd.testing.assert_frame_equal(cut.queries[columns], short.queries[columns], rtol=1e-12)
    pd.testing.assert_frame_equal(cut.assessments, short.assessments)


def test_a_cut_plan_is_kept_and_cut_again(plan, labels, tmp_path):
    some, fewer = prefix(plan, labels, 14), prefix(plan, labels, 9)
    cut, state = Plan.load(plan.so_far(some).save(tmp_path / "cut").path), plan.status(some, None)
    found = plan.so_far(some).compare(some)
    assert (cut.compare(some), cut.status(some, None)) == (found, state)
    assert CUT in found.note
    again = cut.so_far(fewer)
    assert again.manifest["cut"] == {"unit": "queries", "of": state.drawn, "to": 9}
    assert again.compare(fewer) == plan.so_far(fewer).compare(fewer)


@pytest.mark.parametrize("looks", ["always", None])
def test_a_cut_plan_of_documents_still_waits_for_what_was_cut_off(looks):
    plan = small_plan("document", small_pool(4), 60)
    some = judged_by_ann(plan)[LABELS].head(40)
    cut = plan.so_far(some)
    assert cut.status(some, looks) == plan.status(some, looks)
    assert cut.gate(some, 9.0, looks=None, queries="these").outcome == "unresolved"


@pytest.mark.parametrize("design", ["depth", "surprises"])
def test_a_plan_without_an_order_that_was_cut_has_no_end_to_look_at(design):
    pool = small_pool(4)
    plan = Plan.create(pool, None, "nDCG@3", budget=60, level="document", design=design, seed=1)
    some = ordered(plan, pool.assign(label=np.arange(len(pool)) % 3)[["qid", "docno", "label"]])[:-9]
    cut = plan.so_far(some)
    for look in (lambda: cut.gate(some, 9.0, looks=None, queries="these"), lambda: cut.status(some)):
        with pytest.raises(ValueError, match="the plan was cut to what is judged, .* ask the plan that was drawn"):
            look()


def test_what_lacks_labels_says_the_way(plan, labels):
    first = in_order(plan)[0]
    later = wanted(plan, labels)[lambda frame: frame.qid != first]
    so_far = r"or look at what is judged so far: plan\.status\(qrels\), or plan\.so_far"
    for ask, some, message in (
        (plan.compare, prefix(plan, labels, 9), so_far),
        (plan.so_far, later, f"judged so far without a gap: document .* of query '{first}' and "),
        (plan.so_far, later.head(0), "hold no judgment"),
        (plan.so_far, later.assign(qid="x" + later.qid), "no label belongs to a document of the plan"),
    ):
        with pytest.raises(ValueError, match=message):
            ask(some)


@pytest.mark.filterwarnings("ignore:more labels after the parts")
def test_an_extended_plan_is_cut_to_its_first_documents(graded: pd.DataFrame, labels: pd.DataFrame, tmp_path) -> None:
    one = Plan.create(graded, None, "AP", budget=150, level="document", design="surprises", seed=3)
    two = one.extend(80)
    asked = [wanted(each, labels) for each in (one, two)]
    part = pd.concat([asked[0], asked[1].head(20)])
    cut, status = two.so_far(part), two.status(part, None)
    found = cut.compare(part)
    assert (found.difference, found.standard_error) == pytest.approx((status.value, status.standard_error), rel=1e-12)
    assert (cut.manifest["cut"]["unit"], cut.manifest["cut"]["of"]) == ("documents", 230)
    assert 150 <= cut.manifest["cut"]["to"] == len(cut.assessments) < 170
    assert CUT in found.note
    assert Plan.load(cut.save(tmp_path / "cut").path).compare(part) == found
    with pytest.raises(ValueError, match=r"plan\.so_far"):
        two.compare(part)
    with pytest.raises(ValueError, match="extend the plan as it was drawn"):
        cut.extend(50)
    deep = Plan.create(graded, None, DCG @ 10, budget=150, level="document", design="depth", seed=3)
    with pytest.raises(ValueError, match=r"nothing is judged so far without a gap: document .* more lack"):
        deep.extend(80).so_far(wanted(deep, labels))
