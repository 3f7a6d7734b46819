"""The moments of a loss under the label model, on which designs and control variates are based [theory 6]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.relevance.losses import Loss, label_table
from pt_active.relevance.moments import Moments

MIN_RISK_SHARE = 0.01
"""The least introspective risk, as a share of the risk under uniform grades. For a proportion, the same holds for its
distance from 1. A label model whose risk is more extreme is mixed with uniform grades until the bound holds."""


@dataclass(frozen=True)
class Introspection:
    """The moments of the losses of k predictors on N pairs, under a label model."""

    numerator: np.ndarray  # float64[N, k], ``E[u]``
    weight: np.ndarray  # float64[N, k], ``E[w]``
    risk: np.ndarray  # float64[k], the introspective ``Ǧ = Σ p E[u] / Σ p E[w]``
    moments: Moments  # of ``(u − Ǧ w) / Σ p E[w]``; those of the difference if two risks are compared


def label_tables(
    loss: Loss, predictions: np.ndarray, grades: int, member: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """``u`` and ``w`` of each predictor for every label that a pair may have."""
    return [label_table(loss, column, grades, member) for column in predictions.T]


def introspection(
    tables: list[tuple[np.ndarray, np.ndarray]],
    grades: np.ndarray,
    pair_weight: np.ndarray,
    proportion: bool,
) -> Introspection:
    """Exact moments, by enumeration of the labels [theory 6]."""
    # With the least share of uniform grades that keeps the bounds.
    share = max(_uniform_share(u, w, grades, pair_weight, proportion) for u, w in tables)
    if share > 0:
        grades = (1 - share) * grades + share / grades.shape[1]
    u, w = (np.stack(parts, axis=2) for parts in zip(*tables, strict=True))  # float64[N, G+1, k] each
    numerator, weight = (np.einsum("ng,ngk->nk", grades, table) for table in (u, w))
    total = pair_weight @ weight
    risk = pair_weight @ numerator / total
    mean = (numerator - risk * weight) / total
    spread = ((u - u[:, :1]) - risk * (w - w[:, :1])) / total
    centre = np.einsum("ng,ngk->nk", grades, spread)
    covariance = np.einsum("ng,nga,ngb->nab", grades, spread, spread)
    covariance -= centre[:, :, None] * centre[:, None, :]
    diagonal = np.arange(len(tables))
    covariance[:, diagonal, diagonal] = np.maximum(covariance[:, diagonal, diagonal], 0.0)
    return Introspection(numerator, weight, risk, Moments(mean, covariance))


def gaussian_introspection(
    predictions: np.ndarray, variances: np.ndarray, pair_weight: np.ndarray, member: np.ndarray
) -> Introspection:
    """Moments of squared losses if labels come from the mixture of ``N(f_c, τ_c²)`` [ARE 13, AC Deriv. 5]."""
    total = _some_weight(float(pair_weight @ member))
    inside = member[:, None].astype(np.float64)
    gap = predictions[:, :, None] - predictions[:, None, :]  # pair, component, predictor
    given = variances[:, :, None] + gap**2
    loss = given.mean(axis=1) * inside
    between = given - given.mean(axis=1, keepdims=True)
    of_component = variances[:, :, None, None]
    within = 2 * of_component**2 + 4 * of_component * gap[:, :, :, None] * gap[:, :, None, :]
    both = (within + between[:, :, :, None] * between[:, :, None, :]).mean(axis=1)
    risk = pair_weight @ loss / total
    moments = Moments((loss - risk * inside) / total, both * inside[:, :, None] / total**2)
    return Introspection(loss, np.broadcast_to(inside, loss.shape), risk, moments)


def _uniform_share(
    u: np.ndarray, w: np.ndarray, grades: np.ndarray, pair_weight: np.ndarray, proportion: bool
) -> float:
    """The least t in [0, 1] for which ``(1 − t) P + t/|Y|`` keeps the bounds of `MIN_RISK_SHARE`."""
    model = [float(pair_weight @ np.einsum("ng,ng->n", grades, table)) for table in (u, w)]
    plain = [float(pair_weight @ table.mean(axis=1)) for table in (u, w)]
    risk = plain[0] / _some_weight(plain[1])
    rules = [(-MIN_RISK_SHARE * risk, 1.0, 0.0), (1.0, 0.0, MIN_RISK_SHARE * plain[1])]
    if proportion:
        rules.append((1 - MIN_RISK_SHARE * (1 - risk), -1.0, 0.0))
    slack = [[a * weight + b * loss - least for a, b, least in rules] for loss, weight in (model, plain)]
    return float(max([0.0, *(-now / (then - now) for now, then in zip(*slack, strict=True) if now < 0 < then)]))


def _some_weight(total: float) -> float:
    if not total > 0:
        raise ValueError(
            "no pair has a weight in the risk, whatever its label (an empty slice, or precision where nothing is "
            "predicted to be relevant), so the risk is 0/0"
        )
    return total
