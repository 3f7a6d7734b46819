"""Pairs of rankers: which one is compared, and what each matters to a design [T 5.16]."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from pt_active import frames

Pairs = Mapping[tuple[str, str], float] | str
"""(ranker, ranker) → weight, other pairs 0; or the name of one ranker, whose pairs with all others weigh the same."""


def pair_weights(pairs: Pairs | None, names: Sequence[str]) -> np.ndarray | None:
    """The weights of all pairs of rankers.

    Args:
        pairs: As the user says them; None where all weigh the same.
        names: The k rankers.

    Returns:
        float64[k(k−1)/2] in the order of ``combinations(names, 2)``, or None. A warning names the pairs that a mapping
        leaves without a weight.

    Raises:
        ValueError: If there are fewer than two rankers, one is unknown or paired with itself, a pair comes twice, or
            the weights are not numbers from 0, of which one is above.
    """
    if pairs is None:
        return None
    if len(names) < 2:
        raise ValueError(f"pairs needs at least two rankers; there is only {names[0]!r}")
    if isinstance(pairs, str):
        _check_names(f"pairs={pairs!r}", (pairs,), names)
        return np.array([float(pairs in pair) for pair in combinations(names, 2)])
    if not isinstance(pairs, Mapping):
        raise ValueError(f"pairs must map (ranker, ranker) to a weight, or name one ranker; got {pairs!r}")
    weights = _checked(pairs, names)
    found = np.array([weights.get(frozenset(pair), 0.0) for pair in combinations(names, 2)])
    if not found.any():
        raise ValueError("pairs gives every pair the weight 0, so there is nothing to design for")
    _warn_of_unweighted([pair for pair, w in zip(combinations(names, 2), found, strict=True) if w == 0])
    return found


def listed_weights(weights: np.ndarray | None, names: Sequence[str]) -> list[list[str | float]] | None:
    """The positive weights as ``[ranker, ranker, weight]``, for a manifest."""
    if weights is None:
        return None
    return [[a, b, float(w)] for (a, b), w in zip(combinations(names, 2), weights, strict=True) if w > 0]


def stored_weights(listed: list[list[str | float]] | None, names: Sequence[str]) -> np.ndarray | None:
    """Read back what `listed_weights` wrote."""
    if listed is None:
        return None
    weights = {frozenset((a, b)): float(w) for a, b, w in listed}
    return np.array([weights.get(frozenset(pair), 0.0) for pair in combinations(names, 2)])


def named_pair(
    names: Sequence[str], first: str | None, second: str | None, kind: str = "ranker", where: str = "plan"
) -> tuple[int, int]:
    """Indices of the two rankers, or predictors, to compare.

    Args:
        names: All k.
        first: One; if left out, of two the first that is not ``second``.
        second: Another; if left out, of two the other one.
        kind: What they are, for messages.
        where: What they belong to, likewise.

    Raises:
        ValueError: If there is only one, or more than two and not both are named, or a name is unknown.
    """
    if len(names) < 2:
        raise ValueError(f"a comparison needs two {kind}s; this {where} has only {names[0]!r}")
    if len(names) > 2 and (first is None or second is None):
        listed = frames.some(names, 20)
        raise ValueError(f"say which {kind}s to compare, as first and second, of {listed}; or rank them all")
    first = first or next(name for name in names if name != second)
    chosen = (first, second or next(name for name in names if name != first))
    for name in chosen:
        if name not in names:
            raise ValueError(f"no {kind} {name!r} in this {where}; it has {frames.some(names, 20)}")
    if chosen[0] == chosen[1]:
        raise ValueError(f"cannot compare {kind} {chosen[0]!r} with itself")
    return names.index(chosen[0]), names.index(chosen[1])


def _checked(pairs: Mapping[tuple[str, str], float], names: Sequence[str]) -> dict[frozenset[str], float]:
    weights: dict[frozenset[str], float] = {}
    for pair, weight in pairs.items():
        where = f"pairs[{pair!r}]"
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ValueError(f"{where}: expected a tuple of two rankers")
        _check_names(where, pair, names)
        if pair[0] == pair[1]:
            raise ValueError(f"{where}: a ranker cannot be compared with itself")
        if frozenset(pair) in weights:
            raise ValueError(f"{where}: the pair is there in both orders; say it once")
        if not (isinstance(weight, (int, float, np.number)) and 0 <= weight < np.inf):
            raise ValueError(f"{where}: a weight must be a number from 0, got {weight!r}")
        weights[frozenset(pair)] = float(weight)
    return weights


def _check_names(where: str, named: Sequence[str], names: Sequence[str]) -> None:
    if unknown := [name for name in named if name not in names]:
        raise ValueError(f"{where}: no ranker {unknown[0]!r}; there are {frames.some(names, 20)}")


def _warn_of_unweighted(pairs: list[tuple[str, str]]) -> None:
    if pairs:
        warnings.warn(
            f"{len(pairs)} pairs of rankers have weight 0: {frames.some([f'{a} − {b}' for a, b in pairs])}; they can "
            "still be compared, as well as labels for the other pairs allow, but the design does nothing for them",
            stacklevel=4,
        )
