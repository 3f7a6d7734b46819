"""Inclusion probabilities of documents: gradients by enumeration, sizes against numerical optima, exact budgets."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pt_active.relevance._kernels import revealed
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


def random_rankings(rng, systems, lengths=LENGTHS):
    """Queries of the given lengths, one of them empty; each ranker leaves out some documents."""
    indptr = np.r_[0, np.cumsum(lengths)]
    ranks = np.zeros((systems, indptr[-1]), dtype=np.int32)
    for x, s in itertools.product(range(len(lengths)), range(systems)):
        found = indptr[x] + rng.permutation(lengths[x])[: max(1, lengths[x] - s % 2)]
        ranks[s, found] = np.arange(1, len(found) + 1)
    return indptr, ranks


def form_of(measure, ranks, top=2):
    return rank_form(parse_measure(measure), top, max(1, int(ranks.max(initial=0))))


def random_instance(seed, measure, systems, lengths=LENGTHS):
    """Arguments of `document_sizes`: rankings, moments of random grades, unequal costs and query weights."""
    rng = np.random.default_rng(seed)
    indptr, ranks = random_rankings(rng, systems, lengths)
    form = form_of(measure, ranks)
    grades = rng.dirichlet(np.ones(3), ranks.shape[1])
    cost, weight = rng.uniform(0.5, 3, ranks.shape[1]), rng.dirichlet(np.ones(len(lengths)))
    return form, indptr, ranks, Variables.of(form, grades), cost, weight


def sizes_of(instance, drawing, defensive=0.1, **options):
    form, indptr, ranks, variables, cost, weight = instance
    settings = RoundSettings(drawing, defensive, **options)
    return document_sizes(DocumentPool(form, indptr, ranks, weight), variables, cost, settings)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(MEASURES), st.integers(1, 3))
def test_the_gradient_is_what_a_document_changes_at_any_real_values(seed, measure, systems):
    """Measures are affine in each variable, so ``ℓ(κ_z + 1) − ℓ(κ_z)`` is the derivative itself."""
    rng = np.random.default_rng(seed)
    indptr, ranks = random_rankings(rng, systems)
    form, values = form_of(measure, ranks), rng.uniform(-2, 3, ranks.shape[1])
    values[rng.random(len(values)) < 0.2] = 1.0
    found = DocumentPool(form, indptr, ranks, np.ones(len(LENGTHS))).gradients(values)
    here = variable_values(form, indptr, ranks, values)
    for z in range(len(values)):
        step = (variable_values(form, indptr, ranks, values + (np.arange(len(values)) == z)) - here).sum(axis=0)
        np.testing.assert_allclose(found[:, z], step, atol=1e-9)


@pytest.mark.parametrize("measure", ["ERR(max_rel=2)@3", "ERR(max_rel=2)", "RR"])
def test_with_variances_the_chance_of_reaching_a_rank_is_the_root_of_its_mean_square(measure):
    rng = np.random.default_rng(0)
    ranks = np.array([[2, 4, 1, 3], [1, 2, 0, 3]], dtype=np.int32)
    form, grades = form_of(measure, ranks), rng.dirichlet(np.ones(3), 4)
    variables = Variables.of(form, grades)
    found = DocumentPool(form, np.array([0, 4]), ranks, np.ones(1)).gradients(variables.mean, variables.variance)
    for s, z in itertools.product(range(2), range(4)):
        rank = ranks[s, z]
        square, below = 0.0, 0.0
        for labels in itertools.product(range(3), repeat=4):
            chance = np.prod(grades[np.arange(4), labels])
            kappa = dict(zip(ranks[s], form.values[list(labels)], strict=True))
            reach = np.prod([1 - kappa[i] for i in range(1, rank)])
            square += chance * reach**2
            tail, left = 0.0, 1.0
            for i in range(rank + 1, ranks[s].max() + 1):
                tail += form.weights[i - 1] * kappa[i] * left if i <= len(form.weights) else 0.0
                left *= 1 - kappa[i]
            below += chance * tail
        seen = 0 < rank <= len(form.weights)
        expected = (form.weights[rank - 1] - below) * np.sqrt(square) if seen else 0.0
        assert found[s, z] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=12)
@given(SEEDS, st.sampled_from(["ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]), st.integers(1, 3))
def test_revealed_steps_are_differences_of_values(seed, measure, systems):
    rng = np.random.default_rng(seed)
    indptr, ranks = random_rankings(rng, systems)
    form, n = form_of(measure, ranks), ranks.shape[1]
    mean, observed = rng.uniform(-0.5, 1.5, (2, n))
    observed[rng.random(n) < 0.3] = 1.0
    query = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    order = np.lexsort([rng.random(n), query])
    step, values = np.zeros((systems, n)), mean.copy()
    revealed(indptr, ranks, np.column_stack([mean, mean]), observed, order[: n - 2], form.weights, step)
    for z in order[: n - 2]:
        before = variable_values(form, indptr, ranks, values)
        values[z] = observed[z]
        change = (variable_values(form, indptr, ranks, values) - before)[query[z]]
        np.testing.assert_allclose(step[:, z], change, atol=1e-12)
    assert not step[:, order[n - 2 :]].any()


def test_moments_of_variables_are_those_of_their_grades():
    form, grades = form_of("ERR(max_rel=2)", np.array([[1]])), np.array([[0.5, 0.3, 0.2], [0, 1, 0]])
    kappa, found = np.array([0, 0.25, 0.75]), Variables.of(form, grades)
    np.testing.assert_allclose(found.mean, grades @ kappa)
    np.testing.assert_allclose(found.variance, [grades[0] @ (kappa - found.mean[0]) ** 2, 0], atol=1e-16)


def test_the_hedge_is_a_share_of_the_average_variance():
    variables = Variables(np.zeros(3), np.array([0.0, 2.0, 1.0]))
    gradient = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]])
    added = 0.3 * (1 * 0 + 5 * 2 + 0 * 1) / 6
    np.testing.assert_allclose(hedged(variables, gradient, 0.3).variance, variables.variance + added)
    np.testing.assert_array_equal(hedged(variables, gradient, 0.0).variance, variables.variance)
    assert hedged(Variables(variables.mean, np.zeros(3)), gradient, 0.3).variance.tolist() == [1, 1, 1]


def everything(sizes, instance, overhead):
    """What it costs to judge all documents that can matter."""
    matters = sizes.size > 0
    return instance[4][matters].sum() + overhead * len(np.unique(QUERY[matters]))


def expected_openings(psi, drawing):
    """How many queries are opened: independent documents in each, or the most probable with all others."""
    of_queries = [psi[np.flatnonzero(x == QUERY)] for x in range(len(LENGTHS))]
    if drawing == "depth":
        return sum(each.max(initial=0.0) for each in of_queries)
    return sum(1 - np.prod(1 - each) for each in of_queries)


@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems", "drawing"),
    [
        *(("DCG@3", systems, drawing) for systems in (1, 3) for drawing in ADDITIVE),
        *(("ERR(max_rel=2)", systems, "depth") for systems in (1, 2)),
    ],
)
def test_the_design_spends_its_budget(measure, systems, drawing, overhead):
    instance = random_instance(systems, measure, systems)
    indptr, cost = instance[1], instance[4]
    sizes = sizes_of(instance, drawing)
    for share in (0.05, 0.3, 0.8):
        budget = share * everything(sizes, instance, overhead)
        design = document_design(sizes, drawing, Costs(indptr, cost, overhead), budget)
        psi = design.chance(QUERY)
        assert psi @ cost + overhead * expected_openings(psi, drawing) == pytest.approx(budget, abs=1e-9)
        assert ((design.inclusion >= 0) & (design.inclusion <= 1)).all()
        top = np.array([psi[x == QUERY].max(initial=0) for x in range(len(LENGTHS))])
        np.testing.assert_array_equal(design.opening, top if drawing == "depth" else top > 0)


@pytest.mark.parametrize(("measure", "systems"), [("DCG@3", 1), ("ERR(max_rel=2)", 1), ("ERR(max_rel=2)", 2)])
def test_no_other_depths_of_the_same_cost_have_less_variance(measure, systems):
    instance, rng = random_instance(systems, measure, systems), np.random.default_rng(0)
    indptr, cost = instance[1], instance[4]
    sizes = sizes_of(instance, "depth")
    for share in (0.05, 0.3, 0.8):
        budget = share * everything(sizes, instance, 0.0)
        design = document_design(sizes, "depth", Costs(indptr, cost, 0.0), budget)
        psi = design.chance(QUERY)
        variance = sizes.gain[psi > 0] @ (1 / psi[psi > 0] - 1)
        for _ in range(15):
            other = psi * np.exp(rng.choice([0.02, 0.3]) * rng.normal(size=len(psi)))
            for a, b in itertools.pairwise(indptr):
                mine = design.order[(design.order >= a) & (design.order < b)]
                assert (np.diff(psi[mine]) <= 1e-15).all()
                other[mine] = np.minimum.accumulate(other[mine])

            def excess(t, other=other, budget=budget):
                return np.minimum(1, np.exp(t) * other) @ cost - budget

            other = np.minimum(1, np.exp(optimize.brentq(excess, -30, 30, xtol=1e-14)) * other)
            assert variance <= sizes.gain[psi > 0] @ (1 / other[psi > 0] - 1) * (1 + 1e-9)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(ADDITIVE), st.sampled_from([0.0, 1.5]), st.sampled_from([1.0, 1.3, 50.0]))
def test_a_budget_for_everything_makes_every_probability_exactly_one(seed, drawing, overhead, times):
    instance = random_instance(seed, "DCG", 1)
    sizes = sizes_of(instance, drawing)
    budget = times * everything(sizes, instance, overhead)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = document_design(sizes, drawing, Costs(instance[1], instance[4], overhead), budget)
    assert (design.inclusion == (sizes.size > 0)).all()
    assert (design.opening == (np.array(LENGTHS) > 0)).all()


@pytest.mark.parametrize("drawing", ADDITIVE)
def test_documents_that_cannot_matter_are_never_drawn(drawing):
    """Documents with the same rank in both, below both cutoffs, or below one and absent from the other."""
    ranks = np.array([[1, 2, 3, 4, 5, 0], [1, 3, 2, 4, 0, 5]], dtype=np.int32)
    form, grades, cost = form_of("DCG@3", ranks), np.full((6, 3), 1 / 3), np.r_[1.0, 1.0, 1.0, [np.nan] * 3]
    args = form, np.array([0, 6]), ranks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sizes = sizes_of((*args, Variables.of(form, grades), cost, np.ones(1)), drawing)
        assert sorted(sizes.order) == [1, 2]
        assert sizes.size[[0, 3, 4, 5]].tolist() == [0, 0, 0, 0]


def test_a_document_above_a_swap_matters_to_the_difference_of_cascades():
    """RR of ABC and ACB differ by (1 − κ_A)(κ_B − κ_C)/6, whatever is expected of B and C."""
    ranks = np.array([[1, 2, 3], [1, 3, 2]], dtype=np.int32)
    form = form_of("RR", ranks, top=1)
    variables = Variables.of(form, np.full((3, 2), 0.5))
    args = form, np.array([0, 3]), ranks, variables, np.ones(3), np.ones(1)
    assert sizes_of(args, "depth").size[0] > 0


def test_a_depth_drawing_goes_down_the_best_and_then_the_worst_rank():
    ranks = np.array([[4, 2, 3, 1, 0, 1], [1, 0, 2, 5, 3, 1]], dtype=np.int32)
    form = form_of("DCG", ranks)
    variables = Variables.of(form, np.full((6, 3), 1 / 3))
    args = form, np.array([0, 5, 6]), ranks, variables, np.ones(6), np.full(2, 0.5)
    assert sizes_of(args, "depth").order.tolist() == [0, 3, 2, 1, 4]


def test_the_gain_is_the_squared_gradient_times_weight_and_variance():
    form, indptr, ranks, variables, cost, weight = instance = random_instance(3, "DCG@3", 3)
    d = DocumentPool(form, indptr, ranks, weight).gradients(variables.mean, variables.variance)
    mean = np.mean([(d[a] - d[b]) ** 2 for a, b in itertools.combinations(range(3), 2)], axis=0)
    found = sizes_of(instance, "successive", defensive=0)
    np.testing.assert_allclose(found.gain, weight[QUERY] ** 2 * variables.variance * mean, rtol=1e-12)
    one = form, indptr, ranks[:1], variables, cost, weight
    gain = sizes_of(one, "successive", defensive=0).gain
    np.testing.assert_allclose(gain, weight[QUERY] ** 2 * variables.variance * d[0] ** 2, rtol=1e-12)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(CAN_BE_DRAWN), st.integers(1, 3), st.sampled_from([0.0, 1.5]))
def test_neither_the_order_of_documents_nor_the_unit_of_cost_matters(seed, measure_and_drawing, systems, overhead):
    """Ties in the order of documents that come from the top are left out: rankers that share no rank have none."""
    measure, drawing = measure_and_drawing
    _, indptr, ranks, variables, cost, weight = random_instance(seed, measure, systems)
    ranks = np.tile(ranks[:1], (systems, 1)) + np.arange(systems, dtype=np.int32)[:, None] * (ranks[:1] > 0)
    form = form_of(measure, ranks)
    instance = form, indptr, ranks, variables, cost, weight
    rng = np.random.default_rng(seed)
    moved = np.lexsort([rng.random(len(cost)), QUERY])
    shuffled = Variables(variables.mean[moved], variables.variance[moved])
    sizes = sizes_of(instance, drawing)
    budget = 0.4 * everything(sizes, instance, overhead)
    design = document_design(sizes, drawing, Costs(indptr, cost, overhead), budget)
    other = sizes_of((form, indptr, ranks[:, moved], shuffled, 3 * cost[moved], weight), drawing)
    found = document_design(other, drawing, Costs(indptr, 3 * cost[moved], 3 * overhead), 3 * budget)
    np.testing.assert_allclose(found.inclusion, design.inclusion[moved], rtol=1e-9)
    np.testing.assert_allclose(found.opening, design.opening, rtol=1e-9)


def test_what_is_refused():
    instance = random_instance(0, "DCG", 1)
    with pytest.raises(ValueError, match="unknown document design 'top'; it is one of successive, surprises, depth"):
        sizes_of(instance, "top")
    for measure, drawing, usual in (("ERR", "successive", "depth"), ("DCG", "surprises", "successive or depth")):
        with pytest.raises(ValueError, match=f"of this measure are drawn by {usual}, not by {drawing}"):
            sizes_of(random_instance(0, measure, 1), drawing)
    for defensive in (-0.1, np.inf, np.nan):
        with pytest.raises(ValueError, match="defensive must be a number from 0"):
            sizes_of(instance, "depth", defensive)
    sizes = sizes_of(instance, "depth")
    for budget in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="budget must be a positive number"):
            document_design(sizes, "depth", Costs(instance[1], instance[4], 0.0), budget)
    form, indptr, ranks, *rest = instance
    twins = sizes_of((form, indptr, np.vstack([ranks, ranks]), *rest), "depth")
    with pytest.raises(ValueError, match="no document can change the estimate"):
        document_design(twins, "depth", Costs(instance[1], instance[4], 0.0), 1.0)
