"""Rounds are drawn with the probabilities that they state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pt_active.sampling.chances import defended, inclusion_probabilities
from pt_active.sampling.draws import ROUND_DRAWINGS, draw_round
from pt_active.sampling.sample import Steps

SIZE = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 0.5])


@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=20), st.integers(1, 25))
def test_probabilities_sum_to_the_number_and_keep_their_proportions(size: list, number: int) -> None:
    a = np.array(size)
    pi = inclusion_probabilities(a, number)
    assert pi.sum() == pytest.approx(min(number, len(a)))
    assert ((pi > 0) & (pi <= 1)).all()
    below = pi < 1 - 1e-9
    if below.any():
        np.testing.assert_allclose(pi[below] / a[below], (pi[below] / a[below])[0])
        assert (a[~below] >= a[below].max() * (1 - 1e-9)).all()


@pytest.mark.parametrize("drawing", ["fixed", "poisson"])
def test_each_instance_comes_as_often_as_it_should(drawing: str) -> None:
    pi, number, repetitions = inclusion_probabilities(SIZE, 3), 3, 800
    rng = np.random.default_rng(1)
    came = np.zeros(len(SIZE))
    for _ in range(repetitions):
        rounds = draw_round(Steps.none_yet(SIZE), SIZE, number, drawing, rng)
        np.testing.assert_allclose(rounds.probability[rounds.drawn], pi[rounds.drawn])
        came += rounds.drawn
        assert drawing == "poisson" or rounds.drawn.sum() == number
    error = np.sqrt(pi * (1 - pi) / repetitions)
    assert (np.abs(came / repetitions - pi) <= 3 * error + 1e-12).all()


def test_one_at_a_time_each_draw_is_proportional_to_size_among_the_rest() -> None:
    rng, first, repetitions = np.random.default_rng(2), np.zeros(len(SIZE)), 800
    for _ in range(repetitions):
        rounds = draw_round(Steps.none_yet(SIZE), SIZE, 4, "single", rng)
        order = np.argsort(rounds.step)[2:]
        assert (rounds.step[order] == [1, 2, 3, 4]).all()
        left = SIZE.sum()
        for instance in order:
            assert rounds.probability[instance] == pytest.approx(SIZE[instance] / left)
            left -= SIZE[instance]
        first[order[0]] += 1
    q = SIZE / SIZE.sum()
    assert (np.abs(first / repetitions - q) <= 3 * np.sqrt(q * (1 - q) / repetitions)).all()


@pytest.mark.parametrize("drawing", ROUND_DRAWINGS)
def test_nothing_is_drawn_twice_and_the_last_round_takes_the_rest(drawing: str) -> None:
    rng = np.random.default_rng(3)
    rounds = draw_round(Steps.none_yet(SIZE), SIZE, 2, drawing, rng)
    before = rounds.drawn
    rounds = draw_round(rounds, SIZE, 50, drawing, rng)
    assert rounds.census
    assert (rounds.step[before] <= rounds.step[~before].min()).all()
    if drawing != "single":
        assert (rounds.probability[~before] == 1).all()


def test_the_mixture_keeps_everything_within_reach() -> None:
    np.testing.assert_allclose(defended(np.array([0.0, 3.0])), [0.1, 0.9 * 2 + 0.1])
    np.testing.assert_allclose(defended(np.zeros(3)), np.ones(3))


def test_bad_arguments() -> None:
    rng, none = np.random.default_rng(0), Steps.none_yet(SIZE)
    with pytest.raises(ValueError, match="unknown drawing 'systematic'; it is one of fixed"):
        draw_round(none, SIZE, 1, "systematic", rng)
    with pytest.raises(ValueError, match="at least 1 instance, got 0"):
        draw_round(none, SIZE, 0, "fixed", rng)
    for drawing in ROUND_DRAWINGS:
        with pytest.raises(ValueError, match="sizes must be positive"):
            draw_round(none, SIZE * 0, 1, drawing, rng)
    with pytest.raises(ValueError, match="the pool is empty"):
        Steps.none_yet(np.zeros(0))
    with pytest.raises(ValueError, match=r"scores must be finite numbers \(not finite: 1\)"):
        Steps.none_yet(np.array([np.inf]))
