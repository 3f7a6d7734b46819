"""Tests of all pairs: the studentised range against scipy, groups by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pt_active.inference.significance import indistinct_groups, studentized_range_tail, tukey_pvalues, two_sided_pvalue

SEEDS = st.integers(0, 2**32 - 1)


def by_range(difference, error, degrees, systems):
    alone = two_sided_pvalue(difference, error, degrees)
    return tukey_pvalues(difference, error, degrees, alone, systems)


@pytest.mark.parametrize(("systems", "degrees"), [(3, 1.0), (40, 2.5), (5, 7.0), (3, 58.3), (40, np.inf)])
def test_the_studentised_range_is_scipys(systems, degrees):
    q = np.array([0.0, 0.1, 1.0, 2.5, 3.86, 6.0])
    expected = stats.studentized_range.sf(q, systems, degrees)
    np.testing.assert_allclose(studentized_range_tail(q, systems, np.full(6, degrees)), expected, rtol=0, atol=1e-7)


def test_tukey_of_independent_samples_is_scipys_honestly_significant_difference():
    rng = np.random.default_rng(5)
    samples = [rng.normal(shift, 1, 12) for shift in (0, 0.3, 2, 1.2)]
    variance = np.mean([np.var(sample, ddof=1) for sample in samples])
    pairs = np.array(list(itertools.combinations(range(4), 2))).T
    difference = -np.diff(np.mean(samples, axis=1)[pairs], axis=0)[0]
    found = by_range(difference, np.full(6, np.sqrt(2 * variance / 12)), np.full(6, 44.0), 4)
    expected = stats.tukey_hsd(*samples).pvalue[tuple(pairs)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    assert (found < 0.05).any()
    assert (found > 0.05).any()


def test_certainty_and_ignorance():
    parts = np.array([[0, 0, np.inf], [0.2, 0, np.inf], [0.2, 0.1, 0], [0.2, np.nan, 3], [0.1, 0.05, 20]]).T
    alone = np.r_[two_sided_pvalue(*parts)[:4], np.nan]
    found = tukey_pvalues(*parts, alone, 5)
    assert found == pytest.approx([1, 0, 1, 1, np.nan], abs=1e-12, nan_ok=True)


@settings(max_examples=10)
@given(SEEDS, st.integers(2, 6))
def test_together_no_test_says_more_than_alone(seed, systems):
    rng = np.random.default_rng(seed)
    n = systems * (systems - 1) // 2
    difference, error, degrees = rng.normal(0, 2, n), rng.uniform(0.1, 1, n), rng.uniform(0.1, 90, n)
    alone = two_sided_pvalue(difference, error, degrees)
    found = by_range(difference, error, degrees, systems)
    more = by_range(difference, error, degrees, systems + 1)
    assert ((alone <= found) & (found <= 1)).all()
    assert (more >= found - 1e-9).all()
    if systems == 2:
        np.testing.assert_allclose(found, alone, rtol=0, atol=1e-6)


def cliques_of(joined):
    """Every subset whose members are all joined and that no other such subset contains."""
    subsets = [s for size in range(len(joined)) for s in itertools.combinations(range(len(joined)), size + 1)]
    cliques = [s for s in subsets if joined[np.ix_(s, s)].sum() == len(s) * (len(s) - 1)]
    return [s for s in cliques if not any(set(s) < set(other) for other in cliques)]


def together(groups, systems):
    found = np.eye(systems, dtype=bool)
    for group in groups:
        found[np.ix_(group, group)] = True
    return found


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 7), st.floats(0, 1))
def test_groups_are_maximal_cliques_and_cover_every_pair(seed, systems, density):
    joined = np.triu(np.random.default_rng(seed).random((systems, systems)) < density, 1)
    joined |= joined.T
    found = indistinct_groups(joined)
    assert set(found) <= set(cliques_of(joined))
    assert len(set(found)) == len(found)
    np.testing.assert_array_equal(together(found, systems), joined | np.eye(systems, dtype=bool))


def test_groups_do_not_explode():
    """Twenty trios, whose members are joined to all members but those of their own trio, have 3^20 maximal cliques."""
    joined = np.arange(60)[:, None] // 3 != np.arange(60) // 3
    found = indistinct_groups(joined)
    assert len(found) < 200
    np.testing.assert_array_equal(together(found, 60), joined | np.eye(60, dtype=bool))
