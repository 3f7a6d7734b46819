"""The reproduction of active testing runs, and its table holds what its docstring says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

POOL = 150, 8, (0.5, 2.0), 0.5


@pytest.fixture
def quick(script, monkeypatch):
    """The script with two rounds and small forests."""
    module = script("active_testing")
    monkeypatch.setattr(module, "ROUNDS", 2)
    monkeypatch.setattr(module, "FOREST", {"n_estimators": 3, "random_state": 0})
    return module


def test_the_table_and_the_picture(quick, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["active_testing.py", "--repetitions", "2", "--out", str(tmp_path)])
    quick.main()
    table = pd.read_csv(tmp_path / "active_testing.csv")
    assert set(table["data"]) == {"digits", "diabetes"}
    assert (table.loc[table["strategy"] == "uniform at once", "efficiency"] == 1).all()
    assert (table["rmse"] >= table["bias"].abs() - 1e-12).all()
    keys = ["statistic", "strategy", "round"]
    wide = table[table["statistic"].isin(["precision", "AUC"])].pivot(index=keys, columns="estimator", values="rmse")
    np.testing.assert_allclose(wide["aiipw"].dropna(), wide["aiipw_ratio"].dropna(), rtol=1e-9)
    assert set(table["strategy"]) == {"uniform at once", *quick.STRATEGIES}
    assert set(table["round"]) == {1, 2}
    singly = table[table["strategy"] == quick.LURE]
    assert set(singly["estimator"]) == set(quick.ESTIMATORS) - {"ailur", "ailur_ratio"}
    assert (tmp_path / "active_testing.png").stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "| diabetes: squared error | ori, singly |" in shown
    assert "relative to as many labels drawn uniformly at once" in shown


def test_queries_are_compared_with_plans(quick, pool_file) -> None:
    first, second, pairs = quick.pool_tasks(quick.read_judged_pool(pool_file), 0)
    assert [next(iter(task.statistics)) for task in (first, second, pairs)] == ["DCG@10", "ERR@10", "cross-entropy"]
    table = quick.replay_task(first, 2, 2, 0)
    assert set(table["strategy"]) == set(quick.SAMPLED)
    np.testing.assert_allclose(table["truth"], first.values.mean())
    plans = table[table["strategy"].str.startswith("Plan")]
    assert (plans["estimator"] == "regression").all()
    assert (plans["rmse"] > 0).all()


def test_one_at_a_time_lur_is_lure(quick) -> None:
    """The weights are those of Farquhar et al. (2021): 1 + (N − M)/(N − m) (1/((N − m + 1) q_m) − 1), over M."""
    task = quick.digits_task(0)
    rounds = quick.draw_round(
        quick.Steps.none_yet(task.score),
        task.size("ori", quick.Steps.none_yet(task.score)),
        30,
        "single",
        np.random.default_rng(1),
    )
    n, drawn = len(task.score), rounds.drawn
    m, q = rounds.step[drawn], rounds.probability[drawn]
    weight = (1 + (n - 30) / (n - m) * (1 / ((n - m + 1) * q) - 1)) / 30
    found = quick.estimates(task, rounds)
    np.testing.assert_allclose(found["cross-entropy", "lur"], weight @ task.values[drawn], rtol=1e-12)
    assert ("cross-entropy", "ailur") not in found
    assert {"lur_difference", "lur_regression", quick.SMOOTHED} < {name for _, name in found}
