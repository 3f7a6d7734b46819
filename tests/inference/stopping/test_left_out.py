"""Rounds that end because the next unit would cost too much, against enumeration of all orders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest

from pt_active.inference.stopping.bets import Stakes, excluded, log_capital
from pt_active.inference.stopping.draws import Draws, Units

COST, RATE = np.array([3.0, 1.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0, 3.0])

LOW, HIGH = np.array([-1.0, -0.5, -1.0, -2.0]), np.array([1.0, 1.0, 0.5, 2.0])

STAKES = Stakes(np.array([0.3, 2.0]), np.array([0.6, 0.4]))


def rounds(value: np.ndarray, known: tuple[int, ...], draws: Draws | None, paid: bool) -> Iterator[tuple[float, Draws]]:
    """The probability and the draws of all ways to judge everything in rounds of a budget of 3."""
    rest = [x for x in range(4) if x not in known]
    if not rest:
        assert draws is not None
        yield 1.0, draws
        return
    prefixes: dict[tuple[int, ...], float] = {}
    for order in permutations(rest):
        left = [sum(RATE[list(order[i:])]) for i in range(len(order))]
        prefixes[order] = float(np.prod(RATE[list(order)] / left))
    for order, chance in prefixes.items():
        number, mean = int((np.cumsum(COST[list(order)]) <= 3).sum()), np.full(len(order), 0.2)
        columns = (column[list(order)] for column in (RATE, HIGH - LOW, LOW, HIGH))
        rate, span, low, high = columns
        units = Units(rate, mean, span**2 / 4, low, high, float(value[list(known)].sum()))
        part = units.judged(value[list(order)], number)
        if paid and number < len(order) and draws_on(order, number):
            part = part.without_next(units)
        so_far = part if draws is None else draws.then(part)
        for more, end in rounds(value, (*known, *order[:number]), so_far, paid):
            yield chance * more, end


def draws_on(order: tuple[int, ...], number: int) -> bool:
    """Whether a cheaper unit than the next could have been drawn."""
    return bool(COST[list(order[:number])].sum() + COST[list(order[number:])].min() <= 3)


def means(value: np.ndarray, paid: bool) -> tuple[float, float]:
    """The mean capital of both sides at the truth, when everything is judged."""
    found = list(rounds(value, (), None, paid))
    assert sum(chance for chance, _ in found) == pytest.approx(1)
    truth = float(value.sum())
    return tuple(
        sum(chance * np.exp(log_capital(side(each), STAKES, sign * truth)[-1]) for chance, each in found)
        for sign, side in ((1, lambda each: each), (-1, lambda each: each.mirrored))
    )  # type: ignore[return-value]


def test_nobody_gains_from_what_was_left_out_whatever_the_labels_are() -> None:
    gains = []
    for value in list(product(*zip(LOW, HIGH, strict=True)))[::2]:
        for capital in means(np.array(value), True):
            assert capital <= 1 + 1e-9
        gains.append(max(means(np.array(value), False)))
    assert max(gains) > 1.1


def test_a_bet_on_what_was_left_out_counts_with_its_bound() -> None:
    """By hand: one bet of a fixed stake, two draws, and a unit that came between them and was left out."""
    units = Units(np.ones(3), np.zeros(3), np.ones(3), -np.ones(3), np.ones(3))
    first = units.judged(np.array([0.5, np.nan, np.nan]), 1)
    rest = Units(np.ones(2), np.zeros(2), np.ones(2), -np.ones(2), np.ones(2), 0.5)
    later, one = rest.judged(np.array([0.25, -1.0]), 1), Stakes(np.array([0.3]), np.ones(1))
    paid, plain = first.without_next(units).then(later), first.then(later)
    for side, unpaid in ((paid, plain), (paid.mirrored, plain.mirrored)):
        # Two units are left, so the bound of the unit counts twice, around what is known.
        base, variance = side.base[1], 4.0 * side.trust[1]
        factor = 1 + 0.3 / variance * (base - 2.0)
        logs = log_capital(side, one), log_capital(unpaid, one)
        np.testing.assert_allclose(logs[0] - logs[1], [0.0, np.log(factor)], atol=1e-12)
    assert log_capital(first.without_next(units), one) == pytest.approx(log_capital(first, one))
    assert len(paid.first(1).left_out.before) == 0
    assert excluded(paid, one, -2.9, 0.5) == excluded(plain, one, -2.9, 0.5)
    assert paid.estimate() == plain.estimate()
