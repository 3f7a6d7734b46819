"""All that an audit says of its judges: exact with all labels, and intervals that cover the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active.plans.answers.judged import How
from pt_active.risk import Audit, ZeroOne
from pt_active.risk.judges import judged_pool, with_beliefs
from pt_active.risk.page import page
from pt_active.risk.report import AuditReport, asked_for

GRADES = 4


def world(pairs: int, seed: int, wrong: tuple[float, ...]) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Labels of people, and judges who are wrong with the given probabilities, mostly by one grade."""
    rng = np.random.default_rng(seed)
    keys = pd.DataFrame({"qid": [f"q{i // 20}" for i in range(pairs)], "docno": [f"d{i}" for i in range(pairs)]})
    label = rng.choice(GRADES, pairs, p=[0.45, 0.3, 0.15, 0.1])
    judges = {}
    for number, share in enumerate(wrong):
        moved = np.clip(label + rng.choice([-1, 1, 2], pairs), 0, GRADES - 1)
        judges[f"judge{number}"] = keys.assign(label=np.where(rng.random(pairs) < share, moved, label))
    return keys.assign(label=label), judges


def audit_of(judges: dict[str, pd.DataFrame], budget: int, seed: int = 0, design: str = "risk_mixture") -> Audit:
    pool, columns = judged_pool(judges)
    pool = with_beliefs(pool, judges, GRADES - 1)
    return Audit.create(pool, columns, ZeroOne(), budget, design if len(columns) > 1 else "optimal", seed)


def labels(audit: Audit, truth: pd.DataFrame) -> pd.DataFrame:
    return audit.assessments[["qid", "docno"]].merge(truth, on=["qid", "docno"])


@pytest.fixture(scope="module")
def census() -> tuple[AuditReport, pd.DataFrame, dict[str, pd.DataFrame]]:
    truth, judges = world(80, 1, (0.3, 0.5))
    audit = audit_of(judges, 80)
    return AuditReport.of(audit, labels(audit, truth), rel=2), truth, judges


def test_all_labels_give_what_scikit_learn_computes(census) -> None:
    from sklearn import metrics

    report, truth, judges = census
    for name, judge in judges.items():
        both = truth.merge(judge, on=["qid", "docno"])
        people, said = both["label_x"], both["label_y"]
        wanted = {
            "error": (people != said).mean(),
            "precision": metrics.precision_score(people >= 2, said >= 2),
            "recall": metrics.recall_score(people >= 2, said >= 2),
            "f1": metrics.f1_score(people >= 2, said >= 2),
            "kappa": metrics.cohen_kappa_score(people, said, weights="quadratic"),
        }
        for quantity, value in wanted.items():
            estimate = report.estimates[quantity][name]
            assert estimate.value == pytest.approx(value), quantity
            assert tuple(estimate.confidence_interval()) == pytest.approx((value, value)), quantity
        shares = report.by_grade[report.by_grade["judge"] == name].set_index(["said", "label"])["share"]
        confusion = pd.crosstab(said, people, normalize="index")
        for (grade, label), share in shares.items():
            assert share == pytest.approx(confusion.get(label, pd.Series(dtype=float)).get(grade, 0.0))


def test_what_two_judges_say_is_known_without_labels(census) -> None:
    report, _, judges = census
    said = [judge["label"].to_numpy() for judge in judges.values()]
    drift = report.drift.set_index("what")["estimate"]
    assert drift["share of pairs with another grade"] == pytest.approx((said[0] != said[1]).mean())
    assert drift["difference in the mean grade"] == pytest.approx((said[0] - said[1]).mean())


@pytest.mark.slow
def test_intervals_of_coefficients_cover() -> None:
    """150 audits of 60 of 600 pairs; coverage within three standard errors of .92 to .97."""
    truth, judges = world(600, 2, (0.3, 0.45))
    exact = audit_of(judges, 600)
    how: How = How(ZeroOne(), reference="effective")
    quantities = ("kappa", "alpha")
    wanted = []
    for quantity in quantities:
        whole = asked_for(exact.judged(labels(exact, truth)), quantity, 2)
        wanted += [whole.estimate(0, how).value, whole.compare(0, 1, how).difference]
    hits = np.zeros(4)
    repetitions = 150
    for seed in range(repetitions):
        audit = audit_of(judges, 60, seed)
        judged = audit.judged(labels(audit, truth))
        asked = [asked_for(judged, quantity, 2) for quantity in quantities]
        made = [result for each in asked for result in (each.estimate(0, how), each.compare(0, 1, how))]
        ends = [result.confidence_interval() for result in made]
        hits += [low <= value <= high for (low, high), value in zip(ends, wanted, strict=True)]
    low, high = stats.binom.ppf([0.00135, 0.99865], repetitions, [0.92, 0.97])
    assert ((low <= hits) & (hits <= high)).all(), hits / repetitions


def test_the_page_holds_all_numbers_and_no_link(census) -> None:
    report = census[0]
    text = page(report)
    assert report.answer in text
    assert "http" not in text.replace("http://www.w3.org", "")
    for title in ("How often is a judge wrong?", "Agreement by grade", "How to make the audit again"):
        assert title in text


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_a_judge_that_calls_nothing_relevant_has_no_precision_and_all_else(rel: int) -> None:
    truth, _ = world(60, 7, ())
    judges = {"none": truth.assign(label=0)}
    audit = audit_of(judges, 60)
    report = AuditReport.of(audit, labels(audit, truth), rel)
    values = {name: of_judges["none"].value for name, of_judges in report.estimates.items()}
    assert np.isnan(values.pop("precision"))
    assert values["error"] == pytest.approx((truth["label"] > 0).mean())
    assert values["recall"] == values["f1"] == values["kappa"] == 0
    precision = report.estimates["precision"]["none"]
    assert np.isnan(precision.confidence_interval()).all()
    assert "of 'none', whatever its label, so it is not defined" in precision.note
    assert "judge more pairs" not in precision.note
    assert "is not defined" in page(report)


def test_a_difference_to_an_undefined_precision_is_not_defined() -> None:
    truth, judges = world(200, 7, (0.3,))
    silent = truth.assign(label=0)
    audit = audit_of(judges | {"none": silent, "mute": silent}, 60)
    judged = asked_for(audit.judged(labels(audit, truth)), "precision", 1)
    for first, second in ((0, 1), (1, 0), (1, 2)):
        found = judged.compare(first, second, How(ZeroOne()))
        assert np.isnan([found.difference, found.pvalue, *found.confidence_interval()]).all()
        assert "so it is not defined" in found.note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("budget", [50, 200])
def test_the_differences_of_judges_that_agree_are_known_to_be_0(budget: int) -> None:
    truth, judges = world(200, 8, (0.3,))
    audit = audit_of(judges | {"twin": judges["judge0"]}, budget)
    report = AuditReport.of(audit, labels(audit, truth))
    differences = report.drift[report.drift["what"].str.startswith("difference")]
    assert len(differences) == 5
    assert (differences[["estimate", "low", "high"]] == 0).all(axis=None)
    assert report.answer == "judge0 and twin give every pair the same grade, so they err equally often."
    assert set(report.kept) == {"judge0", "twin"}
    judged = audit.judged(labels(audit, truth))
    for quantity in ("error", "precision", "recall", "f1", "kappa", "alpha"):
        found = asked_for(judged, quantity, 2).compare(0, 1, How(ZeroOne()))
        assert (found.difference, *found.confidence_interval(0.99)) == (0, 0, 0)
        assert found.winner is None
        assert found.note.endswith("agree on every pair that counts: the difference is known to be 0")
        assert "95% interval [0.0000, 0.0000]" in str(found)
        assert "nan" not in str(found)
        assert found.to_dict()["pvalue"] is None
    with pytest.raises(ValueError, match="confidence_level"):
        found.confidence_interval(2.0)


def test_missing_labels_leave_a_known_difference_known() -> None:
    truth, judges = world(200, 8, (0.3,))
    audit = audit_of(judges | {"twin": judges["judge0"]}, 200)
    found = audit.compare(labels(audit, truth).iloc[5:], missing="nonrelevant")
    assert tuple(found.confidence_interval()) == (0, 0)
    assert "known to be 0" in found.note


@pytest.mark.parametrize("budget", [10, 40])
def test_pairs_that_one_judge_did_not_grade_are_refused_or_left_out(budget: int) -> None:
    _, judges = world(60, 5, (0.2, 0.3))
    judges["judge1"] = judges["judge1"].iloc[: 60 - budget // 2]
    with pytest.raises(ValueError, match=f"'judge1' has no label for {budget // 2} pairs that others graded"):
        judged_pool(judges)
    assert len(judged_pool(judges, common=True)[0]) == 60 - budget // 2


def test_past_labels_teach_the_errors_of_a_judge() -> None:
    truth, judges = world(400, 6, (0.5,))
    past = truth[truth["qid"].isin(["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"])]
    pool, columns = judged_pool(judges)
    learned = with_beliefs(pool, judges, GRADES - 1, past)
    both = learned.merge(truth, on=["qid", "docno"])
    near = with_beliefs(pool, judges, GRADES - 1).merge(truth, on=["qid", "docno"])
    fit = [np.log([row[f"grade_{row['label']}"] for row in frame.to_dict("records")]).mean() for frame in (both, near)]
    assert fit[0] > fit[1]
    assert list(columns) == ["judge0"]


def test_a_census_of_judges_with_as_many_errors_says_so() -> None:
    for judges in (2, 3):
        frame = pd.DataFrame({"qid": "q", "docno": [f"d{i:02d}" for i in range(30)], "grade_0": 0.6, "grade_1": 0.4})
        label = np.arange(30) % 2
        names = [f"judge{j}" for j in range(judges)]
        for j, name in enumerate(names):
            frame[name] = np.where(np.arange(30) // 7 == j, 1 - label, label)
        qrels = frame[["qid", "docno"]].assign(label=label)
        audit = Audit.create(frame.assign(bad=1 - label), {each: each for each in names}, ZeroOne(), budget=30)
        said = f"{', '.join(names[:-1])} and {names[-1]} err equally often"
        assert AuditReport.of(audit, qrels).answer == f"{said}."
        worse = {each: each for each in [*names, "bad"]}
        audit = Audit.create(frame.assign(bad=1 - label), worse, ZeroOne(), budget=30)
        assert AuditReport.of(audit, qrels).answer == f"{said}; each of the others errs more often."
