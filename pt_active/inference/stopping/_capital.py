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
    before: np.ndarray,
    lost: np.ndarray,
    truth: float,
    capital: np.ndarray,
    threshold: float,
    path: np.ndarray,
) -> int:
    """The number of draws after which bets that the mean lies above ``truth`` first reach a capital; -1 if never.

    The capitals of the single bets are changed in place. If the threshold is infinite, they are logarithms, and
    ``path`` gets that of their sum after each draw.

    A bet loses at most the share ``largest`` of its capital in one draw. It wins at most that share for each
    ``rounding`` of the gain, so that rounding makes nobody rich. Where units were left out (``before`` and ``lost``, as
    `LeftOut.of_bets` returns them), each bet loses what it could have lost. Where labels are lacking, the variance that
    was foreseen lies between ``calm`` and ``wild``, and each bet is the one that would have grown least.
    """
    logs, cut = np.isinf(threshold), 0
    for t in range(len(value)):
        while cut < len(before) and before[cut] <= t:
            loss, most = min(lost[0, cut] - truth, 0.0), largest / max(truth - lost[1, cut], rounding)
            for j in range(len(signal)):
                won = min(signal[j] / lost[2, cut], most) * loss
                capital[j] = capital[j] + np.log1p(won) if logs else capital[j] * (1 + won)
            cut += 1
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
