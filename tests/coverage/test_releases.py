"""Claims of many releases that share labels: the levels of the package keep that of all, and LORD++ its invariant."""

import numpy as np
import pytest

SEQUENCES = 4000


@pytest.fixture(scope="module")
def table(script):
    return script("growing_table")


@pytest.mark.parametrize("kind", ["other labels", "one baseline", "near copies", "record"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_of_fifty_releases_any_is_claimed_wrongly_as_seldom_as_the_ledger_says(table, kind, share):
    found, better = table.claims(kind, share, "spending", SEQUENCES)
    wrong = (found & ~better).any(axis=1).mean()
    assert wrong <= table.ALPHA + 3 * np.sqrt(table.ALPHA * (1 - table.ALPHA) / SEQUENCES)
    alone, _ = table.claims(kind, share, "each", SEQUENCES)
    assert (alone & ~better).any(axis=1).mean() > 3 * table.ALPHA


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_levels_of_lord_are_those_of_its_formula_and_keep_its_invariant(table, share):
    """Σ levels so far is at most α for each claim; gamma adds up to 1 at most [Ramdas et al. 2017]."""
    claimed = np.random.default_rng(1).random((40, table.RELEASES)) < share
    wealth, spent = table.ALPHA / 2, np.zeros(len(claimed))
    for time in range(table.RELEASES):
        level = table.lord(claimed[:, :time])
        for row, past in enumerate(claimed[:, :time]):
            first, *others = [*np.flatnonzero(past), None]
            said = wealth * table.GAMMA[time]
            if first is not None:
                said += (table.ALPHA - wealth) * table.GAMMA[time - first - 1]
                said += sum(table.ALPHA * table.GAMMA[time - each - 1] for each in others[:-1])
            assert level[row] == pytest.approx(said)
        spent += level
        assert (spent <= table.ALPHA * np.maximum(claimed[:, : time + 1].sum(axis=1), 1) + 1e-12).all()
    assert table.GAMMA.sum() < 1
