"""The reproductions of audits on scikit-learn's data, in quick mode, and their shared pools."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active.risk import Squared, ZeroOne

pytest.importorskip("matplotlib")


def test_risk_curves(script, tmp_path, monkeypatch, capsys) -> None:
    curves = script("risk_curves")
    monkeypatch.setattr(curves, "SIZES", [10, 100])
    monkeypatch.setattr(curves, "LABELS", [50, 100])
    monkeypatch.setattr("sys.argv", ["risk_curves", "--out", str(tmp_path), "--quick", "--repetitions", "30"])
    curves.main()
    table = pd.read_csv(tmp_path / "risk_curves.csv")
    assert set(table["method"]) == set(script("audit_replays").METHODS)
    assert set(table["kind"]) == set(curves.KINDS)
    wide = table.pivot_table(index=["kind", "method"], columns="labels", values=["rmse", "width"])
    assert (wide["rmse"][100] < wide["rmse"][50]).mean() > 0.7
    assert (wide["width"][100] < wide["width"][50]).all()
    quality = pd.read_csv(tmp_path / "risk_quality.csv")
    assert quality["ratio"].between(0.3, 3).all()
    assert (quality.loc[quality["method"] == "passive", "ratio"] == 1).all()
    assert (tmp_path / "risk_curves.png").stat().st_size > 10_000
    assert "worse half" in capsys.readouterr().out


def test_model_comparison(script, tmp_path, monkeypatch, capsys) -> None:
    comparison = script("model_comparison")
    monkeypatch.setattr(comparison, "LABELS", [20, 150])
    monkeypatch.setattr(comparison, "SHOWN", [20, 150])
    monkeypatch.setattr("sys.argv", ["model_comparison", "--out", str(tmp_path), "--quick", "--repetitions", "60"])
    comparison.main()
    table = pd.read_csv(tmp_path / "model_comparison.csv")
    assert set(table["data"]) == {"digits", "diabetes"}
    for loss, group in table.groupby("loss"):
        assert set(group["design"]) == set(comparison.DESIGNS[loss])
        two = group[group["models"] == 2].pivot(index="design", columns="labels", values="accuracy")
        assert (two[150] > two[20]).all()
        assert two.loc["optimal", 150] > two.loc["passive", 150]
    assert (tmp_path / "model_comparison.png").stat().st_size > 10_000
    assert "| diabetes | squared | 2 |" in capsys.readouterr().out


@pytest.fixture
def contest(script):
    """Three predictors of two grades; the second predictor is far better."""
    rng = np.random.default_rng(0)
    chance, label = rng.random((60, 3)), rng.integers(0, 2, 60).astype(float)
    chance[:, 1] = np.where(rng.random(60) < 0.9, label, 1 - label)
    grades = np.stack([1 - chance.T, chance.T], axis=2)
    losses = {"zero-one": (ZeroOne(), (chance > 0.5).astype(float)), "squared": (Squared(), chance)}
    made = script("model_comparison").graded_contest
    return {name: made("small", name, loss, prediction, grades, label) for name, (loss, prediction) in losses.items()}


def test_the_best_of_all_is_picked_once_all_are_labelled(script, contest) -> None:
    comparison = script("model_comparison")
    for loss, each in contest.items():
        for design in comparison.DESIGNS[loss]:
            assert comparison.picked(each, [0, 1, 2], design, [59], 20, 1).tolist() == [1.0]


def test_the_label_model_is_the_mixture_of_those_compared(contest) -> None:
    view, both = contest["squared"].view([0, 2]), contest["squared"].prediction[:, [0, 2]]
    mixed = both.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(view.numerator, mixed * (1 - both) ** 2 + (1 - mixed) * both**2, atol=1e-12)


def test_regressions_say_how_sure_they_are(script) -> None:
    data = script("offline_data")
    split = data.diabetes(0)
    off, claimed = [], []
    for fit in data.regressions():
        mean, variance = fit(split.train[:60], split.train_label[:60], split.test)
        assert mean.shape == variance.shape == split.test_label.shape
        assert (variance > 0).all()
        off.append(((mean - split.test_label) ** 2).mean())
        claimed.append(variance.mean())
    assert len(set(off)) == 5
    np.testing.assert_array_less(np.divide(off, claimed), 4)
    np.testing.assert_array_less(0.25, np.divide(off, claimed))


def test_the_test_pools_are_another_distribution(script) -> None:
    data = script("offline_data")
    for make in (data.digits, data.diabetes):
        split = make(3)
        assert len(split.test) >= 1000
        assert split.test.shape == (len(split.test_label), split.train.shape[1])
        assert len(split.train) == len(split.train_label)
    digits = data.digits(3)
    assert set(digits.train_label) == set(digits.test_label) == {0.0, 1.0}
    assert data.diabetes(3).test[:, 2].mean() > 0.02


def test_a_certain_model_without_a_clue_does_no_harm(script) -> None:
    """Naive Bayes is certain of almost every pair; a regression line through the others must not ruin the estimate."""
    curves = script("risk_curves")
    problem = curves.problem_of("digits, naive Bayes", 10, 0)
    rows = script("audit_replays").rows_of(problem, [100], 100, 0).set_index("method")
    assert rows.loc["active + regression", "mse"] < 2 * rows.loc["passive", "mse"]
