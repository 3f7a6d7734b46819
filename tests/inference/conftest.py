"""Every outcome of a drawing of documents, with its probability."""

import itertools
import math

import numpy as np
import pytest

from pt_active.inference.documents import document_estimate
from pt_active.sampling.sample import Sample, TwoPhase


def second_phases(design, indptr):
    """Each query's outcomes of the second phase: probability and documents."""
    for a, b in itertools.pairwise(indptr):
        mine = design.order[(design.order >= a) & (design.order < b)]
        pi = design.inclusion[mine]
        if design.nested:
            chance = -np.diff(np.r_[1.0, pi, 0.0])
            yield [(chance[n], mine[:n]) for n in range(len(mine) + 1)]
        else:
            yield [
                (math.prod(np.where(taken, pi, 1 - pi)), mine[list(taken)])
                for taken in itertools.product([True, False], repeat=len(mine))
            ]


def all_outcomes(design, indptr):
    """For each outcome of the second phase, a list of all outcomes of the first: joint probability and sample."""
    sure = [[1.0] if p in (0, 1) else [1.0, 0.0] for p in design.opening]
    for combination in itertools.product(*second_phases(design, indptr)):
        chance = math.prod(p for p, _ in combination)
        if chance == 0:
            continue
        rows = []
        for open_or_not in itertools.product(*sure):
            opened = np.array(open_or_not) * (design.opening > 0)
            both = chance * math.prod(np.where(opened > 0, design.opening, 1 - design.opening))
            drawn = np.zeros(indptr[-1], dtype=bool)
            for came, (_, documents) in zip(opened, combination, strict=True):
                drawn[documents] = came > 0
            rows.append((both, TwoPhase(design, Sample.once(opened * design.opening), drawn, 0.0)))
        yield rows


def estimates_of_all(pool, design, mean_of, truth, contrast, share=0.0):
    """Expectations of an estimate and its variances, and the true variances: first phase, second, together."""
    chance, fields, groups = [], [], []
    for group, rows in enumerate(all_outcomes(design, pool.indptr)):
        for p, sample in rows:
            mean = mean_of(sample)
            drawn = sample.drawn if mean.ndim == 1 else sample.drawn[:, None]
            estimate = document_estimate(pool, sample, mean, np.where(drawn, truth, mean), contrast, share)
            fields.append((estimate.value, estimate.first, estimate.second))
            chance.append(p)
            groups.append(group)
    chance, (value, *parts), groups = np.array(chance), np.array(fields).T, np.array(groups)
    assert chance.sum() == pytest.approx(1)
    total = chance @ (value - chance @ value) ** 2
    mass = np.bincount(groups, weights=chance)
    given_documents = np.bincount(groups, weights=chance * value) / mass
    within = mass @ (np.bincount(groups, weights=chance * value**2) / mass - given_documents**2)
    return chance @ value, [chance @ part for part in parts], (within, total - within, total)


@pytest.fixture(scope="session")
def enumerated():
    return estimates_of_all
