"""Drawn documents, and the estimate from their labels [theory 9]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pt_active.inference.agreement import one_by_one
from pt_active.inference.documents import (
    DocumentEstimate,
    cautious_variance,
    document_estimate,
    expected_variance,
    predicted,
    widened,
)
from pt_active.inference.estimators import ratio_or_zero
from pt_active.inference.residuals import COMMON_SHARE, expected_squares, query_residuals
from pt_active.inference.surprises import moved_by_labels
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.documents import document_sizes
from pt_active.sampling.drawings import REVEALED_VARIANCE, SURPRISES, DrawingSettings
from pt_active.sampling.pools import DocumentPool, GradedPool, Variables
from pt_active.sampling.revealed import RevealedPool, ranker_contrasts
from pt_active.sampling.sample import DocumentSizes, TwoPhase
from pt_active.sampling.surprises import foresee_cautious_errors
from pt_active.sampling.two_phase import draw_documents


@dataclass(frozen=True)
class DrawnDocuments:
    """Documents that were drawn to be judged."""

    sample: TwoPhase  # Which documents were drawn, and how
    grades: np.ndarray  # float64[N, G+1], ``P(y = g)`` under the grade model
    expected: float  # The variance that the grade model expects of the estimate

    @property
    def certain(self) -> bool:
        """Whether every document that could be drawn was certain to be drawn."""
        design = self.sample.design
        opened = design.opening[design.opening > 0]
        return self.expected <= 0 and bool((design.inclusion[design.order] >= 1).all() and (opened >= 1).all())

    def among(self, documents: np.ndarray, query: np.ndarray) -> DrawnDocuments:
        """Some of the documents, in increasing order; int64[N], the query of each of all."""
        design = replace(self.sample.design, whole=self.sample.design.sums(query))
        sample = replace(self.sample, design=design).among(documents)
        return replace(self, sample=sample, grades=self.grades[documents])


def pool_sizes(pool: GradedPool, settings: DrawingSettings) -> DocumentSizes:
    """The sizes of `document_sizes` under the grades of the pool."""
    return document_sizes(pool.seen, Variables.of(pool.seen.form, pool.grades), pool.prices.cost, settings)


def drawn_by(
    sizes: DocumentSizes,
    pool: GradedPool,
    settings: DrawingSettings,
    budget: float,
    rng: np.random.Generator,
    clock: np.ndarray | None = None,
) -> DrawnDocuments:
    """Draw documents by given sizes, under the grades of the pool.

    Args:
        sizes: Those of `pool_sizes`.
        pool: The pool that documents are drawn from, with their grades.
        settings: How documents are chosen.
        budget: What may be spent.
        rng: Source of randomness.
        clock: float64[N], exponential variables, as `two_phase.draw_documents` takes them.

    Raises:
        ValueError: If an argument is out of range, or there is nothing to judge.
    """
    design = document_design(sizes, settings.drawing, pool.prices, budget)
    sample = draw_documents(design, pool.prices, budget, rng, clock)
    return DrawnDocuments(sample, pool.grades, expected_variance(pool.seen, design, sizes.gain))


def foresee_variances(seen: DocumentPool, samples: Sequence[DrawnDocuments]) -> None:
    """Compute at once what `cautious_variance` needs of several samples by surprises, such as the parts of a plan."""
    if isinstance(seen, RevealedPool) and samples[0].sample.design.drawing == SURPRISES:
        chances = [each.sample.design.chance(seen.query) for each in samples]
        foresee_cautious_errors(seen, Variables.of(seen.form, samples[0].grades).mean, chances)


def estimate_documents(
    seen: DocumentPool, drawn: DrawnDocuments, label: np.ndarray, contrast: np.ndarray, estimator: str
) -> DocumentEstimate:
    """Estimate a contrast of systems from the labels of drawn documents [theory 9].

    Args:
        seen: The pool as the measure sees it.
        drawn: The documents.
        label: int64[N], the labels of drawn documents; -1 for documents not drawn and for missing labels.
        contrast: float64[k], 1 for a system, 1 and −1 for a difference.
        estimator: A name in `DOCUMENT_ESTIMATORS`.

    Raises:
        ValueError: If no estimator has that name.
    """
    seen, contrast = seen.involved(contrast)
    return estimate_labels(labels_read(seen, drawn, label, contrast, estimator), contrast)


def estimate_labels(labels: LabelsRead, contrast: np.ndarray) -> DocumentEstimate:
    """The same from the result of `labels_read`."""
    pool, mean = labels.seen, labels.variables.mean
    estimate = document_estimate(pool, labels.sample, labels.expected, labels.observed, contrast, labels.share)
    # Lines through labels that are all alike leave nothing but rounding of the means.
    scale = estimate.scale + float(pool.weight @ np.abs(pool.values(mean)) @ np.abs(contrast))
    cautious = cautious_variance(pool, labels.sample, labels.variables, contrast)
    return widened(replace(estimate, scale=scale), cautious)


def expected_gain(pool: GradedPool, drawing: str, seed: int) -> np.ndarray:
    """``p² E δ²`` of each document under the grade model, averaged over `ranker_contrasts`, float64[N] [theory 10].

    For nDCG and AP, the share of the average that sizes add stands for what a label does in the light of the others.
    """
    seen, revealed = pool.seen, isinstance(pool.seen, RevealedPool)
    sizes = pool_sizes(pool, DrawingSettings(drawing, REVEALED_VARIANCE if revealed else 0.0))
    if revealed or seen.form.family == "additive":
        return sizes.gain
    return expected_squares(seen, sizes.order, pool.grades, ranker_contrasts(len(seen.ranks)), seed)


def optimism(seen: DocumentPool, drawn: DrawnDocuments, variances: Sequence[float], gain: np.ndarray) -> float:
    """The variance that the labels show over that which the grade model promised [theory 10]; gain float64[N]."""
    promised = expected_variance(seen, drawn.sample.design, gain)
    return float(np.mean(variances) / promised) if promised > 0 else np.nan


class LabelsRead(NamedTuple):
    """Labels as an estimator reads them, and what was expected of them."""

    seen: DocumentPool  # The pool as the measure sees it
    sample: TwoPhase  # The sample without the documents whose label is missing
    variables: Variables  # The document variables under the grade model
    expected: np.ndarray  # float64[N], what stands in for unknown documents
    observed: np.ndarray  # float64[N], the values that the labels give; ``expected`` for documents without a label
    share: float  # ρ of `residuals.coefficients`; 0 unless the estimator corrects means by labels


def labels_read(
    seen: DocumentPool, drawn: DrawnDocuments, label: np.ndarray, contrast: np.ndarray, estimator: str
) -> LabelsRead:
    """The labels and what was expected of them, for the arguments of `estimate_documents`."""
    sample, variables = drawn.sample, Variables.of(seen.form, drawn.grades)
    mean, labelled = variables.mean, sample.drawn & (label >= 0)
    row = labelled if mean.ndim == 1 else labelled[:, None]
    observed = np.where(row, seen.form.values[label], mean)
    expected = predicted(seen, sample, mean, observed, contrast, estimator)
    observed = np.where(row, observed, expected)
    apart = seen.form.family == "additive" and not sample.design.nested
    share = COMMON_SHARE if estimator == "regression" and apart else 0.0
    return LabelsRead(seen, replace(sample, drawn=labelled), variables, expected, observed, share)


def label_changes(each: LabelsRead, contrasts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """float64[c, N, G+1], how far estimates move with other labels, for nDCG and AP [theory 12].

    One document of each query is given another label at once. Shapes: contrasts float64[c, k]; others bool[N, G+1], the
    labels that are tried.
    """
    seen, opening, others = each.seen, each.sample.opening, others & each.sample.drawn[:, None]
    counts = ratio_or_zero(seen.weight, opening)
    if isinstance(seen, RevealedPool) and not each.sample.design.nested:
        about = each.expected, each.observed, contrasts, others
        drawn = each.sample.drawn, each.sample.design.inclusion
        moved = seen.once(lambda: moved_by_labels(seen, each.sample, *about), *drawn, *about)
        return np.asarray(counts[seen.query, None] * moved)

    def estimated(observed: np.ndarray) -> np.ndarray:
        about = seen, each.sample, each.expected, observed
        return counts * [query_residuals(*about, contrast, each.share).step for contrast in contrasts]

    before, changes = estimated(each.observed), np.zeros((len(contrasts), *each.observed.shape))
    for rows, grades in one_by_one(seen.query, others):
        observed = each.observed.copy()
        observed[rows] = seen.form.values[grades]
        changes[:, rows, grades] = (estimated(observed) - before)[:, seen.query[rows]]
    return changes
