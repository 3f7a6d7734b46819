"""The table and the picture of judging until a verdict, on a small generated pool."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

POOL = 40, 14, (0.5, 0.8, 2.0), 0.5

pytestmark = pytest.mark.filterwarnings("ignore:.*hand-picked")


@pytest.fixture
def graded(script, pool_file) -> pd.DataFrame:
    """The pool with grades of its first training fold's model."""
    return script("until_known").graded_pool(script("judged_pools").read_judged_pool(pool_file), {})


def test_the_tables_go_into_a_page(script, pool_file, monkeypatch, published) -> None:
    module = script("until_known")
    monkeypatch.setattr(module, "WIDTHS", {"small": (40,)})
    monkeypatch.setattr(module, "DIFFERENCES", (0.6,))
    text, printed = published(module, pool_file, "--quick", "--pairs", "small=2")
    assert printed.strip() in text
    assert text.count("\n### ") == 4
    assert text.count("| small | clear pair | 0.6 sd | ") == 1
    assert text.count("| small | near-tied pair | query | ") == 1
    assert text.count("\n| r") == 2
    assert "of 2 pairs" in text
    assert "| small | one ranker | 40 | ± " in text


def test_orders_end_after_fewer_labels_for_larger_differences(script, graded) -> None:
    module, contest = script("until_known"), script("verdicts").Contest.of(graded, ["r0", "r2"])
    for level in ("document", "query"):
        small, large = (
            pd.DataFrame(module.replayed(contest, level, deviations * contest.deviation, 1, 8, 0)).mean()
            for deviations in (0.3, 1.5)
        )
        assert 0 < large["labels"] < small["labels"] <= contest.size(level)
        assert large["wrong"] == 0
        assert large["asymptotic_labels"] <= contest.size(level)


def test_what_fixed_samples_need(script, graded) -> None:
    """Queries by the variance of a mean without replacement, documents by what the bets know of each."""
    verdicts = script("verdicts")
    contest = verdicts.Contest.of(graded, ["r0", "r1"])
    difference, m = 0.4 * contest.deviation, len(contest.population.target)
    n = contest.fixed("query", difference) / contest.population.documents.mean()
    assert pytest.approx(2.8016, abs=1e-4) == verdicts.DETECTED
    assert contest.deviation * np.sqrt(1 / n - 1 / m) * verdicts.DETECTED == pytest.approx(difference)

    budget = contest.fixed("document", difference)
    assert contest.error(budget) * verdicts.DETECTED == pytest.approx(difference, rel=0.02)
    assert contest.error(budget) < contest.error(budget - 1)
    (sequence,) = contest.sequences("document", budget, 1, 0)
    draws, units = sequence.proof.draws, sequence.proof.units
    error = (draws.value - draws.base[:-1]) * units.rate / units.left
    chance = -np.expm1(-units.rate)
    assert np.sqrt(error**2 @ (1 / chance - 1)) == pytest.approx(contest.error(budget))
    assert draws.base[-1] == pytest.approx(contest.truth)


def test_a_verdict_for_the_other_side_is_wrong(script, graded) -> None:
    verdicts = script("verdicts")
    contest = verdicts.Contest.of(graded, ["r0", "r2"])
    value, truth = contest.truth - 2 * contest.deviation, contest.truth
    for level in ("document", "query"):
        (sequence,) = contest.sequences(level, 100, 1, 0)
        right = verdicts.by_bets(sequence, value, truth)
        assert right.labels < contest.size(level)
        assert not right.wrong
        assert verdicts.by_bets(sequence, value, value - 1) == (right.labels, True)
        assert verdicts.by_bets(sequence, value, value) == (right.labels, True)
    (sequence,) = contest.sequences("document", 100, 1, 0)
    looked_at = verdicts.asymptotically(sequence, 100, value, truth)
    assert looked_at == (verdicts.FIRST_LOOK, False), "2 standard deviations are plain at the first look"
    assert verdicts.asymptotically(sequence, 100, value, value - 1) == (verdicts.FIRST_LOOK, True)


def test_the_running_mean_ends_as_the_estimate(script, graded) -> None:
    verdicts = script("verdicts")
    (sequence,) = verdicts.Contest.of(graded, ["r0", "r1"]).sequences("document", 100, 1, 0)
    mean, error, _ = verdicts.running(sequence.proof.draws)
    for n in (1, 30, 90):
        assert (mean[n - 1], error[n - 1]) == pytest.approx(sequence.proof.draws.first(n).estimate())


def test_the_picture_of_closing_in(script, pool_file, tmp_path, monkeypatch, capsys) -> None:
    module = script("closing_in")
    monkeypatch.setattr(module, "DIFFERENCES", (0.4, 0.8))
    monkeypatch.setattr(module, "LOOKS", 20)
    out = tmp_path / "new.png"
    monkeypatch.setattr("sys.argv", ["closing_in.py", str(pool_file), "--quick", "--out", str(out)])
    module.main()
    assert out.stat().st_size > 10_000
    assert (
        "Of 5 orders, the interval of a fixed sample first excluded 0 on the wrong side in" in capsys.readouterr().out
    )


def test_a_course_says_who_would_be_found_first(script, graded) -> None:
    module, contest = script("closing_in"), script("verdicts").Contest.of(graded, ["r0", "r2"])
    (course,) = module.courses(contest, 1, 0)
    apart = np.abs(course.mean) > course.half
    assert course.found >= module.FIRST_LOOK
    assert apart[course.found - 1]
    assert not apart[module.FIRST_LOOK - 1 : course.found - 1].any()
    sign = np.sign(course.mean[course.found - 1])
    assert course.misled(-sign)
    assert not course.misled(sign)
    assert not course._replace(found=0).misled(-sign)
