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
from pt_active.sampling._kernels import pooled_sizes
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import COMMON_SHARE, document_sizes, hedged
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, SURPRISES, RoundSettings, natural_drawing
from pt_active.sampling.pools import DocumentPool, Variables, gradients
from pt_active.sampling.sample import Costs

SEEDS = st.integers(0, 2**32 - 1)
SEVERAL = tuple(each for each in DOCUMENT_DRAWINGS if each != SURPRISES)
"""The drawings of additive measures and cascades."""

MEASURES = ["DCG@2", "DCG(gain='linear')", "ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR", "RBP(p=0.8)"]
LENGTHS = (3, 0, 1, 4, 2)


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


def sizes_of(instance, overhead, drawing, defensive=0.1, **options):
    form, indptr, ranks, variables, cost, weight = instance
    settings = RoundSettings(drawing, defensive, **options)
    return document_sizes(DocumentPool(form, indptr, ranks, weight), variables, cost, overhead, settings)


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(MEASURES), st.integers(1, 3))
def test_the_gradient_is_what_a_document_changes_at_any_real_values(seed, measure, systems):
    """Measures are affine in each variable, so ``ℓ(κ_z + 1) − ℓ(κ_z)`` is the derivative itself."""
    rng = np.random.default_rng(seed)
    indptr, ranks = random_rankings(rng, systems)
    form, values = form_of(measure, ranks), rng.uniform(-2, 3, ranks.shape[1])
    values[rng.random(len(values)) < 0.2] = 1.0
    known = Variables(values, np.zeros_like(values), np.ones(len(values), dtype=bool))
    found = gradients(form, indptr, ranks, known)
    here = variable_values(form, indptr, ranks, values)
    for z in range(len(values)):
        step = (variable_values(form, indptr, ranks, values + (np.arange(len(values)) == z)) - here).sum(axis=0)
        np.testing.assert_allclose(found[:, z], step, atol=1e-9)


@pytest.mark.parametrize("measure", ["ERR(max_rel=2)@3", "ERR(max_rel=2)", "RR"])
def test_with_variances_the_chance_of_reaching_a_rank_is_the_root_of_its_mean_square(measure):
    rng = np.random.default_rng(0)
    ranks = np.array([[2, 4, 1, 3], [1, 2, 0, 3]], dtype=np.int32)
    form, grades = form_of(measure, ranks), rng.dirichlet(np.ones(3), 4)
    found = gradients(form, np.array([0, 4]), ranks, Variables.of(form, grades))
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


@settings(max_examples=30)
@given(SEEDS, st.sampled_from(["ERR(max_rel=2)@2", "ERR(max_rel=2)", "RR"]), st.integers(1, 3))
def test_revealed_steps_are_differences_of_values_and_telescope(seed, measure, systems):
    rng = np.random.default_rng(seed)
    indptr, ranks = random_rankings(rng, systems)
    form, n = form_of(measure, ranks), ranks.shape[1]
    mean, observed = rng.uniform(-0.5, 1.5, (2, n))
    observed[rng.random(n) < 0.3] = 1.0
    query = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    order = np.lexsort([rng.random(n), query])
    step, values = np.zeros((systems, n)), mean.copy()
    revealed(indptr, ranks, np.column_stack([mean, mean]), observed, order, form.weights, step)
    for z in order:
        before = variable_values(form, indptr, ranks, values)
        values[z] = observed[z]
        change = (variable_values(form, indptr, ranks, values) - before)[query[z]]
        np.testing.assert_allclose(step[:, z], change, atol=1e-12)
    total = variable_values(form, indptr, ranks, observed) - variable_values(form, indptr, ranks, mean)
    np.testing.assert_allclose(step.sum(axis=1), total.sum(axis=0), atol=1e-12)
    few, part = order[: n // 2], np.zeros((systems, n))
    revealed(indptr, ranks, np.column_stack([mean, mean]), observed, few, form.weights, part)
    np.testing.assert_allclose(part[:, few], step[:, few], atol=1e-12)
    assert not np.delete(part, few, axis=1).any()


def test_moments_of_variables_and_known_labels():
    form, grades = form_of("ERR(max_rel=2)", np.array([[1]])), np.array([[0.5, 0.3, 0.2], [0, 1, 0], [0.2, 0, 0.8]])
    kappa = np.array([0, 0.25, 0.75])
    found = Variables.of(form, grades, np.array([-1, -1, 2]))
    mean = 0.3 * 0.25 + 0.2 * 0.75
    np.testing.assert_allclose(found.mean, [mean, 0.25, 0.75])
    np.testing.assert_allclose(found.variance, [grades[0] @ (kappa - mean) ** 2, 0, 0], atol=1e-16)
    assert found.known.tolist() == [False, False, True]
    assert not Variables.of(form, grades).known.any()


def test_the_hedge_is_a_share_of_the_average_variance_for_unknown_documents_alone():
    variables = Variables(np.zeros(4), np.array([0.0, 2.0, 1.0, 0.0]), np.array([False, False, False, True]))
    gradient = np.array([[1.0, 2.0, 0.0, 9.0], [0.0, 1.0, 0.0, 9.0]])
    average = (1 * 0 + 5 * 2 + 0 * 1) / 6
    np.testing.assert_allclose(
        hedged(variables, gradient, 0.3).variance, [0.3 * average, 2 + 0.3 * average, 1 + 0.3 * average, 0]
    )
    np.testing.assert_array_equal(hedged(variables, gradient, 0.0).variance, variables.variance)
    certain = Variables(variables.mean, np.zeros(4), variables.known)
    assert hedged(certain, gradient, 0.3).variance.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(("overhead", "common"), [(0.0, 0.0), (2.0, 0.0), (2.0, 0.3), (2.0, 10.0)])
@pytest.mark.parametrize("seed", range(2))
def test_pooled_sizes_are_the_monotone_optimum(overhead, common, seed):
    """Against SLSQP on ``Σ g/ψ + Σ h/Π`` at ``Σ λψ + Σ λ₀Π = 1`` with ψ falling in each query from Π on."""
    rng = np.random.default_rng(seed)
    indptr, order = np.array([0, 3, 3, 5, 6]), np.array([2, 0, 1, 3, 4, 5])
    gain, cost, size, opening = rng.uniform(0.1, 3, 6), rng.uniform(0.5, 2, 6), np.zeros(6), np.zeros(4)
    gain[order[0]] *= 0.01
    shared = common * rng.uniform(0.5, 1.5, 4)
    pooled_sizes(indptr, order, gain, cost, overhead, size, shared, opening)
    assert opening[1] == 0
    # The three openings come after the six documents.
    gain, price = np.r_[gain, shared[[0, 2, 3]]], np.r_[cost, np.full(3, overhead)]
    steps = [(6, 2), (2, 0), (0, 1), (7, 3), (3, 4), (8, 5)]
    found = optimize.minimize(
        lambda psi: (gain / psi).sum(),
        np.full(9, 1 / price.sum()),
        jac=lambda psi: -gain / psi**2,
        bounds=[(1e-4, None)] * 9,
        constraints=[
            {"type": "eq", "fun": lambda psi: price @ psi - 1},
            *({"type": "ineq", "fun": lambda psi, a=a, b=b: psi[a] - psi[b]} for a, b in steps),
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    size = np.r_[size, opening[[0, 2, 3]]]
    best = size / (price @ size)
    assert all(best[a] >= best[b] for a, b in steps)
    assert best[2] == best[0]
    assert (gain / best).sum() == pytest.approx(found.fun, rel=1e-5)
    matters = slice(6) if overhead == 0 else slice(9)
    np.testing.assert_allclose(best[matters], found.x[matters], rtol=5e-3)
    if common == 10:
        assert (best[6:] > 1.5 * best[[2, 3, 5]]).any()


def tops(psi, instance):
    """The largest ψ of each query."""
    return np.array([psi[a:b].max(initial=0) for a, b in itertools.pairwise(instance[1])])


def spends(psi, instance, overhead, opening=None):
    """``Σ λψ + Σ λ₀Π``; without openings, Π is the largest ψ of a query."""
    return instance[4] @ psi + overhead * (tops(psi, instance) if opening is None else opening).sum()


def scaled(size, instance, overhead, budget, opening=None):
    """``min(1, t·size)`` of documents and openings with the expected cost Λ."""
    opening = tops(size, instance) if opening is None else opening

    def at(t):
        return np.minimum(1, np.exp(t) * size), np.minimum(1, np.exp(t) * opening)

    def excess(t):
        psi, opened = at(t)
        return spends(psi, instance, overhead, opened) - budget

    return at(optimize.brentq(excess, -30, 30, xtol=1e-14))


def common_variance(instance, defensive):
    """``p² s² [(Σ D)² + Σ D²]`` of each query, the mean over pairs of rankers, with loops."""
    form, indptr, ranks, variables, _, weight = instance
    cautious = hedged(variables, gradients(form, indptr, ranks, pointwise(variables)), defensive)
    added = (cautious.variance - variables.variance)[~variables.known]
    gradient = gradients(form, indptr, ranks, cautious) * ~variables.known
    pairs = list(itertools.combinations(range(len(ranks)), 2))
    steps = [gradient[a] - gradient[b] for a, b in pairs] if pairs else [gradient[0]]
    queries = list(itertools.pairwise(indptr))
    shared = [[sum(d[a:b]) ** 2 + sum(d[a:b] ** 2) for a, b in queries] for d in steps]
    return COMMON_SHARE * added.max(initial=0) * weight**2 * np.mean(shared, axis=0)


def pointwise(variables):
    return Variables(variables.mean, np.zeros_like(variables.mean), np.ones(len(variables.mean), dtype=bool))


@pytest.mark.parametrize("drawing", ["poisson", "depth"])
@pytest.mark.parametrize("overhead", [0.0, 1.5])
@pytest.mark.parametrize(
    ("measure", "systems"), [("DCG@3", 1), ("ERR(max_rel=2)", 1), ("ERR(max_rel=2)", 2), ("DCG@3", 3)]
)
def test_the_design_spends_its_budget_and_nothing_else_that_does_has_less_variance(drawing, overhead, measure, systems):
    instance = random_instance(systems, measure, systems)
    indptr, cost = instance[1], instance[4]
    defensive = 4.0 if overhead > 0 else 0.1
    sizes = sizes_of(instance, overhead, drawing, defensive)
    query = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    whole = spends((sizes.size > 0).astype(float), instance, overhead)
    shares = overhead > 0 and drawing != "depth"
    common = common_variance(instance, defensive) if shares else np.zeros(len(LENGTHS))
    rng = np.random.default_rng(0)
    for share in (0.05, 0.3, 0.8):
        budget = share * whole
        design = document_design(sizes, drawing, Costs(indptr, cost, overhead), budget)
        psi = design.opening[query] * design.inclusion
        assert overhead * design.opening.sum() + psi @ cost == pytest.approx(budget, abs=1e-9)
        assert ((design.inclusion >= 0) & (design.inclusion <= 1)).all()
        if shares:
            assert (design.opening >= tops(psi, instance) - 1e-15).all()
            assert systems > 1 or share == 0.8 or (design.opening > 1.01 * tops(psi, instance)).any()
        elif drawing == "depth":
            np.testing.assert_array_equal(design.opening, tops(psi, instance))
        else:
            assert set(design.opening[query[design.order]]) == {1.0}

        def variance_of(psi, opening):
            drawable = opening > 0
            return sizes.gain[psi > 0] @ (1 / psi[psi > 0] - 1) + common[drawable] @ (1 / opening[drawable] - 1)

        variance = variance_of(psi, design.opening)
        for _ in range(40):
            other = np.where(psi > 0, psi, 0) * np.exp(rng.choice([0.02, 0.3]) * rng.normal(size=len(psi)))
            if drawing == "depth":
                for a, b in itertools.pairwise(indptr):
                    mine = design.order[(design.order >= a) & (design.order < b)]
                    assert (np.diff(psi[mine]) <= 1e-15).all()
                    other[mine] = np.minimum.accumulate(other[mine])
            opening = tops(other, instance)
            if shares:
                opening = np.maximum(opening, design.opening * np.exp(0.02 * rng.normal(size=len(opening))))
            assert variance <= variance_of(*scaled(other, instance, overhead, budget, opening)) * (1 + 1e-9)


@settings(max_examples=60)
@given(SEEDS, st.sampled_from(SEVERAL), st.sampled_from([0.0, 1.5]), st.sampled_from([1.0, 1.3, 50.0]))
def test_a_budget_for_everything_makes_every_probability_exactly_one(seed, drawing, overhead, times):
    instance = random_instance(seed, "DCG", 1)
    sizes = sizes_of(instance, overhead, drawing)
    budget = times * spends((sizes.size > 0).astype(float), instance, overhead)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = document_design(sizes, drawing, Costs(instance[1], instance[4], overhead), budget)
    assert (design.inclusion == (sizes.size > 0)).all()
    assert (design.opening == (np.array(LENGTHS) > 0)).all()


@pytest.mark.parametrize("drawing", SEVERAL)
def test_documents_that_cannot_matter_are_never_drawn(drawing):
    """Documents with the same rank in both, below both cutoffs, below one and absent from the other, or known."""
    ranks = np.array([[1, 2, 3, 4, 5, 0], [1, 3, 2, 4, 0, 5]], dtype=np.int32)
    form, grades, cost = form_of("DCG@3", ranks), np.full((6, 3), 1 / 3), np.r_[1.0, 1.0, 1.0, [np.nan] * 3]
    args = form, np.array([0, 6]), ranks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sizes = sizes_of((*args, Variables.of(form, grades), cost, np.ones(1)), 1.0, drawing)
        assert sorted(sizes.order) == [1, 2]
        assert sizes.size[[0, 3, 4, 5]].tolist() == [0, 0, 0, 0]
        labels = np.array([-1, 2, -1, -1, -1, -1])
        known = Variables.of(form, grades, labels)
        sizes = sizes_of((*args, known, cost, np.ones(1)), 1.0, drawing)
    assert sizes.order.tolist() == [2]
    assert (sizes.size[:2] == 0).all()


@pytest.mark.parametrize("drawing", SEVERAL)
def test_a_document_above_a_swap_matters_to_the_difference_of_cascades(drawing):
    """RR of ABC and ACB differ by (1 − κ_A)(κ_B − κ_C)/6, whatever is expected of B and C."""
    ranks = np.array([[1, 2, 3], [1, 3, 2]], dtype=np.int32)
    form = form_of("RR", ranks, top=1)
    variables = Variables.of(form, np.full((3, 2), 0.5))
    args = form, np.array([0, 3]), ranks, variables, np.ones(3), np.ones(1)
    assert sizes_of(args, 0.0, drawing).size[0] > 0


def test_a_depth_drawing_goes_down_the_best_and_then_the_worst_rank():
    ranks = np.array([[4, 2, 3, 1, 0, 1], [1, 0, 2, 5, 3, 1]], dtype=np.int32)
    form = form_of("DCG", ranks)
    variables = Variables.of(form, np.full((6, 3), 1 / 3))
    args = form, np.array([0, 5, 6]), ranks, variables, np.ones(6), np.full(2, 0.5)
    assert sizes_of(args, 0.0, "depth").order.tolist() == [0, 3, 2, 1, 4]


def test_the_gain_is_the_squared_gradient_times_weight_and_variance():
    form, indptr, ranks, variables, cost, weight = instance = random_instance(3, "DCG@3", 3)
    d = gradients(form, indptr, ranks, variables)
    query = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    mean = np.mean([(d[a] - d[b]) ** 2 for a, b in itertools.combinations(range(3), 2)], axis=0)
    found = sizes_of(instance, 0.0, "poisson", defensive=0)
    np.testing.assert_allclose(found.gain, weight[query] ** 2 * variables.variance * mean, rtol=1e-12)
    np.testing.assert_allclose(found.size, np.sqrt(found.gain / cost), rtol=1e-12)
    one = form, indptr, ranks[:1], variables, cost, weight
    gain = sizes_of(one, 0.0, "poisson", defensive=0).gain
    np.testing.assert_allclose(gain, weight[query] ** 2 * variables.variance * d[0] ** 2, rtol=1e-12)


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(SEVERAL), st.sampled_from(MEASURES), st.integers(1, 3), st.sampled_from([0.0, 1.5]))
def test_neither_the_order_of_documents_nor_the_unit_of_cost_matters(seed, drawing, measure, systems, overhead):
    """Ties in the order of documents that come from the top are left out: rankers that share no rank have none."""
    form, indptr, ranks, variables, cost, weight = instance = random_instance(seed, measure, systems)
    if drawing in ("depth", "successive"):
        ranks = np.tile(ranks[:1], (systems, 1)) + np.arange(systems, dtype=np.int32)[:, None] * (ranks[:1] > 0)
        form = form_of(measure, ranks)
        instance = form, indptr, ranks, variables, cost, weight
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    moved = np.lexsort([rng.random(len(cost)), query])
    shuffled = Variables(variables.mean[moved], variables.variance[moved], variables.known[moved])
    sizes = sizes_of(instance, overhead, drawing)
    budget = 0.4 * spends((sizes.size > 0).astype(float), instance, overhead)
    design = document_design(sizes, drawing, Costs(indptr, cost, overhead), budget)
    other = sizes_of((form, indptr, ranks[:, moved], shuffled, 3 * cost[moved], weight), 3 * overhead, drawing)
    found = document_design(other, drawing, Costs(indptr, 3 * cost[moved], 3 * overhead), 3 * budget)
    np.testing.assert_allclose(found.inclusion, design.inclusion[moved], rtol=1e-9)
    np.testing.assert_allclose(found.opening, design.opening, rtol=1e-9)


def test_what_is_refused():
    instance = random_instance(0, "DCG", 1)
    with pytest.raises(
        ValueError, match="unknown document design 'top'; it is one of spread, poisson, depth, successive"
    ):
        sizes_of(instance, 0.0, "top")
    for defensive in (-0.1, np.inf, np.nan):
        with pytest.raises(ValueError, match="defensive must be a number from 0"):
            sizes_of(instance, 0.0, "depth", defensive)
    sizes = sizes_of(instance, 0.0, "depth")
    for budget in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="budget must be a positive number"):
            document_design(sizes, "depth", Costs(instance[1], instance[4], 0.0), budget)
    form, indptr, ranks, *rest = instance
    twins = sizes_of((form, indptr, np.vstack([ranks, ranks]), *rest), 0.0, "depth")
    with pytest.raises(ValueError, match="no document can change the estimate"):
        document_design(twins, "depth", Costs(instance[1], instance[4], 0.0), 1.0)


def test_the_natural_drawing():
    additive, cascade = (form_of(name, np.array([[1]])) for name in ("DCG", "RR"))
    assert [natural_drawing(additive, k, 0.0) for k in (1, 2, 3)] == ["spread", "successive", "successive"]
    assert natural_drawing(additive, 2, 1.0) == "spread"
    assert {natural_drawing(cascade, k, cost) for k in (1, 2) for cost in (0.0, 1.0)} == {"depth"}
