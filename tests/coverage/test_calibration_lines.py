"""The line through weighted labels: its bias and its intervals."""

from __future__ import annotations

import numpy as np

from pt_active.inference.calibration import calibration


def sampled(seed: int, queries: int = 40, each: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Expectations, values, chances and queries of documents whose values are right on average."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), each)
    mean = rng.gamma(1.0, size=len(query))
    shared = rng.normal(0, 0.3, queries)[query]
    observed = mean * (1 + shared) + rng.normal(0, 0.5, len(query))
    return mean, observed, rng.uniform(0.1, 1, len(query)), query


def test_samples_centre_on_the_line_of_all_and_know_their_errors() -> None:
    """600 samples find a bias of .12 standard deviations, a variance a fifth off, and a coverage 2.7 points off."""
    found, rng = [], np.random.default_rng(3)
    for seed in range(600):
        mean, observed, chance, query = sampled(1000 + seed, queries=120)
        drawn = rng.random(len(chance)) < chance
        found.append(calibration(mean[drawn], observed[drawn], chance[drawn], query[drawn]))
    slopes = np.array([each.slope for each in found])
    squares = np.array([each.slope_error**2 for each in found])
    assert abs(slopes.mean() - 1) <= 3 * slopes.std(ddof=1) / np.sqrt(600)
    spread = (slopes - slopes.mean()) ** 2
    assert abs(squares.mean() - spread.mean()) <= 3 * np.hypot(squares.std(), spread.std()) / np.sqrt(600)
    covered = np.mean([each.interval[0] <= 1 <= each.interval[1] for each in found])
    assert abs(covered - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / 600)
    assert not any(each.misleads for each in found)
