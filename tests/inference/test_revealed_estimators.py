"""Estimates of nDCG, AP and any other measure from documents judged to a random depth, by enumeration [theory 11]."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pt_active.inference.documents import document_estimate, predicted
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.revealed import form_of, revealed_form
from pt_active.sampling.revealed import RevealedPool
from pt_active.sampling.sample import DocumentDesign, Sample, TwoPhase

COMPILED = ["nDCG@2", "nDCG(dcg='exp-log2')@2", "nDCG", "AP", "AP(rel=2)@2"]
SLOW = ["Bpref", "made up"]
CONTRASTS = [[1.0], [1.0, -1.0], [0.0, -1.0, 1.0]]
MODELS = ["useless", "wrong", "overconfident"]
INDPTR = np.array([0, 3, 3, 6])
OPENING = np.array([0.6, 0.0, 0.35])
ORDER = np.array([1, 2, 0, 4, 3, 5])
INCLUSION = np.array([0.25, 1.0, 0.7, 0.35, 0.35, 0.2])
LABEL = np.array([2, 0, 1, 1, 2, 0])


def made_up(labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The square of the share of grades that adds up in even ranks, and a jump where no label is 0."""
    even = (ranks % 2 == 0) & (ranks > 0)
    share = (labels[:, None, :] * even).sum(axis=2) / (1 + labels.sum(axis=1))[:, None]
    return share**2 + 5.0 * (labels > 0).all(axis=1)[:, None]


def form_named(measure: str):
    return form_of(measure, 2, made_up) if measure == "made up" else revealed_form(parse_measure(measure), 2)


def pool_of(measure: str, systems: int, leniency: float = 1.0) -> RevealedPool:
    rng = np.random.default_rng(3)
    ranks = np.vstack([np.r_[rng.permutation(3) + 1, rng.permutation(3) + 1] for _ in range(systems)])
    if systems > 1:
        ranks[1, 2] = 0
    key = rng.integers(0, 2**63, 6).astype(np.uint64)
    form = form_named(measure).lenient(leniency)
    return RevealedPool.of(form, INDPTR, ranks.astype(np.int32), np.array([0.5, 0.1, 0.4]), key)


def beliefs(model: str) -> np.ndarray:
    """float64[6, 3], grade probabilities that are useless, wrong, or wrong without a doubt."""
    wrong = np.eye(3)[2 - LABEL]
    mixed = {"useless": np.full((6, 3), 1 / 3), "wrong": 0.8 * wrong + 0.2 / 3, "overconfident": wrong}
    return mixed[model]


def outcomes(design: DocumentDesign):
    """Every sample of the design with its probability, and the number of its second phase."""
    mine = [design.order[(design.order >= a) & (design.order < b)] for a, b in itertools.pairwise(INDPTR)]
    depths = [range(len(each) + 1) for each in mine]
    for number, depth in enumerate(itertools.product(*depths)):
        chance = math.prod(
            -np.diff(np.r_[1.0, design.inclusion[each], 0.0])[n] for each, n in zip(mine, depth, strict=True)
        )
        sure = [[1] if p == 1 else [0] if p == 0 else [0, 1] for p in design.opening]
        for came in itertools.product(*sure):
            opened = np.array(came)
            both = chance * math.prod(np.where(opened > 0, design.opening, 1 - design.opening))
            drawn = np.zeros(6, dtype=bool)
            for each, n, x in zip(mine, depth, opened, strict=True):
                drawn[each[:n]] = x > 0
            sample = TwoPhase(design, Sample.once(opened * design.opening), drawn, np.zeros(3, dtype=bool), 0.0)
            if both > 0:
                yield both, number, sample


def enumerated(pool: RevealedPool, design: DocumentDesign, belief: np.ndarray, contrast: np.ndarray, estimator: str):
    """The mean of the estimate and of the parts of its variance, and the true parts."""
    truth = np.eye(3)[LABEL]
    rows = []
    for chance, group, sample in outcomes(design):
        mean = predicted(pool, sample, belief, truth, contrast, estimator)
        found = document_estimate(pool, sample, mean, np.where(sample.drawn[:, None], truth, mean), contrast)
        rows.append((chance, group, found.value, found.first, found.second))
    chance, group, value, first, second = np.array(rows).T
    assert chance.sum() == pytest.approx(1)
    mean = chance @ value
    mass = np.bincount(group.astype(int), weights=chance)
    mass, kept = mass[mass > 0], mass > 0
    given = np.bincount(group.astype(int), weights=chance * value)[kept] / mass
    square = np.bincount(group.astype(int), weights=chance * value**2)[kept] / mass
    within, total = mass @ (square - given**2), chance @ (value - mean) ** 2
    return mean, (chance @ first, chance @ second), (within, total - within)


DESIGN = DocumentDesign("depth", ORDER, OPENING, INCLUSION)
ALL_OPENED = DocumentDesign("depth", ORDER, np.ones(3), INCLUSION)


@pytest.mark.parametrize("measure", COMPILED + SLOW)
@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("estimator", ["difference", "ht"])
def test_estimates_are_unbiased_and_so_is_their_variance(measure, contrast, model, estimator):
    if measure in SLOW and (estimator == "ht" or len(contrast) == 3):
        pytest.skip("the same code as that of the other measures")
    pool, contrast, belief = pool_of(measure, len(contrast)), np.array(contrast), beliefs(model)
    # The second query has no documents.
    truth = float(pool.weight @ pool.values(np.eye(3)[LABEL]) @ contrast)
    mean, parts, true = enumerated(pool, DESIGN, belief, contrast, estimator)
    assert mean == pytest.approx(truth, abs=1e-10)
    assert parts[0] == pytest.approx(true[0], abs=1e-10)
    assert parts[1] == pytest.approx(true[1], abs=1e-10)
