"""One set of labels has one answer: every command, page and file shows the same estimate, interval and sign."""

import json
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered
from samples import wanted

from pt_active import Plan
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.report.headline import with_interval
from pt_active.plans.answers.report.report import Report

QUERIES, DEPTH = 24, 8
SKILLS = {"a": 0.4, "b": 1.2, "c": 0.9, "d": 0.7}

PLANS: dict[str, dict[str, Any]] = {
    "queries of DCG": {"measure": "DCG@5", "level": "query", "budget": 120},
    "queries of nDCG": {"measure": "nDCG@5", "level": "query", "budget": 120},
    "documents of DCG": {"measure": "DCG@5", "level": "document", "design": "successive", "budget": 80},
    "depth of ERR": {"measure": "ERR(max_rel=2)@5", "level": "document", "design": "depth", "budget": 60},
    "depth of AP": {"measure": "AP(rel=1)@8", "level": "document", "design": "depth", "budget": 60},
    "surprises of nDCG": {"measure": "nDCG@5", "level": "document", "design": "surprises", "budget": 60},
}

IN_PARTS = ("depth", "surprises")
"""Kinds that are looked at after each part alone."""

CASES = [
    ("queries of DCG", 4, "all"),
    ("queries of nDCG", 2, "with a gap"),
    ("queries of nDCG", 1, "all"),
    ("documents of DCG", 4, "with a gap"),
    ("depth of ERR", 1, "with a gap"),
    ("depth of AP", 4, "with a gap"),
    ("surprises of nDCG", 2, "all"),
]
"""Each kind of plan, numbers of rankers, and the ways in which labels come."""

KEYS = ["qid", "docno"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def labelled():
    """The documents of all queries with their labels, and grades that know something of them."""
    rng, rows = np.random.default_rng(5), []
    for query in range(QUERIES):
        label = rng.integers(0, 3, DEPTH)
        ranks = {
            f"rank_{name}": np.argsort(np.argsort(-(label * skill + rng.normal(0, 1, DEPTH))))
            for name, skill in SKILLS.items()
        }
        guess = np.where(rng.random(DEPTH) < 0.5, label, rng.integers(0, 3, DEPTH))
        sure = 0.2 + 0.4 * np.eye(3)[guess]
        grades = {f"grade_{grade}": sure[:, grade] for grade in range(3)}
        names = {"qid": f"q{query}", "docno": [f"d{query}.{place}" for place in range(DEPTH)]}
        rows.append(pd.DataFrame(names | {"label": label} | ranks | grades))
    return pd.concat(rows, ignore_index=True)


def made(labelled: pd.DataFrame, kind: str, rankers: int) -> Plan:
    others = [f"rank_{name}" for name in list(SKILLS)[rankers:]]
    how = dict(PLANS[kind])
    return Plan.create(labelled.drop(columns=["label", *others]), None, how.pop("measure"), seed=3, **how)


def judged(labelled: pd.DataFrame, kind: str, rankers: int, how_far: str) -> tuple[Plan, pd.DataFrame]:
    """A plan, and its labels so far; where looks come after parts, those of an extension too."""
    plan = made(labelled, kind, rankers)
    if kind.startswith(IN_PARTS):
        first = wanted(plan, labelled)
        plan = plan.extend(40)
        return plan, pd.concat([first, wanted(plan, labelled)], ignore_index=True)
    listed = ordered(plan, labelled[[*KEYS, "label"]])
    half, gap = listed.head(len(listed) * 2 // 3), len(listed) // 2
    return plan, {"in order": half, "with a gap": half.drop(half.index[gap]), "all": listed}[how_far]


def by_judges(qrels: pd.DataFrame) -> pd.DataFrame:
    names = np.where(np.arange(len(qrels)) % 3 == 0, "ana", "ben")
    return qrels.assign(annotator=names, status="judged")


def first_number(text: str, name: str) -> float:
    """The number that follows a name at the beginning of a line."""
    found = re.search(rf"^\s*{name}\s+([+−-]?[\d.]+)", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1].replace("−", "-"))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", PLANS)
def test_any_first_labels_have_a_status_and_gaps_and_parts_that_are_not_full_are_named(kind, labelled):
    plan = made(labelled, kind, 2)
    every = ordered(plan, labelled[[*KEYS, "label"]])
    looks = None if kind.startswith(IN_PARTS) else ALWAYS
    for number in (0, *range(5, len(every), 27)):
        for some in (every.head(number), every.iloc[1 : number + 1], every.tail(number)):
            status = plan.status(some, looks=looks)
            assert status.n_judged + status.left_out == len(some)
            if np.isfinite(status.value):
                assert plan.so_far(some).compare(some).difference == pytest.approx(status.value)
            elif number:
                with pytest.raises(ValueError, match="so far without a gap: document 'd.*lacks? a label"):
                    plan.so_far(some)


def test_thousands_of_ways_to_complete_a_part_are_no_overflow(graded, labels):
    plan = Plan.create(graded, None, "nDCG@10", budget=1000, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert plan.status(ordered(plan, labels).head(300)).judged == 1


@pytest.mark.parametrize(("kind", "rankers", "how_far"), CASES)
def test_the_same_labels_have_one_answer(kind, rankers, how_far, labelled):
    plan, qrels = judged(labelled, kind, rankers, how_far)
    pair = {} if rankers == 1 else {"first": "b", "second": "a"}
    looks = None if kind.startswith(IN_PARTS) else ALWAYS
    status = plan.status(qrels, looks, 0.05 if rankers == 1 else None, **pair)
    cut = plan.so_far(qrels)
    found = cut.estimate(qrels)["a"] if rankers == 1 else cut.compare(qrels, **pair)
    value = found.point
    printed = first_number(str(found), "estimate" if rankers == 1 else "difference")
    assert printed == pytest.approx(value, abs=6e-5)
    assert first_number(status.details, "estimate") == printed
    if np.isfinite(status.standard_error):
        assert status.standard_error == pytest.approx(found.standard_error, rel=1e-9)

    if how_far == "all":
        once = plan.status(qrels, None, status.margin, **pair)
        assert (once.low, once.high) == pytest.approx(tuple(found.confidence_interval()), rel=1e-9, nan_ok=True)
        assert once.winner == getattr(found, "winner", None)

    report = Report.of(plan, qrels, status=status, **pair)
    data, page = json.loads(report.to_json()), report.to_html()
    result = data["result"] or data["status"]
    estimates = [status.value, result.get("difference", result.get("value")), data["status"]["value"]]
    estimates += [row["estimate"] for row in data["estimates"]] + [row["value"] for row in data["differences"]]
    assert estimates == pytest.approx([value] * len(estimates), rel=1e-9)
    ends = status.to_dict()
    for each in (result, *data["estimates"], *data["differences"]):
        assert (each["low"], each["high"]) == (ends["low"], ends["high"])
    number = with_interval(status.value, status.low, status.high, sign=rankers > 1)
    assert report.headline.number == number
    assert page.count(number) >= 2
    said = f"{value:+.4f}" if rankers > 1 else f"{value:.4f}"
    assert f"<dt>estimate</dt><dd>{said}".replace("-", "−") in page
    if rankers > 1:
        assert report.headline.of == "b − a"
        gate = plan.gate(qrels, 0.1, looks=looks, **pair, queries="these")
        assert gate.status.value == pytest.approx(value, rel=1e-9)
        assert first_number(str(gate), "estimate") == printed
    if rankers == 4 and looks:
        table = plan.status(qrels).table().set_index(["first", "second"])["difference"]
        for each in cut.rank(qrels).comparisons:
            same = table.get((each.first, each.second), default=-table.get((each.second, each.first), np.nan))
            assert same == pytest.approx(each.difference, rel=1e-9)


@pytest.mark.parametrize("kind", ["documents of DCG", "surprises of nDCG", "depth of AP"])
def test_records_bring_the_error_of_judges_into_every_answer(kind, labelled):
    plan = made(labelled, kind, 2)
    qrels = ordered(plan, labelled[[*KEYS, "label"]])
    second = by_judges(qrels).iloc[::2].assign(annotator="cleo", label=lambda rows: (rows["label"] + 1).clip(upper=2))
    records = pd.concat([by_judges(qrels), second], ignore_index=True)
    cut = plan.so_far(records).compare(records)
    assert cut.basis.error_of_judges > 0
    for state in (plan.status(records), plan.gate(records, 0.1, queries="these").status):
        shown = state.value, state.standard_error
        assert shown == pytest.approx((cut.difference, cut.standard_error), rel=1e-9)


@pytest.mark.parametrize("kind", ["queries of DCG", "documents of DCG"])
def test_the_first_labels_of_two_judges_are_no_obstacle(kind, labelled):
    """Few labels leave no degrees of freedom, and judges who are two grades apart say nothing of a grade between."""
    plan, qrels = judged(labelled, kind, 2, "in order")
    for number in (1, 12):
        first = by_judges(qrels.head(number).assign(label=1))
        apart = [by_judges(qrels.head(1).assign(label=grade)).assign(annotator=f"judge {grade}") for grade in (0, 2)]
        records = pd.concat([first.iloc[1:], *apart], ignore_index=True)
        status = plan.status(records)
        assert not status.resolved
        assert np.isfinite(status.value) or kind == "queries of DCG"


def test_a_status_of_other_labels_is_refused(labelled):
    plan, qrels = judged(labelled, "documents of DCG", 2, "in order")
    status = plan.status(qrels)
    for other, how, message in (
        (plan.status(qrels.head(20)), {}, "it comes from other labels"),
        (status, {"estimator": "ht"}, "the status is of regression, the report of ht"),
        (replace(status, first="x", second=None), {}, r"the status is of x, the report of \w+ − \w+"),
    ):
        with pytest.raises(ValueError, match=message):
            Report.of(plan, qrels, status=other, **how)


def test_an_estimate_outside_of_its_interval_is_explained(labelled):
    """A gap near the beginning leaves few documents to the estimate, or none; the interval rests on all of them."""
    plan, qrels = judged(labelled, "documents of DCG", 2, "all")
    early = qrels.drop(qrels.index[4])
    state = plan.status(early)
    assert (np.isnan(state.value), state.n_judged) == (True, len(qrels) - 1)
    with pytest.raises(ValueError, match=f"4 of {len(early)} labels are judged so far without a gap: document "):
        plan.so_far(early)
    for gap, outside in ((10, True), (30, False)):
        some = qrels.drop(qrels.index[gap])
        status = plan.status(some)
        assert (not status.low <= status.value <= status.high) == outside
        assert dict(status.facts())["estimate"].endswith("from what is judged before the first gap")
        said = "lies outside the interval, which rests on all labels"
        assert (said in Report.of(plan, some, status=status).note) == outside


def test_every_answer_names_the_pool(few, labels):
    """If the measure has an ideal; a later run does not change the pool."""
    plan = Plan.create(few, None, "nDCG@10", budget=100, seed=4, level="document")
    own, said = wanted(plan, labels), "nDCG@10 in the pool (top 15 of 2 runs)"
    assert str(plan).startswith(f"Plan for {said} of production, candidate")
    answers = [plan.compare(own), plan.status(own), plan.rank(own), *plan.estimate(own).values()]
    for each in (*answers, plan.gate(own, 0.1, queries="these"), Report.of(plan, own)):
        assert said in str(each)
        assert said in json.dumps(each.to_dict(), default=str)
    assert plan.compare(own, "DCG@10").basis.measure == "DCG@10"
    more = plan.with_rankers(later=own.assign(score=np.arange(len(own)))[[*KEYS, "score"]])
    assert more.compare(own, first="later", second="candidate").basis.measure == said
