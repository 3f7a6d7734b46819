"""Audits as people use them: frames in, a plan on disk, labels back, estimates and comparisons out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import by_t, wanted
from scipy import stats

from pt_active import ColumnCost, UnitCost
from pt_active.frames.clocks import clocks
from pt_active.relevance.digits import believed
from pt_active.relevance.losses import Loss
from pt_active.risk import F1, Accuracy, Audit, CostMatrix, GaussianSquared, Precision, Recall, Squared, ZeroOne
from pt_active.risk.pairs import Pairs
from pt_active.sampling.designs import GAP_DESIGNS

BOTH = {"first": "a", "second": "b"}


@pytest.fixture(scope="module")
def world() -> tuple[pd.DataFrame, pd.DataFrame]:
    """400 pairs of 40 queries with grades 0–2 of a model, two judges of unlike quality, and every label."""
    rng = np.random.default_rng(0)
    n = 400
    grades = rng.dirichlet([2.0, 1, 1], n)
    label = np.array([rng.choice(3, p=row) for row in grades])
    noisy = [np.where(rng.random(n) < right, label, rng.integers(0, 3, n)) for right in (0.8, 0.5)]
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{q:02d}" for q in range(40)], 10),
            "docno": np.tile([f"d{d}" for d in range(10)], 40),
            "query": np.repeat([f"query {q}" for q in range(40)], 10),
            "text": [f"text {i}" for i in range(n)],
            "a": noisy[0],
            "b": noisy[1],
            "long": rng.random(n) < 0.3,
            "doc_cost": rng.uniform(0.5, 2, n),
        }
        | {f"grade_{g}": grades[:, g] for g in range(3)}
    )
    return frame, frame[["qid", "docno"]].assign(label=label)


@pytest.fixture(scope="module")
def frame(world: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return world[0]


@pytest.fixture(scope="module")
def qrels(world: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return world[1]


def truth(frame: pd.DataFrame, qrels: pd.DataFrame, loss: Loss, column: str) -> float:
    inside = np.ones(len(frame), dtype=bool) if loss.slice is None else frame[loss.slice].to_numpy()
    y = frame.merge(qrels, on=["qid", "docno"]).label.to_numpy(float)
    u, w = loss.terms(frame[column].to_numpy(float), y)
    return (u * inside).sum() / (w * inside).sum()


LOSSES = [
    ZeroOne(),
    Accuracy(slice="long"),
    Squared(),
    Precision(rel=2),
    Recall(),
    F1(rel=2),
    CostMatrix([[0, 1, 2], [1, 0, 1], [4, 2, 0]]),
]


@pytest.mark.parametrize("loss", [LOSSES[1], *LOSSES[4:]], ids=str)
def test_the_truth_lies_in_a_wide_interval(frame, qrels, loss: Loss) -> None:
    budget = 100 if loss.slice else 150
    audit = Audit.create(frame, BOTH, loss, budget=budget, seed=5)
    known, exact = wanted(audit, qrels), [truth(frame, qrels, loss, column) for column in BOTH.values()]
    assert len(known) == budget
    for estimator in (None, "snis", "difference"):
        estimates = audit.estimate(known, estimator=estimator)
        assert list(estimates) == ["first", "second"]
        for found, value in zip(estimates.values(), exact, strict=True):
            low, high = found.confidence_interval(0.9999)
            assert low < value < high
            assert found.basis.measure == str(loss)
        low, high = audit.compare(known, estimator=estimator).confidence_interval(0.9999)
        assert low - 1e-12 < exact[0] - exact[1] < high + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("design", ["optimal", "passive", "stratified"])
def test_a_census_is_the_truth(frame, qrels, loss: Loss, design: str) -> None:
    size = {"draws" if design == "stratified" else "budget": 400}
    found = Audit.create(frame, {"first": "a"}, loss, design=design, **size).estimate(qrels)["first"]
    assert found.value == pytest.approx(truth(frame, qrels, loss, "a"), abs=1e-12)
    assert found.standard_error == 0
    assert found.confidence_interval() == (found.value, found.value)
    assert found.note == "every pair that counts was judged, so there is no sampling error"
    inside = frame if loss.slice is None or design == "stratified" else frame[frame[loss.slice]]
    assert f"census of {len(inside)} pairs of {inside['qid'].nunique()} queries" in str(found)


@pytest.mark.parametrize("estimator", ["regression", "snis"])
def test_a_difference_is_as_effective_as_the_risk_that_rests_on_less(frame, qrels, estimator: str) -> None:
    """The precision of a predictor that predicts few pairs to be relevant rests on those alone."""
    few = frame.assign(b=frame["b"].where(frame["qid"] < "q10", 0))
    audit = Audit.create(few, {"a": "a", "b": "b"}, Precision(), budget=150, seed=1)
    judged = wanted(audit, qrels)
    alone = {name: each.n_effective for name, each in audit.estimate(judged, estimator=estimator).items()}
    assert alone["b"] < 0.6 * alone["a"]
    for first, second in (("a", "b"), ("b", "a")):
        compared = audit.compare(judged, first=first, second=second, estimator=estimator)
        assert compared.n_effective == pytest.approx(alone["b"])


def test_a_saved_audit_keeps_its_loss(frame, qrels, tmp_path: Path) -> None:
    real = GaussianSquared(), frame.assign(a_variance=1.0, b_variance=2.0)
    for number, (loss, pool) in enumerate([*((loss, frame) for loss in LOSSES), (ZeroOne(slice="long"), frame), real]):
        audit = Audit.create(pool, BOTH, loss, budget=60, seed=2)
        again = Audit.load(audit.save(tmp_path / f"audit{number}").path)
        assert again.loss == loss
        compared = [by_t(each.compare, wanted(audit, qrels)).to_frame() for each in (again, audit)]
        pd.testing.assert_frame_equal(*compared)  # A p-value may be NaN, which differs from itself


def test_the_worklist_and_the_manifest(frame, tmp_path: Path) -> None:
    audit = Audit.create(frame, BOTH, ZeroOne(), budget=50, seed=3, cost=ColumnCost())
    wanted = audit.assessments
    assert list(wanted.columns) == ["qid", "docno", "query", "text", "inclusion"]
    assert wanted.equals(wanted.sort_values(["qid", "docno"], ignore_index=True))
    assert wanted["inclusion"].between(0, 1, inclusive="right").all()
    pairs = audit.pairs
    assert pairs["prob"].sum() == pytest.approx(1)
    assert (pairs["draws"] > 0).sum() == len(wanted)
    spent = pairs.loc[pairs["draws"] > 0, "cost"].sum()
    assert 45 < spent <= 50
    assert audit.manifest["spent"] == pytest.approx(spent)
    assert audit.manifest["arguments"]["design"] == "optimal"
    assert audit.manifest["counts"]["pairs"] == 400
    assert "judge     " in str(audit)
    assert "(design: optimal)" in audit._repr_html_()
    assert len(pd.read_csv(audit.export(tmp_path / "judge-me.csv"))) == len(wanted)


# --- what must not matter -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [60, 380])
def test_pairs_come_by_uniform_clocks_so_that_large_probabilities_are_certain(frame, draws: int) -> None:
    pairs = Audit.create(frame, {"first": "a"}, Recall(), draws=draws, seed=5).pairs
    predicted = pairs[["prediction_first", *(name for name in pairs if name.startswith("grade_"))]]
    seed = 5, believed(pairs, predicted.to_numpy(float))
    priority = -np.expm1(-clocks(seed, pairs["qid"], pairs["docno"])) / pairs["prob"]
    order = np.argsort(priority)
    assert sorted(order[:draws]) == np.flatnonzero(pairs["draws"]).tolist()
    inclusion = np.minimum(1, pairs["prob"] * priority[order[draws]])[pairs["draws"] > 0]
    np.testing.assert_allclose(pairs["inclusion"][pairs["draws"] > 0], inclusion, rtol=1e-12)
    assert (inclusion == 1).any() == (draws == 380)


# --- what cannot be said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [None, "snis", "difference"])
def test_recall_without_a_relevant_pair_is_undefined(frame, qrels, estimator: str | None) -> None:
    audit = Audit.create(frame, BOTH, Recall(), budget=60)
    none = wanted(audit, qrels).assign(label=0)
    found = audit.estimate(none, estimator=estimator)["first"]
    assert np.isnan(found.value)
    assert np.isnan(found.confidence_interval()).all()
    assert found.note == "no sampled pair counts in Recall, so the estimate is 0/0: judge more pairs"
    assert found.to_dict()["value"] is None
    comparison = audit.compare(none, estimator=estimator)
    assert np.isnan(comparison.pvalue)
    assert comparison.winner is None
    assert "0/0" in str(comparison)


def test_no_error_in_the_sample(frame, qrels) -> None:
    audit = Audit.create(frame.assign(a=1), {"first": "a"}, ZeroOne(), budget=30, design="passive")
    right = wanted(audit, qrels).assign(label=1)
    wilson = stats.binomtest(0, 30).proportion_ci(0.95, "wilson").high
    for estimator in ("snis", "regression"):
        found = audit.estimate(right, estimator=estimator)["first"]
        assert (found.value, found.standard_error, found.degenerate) == (0, 0, False)
        none = "the interval is that of 30.0 pairs drawn at random of which none is an exception"
        assert found.basis.caution.endswith(none)
        assert found.note.startswith(found.basis.caution)
        low, high = found.confidence_interval()
        squared = stats.t.ppf(0.975, found.degrees_of_freedom) ** 2
        assert (low, high) == pytest.approx((0, squared / (30 + squared)), abs=1e-12)
        assert wilson < high < 1.1 * wilson


def test_the_interval_of_a_risk_keeps_to_the_range_of_its_loss(frame, qrels) -> None:
    """Nearly all right, nearly all wrong, and costs that are at least 1."""
    wide = frame.merge(qrels, on=["qid", "docno"])
    wide["good"] = np.where(wide.index % 40 == 0, (wide["label"] + 1) % 3, wide["label"])
    wide["bad"] = np.where(wide.index % 40 == 0, wide["label"], (wide["label"] + 1) % 3)
    pool, cost = wide.drop(columns="label"), CostMatrix([[1, 1, 5], [5, 1, 1], [1, 5, 1]])
    for loss, low, high in ((ZeroOne(), 0, 1), (F1(), 0, 1), (cost, 1, 5)):
        for column in ("good", "bad"):
            audit = Audit.create(pool, {"first": column}, loss, draws=80, seed=3)
            known = wanted(audit, qrels)
            found = audit.estimate(known)["first"]
            assert found.bounds == (low, high)
            ends = found.confidence_interval(0.9999)
            assert low <= ends.low < truth(pool, qrels, loss, column) < ends.high <= high
            row = found.to_frame().iloc[0]
            assert (row["low"], row["high"]) == found.confidence_interval()


def test_bounds_of_losses_that_know_none_or_one_value_only(frame) -> None:
    fixed = Pairs.from_frame(frame, {"first": "a"}, CostMatrix([[2, 2, 2]] * 3), UnitCost())
    assert fixed.bounds(0) == (2, np.inf)
    real = frame.assign(f=0.5, f_variance=1.0)
    assert Pairs.from_frame(real, {"first": "f"}, GaussianSquared(), UnitCost()).bounds(0) == (0, np.inf)
    squared = Pairs.from_frame(frame.assign(f=0.5), {"first": "f"}, Squared(), UnitCost())
    assert squared.bounds(0) == (0.25, 2.25)


def test_disagreement_says_nothing_of_one_predictor(frame, qrels) -> None:
    audit = Audit.create(frame, BOTH, ZeroOne(), draws=100, design="disagreement")
    judged = audit.assessments.merge(frame, on=["qid", "docno"])
    assert (judged["a"] != judged["b"]).all()
    known = wanted(audit, qrels)
    with pytest.raises(ValueError, match="pairs that count in the risk of 'first' could never be drawn"):
        audit.estimate(known)
    low, high = audit.compare(known).confidence_interval(0.9999)
    assert low < truth(frame, qrels, ZeroOne(), "a") - truth(frame, qrels, ZeroOne(), "b") < high


def test_disagreement_of_all_pairs_that_differ_is_exact(frame, qrels) -> None:
    differ = (frame["a"] != frame["b"]).sum()
    for estimator in ("regression", "snis", "difference"):
        audit = Audit.create(frame, BOTH, ZeroOne(), draws=int(differ) + 1, design="disagreement")
        assert len(audit.assessments) == differ
        found = audit.compare(wanted(audit, qrels), estimator=estimator)
        exact = truth(frame, qrels, ZeroOne(), "a") - truth(frame, qrels, ZeroOne(), "b")
        assert found.difference == pytest.approx(exact, abs=1e-12)
        assert found.standard_error == 0
        assert found.pvalue == 0
        assert found.note == "every pair that counts was judged, so there is no sampling error"


@pytest.fixture(scope="module")
def one_by_chance() -> tuple[Audit, str]:
    """An audit of ten pairs that are sure to be drawn and thirty of which four were, and one of those four."""
    relevant = np.where(np.arange(40) < 10, 0.5, 1e-3)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(40)]})
    predicted = np.where(np.arange(40) < 10, np.arange(40) % 2, 0)
    frame = frame.assign(a=predicted, grade_0=1 - relevant, grade_1=relevant)
    audit = Audit.create(frame, {"first": "a"}, Recall(), draws=14, defensive=0.05)
    drawn = audit.pairs.query("draws > 0")
    assert (drawn["inclusion"] == 1).tolist() == [True] * 10 + [False] * 4
    return audit, drawn["docno"].iloc[-1]


@pytest.mark.parametrize("loss", [Recall(), F1()], ids=str)
@pytest.mark.parametrize("estimator", ["regression", "snis", "difference"])
def test_one_relevant_pair_that_came_by_chance_is_no_census(one_by_chance, loss: Loss, estimator: str) -> None:
    """The others that count were certain, so the whole error is that one's: ``√(1 − π) v |u − Ĝ w| / Σ v w``."""
    audit, lone = one_by_chance
    tables = audit.tables
    audit = Audit._of(replace(tables, pairs=replace(tables.pairs, loss=loss)))
    drawn = audit.pairs.query("draws > 0")
    known = drawn[["qid", "docno"]].assign(label=(drawn["inclusion"] == 1) | (drawn["docno"] == lone))
    simulated = audit.estimate(known.astype({"label": int}), estimator=estimator)["first"]
    assert simulated.degenerate
    assert "no interval, no test" in simulated.note
    found = by_t(audit.estimate, known.astype({"label": int}), estimator=estimator)["first"]
    assert found.value == simulated.value
    assert not found.basis.census
    assert not found.degenerate
    assert found.standard_error > 0.02
    low, high = found.confidence_interval()
    assert low < found.value < high
    if estimator == "snis":
        u, w = loss.terms(drawn["prediction_first"].to_numpy(), known["label"].to_numpy(float))
        v, chance = drawn["importance"].to_numpy(), drawn["inclusion"].to_numpy()
        assert found.value == pytest.approx((v @ u) / (v @ w), abs=1e-12)
        part = np.sqrt(1 - chance) * v * (u - found.value * w) / (v @ w)
        assert found.standard_error == pytest.approx(np.sqrt(part @ part), abs=1e-12)
        assert np.count_nonzero(part) == 1


def test_all_pairs_that_count_may_be_drawn_by_chance_without_a_census() -> None:
    frame = pd.DataFrame(
        {"qid": "q", "docno": [f"d{i:02d}" for i in range(12)], "a": 0, "grade_0": 0.5, "grade_1": 0.5}
    )
    frame["b"] = frame["docno"].isin(["d00", "d01"]).astype(int)
    audits = (Audit.create(frame, BOTH, ZeroOne(), draws=6, design="passive", seed=seed) for seed in range(1000))
    audit = next(each for each in audits if {"d00", "d01"} <= set(each.assessments["docno"]))
    found = audit.compare(audit.assessments[["qid", "docno"]].assign(label=1), estimator="difference")
    assert not found.basis.census
    assert found.standard_error > 0
    assert np.isnan(found.pvalue)


@pytest.mark.parametrize("estimator", ["regression", "snis", "difference"])
def test_a_lone_relevant_pair_that_came_by_chance_says_nothing(one_by_chance, estimator: str) -> None:
    audit, lone = one_by_chance
    known = audit.assessments[["qid", "docno"]].assign(label=lambda d: (d["docno"] == lone).astype(int))
    found = audit.estimate(known, estimator=estimator)["first"]
    assert found.value == pytest.approx(0, abs=1e-12)
    assert not found.basis.census
    if estimator == "difference":
        assert np.isnan(found.confidence_interval()).all()
        assert "cannot tell how far off the estimate is" in found.note
        assert "no interval" in str(found)
    else:
        assert found.confidence_interval() == (0, 1)
        assert "too few draws for an interval" in found.note


@pytest.mark.parametrize("design", ["passive", "optimal"])
def test_only_pairs_of_the_slice_are_drawn(frame, qrels, design: str) -> None:
    audit = Audit.create(frame, {"first": "a"}, Accuracy(slice="long"), draws=60, design=design)
    assert audit.pairs.loc[audit.pairs["draws"] > 0, "in_slice"].all()
    assert audit.pairs["draws"].sum() == 60
    alone = frame.assign(long=np.arange(len(frame)) == 7)
    audit = Audit.create(alone, {"first": "a"}, Accuracy(slice="long"), draws=200, design=design)
    found = audit.estimate(wanted(audit, qrels))["first"]
    assert (found.basis.n_judged, found.standard_error) == (1, 0)
    assert found.value == truth(alone, qrels, Accuracy(slice="long"), "a")
    for gap in GAP_DESIGNS:
        audit = Audit.create(frame, BOTH, ZeroOne(slice="long"), draws=10, design=gap)
        assert audit.pairs.loc[audit.pairs["draws"] > 0, "in_slice"].all()


# --- intervals and baselines ----------------------------------------------------------------------------------------


def test_strata(frame, qrels) -> None:
    audit = Audit.create(frame, {"first": "a"}, ZeroOne(), draws=100, design="stratified")
    pairs = audit.pairs
    assert np.bincount(pairs["stratum"]).tolist() == [80] * 5
    assert pairs.groupby("stratum")["draws"].sum().sum() == 100
    known = wanted(audit, qrels)
    found = audit.estimate(known)["first"]
    wrong = pairs.merge(known, how="left", on=["qid", "docno"]).assign(wrong=lambda d: d.label != d.prediction_first)
    shares = wrong[wrong["draws"] > 0].groupby("stratum")["wrong"].mean()
    assert found.value == pytest.approx(shares.mean(), abs=1e-12)
    assert found.basis.estimator == "stratified"
    drawn = pairs[pairs["draws"] > 0]
    assert (drawn["importance"] * drawn["inclusion"]).to_numpy() == pytest.approx(np.full(100, 100 / 400))
    with pytest.raises(ValueError, match="'stratified' is for the design of that name"):
        audit.estimate(known, estimator="snis")
    with pytest.raises(ValueError, match="for one predictor, not 2"):
        Audit.create(frame, BOTH, ZeroOne(), draws=50, design="stratified")
    with pytest.raises(ValueError, match="pass draws="):
        Audit.create(frame, {"first": "a"}, ZeroOne(), budget=50, design="stratified")


def test_real_labels_with_gaussian_variances() -> None:
    rng = np.random.default_rng(8)
    label = rng.normal(size=300)
    scale = rng.uniform(0.1, 1, 300)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(300)], "a": label + rng.normal(0, scale)})
    frame = frame.assign(a_variance=scale**2, b=0.0, b_variance=1.0)
    known = frame[["qid", "docno"]].assign(label=label)
    audit = Audit.create(frame, BOTH, GaussianSquared(), draws=120, seed=1)
    judged = wanted(audit, known)
    for name, column in BOTH.items():
        exact = ((frame[column] - label) ** 2).mean()
        low, high = audit.estimate(judged)[name].confidence_interval(0.9999)
        assert low < exact < high
    assert audit.compare(judged).winner == "first"
    with pytest.raises(ValueError, match="real labels have no uniform distribution"):
        Audit.create(frame, BOTH, GaussianSquared(), draws=20, design="hedged")
    with pytest.raises(ValueError, match="lacks 'b_variance'"):
        Audit.create(frame.drop(columns="b_variance"), BOTH, GaussianSquared(), draws=20)
    with pytest.raises(ValueError, match="expected an a_variance that is not negative"):
        Audit.create(frame.assign(a_variance=-1.0), BOTH, GaussianSquared(), draws=20)
    with pytest.raises(ValueError, match="expected a label that is a finite number"):
        audit.estimate(judged.assign(label=np.nan))
    with pytest.raises(ValueError, match="lacks 'label'"):
        audit.estimate(judged[["qid", "docno"]])


# --- bad input ------------------------------------------------------------------------------------------------------


def changed(frame: pd.DataFrame, **columns: object) -> pd.DataFrame:
    """The frame with one value in its fourth row replaced in each column."""
    frame = frame.astype({name: "float64" if name.startswith("grade") else "object" for name in columns})
    for name, value in columns.items():
        frame.loc[3, name] = value
    return frame


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda f: pd.concat([f, f[:1]]), {}, "document 'd0' occurs more than once in query 'q00'"),
        (
            lambda f: changed(f, a=np.nan),
            {},
            "row 3: expected an a that is a finite .*'d3' of query 'q00'; got nan",
        ),
        (lambda f: changed(f, a="good"), {}, "expected an a that is a finite number"),
        (lambda f: changed(f, b=3), {}, "expected a b that is a grade from 0 to 2, .*; got 3"),
        (lambda f: changed(f, grade_0=1.7), {}, "grade probabilities must be at least 0 and sum to 1"),
        (lambda f: f.drop(columns=["grade_0", "grade_1", "grade_2"]), {}, r"UniformGrades\(max_grade\)"),
        (lambda f: f.drop(columns="a"), {}, "lacks 'a'"),
        (lambda f: f[:0], {}, "has no pairs"),
        (lambda f: f.assign(c=0).rename(columns={"c": "a"}), {}, "column 'a' more than once"),
        (lambda f: f, {"predictions": {}}, "at least one predictor"),
        (lambda f: f, {"predictions": ["a"]}, r"at least one predictor, as {name: column}, got \['a'\]"),
        (lambda f: f, {"predictions": {1: "a"}}, "at least one predictor, as {name: column}, got {1: 'a'}"),
        (lambda f: f, {"predictions": {"x": 3}}, "at least one predictor, as {name: column}, got {'x': 3}"),
        (lambda f: f, {"loss": ZeroOne(slice=["a"])}, r"the slice of a loss must be the name of a column, got \['a'\]"),
        (lambda f: f, {"loss": "ZeroOne"}, "unknown loss 'ZeroOne'; the losses are ZeroOne"),
        (lambda f: f, {"replace": "no"}, "replace must be True or False, got 'no'"),
        (lambda f: f, {"cost": 1.0}, r"cost must be a labelling cost, such as UnitCost\(\) or ColumnCost"),
        (lambda f: f, {"budget": 0}, "budget must be a positive number, got 0"),
        (lambda f: f, {"budget": 1.0, "cost": ColumnCost()}, "does not pay for the dearest pair"),
        (lambda f: f, {"cost": UnitCost(per_query=2)}, "must not have a part per query"),
        (lambda f: f, {"budget": None}, "either budget= or draws="),
        (lambda f: f, {"draws": 5}, "either budget= or draws="),
        (lambda f: f, {"budget": None, "draws": 0}, "draws must be at least 1"),
        (lambda f: f, {"design": "best"}, "unknown design 'best'"),
        (lambda f: f, {"defensive": 2.0}, "defensive must lie between 0 and 1"),
        (lambda f: f, {"loss": Accuracy(slice="short")}, "lacks 'short'"),
        (lambda f: f, {"loss": Accuracy(slice="doc_cost")}, "slice 'doc_cost': expected values that are true or false"),
        (lambda f: f.assign(long=False), {"loss": Accuracy(slice="long")}, "slice 'long' holds no pair"),
        (lambda f: f.assign(a=0), {"loss": Precision()}, "no pair has a weight"),
        (lambda f: f, {"loss": Recall(rel=3)}, "above the highest grade, 2"),
        (lambda f: f, {"loss": F1(), "design": "disagreement"}, "those count in F1"),
        (lambda f: f, {"predictions": {"first": "a"}, "design": "disagreement"}, "there is only one"),
        (lambda f: f, {"predictions": {"first": "a", "twin": "a"}, "design": "disagreement"}, "agree on every pair"),
    ],
)
def test_bad_input(frame, change, arguments: dict, message: str) -> None:
    arguments = {"predictions": BOTH, "loss": ZeroOne(), "budget": 50} | arguments
    with pytest.raises(ValueError, match=message):
        Audit.create(change(frame), **arguments)
