"""Corrections within queries: against their definitions by loops, and what they gain in a seeded simulation."""

import numpy as np

from pt_active.inference.documents import document_estimate
from pt_active.inference.residuals import COMMON_SHARE
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs
from pt_active.sampling.two_phase import draw_documents

M, LENGTH = 60, 8


def errors_in_common(seed, common):
    """A pair of rankers, a model that knows nothing, and labels that agree within queries with a given correlation."""
    rng = np.random.default_rng(seed)
    ranks = np.vstack([np.concatenate([rng.permutation(LENGTH) + 1 for _ in range(M)]) for _ in range(2)])
    form = rank_form(parse_measure("DCG"), 1, LENGTH)
    pool = DocumentPool(form, np.arange(M + 1) * LENGTH, ranks.astype(np.int32), np.full(M, 1 / M))
    leaning = np.repeat(rng.normal(size=M), LENGTH)
    latent = np.sqrt(common) * leaning + np.sqrt(1 - common) * rng.normal(size=M * LENGTH)
    return pool, form.values[(latent > 0).astype(int)], Variables.of(form, np.full((M * LENGTH, 2), 0.5))


def squared_errors(pool, truth, variables, repetitions=200):
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
