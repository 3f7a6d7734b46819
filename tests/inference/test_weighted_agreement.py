"""Agreement of a judge with people from samples with known probabilities, against enumeration of all samples."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.cluster import contingency_matrix

from pt_active.inference.agreement import COEFFICIENTS, agreement_estimate, coincidences, ordinal_alpha, quadratic_kappa
from pt_active.sampling.sample import Sample

PAIRS, DRAWN, GRADES = 16, 8, 3
RNG = np.random.default_rng(4)
LABEL = RNG.integers(0, GRADES, PAIRS)
SAID = np.where(RNG.random(PAIRS) < 0.6, LABEL, RNG.integers(0, GRADES, PAIRS))
OTHER = np.where(RNG.random(PAIRS) < 0.4, LABEL, RNG.integers(0, GRADES, PAIRS))
BELIEF = np.full((PAIRS, GRADES), 0.2) + 0.4 * np.eye(GRADES)[SAID]
UNIFORM = np.full(PAIRS, 1 / PAIRS)


def estimated(name, rows, said=(SAID,), estimator="snis"):
    sample = Sample(rows, np.ones_like(rows), np.full(len(rows), len(rows) / PAIRS))
    return agreement_estimate(COEFFICIENTS[name], said, LABEL[rows], BELIEF, sample, UNIFORM, estimator)


@pytest.mark.parametrize("estimator", ["snis", "regression", "difference"])
def test_all_labels_give_the_coefficient_itself(estimator):
    everything = np.arange(PAIRS)
    exact = [quadratic_kappa(contingency_matrix(said, LABEL)) for said in (SAID, OTHER)]
    pairs = coincidences(np.tile(everything, 2), np.concatenate([SAID, LABEL]), GRADES)
    for name, said, expected in (
        ("Kappa", (SAID,), exact[0]),
        ("Kappa", (SAID, OTHER), exact[0] - exact[1]),
        ("Alpha", (SAID,), ordinal_alpha(pairs)),
    ):
        assert estimated(name, everything, said, estimator).value == pytest.approx(expected)


@pytest.mark.parametrize("name", ["Kappa", "Alpha"])
@pytest.mark.parametrize("said", [(SAID,), (SAID, OTHER)])
def test_the_standard_error_is_that_over_all_samples(name, said):
    """Over every 101st of the 12,870 samples of 8 of 16; the linearisation leaves terms of the order of 1/8."""
    samples = np.array(list(combinations(range(PAIRS), DRAWN)))[::101]
    found = [estimated(name, rows, said) for rows in samples]
    values, errors = np.array([(each.value, each.standard_error) for each in found], dtype=float).T
    kept = np.isfinite(values)
    assert kept.mean() > 0.99
    truth, spread = estimated(name, np.arange(PAIRS), said).value, values[kept].std()
    assert values[kept].mean() == pytest.approx(truth, abs=0.25 * spread)
    assert np.sqrt((errors[kept] ** 2).mean()) == pytest.approx(spread, rel=0.25)
