"""Bounds of measures against all label vectors of small queries, and against `ir_measures`."""

from __future__ import annotations

from itertools import pairwise, product

import ir_measures
import numpy as np
import pytest
from ir_measures import Qrel, ScoredDoc

from pt_active.relevance.bounds import (
    UNIT_MEASURES,
    contrast_bounds,
)
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import document_moments

GRADES = 3

ADDITIVE = (
    *("DCG", "DCG@3", "DCG(gain='linear')@2", "P@3", "P(rel=2)@2", "P(rel=4)@2", "RBP(p=0.7,rel=2)", "RBP(rel=1)@3"),
)

CASCADE = ("ERR(max_rel=2)", "ERR(max_rel=4)@3", "RR", "RR(rel=2)@2", "RR(rel=3)@2")

CONTRASTS = ([1.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [1.0, -1.0, 0.0], [0.0, -1.0, 1.0], [1.0, -0.5, -0.5], [0.3, 0.3, 0.3])

INDPTR = np.array([0, 5, 5, 9])

RANKS = np.array(
    [[1, 2, 3, 4, 5, 2, 1, 0, 3], [3, 0, 2, 1, 0, 1, 2, 3, 0], [1, 2, 4, 3, 0, 2, 1, 3, 0]], dtype=np.int32
)
"""Three rankers of two queries, with an empty query between; the first and the last agree on the first two ranks."""


def all_labels(start: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each label vector of the documents of a query as a query of its own: offsets, ranks, and labels as grades."""
    labels = np.array(list(product(range(GRADES), repeat=end - start)), dtype=int)
    onehot = np.eye(GRADES)[labels.ravel()].reshape(-1, GRADES)
    return np.arange(len(labels) + 1) * (end - start), np.tile(RANKS[:, start:end], len(labels)), onehot


def bounds(name: str, contrast: list[float], ranks: np.ndarray = RANKS) -> tuple[np.ndarray, np.ndarray]:
    return contrast_bounds(parse_measure(name), INDPTR, ranks, GRADES - 1, np.array(contrast))


@pytest.mark.parametrize("contrast", CONTRASTS)
@pytest.mark.parametrize("name", [*ADDITIVE, *CASCADE])
def test_bounds_hold_all_values(name: str, contrast: list[float]) -> None:
    """They are exact for additive measures, and for cascade measures of one ranker."""
    measure, low, high = parse_measure(name), *bounds(name, contrast)
    for query, ends in enumerate(pairwise(INDPTR)):
        values = document_moments(measure, *all_labels(*ends), GRADES - 1) @ np.array(contrast)
        assert low[query] <= values.min() + 1e-12
        assert high[query] >= values.max() - 1e-12
        if name in ADDITIVE or np.count_nonzero(contrast) == 1:
            np.testing.assert_allclose([low[query], high[query]], [values.min(), values.max()], atol=1e-12)


def test_a_pair_of_cascade_measures_is_bounded_by_its_rankers() -> None:
    low, high = bounds("RR@2", [0.0, -1.0, 1.0])
    np.testing.assert_array_equal(low, [-1, 0, -1])
    np.testing.assert_array_equal(high, [1, 0, 1])


@pytest.mark.parametrize("name", ["DCG@2", "P@2", "RBP(rel=1)@2", "ERR(max_rel=2)@2", "RR@2"])
def test_rankings_that_agree_above_the_cutoff_differ_by_nothing(name: str) -> None:
    low, high = bounds(name, [1.0, 0.0, -1.0])
    np.testing.assert_array_equal(low, 0)
    np.testing.assert_array_equal(high, 0)
    low, high = bounds(name, [1.0, -0.5, -0.5])
    assert low[0] < 0 < high[0]
    deeper = name.replace("@2", "@3")
    assert (bounds(deeper, [1.0, 0.0, -1.0])[1][[0, 2]] > 0).all()


@pytest.mark.parametrize("name", ["ERR(max_rel=2)@2", "RR@2"])
def test_a_weighted_sum_of_equal_rankings_is_not_a_difference(name: str) -> None:
    one, both = bounds(name, [1.0, 0.0, 0.0]), bounds(name, [1.0, 0.0, 1.0])
    np.testing.assert_allclose(both[1][[0, 2]], 2 * one[1][[0, 2]])
    assert (one[1][[0, 2]] > 0).all()


@pytest.mark.parametrize("name", ["DCG@2", "RR@2", "nDCG@2"])
def test_queries_without_documents_have_bounds(name: str) -> None:
    empty = np.zeros((2, 0), dtype=np.int32)
    low, high = contrast_bounds(parse_measure(name), np.zeros(3, dtype=int), empty, 2, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(low, 0)
    np.testing.assert_array_equal(high, float(name == "nDCG@2"))


# --- measures between 0 and 1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "P(judged_only=True)@3", "RR(judged_only=True)", "Rprec"])
def test_measures_between_0_and_1_bound_a_contrast_by_its_weights(name: str) -> None:
    low, high = bounds(name, [1.0, -0.5, 0.25])
    np.testing.assert_allclose(low, -0.5)
    np.testing.assert_allclose(high, 1.25)


@pytest.mark.parametrize("name", ["NumRet", "NumRelRet", "INSQ", "SDCG@5", "alpha_nDCG@10", "alpha_DCG@10", "NumQ"])
def test_measures_without_known_bounds_raise(name: str) -> None:
    measure = ir_measures.parse_measure(name)
    with pytest.raises(ValueError, match=f"{measure.NAME}.*no known bounds") as error:
        contrast_bounds(measure, INDPTR, RANKS, GRADES - 1, np.array([1.0, 0.0, 0.0]))
    assert "nDCG" in str(error.value)


WITH_PARAMETERS = (
    *("AP", "AP@3", "AP(rel=2)", "AP(judged_only=True)", "Bpref", "Compat", "Compat(p=0.5)", "Compat(normalize=False)"),
    *("infAP", "IPrec@0.1", "IPrec@0.8", "Judged", "Judged@3", "nDCG", "nDCG@3", "nDCG(judged_only=True)@3", "P@3"),
    *("P(judged_only=True)@3", "R@3", "RBP", "RBP(rel=1,p=0.3)", "Rprec", "RR", "RR@2", "SetAP", "SetF"),
    *("SetF(beta=2.0)", "SetP", "SetP(relative=True)", "SetR", "SetRelP", "Success@3"),
)


def test_listed_measures_lie_between_0_and_1_for_random_labels() -> None:
    rng = np.random.default_rng(0)
    measures = [ir_measures.parse_measure(name) for name in WITH_PARAMETERS]
    documents, queries = [f"d{z}" for z in range(9)], [f"q{x}" for x in range(50)]
    qrels, run = [], []
    for number, query in enumerate(queries):
        top = number % 5
        qrels += [Qrel(query, z, int(rng.integers(0, top + 1))) for z in documents if z == "d0" or rng.random() < 0.8]
        run += [ScoredDoc(query, z, rng.random()) for z in documents if z == "d1" or rng.random() < 0.7]
        if number < 5:
            # The best and the worst order of all documents.
            labels = {qrel.doc_id: qrel.relevance for qrel in qrels if qrel.query_id == query}
            run = [each for each in run if each.query_id != query]
            run += [ScoredDoc(query, z, (-1.0) ** number * label) for z, label in labels.items()]
    seen: dict[str, list[float]] = {}
    for metric in ir_measures.iter_calc(measures, qrels, run):
        seen.setdefault(str(metric.measure.NAME), []).append(metric.value)
    assert set(seen) == set(UNIT_MEASURES)
    for values in seen.values():
        assert min(values) >= 0
        assert 0.5 < max(values) <= 1 + 1e-9
