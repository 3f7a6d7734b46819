"""The exponential variables that ids are hashed to."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active.frames.clocks import clocks

KNOWN = [0.5932309509730274, 0.17378144542441165, 0.05402098007071222]
IDS = np.array([f"q{i}" for i in range(20_000)], dtype=object)


def test_units_have_the_same_clocks_in_any_order_and_in_any_part():
    whole = clocks(3, IDS)
    assert (clocks(3, IDS[::-1])[::-1] == whole).all()
    assert (clocks(3, IDS[100:200]) == whole[100:200]).all()
    assert (clocks(3, pd.Series(IDS, index=np.arange(20_000)[::-1] / 2)) == whole).all()
    many, docnos = np.repeat(IDS[:10], 30_000), np.tile(IDS, 15)
    assert (clocks(3, many, pd.Series(docnos))[-9:] == clocks(3, many[-9:], docnos[-9:])).all()


def test_clocks_are_exponential_and_differ_by_seed_stage_and_document():
    one = clocks(0, IDS)
    others = [clocks(1, IDS), clocks(0, IDS, stage=1), clocks(0, IDS, IDS), clocks(0, IDS, np.roll(IDS, 1))]
    assert min(stats.kstest(each, "expon").pvalue for each in [one, *others]) > 1e-4
    for other in others:
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(len(IDS))
        assert (one != other).all()
    assert clocks(0, np.array(["q1"]), np.array(["2"])) != clocks(0, np.array(["q"]), np.array(["12"]))


@pytest.mark.parametrize("bits", [0, 2**64 - 1])
def test_clocks_are_positive_and_finite_at_the_ends_of_the_hash(bits, monkeypatch):
    monkeypatch.setattr(pd.util, "hash_array", lambda ids, **_: np.full(len(ids), bits, dtype=np.uint64))
    assert 0 < clocks(0, np.array(["q"]))[0] < 40


@pytest.mark.parametrize("dtype", [object, "str"])
def test_clocks_do_not_change_with_versions_of_pandas(dtype):
    found = clocks(42, pd.Series(["q1", "7", "naïve"], dtype=dtype), pd.Series(["d1", "", "文"], dtype=dtype))
    assert found == pytest.approx(KNOWN, rel=1e-12)
