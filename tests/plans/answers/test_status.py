"""The state of a plan while labels come in: judged prefixes, verdicts, printed text, bad input, and rounds."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active import DCG, OrderedLogitGrades, Outlook, Plan, Runs, TimeCost, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.frames.worklists import read_judgments
from pt_active.inference.stopping.boundaries import half_widths, mixture_boundary
from pt_active.inference.stopping.looks import Looks
from pt_active.plans.answers.outlook import own_method
from pt_active.plans.answers.progress import Question, grown_documents, grown_queries
from pt_active.plans.making.queries import DrawingOrder, draw


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=600, seed=3)


@pytest.fixture(scope="module")
def labels(demo: DemoCollection, graded: pd.DataFrame) -> pd.DataFrame:
    return demo.judge(graded)


def wanted(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    return plan.assessments[["qid", "docno"]].merge(labels)


def in_order(plan: Plan) -> list[str]:
    drawn = plan.queries.query("q_draws > 0")
    return drawn.sort_values("q_priority").qid.tolist()


def prefix(plan: Plan, labels: pd.DataFrame, n: int) -> pd.DataFrame:
    return wanted(plan, labels)[lambda frame: frame.qid.isin(in_order(plan)[:n])]


# --- the sample -------------------------------------------------------------------------------------------------------


def test_all_labels_and_one_look_are_the_comparison(plan: Plan, labels: pd.DataFrame) -> None:
    found, status = plan.compare(wanted(plan, labels)), plan.status(wanted(plan, labels), looks=None)
    low, high = found.confidence_interval()
    assert status.value == pytest.approx(found.difference, rel=1e-12)
    assert (status.low, status.high) == pytest.approx((low, high), rel=1e-9)
    assert status.winner == found.winner
    assert (status.judged, status.n_judged) == (status.drawn, found.basis.n_judged)


@pytest.mark.parametrize("n", [4, 17, 30])
def test_the_beginning_is_the_plan_that_would_have_stopped_there(
    n: int, plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    """The same seed and a number of draws give the same queries, and the same estimate."""
    short = Plan.create(graded, None, DCG @ 10, draws=n, seed=3)
    assert in_order(short) == in_order(plan)[:n]
    found = short.compare(wanted(short, labels))
    status = plan.status(prefix(plan, labels, n))
    assert status.value == pytest.approx(found.difference, rel=1e-12)
    assert status.standard_error == pytest.approx(found.standard_error, rel=1e-12)
    assert status.spent == pytest.approx(short.manifest["spent"])


def test_labels_beyond_a_gap_are_left_out(plan: Plan, labels: pd.DataFrame) -> None:
    order, given_labels = in_order(plan), wanted(plan, labels)
    gap = given_labels[given_labels.qid == order[9]].index[0]
    status, before = plan.status(given_labels.drop(gap)), plan.status(prefix(plan, labels, 9))
    assert (status.judged, status.waiting, status.value) == (9, f"query {order[9]}", before.value)
    assert status.left_out == len(given_labels) - 1 - status.n_judged > 0
    assert f"left out    {status.left_out} labels from query {order[9]} on" in str(status)
    assert "left out" not in str(before)


def test_labels_of_other_queries_are_ignored_with_a_warning(plan: Plan, labels: pd.DataFrame) -> None:
    drawn = labels.qid.isin(in_order(plan))
    with pytest.warns(UserWarning, match=r"\d+ labels of queries that were not sampled are ignored"):
        status = plan.status(labels)
    assert status == plan.status(labels[drawn].merge(wanted(plan, labels)[["qid", "docno"]]))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_labels_does_not_matter(seed: int, plan: Plan, labels: pd.DataFrame) -> None:
    some = prefix(plan, labels, 14)
    shuffled = pd.concat([some, some.head(5)]).sample(frac=1, random_state=seed)
    assert plan.status(shuffled) == plan.status(some)


def test_renamed_documents_change_nothing(graded: pd.DataFrame, labels: pd.DataFrame, plan: Plan) -> None:
    other = [frame.assign(docno="x" + frame.docno) for frame in (graded, labels)]
    renamed = Plan.create(other[0], None, DCG @ 10, budget=600, seed=3)
    assert replace(renamed.status(prefix(renamed, other[1], 12))) == plan.status(prefix(plan, labels, 12))


def test_a_saved_plan_says_the_same(plan: Plan, labels: pd.DataFrame, tmp_path: Path) -> None:
    loaded = Plan.load(plan.save(tmp_path / "saved").path)
    assert loaded.status(prefix(plan, labels, 12)) == plan.status(prefix(plan, labels, 12))


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looks", ["always", "obrien-fleming", "pocock"])
def test_an_answer_stays(looks: str, graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, draws=100, seed=3)
    found = [plan.status(prefix(plan, labels, n), looks) for n in range(0, 101, 10)]
    first = next(i for i, status in enumerate(found) if status.resolved)
    assert 0 < first < len(found) - 1
    for status in found[first:]:
        assert (status.winner, status.resolved_at) == ("candidate", found[first].resolved_at)
        assert (status.chance, status.further, status.advice) == (1.0, 0.0, "stop judging")
    assert all(status.resolved_at is None and status.winner is None for status in found[:first])


def test_peeking_has_its_price(plan: Plan, labels: pd.DataFrame) -> None:
    everything = wanted(plan, labels)
    width = {}
    for looks in (None, "obrien-fleming", "pocock", "always"):
        status = plan.status(everything, looks)
        width[looks] = status.high - status.low
    assert width[None] < width["obrien-fleming"] < width["pocock"] < width["always"]


def test_planned_looks_wait_for_their_turn(plan: Plan, labels: pd.DataFrame) -> None:
    total = len(in_order(plan))
    fifth = math.ceil(total / 5)
    before = plan.status(prefix(plan, labels, fifth - 1), "pocock")
    at, after = (plan.status(prefix(plan, labels, n), "pocock") for n in (fifth, fifth + 1))
    assert math.isnan(before.value)
    assert (before.next_look, at.next_look) == (fifth, math.ceil(2 * total / 5))
    assert (at.value, at.low) == (after.value, after.low)
    assert f"next look   after {fifth} queries" in str(before)
    assert "estimate    none yet" in str(before)


def test_no_label_yet(plan: Plan, labels: pd.DataFrame) -> None:
    status = plan.status(labels.head(0))
    assert (status.judged, status.spent, status.resolved) == (0, 0.0, False)
    assert status.advice == f"judge on, from query {in_order(plan)[0]}"
    assert json.loads(json.dumps(status.to_dict(), allow_nan=False))["value"] is None


def test_equivalence_within_a_margin(plan: Plan, labels: pd.DataFrame) -> None:
    status = plan.status(prefix(plan, labels, 20), margin=20.0)
    assert (status.resolution, status.winner) == ("within", None)
    assert status.answer == "resolved: equivalent within ±20"
    assert plan.status(prefix(plan, labels, 20), margin=1e-6).resolution is None


def test_a_hopeless_comparison_is_called_so(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """A ranker against another that differs from it in one query only."""
    pair = graded.assign(rank_candidate=graded.rank_production)
    swap = (pair.qid == pair.qid.iloc[0]) & pair.rank_candidate.isin([0, 1])
    pair.loc[swap, "rank_candidate"] = 1 - pair.loc[swap, "rank_candidate"]
    plan = Plan.create(pair, None, DCG @ 10, draws=40, design="passive", seed=1)
    status = plan.status(wanted(plan, labels))
    assert status.resolution is None
    assert status.answer.startswith("unresolved, and all that the plan asks for is judged: unresolvable")
    assert status.advice == "judge everything, or accept that the labels do not say"


def test_a_chance_of_a_twentieth_is_hope(plan: Plan, labels: pd.DataFrame) -> None:
    status = replace(plan.status(prefix(plan, labels, 14)), chance=0.05, needed=700.0)
    assert (status.answer, status.advice[:8]) == ("unresolved", "judge on")
    low = replace(status, chance=0.04)
    assert low.answer == "unresolvable with this budget, but for a chance of 4.0%"
    assert low.advice.startswith("about 700 would have to be spent in all")


def question(plan: Plan, looks: str | None) -> Question:
    return Question((0, 1), plan.measure, looks, None, 0.95)


def test_the_clock_of_queries_is_that_of_a_design_that_is_best(plan: Plan) -> None:
    """``q ∝ √(g/λ)`` makes ``Σ g/q · Σ λ q`` smallest, so the curve's g is ``λ q²``; costs differ."""
    order = DrawingOrder.of(plan.tables)
    rng, curve = np.random.default_rng(1), order.curve
    assert np.ptp(order.cost) > 0
    np.testing.assert_allclose(curve.gain / curve.gain.sum(), order.cost * order.q**2 / (order.cost @ order.q**2))

    def product_of(q: np.ndarray) -> float:
        return float((curve.gain / q).sum() * (order.cost @ q))

    for _ in range(20):
        other = order.q * np.exp(0.05 * rng.normal(size=len(order.q)))
        assert product_of(order.q) < product_of(other)


@pytest.mark.parametrize("looks", ["always", "pocock", None])
def test_beyond_the_plan_one_look_is_left_unless_any_is_allowed(looks: str | None, plan: Plan, labels: pd.DataFrame):
    rest = grown_queries(plan.tables, prefix(plan, labels, 14), question(plan, looks)).rest
    finite = np.isfinite(rest.time)
    assert (finite.sum(), finite.all()) == (len(finite) - 1, False)
    expected = mixture_boundary(rest.time[finite], 0.05) if looks == "always" else stats.norm.isf(0.025)
    np.testing.assert_allclose(rest.critical[finite], np.broadcast_to(expected, finite.sum()), rtol=1e-9)
    assert rest.cost[-1] == pytest.approx(plan.manifest["pool_cost"])


def test_unresolvable_says_what_would_be_needed(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, draws=16, seed=5)
    status = plan.status(wanted(plan, labels))
    assert (status.judged, status.chance, status.further) == (16, 0.0, 0.0)
    assert "unresolvable with this budget" in status.answer
    assert status.budget < status.needed <= status.everything
    assert status.advice.startswith(f"about {status.needed:.4g} would have to be spent in all")


def test_the_prospect_is_kept_on_average(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """The probabilities given after a third of the judging, against how often it was resolved by the end."""
    said, came = [], []
    for seed in range(25):
        plan = Plan.create(graded, None, DCG @ 10, draws=60, seed=seed)
        status = plan.status(prefix(plan, labels, 20))
        if not status.resolved:
            said.append(status.chance)
            came.append(plan.status(wanted(plan, labels)).resolved)
            assert 0 <= status.further <= status.budget - status.spent + 1e-9
    spread = math.sqrt(np.mean(np.array(said) * (1 - np.array(said))) / len(said))
    assert abs(np.mean(said) - np.mean(came)) <= 3 * spread + 0.15


def test_a_census_leaves_nothing_to_chance(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=10_000, seed=3)
    assert plan.manifest["census"]
    for looks in (None, "pocock", "always"):
        status = plan.status(wanted(plan, labels), looks)
        assert status.low == status.high == status.value
        assert status.value == pytest.approx(plan.compare(wanted(plan, labels)).difference, rel=1e-12)
        assert status.winner == "candidate"
    part = plan.status(prefix(plan, labels, 30))
    assert part.low < part.value < part.high


def test_one_ranker_is_known_within_a_margin(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    alone = graded.drop(columns=["rank_candidate", "score_candidate"])
    plan = Plan.create(alone[alone.rank_production >= 0], None, DCG @ 10, draws=40, seed=1)
    rough, fine = (plan.status(wanted(plan, labels), margin=margin) for margin in (3.0, 0.01))
    assert (rough.first, rough.second, rough.answer) == ("production", None, "resolved: known within ±3")
    assert fine.resolution is None
    assert fine.value == pytest.approx(plan.estimate(wanted(plan, labels))["production"].value)
    with pytest.raises(ValueError, match="the plan has one ranker: say margin="):
        plan.status(wanted(plan, labels))


def test_one_screen(plan: Plan, labels: pd.DataFrame) -> None:
    status = plan.status(prefix(plan, labels, 14), margin=0.1)
    lines = str(status).splitlines()
    assert len(lines) <= 9
    assert max(map(len, lines)) <= 140
    assert status._repr_html_() == f"<pre>{status}</pre>"
    assert status.to_dict()["winner"] is None
    assert status.to_dict()["answer"] == status.answer


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"looks": "daily"}, "unknown looks 'daily'"),
        ({"margin": 0.0}, "margin must be a positive number, got 0.0"),
        ({"margin": math.nan}, "margin must be a positive number"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1, got 1.0"),
        ({"first": "nobody"}, "no ranker 'nobody' in this plan"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict, message: str, plan: Plan, labels: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=message):
        plan.status(wanted(plan, labels), **arguments)


def test_labels_of_another_collection_are_refused(plan: Plan, labels: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no label belongs to a document of the plan"):
        plan.status(labels.assign(docno="x" + labels.docno))
    with pytest.raises(ValueError, match="above"):
        plan.status(wanted(plan, labels).assign(label=9))


def test_a_plan_without_an_order_is_refused(
    graded: pd.DataFrame, labels: pd.DataFrame, plan: Plan, tmp_path: Path
) -> None:
    again = Plan.create(graded, None, DCG @ 10, budget=300, replace=True)
    assert again.queries.q_priority.isna().all()
    with pytest.raises(ValueError, match="draws with replacement"):
        again.status(wanted(again, labels))
    with pytest.raises(ValueError, match='order="drawn" needs a plan of queries without replacement'):
        again.export(tmp_path / "list.csv", "csv", order="drawn")
    folder = Path(str(plan.save(tmp_path / "old").path))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format_version": 3}))
    pd.read_parquet(folder / "queries.parquet").drop(columns="q_priority").to_parquet(folder / "queries.parquet")
    old = Plan.load(folder)
    assert old.compare(wanted(plan, labels)) == plan.compare(wanted(plan, labels))
    with pytest.raises(ValueError, match="saved in format 3"):
        old.status(wanted(plan, labels))


# --- the worklist -----------------------------------------------------------------------------------------------------


def test_a_worklist_in_drawing_order(plan: Plan, tmp_path: Path) -> None:
    lines = plan.export(tmp_path / "drawn.trec", order="drawn").read_text().splitlines()
    assert list(dict.fromkeys(line.split()[0] for line in lines)) == in_order(plan)
    plain = plan.export(tmp_path / "sorted.trec").read_text().splitlines()
    assert sorted(lines) == sorted(plain) != lines
    assert plain == [f"{row.qid} 0 {row.docno} -1" for row in plan.assessments.itertuples()]
    assert read_judgments(tmp_path / "drawn.trec").empty
    with pytest.raises(ValueError, match="unknown order 'random'; it is one of sorted, drawn"):
        plan.export(tmp_path / "other", order="random")


def test_priorities_say_which_queries_were_drawn(plan: Plan) -> None:
    queries = plan.queries
    drawn = queries.q_draws > 0
    assert queries.q_priority[drawn].max() < queries.q_priority[~drawn].min()
    threshold = queries.q_priority[~drawn].min()
    expected = 1 - np.exp(-queries.q_prob[drawn] * threshold)
    np.testing.assert_allclose(queries.q_inclusion[drawn], expected, rtol=1e-12)
    assert DrawingOrder.of(plan.tables).drawn == drawn.sum()


def test_priorities_do_not_depend_on_the_order_of_rows(plan: Plan) -> None:
    design = plan.queries[["qid", "q_prob", "q_weight", "q_cost"]]
    shuffled = design.sample(frac=1, random_state=4)
    for table in (design, shuffled):
        found = pd.Series(draw(table, 600, None, 3, replace=False).priority, index=table.qid)
        assert found[plan.queries.qid].tolist() == plan.queries.q_priority.tolist()


# --- rounds of documents ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rounds(graded: pd.DataFrame, labels: pd.DataFrame) -> tuple[Plan, pd.DataFrame, pd.DataFrame]:
    """A plan of two rounds, the labels of the first round, and the labels of both."""
    one = Plan.create(graded, None, DCG @ 10, budget=120, level="document", seed=3)
    first = wanted(one, labels)
    two = one.extend(120, first)
    return two, first, pd.concat([first, wanted(two, labels)])


def test_each_round_is_a_look(rounds: tuple) -> None:
    plan, first, both = rounds
    early, late = plan.status(first), plan.status(both)
    assert (early.unit, early.judged, late.judged, late.drawn) == ("rounds", 1, 2, 2)
    assert (late.n_judged, late.left_out) == (len(both), 0)
    compared = plan.compare(both)
    assert late.value == pytest.approx(compared.difference, rel=1e-12)
    assert late.standard_error == pytest.approx(compared.standard_error, rel=1e-12)
    fixed = plan.status(both, looks=None)
    assert (fixed.low, fixed.high) == pytest.approx(tuple(compared.confidence_interval()), rel=1e-9)
    assert late.low < fixed.low < fixed.high < late.high
    expected = np.array([each.expected for each in plan.tables.rounds])
    boundary = mixture_boundary(np.array([(expected[0] / expected).sum()]), 0.05)
    degrees = np.array([compared.degrees_of_freedom])
    half = half_widths(boundary, np.array([compared.standard_error]), degrees)[0]
    assert (late.low, late.high) == pytest.approx((late.value - half, late.value + half), rel=1e-9)


def test_a_round_counts_when_all_of_it_is_judged(rounds: tuple) -> None:
    plan, first, both = rounds
    status = plan.status(both.iloc[:-1])
    assert (status.judged, status.waiting, status.left_out) == (1, "round 2", len(both) - 1 - len(first))
    assert status.value == plan.status(first).value
    nothing = plan.status(first.iloc[:3])
    assert (nothing.judged, math.isnan(nothing.value), nothing.left_out) == (0, True, 3)


def test_rounds_cannot_be_planned_looks(rounds: tuple, tmp_path: Path) -> None:
    plan, first, _ = rounds
    with pytest.raises(ValueError, match="a plan of documents can always be extended"):
        plan.status(first, looks="pocock")
    with pytest.raises(ValueError, match="can only be used as a whole"):
        plan.export(tmp_path / "list.csv", "csv", order="drawn")


def further(plan: Plan, labels: pd.DataFrame) -> Looks:
    return grown_documents(plan.tables, labels, question(plan, "always")).rest


@pytest.mark.parametrize("per_query", [0, 3])
def test_a_further_round_tells_what_a_round_of_its_size_is_expected_to(
    per_query: int, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    """The foreseen information is that of the extended plan, apart from what its draws happen to leave unspent."""
    plan = Plan.create(graded, None, DCG @ 10, UnitCost(per_query=per_query), budget=150, level="document", seed=3)
    first = wanted(plan, labels)
    rest = further(plan, first)
    assert (np.diff(rest.time) > 0).all()
    for more in (100.0, 400.0, 800.0):
        longer = plan.extend(more, first)
        expected = np.array([each.expected for each in longer.tables.rounds])
        foreseen = np.interp(longer.manifest["spent"], rest.cost[:-1], rest.time[:-1])
        assert foreseen == pytest.approx((expected[0] / expected).sum(), rel=0.1)


def test_all_that_can_change_the_result_is_less_than_the_pool(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=60, level="document", seed=1)
    status = plan.status(wanted(plan, labels))
    census = Plan.create(graded, None, DCG @ 10, budget=10_000, level="document", seed=1)
    assert status.everything == pytest.approx(census.manifest["spent"])
    assert status.everything < plan.manifest["pool_cost"]
    rest = further(plan, wanted(plan, labels))
    assert rest.cost[-1] == pytest.approx(status.everything)
    assert np.isinf(rest.time).tolist() == [False] * (len(rest.time) - 1) + [True]
    assert len(further(census, wanted(census, labels)).cost) == 0
    assert census.status(wanted(census, labels)).everything == pytest.approx(status.everything)


def test_a_drawn_document_is_not_drawn_again(rounds: tuple) -> None:
    plan, first, both = rounds
    assert further(plan, first).cost[-1] == pytest.approx(further(plan, both).cost[-1])


def test_what_is_needed_agrees_with_the_outlook(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """With the plan's own curve over the whole budget instead of its rounds: the curve of the looks at any time."""
    for seed in (1, 2):
        plan = Plan.create(graded, None, DCG @ 10, budget=60, level="document", seed=seed)
        status = plan.status(wanted(plan, labels))
        curve = Outlook.of_plan(plan, methods=[own_method(plan)]).curves[own_method(plan)]
        spent = plan.manifest["spent"]

        def reached(budget: float, status=status, curve=curve, spent=spent) -> bool:
            share = curve.variance(budget) / curve.variance(spent)
            if share == 0:
                return True
            critical, error = mixture_boundary(np.array([1 / share]), 0.05), status.standard_error * share**0.5
            degrees = np.array([curve.degrees_of_freedom(budget)])
            return bool(half_widths(critical, np.array([error]), degrees)[0] < abs(status.value))

        assert status.budget < status.needed < 0.5 * status.everything
        assert status.needed == pytest.approx(curve.budget_for(reached), rel=0.25)


# --- the plan cut to what is judged -----------------------------------------------------------------------------------

CUT = "the plan was cut to what is judged; the interval is that of a sample whose end was fixed beforehand"


@pytest.mark.parametrize("n", [2, 9, 23])
@pytest.mark.parametrize("census", [False, True])
def test_a_cut_plan_estimates_what_the_status_does(
    n: int, census: bool, plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame
) -> None:
    whole = Plan.create(graded, None, DCG @ 10, budget=1e6, seed=3) if census else plan
    cut, status = whole.so_far(prefix(whole, labels, n)), whole.status(prefix(whole, labels, n))
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
    short = Plan.create(graded, None, DCG @ 10, draws=12, seed=3)
    cut = plan.so_far(prefix(plan, labels, 12))
    columns = ["qid", "q_draws", "q_importance", "q_inclusion"]
    pd.testing.assert_frame_equal(cut.queries[columns], short.queries[columns], rtol=1e-12)
    pd.testing.assert_frame_equal(cut.assessments, short.assessments)


def test_all_labels_cut_nothing(plan: Plan, labels: pd.DataFrame) -> None:
    everything = wanted(plan, labels)
    whole = plan.so_far(everything)
    assert "cut" not in whole.manifest
    assert whole.compare(everything) == plan.compare(everything)


def test_a_cut_plan_is_kept_and_cut_again(plan: Plan, labels: pd.DataFrame, tmp_path: Path) -> None:
    some = prefix(plan, labels, 14)
    cut = Plan.load(plan.so_far(some).save(tmp_path / "cut").path)
    assert cut.compare(some) == plan.so_far(some).compare(some)
    assert cut.status(some) == plan.status(some)
    fewer = prefix(plan, labels, 9)
    again = cut.so_far(fewer)
    assert again.manifest["cut"] == {"unit": "queries", "of": plan.status(some).drawn, "to": 9}
    assert again.compare(fewer) == plan.so_far(fewer).compare(fewer)


def test_labels_of_what_was_cut_off_are_left_out_without_a_word(plan: Plan, labels: pd.DataFrame) -> None:
    order, everything = in_order(plan), wanted(plan, labels)
    gap = everything.drop(everything[everything.qid == order[9]].index[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = plan.so_far(gap).compare(gap)
    assert found == plan.so_far(prefix(plan, labels, 9)).compare(prefix(plan, labels, 9))
    assert found.basis.ignored == 0


def test_missing_labels_say_the_way(plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"or look at what is judged so far: plan\.status\(qrels\), or plan\.so_far"):
        plan.compare(prefix(plan, labels, 9))
    with_replacement = Plan.create(graded, None, DCG @ 10, draws=9, seed=3, replace=True)
    with pytest.raises(ValueError, match=r'missing="expected"$'):
        with_replacement.compare(wanted(with_replacement, labels).head(3))


def test_a_plan_that_cannot_be_cut_says_why(plan: Plan, graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    order = in_order(plan)
    later = wanted(plan, labels)[lambda frame: frame.qid != order[0]]
    with pytest.raises(ValueError, match=f"nothing is judged so far: the query that comes first, {order[0]}, lacks"):
        plan.so_far(later)
    with pytest.raises(ValueError, match="hold no judgment"):
        plan.so_far(later.head(0))
    with pytest.raises(ValueError, match="no label belongs to a document of the plan"):
        plan.so_far(later.assign(qid="x" + later.qid))
    repeated = Plan.create(graded, None, DCG @ 10, draws=9, seed=3, replace=True)
    with pytest.raises(ValueError, match="draws with replacement"):
        repeated.so_far(wanted(repeated, labels))
    old = Plan._of(replace(plan.tables, queries=plan.queries.drop(columns="q_priority")))
    with pytest.raises(ValueError, match="saved in format 3"):
        old.so_far(wanted(plan, labels))


def test_rounds_of_documents_are_cut_as_wholes(graded: pd.DataFrame, labels: pd.DataFrame, tmp_path: Path) -> None:
    one = Plan.create(graded, None, DCG @ 10, budget=150, level="document", seed=3)
    first = wanted(one, labels)
    two = one.extend(80, first)
    part = pd.concat([first, wanted(two, labels).head(20)])
    cut = two.so_far(part)
    assert cut.compare(part).difference == one.compare(first).difference
    status, found = two.status(part), cut.compare(part)
    assert (found.difference, found.standard_error) == pytest.approx((status.value, status.standard_error), rel=1e-12)
    assert cut.manifest["cut"] == {"unit": "rounds", "of": 2, "to": 1}
    assert CUT in found.note
    for column in ("q_prob", "q_draws", "q_importance", "q_inclusion"):
        np.testing.assert_array_equal(cut.queries[column], one.queries[column])
    keys = ["qid", "docno", "inclusion"]
    pd.testing.assert_frame_equal(cut.assessments[keys], one.assessments[keys])
    assert {k: cut.manifest[k] for k in ("counts", "spent", "rounds")} == {
        k: one.manifest[k] for k in ("counts", "spent", "rounds")
    }
    assert Plan.load(cut.save(tmp_path / "cut").path).compare(part) == found
    with pytest.raises(ValueError, match=r"plan\.so_far"):
        two.compare(part)
    with pytest.raises(ValueError, match="extend the plan as it was drawn"):
        cut.extend(50, part)
    with pytest.raises(ValueError, match=r"nothing is judged so far: \d+ documents of round 1 have no label"):
        two.so_far(part.tail(30))


def test_three_rounds_are_cut_to_two(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plans = [Plan.create(graded, None, DCG @ 10, budget=150, level="document", seed=3)]
    judged = wanted(plans[0], labels)
    for _ in range(2):
        plans.append(plans[-1].extend(60, judged))
        judged = pd.concat([judged, wanted(plans[-1], labels)])
    two = judged.iloc[: len(judged) - 5]
    cut, before = plans[2].so_far(two), plans[1]
    counts = {key: cut.manifest[key] for key in ("counts", "spent", "rounds")}
    assert counts == {key: before.manifest[key] for key in counts}
    until = judged.iloc[: len(judged) - len(plans[2].assessments)]
    assert cut.compare(two).difference == before.compare(until).difference


# --- units and words --------------------------------------------------------------------------------------------------


def test_hours_are_said(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, TimeCost(30, 60), budget=8.0, seed=3)
    status = plan.status(prefix(plan, labels, 9))
    assert f"of {status.budget:.6g} hours spent" in str(status)
    assert "hours left" in status.advice or "hours would have to be spent" in status.advice
    assert f"of {plan.manifest['pool_cost']:.6g} hours for the whole pool" in str(plan)
    resolved = plan.status(wanted(plan, labels), margin=9.0)
    assert f"since {resolved.resolved_at:.6g} hours were spent" in str(resolved)


def test_one_ranker_has_no_sign(demo: DemoCollection, grades: OrderedLogitGrades, labels: pd.DataFrame) -> None:
    name = next(iter(demo.runs))
    pool = Runs(**{name: demo.runs[name]}, depth=15) >> grades
    plan = Plan.create(pool, demo.topics, DCG @ 10, budget=600, seed=3)
    status = plan.status(prefix(plan, labels, 9), margin=0.1)
    assert f"estimate    {status.value:.4f}   SE" in str(status)
