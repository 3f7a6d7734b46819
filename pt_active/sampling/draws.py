"""Drawing units, with or without replacement, to a budget or a number of draws [theory 4, 7]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pt_active.relevance.digits import rounded
from pt_active.sampling.chances import EXPONENTIAL, Law, check_positive, inclusion_probabilities, within_budget
from pt_active.sampling.sample import Sample, Steps

MAX_DRAWS_PER_QUERY = 100
"""Drawing ends after this many draws for each query of the pool, even if the budget is not spent."""

DEFAULT_STRATA = 5  # Default number of strata

MIN_DRAWS_PER_STRATUM = 2  # Draws that each stratum gets at least; with two its variance can be estimated


def draw_number(
    q: np.ndarray,
    weight: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    replace: bool = True,
    clock: np.ndarray | None = None,
    law: Law = EXPONENTIAL,
) -> Sample:
    """Draw a fixed number of times, for the arguments of `draw_to_budget`.

    Returns:
        The sample, with increasing rows; without replacement, a census if there are no more queries than draws.
    """
    if not replace:
        return draw_to_budget(q, weight, np.ones_like(q), draws, rng, replace, clock, law)
    check_distribution(q)
    count = rng.multinomial(draws, q / q.sum())
    rows = np.flatnonzero(count)
    return Sample(rows, count[rows], draws * q[rows], repeated=True, q=q)


def draw_to_budget(
    q: np.ndarray,
    weight: np.ndarray,
    cost: np.ndarray,
    budget: float,
    rng: np.random.Generator,
    replace: bool = True,
    clock: np.ndarray | None = None,
    law: Law = EXPONENTIAL,
) -> Sample:
    """Draw until the budget is spent, never beyond it [theory 4, T Alg. 2, 3].

    Drawing goes on until a draw would overspend; that draw is dropped. Without replacement, queries are drawn by
    `priorities`. With replacement, a query that is drawn again is looked up, not judged, so it costs nothing the second
    time. Given their number, the draws that are kept are exchangeable, so their plain mean is exactly unbiased if the
    budget pays for any single query. A rule that keeps its last draw, such as stopping at the first after which
    ``spent > Λ − λ_max``, is biased: the last draw is an expensive one too often (Glynn and Heidelberger 1990). If all
    that is left is so improbable that no draw would overspend for a long time, drawing ends after about
    `MAX_DRAWS_PER_QUERY` draws for each query of the pool, which keeps the mean unbiased too.

    Args:
        q: float64[m], sums to 1.
        weight: float64[m], p.
        cost: float64[m], λ.
        budget: Λ, in the unit of ``cost``.
        rng: Source of randomness.
        replace: Whether a query can be drawn more than once.
        clock: float64[m], by which queries come without replacement; drawn if left out.
        law: The law of the clocks.

    Returns:
        The sample, with increasing rows; a census if the budget pays for all queries with a positive weight.

    Raises:
        ValueError: If the budget does not pay for the most expensive query, or q is not a distribution.
    """
    check_distribution(q)
    check_budget(budget, cost[q > 0])
    if not replace:
        return first_within(_priority(q, clock, rng, law), q, weight, cost, budget, law)
    if pays_for_all(budget, cost[weight > 0]):
        return _census(weight, q)
    return next(races(q, cost, [budget], 1, rng)).first


def races(
    q: np.ndarray, cost: np.ndarray, budgets: Sequence[float], repetitions: int, rng: np.random.Generator
) -> Iterator[Sample]:
    """Draw many independent samples with replacement, each to several budgets in turn.

    The draws are the arrivals of independent Poisson processes with rates q, which come in the order of independent
    draws from q. So one exponential variable and one Poisson count per query suffice, however often cheap queries
    repeat. At each budget a sample continues where it stopped at the budget before.

    Args:
        q: float64[m], sums to 1; float64[R, m] if it differs by sample.
        cost: float64[m], λ.
        budgets: Increasing; each pays for any single query, and for less than all that can be drawn.
        repetitions: How many samples, R.
        rng: Source of randomness.

    Yields:
        For each budget, R samples of up to D distinct queries, in the order in which they came.
    """
    order, arrival, spent, rate = _in_order(draw_priorities(q, repetitions, rng), q, cost)
    count, start = np.zeros_like(order), np.zeros((repetitions, 1))
    for budget in budgets:
        distinct = within_budget(spent, budget).sum(axis=1, keepdims=True)
        end = np.minimum(np.take_along_axis(arrival, distinct, axis=1), MAX_DRAWS_PER_QUERY * len(cost))
        drawn = np.s_[:, : distinct.max()]
        came = arrival[drawn] < end  # The limit on draws may end a sample before its budget is spent.
        waited = np.where(came, end - np.maximum(arrival[drawn], start), 0.0)
        count[drawn] += (came & (arrival[drawn] >= start)) + rng.poisson(rate[drawn] * waited)
        start = end
        so_far = count[drawn].copy()
        expected = so_far.sum(axis=1, keepdims=True) * rate[drawn]
        yield Sample(order[drawn], so_far, expected, repeated=True, q=q)


def priorities(
    q: np.ndarray,
    cost: np.ndarray,
    budgets: Sequence[float],
    repetitions: int,
    rng: np.random.Generator,
    law: Law = EXPONENTIAL,
) -> Iterator[Sample]:
    """Draw many independent samples without replacement, each to several budgets in turn [theory 4].

    Query x has the priority ``E/q(x)``, E exponential, and queries come in increasing order of it. So the next one is x
    with probability ``q(x)``, divided by the sum of q over all that are left: successive sampling (Rosén 1972). The
    first query that would overspend is left out with all after it; its priority T is the threshold. If x came before T,
    it could have come at any time before T without changing T. So given what the other queries drew, x is in the sample
    with probability ``π = 1 − exp(−q(x) T)``, and weights 1/π make a mean unbiased. The same holds for priorities
    ``U/q(x)``, U uniform, with ``π = min(1, q(x) T)`` (Ohlsson 1998; Duffield, Lund and Thorup 2007).

    The arguments are those of `races`, and the law of E.

    Yields:
        For each budget, R samples of up to D queries, in the order in which they come.
    """
    yield from prefixes(draw_priorities(q, repetitions, rng, law), q, cost, budgets, law)


def draw_priorities(q: np.ndarray, repetitions: int, rng: np.random.Generator, law: Law = EXPONENTIAL) -> np.ndarray:
    """Random priorities ``E/q`` of queries, float64[R, m]; infinite where q, float64[m] or float64[R, m], is 0."""
    priority = np.full((repetitions, q.shape[-1]), np.inf)
    reachable = _reachable(q)
    with np.errstate(divide="ignore"):
        priority[:, reachable] = law.clocks(rng, (repetitions, len(reachable))) / q[..., reachable]
    return priority


def prefixes(
    priority: np.ndarray, q: np.ndarray, cost: np.ndarray, budgets: Sequence[float], law: Law = EXPONENTIAL
) -> Iterator[Sample]:
    """The samples that priorities, float64[R, m], lead to; each is the beginning of the one for the next budget."""
    order, priority, spent, rate = _in_order(priority, q, cost)
    for budget in budgets:
        came = within_budget(spent, budget)
        distinct = came.sum(axis=1, keepdims=True)
        drawn = np.s_[:, : distinct.max()]
        threshold = np.take_along_axis(priority, distinct, axis=1)
        yield Sample(order[drawn], came[drawn].astype(np.int64), law.inclusion(rate[drawn] * threshold))


def first_within(
    priority: np.ndarray, q: np.ndarray, weight: np.ndarray, cost: np.ndarray, budget: float, law: Law = EXPONENTIAL
) -> Sample:
    """The queries that come first, as many as a budget pays for."""
    if pays_for_all(budget, cost[weight > 0]):
        return replace(_census(weight, q), priority=priority)
    return replace(next(prefixes(priority[None], q, cost, [budget], law)).first, q=q, priority=priority)


def _priority(q: np.ndarray, clock: np.ndarray | None, rng: np.random.Generator, law: Law) -> np.ndarray:
    """float64[m], the priorities ``E/q`` by given clocks or by random ones of a law; infinite where q is 0."""
    if clock is None:
        return draw_priorities(q, 1, rng, law)[0]
    return np.divide(clock, q, out=np.full_like(clock, np.inf), where=q > 0)


def _reachable(q: np.ndarray) -> np.ndarray:
    """The queries that can be drawn in some sample, as rows of the population."""
    return np.flatnonzero((q > 0).any(axis=0) if q.ndim == 2 else q > 0)


def _in_order(times: np.ndarray, q: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, ...]:
    """The order of queries by their times; these, with a last one that is infinite; what is spent after each; its q."""
    order = np.argsort(times, axis=1, kind="stable")[:, : len(_reachable(q))]
    times = np.pad(np.take_along_axis(times, order, axis=1), ((0, 0), (0, 1)), constant_values=np.inf)
    spent = np.cumsum(np.where(np.isfinite(times[:, :-1]), cost[order], np.inf), axis=1)
    return order, times, spent, q[order] if q.ndim == 1 else np.take_along_axis(q, order, axis=1)


def pays_for_all(budget: float, cost: np.ndarray) -> bool:
    """Whether a budget pays for everything, apart from rounding."""
    return bool(within_budget(cost.sum(), budget))


def _census(weight: np.ndarray, q: np.ndarray) -> Sample:
    return replace(Sample.once((weight > 0).astype(np.float64), census=True), q=q)


def check_budget(budget: float, cost: np.ndarray) -> None:
    """Raise if a budget does not pay for any single query."""
    check_positive(budget)
    if budget < cost.min():
        raise ValueError(f"budget {budget:g} does not pay for the cheapest query, which costs {cost.min():g}")
    if budget < cost.max():
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest query, which costs {cost.max():g}, so it could never be "
            "judged and estimates would be biased; raise the budget, or cut the ranking depth"
        )


def check_distribution(q: np.ndarray) -> None:
    """Raise if q is not a distribution."""
    if len(q) == 0:
        raise ValueError("there is no query to draw from")
    if not np.isfinite(q).all() or (q < 0).any() or abs(q.sum() - 1) > 1e-6:
        raise ValueError(f"q must be probabilities that sum to 1; they sum to {q.sum():g}")


ROUND_DRAWINGS = ("fixed", "poisson", "single")
"""How a round is drawn: a fixed number at once (pivotal method), independently of each other, or one at a time."""


def draw_round(steps: Steps, size: np.ndarray, number: int, drawing: str, rng: np.random.Generator) -> Steps:
    """Draw more of the instances that were not drawn yet, by their sizes, float64[N]."""
    if drawing not in ROUND_DRAWINGS:
        raise ValueError(f"unknown drawing {drawing!r}; it is one of {', '.join(ROUND_DRAWINGS)}")
    if number < 1:
        raise ValueError(f"a round must draw at least 1 instance, got {number}")
    left = np.flatnonzero(~steps.drawn)
    if len(left) == 0:
        raise ValueError("everything was drawn already; there is nothing left to draw")
    number, size = min(number, len(left)), size[left]
    if drawing == "single":
        chosen, probability = _one_at_a_time(size, number, rng)
        sizes, place = np.ones(number), np.arange(1, number + 1)
    else:
        inclusion = inclusion_probabilities(size, number)
        if drawing == "poisson":
            chosen = rng.random(len(left)) < inclusion
        else:
            from pt_active.sampling._kernels import pivotal

            # A random order keeps that of the pool from mattering.
            chosen = pivotal(inclusion, rng.permutation(len(left)), rng.random(len(left)))
        probability, sizes, place = inclusion[chosen], np.array([float(number)]), np.ones(1, dtype=np.int64)
    step, probabilities = steps.step.copy(), steps.probability.copy()
    step[left[chosen]], probabilities[left[chosen]] = len(steps.size) + place, probability
    independent = np.r_[steps.independent, np.full(len(sizes), drawing == "poisson")]
    return replace(steps, step=step, probability=probabilities, size=np.r_[steps.size, sizes], independent=independent)


def _one_at_a_time(size: np.ndarray, number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Each draw ∝ size among those left, as the first arrivals of Poisson processes come, and its probability."""
    if not (size > 0).all() or not np.isfinite(size).all():
        raise ValueError("sizes must be positive numbers, or some instances could never be drawn")
    order = np.argsort(rng.exponential(size=len(size)) / size, kind="stable")
    remaining = np.cumsum(size[order][::-1])[::-1]
    first = order[:number]
    return first, np.minimum(1.0, size[first] / remaining[:number])


def strata_by(confidence: np.ndarray, number: int = DEFAULT_STRATA) -> np.ndarray:
    """Strata of equal mass of equally weighted pairs along a confidence (Bennett and Carvalho 2010)."""
    if number < 1 or len(confidence) < MIN_DRAWS_PER_STRATUM * number:
        raise ValueError(
            f"strata must be at least 1, and no more than half of the {len(confidence)} pairs, got {number}"
        )
    stratum = np.empty(len(confidence), dtype=np.int64)
    stratum[np.argsort(rounded(confidence), kind="stable")] = np.arange(len(confidence)) * number // len(confidence)
    return stratum


def allocation(stratum: np.ndarray, mean: np.ndarray, variance: np.ndarray, draws: int) -> np.ndarray:
    """Draws per stratum, ``n_h ∝ N_h s_h``: integers from `MIN_DRAWS_PER_STRATUM` to ``N_h`` that sum to ``draws``."""
    size = np.bincount(stratum)
    needed = MIN_DRAWS_PER_STRATUM * len(size)
    if draws < needed:
        raise ValueError(f"{len(size)} strata need at least {needed} draws, got {draws}")
    average = np.bincount(stratum, mean) / size
    deviation = np.sqrt(np.bincount(stratum, (mean - average[stratum]) ** 2 + variance) / size)
    share = size * (deviation if deviation.sum() > 0 else 1.0)
    wanted = np.maximum(share, share.sum() * 1e-12)
    drawn = np.full(len(size), MIN_DRAWS_PER_STRATUM)
    for _ in range(draws - drawn.sum()):  # Each draw goes where it reduces Σ (N_h s_h)² / n_h most.
        drawn[np.argmax(np.where(drawn < size, rounded(wanted**2 / (drawn * (drawn + 1))), -np.inf))] += 1
    return drawn


def draw_strata(stratum: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A simple random sample without replacement in each stratum."""
    order = np.lexsort((rng.random(len(stratum)), stratum))
    size = np.bincount(stratum)
    place = np.arange(len(stratum)) - np.repeat(np.cumsum(size) - size, size)
    chosen = np.zeros(len(stratum), dtype=bool)
    chosen[order] = place < np.repeat(drawn, size)
    return chosen
