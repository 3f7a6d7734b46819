"""Corrections within queries: against their definitions by loops, and what they gain in a seeded simulation."""

import numpy as np
import pytest

from pt_active.inference.documents import document_estimate
from pt_active.inference.residuals import COMMON_SHARE, WithinQueries
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase
from pt_active.sampling.two_phase import draw_documents

M, LENGTH = 60, 8


def test_shift_coefficient_and_shared_variance_are_what_they_are_defined_as():
    rng = np.random.default_rng(0)
    query = np.array([0, 0, 0, 1, 1, 3])
    pi = np.array([0.5, 1.0, 0.3, 0.0, 0.8, 0.4])
    drawn = np.array([True, True, False, False, True, True])
    design = DocumentDesign("successive", np.flatnonzero(pi), np.ones(4), pi)
    sample = TwoPhase(design, Sample.once(np.ones(4)), drawn, 0.0)
    error, slope = np.where(drawn, rng.normal(size=6), np.nan), rng.normal(size=6)
    within = WithinQueries.of(query, sample, 0.3)
    others = [[u for u in range(6) if u != z and query[u] == query[z]] for z in range(6)]
    rate = [1 / (0.7 / 0.3 + sum(pi[u] for u in others[z])) if pi[z] else 0 for z in range(6)]
    shift = np.array([rate[z] * sum(error[u] for u in others[z] if drawn[u]) for z in range(6)])
    np.testing.assert_allclose(within.shift(error), shift)
    total = sum(
        slope[z] * (shift[z] + (error[z] - shift[z]) / pi[z] if drawn[z] else shift[z]) for z in range(6) if pi[z]
    )
    assert np.nansum(within.coefficient(slope) * error) == pytest.approx(total)
    assert (within.coefficient(slope)[~drawn] == 0).all()
    part = np.array([slope[z] * rate[z] * error[z] * (1 - pi[z]) / pi[z] if drawn[z] else 0 for z in range(6)])
    shared = [sum(part[z] * part[u] for z in range(6) for u in others[z] if query[z] == x) for x in range(4)]
    np.testing.assert_allclose(within.shared_variance(slope, error, 4), shared, atol=1e-15)


def errors_in_common(seed, common):
    """A pair of rankers, a model that knows nothing, and labels that agree within queries with a given correlation."""
    rng = np.random.default_rng(seed)
    ranks = np.vstack([np.concatenate([rng.permutation(LENGTH) + 1 for _ in range(M)]) for _ in range(2)])
    form = rank_form(parse_measure("DCG"), 1, LENGTH)
    pool = DocumentPool(form, np.arange(M + 1) * LENGTH, ranks.astype(np.int32), np.full(M, 1 / M))
    leaning = np.repeat(rng.normal(size=M), LENGTH)
    latent = np.sqrt(common) * leaning + np.sqrt(1 - common) * rng.normal(size=M * LENGTH)
    return pool, form.values[(latent > 0).astype(int)], Variables.of(form, np.full((M * LENGTH, 2), 0.5))


def squared_errors(pool, truth, variables, repetitions=400):
    """Mean squared errors of the difference without and with correction, and the mean of its stated variance."""
    cost, contrast = np.ones(len(truth)), np.array([1.0, -1.0])
    prices, sizes = Costs(pool.indptr, cost, 0.0), document_sizes(pool, variables, cost, RoundSettings("successive"))
    design = document_design(sizes, "successive", prices, 200.0)
    aim, rng, rows = pool.weight @ pool.values(truth) @ contrast, np.random.default_rng(1), []
    for _ in range(repetitions):
        sample = draw_documents(design, prices, 200.0, rng)
        observed = np.where(sample.drawn, truth, variables.mean)
        plain, corrected = (
            document_estimate(pool, sample, variables.mean, observed, contrast, share) for share in (0.0, COMMON_SHARE)
        )
        rows.append(((plain.value - aim) ** 2, (corrected.value - aim) ** 2, corrected.variance))
    return np.array(rows)


def test_errors_in_common_cost_less_and_the_stated_variance_is_right():
    """Labels of a query correlate by about .5; a saving by a quarter."""
    rows = squared_errors(*errors_in_common(0, 0.7))
    gained = rows[:, 0] - rows[:, 1]
    assert gained.mean() > 3 * gained.std() / np.sqrt(len(gained))
    assert rows[:, 1].mean() < 0.8 * rows[:, 0].mean()
    surplus = rows[:, 2] - rows[:, 1]
    assert abs(surplus.mean()) < 3 * surplus.std() / np.sqrt(len(surplus))
