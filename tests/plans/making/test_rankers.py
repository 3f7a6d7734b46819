"""Weights of pairs of rankers: the mixture of pairwise designs at both levels, how a plan keeps them, and bad input."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, OrderedLogitGrades, Plan, Runs, SamplingDistribution
from pt_active.demo.collection import DemoCollection
from pt_active.plans.making.rankers import pair_weights
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.relevance.moments import Moments
from pt_active.sampling.designs import check_pair_weights, sampling_distribution
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import DocumentPool, Variables

NAMES = ("production", "candidate", "third")
PAIRS = list(itertools.combinations(range(3), 2))


def random_moments(seed: int, systems: int = 3, queries: int = 8) -> tuple[Moments, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(queries, systems, systems)) * 0.3
    moments = Moments(rng.uniform(0, 1, (queries, systems)), root @ root.transpose(0, 2, 1))
    return moments, rng.uniform(0.2, 9, queries), rng.dirichlet(np.ones(queries))


@pytest.mark.parametrize("design", ["optimal", "hedged", "active_uniform_grades"])
@pytest.mark.parametrize("weights", [(2.0, 1.0, 0.0), (0.0, 0.0, 3.0), (0.5, 0.25, 4.0), (0.3, 0.3, 0.3)])
def test_q_is_the_weighted_mean_of_those_of_the_pairs(weights, design):
    moments, cost, p = random_moments(0)

    def q_of(systems: list[int], defensive: float = 0.0, **how: np.ndarray) -> np.ndarray:
        own = Moments(moments.mean[:, systems], moments.covariance[:, systems][:, :, systems])
        return sampling_distribution(design, own, cost, p, defensive, own, **how)

    expected = sum(w * q_of([*pair]) for w, pair in zip(weights, PAIRS, strict=True)) / sum(weights)
    for defensive in (0.0, 0.2):
        q = q_of([0, 1, 2], defensive, pairs=np.array(weights))
        np.testing.assert_allclose(q, (1 - defensive) * expected + defensive * p, rtol=0, atol=1e-12)
    if len(set(weights)) == 1:
        np.testing.assert_allclose(q_of([0, 1, 2]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 1.0], "3 systems have 3 pairs to be weighted, got weights of shape"),
        *(
            (each, "finite, not negative and not all zero")
            for each in ([1.0, -1.0, 1.0], [0.0] * 3, [np.nan, 1.0, 1.0])
        ),
    ],
)
def test_weights_that_cannot_weigh_pairs(weights, message):
    with pytest.raises(ValueError, match=message):
        check_pair_weights(np.array(weights), 3)
    with pytest.raises(ValueError, match="the design 'passive' does not look at pairs"):
        sampling_distribution("passive", *random_moments(0), pairs=np.ones(3))


@pytest.mark.parametrize(
    ("measure", "drawing"), [("DCG@4", "successive"), ("DCG@4", "depth"), ("ERR(max_rel=2)@4", "depth")]
)
def test_documents_take_the_weighted_mean_of_the_variances_of_pairs(measure, drawing):
    rng = np.random.default_rng(11)
    ranks = np.array([rng.permutation(6) + 1 for _ in range(3)], dtype=np.int32)
    grades, indptr, weight, cost = rng.dirichlet(np.ones(3), 6), np.array([0, 6]), np.ones(1), rng.uniform(0.5, 3, 6)
    form = rank_form(parse_measure(measure), 2, 6)
    variables = Variables.of(form, grades)

    def gain(systems: list[int], weights: list[float] | None = None) -> np.ndarray:
        pairs = None if weights is None else np.array(weights)
        pool, settings = DocumentPool(form, indptr, ranks[systems], weight), DrawingSettings(drawing, 0.0, pairs=pairs)
        return document_sizes(pool, variables, cost, settings).gain

    parts = [gain([a, b]) for a, b in PAIRS]
    weights = [2.0, 0.0, 0.5]
    expected = sum(w * part for w, part in zip(weights, parts, strict=True)) / 2.5
    np.testing.assert_allclose(gain([0, 1, 2], weights), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(gain([0, 1, 2], [3.0] * 3), gain([0, 1, 2]), rtol=1e-12, atol=1e-15)


def test_a_pair_may_be_said_in_either_order():
    found = pair_weights({("candidate", "production"): 2, ("production", "third"): 0.5}, NAMES)
    assert found.tolist() == [2, 0.5, 0]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({("production", "other"): 1}, r"pairs\[\('production', 'other'\)\]: expected two different rankers of 'prod"),
        ("other", "pairs='other': no such ranker; there are 'production'"),
        ({("third", "third"): 1}, "expected two different rankers"),
        ({("third", "candidate"): 1, ("candidate", "third"): 1}, "the pair is given in both orders; give it once"),
        ({("third", "candidate"): -1}, "a weight must be a number from 0, got -1"),
        ({("third", "candidate"): "2"}, "a weight must be a number, got '2'"),
        ({("third", "candidate"): 0}, "pairs gives every pair the weight 0"),
        ({"third": 1}, "expected two different rankers"),
        ([("third", "candidate")], "pairs must map"),
    ],
)
def test_bad_pairs(pairs, message):
    with pytest.raises(ValueError, match=message):
        pair_weights(pairs, NAMES)


@pytest.fixture(scope="module")
def graded(demo: DemoCollection, grades: OrderedLogitGrades) -> pd.DataFrame:
    third = demo.runs["candidate"].drop(columns="rank")
    third = third.assign(score=third.score + np.random.default_rng(3).normal(0, 0.3, len(third)))
    return (Runs(**demo.runs, third=third, depth=12) >> grades)(demo.topics)


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_plan_keeps_its_weights_and_its_rounds_use_them(demo, graded, level, tmp_path):
    how = {"budget": 300, "level": level, "design": {"query": None, "document": "depth"}[level], "seed": 2}
    plan = Plan.create(graded, None, DCG @ 10, **how, pairs="production")
    plain = Plan.create(graded, None, DCG @ 10, **how)
    assert plan.manifest["arguments"]["pairs"] == [["production", "candidate", 1.0], ["production", "third", 1.0]]
    assert plain.manifest["arguments"]["pairs"] is None
    saved = Plan.load(plan.save(tmp_path / "plan").path)
    assert saved.manifest == plan.manifest
    if level == "query":
        assert not np.allclose(plan.queries.q_prob, plain.queries.q_prob)
        design = SamplingDistribution(DCG @ 10, pairs="production", level="query")(graded)
        np.testing.assert_allclose(design.q_prob, plan.queries.q_prob, rtol=0, atol=1e-15)
        return
    chance, without = (p.tables.documents.sample.design.inclusion for p in (plan, plain))
    assert not np.allclose(chance, without)
    again = plan.extend(60).assessments
    pd.testing.assert_frame_equal(again, saved.extend(60).assessments)
    arguments = replace(saved.tables.manifest.arguments, pairs=None)
    manifest = replace(saved.tables.manifest, arguments=arguments)
    assert not Plan._of(replace(saved.tables, manifest=manifest)).extend(60).assessments.equals(again)
