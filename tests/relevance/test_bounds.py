"""Bounds of measures against all label vectors of small queries, and against `ir_measures`."""

from itertools import pairwise, product

import ir_measures
import numpy as np
import pytest
from ir_measures import Qrel, ScoredDoc

from pt_active.relevance.bounds import UNIT_MEASURES, contrast_bounds
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import document_moments

GRADES = 3
ADDITIVE = ("DCG", "P(rel=4)@2", "RBP(p=0.7,rel=2)")
CASCADE = ("ERR(max_rel=4)@3", "RR", "RR(rel=3)@2")
CONTRASTS = np.array([[1, 0, 0], [-2, 0, 0], [1, -1, 0], [0, -1, 1], [1, -0.5, -0.5], [0.3, 0.3, 0.3]])
INDPTR = np.array([0, 5, 5, 9])
RANKS = np.array(
    [[1, 2, 3, 4, 5, 2, 1, 0, 3], [3, 0, 2, 1, 0, 1, 2, 3, 0], [1, 2, 4, 3, 0, 2, 1, 3, 0]], dtype=np.int32
)
"""Three rankers of two queries, with an empty query between; the first and the last agree on the first two ranks."""


def all_labels(start, end):
    """Each label vector of the documents of a query as a query of its own: offsets, ranks, and labels as grades."""
    labels = np.array(list(product(range(GRADES), repeat=end - start)), dtype=int)
    onehot = np.eye(GRADES)[labels.ravel()].reshape(-1, GRADES)
    return np.arange(len(labels) + 1) * (end - start), np.tile(RANKS[:, start:end], len(labels)), onehot


def bounds(name, *contrast):
    return contrast_bounds(parse_measure(name), INDPTR, RANKS, GRADES - 1, np.array(contrast))


@pytest.mark.parametrize("name", [*ADDITIVE, *CASCADE])
def test_bounds_hold_all_values(name):
    """They are exact for additive measures, and for cascade measures of one ranker."""
    values = [document_moments(parse_measure(name), *all_labels(*ends), GRADES - 1) for ends in pairwise(INDPTR)]
    for contrast in CONTRASTS:
        low, high = bounds(name, *contrast)
        least, most = (np.array([each(value @ contrast) for value in values]) for each in (np.min, np.max))
        assert (low <= least + 1e-12).all()
        assert (high >= most - 1e-12).all()
        if name in ADDITIVE or np.count_nonzero(contrast) == 1:
            np.testing.assert_allclose([low, high], [least, most], atol=1e-12)


def test_a_pair_of_cascade_measures_is_bounded_by_its_rankers():
    np.testing.assert_array_equal(bounds("RR@2", 0.0, -1.0, 1.0), [[-1, 0, -1], [1, 0, 1]])


@pytest.mark.parametrize("name", ["DCG", "RR"])
def test_rankings_that_agree_above_the_cutoff_differ_by_nothing(name):
    """A weighted sum of equal rankings is not a difference."""
    np.testing.assert_array_equal(bounds(f"{name}@2", 1.0, 0.0, -1.0), 0)
    assert (bounds(f"{name}@3", 1.0, 0.0, -1.0)[1][[0, 2]] > 0).all()
    one, both = bounds(f"{name}@2", 1.0, 0.0, 0.0)[1], bounds(f"{name}@2", 1.0, 0.0, 1.0)[1]
    np.testing.assert_allclose(both[[0, 2]], 2 * one[[0, 2]])
    assert (one[[0, 2]] > 0).all()


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "P(judged_only=True)@3", "Rprec"])
def test_measures_between_0_and_1_bound_a_contrast_by_its_weights(name):
    np.testing.assert_allclose(bounds(name, 1.0, -0.5, 0.25), [[-0.5] * 3, [1.25] * 3])


@pytest.mark.parametrize("name", ["NumRet", "INSQ", "alpha_nDCG@10"])
def test_measures_without_known_bounds_raise(name):
    measure = ir_measures.parse_measure(name)
    with pytest.raises(ValueError, match=f"{measure.NAME}.*no known bounds.*nDCG"):
        contrast_bounds(measure, INDPTR, RANKS, GRADES - 1, np.array([1.0, 0.0, 0.0]))


WITH_PARAMETERS = (
    *("AP", "AP@3", "AP(rel=2)", "AP(judged_only=True)", "Bpref", "Compat", "Compat(p=0.5)", "Compat(normalize=False)"),
    *("infAP", "IPrec@0.1", "IPrec@0.8", "Judged", "Judged@3", "nDCG", "nDCG@3", "nDCG(judged_only=True)@3", "P@3"),
    *("P(judged_only=True)@3", "R@3", "RBP", "RBP(rel=1,p=0.3)", "Rprec", "RR", "RR@2", "SetAP", "SetF"),
    *("SetF(beta=2.0)", "SetP", "SetP(relative=True)", "SetR", "SetRelP", "Success@3"),
)


def test_listed_measures_lie_between_0_and_1_for_random_labels_and_for_the_best_and_the_worst_order():
    rng, qrels, run = np.random.default_rng(0), [], []
    for number in range(50):
        query, labels = f"q{number}", rng.integers(0, number % 5 + 1, 9)
        scores = (-1.0) ** number * labels if number < 5 else rng.random(9)
        judged, found = rng.random(9) < 0.8, (rng.random(9) < 0.7) | (number < 5)
        judged[0] = found[1] = True
        qrels += [Qrel(query, f"d{z}", int(labels[z])) for z in np.flatnonzero(judged)]
        run += [ScoredDoc(query, f"d{z}", scores[z]) for z in np.flatnonzero(found)]
    seen: dict[str, list[float]] = {}
    for metric in ir_measures.iter_calc(map(ir_measures.parse_measure, WITH_PARAMETERS), qrels, run):
        seen.setdefault(str(metric.measure.NAME), []).append(metric.value)
    assert set(seen) == set(UNIT_MEASURES)
    for values in seen.values():
        assert min(values) >= 0
        assert 0.5 < max(values) <= 1 + 1e-9
