"""Differences on a report: intervals that agree with the test, and shares of values that are surely above 0."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan
from pt_active.plans.answers.report.report import Report


def of_noisy_rankers(seed: int, rankers: str, draws: int) -> Report:
    """The report of rankers that differ little, on few queries."""
    rng, rows = np.random.default_rng(seed), []
    for query in range(40):
        grade = rng.integers(0, 3, 10)
        ranks = {
            f"rank_{name}": np.argsort(np.argsort(-(grade * skill + rng.normal(0, 1, 10))))
            for name, skill in zip(rankers, (0.2, 0.4, 0.7, 0.6), strict=False)
        }
        rows.append(pd.DataFrame({"qid": f"q{query}", "docno": [f"d{d}" for d in range(10)], "label": grade} | ranks))
    frame = pd.concat(rows, ignore_index=True)
    flat = frame.assign(grade_0=1 / 3, grade_1=1 / 3, grade_2=1 / 3).drop(columns="label")
    plan = Plan.create(flat, None, "DCG@5", draws=draws, level="query", seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Report.of(plan, plan.assessments[["qid", "docno"]].merge(frame[["qid", "docno", "label"]]))


@pytest.mark.parametrize(("rankers", "seeds"), [("abc", (17, 20, 23)), ("abcd", (6, 8, 9))])
def test_the_first_screen_never_contradicts_its_interval(rankers: str, seeds: tuple[int, ...]) -> None:
    """An interval excludes 0 just where there is a winner, also where only a later step of Holm's test finds one."""
    later = 0
    for seed in seeds:
        report = of_noisy_rankers(seed, rankers, 18)
        head, ranking = report.headline, report.result
        best, m = ranking.names[0], len(report.differences)
        ordered = sorted(each.pvalue for each in ranking.comparisons)
        for pair, compared in zip(report.differences, ranking.comparisons, strict=True):
            assert (pair.names, pair.value) == ((compared.first, compared.second), compared.difference)
            told = pair.first if pair.low > 0 else pair.second if pair.high < 0 else None
            assert pair.winner == told
            if pair.alone:
                step = m - ordered.index(compared.pvalue)
                assert pair.confidence == pytest.approx(1 - 0.05 / step)
                assert min(compared.confidence_interval(1 - 0.05 / m), key=abs) * compared.difference < 0
                assert f"except for {pair.what}" in report.to_html().replace("&#39;", "'")
        later += sum(pair.alone for pair in report.differences)
        first = next(pair for pair in report.differences if {best, ranking.names[1]} == set(pair.names))
        if head.state == "settled":
            assert head.answer == f"{best} is the best of {len(rankers)} rankers on these 40 queries."
            assert f"{best} is better by" in head.meaning
            assert ("for the pair alone" in head.meaning) == first.alone
        else:
            assert "these labels do not show which" in head.answer
            assert any(best in pair.names and pair.winner != best for pair in report.differences)
        assert ("worse and" in head.meaning) == (first.winner is None)
    assert later


def test_a_share_of_what_may_be_nothing_is_not_shown() -> None:
    """The difference is sure, since documents were drawn for it, but the value of the worse ranker may be 0."""
    rng, rows = np.random.default_rng(7), []
    for query in range(100):
        grade = (rng.random(8) < rng.beta(0.5, 2)) * rng.integers(1, 3, 8)
        ranks = {
            f"rank_{n}": np.argsort(np.argsort(-(grade * s + rng.normal(0, 1, 8)))) for n, s in (("a", 0.3), ("b", 1))
        }
        rows.append(pd.DataFrame({"qid": f"q{query}", "docno": [f"d{d}" for d in range(8)], "label": grade} | ranks))
    frame = pd.concat(rows, ignore_index=True)
    skewed = frame.assign(grade_0=0.6, grade_1=0.2, grade_2=0.2).drop(columns="label")
    plan = Plan.create(skewed, None, "DCG@5", budget=150, level="document", seed=23)
    qrels = plan.assessments[["qid", "docno"]].merge(frame[["qid", "docno", "label"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        base = plan.estimate(qrels)["a"]
        reports = Report.of(plan, qrels), Report.of(plan, qrels, status=plan.status(qrels))
    assert base.confidence_interval().low < 0 < base.value
    for report in reports:
        assert {each.relative for each in report.differences} == {None}
        assert report.headline.relative == ""
        assert report.headline.number
        assert "% of" not in report.to_html()
