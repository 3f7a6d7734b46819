"""Inclusion probabilities of documents: gradients by enumeration, sizes against numerical optima, exact budgets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pt_active.inference.residuals import steps
from pt_active.relevance.measures import parse_measure, rank_form
from pt_active.relevance.moments import variable_values
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes, hedged
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.sample import Costs

SEEDS = st.integers(0, 2**32 - 1)
ADDITIVE = ("successive", "depth")
"""The drawings of additive measures; cascades have the second alone."""

MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR", "RBP(p=0.8)"]
CAN_BE_DRAWN = [
    *((name, "depth") for name in MEASURES),
    *((name, "successive") for name in MEASURES if name.startswith(("DCG", "RBP"))),
]
LENGTHS = (3, 0, 1, 4, 2)
QUERY = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
INDPTR = np.r_[0, np.cumsum(LENGTHS)]


def random_rankings(rng, systems):
    """Queries of some lengths, one of them empty; each ranker leaves out some documents."""
    ranks = np.zeros((systems, INDPTR[-1]), dtype=np.int32)
    for x, s in itertools.product(range(len(LENGTHS)), range(systems)):
        found = INDPTR[x] + rng.permutation(LENGTHS[x])[: max(1, LENGTHS[x] - s % 2)]
        ranks[s, found] = np.arange(1, len(found) + 1)
    return ranks


def form_of(measure, ranks, top=2):
    return rank_form(parse_measure(measure), top, max(1, int(ranks.max(initial=0))))


def random_instance(seed, measure, systems):
    """Arguments of `sizes_of`: rankings, moments of random grades, unequal costs and query weights."""
    rng = np.random.default_rng(seed)
    ranks = random_rankings(rng, systems)
    form = form_of(measure, ranks)
    variables = Variables.of(form, rng.dirichlet(np.ones(3), len(QUERY)))
    return form, INDPTR, ranks, variables, rng.uniform(0.5, 3, len(QUERY)), rng.dirichlet(np.ones(len(LENGTHS)))


def sizes_of(instance, drawing, defensive=0.1):
    form, indptr, ranks, variables, cost, weight = instance
    pool = DocumentPool(form, indptr, ranks, weight)
    return document_sizes(pool, variables, cost, RoundSettings(drawing, defensive))


def designed(instance, drawing, budget, overhead=0.0):
    """A design of the usual sizes whose budget is a share of what all documents that can matter cost."""
    sizes, cost = sizes_of(instance, drawing), instance[4]
    matters = sizes.size > 0
    whole = cost[matters].sum() + overhead * len(np.unique(QUERY[matters]))
    return sizes, document_design(sizes, drawing, Costs(INDPTR, cost, overhead), budget * whole), budget * whole


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(MEASURES), st.integers(1, 3))
def test_the_gradient_is_what_a_document_changes_at_any_real_values(seed, measure, systems):
    """Measures are affine in each variable, so ``ℓ(κ_z + 1) − ℓ(κ_z)`` is the derivative itself."""
    rng = np.random.default_rng(seed)
    ranks = random_rankings(rng, systems)
    form, values = form_of(measure, ranks), rng.uniform(-2, 3, len(QUERY))
    values[rng.random(len(values)) < 0.2] = 1.0
    found = DocumentPool(form, INDPTR, ranks, np.ones(len(LENGTHS))).gradients(values)
    here = variable_values(form, INDPTR, ranks, values)
    for z, step in enumerate(np.eye(len(values))):
        change = (variable_values(form, INDPTR, ranks, values + step) - here).sum(axis=0)
        np.testing.assert_allclose(found[:, z], change, atol=1e-9)


@pytest.mark.parametrize("measure", ["ERR(max_rel=2)@3", "ERR(max_rel=2)", "RR"])
def test_with_variances_the_chance_of_reaching_a_rank_is_the_root_of_its_mean_square(measure):
    """By enumeration of all labels of 4 documents."""
    ranks = np.array([[2, 4, 1, 3], [1, 2, 0, 3]], dtype=np.int32)
    form, grades = form_of(measure, ranks), np.random.default_rng(0).dirichlet(np.ones(3), 4)
    variables = Variables.of(form, grades)
    found = DocumentPool(form, np.array([0, 4]), ranks, np.ones(1)).gradients(variables.mean, variables.variance)
    labels = np.array(list(itertools.product(range(3), repeat=4)))
    chance = grades[np.arange(4), labels].prod(axis=1)
    for s, (own, weights) in enumerate((rank, np.r_[form.weights, np.zeros(4)]) for rank in ranks):
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
    ranks = random_rankings(rng, systems)
    form, (mean, observed) = form_of(measure, ranks), rng.uniform(-0.5, 1.5, (2, n))
    observed[rng.random(n) < 0.3] = 1.0
    order = np.lexsort([rng.random(n), QUERY])
    pool, values = DocumentPool(form, INDPTR, ranks, np.ones(len(INDPTR) - 1)), mean.copy()
    step = steps(pool, order[: n - 2], mean, observed)
    for z in order[: n - 2]:
        before = variable_values(form, INDPTR, ranks, values)
        values[z] = observed[z]
        change = (variable_values(form, INDPTR, ranks, values) - before)[QUERY[z]]
        np.testing.assert_allclose(step[:, z], change, atol=1e-12)
    assert not step[:, order[n - 2 :]].any()


def test_the_hedge_is_a_share_of_the_average_variance():
    variables = Variables(np.zeros(3), np.array([0.0, 2.0, 1.0]))
    gradient = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]])
    added = 0.3 * (1 * 0 + 5 * 2 + 0 * 1) / 6
    np.testing.assert_allclose(hedged(variables, gradient, 0.3).variance, variables.variance + added)
    np.testing.assert_array_equal(hedged(variables, gradient, 0.0).variance, variables.variance)
    assert hedged(Variables(variables.mean, np.zeros(3)), gradient, 0.3).variance.tolist() == [1, 1, 1]


def expected_openings(psi, drawing):
    """How many queries are opened: independent documents in each, or the most probable with all others."""
    of_queries = [psi[np.flatnonzero(x == QUERY)] for x in range(len(LENGTHS))]
    if drawing == "depth":
        return sum(each.max(initial=0.0) for each in of_queries)
    return sum(1 - np.prod(1 - each) for each in of_queries)


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems", "drawing"),
    [("DCG@3", 3, "successive"), ("DCG@3", 1, "depth"), ("ERR(max_rel=2)", 2, "depth")],
)
def test_the_design_spends_its_budget(measure, systems, drawing, overhead):
    instance = random_instance(systems, measure, systems)
    for share in (0.05, 0.3, 0.8):
        _, design, budget = designed(instance, drawing, share, overhead)
        psi = design.chance(QUERY)
        assert psi @ instance[4] + overhead * expected_openings(psi, drawing) == pytest.approx(budget, abs=1e-9)
        assert ((design.inclusion >= 0) & (design.inclusion <= 1)).all()
        top = np.array([psi[x == QUERY].max(initial=0) for x in range(len(LENGTHS))])
        np.testing.assert_array_equal(design.opening, top if drawing == "depth" else top > 0)


@pytest.mark.parametrize(("measure", "systems"), [("DCG@3", 1), ("ERR(max_rel=2)", 2)])
def test_no_other_depths_of_the_same_cost_have_less_variance(measure, systems):
    instance, rng = random_instance(systems, measure, systems), np.random.default_rng(0)
    cost = instance[4]
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
@given(SEEDS, st.sampled_from(ADDITIVE), st.sampled_from([0.0, 1.5]), st.sampled_from([1.0, 1.3, 50.0]))
def test_a_budget_for_everything_makes_every_probability_exactly_one(seed, drawing, overhead, times):
    sizes, design, _ = designed(random_instance(seed, "DCG", 1), drawing, times, overhead)
    assert (design.inclusion == (sizes.size > 0)).all()
    assert (design.opening == (np.array(LENGTHS) > 0)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("drawing", ADDITIVE)
def test_documents_that_cannot_matter_are_never_drawn(drawing):
    """Documents with the same rank in both, below both cutoffs, or below one and absent from the other."""
    ranks = np.array([[1, 2, 3, 4, 5, 0], [1, 3, 2, 4, 0, 5]], dtype=np.int32)
    form, cost = form_of("DCG@3", ranks), np.r_[1.0, 1.0, 1.0, [np.nan] * 3]
    variables = Variables.of(form, np.full((6, 3), 1 / 3))
    sizes = sizes_of((form, np.array([0, 6]), ranks, variables, cost, np.ones(1)), drawing)
    assert sorted(sizes.order) == [1, 2]
    assert sizes.size[[0, 3, 4, 5]].tolist() == [0, 0, 0, 0]


def test_a_document_above_a_swap_matters_to_the_difference_of_cascades():
    """RR of ABC and ACB differ by (1 − κ_A)(κ_B − κ_C)/6, whatever is expected of B and C."""
    ranks = np.array([[1, 2, 3], [1, 3, 2]], dtype=np.int32)
    form = form_of("RR", ranks, top=1)
    variables = Variables.of(form, np.full((3, 2), 0.5))
    assert sizes_of((form, np.array([0, 3]), ranks, variables, np.ones(3), np.ones(1)), "depth").size[0] > 0


def test_a_depth_drawing_goes_down_the_best_and_then_the_worst_rank():
    ranks = np.array([[4, 2, 3, 1, 0, 1], [1, 0, 2, 5, 3, 1]], dtype=np.int32)
    form = form_of("DCG", ranks)
    variables = Variables.of(form, np.full((6, 3), 1 / 3))
    args = form, np.array([0, 5, 6]), ranks, variables, np.ones(6), np.full(2, 0.5)
    assert sizes_of(args, "depth").order.tolist() == [0, 3, 2, 1, 4]


@pytest.mark.parametrize("systems", [1, 3])
def test_the_gain_is_the_squared_gradient_times_weight_and_variance(systems):
    form, indptr, ranks, variables, _, weight = instance = random_instance(3, "DCG@3", systems)
    d = DocumentPool(form, indptr, ranks, weight).gradients(variables.mean, variables.variance)
    differences = [d[a] - d[b] for a, b in itertools.combinations(range(systems), 2)] or [d[0]]
    expected = weight[QUERY] ** 2 * variables.variance * np.mean(np.square(differences), axis=0)
    np.testing.assert_allclose(sizes_of(instance, "successive", defensive=0).gain, expected, rtol=1e-12)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(CAN_BE_DRAWN), st.integers(1, 3), st.sampled_from([0.0, 1.5]))
def test_neither_the_order_of_documents_nor_the_unit_of_cost_matters(seed, measure_and_drawing, systems, overhead):
    """Ties in the order of documents that come from the top are left out: rankers that share no rank have none."""
    (measure, drawing), rng = measure_and_drawing, np.random.default_rng(seed)
    _, _, ranks, variables, cost, weight = random_instance(seed, measure, systems)
    ranks = np.tile(ranks[:1], (systems, 1)) + np.arange(systems, dtype=np.int32)[:, None] * (ranks[:1] > 0)
    form = form_of(measure, ranks)
    moved = np.lexsort([rng.random(len(cost)), QUERY])
    shuffled = Variables(variables.mean[moved], variables.variance[moved])
    _, design, budget = designed((form, INDPTR, ranks, variables, cost, weight), drawing, 0.4, overhead)
    other = sizes_of((form, INDPTR, ranks[:, moved], shuffled, 3 * cost[moved], weight), drawing)
    found = document_design(other, drawing, Costs(INDPTR, 3 * cost[moved], 3 * overhead), 3 * budget)
    np.testing.assert_allclose(found.inclusion, design.inclusion[moved], rtol=1e-9)
    np.testing.assert_allclose(found.opening, design.opening, rtol=1e-9)


@pytest.mark.parametrize(
    ("measure", "drawing", "defensive", "message"),
    [
        ("DCG", "top", 0.1, "unknown document design 'top'; it is one of successive, surprises, depth"),
        ("ERR", "successive", 0.1, "of this measure are drawn by depth, not by successive"),
        ("DCG", "surprises", 0.1, "of this measure are drawn by successive or depth, not by surprises"),
        *(("DCG", "depth", wrong, "defensive must be a number from 0") for wrong in (-0.1, np.inf, np.nan)),
    ],
)
def test_what_is_refused(measure, drawing, defensive, message):
    with pytest.raises(ValueError, match=message):
        sizes_of(random_instance(0, measure, 1), drawing, defensive)


@pytest.mark.parametrize("budget", [0, -1, np.inf, np.nan])
def test_budgets_that_are_none(budget):
    with pytest.raises(ValueError, match="budget must be a positive number"):
        designed(random_instance(0, "DCG", 1), "depth", budget)


def test_equal_rankers_have_no_document_to_draw():
    form, indptr, ranks, *rest = random_instance(0, "DCG", 1)
    twins = sizes_of((form, indptr, np.vstack([ranks, ranks]), *rest), "depth")
    with pytest.raises(ValueError, match="no document can change the estimate"):
        document_design(twins, "depth", Costs(indptr, rest[1], 0.0), 1.0)
