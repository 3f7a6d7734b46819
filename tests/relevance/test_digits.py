"""Numbers whose last digits differ between processors decide nothing once they are rounded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pt_active.relevance.digits import GRADE_BITS, SURE_BITS, product, rounded, rounded_grades
from pt_active.relevance.grades.fitting import optimum, ordered_logit_objective


@pytest.mark.parametrize("bits", [GRADE_BITS, SURE_BITS])
def test_rounded_numbers_are_near_and_forget_the_last_digits(bits):
    values = np.r_[np.random.default_rng(0).lognormal(0, 30, 10_000), 0.0, 1.0, 0.5, 1 / 3, 2**-0.5]
    noise = np.random.default_rng(1).uniform(-1, 1, len(values)) * 2.0**-50
    assert_allclose(rounded(values, bits), values, rtol=2.0**-bits)
    assert (rounded(values * (1 + noise), bits) != rounded(values, bits)).mean() < 1e-3
    assert_array_equal(rounded(rounded(values, bits), bits), rounded(values, bits))
    assert_array_equal(rounded(-values, bits), -rounded(values, bits))
    no_number = np.array([0x7FF00000000007A2, 0xFFFFFFFFFFFFFFFF], dtype=np.uint64).view(np.float64)
    assert_array_equal(rounded(np.r_[np.inf, -np.inf, no_number], bits), [np.inf, -np.inf, np.nan, np.nan])
    halfway = 2.0 ** (bits - 1) + np.arange(4) + 0.5
    assert_array_equal(rounded(halfway, bits), np.round(halfway))


def test_rounded_grades_are_distributions_and_equal_where_grades_are():
    grades = np.random.default_rng(0).dirichlet([0.1, 1, 1], 1000)
    short = rounded_grades(grades)
    assert_allclose(short.sum(axis=1), 1, rtol=1e-15)
    assert_allclose(short, grades, rtol=2.0**-14)
    assert_array_equal(rounded_grades(grades * (1 + 1e-15)), short)
    for exact in (np.full((1, 3), 1 / 3), np.array([[0.0, 1.0], [0.25, 0.75]])):
        assert_array_equal(rounded_grades(exact), exact)


def test_a_product_does_not_depend_on_the_rows_beside():
    matrix, vectors = np.random.default_rng(0).normal(size=(257, 5)), np.random.default_rng(1).normal(size=(5, 2))
    whole = product(matrix, vectors)
    assert_allclose(whole, matrix @ vectors, rtol=1e-12, atol=1e-15)
    assert_array_equal(whole[:, 0], product(matrix, vectors[:, 0]))
    assert_array_equal(np.vstack([product(matrix[[row]], vectors) for row in range(257)]), whole)
    same = product(np.broadcast_to(0.2, (1000, 5)), vectors)
    assert_array_equal(same, np.tile(same[:1], (1000, 1)))


def test_an_optimum_does_not_depend_on_where_its_search_begins():
    """The features are nearly collinear, so that a search that ends within its tolerance ends somewhere."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(300, 1))
    features, codes = np.hstack([shared, shared + 0.01 * rng.normal(size=(300, 1))]), rng.integers(0, 3, 300)
    arguments = features, codes, 0.5
    found = [optimum(ordered_logit_objective, start, arguments, "logit") for start in rng.normal(size=(5, 4))]
    assert_allclose(found, np.tile(found[0], (5, 1)), rtol=1e-9)
