"""Agreement of judges, and its price: equal to other packages, and to the variance of simulated judges."""

from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import small_pool
from hypothesis import assume, given
from hypothesis import strategies as st
from samples import wanted
from sklearn.metrics import cohen_kappa_score

from pt_active import Plan
from pt_active.inference import surprises
from pt_active.inference.agreement import coincidences, ordinal_alpha, quadratic_kappa, second_opinions
from pt_active.judging.records import qrels_of

GRADES = 4


def records_of(table: np.ndarray) -> pd.DataFrame:
    """Records of a table with one row for each judge and one column for each document; NaN where there is no label."""
    judge, document = np.nonzero(np.isfinite(table))
    names = {"docno": [f"d{i}" for i in document], "annotator": [f"j{i}" for i in judge]}
    return pd.DataFrame(names).assign(qid="q1", label=table[judge, document].astype(int), status="judged")


def simulated(seed: int, judges: int = 3, documents: int = 60, share: float = 0.7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.choice([-1, 0, 1], (judges, documents), p=[0.15, 0.7, 0.15])
    table = np.clip(rng.integers(0, GRADES, documents) + noise, 0, GRADES - 1)
    return np.where(rng.random(table.shape) < share, table, np.nan)


def coded(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    judge, document = np.nonzero(np.isfinite(table))
    return document, table[judge, document].astype(np.int64)


@given(st.lists(st.lists(st.integers(0, 3) | st.none(), min_size=6, max_size=6), min_size=2, max_size=4))
def test_alpha_of_any_table_is_that_of_krippendorff(rows):
    krippendorff = pytest.importorskip("krippendorff")
    table = np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=float)
    twice = table[:, np.isfinite(table).sum(axis=0) > 1]
    assume(len(np.unique(twice[np.isfinite(twice)])) > 1)
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")
    assert ordinal_alpha(coincidences(*coded(table), GRADES)) == pytest.approx(expected, abs=1e-9)


def test_agreement_that_is_not_known_is_nan():
    for item, grade in (([0, 1], [1, 2]), ([0, 0], [1, 1]), ([], [])):
        table = coincidences(np.array(item, dtype=int), np.array(grade, dtype=int), 3)
        assert np.isnan(ordinal_alpha(table))
    assert np.isnan(quadratic_kappa(np.zeros((3, 3))))
    assert np.isnan(quadratic_kappa(np.diag([5, 0, 0])))


def test_the_agreement_of_a_plan():
    """A census of one query of 60 documents, which two judges know and a third one overrates."""
    frame = pd.DataFrame({"qid": "q1", "docno": [f"d{i}" for i in range(60)]}).assign(rank_a=range(60))
    pool = frame.assign(rank_b=frame["rank_a"][::-1].to_numpy(), **{f"grade_{g}": 1 / GRADES for g in range(GRADES)})
    plan, table = Plan.create(pool, None, "DCG@60", budget=60), simulated(1)
    table[2] = np.minimum(table[2] + 2, GRADES - 1)
    skip = pd.DataFrame({"qid": ["q1"], "docno": ["d0"], "label": [None], "annotator": ["j9"], "status": ["skipped"]})
    records = pd.concat([records_of(table).astype({"label": object}), skip], ignore_index=True)
    agreement = plan.agreement(records)
    assert agreement.alpha == pytest.approx(ordinal_alpha(coincidences(*coded(table), GRADES)))
    assert agreement.documents == np.isfinite(table).any(axis=0).sum()
    assert agreement.twice == (np.isfinite(table).sum(axis=0) > 1).sum()
    judges = agreement.judges.set_index("annotator")
    assert judges.loc["j9", ["labels", "skipped"]].tolist() == [0, 1]
    shared = np.isfinite(table[:2]).all(axis=0)
    first, second = table[:2, shared].astype(int)
    row = agreement.pairs.set_index(["first", "second"]).loc[("j0", "j1")]
    assert row["kappa"] == pytest.approx(cohen_kappa_score(first, second, weights="quadratic", labels=range(GRADES)))
    assert row["same"] == pytest.approx((first == second).mean())


def judged_by(truth: pd.DataFrame, rng: np.random.Generator, share: float = 0.3) -> pd.DataFrame:
    """Each document by one of two judges who err by a grade in three of ten, and a share by both."""
    rows = truth.sample(frac=1, random_state=rng.integers(2**31)).reset_index(drop=True).assign(status="judged")
    parts = []
    for name, some in (("a", rows), ("b", rows.head(int(share * len(rows))))):
        noise = rng.choice([-1, 0, 1], len(some), p=[0.15, 0.7, 0.15])
        parts.append(some.assign(label=np.clip(some["label"] + noise, 0, 2), annotator=name))
    return pd.concat(parts, ignore_index=True)


def population(measure: str = "DCG@6", rankers: int = 2, queries: int = 40, **how: Any) -> tuple[Plan, pd.DataFrame]:
    frame, rng = small_pool(8, rankers, queries, 6), np.random.default_rng(8)
    labels = [rng.choice(3, p=row) for row in frame.filter(like="grade_").to_numpy()]
    plan = Plan.create(frame, None, measure, **{"budget": 120} | how)
    return plan, frame[["qid", "docno"]].assign(label=labels)


def of_level(level: str) -> tuple[Plan, pd.DataFrame]:
    return population(level="query", budget=240) if level == "census" else population(level=level)


@pytest.mark.parametrize(("measure", "design"), [("nDCG@4", "depth"), ("DCG@6", "successive")])
def test_the_error_of_judges_is_what_their_other_labels_would_do(measure, design):
    """Every label is changed: the mean square of how far the estimate moves, over both judges' opinions."""
    plan, truth = population(measure, queries=12, budget=24, level="document", design=design)
    asked = {"estimator": "difference" if design == "successive" else "regression"}
    records = judged_by(wanted(plan, truth), np.random.default_rng(3))
    labels = qrels_of(records).reset_index(drop=True)
    before, variance = plan.compare(labels, **asked).difference, 0.0
    item = pd.factorize(records["qid"] + records["docno"])[0]
    opinion = second_opinions(coincidences(item, records["label"].to_numpy(), 3))
    assert opinion.sum(axis=1) == pytest.approx(1)
    chance = plan.assessments.set_index(["qid", "docno"])["inclusion"]
    judges = records.groupby(["qid", "docno"]).size()
    for row, each in labels.iterrows():
        key = (each["qid"], each["docno"])
        for grade in range(3):
            other = labels.assign(label=labels["label"].where(labels.index != row, grade))
            moved = plan.compare(other, **asked).difference - before
            variance += chance[key] / judges[key] * opinion[each["label"], grade] * moved**2 / 2
    error = plan.compare(records, **asked).basis.error_of_judges
    assert error == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize(("measure", "rankers"), [("nDCG@4", 4), ("AP", 2)])
def test_what_other_labels_would_do_is_what_they_do_one_by_one(measure, rankers, monkeypatch):
    """By surprises, with what labels teach of other queries, and of their kinds, held; in a second round too."""
    first, truth = population(measure, rankers, 12, level="document", design="surprises", budget=24)
    with pytest.warns(UserWarning, match="a second test"):
        plan = first.extend(24)
    labels = pd.concat([wanted(first, truth), wanted(plan, truth)])
    contrast, labelled = np.eye(rankers)[0] - np.eye(rankers)[1], plan.judged(labels)
    every = np.ones((len(truth), 3), dtype=bool)
    found, one_by_one = labelled.changes(contrast, "regression", every), np.zeros((len(truth), 3))
    each = labelled.labels_as("regression", contrast)
    about, counts = (each.seen, each.sample, each.expected), each.seen.weight / each.sample.opening
    each.seen.kept.clear()
    with monkeypatch.context() as patched:
        label, used = surprises._labels(each.seen, each.sample, each.observed), surprises._rankers_of(contrast)
        now = surprises._recalibrated(each.seen, each.expected, label, used)
        (_, _, _, spread), *_ = surprises._told(now)
        patched.setattr(surprises, "_SPREADS", (spread,))
        level = now.known
        shift, shares = surprises.shift_by_labels(surprises.in_classes(each.seen, each.expected, used), level), []
        patched.setattr(surprises, "shift_by_labels", lambda *arguments: shift)
        found_shares = surprises.class_shares
        patched.setattr(surprises, "class_shares", lambda *a: shares.append(found_shares(*a)) or shares[-1])
        before = surprises.surprises(*about, each.observed, contrast).value
        held = cycle(shares)
        patched.setattr(surprises, "class_shares", lambda *arguments: next(held))
        for row, grade in product(np.flatnonzero(each.sample.drawn), range(3)):
            other = each.observed.copy()
            other[row] = each.seen.form.values[grade]
            one_by_one[row, grade] = (counts * (surprises.surprises(*about, other, contrast).value - before)).sum()
    assert np.abs(one_by_one).max() > 0.001
    assert found == pytest.approx(one_by_one, abs=1e-12)
    assert labelled.changes(-contrast, "regression", every) == pytest.approx(-found, abs=1e-15)


def test_the_error_of_judges_is_that_of_other_judges():
    """In a census all variance is that of judges, and over many sets of judges the stated one is equal to it.

    The labels are those of the first judge, and documents with two count as known twice as well: 1 − 0.3/2 of it.
    """
    plan, truth = of_level("census")
    frame = truth.merge(plan.tables.pool.document_frame(), on=["qid", "docno"])
    discount = 1 / np.log2(frame[["rank_a", "rank_b"]].to_numpy() + 2)
    weight = (discount[:, 0] - discount[:, 1]) / frame["qid"].nunique()
    asked = {"estimator": "ht"}
    assert plan.compare(truth, **asked).difference == pytest.approx(weight @ (2.0 ** frame["label"].to_numpy() - 1))
    rng, stated = np.random.default_rng(1), []
    for _ in range(10):
        records = judged_by(truth, rng)
        first = records[records["annotator"] == "a"][["qid", "docno", "label"]]
        stated.append(plan.compare(first, **asked, records=records).basis.error_of_judges ** 2)
    noise = rng.choice([-1, 0, 1], (4000, len(frame)), p=[0.15, 0.7, 0.15])
    values = (2.0 ** np.clip(frame["label"].to_numpy() + noise, 0, 2) - 1) @ weight
    error = np.sqrt(2 / 3999 + (np.std(stated) / np.mean(stated)) ** 2 / 10)
    assert np.mean(stated) == pytest.approx(0.85 * np.var(values, ddof=1), rel=3 * error)


@pytest.mark.parametrize("level", ["census", "query", "document"])
def test_a_result_says_what_share_of_the_error_is_that_of_judges(level):
    plan, truth = of_level(level)
    labels = wanted(plan, truth)
    records = judged_by(labels, np.random.default_rng(3))
    alone, both = plan.compare(qrels_of(records)), plan.compare(records)
    error, twice = both.basis.error_of_judges, int(0.3 * len(labels)) / len(labels)
    assert both.difference == alone.difference
    assert both.basis.judged_twice == pytest.approx(twice)
    assert both.standard_error == pytest.approx(np.hypot(alone.standard_error, error))
    assert 0 < both.degrees_of_freedom < np.inf
    wider = [np.diff(each.confidence_interval())[0] for each in (both, alone)]
    assert wider[0] > wider[1]
    of_judges = "so there is no sampling error; the interval is that of the judges' errors"
    assert (of_judges in both.note) == both.basis.census == (level == "census")
    once = plan.compare(records[records["annotator"] == "a"])
    assert once.basis.error_of_judges is None
    assert plan.estimate(records)["a"].basis.error_of_judges > 0


@pytest.mark.parametrize("level", ["query", "document"])
def test_who_settles_disputes_is_no_judge(level):
    """Their labels say nothing of how far judges agree, and a settled document has the error of one person."""
    plan, truth = of_level(level)
    records = judged_by(wanted(plan, truth), np.random.default_rng(3))
    first = records[records["annotator"] == "a"][["qid", "docno", "label"]]
    twice = records.loc[records.duplicated(["qid", "docno"]), ["qid", "docno", "status"]]
    settled = pd.concat([records, twice.merge(first).assign(annotator="adjudicator")])
    found, of_first = (plan.compare(each, estimator="ht") for each in (settled, first))
    assert found.difference == of_first.difference
    both, alone = (plan.compare(each, estimator="ht", records=records) for each in (records, first))
    assert found.basis.judged_twice == both.basis.judged_twice
    assert found.basis.error_of_judges > alone.basis.error_of_judges
