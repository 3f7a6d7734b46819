"""Confidence intervals of an estimate: t intervals, and score intervals of bounded means [theory 5, T 3.24]."""

from __future__ import annotations

import numpy as np

SIMULATED = "simulated"  # The hull of t and of replays of the sample [theory 5]


def interval(
    value: np.ndarray | float,
    standard_error: np.ndarray | float,
    degrees: np.ndarray | float,
    confidence_level: float,
) -> tuple[np.ndarray, np.ndarray]:
    """``value ± t_{(1+level)/2} · SE`` [T 3.24], for one estimate or an array of them."""
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level}")
    from scipy import special

    usable = (np.asarray(degrees) > 0) & np.isfinite(standard_error)
    quantile = special.stdtrit(np.where(usable, degrees, 1.0), (1 + confidence_level) / 2)
    half = np.where(usable, quantile * standard_error, np.inf)
    return value - half, value + half


def score_interval(
    value: np.ndarray | float,
    standard_error: np.ndarray | float,
    degrees: np.ndarray | float,
    confidence_level: float,
    bounds: tuple[float, float],
    effective: np.ndarray | float,
    factor: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval for any design [W, KG, FLLS]: θ with ``(R̂ − θ)² = t² SE² V(θ)/V(R̂)``, within the bounds."""
    low, high = bounds
    width, y = high - low, np.clip(value, low, high) - low
    usable = np.isfinite(np.asarray(standard_error)) & (np.asarray(degrees) > 0)
    quantile = factor * interval(0.0, 1.0, np.where(usable, degrees, np.inf), confidence_level)[1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = quantile**2 * _score_scale(y, np.where(usable, standard_error, 0.0), width, effective)
        shrunk, centre = 1 / (1 + scale / width), 1 / (1 / scale + 1 / width) / 2
        root = np.sqrt(2 * centre * shrunk * y * (1 - y / width) + centre**2)
        ends = [low + shrunk * y + centre + sign * root for sign in (-1, 1)]
    return np.where(usable, np.maximum(ends[0], low), low)[()], np.where(usable, ends[1], high)[()]


def score_statistic(
    value: np.ndarray,
    standard_error: np.ndarray,
    truth: np.ndarray,
    bounds: tuple[float, float],
    effective: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray]:
    """``(R̂ − R)/σ`` with ``σ² = SE² V(R)/V(R̂)``: `score_interval` has R if it lies between t's quantiles."""
    low, high = bounds
    width, theta = high - low, np.clip(truth, low, high) - low
    y = np.clip(value, low, high) - low
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = _score_scale(y, standard_error, width, effective) * theta * (1 - theta / width)
        statistic = np.where(y == theta, 0.0, (y - theta) / np.sqrt(variance))
    return statistic, variance


def _score_scale(y: np.ndarray, error: np.ndarray, width: float, effective: np.ndarray | float) -> np.ndarray:
    """``SE²/V(R̂)``, or ``1/n*`` of values between 0 and 1 if the standard error is 0; y is R̂ minus the lower bound."""
    inside = np.clip(y, np.minimum(error, width / 2), np.maximum(width - error, width / 2))
    return np.where(error > 0, error**2 / (inside * (1 - inside / width)), width / effective)
