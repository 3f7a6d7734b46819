"""Compiled loops over the bets of `bets`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def crossing(
    value: np.ndarray,
    worst: np.ndarray,
    variance: np.ndarray,
    signal: np.ndarray,
    largest: float,
    rounding: float,
    truth: float,
    share: np.ndarray,
    threshold: float,
) -> int:
    """The number of draws after which bets that the mean lies above ``truth`` first reach a capital; -1 if never.

    A bet loses at most the share ``largest`` of its capital in one draw. It wins at most that share for each
    ``rounding`` of the gain, so that rounding makes nobody rich.
    """
    capital = share.copy()
    for t in range(len(value)):
        gain, most = value[t] - truth, largest / max(truth - worst[t], rounding)
        total = 0.0
        for j in range(len(signal)):
            capital[j] *= 1 + min(signal[j] / variance[t], most) * gain
            total += capital[j]
        if total >= threshold:
            return t + 1
    return -1


@njit(cache=True)
def log_capitals(
    value: np.ndarray,
    worst: np.ndarray,
    variance: np.ndarray,
    signal: np.ndarray,
    largest: float,
    rounding: float,
    truth: float,
    logs: np.ndarray,
    path: np.ndarray,
) -> None:
    """Go on from the logarithms of the capitals in ``logs``; ``path`` gets that of their sum after each draw."""
    for t in range(len(value)):
        gain, most = value[t] - truth, largest / max(truth - worst[t], rounding)
        top = -np.inf
        for j in range(len(signal)):
            logs[j] += np.log1p(min(signal[j] / variance[t], most) * gain)
            top = max(top, logs[j])
        total = 0.0
        for j in range(len(signal)):
            total += np.exp(logs[j] - top)
        path[t] = top + np.log(total)
