"""A compiled loop over the bets of `bets`."""

from __future__ import annotations

import numpy as np

from pt_active.relevance._kernels import _compiled


@_compiled
def capitals(
    value: np.ndarray,
    worst: np.ndarray,
    calm: np.ndarray,
    wild: np.ndarray,
    signal: np.ndarray,
    largest: float,
    rounding: float,
    truth: float,
    capital: np.ndarray,
    threshold: float,
    path: np.ndarray,
) -> int:
    """The draws after which bets that the mean lies above ``truth`` first reach a capital; -1 if never [theory 14]."""
    # Capitals of single bets change in place; an infinite threshold makes them logarithms, whose sums ``path`` gets.
    # Of labels that lack, ``calm`` to ``wild``, the worst counts.
    logs = np.isinf(threshold)
    for t in range(len(value)):
        gain, most = value[t] - truth, largest / max(truth - worst[t], rounding)
        variance = wild[t] if gain >= 0 else calm[t]
        total, top = 0.0, -np.inf
        for j in range(len(signal)):
            won = min(signal[j] / variance, most) * gain
            capital[j] = capital[j] + np.log1p(won) if logs else capital[j] * (1 + won)
            total += capital[j]
            top = max(top, capital[j])
        if logs:
            total = 0.0
            for j in range(len(signal)):
                total += np.exp(capital[j] - top)
            path[t] = top + np.log(total)
        elif total >= threshold:
            return t + 1
    return -1
