"""The reproductions of errors and sampling distributions on a small generated pool, and savings in theory."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active.inference.replay import Method, Population
from pt_active.relevance.moments import Moments
from pt_active.studies.simulate import replays

pytest.importorskip("matplotlib")

FILES = {
    "estimation_error": ["estimation_error"],
    "model_selection_error": ["model_selection_error"],
    "sampling_distribution": ["sampling_distribution", "distinct_queries"],
}


@pytest.fixture(scope="module")
def pool_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 queries of 4 to 8 documents with lengths, in 5 folds; three rankers, each noisier than the one before."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"qid": np.repeat([f"q{q:03d}" for q in range(120)], 8), "docno": np.tile([f"d{d}" for d in range(8)], 120)}
    )
    frame = frame[frame["docno"].str[1:].astype(int) < 4 + np.repeat(np.arange(120) % 5, 8)].reset_index(drop=True)
    quality = pd.Series(rng.normal(size=len(frame)))
    frame["label"] = np.digitize(quality, [0.5, 1.3])
    frame["fold"] = frame["qid"].str[1:].astype(int) % 3 + 1
    frame["length"] = rng.integers(5, 300, len(frame))
    frame["features"] = list(np.column_stack([quality + rng.normal(size=len(frame)), rng.normal(size=len(frame))]))
    for number, noise in enumerate((0.3, 0.8, 3.0)):
        frame[f"score_r{number}"] = quality + noise * rng.normal(size=len(frame))
        rank = frame.groupby("qid")[f"score_r{number}"].rank(ascending=False)
        frame[f"rank_r{number}"] = rank.astype(int) - 1
    path = tmp_path_factory.mktemp("pool") / "small.parquet"
    frame.to_parquet(path)
    return path


@pytest.mark.parametrize("name", FILES)
def test_each_script_writes_its_figures(name, script, pool_file, tmp_path, monkeypatch, capsys) -> None:
    module = script(name)
    monkeypatch.setattr(script("figures"), "STEPS", 3)
    argv = [name, str(pool_file), "--out", str(tmp_path / "new"), "--quick", "--repetitions", "20"]
    monkeypatch.setattr("sys.argv", [*argv, "--measure", "DCG@5"])
    module.main()
    printed = capsys.readouterr().out
    for stem in FILES[name]:
        assert f"wrote {tmp_path / 'new' / stem}.csv" in printed
        assert (tmp_path / "new" / f"{stem}.png").stat().st_size > 10_000
        table = pd.read_csv(tmp_path / "new" / f"{stem}.csv")
        assert table["data"].unique().tolist() == ["small"]
        assert table["measure"].unique().tolist() == ["DCG@5"]


@pytest.mark.parametrize("name", ["estimation_error", "model_selection_error"])
def test_the_same_seed_gives_the_same_numbers(name, script, pool_file, monkeypatch) -> None:
    module, pool = script(name), script("judged_pools").read_judged_pool(pool_file)
    monkeypatch.setattr(script("figures"), "STEPS", 2)
    options = Namespace(repetitions=20, seed=3, quick=True, train_folds=None, measure=["ERR"])
    once, again = (pd.concat(module.replayed(pool, 1, options)) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)


def test_lengths_are_the_cost_where_there_are_some(script, pool_file) -> None:
    pools = script("judged_pools")
    pool = pools.read_judged_pool(pool_file)
    assert pool.cost.column == "length"
    shorter = pools.JudgedPool("x", pool.frame.drop(columns="length"), 2, [1])
    assert type(shorter.cost).__name__ == "UnitCost"


def test_the_relative_probabilities_average_to_one(script) -> None:
    rows = script("sampling_distribution").distribution_rows(population(np.random.default_rng(0), 50))
    assert rows["relative"].mean() == pytest.approx(1)
    assert rows["cost"].mean() == pytest.approx(1)


def population(rng: np.random.Generator, m: int) -> Population:
    """One system, whose grade model explains half of the variance."""
    model, noise, cost = rng.normal(3, 1, m), rng.normal(0, 1, m), rng.uniform(1, 5, m)
    moments = Moments(model[:, None], np.ones((m, 1, 1)))
    documents = np.ones(m, dtype=np.int64)
    return Population((model + noise)[:, None], moments, moments, cost, np.full(m, 1 / m), documents)


def test_a_large_pool_saves_what_theory_says(script) -> None:
    """The best saving is computed by hand; replays from a very large pool agree with a design's predicted saving."""
    figures, pool = script("figures"), population(np.random.default_rng(1), 2000)
    assert figures.asymptotic_saving(pool, pool.weight) == pytest.approx(0)
    saving = figures.asymptotic_savings(pool)
    best, spread = saving["perfect"], np.abs(pool.target - pool.truth)
    by_hand = 1 - np.mean(spread * np.sqrt(pool.cost)) ** 2 / (np.mean(spread**2) * np.mean(pool.cost))
    assert best == pytest.approx(by_hand)
    assert 0 < saving["asymptotic"] < best
    methods = {name: Method(name, "snis") for name in ("passive", "optimal")}
    found = replays(pool, methods.values(), 2000, budgets=[40 * pool.cost.mean()], seed=2, progress=False)
    squared = {name: found[method].error[0] ** 2 for name, method in methods.items()}
    ratio = squared["optimal"].mean() / squared["passive"].mean()
    error = np.hypot(*(s.std() / s.mean() / np.sqrt(2000) for s in squared.values())) * ratio
    assert abs(ratio - (1 - saving["asymptotic"])) < 3 * error


def test_ratios_are_to_passive_sampling_of_the_same_step(script) -> None:
    frame = pd.DataFrame(
        {
            "data": "x",
            "step": [0, 1, 0, 1],
            "method": ["optimal", "optimal", "passive", "passive"],
            "mae": [1.0, 3.0, 2.0, 4.0],
            "mae_se": 0.2,
        }
    )
    table = script("figures").with_ratio(frame, ["data", "step"], "mae")
    assert table["ratio"].tolist() == [0.5, 0.75, 1, 1]
    np.testing.assert_allclose(table["ratio_se"], [0.1, 0.05, 0.1, 0.05])
