"""How well does a judge's leaderboard agree with that of people, whose values are known with errors [theory 5]?

Errors scramble the order of estimates θ̂, so that their τ with the judge's values is too low. Here people's values θ are
drawn given θ̂: they scatter about a curve in the judge's values, ``θ = Xβ + u``, and ``θ̂ = θ + e`` with the known
covariance C of errors (Fay and Herriot 1979). As runs that share documents also share what the judge gets wrong about
them, u has the covariance ``σ² I + ω² C``. All σ and ω count that the estimates do not reject, 0 among them, so that
intervals hold for judges that are right, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pt_active.inference.leaderboard import JointErrors
from pt_active.inference.ties import places
from pt_active.relevance.digits import rounded

_SEED = 49
_DRAWS = 1_000  # Leaderboards of people for each σ and ω
_ODDS = np.arange(8) / np.arange(8, 0, -1)  # Those of the variances of u and of errors that are tried for σ² and ω²
_RUNS_PER_COLUMN = 3  # Rankers for each column of the curve
_ROUNDING = 1e-9  # Smaller variances, beside the largest, are rounding


def agreement(judge: np.ndarray, values: np.ndarray, top: int) -> np.ndarray:
    """τ, τ_ap and the overlap of the best, float64[3, R], of a judge's leaderboard with each of R of people.

    τ is Kendall's τ_b. ``τ_ap`` is the mean over all but the judge's best of how many more of the rankers above one in
    the judge's order people put above it too than below, as a share (Yilmaz, Aslam and Robertson 2008). Rankers that
    the judge ties are not above each other. In the overlap each ranker counts with the smaller of its two chances to be
    among the best where ties are broken at random.

    Shapes: judge float64[k], values float64[R, k].
    """
    order = np.argsort(-rounded(judge), kind="stable")
    judge, values = rounded(judge)[order], rounded(values)[:, order]
    overlap = np.minimum(_among_the_best(judge[None], top), _among_the_best(values, top)).sum(axis=1) / top
    total, ahead, untied = np.zeros((3, len(values)))
    for rank in range(1, len(judge)):
        sign = np.sign(values[:, :rank] - values[:, [rank]])
        untied += (sign != 0).sum(axis=1)
        of_those_above = sign[:, judge[:rank] > judge[rank]]
        total += of_those_above.sum(axis=1)
        ahead += of_those_above.sum(axis=1) / max(of_those_above.shape[1], 1)
    apart = np.count_nonzero(np.subtract.outer(judge, judge)) / 2
    followers = np.count_nonzero(judge < judge[0])
    return np.stack([total / np.sqrt(apart * np.maximum(untied, 1)), ahead / followers, overlap])


def _among_the_best(values: np.ndarray, top: int) -> np.ndarray:
    """The chance of each ranker to be one of the ``top`` where ties are broken at random, float64[R, k], of [R, k]."""
    last = -np.sort(-values, axis=1)[:, [top - 1]]
    better, tied = values > last, values == last
    places_left = top - better.sum(axis=1, keepdims=True)
    return better + tied * places_left / tied.sum(axis=1, keepdims=True)


def agreement_intervals(
    estimates: np.ndarray, of_pairs: np.ndarray, judge: np.ndarray, top: int, alpha: float
) -> np.ndarray:
    """τ, τ_ap and the overlap as expected and their intervals of level 1 − α, float64[3, 3]: value, low, high of each.

    Shapes: estimates and judge float64[k]; of_pairs float64[k, k], the standard errors of all differences.
    """
    if not of_pairs.any():
        return np.repeat(agreement(judge, estimates[None], top), 3, axis=1)
    drawn = _people(estimates, JointErrors.covariance(of_pairs), judge, alpha)
    found = [agreement(judge, values, top) for values in drawn]
    low, high = np.quantile(found, [alpha / 2, 1 - alpha / 2], axis=2)
    expected = found[0].mean(axis=1)  # which few draws that are far off move beyond the quantiles
    return np.stack([expected, np.minimum(low.min(axis=0), expected), np.maximum(high.max(axis=0), expected)], axis=1)


def _people(estimates: np.ndarray, covariance: np.ndarray, judge: np.ndarray, alpha: float) -> Iterator[np.ndarray]:
    """Draws of people's values, float64[R, k], for each σ and ω that is not rejected at α, the likeliest first."""
    number = len(judge)
    # In these r directions errors are independent. What all rankers have in common, the last one, is left out.
    error, basis = np.linalg.eigh(covariance + 2 * np.abs(covariance).sum() / number)
    error, basis = np.maximum(error[:-1], _ROUNDING * error[:-1].max()), basis[:, :-1]
    line = (judge - judge.mean()) / judge.std()
    columns = np.column_stack([line, places(judge) / number, line**2])[:, : max(number // _RUNS_PER_COLUMN, 1)]
    curve, size, _ = np.linalg.svd(basis.T @ columns, full_matrices=False)
    value, curve = basis.T @ estimates, curve[:, size > 1e-6 * size[0]]
    # Drawn for each ranker, so that signs of the basis do not matter.
    noise = np.random.default_rng(_SEED).standard_normal((2, _DRAWS, number)) @ basis
    fits = []
    for variance in (own * error.mean() + common * error for own in _ODDS for common in _ODDS):
        root = np.sqrt(variance + error)
        columns, size, _ = np.linalg.svd(curve / root[:, None], full_matrices=False)
        left = value / root - columns @ (columns.T @ (value / root))
        fits.append((np.log(root).sum() + np.log(size).sum() + left @ left / 2, variance, root, columns))
    fits.sort(key=lambda each: each[0])
    for loss, variance, root, columns in fits:
        if loss <= fits[0][0] - np.log(alpha):  # the test of two parameters by their likelihood
            drawn = root * ((value / root + noise[0]) @ columns @ columns.T)
            drawn = (variance * value + error * drawn) / root**2 + np.sqrt(variance * error) / root * noise[1]
            yield estimates.mean() + drawn @ basis.T


def favours(off: np.ndarray, group: np.ndarray, of_pairs: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """How much larger the mean of each group is than that of all others, float64[g], and half-widths of intervals.

    All intervals hold at once but with probability α. Shapes: off float64[k]; group int64[k], from 0.
    """
    inside = np.arange(group.max() + 1)[:, None] == group
    contrasts = inside / inside.sum(axis=1, keepdims=True) - ~inside / (~inside).sum(axis=1, keepdims=True)
    errors = contrasts @ JointErrors.of(of_pairs).draws
    size = errors.std(axis=1)
    largest = np.abs(errors / np.where(size > 0, size, 1.0)[:, None]).max(axis=0)
    return contrasts @ off, np.quantile(largest, 1 - alpha, method="higher") * size
