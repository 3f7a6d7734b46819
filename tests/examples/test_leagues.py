"""The league table and the picture of judging documents, on a small generated pool."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

POOL = 50, 12, (0.5, 0.8, 2.0), 0.5


@pytest.mark.slow
def test_the_league_compares_documents_with_queries(script, pool_file, tmp_path, monkeypatch, published) -> None:
    league = script("document_league")
    monkeypatch.setattr(league, "MEASURES", ("DCG@10", "ERR@10"))
    monkeypatch.setattr(league, "ROUNDS", 2)
    marks = "<!-- league table: begin -->", "<!-- league table: end -->"
    text, printed = published(league, pool_file, "--quick", "--csv", tmp_path / "league.csv", marks=marks)
    table = pd.read_csv(tmp_path / "league.csv")
    assert set(table["model"]) == {"fitted", "overconfident", "useless", "wrong-signed"}
    assert set(table["opening"]) == {0, 2, 5}
    wide = table[table["model"] == "fitted"].pivot_table(
        index=["measure", "task", "opening"], columns="method", values="ratio"
    )
    assert (wide["documents"] > wide["queries, default"]).mean() > 0.8
    assert wide["documents, 2 rounds"].notna().sum() == 6
    assert text.count("\n### ") == 4
    assert "At equal judged documents" in printed


def test_the_picture_says_how_many_times_fewer(script, pool_file, tmp_path, monkeypatch, capsys) -> None:
    picture = script("document_saving")
    monkeypatch.setattr("sys.argv", ["_", str(pool_file), "--quick", "--out", str(tmp_path / "new.png")])
    picture.main()
    assert (tmp_path / "new.png").stat().st_size > 10_000
    assert capsys.readouterr().out.count("times fewer documents") == 4


def test_successive_drawing_is_put_beside_spread(script, pool_file, published) -> None:
    text, table = published(script("successive_drawing"), pool_file, "--repetitions", "20")
    rows = [row.strip("| ").split(" | ") for row in table.strip().splitlines()[2:]]
    assert [row[1] for row in rows] == ["one ranker", "clear pair", "near-tied pair"]
    ratios = [float(cell.split(" ± ")[0]) for row in rows for cell in row[2:]]
    assert len(ratios) == 9
    assert 0.2 < min(ratios) <= max(ratios) < 5
    assert table.strip() in text


def test_the_lowest_cells_come_with_their_errors(script, pool_file, monkeypatch, published) -> None:
    module = script("document_worst")
    monkeypatch.setattr(module, "SPOILERS", {"fitted": module.SPOILERS["fitted"]})
    monkeypatch.setattr(module, "MEASURES", ("DCG@10",))
    text, table = published(module, pool_file, "--repetitions", "20")
    rows = [row.strip("| ").split(" | ") for row in table.strip().splitlines()[2:]]
    tasks = ("one ranker", "clear pair", "near-tied pair")
    assert {(opening, task) for _, opening, task, *_ in rows} == {(o, task) for o in ("0", "3") for task in tasks}
    for *_, median, lowest, where in rows:
        ratio, error = map(float, lowest.split(" ± "))
        assert 0.2 < ratio < 50
        assert 0 < error < ratio
        assert float(median) > 0.2
        assert where.startswith("fitted, fold ")
    assert table.strip() in text


def test_the_lowest_cells_of_the_league_are_replayed(script, pool_file, tmp_path, monkeypatch, published) -> None:
    module, csv = script("lowest_cells"), tmp_path / "league.csv"
    cases = sys.modules[module.cases.__module__]
    monkeypatch.setattr(cases, "MEASURES", ("DCG@10",))
    monkeypatch.setattr(cases, "SPOILERS", {"fitted": np.copy})
    tasks = ["one ranker", "clear pair", "near-tied pair"]
    league = pd.DataFrame({"data": "small", "measure": "DCG@10", "task": tasks, "model": "fitted"})
    league = league.assign(method="default", ratio=[0.9, 0.8, 1.1])
    pd.concat([league, league.assign(method="PPI++", ratio=0.1)]).to_csv(csv, index=False)
    text, _ = published(module, csv, pool_file, "--cells", "2", "--repetitions", "40")
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| small")]
    assert [row[2:5] for row in rows] == [["clear pair", "fitted", "0.80"], ["one ranker", "fitted", "0.90"]]
    for row in rows:
        ratio, error = map(float, row[5].split(" ± "))
        assert 0.3 < ratio < 5
        assert 0 < error < ratio
        assert 0.7 < float(row[6]) <= 1


def test_a_saving_is_read_off_the_curves(script) -> None:
    saving = script("document_saving").saving
    budgets = np.array([100.0, 200.0, 400.0])
    error = 1 / np.sqrt(budgets)
    assert saving(budgets, {"queries at random": error, "documents": error / np.sqrt(2)}) == "2.0 times fewer"
    assert saving(budgets, {"queries at random": error, "documents": error / 10}) == "at least 4.0 times fewer"


def test_what_is_replayed_on_the_first_fold_alone(script) -> None:
    league = script("document_league")
    assert list(league.settings_of(1)) == [("fitted", 0.0, 1)]
    first = list(league.settings_of(0))
    assert first[0] == ("fitted", 0.0, league.ROUNDS)
    assert {model for model, *_ in first} == set(league.SPOILERS)
    assert {overhead for _, overhead, _ in first} == set(league.OVERHEADS)
    with pytest.raises(ValueError, match="does not allow the judging of single documents"):
        league.methods(Namespace(single=None), 1)


@pytest.mark.slow
def test_foreseen_errors_are_put_beside_those_of_replays(script, pool_file) -> None:
    module, pools = script("predicted_error"), script("judged_pools")
    rows = pd.DataFrame(module.rows_of(pools.read_judged_pool(pool_file), 20, 1))
    assert len(rows) == 2 * 3 * 2 * 3
    numbers = rows[["realised", "model / realised", "pilot / realised"]].astype(float)
    assert numbers["realised"].gt(0).all()
    assert numbers[["model / realised", "pilot / realised"]].median().between(0.5, 2).all()
    of_documents = rows["method"].str.startswith("documents")
    assert numbers["realised"][of_documents].mean() < numbers["realised"][~of_documents].mean()


def test_intervals_of_pilots_are_put_beside_replays(script, pool_file, tmp_path, monkeypatch, published) -> None:
    module, table = script("pilot_intervals"), tmp_path / "rows.csv"
    small = {"MEASURES": ("DCG@10",), "TASKS": ("near-tied pair",), "MODELS": ("fitted", "useless")}
    for name, value in (small | {"SIZES": (3, 8), "REPLAYS": 40}).items():
        monkeypatch.setattr(module, name, value)
    text, _ = published(module, pool_file, "--quick", "--csv", table)
    rows = pd.read_csv(table)
    assert len(rows) == 2 * 2 * 2 * 2 * 3
    assert rows["suffices"].ge(rows["within"]).all()
    # The cautious budget for the realised error reaches it if, and only if, the realised error is below the upper end.
    clear = (rows["budget"] - 1).abs() > 0.01
    assert (rows["budget"].ge(1) == rows["suffices"])[clear].all()
    assert rows["within"].mean() > 0.5
    widths = rows[rows["unit"] == rows["pilot"]].groupby("size")["width"].median()
    assert widths[3] > widths[8] > 1
    assert text.count("| queries | documents | 3 |") == 1


@pytest.mark.slow
def test_stopping_is_replayed_for_queries_and_for_documents(script, pool_file) -> None:
    module, pools = script("stopping"), script("judged_pools")
    rows = pd.DataFrame(module.rows_of(pools.read_judged_pool(pool_file), 40))
    assert rows.groupby(["task", "drawn"]).size().to_dict() == {
        (task, drawn): number
        for task in ("clear pair", "near-tied pair")
        for drawn, number in (("queries", 6), ("5 rounds of documents", 3), ("documents", 1))
    }
    shares = rows["wrong"].str.split(" ± ", expand=True).astype(float)
    assert shares[1].between(0.01, 0.1).all()
    wrong = rows.assign(wrong=shares[0]).pivot_table(index="looks", values="wrong")["wrong"]
    assert wrong["every time, plain interval"] > wrong[["asymptotic", module.BETS]].max()
    spent = rows[rows["spent"] != ""].assign(spent=lambda table: table["spent"].astype(float))
    assert spent.loc[spent["looks"] == "once, at the end", "spent"].eq(1).all()
    assert spent["spent"].between(0, 1).all()


def test_what_leaning_less_is_worth_goes_into_the_page(script, pool_file, monkeypatch, published) -> None:
    module, leagues = script("misleading_model"), script("leagues")
    monkeypatch.setattr(module, "MODELS", ("useless",))
    monkeypatch.setattr(module, "MEASURES", ("DCG@10",))
    text, printed = published(module, pool_file, "--quick", marks=(leagues.BEGIN, leagues.END))
    assert printed.strip() in text
    assert text.count("| small | useless | DCG@10 |") == 3


def test_small_samples_are_compared_with_the_plain_mean(script, pool_file, tmp_path, published) -> None:
    words = "--quick", "--repetitions", "60", "--csv", tmp_path / "cells.csv"
    text, _ = published(script("small_samples"), pool_file, *words)
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert set(cells["model"]) == {"fitted", "overconfident", "useless", "wrong-signed", "constant"}
    assert set(cells["draws"]) == {5, 8}
    first = cells[~cells["again"]].set_index(["measure", "task", "model", "draws", "method"])["ratio"].unstack()
    assert first["PPI++"].mean() > 1
    plain = first.xs("constant", level="model")["passive + regression"]
    assert plain.to_numpy() == pytest.approx(1, abs=1e-12)
    assert text.count("| default |") == 2


def test_the_share_that_is_spent_is_all_but_about_half_a_query(script) -> None:
    """Where queries cost the same, the share is known: whole queries only, with skips or without."""
    from pt_active.inference.replay import Population
    from pt_active.relevance.moments import Moments

    rng, league = np.random.default_rng(4), script("small_samples")
    moments = Moments(rng.normal(size=(40, 1)), np.ones((40, 1, 1)))

    def of(cost: np.ndarray) -> dict[str, float]:
        population = Population(moments.mean, moments, moments, cost, np.full(40, 1 / 40), np.ones(40, dtype=int))
        return league.spent(population, 8, 400, 0)

    assert of(np.full(40, 3.0)) == pytest.approx(
        {"spent": 1, "all but half a query": 1 - 1 / 16, "spent with skips": 1}
    )
    alike = of(np.r_[np.full(39, 2.0), 3.0])
    assert alike["spent"] <= alike["spent with skips"] < 0.995
    varied = of(rng.uniform(1, 3, size=40))
    assert varied["spent"] == pytest.approx(varied["all but half a query"], abs=0.02)
    assert varied["spent with skips"] > varied["spent"] + 0.02


def test_ppi_of_many_samples_is_that_of_each(script) -> None:
    """The power is the slope that makes the variance least, cut to between 0 and 1 [PPI++, for means]."""
    from pt_active.inference.replay import Population
    from pt_active.relevance.moments import Moments
    from pt_active.sampling.sample import Sample

    rng = np.random.default_rng(3)
    values, model = rng.normal(size=(2, 30))
    model += values
    moments = Moments(model[:, None], np.ones((30, 1, 1)))
    even = np.full(30, 1 / 30)
    population = Population(values[:, None], moments, moments, np.ones(30), even, np.ones(30, dtype=int))
    rows = rng.random((20, 30)).argsort(axis=1)[:, :9]
    sample = Sample(rows, np.ones_like(rows), np.full(rows.shape, 9 / 30))
    for row, found in zip(rows, script("small_samples").ppi(sample, population), strict=True):
        rest = np.delete(model, row)
        power = np.cov(values[row], model[row], ddof=0)[0, 1] / ((1 + 9 / 21) * model.var())
        power = min(max(power, 0), 1)
        assert found == pytest.approx(power * rest.mean() + (values[row] - power * model[row]).mean())


def test_the_coverage_is_put_into_the_page(script, pool_file: Path, published) -> None:
    text, _ = published(script("revealed_coverage"), pool_file, "--share", "0.3", "--repetitions", "4")
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if "ranker" in line]
    assert len(rows) == 2
    assert all(float(row[5].rstrip("%")) > 90 for row in rows)


def test_the_table_of_cold_starts_has_a_row_for_each_task_and_budget(
    script, pool_file, tmp_path, monkeypatch, published
) -> None:
    module, other = script("cold_start"), tmp_path / "other.parquet"
    frame = pd.read_parquet(pool_file)
    frame[frame["fold"] <= 3].to_parquet(other)
    monkeypatch.setattr(module, "SHARES", (0.4,))
    _, printed = published(module, pool_file, other, "--repetitions", "2", marks=module.MARKERS)
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    table = pd.DataFrame(rows[2:], columns=rows[0])
    assert table["data"].tolist() == ["small"] * 3 + ["other"] * 3
    assert table["task"].nunique() == 3
    saved = table.drop(columns=["data", "task", "labels"]).astype(float)
    refitted = ["no model", "ranks alone", "ranks alone, 3 refitted rounds"]
    assert list(saved) == [*refitted, "another collection", "its own past"]
    assert saved["its own past"].mean() > saved["no model"].mean() > 0


def test_a_league_goes_on_where_it_stopped(script, tmp_path) -> None:
    league, made = script("leagues"), []

    def rows(fold: str, fails: bool = False):
        made.append(fold)
        yield {"fold": fold, "ratio": np.float64(1.5)}
        if fails:
            raise KeyboardInterrupt

    arguments = Namespace(keep=tmp_path / "kept", quick=False, repetitions=7, seed=0)
    with pytest.raises(KeyboardInterrupt):
        league.rows_of_folds({"a": lambda: rows("a"), "b": lambda: rows("b", fails=True)}, arguments)
    folds = {"a": lambda: rows("a"), "b": lambda: rows("b")}
    table = league.rows_of_folds(folds, arguments)
    assert made == ["a", "b", "b"]
    pd.testing.assert_frame_equal(table, pd.DataFrame({"fold": ["a", "b"], "ratio": [1.5, 1.5]}))
    league.rows_of_folds(folds, Namespace(**vars(arguments) | {"seed": 1}))
    assert made == ["a", "b", "b", "a", "b"]
