"""What to expect of measures, and their bounds: by enumeration of all label vectors, and with `ir_measures`."""

import itertools
import math
from dataclasses import replace
from functools import partial

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active.relevance.bounds import UNIT_MEASURES, contrast_bounds
from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import evaluator, label_moments
from pt_active.relevance.revealed import LOG_PRIOR, Expectation, revealed_form


def top(ranked, cutoff):
    return [(rank, label) for rank, label in ranked if rank <= cutoff]


def cascade(ranked, stop):
    value, reach = 0.0, 1.0
    for rank, label in ranked:
        value += reach * stop(label) / rank
        reach *= 1 - stop(label)
    return value


DEFINITIONS = {
    "DCG@3": lambda ranked: sum((2**y - 1) / math.log2(i + 1) for i, y in top(ranked, 3)),
    "DCG(gain='linear')": lambda ranked: sum(y / math.log2(i + 1) for i, y in ranked),
    "P(rel=2)@3": lambda ranked: sum(y >= 2 for _, y in top(ranked, 3)) / 3,
    "RBP(p=0.7,rel=2)": lambda ranked: sum(0.3 * 0.7 ** (i - 1) for i, y in ranked if y >= 2),
    "ERR(max_rel=4)": lambda ranked: cascade(ranked, lambda y: (2**y - 1) / 16),
    "ERR(max_rel=5)@3": lambda ranked: cascade(top(ranked, 3), lambda y: (2**y - 1) / 32),
    "RR": lambda ranked: next((1 / i for i, y in ranked if y >= 1), 0.0),
    "RR(rel=2)@2": lambda ranked: next((1 / i for i, y in top(ranked, 2) if y >= 2), 0.0),
}
OVERLAPS = {
    "one system": [[2, 1, 5, 4, 3, 6]],
    "partial overlap": [[1, 2, 3, 0, 0], [3, 0, 1, 2, 0], [0, 5, 4, 3, 1]],
    "disjoint": [[1, 2, 3, 0, 0, 0], [0, 0, 0, 2, 3, 1]],
    "reversed": [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]],
    "a first empty list": [[0, 0, 0], [3, 1, 2]],
    "gaps": [[1, 4, 6, 0, 7], [9, 2, 0, 3, 6]],
}


def enumerated_moments(values_of, grades):
    """Mean, covariance and fourth moments of a function of label matrices, over all label vectors."""
    possible = [np.flatnonzero(row) for row in grades]
    labels = np.array(list(itertools.product(*possible)))
    chance = grades[np.arange(len(grades)), labels].prod(axis=1)
    values = values_of(labels)
    mean = chance @ values
    products = np.einsum("bi,bj->bij", values - mean, values - mean)
    return mean, np.tensordot(chance, products, 1), np.tensordot(chance, products**2, 1)


def random_query(rng, systems, documents, longest, max_grade):
    """Partially overlapping rankings, and grades."""
    ranks, length = np.zeros((systems, documents), dtype=np.int32), min(longest, documents)
    for rank in ranks:
        rank[rng.permutation(documents)[:length]] = np.arange(1, length + 1)
    return ranks, rng.dirichlet(np.full(max_grade + 1, 0.7), size=documents)


def moments_of(name, ranks, grades, **settings):
    return label_moments(parse_measure(name), np.array([0, ranks.shape[1]]), ranks, grades, **settings)


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_moments_equal_enumeration(name, overlap):
    """Also where all or some grades are certain: κ = 0 and κ = 1, where nothing may be divided by 1 − κ."""
    ranks = np.array(OVERLAPS[overlap], dtype=np.int32)
    uncertain = np.random.default_rng(5).dirichlet(np.full(4, 0.7), size=ranks.shape[1])
    one_certain = uncertain.copy()
    one_certain[0] = [0, 0, 0.25, 0.75]
    certain = (np.eye(4)[np.resize(labels, len(uncertain))] for labels in ([0], [3], [2, 0, 3, 1]))

    def values_of(labels):
        ranked = [[sorted((i, y) for i, y in zip(rank, row, strict=True) if i) for rank in ranks] for row in labels]
        return np.array([[DEFINITIONS[name](each) for each in row] for row in ranked], dtype=float)

    for grades in (uncertain, one_certain, *certain):
        moments = moments_of(name, ranks, grades)
        mean, covariance, _ = enumerated_moments(values_of, grades)
        np.testing.assert_allclose(moments.mean[0], mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(moments.covariance[0], covariance, rtol=0, atol=1e-12)
        assert moments.monte_carlo_error is None


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["DCG@3", "P(rel=2)@3", "ERR(max_rel=5)@3", "ERR(max_rel=4)", "RR(rel=2)"]),
    st.integers(0, 2**32 - 1),
)
def test_the_order_of_documents_queries_and_systems_does_not_matter(name, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    ranks, grades = random_query(rng, 3, n, int(rng.integers(1, n + 1)), 4)
    moments, order, systems = moments_of(name, ranks, grades), rng.permutation(n), rng.permutation(3)
    shuffled = np.ascontiguousarray(ranks[systems][:, order])
    twice = np.array([0, n, 2 * n]), np.hstack([shuffled] * 2), np.vstack([grades[order]] * 2)
    other, covariance = label_moments(parse_measure(name), *twice), moments.covariance[0]
    for x in (0, 1):
        np.testing.assert_allclose(other.mean[x], moments.mean[0, systems], atol=1e-13)
        np.testing.assert_allclose(other.covariance[x], covariance[np.ix_(systems, systems)], atol=1e-13)
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() >= -1e-12


def by_ir_measures(measure, labels, rank):
    """The measure of one system for each label vector, with all documents judged."""
    documents = range(labels.shape[1])
    qrels = {str(b): {f"d{z}": int(row[z]) for z in documents} for b, row in enumerate(labels)}
    run = {str(b): {f"d{z}": 1 / float(rank[z]) for z in documents if rank[z] > 0} for b in range(len(labels))}
    values = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}
    return np.array([values[str(b)] for b in range(len(labels))])


GAINS = {0: 0, 1: 1, 2: 5, 3: 5, 4: 20}
COMPILED = ["nDCG", "nDCG@3", "nDCG@50", "AP", "AP@50", "AP(rel=3)@4"]
WITH_GAINS = [ir_measures.nDCG(gains=GAINS) @ 4, ir_measures.nDCG(gains={1: 0, 2: 3})]
GENERIC = ["Bpref(rel=2)", "Success@2", "Rprec", "SetF"]


@pytest.mark.parametrize("name", [*COMPILED, *WITH_GAINS, *GENERIC], ids=str)
def test_measures_of_label_matrices_equal_ir_measures(name):
    rng, measure = np.random.default_rng(14), parse_measure(name)
    for documents, longest in [(1, 1), (5, 3), (30, 20)]:
        ranks, _ = random_query(rng, 2, documents, longest, 1)
        labels = rng.choice(5, size=(12, documents), p=[0.5, 0.2, 0.15, 0.1, 0.05])
        labels[0] = 0
        labels[1] = 4
        values = evaluator(measure, 4)(labels, ranks)
        for system, rank in enumerate(ranks):
            np.testing.assert_allclose(values[:, system], by_ir_measures(measure, labels, rank), atol=1e-12)


@pytest.mark.parametrize("name", ["nDCG@3", "AP"])
def test_monte_carlo_moments_are_within_their_error_of_enumeration(name):
    """Mean within 4 reported standard errors; covariance within 4 of its own, from enumerated fourth moments."""
    rng, samples = np.random.default_rng(21), 4000
    for query in range(3):
        ranks, grades = random_query(rng, 2, 6, 4, 3)
        moments = moments_of(name, ranks, grades, samples=samples, seed=query)
        values_of = partial(evaluator(parse_measure(name), 3), ranks=ranks)
        mean, covariance, fourth = enumerated_moments(values_of, grades)
        spread = np.sqrt((fourth - covariance**2) / samples)
        assert (abs(moments.mean[0] - mean) <= 4 * moments.monte_carlo_error[0]).all()
        assert (abs(moments.covariance[0] - covariance) <= 4 * spread).all()
        np.testing.assert_allclose(moments.monte_carlo_error[0], np.sqrt(np.diag(covariance) / samples), rtol=0.1)


def test_one_label_vector_is_too_few():
    with pytest.raises(ValueError, match="at least 2 label vectors"):
        moments_of("nDCG", np.array([[1]], dtype=np.int32), np.eye(2)[[0]], samples=1)


ADDITIVE = ("DCG", "P(rel=4)@2", "RBP(p=0.7,rel=2)")
CASCADE = ("ERR(max_rel=4)@3", "RR", "RR(rel=3)@2")
CONTRASTS = np.array([[1, 0, 0], [-2, 0, 0], [1, -1, 0], [0, -1, 1], [1, -0.5, -0.5], [0.3, 0.3, 0.3]])
INDPTR = np.array([0, 5, 5, 9])
RANKS = np.array(
    [[1, 2, 3, 4, 5, 2, 1, 0, 3], [3, 0, 2, 1, 0, 1, 2, 3, 0], [1, 2, 4, 3, 0, 2, 1, 3, 0]], dtype=np.int32
)
"""Three rankers of two queries, with an empty query between; the first and the last agree on the first two ranks."""


def bounds(name, *contrast):
    return contrast_bounds(parse_measure(name), INDPTR, RANKS, 2, np.array(contrast))


@pytest.mark.parametrize("name", [*ADDITIVE, *CASCADE])
def test_bounds_hold_all_values(name):
    """They are exact for additive measures, and for cascade measures of one ranker."""
    values = []
    for start, end in itertools.pairwise(INDPTR):
        labels = np.array(list(itertools.product(range(3), repeat=end - start)), dtype=int)
        values.append(evaluator(parse_measure(name), 2)(labels, RANKS[:, start:end]))
    for contrast in CONTRASTS:
        low, high = bounds(name, *contrast)
        least, most = (np.array([each(value @ contrast) for value in values]) for each in (np.min, np.max))
        assert (low <= least + 1e-12).all()
        assert (high >= most - 1e-12).all()
        if name in ADDITIVE or np.count_nonzero(contrast) == 1:
            np.testing.assert_allclose([low, high], [least, most], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "contrast", "low", "high"),
    [
        ("RR@2", [0.0, -1.0, 1.0], [-1, 0, -1], [1, 0, 1]),  # A pair of cascade measures is bounded by its rankers.
        *((name, [1.0, -0.5, 0.25], [-0.5] * 3, [1.25] * 3) for name in ("nDCG@10", "AP", "P(judged_only=True)@3")),
    ],
)
def test_a_contrast_is_bounded_by_its_weights(name, contrast, low, high):
    np.testing.assert_allclose(bounds(name, *contrast), [low, high])


@pytest.mark.parametrize("name", ["DCG", "RR"])
def test_rankings_that_agree_above_the_cutoff_differ_by_nothing(name):
    """A weighted sum of equal rankings is not a difference."""
    np.testing.assert_array_equal(bounds(f"{name}@2", 1.0, 0.0, -1.0), 0)
    assert (bounds(f"{name}@3", 1.0, 0.0, -1.0)[1][[0, 2]] > 0).all()
    one, both = bounds(f"{name}@2", 1.0, 0.0, 0.0)[1], bounds(f"{name}@2", 1.0, 0.0, 1.0)[1]
    np.testing.assert_allclose(both[[0, 2]], 2 * one[[0, 2]])
    assert (one[[0, 2]] > 0).all()


@pytest.mark.parametrize("name", ["NumRet", "INSQ", "alpha_nDCG@10"])
def test_measures_without_known_bounds_raise(name):
    measure = ir_measures.parse_measure(name)
    with pytest.raises(ValueError, match=f"{measure.NAME}.*no known bounds.*nDCG"):
        contrast_bounds(measure, INDPTR, RANKS, 2, np.array([1.0, 0.0, 0.0]))


WITH_PARAMETERS = (
    *("AP", "AP@3", "AP(rel=2)", "AP(judged_only=True)", "Bpref", "Compat", "Compat(p=0.5)", "Compat(normalize=False)"),
    *("infAP", "IPrec@0.1", "IPrec@0.8", "Judged", "Judged@3", "nDCG", "nDCG@3", "nDCG(judged_only=True)@3", "P@3"),
    *("P(judged_only=True)@3", "R@3", "RBP", "RBP(rel=1,p=0.3)", "Rprec", "RR", "RR@2", "SetAP", "SetF"),
    *("SetF(beta=2.0)", "SetP", "SetP(relative=True)", "SetR", "SetRelP", "Success@3"),
)


def test_listed_measures_lie_between_0_and_1_for_random_labels_and_for_the_best_and_the_worst_order():
    rng, query, document = np.random.default_rng(0), np.repeat(np.arange(50), 9), np.tile(np.arange(9), 50)
    labels, sorted_ = rng.integers(0, query % 5 + 1), query < 5
    frame = pd.DataFrame({"query_id": query.astype(str), "doc_id": document.astype(str), "relevance": labels})
    frame["score"] = np.where(sorted_, (-1.0) ** query * labels, rng.random(450))
    judged, found = (rng.random(450) < 0.8) | (document == 0), (rng.random(450) < 0.7) | sorted_ | (document == 1)
    seen = {name: [] for name in UNIT_MEASURES}
    measures = map(ir_measures.parse_measure, WITH_PARAMETERS)
    for metric in ir_measures.iter_calc(measures, frame[judged], frame[found]):
        seen[str(metric.measure.NAME)].append(metric.value)
    for values in seen.values():
        assert min(values) >= 0
        assert 0.5 < max(values) <= 1 + 1e-9


# --- the expectation while labels become known: the measure in the end, whatever was expected -------------------------

REVEALED = ["nDCG", "nDCG(gains={0:0,1:5,2:1})@4", "AP(rel=2)@3"]


def to_be_revealed(measure, gaps=0):
    """What is expected of two queries of 7 documents, their labels, and an order in which these become known.

    With gaps, documents that are not in the pool take some ranks.
    """
    rng, ranks = np.random.default_rng(1), np.zeros((3, 14), dtype=np.int32)
    for r, a in itertools.product(range(3), (0, 7)):
        found = a + rng.permutation(7)[: rng.integers(1, 8)]
        ranks[r, found] = rng.permutation(len(found) + gaps)[: len(found)] + 1
    belief, label = rng.dirichlet(np.ones(4), 14), rng.integers(0, 4, 14)
    belief[1], label[1] = [1, 0, 0, 0], 3
    key = rng.integers(0, 2**63, 14).astype(np.uint64)
    expected = Expectation(revealed_form(parse_measure(measure), 3), np.array([0, 7, 14]), ranks, belief, key)
    return expected, label, np.r_[rng.permutation(7), 7 + rng.permutation(7)]


@pytest.mark.parametrize("measure", [*REVEALED, "Bpref", "Rprec", "infAP"])
def test_with_all_labels_the_expectation_is_the_measure(measure):
    """The label of a document that the model rules out is taken as it is."""
    expected, label, order = to_be_revealed(measure)
    parsed, queries = parse_measure(measure), (slice(0, 7), slice(7, 14))
    values = [[by_ir_measures(parsed, label[None, x], rank[x])[0] for rank in expected.ranks] for x in queries]
    found = expected.start() + expected.steps(order, label).reshape(3, 2, 7).sum(axis=2).T
    np.testing.assert_allclose(found, values, atol=1e-12)
    np.testing.assert_allclose(replace(expected, belief=np.eye(4)[label]).start(), values, atol=1e-12)


@pytest.mark.parametrize("measure", REVEALED)
def test_the_compiled_loops_are_those_of_the_evaluator(measure):
    expected, label, order = to_be_revealed(measure, gaps=4)
    slow = replace(expected, form=replace(expected.form, compiled=None))
    np.testing.assert_allclose(expected.start(), slow.start(), atol=1e-12)
    for part in (order, order[:0], order[[0, 1, 9]]):
        np.testing.assert_allclose(expected.steps(part, label), slow.steps(part, label), atol=1e-12)


def test_what_is_expected_depends_on_labels_and_ids_alone():
    """Not on the rows, nor on the labels of other queries, nor on labels that come later."""
    expected, label, order = to_be_revealed("nDCG@3")
    rows = np.r_[np.random.default_rng(0).permutation(7), 7 + np.random.default_rng(1).permutation(7)]
    moved = replace(expected, ranks=expected.ranks[:, rows], belief=expected.belief[rows], key=expected.key[rows])
    place = np.argsort(rows)
    np.testing.assert_allclose(moved.start(), expected.start(), atol=1e-12)
    steps = expected.steps(order, label)
    np.testing.assert_allclose(moved.steps(place[order], label[rows])[:, place], steps, atol=1e-12)
    np.testing.assert_allclose(expected.steps(order[7:], label)[:, 7:], steps[:, 7:], atol=1e-12)
    later = label.copy()
    later[order[4:7]] = 0
    np.testing.assert_array_equal(expected.steps(order, later)[:, order[:4]], steps[:, order[:4]])


def test_the_expectation_is_that_of_a_lenient_model():
    """Over many label vectors, against the sum over all labels and classes; the third document is certain.

    A class multiplies the odds that a grade is at most g, for each g.
    """
    measure, places = parse_measure("nDCG@2"), np.arange(3)
    form = replace(revealed_form(measure, 2), samples=20_000)
    belief = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
    ranks, key = np.array([[1, 2, 3]], dtype=np.int32), np.array([3, 5, 7], dtype=np.uint64)
    expected = Expectation(form, np.array([0, 3]), ranks, belief, key)
    labels = np.array(list(itertools.product(range(3), repeat=3)))
    values = evaluator(measure, 2)(labels, ranks)[:, 0]
    weight = np.exp(LOG_PRIOR) / np.exp(LOG_PRIOR).sum()
    below = belief.cumsum(axis=1)
    below = np.array([factor * below / (1 - below + factor * below) for factor in form.factors])
    by_class = np.diff(below, axis=2, prepend=0)
    chances = by_class[:, places, labels].prod(axis=2)
    assert expected.start()[0, 0] == pytest.approx(weight @ chances @ values, abs=0.01)
    shown = labels[:, 0] == 2
    posterior = weight * by_class[:, 0, 2]
    given = [(each[shown] / each[shown].sum()) @ values[shown] for each in chances]
    step = expected.steps(np.array([0]), np.array([2, 0, 0]))[0, 0]
    assert expected.start()[0, 0] + step == pytest.approx(posterior @ given / posterior.sum(), abs=0.01)
