"""Inclusion probabilities of documents: gradients by enumeration, sizes against numerical optima, exact budgets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes, doubts, hedged
from pt_active.sampling.drawings import DrawingSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes

SEEDS = st.integers(0, 2**32 - 1)
MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR", "RBP(p=0.8)"]
LENGTHS = (3, 0, 1, 4, 2)
QUERY = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
INDPTR = np.r_[0, np.cumsum(LENGTHS)]


def pool_of(measure: str, ranks: object, indptr: object = None, weight: object = None) -> DocumentPool:
    """The pool of some rankings, float64[k, N]; of one query if nothing else is said."""
    ranks = np.array(ranks, dtype=np.int32)
    indptr = np.array([0, ranks.shape[1]] if indptr is None else indptr)
    weight = np.full(len(indptr) - 1, 1 / (len(indptr) - 1)) if weight is None else weight
    return DocumentPool(rank_form(parse_measure(measure), 2, max(1, int(ranks.max()))), indptr, ranks, weight)


def random_pool(rng: np.random.Generator, measure: str, systems: int) -> DocumentPool:
    """Queries of some lengths, one of them empty; each second ranker leaves out a document of each."""
    ranks = np.zeros((systems, INDPTR[-1]), dtype=np.int32)
    for x, s in itertools.product(range(len(LENGTHS)), range(systems)):
        found = INDPTR[x] + rng.permutation(LENGTHS[x])[: max(1, LENGTHS[x] - s % 2)]
        ranks[s, found] = np.arange(1, len(found) + 1)
    return pool_of(measure, ranks, INDPTR, rng.dirichlet(np.ones(len(LENGTHS))))


def random_instance(seed: int, measure: str, systems: int) -> tuple[DocumentPool, Variables, np.ndarray]:
    """A pool, the moments of random grades, and unequal costs."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, measure, systems)
    return pool, Variables.of(pool.form, rng.dirichlet(np.ones(3), len(QUERY))), rng.uniform(0.5, 3, len(QUERY))


def even(pool: DocumentPool) -> Variables:
    """All grades are equally likely."""
    return Variables.of(pool.form, np.full((pool.ranks.shape[1], 3), 1 / 3))


def designed(
    instance: tuple[DocumentPool, Variables, np.ndarray],
    drawing: str,
    share: float,
    overhead: float = 0.0,
    defensive: float = 0.1,
) -> tuple[DocumentSizes, DocumentDesign, float]:
    """Sizes, and the design whose budget is a share of what all documents that can matter cost."""
    cost, sizes = instance[2], document_sizes(*instance, DrawingSettings(drawing, defensive))
    matters = sizes.size > 0
    budget = share * (cost[matters].sum() + overhead * len(np.unique(QUERY[matters])))
    return sizes, document_design(sizes, drawing, Costs(INDPTR, cost, overhead), budget), budget


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(MEASURES), st.integers(1, 3))
def test_the_gradient_is_what_a_document_changes_at_any_real_values(seed, measure, systems):
    """Measures are affine in each variable, so ``ℓ(κ_z + 1) − ℓ(κ_z)`` is the derivative itself."""
    rng = np.random.default_rng(seed)
    pool, values = random_pool(rng, measure, systems), rng.uniform(-2, 3, len(QUERY))
    values[rng.random(len(values)) < 0.2] = 1.0
    found, here = pool.gradients(values), pool.values(values)
    for z, step in enumerate(np.eye(len(values))):
        np.testing.assert_allclose(found[:, z], (pool.values(values + step) - here).sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("measure", ["ERR(max_rel=2)@3", "ERR(max_rel=2)", "RR"])
def test_with_variances_the_chance_of_reaching_a_rank_is_the_root_of_its_mean_square(measure):
    """By enumeration of all labels of 4 documents."""
    pool, grades = pool_of(measure, [[2, 4, 1, 3], [1, 2, 0, 3]]), np.random.default_rng(0).dirichlet(np.ones(3), 4)
    form, variables = pool.form, Variables.of(pool.form, grades)
    found = pool.gradients(variables.mean, variables.variance)
    labels = np.array(list(itertools.product(range(3), repeat=4)))
    chance = grades[np.arange(4), labels].prod(axis=1)
    for s, (own, weights) in enumerate((rank, np.r_[form.weights, np.zeros(4)]) for rank in pool.ranks):
        order = np.argsort(own)[(own == 0).sum() :]
        kappa = form.values[labels[:, order]]
        reach = np.cumprod(np.c_[np.ones(len(labels)), 1 - kappa], axis=1)
        expected = np.zeros(4)
        for place, z in enumerate(order[: len(form.weights)]):
            below = weights[place + 1 : len(order)] * kappa[:, place + 1 :]
            left = np.cumprod(np.c_[np.ones(len(labels)), 1 - kappa[:, place + 1 :]], axis=1)[:, :-1]
            worth = weights[place] - chance @ (below * left).sum(axis=1)
            expected[z] = worth * np.sqrt(chance @ reach[:, place] ** 2)
        np.testing.assert_allclose(found[s], expected, atol=1e-12)


@settings(max_examples=12)
@given(SEEDS, st.sampled_from(["ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]), st.integers(1, 3))
def test_revealed_steps_are_differences_of_values(seed, measure, systems):
    rng, n = np.random.default_rng(seed), len(QUERY)
    pool, (mean, observed) = random_pool(rng, measure, systems), rng.uniform(-0.5, 1.5, (2, n))
    observed[rng.random(n) < 0.3] = 1.0
    order, values = np.lexsort([rng.random(n), QUERY]), mean.copy()
    step = pool.steps(order[: n - 2], mean, observed)
    for z in order[: n - 2]:
        before = pool.values(values)
        values[z] = observed[z]
        np.testing.assert_allclose(step[:, z], (pool.values(values) - before)[QUERY[z]], atol=1e-12)
    assert not step[:, order[n - 2 :]].any()


def test_the_hedge_is_a_share_of_the_average_variance():
    variables = Variables(np.zeros(3), np.array([0.0, 2.0, 1.0]))
    gradient = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]])
    added = 0.3 * (1 * 0 + 5 * 2 + 0 * 1) / 6
    np.testing.assert_allclose(hedged(variables, gradient, 0.3).variance, variables.variance + added)
    np.testing.assert_array_equal(hedged(variables, gradient, 0.0).variance, variables.variance)
    assert hedged(Variables(variables.mean, np.zeros(3)), gradient, 0.3).variance.tolist() == [1, 1, 1]


def test_half_of_the_doubt_in_answers_is_where_they_may_favour_the_worse_system():
    """One document of each of two systems, values 0 to 2: a is worth 1.5 and b .5 of each item on average."""
    ranks, indptr = [[1, 0, 1, 0], [0, 1, 0, 1]], [0, 2, 4]
    mean = np.array([2.0, 0.5, 1.0, 0.5])
    pool = pool_of("Score@1", ranks, indptr)
    worst = np.array([2.0, 1.5, 1.0, 1.5]) ** 2  # from a's mean down to 0, and from b's up to 2
    expected = 0.5 + 0.5 * worst / worst.mean()
    np.testing.assert_allclose(doubts(pool, mean, pool.gradients(mean)), expected)
    swapped = pool_of("Score@1", ranks[::-1], indptr)
    np.testing.assert_allclose(doubts(swapped, mean, swapped.gradients(mean)), expected)
    variables, about = Variables(mean, np.full(4, 0.2)), (np.ones(4), DrawingSettings("successive", 1.0))
    size = document_sizes(pool, variables, *about).size
    by_model = np.sqrt(0.2 + 0.2 * expected)
    np.testing.assert_allclose(normalised(size), 0.9 * normalised(by_model) + 0.1 / 4)


@pytest.mark.parametrize(
    ("measure", "ranks", "mean"),
    [
        ("Score@1", [[1, 0], [0, 1]], [0.7, 0.7]),  # no system is better
        ("Score@1", [[1, 0], [0, 1], [1, 0]], [2, 0]),
        ("Score@1", [[1, 1]], [2, 0]),
        ("DCG@2", [[1, 2], [2, 1]], [2, 0]),
    ],
)
def test_all_other_doubt_is_even(measure, ranks, mean):
    pool, mean = pool_of(measure, ranks), np.array(mean, dtype=float)
    assert doubts(pool, mean, pool.gradients(mean)).tolist() == [1, 1]


def normalised(size: np.ndarray) -> np.ndarray:
    return size / size.sum()


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems", "drawing"),
    [("DCG@3", 3, "successive"), ("DCG@3", 1, "depth"), ("ERR(max_rel=2)", 2, "depth")],
)
def test_the_design_spends_its_budget(measure, systems, drawing, overhead):
    """Queries are opened by the most probable of their documents, or by any of independent ones."""
    instance = random_instance(systems, measure, systems)
    for share in (0.05, 0.3, 0.8):
        _, design, budget = designed(instance, drawing, share, overhead)
        psi = design.chance(QUERY)
        top = np.array([psi[x == QUERY].max(initial=0) for x in range(len(LENGTHS))])
        any_of = np.array([1 - np.prod(1 - psi[x == QUERY]) for x in range(len(LENGTHS))])
        opened = (top if drawing == "depth" else any_of).sum()
        assert psi @ instance[2] + overhead * opened == pytest.approx(budget, abs=1e-9)
        assert ((design.inclusion >= 0) & (design.inclusion <= 1)).all()
        np.testing.assert_array_equal(design.opening, top if drawing == "depth" else top > 0)


@pytest.mark.parametrize(("measure", "systems"), [("DCG@3", 1), ("ERR(max_rel=2)", 2)])
def test_no_other_depths_of_the_same_cost_have_less_variance(measure, systems):
    instance, rng = random_instance(systems, measure, systems), np.random.default_rng(0)
    cost = instance[2]
    for share in (0.05, 0.3, 0.8):
        sizes, design, budget = designed(instance, "depth", share)
        psi = design.chance(QUERY)
        drawn = psi > 0
        variance = sizes.gain[drawn] @ (1 / psi[drawn] - 1)
        for _ in range(15):
            other = psi * np.exp(rng.choice([0.02, 0.3]) * rng.normal(size=len(psi)))
            for a, b in itertools.pairwise(INDPTR):
                mine = design.order[(design.order >= a) & (design.order < b)]
                assert (np.diff(psi[mine]) <= 1e-15).all()
                other[mine] = np.minimum.accumulate(other[mine])

            def excess(t, other=other, budget=budget):
                return np.minimum(1, np.exp(t) * other) @ cost - budget

            other = np.minimum(1, np.exp(optimize.brentq(excess, -30, 30, xtol=1e-14)) * other)
            assert variance <= sizes.gain[drawn] @ (1 / other[drawn] - 1) * (1 + 1e-9)


@pytest.mark.filterwarnings("error")
@settings(max_examples=15)
@given(
    SEEDS,
    st.sampled_from(["successive", "depth"]),
    st.sampled_from([0.0, 1.5]),
    st.sampled_from([1.0, 1.3, 50.0]),
)
def test_a_budget_for_everything_makes_every_probability_exactly_one(seed, drawing, overhead, times):
    sizes, design, _ = designed(random_instance(seed, "DCG", 1), drawing, times, overhead)
    assert (design.inclusion == (sizes.size > 0)).all()
    assert (design.opening == (np.array(LENGTHS) > 0)).all()


def test_a_document_above_a_swap_matters_to_the_difference_of_cascades():
    """RR of ABC and ACB differ by (1 − κ_A)(κ_B − κ_C)/6, whatever is expected of B and C."""
    pool = pool_of("RR", [[1, 2, 3], [1, 3, 2]])
    variables = Variables.of(pool.form, np.array([[0.5, 0.5, 0.0]] * 3))
    assert document_sizes(pool, variables, np.ones(3), DrawingSettings("depth", 0.1)).size[0] > 0


def test_a_depth_drawing_goes_down_the_best_and_then_the_worst_rank():
    pool = pool_of("DCG", [[4, 2, 3, 1, 0, 1], [1, 0, 2, 5, 3, 1]], [0, 5, 6])
    assert document_sizes(pool, even(pool), np.ones(6), DrawingSettings("depth", 0.1)).order.tolist() == [0, 3, 2, 1, 4]


@pytest.mark.parametrize(
    ("measure", "systems", "mixed"), [("DCG@3", 1, 0), ("DCG@3", 3, 0), ("ERR(max_rel=2)", 2, 0.01)]
)
def test_the_gain_is_the_squared_gradient_times_weight_and_variance(measure, systems, mixed):
    """To that of the difference of two cascades, a hundredth of both squares is added where rankings differ."""
    pool, variables, cost = random_instance(3, measure, systems)
    d = pool.gradients(variables.mean, variables.variance)
    pairs = itertools.combinations(range(systems), 2)
    share = mixed * np.isin(QUERY, QUERY[(pool.ranks != pool.ranks[0]).any(axis=0)])
    squares = [(d[a] - d[b]) ** 2 + share * (d[a] ** 2 + d[b] ** 2) for a, b in pairs] or [d[0] ** 2]
    expected = pool.weight[QUERY] ** 2 * variables.variance * np.mean(squares, axis=0)
    found = document_sizes(pool, variables, cost, DrawingSettings("depth", 0.0)).gain
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_pool_in_which_no_document_matters_is_refused():
    pool, variables, cost = random_instance(0, "DCG", 1)
    twins = pool.ranked(np.vstack([pool.ranks, pool.ranks]))
    with pytest.raises(ValueError, match="no document can change the estimate"):
        designed((twins, variables, cost), "depth", 1.0)
