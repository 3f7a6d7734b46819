"""Estimates of nDCG, AP and any other measure from documents judged to a random depth, by enumeration [theory 11]."""

from dataclasses import replace

import numpy as np
import pytest

from pt_active.inference.documents import predicted
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.revealed import revealed_form
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign

MEASURES = ["nDCG@2", "nDCG(dcg='exp-log2')@2", "nDCG", "AP", "AP(rel=2)@2", "Bpref", "made up"]
INDPTR = np.array([0, 3, 3, 6])
OPENING = np.array([0.6, 0.0, 0.35])
ORDER = np.array([1, 2, 0, 4, 3, 5])
INCLUSION = np.array([0.25, 1.0, 0.7, 0.35, 0.35, 0.2])
LABEL = np.array([2, 0, 1, 1, 2, 0])


def made_up(labels, ranks):
    """The square of the share of grades that adds up in even ranks, and a jump where no label is 0."""
    even = (ranks % 2 == 0) & (ranks > 0)
    share = (labels[:, None, :] * even).sum(axis=2) / (1 + labels.sum(axis=1))[:, None]
    return share**2 + 5.0 * (labels > 0).all(axis=1)[:, None]


def pool_of(measure, systems, **form):
    rng = np.random.default_rng(3)
    ranks = np.vstack([np.r_[rng.permutation(3) + 1, rng.permutation(3) + 1] for _ in range(systems)])
    if systems > 1:
        ranks[1, 2] = 0
    key = rng.integers(0, 2**63, 6).astype(np.uint64)
    made = {"evaluate": made_up} if measure == "made up" else {}
    named = revealed_form(parse_measure("Bpref" if made else measure), 2)
    return RevealedPool(replace(named, **made, **form), INDPTR, ranks.astype(np.int32), np.array([0.5, 0.1, 0.4]), key)


def beliefs(model):
    """float64[6, 3], grade probabilities that are useless, wrong, or wrong without a doubt."""
    sure = {"useless": 0.0, "wrong": 0.8, "overconfident": 1.0}[model]
    return sure * np.eye(3)[2 - LABEL] + (1 - sure) / 3


def check_by_enumeration(enumerated, pool, model, contrast, estimator):
    truth, contrast = np.eye(3)[LABEL], np.array(contrast)

    def mean_of(sample):
        return predicted(pool, sample, beliefs(model), truth, contrast, estimator)

    mean, parts, true = enumerated(pool, DESIGN, mean_of, truth, contrast)
    assert mean == pytest.approx(float(pool.weight @ pool.values(truth) @ contrast), abs=1e-10)
    np.testing.assert_allclose(parts, true[:2], atol=1e-10)


DESIGN = DocumentDesign("depth", ORDER, OPENING, INCLUSION)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("contrast", "model", "estimator"),
    [
        ([1.0], "wrong", "difference"),
        ([0.0, -1.0, 1.0], "wrong", "ht"),
        ([0.0, -1.0, 1.0], "overconfident", "difference"),
    ],
)
def test_estimates_of_any_measure_are_unbiased_and_so_is_their_variance(
    enumerated, measure, contrast, model, estimator
):
    check_by_enumeration(enumerated, pool_of(measure, len(contrast)), model, contrast, estimator)


@pytest.mark.parametrize("measure", ["nDCG@2", "AP", "made up"])
@pytest.mark.parametrize(("leniency", "samples"), [(0.0, 1), (0.0, 7), (1.0, 1), (3.0, 30)])
def test_one_label_vector_and_any_leniency_are_unbiased_too(enumerated, measure, leniency, samples):
    pool = pool_of(measure, 2, leniency=leniency, samples=samples)
    check_by_enumeration(enumerated, pool, "useless", [1.0, -1.0], "regression")


def test_what_is_kept_of_one_document_is_not_taken_for_another_answer():
    """The steps of one label of grade 0 and the simulated steps have all numbers in common that they depend on."""
    pool, order, belief = pool_of("nDCG@2", 2), ORDER[:1], beliefs("useless")
    simulated, labels = pool.simulated(order, belief), np.eye(3)[np.zeros(len(LABEL), dtype=int)]
    assert pool.steps(order, belief, labels).shape == simulated.shape[1:] == pool.ranks.shape
