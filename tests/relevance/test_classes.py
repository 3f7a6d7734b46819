"""Classes of a query lie around the posterior of its shifts, by the formulas of theory 20 in numpy."""

import numpy as np
import pytest
from scipy import stats

from pt_active.relevance import _class_kernels as kernels


def test_classes_lie_around_the_posterior_of_their_query_and_have_the_weights_of_the_prior():
    rng, indptr, deviation = np.random.default_rng(4), np.array([0, 3, 8]), np.array([1.0, 0.6, 0.4])
    logits = -np.sort(-rng.normal(size=(8, 2)), axis=1)
    covariate, level = rng.normal(size=8), np.array([2, -1, 0, 1, 1, 2, -1, 0])
    wide, points = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    found = np.zeros((2, 5, 3)), np.zeros((2, 5))
    pool = None, None, logits, covariate, level, None, None, None
    kernels.place_classes(indptr, pool, wide, points, deviation, found)
    for x, (shifts, logs) in enumerate(zip(*found, strict=True)):
        weight = stats.norm(scale=deviation).pdf(wide).prod(axis=1)
        weight /= stats.norm(scale=kernels.WIDE * deviation).pdf(wide).prod(axis=1)
        for z in range(indptr[x], indptr[x + 1]):
            moved = logits[z] + wide[:, :1] + wide[:, 1:2] * covariate[z] + wide[:, 2:] * [0, 1]
            above = 1 / (1 + np.exp(-np.minimum.accumulate(moved, axis=1)))
            chances = np.c_[np.ones(9), above] - np.c_[above, np.zeros(9)]
            weight *= chances[:, level[z]] if level[z] >= 0 else 1.0
        spread = np.cov(wide.T, aweights=weight, ddof=0) + np.diag(
            (kernels.FLOOR**2 + kernels.LEAST_FLOOR**2) * deviation**2
        )
        placed = np.average(wide, axis=0, weights=weight) + kernels.BROADER * points @ np.linalg.cholesky(spread).T
        assert shifts == pytest.approx(placed, rel=1e-9)
        prior = stats.norm(scale=deviation).logpdf(placed).sum(axis=1) - stats.norm.logpdf(points).sum(axis=1)
        assert logs - logs.max() == pytest.approx(prior - prior.max(), rel=1e-9, abs=1e-12)
