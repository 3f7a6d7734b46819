"""Samples of documents: their weights and their caution."""

from __future__ import annotations

import numpy as np
import pytest

from pt_active.inference.documents import DocumentEstimate, cautious_variance, expected_variance, widened
from pt_active.inference.rounds import draw_round, estimate_rounds, pool_sizes, round_weights
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import Variables

CONTRAST = np.array([1.0, -1.0])


@pytest.mark.parametrize("measure", ["DCG@5", "ERR@5"])
def test_few_degrees_of_freedom_ask_for_the_models_caution(labelled_documents, measure: str) -> None:
    pool, _ = labelled_documents(measure)
    settings = RoundSettings("successive" if measure == "DCG@5" else "depth")
    drawn = draw_round(pool.graded, settings, 40.0, np.random.default_rng(0))
    variables = Variables.of(pool.graded.seen.form, pool.graded.grades)
    cautious = cautious_variance(pool.graded.seen, drawn.sample, variables, CONTRAST)
    seen, gain = pool.graded.seen, pool_sizes(pool.graded, settings).gain
    expected = expected_variance(seen, drawn.sample.design, gain)
    assert cautious == pytest.approx(expected, rel=1e-9 if measure == "DCG@5" else 0.1)
    shown = cautious / 2
    for degrees, share in ((48.0, 0.04), (3.0, 0.4), (0.0, 1.0), (-1.0, 1.0)):
        found = widened(DocumentEstimate(0.5, shown / 4, 3 * shown / 4, degrees, 9.0, np.zeros(1)), cautious)
        assert found.cautious == pytest.approx(share * shown)
        assert found.variance == pytest.approx((1 + share) * shown)
        assert widened(DocumentEstimate(0.5, shown, 2 * shown, degrees, 9.0, np.zeros(1)), cautious).cautious == 0
    nothing = DocumentEstimate(0.5, 0.0, 0.0, 3.0, 9.0, np.zeros(1))
    assert widened(nothing, cautious) is nothing


def test_weights_are_known_before_a_round_is_drawn(labelled_documents) -> None:
    pool, _ = labelled_documents("DCG@5")
    settings = RoundSettings("successive")
    first, again = (draw_round(pool.graded, settings, 40.0, np.random.default_rng(seed)) for seed in (1, 2))
    assert first.expected == again.expected
    dear = draw_round(pool.graded, settings, 120.0, np.random.default_rng(3))
    weights = round_weights([first, dear])
    assert weights.sum() == pytest.approx(1)
    assert weights[1] / weights[0] == pytest.approx(first.expected / dear.expected)


def test_a_round_that_judges_the_rest_decides_alone(labelled_documents) -> None:
    pool, _ = labelled_documents("ERR@5")
    settings = RoundSettings("depth")
    first = draw_round(pool.graded, settings, 40.0, np.random.default_rng(1))
    known = np.where(first.sample.drawn, pool.label, -1)
    rest = draw_round(pool.graded, settings, 1e6, np.random.default_rng(2))
    assert rest.expected == 0
    np.testing.assert_array_equal(round_weights([first, rest]), [0, 1])
    known = np.where(rest.sample.drawn, pool.label, known)
    found = estimate_rounds(pool.graded.seen, [first, rest], known, CONTRAST, "regression")
    assert found.value == pytest.approx(pool.truth, abs=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)
