"""How many more labels an audit asks for: enough, not far too many, and only where somebody can say."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pt_active.risk import Audit, ZeroOne
from pt_active.risk.judges import judged_pool, with_beliefs
from pt_active.risk.page import headline
from pt_active.risk.report import AuditReport, labels_to_settle

PAIRS = 600


def world(*wrong: float) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Labels 0 and 1 of people, and judges that are wrong with the given probabilities."""
    rng = np.random.default_rng(4)
    keys = pd.DataFrame({"qid": [f"q{i // 20}" for i in range(PAIRS)], "docno": [f"d{i}" for i in range(PAIRS)]})
    label = rng.integers(0, 2, PAIRS)
    judges = {
        f"judge{number}": keys.assign(label=np.where(rng.random(PAIRS) < share, 1 - label, label))
        for number, share in enumerate(wrong)
    }
    return keys.assign(label=label), judges


def audit_of(judges: dict[str, pd.DataFrame], budget: int | None, seed: int = 0, **how: object) -> Audit:
    pool, columns = judged_pool(judges)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Audit.create(with_beliefs(pool, judges, 1), columns, ZeroOne(), budget, seed=seed, **how)


def labels(audit: Audit, truth: pd.DataFrame) -> pd.DataFrame:
    return audit.assessments[["qid", "docno"]].merge(truth, on=["qid", "docno"])


def report_of(audit: Audit, truth: pd.DataFrame) -> AuditReport:
    return AuditReport.of(audit, labels(audit, truth), by_grade=False)


def told(report: AuditReport) -> str:
    return dict(headline(report).facts)["next"]


def test_the_labels_that_are_asked_for_settle_it_four_times_out_of_five() -> None:
    """The advice of eight audits, given the true difference; then as many audits with so many labels."""
    truth, judges = world(0.25, 0.4)
    errors = [(judge["label"] != truth["label"]).mean() for judge in judges.values()]
    asked = []
    for seed in range(8):
        audit = audit_of(judges, 30, seed)
        pair = audit.compare(labels(audit, truth), reference="effective")
        known = replace(pair, difference=errors[0] - errors[1])
        more = labels_to_settle(audit.judged(labels(audit, truth)), [(known, 0.95)])
        assert (more.better, more.other) == ("judge0", "judge1")
        asked.append(30 + more.labels)
    number, repeats = round(np.mean(asked)), 60
    assert 45 < number < PAIRS / 2
    settled = 0
    for seed in range(100, 100 + repeats):
        audit = audit_of(judges, number, seed)
        settled += audit.compare(labels(audit, truth), reference="effective").winner == "judge0"
    assert abs(settled / repeats - 0.8) < 3 * np.sqrt(0.8 * 0.2 / repeats)


def test_so_many_labels_halve_the_interval_of_one_judge() -> None:
    truth, judges = world(0.3)
    first = audit_of(judges, 60)
    report = report_of(first, truth)
    assert told(report).startswith("Decide whether so many errors are acceptable. About ")
    assert told(report).endswith("with a larger budget and the same seed: it holds all pairs of this one.")
    larger = audit_of(judges, 60 + int(report.further.labels))
    pairs = [{*map(tuple, each.assessments[["qid", "docno"]].to_numpy())} for each in (first, larger)]
    assert pairs[0] < pairs[1]
    wide, narrow = (
        np.diff(each.estimates["error"]["judge0"].confidence_interval())[0]
        for each in (report, report_of(larger, truth))
    )
    assert narrow / wide == pytest.approx(0.5, abs=0.12)


def test_pairs_that_are_drawn_once_run_out() -> None:
    """The variance of n of N pairs goes with 1/n − 1/N, so 400 of 600 have a quarter of that of 200."""
    truth, judges = world(0.3)
    report = report_of(audit_of(judges, 200, design="passive"), truth)
    number = 1 / ((1 / 200 - 1 / PAIRS) / 4 + 1 / PAIRS)
    assert report.further.labels == pytest.approx(number - 200, abs=1)


def test_with_replacement_the_error_falls_with_the_root_of_the_draws() -> None:
    truth, judges = world(0.3)
    audit = audit_of(judges, None, draws=50, replace=True)
    report = report_of(audit, truth)
    assert report.further.labels == 3 * 50
    assert "same seed" not in told(report)


def test_where_nobody_can_say_how_many_it_says_what_it_takes() -> None:
    truth, judges = world(0.0)
    twins = judges | {"judge1": judges["judge0"]}
    assert told(report_of(audit_of(twins, 60), truth)).startswith("Choose by their price: no label can tell judges")
    close = world(0.30, 0.31)
    said = told(report_of(audit_of(close[1], 60), close[0]))
    assert said.startswith("If judge")
    assert "most of the pool would have to be judged to see it: decide on other grounds, such as cost. As many" in said
    assert said.endswith(" points.")
    settled = report_of(audit_of(world(0.1, 0.5)[1], 200), truth)
    assert settled.further is None
    assert told(settled) == "Keep judge0; nothing more is to be judged for this question."
    unknown = replace(report_of(audit_of(close[1], 60), close[0]), further=None)
    assert told(unknown).startswith("Choose by their price, or judge more pairs. How many cannot be said: it takes ")


def test_many_judges_are_asked_about_the_best_one() -> None:
    truth, judges = world(0.2, 0.3, 0.45)
    report = report_of(audit_of(judges, 60), truth)
    assert report.ranking.names[0] in (report.further.better, report.further.other)
    assert report.ranking.winners[0] is None
