"""Rounds of judging documents: each is drawn with what the labels before it taught [theory 9]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pt_active.inference.documents import (
    DocumentEstimate,
    cautious_variance,
    combined,
    document_estimate,
    expected_squares,
    expected_variance,
    predicted,
    widened,
)
from pt_active.sampling.documents import DocumentSizes, RoundSettings, document_design, document_sizes
from pt_active.sampling.pools import DocumentPool, GradedPool, Variables
from pt_active.sampling.sample import TwoPhase
from pt_active.sampling.two_phase import draw_documents


@dataclass(frozen=True)
class Round:
    """One round of judging.

    Attributes:
        sample: Which documents were drawn, and how.
        grades: float64[N, G+1], the grade model of the round.
        expected: The variance that the first round's grade model expects of the round's estimate. Known before
            anything is drawn, so rounds may be weighted by its inverse.
    """

    sample: TwoPhase
    grades: np.ndarray
    expected: float


def pool_sizes(
    pool: GradedPool,
    settings: RoundSettings,
    grades: np.ndarray,
    labels: np.ndarray | None = None,
    budget: float | None = None,
) -> DocumentSizes:
    """The sizes of `document_sizes` under given grades and known labels.

    Args:
        pool: What can be drawn.
        settings: How documents are chosen.
        grades: float64[N, G+1], of the round's grade model.
        labels: int64[N], those that are known already, -1 where there is none.
        budget: Λ of the round, which the objective ``largest`` needs.
    """
    variables = Variables.of(pool.seen.form, grades, labels)
    return document_sizes(pool.seen, variables, pool.cost, pool.per_query, settings, budget)


def draw_round(
    pool: GradedPool,
    settings: RoundSettings,
    budget: float,
    rng: np.random.Generator,
    *,
    grades: np.ndarray | None = None,
    labels: np.ndarray | None = None,
) -> Round:
    """Draw the next documents to judge.

    Args:
        pool: With the grades of the first round.
        settings: What all rounds share.
        budget: What the round may spend.
        rng: Source of randomness.
        grades: float64[N, G+1], of a grade model that was fitted again; the pool's if left out.
        labels: int64[N], those that are known already, -1 where none is.

    Raises:
        ValueError: If an argument is out of range, or there is nothing left to judge.
    """
    grades = pool.grades if grades is None else grades
    sizes = pool_sizes(pool, settings, grades, labels, budget)
    first = sizes if grades is pool.grades else pool_sizes(pool, settings, pool.grades, labels, budget)
    indptr, cost = pool.seen.indptr, pool.cost
    design = document_design(sizes, settings.drawing, indptr, cost, pool.per_query, budget)
    sample = draw_documents(design, indptr, cost, pool.per_query, budget, rng)
    return Round(sample, grades, expected_variance(pool.seen, sample, first.gain))


def round_weights(rounds: Sequence[Round]) -> np.ndarray:
    """Weights of the rounds' estimates, ∝ 1/expected variance, float64[r]; a census takes all."""
    expected = np.array([each.expected for each in rounds])
    if (expected <= 0).any():
        return np.asarray(np.cumsum(expected <= 0) * (expected <= 0) == 1, dtype=float)
    return np.asarray((1 / expected) / (1 / expected).sum())


def judged_before(rounds: Sequence[Round]) -> np.ndarray:
    """bool[N], the documents that some of the rounds drew."""
    return np.asarray(np.any([each.sample.drawn for each in rounds], axis=0))


def estimate_rounds(
    seen: DocumentPool, rounds: Sequence[Round], label: np.ndarray, contrast: np.ndarray, estimator: str
) -> DocumentEstimate:
    """Estimate a contrast of systems from the labels of all rounds [theory 9].

    In each round the documents that were judged before it count as known, so its estimate is unbiased given all that
    was known when it was drawn, and weights that were known then keep the combination unbiased.

    Args:
        seen: What the measure sees.
        rounds: In order.
        label: int64[N], of the documents that were drawn; -1 elsewhere and where it is missing.
        contrast: float64[k], 1 for a system, 1 and −1 for a difference.
        estimator: A name in `DOCUMENT_ESTIMATORS`.

    Raises:
        ValueError: If there is no estimator of that name.
    """
    found, cautious = [], []
    for sample, variables, expected, observed in round_labels(seen, rounds, label, contrast, estimator):
        found.append(document_estimate(seen, sample, expected, observed, contrast))
        cautious.append(cautious_variance(seen, sample, variables, contrast))
    weights = round_weights(rounds)
    return widened(combined(found, weights), float(weights**2 @ cautious))


def ranker_contrasts(k: int) -> list[np.ndarray]:
    """float64[k] each: the only ranker itself, or every pair's difference."""
    return [np.ones(1)] if k == 1 else [np.eye(k)[a] - np.eye(k)[b] for a, b in combinations(range(k), 2)]


def expected_gain(pool: GradedPool, drawing: str, seed: int) -> np.ndarray:
    """``p² E δ²`` of each document under the model as it is, the mean over `ranker_contrasts` [theory 10].

    Args:
        pool: With the grades of the model.
        drawing: A name in `DOCUMENT_DRAWINGS`.
        seed: Of the labels that are drawn from the model, for cascades in depth.

    Returns:
        float64[N].
    """
    sizes = pool_sizes(pool, RoundSettings(drawing, defensive=0.0), pool.grades)
    if drawing != "depth" or pool.seen.form.family == "additive":
        return sizes.gain
    return expected_squares(pool.seen, sizes.order, pool.grades, ranker_contrasts(len(pool.seen.ranks)), seed)


def optimism(seen: DocumentPool, rounds: Sequence[Round], label: np.ndarray, estimator: str, gain: np.ndarray) -> float:
    """The variance that the labels show over the one that the grade model promised of the rounds [theory 10].

    A round promises nothing of what was known before it, for it cannot draw that.

    Args:
        seen: What the measure sees.
        rounds: In order.
        label: int64[N], of the documents that were drawn; -1 elsewhere and where it is missing.
        estimator: A name in `DOCUMENT_ESTIMATORS`.
        gain: float64[N], as `expected_gain` returns it.

    Returns:
        The ratio, of the means over `ranker_contrasts`; NaN where nothing was promised.
    """
    found = [estimate_rounds(seen, rounds, label, c, estimator) for c in ranker_contrasts(len(seen.ranks))]
    expected = [expected_variance(seen, each.sample, gain) for each in rounds]
    promised = float(round_weights(rounds) ** 2 @ expected)
    return float(np.mean([each.first + each.second for each in found]) / promised) if promised > 0 else np.nan


class RoundLabels(NamedTuple):
    """What a round's labels meet.

    Attributes:
        sample: As drawn, but for documents whose label is missing.
        variables: Under the round's grade model, with what was known before it.
        expected: float64[N], what stands for unknown documents.
        observed: float64[N], what the labels say; ``expected`` where there is none.
    """

    sample: TwoPhase
    variables: Variables
    expected: np.ndarray
    observed: np.ndarray


def round_labels(
    seen: DocumentPool, rounds: Sequence[Round], label: np.ndarray, contrast: np.ndarray, estimator: str
) -> Iterator[RoundLabels]:
    """The labels of each round beside what was expected of it; arguments as for `estimate_rounds`."""
    known = np.zeros(len(label), dtype=bool)
    for each in rounds:
        variables = Variables.of(seen.form, each.grades, np.where(known, label, -1))
        mean = variables.mean
        labelled = each.sample.drawn & (label >= 0)
        observed = np.where(labelled, seen.form.values[label], mean)
        expected = predicted(seen, each.sample, mean, observed, contrast, estimator)
        observed = np.where(labelled, observed, expected)
        yield RoundLabels(replace(each.sample, drawn=labelled), variables, expected, observed)
        known |= each.sample.drawn
