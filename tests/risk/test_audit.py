"""Audits as people use them: frames in, a plan on disk, labels back, estimates, comparisons and rankings out."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import by_t, wanted
from scipy import stats

from pt_active import ColumnCost, UnitCost
from pt_active.relevance.losses import CrossEntropy, Loss
from pt_active.risk import F1, Accuracy, Audit, CostMatrix, GaussianSquared, Precision, Recall, Squared, ZeroOne

ONE = {"first": "a"}
BOTH = {"first": "a", "second": "b"}
FOUR = {"poor": "d", "best": "a", "good": "c", "fair": "b"}
COSTS = CostMatrix([[0, 1, 2], [1, 0, 1], [4, 2, 0]])
LONG = Accuracy(slice="long")
CENSUS = "every pair that counts was judged, so there is no sampling error"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """400 pairs of 40 queries with grades 0–2 of a model, labels, and judges that are right as often as said."""
    rng, n = np.random.default_rng(0), 400
    grades = rng.dirichlet([2.0, 1, 1], n)
    label = np.array([rng.choice(3, p=row) for row in grades])
    frame = pd.DataFrame({"qid": [f"q{i // 10:02d}" for i in range(n)], "docno": [f"d{i % 10}" for i in range(n)]})
    frame = frame.assign(**{f"grade_{g}": grades[:, g] for g in range(3)}, label=label)
    for name, right in {"a": 0.8, "b": 0.5, "c": 0.7, "d": 0.2}.items():
        frame[name] = np.where(rng.random(n) < right, label, rng.integers(0, 3, n))
    return frame.assign(long=rng.random(n) < 0.3, doc_cost=rng.uniform(0.5, 2, n))


def audited(frame: pd.DataFrame, predictions: dict[str, str], loss: Loss, **options) -> tuple[Audit, pd.DataFrame]:
    """An audit, of 150 pairs unless it says otherwise, and the labels that it asks for."""
    size = {} if "draws" in options else {"budget": 150}
    audit = Audit.create(frame, predictions, loss, **(size | {"seed": 1} | options))
    return audit, wanted(audit, frame)


def truth(frame: pd.DataFrame, loss: Loss, column: str = "a") -> float:
    inside = frame[frame[loss.slice]] if loss.slice else frame
    u, w = loss.terms(inside[column].to_numpy(float), inside["label"].to_numpy(float))
    return u.sum() / w.sum()


LOSSES = [(Squared(), "optimal"), (Recall(), "optimal"), (COSTS, "optimal"), (LONG, "passive"), (LONG, "stratified")]


@pytest.mark.parametrize(("loss", "design"), LOSSES, ids=str)
def test_a_census_is_the_truth(frame, loss, design):
    size = {"draws": 400} if design == "stratified" else {"budget": 400}
    found = Audit.create(frame, ONE, loss, design=design, **size).estimate(frame)["first"]
    assert found.value == pytest.approx(truth(frame, loss), abs=1e-12)
    assert (found.standard_error, found.note) == (0, CENSUS)
    assert found.confidence_interval() == (found.value, found.value)
    pairs = frame["long"].sum() if design == "passive" else 400
    assert f"census of {pairs} pairs of 40 queries" in str(found)


def test_a_difference_is_as_effective_as_the_risk_that_rests_on_less(frame):
    """The precision of a predictor that predicts few pairs to be relevant rests on those alone."""
    few = frame.assign(b=frame["b"].where(frame["qid"] < "q10", 0))
    audit, judged = audited(few, BOTH, Precision())
    alone = {name: each.n_effective for name, each in audit.estimate(judged).items()}
    assert alone["second"] < 0.6 * alone["first"]
    for first, second in (("first", "second"), ("second", "first")):
        found = audit.compare(judged, first=first, second=second)
        assert found.n_effective == pytest.approx(alone["second"])


@pytest.mark.parametrize("loss", [F1(rel=2, slice="long"), GaussianSquared()], ids=str)
def test_a_saved_audit_keeps_its_loss(frame, loss, tmp_path):
    audit, labels = audited(frame.assign(a_variance=1.0, b_variance=2.0), BOTH, loss, budget=60)
    again = Audit.load(audit.save(tmp_path / "audit").path)
    assert again.loss == loss
    compared = [by_t(each.compare, labels).to_frame() for each in (again, audit)]
    pd.testing.assert_frame_equal(*compared)  # A p-value may be NaN, which differs from itself


def test_the_worklist_and_what_it_costs(frame):
    audit, _ = audited(frame.assign(text="words"), BOTH, ZeroOne(), budget=50, cost=ColumnCost())
    worklist, drawn = audit.assessments, audit.pairs.query("draws > 0")
    assert list(worklist.columns) == ["qid", "docno", "text", "inclusion"]
    assert worklist.equals(worklist.sort_values(["qid", "docno"], ignore_index=True))
    np.testing.assert_array_equal(worklist["inclusion"], drawn["inclusion"])
    assert 45 < drawn["cost"].sum() <= 50
    assert audit.manifest["spent"] == pytest.approx(drawn["cost"].sum())
    assert f"{len(drawn)} of 400 pairs of 40 queries (design: optimal)" in audit._repr_html_()


def test_recall_without_a_relevant_pair_is_undefined(frame):
    audit, labels = audited(frame, BOTH, Recall(), budget=60)
    found, comparison = audit.estimate(labels.assign(label=0))["first"], audit.compare(labels.assign(label=0))
    assert np.isnan([found.value, *found.confidence_interval(), comparison.pvalue]).all()
    assert found.note == "no sampled pair counts in Recall, so the estimate is 0/0: judge more pairs"
    assert found.to_dict()["value"] is None
    assert comparison.winner is None
    assert "0/0" in str(comparison)


def test_no_error_in_the_sample(frame):
    audit, labels = audited(frame.assign(a=1), ONE, ZeroOne(), budget=30, design="passive")
    found = audit.estimate(labels.assign(label=1))["first"]
    assert (found.value, found.standard_error, found.degenerate) == (0, 0, False)
    none = "the interval is that of 30.0 pairs drawn at random of which none is an exception"
    assert found.note.startswith(found.basis.caution)
    assert found.basis.caution.endswith(none)
    squared = stats.t.ppf(0.975, found.degrees_of_freedom) ** 2
    assert found.confidence_interval() == pytest.approx((0, squared / (30 + squared)), abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "bounds"), [(F1(), (0, 1)), (CostMatrix([[1, 1, 5], [5, 1, 1], [1, 5, 1]]), (1, 5))], ids=str
)
def test_the_interval_of_a_risk_keeps_to_the_range_of_its_loss(frame, loss, bounds):
    """Nearly all right, and nearly all wrong."""
    right, wrong = frame["label"], (frame["label"] + 1) % 3
    for judge, other in ((right, wrong), (wrong, right)):
        pool = frame.assign(a=judge.where(frame.index % 40 != 0, other))
        audit, labels = audited(pool, ONE, loss, draws=80, seed=3)
        found = audit.estimate(labels)["first"]
        assert found.bounds == bounds
        low, high = found.confidence_interval(0.9999)
        assert bounds[0] <= low < truth(pool, loss) < high <= bounds[1]


def test_disagreement_compares_two_predictors_and_says_nothing_of_one(frame):
    exact, differ = truth(frame, ZeroOne()) - truth(frame, ZeroOne(), "b"), frame["a"] != frame["b"]
    audit, known = audited(frame, BOTH, ZeroOne(), draws=100, design="disagreement")
    assert len(known.merge(frame[differ], on=["qid", "docno"])) == len(known)
    with pytest.raises(ValueError, match="pairs that count in the risk of 'first' could never be drawn"):
        audit.estimate(known)
    low, high = audit.compare(known).confidence_interval(0.9999)
    assert low < exact < high
    every, known = audited(frame, BOTH, ZeroOne(), draws=int(differ.sum()) + 1, design="disagreement")
    found = every.compare(known)
    assert len(known) == differ.sum()
    assert found.difference == pytest.approx(exact, abs=1e-12)
    assert (found.standard_error, found.pvalue, found.note) == (0, 0, CENSUS)


@pytest.mark.parametrize(
    ("estimator", "lone", "note"),
    [
        ("regression", (0, 1), "too few draws for an interval"),
        ("snis", None, None),
        ("difference", (np.nan, np.nan), "cannot tell how far off the estimate is"),
    ],
)
def test_one_relevant_pair_that_came_by_chance_is_no_census(estimator, lone, note):
    """Ten pairs are sure to be drawn, and four of the thirty others are, of which the last is relevant.

    If the ten are too, the whole error is that one's: ``√(1 − π) v |u − Ĝ w| / Σ v w``; else there is no interval.
    """
    certain = np.arange(40) < 10
    relevant = np.where(certain, 0.5, 1e-3)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(40)], "a": certain * np.arange(40) % 2})
    frame = frame.assign(grade_0=1 - relevant, grade_1=relevant)
    audit = Audit.create(frame, ONE, Recall(), draws=14, defensive=0.05)
    drawn = audit.pairs.query("draws > 0").reset_index(drop=True)
    assert (drawn["inclusion"] == 1).tolist() == [True] * 10 + [False] * 4
    known = drawn[["qid", "docno"]].assign(label=[1] * 10 + [0] * 3 + [1])
    assert "no interval, no test" in audit.estimate(known, estimator=estimator)["first"].note
    found = by_t(audit.estimate, known, estimator=estimator)["first"]
    assert not found.basis.census
    assert found.standard_error > 0.02
    low, high = found.confidence_interval()
    assert low < found.value < high
    if estimator == "snis":
        u, w = Recall().terms(drawn["prediction_first"].to_numpy(), known["label"].to_numpy(float))
        v, chance = drawn["importance"], drawn["inclusion"]
        part = np.sqrt(1 - chance) * v * (u - found.value * w) / (v @ w)
        assert found.value == pytest.approx((v @ u) / (v @ w), abs=1e-12)
        assert found.standard_error == pytest.approx(abs(part).max(), abs=1e-12)
        return
    found = audit.estimate(known.assign(label=[0] * 13 + [1]), estimator=estimator)["first"]
    assert found.value == pytest.approx(0, abs=1e-12)
    assert not found.basis.census
    assert found.confidence_interval() == pytest.approx(lone, nan_ok=True)
    assert note in found.note


@pytest.mark.parametrize("design", ["optimal", "disagreement"])
def test_only_pairs_of_the_slice_are_drawn(frame, design):
    pairs = Audit.create(frame, BOTH, LONG, draws=30, design=design).pairs
    assert pairs.loc[pairs["draws"] > 0, "in_slice"].all()
    assert pairs["draws"].sum() == 30


def test_strata(frame):
    audit, known = audited(frame, ONE, ZeroOne(), draws=100, design="stratified")
    drawn = audit.pairs[audit.pairs["draws"] > 0].merge(known)
    shares = (drawn["label"] != drawn["prediction_first"]).groupby(drawn["stratum"]).mean()
    assert np.bincount(audit.pairs["stratum"]).tolist() == [80] * 5
    assert audit.estimate(known)["first"].value == pytest.approx(shares.mean(), abs=1e-12)
    assert (drawn["importance"] * drawn["inclusion"]).to_numpy() == pytest.approx(np.full(100, 100 / 400))
    with pytest.raises(ValueError, match="'stratified' is for the design of that name"):
        audit.estimate(known, estimator="snis")


RNG = np.random.default_rng(8)
REAL = pd.DataFrame({"qid": "q", "docno": [f"d{i:03d}" for i in range(300)], "label": RNG.normal(size=300)})
REAL = REAL.assign(a_variance=RNG.uniform(0.1, 1, 300) ** 2, b=0.0, b_variance=1.0)
REAL["a"] = RNG.normal(REAL["label"], np.sqrt(REAL["a_variance"]))


def test_real_labels_with_gaussian_variances():
    """Two predictors come with the variances of their errors."""
    audit, judged = audited(REAL, BOTH, GaussianSquared(), budget=120)
    for name, column in BOTH.items():
        low, high = audit.estimate(judged)[name].confidence_interval(0.9999)
        assert low < truth(REAL, GaussianSquared(), column) < high
    assert audit.compare(judged).winner == "first"
    with pytest.raises(ValueError, match="expected a label that is a finite number"):
        audit.estimate(judged.assign(label=np.nan))
    with pytest.raises(ValueError, match="lacks 'label'"):
        audit.estimate(judged[["qid", "docno"]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predictions": ["a"]}, r"at least one predictor, as {name: column}, got \['a'\]"),
        ({"predictions": {"x": 3}}, "got {'x': 3}"),
        ({"loss": ZeroOne(slice=["a"])}, r"the slice of a loss must be the name of a column, got \['a'\]"),
        ({"loss": "ZeroOne"}, "unknown loss 'ZeroOne'; it is an object of ZeroOne"),
        ({"replace": "no"}, "replace must be True or False, got 'no'"),
        ({"cost": 1.0}, r"cost must be a labelling cost, such as UnitCost\(\) or ColumnCost"),
        ({"budget": 0}, "budget must be a positive number, got 0"),
        ({"budget": 1.0, "cost": ColumnCost()}, "does not pay for the dearest pair"),
        ({"cost": UnitCost(per_query=2)}, "must not have a part per query"),
        ({"budget": None}, "either budget= or draws="),
        ({"draws": 5}, "either budget= or draws="),
        ({"budget": None, "draws": 0}, "draws must be at least 1"),
        ({"design": "best"}, "unknown design 'best'"),
        ({"defensive": 2.0}, "defensive must lie between 0 and 1"),
        ({"loss": Accuracy(slice="doc_cost")}, "row 0: expected a doc_cost that is true or false"),
        ({"loss": Accuracy(slice="none")}, "slice 'none' holds no pair"),
        ({"loss": Precision(), "predictions": {"first": "zero"}}, "no pair has a weight"),
        ({"loss": Recall(rel=3)}, "above the highest grade, 2"),
        ({"loss": CrossEntropy()}, r"grade_0 … grade_G to pt_active\.ActiveTest"),
        ({"loss": F1(), "design": "disagreement"}, "those count in F1"),
        ({"predictions": ONE, "design": "disagreement"}, "there is only one"),
        ({"predictions": {"first": "a", "twin": "a"}, "design": "disagreement"}, "agree on every pair"),
        ({"budget": None, "draws": 50, "design": "stratified"}, "for one predictor, not 2"),
        ({"predictions": ONE, "design": "stratified"}, "pass draws="),
        ({"frame": REAL, "loss": GaussianSquared(), "design": "hedged"}, "real labels have no uniform distribution"),
        ({"frame": REAL.drop(columns="b_variance"), "loss": GaussianSquared()}, "lacks 'b_variance'"),
        ({"frame": lambda f: pd.concat([f, f[:1]])}, "document 'd0' occurs more than once in query 'q00'"),
        ({"frame": lambda f: f.assign(a=f["a"].where(f.index != 3))}, "row 3: expected an a that is a finite .*nan"),
        ({"frame": lambda f: f.assign(b=3)}, "expected a b that is a grade from 0 to 2, .*; got 3"),
        ({"frame": lambda f: f.assign(grade_0=1.7)}, "grade probabilities must be at least 0 and sum to 1"),
        ({"frame": lambda f: f.loc[:, ~f.columns.str.startswith("grade")]}, r"UniformGrades\(max_grade\)"),
        ({"frame": lambda f: f[:0]}, "has no pairs"),
        ({"frame": lambda f: f.rename(columns={"long": "a"})}, "column 'a' more than once"),
    ],
)
def test_what_is_refused(frame, arguments, message):
    usual = {"frame": frame.assign(none=False, zero=0), "predictions": BOTH, "loss": ZeroOne(), "budget": 50}
    asked = usual | arguments
    if callable(asked["frame"]):
        asked["frame"] = asked["frame"](frame)
    with pytest.raises(ValueError, match=message):
        Audit.create(**asked)


@pytest.mark.parametrize("loss", [ZeroOne(), Precision(rel=2)], ids=str)
def test_the_best_stands_first_whichever_way_the_loss_runs(frame, loss):
    audit, labels = audited(frame, FOUR, loss, budget=1e6)
    ranking = audit.rank(labels)
    values = [found.value for found in ranking.estimates]
    assert values == sorted(values, reverse=not loss.lower_is_better)
    assert ranking.names[-1] == "poor"
    assert [len(group) for group in ranking.groups] == [1] * 4
    assert "sample      census of 400 pairs of 40 queries" in str(ranking)


@pytest.mark.filterwarnings("ignore:the model sees no variance")
def test_predictors_that_agree_have_no_test(frame):
    audit, qrels = audited(frame, FOUR | {"twin": "b"}, ZeroOne())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking = audit.rank(qrels)
    assert ranking.letters["twin"] == ranking.letters["fair"]
    pair = ranking.pairs().query("first == 'fair' and second == 'twin'").iloc[0]
    assert (pair["difference"], pair["winner"]) == (0, None)
    assert np.isnan(pair["pvalue_corrected"])
    assert "fair − twin: 'fair' and 'twin' agree on every pair that counts" in ranking.note
    assert ranking.note.endswith("; the interval of one risk alone may be too narrow")
    alone = np.nanmin([found.pvalue for found in ranking.comparisons])
    assert np.nanmin(ranking.corrected) == pytest.approx(9 * alone, abs=1e-15)  # none of nine tests is of the twins


def test_a_comparison_without_error_does_not_make_the_ranking_a_census(frame):
    """Two judges that differ on two pairs, both sure to be drawn; the others differ on many."""
    nearly = frame["a"].where(frame.index > 1, (frame["a"] + 1) % 3)
    predictions = {"best": "a", "nearly": "nearly", "poor": "d"}
    audit, known = audited(frame.assign(nearly=nearly), predictions, ZeroOne())
    ranking = audit.rank(known)
    assert sorted(found.basis.census for found in ranking.comparisons) == [False, False, True]
    assert not ranking.basis.census
    assert "census" not in str(ranking)
    assert "1 of 3 pairs has a note, see pairs() or --json; best − nearly: every pair that counts was " in ranking.note


def test_undefined_risks_stand_last(frame):
    """Nothing that the second judge calls relevant was drawn, so its precision is 0/0."""
    frame = frame.assign(a=(frame.index % 2) * 2, b=np.where(frame.index == 399, 2, 0))
    predictions = {"second": "b", "first": "a", "third": "c"}
    audit, labels = audited(frame, predictions, Precision(), draws=30, design="passive")
    assert labels.query("qid == 'q39' and docno == 'd9'").empty
    ranking = audit.rank(labels)
    assert ranking.names[-1] == "second"
    assert np.isnan(ranking.estimates[-1].value)
    undefined = ranking.pairs().query("second == 'second'")
    assert undefined["winner"].isna().tolist() == undefined["note"].str.contains("0/0").tolist() == [True, True]
    assert "3 of 3 pairs have a note" in ranking.note


@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1e-3, 1.0, 1e12]))
@settings(max_examples=4)
def test_the_unit_of_a_cost_neither_breaks_a_tie_nor_makes_one(seed, unit):
    """Judges a and b err in other pairs, at the same costs; c errs as b does, but for one error that costs more."""
    rng, pairs = np.random.default_rng(seed), 40
    label, order = rng.integers(0, 2, pairs), rng.permutation(pairs)
    frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(pairs)], "label": label})
    frame = frame.assign(**{f"grade_{g}": each for g, each in enumerate(rng.dirichlet([2.0, 1, 1], pairs).T)})
    for name, rows in (("a", order[:9]), ("b", order[9:18]), ("c", order[9:18])):
        frame[name] = frame["label"].where(~frame.index.isin(rows), 2)
    frame.loc[order[9], "c"] = 1 - label[order[9]]
    cost = np.array([[0.0, 1 + 1e-6, 1.0], [1 + 1e-6, 0.0, 1.0], [1.0, 1.0, 0.0]]) * unit
    audit, qrels = audited(frame, {name: name for name in "abc"}, CostMatrix(cost.tolist()), budget=pairs, seed=seed)
    ranking = audit.rank(qrels)
    assert ranking.names == ("a", "b", "c")
    assert ranking.groups == (("a", "b"), ("c",))
    tie = audit.compare(qrels, first="a", second="b")
    assert (tie.difference, tie.pvalue, tie.winner) == (0, 1, None)
    assert audit.compare(qrels, first="c", second="b").winner == "b"
