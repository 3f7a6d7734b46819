"""The replay of hostile populations: its intervals are those of a plan's status, and it finds what must be found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan
from pt_active.studies.populations import plain


@pytest.mark.parametrize("looks", [None, "always", "obrien-fleming", "pocock"])
def test_intervals_are_those_of_the_status(script, looks) -> None:
    """The clock counts queries here and judgments there, which moves the ends at several looks by up to .02."""
    module = script("hostile")
    pool, qrels = plain(3, 60)
    plan = Plan.create(pool, None, "DCG@10", budget=300, seed=4)
    (population,) = (each for seed, each in enumerate(module.populations_of("plain", 60, 4, "a", "b")) if seed == 3)
    number, columns = plan.manifest["counts"]["sampled_queries"], plan.queries.sort_values("qid")
    q, priority = (columns[name].to_numpy() for name in ("q_prob", "q_priority"))
    np.testing.assert_allclose(population.distribution(module.DESIGN, module.DEFENSIVE_SHARE), q)
    low, high = module.looked_at(population, q, priority[None], number, looks=looks)
    status = plan.status(qrels.merge(plan.assessments[["qid", "docno"]]), looks=looks, first="a", second="b")
    tolerance = {"rel": 1e-9} if looks is None else {"abs": 0.02}
    assert (low[-1, 0], high[-1, 0]) == pytest.approx((status.low, status.high), **tolerance)


def test_shares_are_of_samples_in_which_an_interval_lacks_the_truth(script) -> None:
    module = script("hostile")
    (population,) = module.populations_of("skewed", 64, 1, "a", "b")

    def ends(population, q, priority, number):
        low = np.full((3, len(priority)), -1.0)
        low[1, ::4] = 0.5
        return low, low + 2

    missed = module.excluded(population, ends, 20, 8, 0)
    assert missed.tolist() == [True, False, False, False] * 2
    assert module.with_errors({"false": missed})["false"] == 0.25


def test_a_skewed_null_misleads_and_a_plain_one_does_not(script, monkeypatch, tmp_path, capsys) -> None:
    module = script("hostile")
    page, csv = tmp_path / "page.md", tmp_path / "table.csv"
    page.write_text(f"before\n{module.BEGIN}\nold\n{module.END}\nafter\n", encoding="utf-8")
    for name, number in (("POOLS", 1), ("QUERIES", 96), ("JUDGED", 25)):
        monkeypatch.setattr(module, name, number)
    words = ["--populations", "plain", "skewed", "--repetitions", "60", "--large", "96", "--sizes", "10", "30"]
    words += ["--docs", str(page), "--csv", str(csv)]
    monkeypatch.setattr("sys.argv", ["hostile", *words])
    module.main()
    table = pd.read_csv(csv).set_index(["population", "looks"])["false"].groupby(level=[0, 1]).mean()
    assert table["skewed", "always"] > 0.15 > table["plain", "always"]
    assert table["plain", module.NAIVE] > table["plain", "always"]
    shown = page.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() in shown
    assert "old" not in shown
