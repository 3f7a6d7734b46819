"""The expectation of a measure while labels become known: equal to ir_measures in the end, whatever was expected."""

from dataclasses import replace
from itertools import product

import ir_measures
import numpy as np
import pytest

from pt_active.relevance.measures import parse_measure
from pt_active.relevance.moments import evaluator
from pt_active.relevance.revealed import LOG_PRIOR, Expectation, revealed_form

MEASURES = ["nDCG", "nDCG(gains={0:0,1:5,2:1})@4", "AP(rel=2)@3"]


def random_query(measure, gaps=0):
    """What is expected of two queries of 7 documents, their labels, and an order in which these become known.

    With gaps, documents that are not in the pool take some ranks.
    """
    rng, ranks = np.random.default_rng(1), np.zeros((3, 14), dtype=np.int32)
    for r, a in product(range(3), (0, 7)):
        found = a + rng.permutation(7)[: rng.integers(1, 8)]
        ranks[r, found] = rng.permutation(len(found) + gaps)[: len(found)] + 1
    belief, label = rng.dirichlet(np.ones(4), 14), rng.integers(0, 4, 14)
    belief[1], label[1] = [1, 0, 0, 0], 3
    key = rng.integers(0, 2**63, 14).astype(np.uint64)
    expected = Expectation(revealed_form(parse_measure(measure), 3), np.array([0, 7, 14]), ranks, belief, key)
    return expected, label, np.r_[rng.permutation(7), 7 + rng.permutation(7)]


@pytest.mark.parametrize("measure", [*MEASURES, "Bpref", "Rprec", "infAP"])
def test_with_all_labels_the_expectation_is_the_measure(measure):
    """The label of a document that the model rules out is taken as it is."""
    expected, label, order = random_query(measure)
    parsed = parse_measure(measure)
    qrels = {f"q{x}": {f"d{z}": int(label[7 * x + z]) for z in range(7)} for x in range(2)}
    values = np.zeros((2, 3))
    for r, ranks in enumerate(expected.ranks.reshape(3, 2, 7)):
        run = {f"q{x}": {f"d{z}": -float(ranks[x, z]) for z in np.flatnonzero(ranks[x])} for x in range(2)}
        for metric in ir_measures.iter_calc([parsed], qrels, run):
            values[int(metric.query_id[1:]), r] = metric.value
    found = expected.start() + expected.steps(order, label).reshape(3, 2, 7).sum(axis=2).T
    np.testing.assert_allclose(found, values, atol=1e-12)
    np.testing.assert_allclose(replace(expected, belief=np.eye(4)[label]).start(), values, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_compiled_loops_are_those_of_the_evaluator(measure):
    expected, label, order = random_query(measure, gaps=4)
    slow = replace(expected, form=replace(expected.form, compiled=None))
    np.testing.assert_allclose(expected.start(), slow.start(), atol=1e-12)
    for part in (order, order[:0], order[[0, 1, 9]]):
        np.testing.assert_allclose(expected.steps(part, label), slow.steps(part, label), atol=1e-12)


def test_what_is_expected_depends_on_labels_and_ids_alone():
    """Not on the rows, nor on the labels of other queries, nor on labels that come later."""
    expected, label, order = random_query("nDCG@3")
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
    labels = np.array(list(product(range(3), repeat=3)))
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
