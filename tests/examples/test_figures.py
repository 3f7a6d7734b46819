"""The reproductions that draw figures, on a small generated pool, their shared functions, and savings in theory."""

from __future__ import annotations

import importlib
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
    "index_update": ["index_update"],
    "training_size": ["training_size", "training_size_fixed_budget"],
    "type_errors": ["type_1_error", "type_2_error"],
    "draw_until_significant": ["draw_until_significant"],
}


@pytest.fixture(scope="module")
def pool_file(small_pool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries of 4 to 8 documents with lengths, and four rankers, each noisier than the one before."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("pool") / "small.parquet"
    frame = small_pool(rng, 150, 8, (0.3, 0.6, 1.0, 3.0), 1.0)
    frame = frame[frame["docno"].str[1:].astype(int) < 4 + frame["qid"].str[1:].astype(int) % 5]
    ranks = frame.groupby("qid")[[f"rank_r{number}" for number in range(4)]].rank().astype(int) - 1
    frame.assign(**ranks, length=rng.integers(5, 300, len(frame))).to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("name", FILES)
def test_each_script_writes_its_figures(name, script, pool_file, tmp_path, monkeypatch, capsys) -> None:
    module = script(name)
    argv = [name, str(pool_file), "--out", str(tmp_path / "new"), "--quick", "--repetitions", "20", "--seed", "3"]
    monkeypatch.setattr("sys.argv", [*argv, "--measure", "ERR@5" if "size" in name else "DCG@5"])
    monkeypatch.setattr(script("figures"), "STEPS", 3)
    monkeypatch.setattr(module, "RATIOS", (2.0,), raising=False)
    monkeypatch.setattr(module, "SHARES", (1.0,), raising=False)
    module.main()
    printed = capsys.readouterr().out
    for stem in FILES[name]:
        assert f"wrote {tmp_path / 'new' / stem}.csv" in printed
        assert (tmp_path / "new" / f"{stem}.png").stat().st_size > 10_000
        table = pd.read_csv(tmp_path / "new" / f"{stem}.csv")
        assert table["data"].unique().tolist() == ["small"]
        assert "measure" in table.columns
    if name == "draw_until_significant":
        assert "WARNING: drawing until p < 0.05 is not a test at level 0.05" in printed
        null = table[table["pair"] == "null"]
        assert (null["wrong"] == null["resolved"]).all()


@pytest.mark.parametrize("name", ["estimation_error", "model_selection_error", "index_update"])
def test_the_same_seed_gives_the_same_numbers(name, script, pool_file, monkeypatch) -> None:
    module, pool = script(name), script("judged_pools").read_judged_pool(pool_file)
    monkeypatch.setattr(script("figures"), "STEPS", 2)
    options = Namespace(repetitions=20, seed=3, quick=True, train_folds=None, measure=["ERR"])
    once, again = (pd.concat(module.replayed(pool, 1, options)) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)


def test_an_update_removes_a_tenth_and_closes_up(script) -> None:
    module = script("index_update")
    n, depth = 300, 20
    frame = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(n).astype(str), depth + 1),
            "docno": np.tile(np.arange(depth + 1).astype(str), n),
            "rank_a": np.tile([*range(depth), -1], n),
            "rank_b": 0,
            "score_a": 0.5,
        }
    )
    after = module.updated(frame, "a", seed=1)
    assert [c for c in after.columns if c.startswith(("rank_", "score_"))] == ["rank_before", "rank_after"]
    assert len(after) == n * depth
    gone = (after["rank_after"] < 0).mean()
    assert abs(gone - 0.1) < 3 * np.sqrt(0.09 / (n * depth))
    for _, query in after[after["rank_after"] >= 0].groupby("qid"):
        assert query.sort_values("rank_before")["rank_after"].tolist() == list(range(len(query)))
    shuffled = module.updated(frame.sample(frac=1, random_state=0), "a", seed=1)
    pd.testing.assert_frame_equal(shuffled.reset_index(drop=True), after.reset_index(drop=True))


def test_larger_training_sets_include_smaller_ones_and_rank_every_document(script) -> None:
    module = script("training_size")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(40).astype(str), 5), "label": rng.integers(0, 3, 200)})
    frame["features"] = list(np.column_stack([frame["label"] + rng.normal(0, 0.1, 200), rng.normal(size=200)]))
    ranks = module.rankings(frame, frame, seed=0)
    assert {share for _, _, *both in module.pairs() for share in both} == set(ranks)
    for rank in ranks.values():
        assert rank.groupby(frame["qid"]).apply(lambda one: sorted(one) == [0, 1, 2, 3, 4]).all()
    best = frame["label"][ranks[1.0] == 0].to_numpy()
    assert (best == frame.groupby("qid", sort=False)["label"].max().to_numpy()).mean() > 0.9


def test_pairs_go_by_the_standing(script) -> None:
    pairs_of = script("type_errors").pairs_of
    names = [f"r{i}" for i in range(21)]
    assert pairs_of(names) == {"clear": ["r0", "r10"], "middle": ["r0", "r5"], "near-tied": ["r0", "r1"]}
    assert pairs_of(names[:3]) == {"clear": ["r0", "r2"], "near-tied": ["r0", "r1"]}


def test_another_reference_changes_the_degrees_only(script) -> None:
    module, replay = script("type_errors"), importlib.import_module("pt_active.inference.replay")
    fields = {name: np.ones((2, 3)) for name in replay.Replays.__dataclass_fields__}
    found = replay.Replays(**(fields | {"degrees": np.full((2, 3), 4.5), "n_draws": np.full((2, 3), 10)}))
    assert (module.with_reference(found, "effective").degrees == 4.5).all()
    assert (module.with_reference(found, "t").degrees == 9).all()
    assert np.isinf(module.with_reference(found, "normal").degrees).all()


def test_savings_are_read_against_both_passive_samplings(script) -> None:
    """An error of c/√budget: a method with half of passive sampling's error needs a quarter of the budget."""
    figures = script("figures")
    budget = np.geomspace(10, 1000, 9)
    scale = {"passive": 1.0, "passive once": 0.8, "optimal": 0.5}
    frame = pd.concat(
        pd.DataFrame({"data": "x", "method": name, "budget": budget, "mae": c / np.sqrt(budget)})
        for name, c in scale.items()
    )
    table = figures.saving_table(frame, ["data"], "mae").set_index("method")
    np.testing.assert_allclose(
        table.loc["optimal", ["against passive", "against passive once"]].astype(float), [0.75, 1 - 0.25 / 0.64]
    )
    assert table.loc["passive", "against passive"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("value", "shares"), [("selection_error", [0.009, 0.004, 0.0]), ("type_2_error", [0.96, 0.9, 0.81])]
)
def test_shares_that_say_nothing_give_no_saving(value, shares, script) -> None:
    frame = pd.concat(
        pd.DataFrame({"data": "x", "method": m, "budget": [10.0, 20.0, 40.0], value: shares})
        for m in ("passive", "passive once")
    )
    assert script("figures").saving_table(frame, ["data"], value)["against passive"].isna().all()


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
