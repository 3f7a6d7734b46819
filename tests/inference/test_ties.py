"""What is rounding: sums in any order and on any scale, and no real difference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.inference.ties import difference, places, settled

SCALES = st.sampled_from([1e-150, 1e-9, 1.0, 3e7, 1e150])


@settings(max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=1), SCALES, st.randoms())
def test_the_same_terms_in_another_order_make_no_difference(terms, scale, rng):
    mixed = [scale * x for x in terms]
    rng.shuffle(mixed)
    assert settled(sum(scale * x for x in terms) - sum(mixed), sum(map(abs, mixed))) == 0


@given(st.floats(0.1, 1e6), st.sampled_from([1e-6, 1e-8, -1e-6]), SCALES)
def test_a_real_difference_stays(value, share, scale):
    first, second = value * (1 + share) * scale, value * scale
    assert difference(first, second) == first - second == -difference(second, first) != 0


def test_what_is_rounding_becomes_0_without_a_sign():
    found = settled(np.array([-1e-17, 1e-17, 1e-3, np.nan, np.inf]), 1.0)
    np.testing.assert_array_equal(found, [0.0, 0.0, 1e-3, np.nan, np.inf])
    assert not np.signbit(found[0])
    assert settled(0.0, 0.0) == 0
    assert settled(1e-300, 0.0) == 1e-300


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([0.3, 0.1 + 0.2, 0.2], [1, 1, 0]), ([2, 1, 1 + 1e-6], [2, 0, 1]), ([np.nan, 1, np.nan, -1], [2, 1, 2, 0])],
)
def test_values_that_are_equal_share_a_place(values, wanted):
    assert places(np.array(values)).tolist() == wanted
