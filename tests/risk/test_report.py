"""All that an audit says about its judges: exact with all labels, intervals that cover, and the labels still to get."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from samples import wanted
from scipy import stats
from sklearn import metrics

from pt_active.plans.answers.labelled import Settings
from pt_active.risk import Audit, ZeroOne
from pt_active.risk.pairs import judged_pool, with_beliefs
from pt_active.risk.report import AuditReport, asked_for

GRADES = 4
HOW = Settings(replays=False)


def world(pairs: int, seed: int, *wrong: float) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Labels of people, and judges who are wrong with the given probabilities, mostly by one grade."""
    rng = np.random.default_rng(seed)
    keys = pd.DataFrame({"qid": [f"q{i // 20}" for i in range(pairs)], "docno": [f"d{i}" for i in range(pairs)]})
    label = rng.choice(GRADES, pairs, p=[0.45, 0.3, 0.15, 0.1])
    judges = {}
    for number, share in enumerate(wrong):
        moved = np.clip(label + rng.choice([-1, 1, 2], pairs), 0, GRADES - 1)
        judges[f"judge{number}"] = keys.assign(label=np.where(rng.random(pairs) < share, moved, label))
    return keys.assign(label=label), judges


def audit_of(judges: dict[str, pd.DataFrame], budget: int, seed: int = 0) -> Audit:
    """An audit with four grades."""
    pool, columns = judged_pool(judges)
    design = "risk_mixture" if len(judges) > 1 else "optimal"
    return Audit.create(with_beliefs(pool, judges, GRADES - 1), columns, ZeroOne(), budget, design, seed)


def test_all_labels_give_what_scikit_learn_computes() -> None:
    truth, judges = world(80, 1, 0.3, 0.5)
    report = AuditReport.of(audit_of(judges, 80), truth, rel=2)
    people = truth["label"]
    exact = {
        "error": lambda own: (people != own).mean(),
        "precision": lambda own: metrics.precision_score(people >= 2, own >= 2),
        "recall": lambda own: metrics.recall_score(people >= 2, own >= 2),
        "f1": lambda own: metrics.f1_score(people >= 2, own >= 2),
        "kappa": lambda own: metrics.cohen_kappa_score(people, own, weights="quadratic"),
    }
    for (name, judge), (quantity, score) in product(judges.items(), exact.items()):
        found = report.estimates[quantity][name]
        value = score(judge["label"])
        assert [found.value, *found.confidence_interval()] == pytest.approx([value] * 3)


@pytest.mark.slow
def test_intervals_of_coefficients_cover() -> None:
    """150 audits of 60 of 600 pairs; coverage within three standard errors of .92 to .97."""
    truth, judges = world(600, 2, 0.3, 0.45)

    def asked(budget: int, seed: int) -> list:
        audit = audit_of(judges, budget, seed)
        judged = audit.judged(wanted(audit, truth))
        each = [asked_for(judged, quantity, 2) for quantity in ("kappa", "alpha")]
        return [result for of in each for result in (of.estimate(0, HOW), of.compare(0, 1, HOW))]

    exact = [result.confidence_interval().low for result in asked(600, 0)]
    hits, repetitions = np.zeros(4), 150
    for seed in range(repetitions):
        ends = [result.confidence_interval() for result in asked(60, seed)]
        hits += [low <= value <= high for (low, high), value in zip(ends, exact, strict=True)]
    low, high = stats.binom.ppf([0.00135, 0.99865], repetitions, [0.92, 0.97])
    assert ((low <= hits) & (hits <= high)).all(), hits / repetitions


def test_a_judge_that_calls_nothing_relevant_has_no_precision_and_all_else() -> None:
    truth, judges = world(60, 7, 0.3)
    silent = {"none": truth.assign(label=0)}
    report = AuditReport.of(audit_of(silent, 60), truth, rel=2)
    values = {name: of_judges["none"].value for name, of_judges in report.estimates.items()}
    assert values["error"] == pytest.approx((truth["label"] > 0).mean())
    assert values["recall"] == values["f1"] == values["kappa"] == 0
    precision = report.estimates["precision"]["none"]
    assert np.isnan([precision.value, *precision.confidence_interval()]).all()
    assert "of 'none', whatever its label, so it is not defined" in precision.note
    audit = audit_of(judges | silent | {"mute": silent["none"]}, 30)
    judged = asked_for(audit.judged(wanted(audit, truth)), "precision", 1)
    for first, second in ((0, 1), (1, 0), (1, 2)):
        found = judged.compare(first, second, HOW)
        assert np.isnan([found.difference, found.pvalue, *found.confidence_interval()]).all()
        assert "so it is not defined" in found.note


@pytest.mark.filterwarnings("error")
def test_the_differences_of_judges_that_agree_are_known_to_be_0() -> None:
    truth, judges = world(200, 8, 0.3)
    audit = audit_of(judges | {"twin": judges["judge0"]}, 50)
    judged = audit.judged(wanted(audit, truth))
    for quantity in ("error", "recall", "kappa"):
        found = asked_for(judged, quantity, 2).compare(0, 1, HOW)
        assert (found.difference, *found.confidence_interval(0.99), found.winner) == (0, 0, 0, None)
        assert found.note.endswith("agree on every pair that counts: the difference is known to be 0")
        assert "95% interval [0.0000, 0.0000]" in str(found)
        assert "nan" not in str(found)
    lacking = audit.compare(wanted(audit, truth).iloc[5:], missing="nonrelevant")
    assert tuple(lacking.confidence_interval()) == (0, 0)


def test_a_coefficient_of_equal_labels_is_not_defined_and_says_so() -> None:
    truth = world(30, 9)[0].assign(label=1)
    kappa = AuditReport.of(audit_of({"same": truth}, 30), truth).estimates["kappa"]["same"]
    assert np.isnan(kappa.value)
    assert kappa.note.startswith("Kappa is not defined: all labels in the sample are equal")


def test_pairs_that_one_judge_did_not_grade_are_left_out_and_counted() -> None:
    _, judges = world(60, 5, 0.2, 0.3)
    judges["judge1"] = judges["judge1"].iloc[:40]
    with pytest.warns(UserWarning, match="20 pairs are left out, which 'judge1' did not grade and others did"):
        assert len(judged_pool(judges)[0]) == 40


def test_past_labels_teach_the_errors_of_a_judge() -> None:
    truth, judges = world(400, 6, 0.5)
    pool = judged_pool(judges)[0]

    def fit(past: pd.DataFrame | None) -> float:
        grades = with_beliefs(pool, judges, GRADES - 1, past).merge(truth, on=["qid", "docno"])
        return -metrics.log_loss(grades["label"], grades.filter(like="grade_"))

    assert fit(truth.head(160)) > fit(None)
