"""What do labels say about drawn documents [theory 9]?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.qrels import LOOK_SO_FAR, missing_pairs
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.class_fit import MAX_MISFIT, misfit_in_words
from pt_active.inference.documents import DocumentEstimate, DocumentPool
from pt_active.inference.drawn_documents import (
    DrawnDocuments,
    LabelsRead,
    estimate_labels,
    label_changes,
    labels_read,
)
from pt_active.inference.estimators import ratio_or_zero
from pt_active.inference.new_queries import ByQuery
from pt_active.inference.reference import rescaled_grades
from pt_active.inference.replayed_documents import DocumentReplays, Redraws, can_be_replayed
from pt_active.inference.residuals import coefficients, query_residuals
from pt_active.inference.surprises import OWN_CLASSES
from pt_active.inference.ties import is_rounding
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import REPLAY_SEED, Contrast, LabelledPlan, Measured, Parts, Settings
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import label_calibration
from pt_active.plans.making.pool import seen_by
from pt_active.sampling.document_designs import influence_of
from pt_active.sampling.documents import Variables
from pt_active.sampling.drawings import SURPRISES
from pt_active.sampling.revealed import RevealedPool

_NOTED_UNREACHED_SHARE = 0.01
"""Above this share of the model's variance in documents that could never be drawn, an estimate has a caution."""

MAX_UNREACHED_SHARE = 0.05
"""Above this share of the model's variance in documents that could never be drawn, there is no interval."""

_MIN_EFFECTIVE_DOCUMENTS = 10
"""With fewer effective documents, an estimate has a caution."""


def _key(contrast: np.ndarray, estimator: str) -> tuple[object, ...]:
    """A contrast and its negative, whose errors are equal, and the estimator."""
    used = np.flatnonzero(contrast)
    return (estimator, *used.tolist(), *(contrast[used] / contrast[used[0]]).tolist())


@dataclass(frozen=True)
class LabelledDocuments(LabelledPlan):
    """Drawn documents with their labels."""

    pool: DocumentPool
    drawn: DrawnDocuments
    shown: dict[tuple[object, ...], float] = field(default_factory=dict, repr=False, compare=False)  # by `_key`
    changed: dict[tuple[str, bytes], np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    read: dict[str, LabelsRead] = field(default_factory=dict, repr=False, compare=False)  # by estimator

    @cached_property
    def counted(self) -> np.ndarray:
        """int64[N], the labels that count: those that lack are 0, which the policy allows."""
        return np.where(self.drawn.sample.drawn & (self.label < 0), 0, self.label)

    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """Estimate the mean over all queries with an estimator in `documents.DOCUMENT_ESTIMATORS`.

        Its cautions are also given as warnings.
        """
        every = contrast.weights(len(self.names))
        part, weights = self._involved(every)
        mean = estimate_labels(part.labels_as(settings.estimator, weights), weights)
        self.shown[_key(every, settings.estimator)] = mean.first + mean.second
        unreached, variance = part._unreached(weights)
        replays = self._replays(every, settings.estimator)
        error = float(np.sqrt(mean.standard_error**2 + variance))
        still, sampling = bool(is_rounding(error, mean.scale)), max(mean.first + mean.second, 0.0)
        judged = np.bincount(self.pool.query[self.counted >= 0], minlength=len(self.pool.weight)) > 0
        labelled = np.where(judged, mean.of_query, np.nan)
        census = variance == 0 and (self.basis.census or (still and part._certain(weights)))
        basis = replace(
            self.basis,
            estimator=settings.estimator,
            census=census,
            n_effective=mean.n_effective,
            error_of_queries=float(np.sqrt(max(mean.first, 0.0))),
            error_of_documents=float(np.sqrt(max(mean.second, 0.0))),
            error_of_model=float(np.sqrt(variance + mean.cautious)),
            unreached=unreached,
            caution=self._caution(mean, contrast.named(self.names), unreached, census),
        )
        return Measured(
            value=mean.value,
            standard_error=error,
            degrees=mean.degrees_of_freedom,
            basis=basis,
            certain=census,
            scale=mean.scale,
            unusable=unreached > MAX_UNREACHED_SHARE or (abs(mean.misfit) > MAX_MISFIT and not census),
            replayed=None if replays is None else partial(replays.replayed, seed=REPLAY_SEED),
            by_query=ByQuery(self.pool.weight, mean.of_query, sampling, labelled=labelled),
        )

    def _involved(self, weights: np.ndarray) -> tuple[LabelledDocuments, np.ndarray]:
        """The rankings and the documents that a contrast of these weights, float64[k], depends on, and their weights.

        Documents that it does not reach count only if they were drawn: what errors have in common corrects the others.
        """
        seen, involved = self.pool.involved(weights)
        if isinstance(seen, RevealedPool):
            return self, weights
        documents = np.flatnonzero(seen.reached | self.drawn.sample.drawn)
        drawn, pool = self.drawn.among(documents, self.pool.query), seen.among(documents)
        return replace(self, pool=pool, drawn=drawn, label=self.label[documents]), involved

    def labels_as(self, estimator: str, contrast: np.ndarray) -> LabelsRead:
        """The labels as an estimator reads them; those of nDCG and AP are the same for all contrasts."""
        if estimator not in self.read or not isinstance(self.pool, RevealedPool):
            self.read[estimator] = labels_read(self.pool, self.drawn, self.counted, contrast, estimator)
        return self.read[estimator]

    def variances(self, contrasts: Sequence[np.ndarray], estimator: str) -> list[float]:
        """The variances that labels show of contrasts, float64[k] each; estimated once."""
        for each in contrasts:
            if (key := _key(each, estimator)) not in self.shown:
                part, weights = self._involved(each)
                mean = estimate_labels(part.labels_as(estimator, weights), weights)
                self.shown[key] = mean.first + mean.second
        return [self.shown[_key(each, estimator)] for each in contrasts]

    def changes(self, contrast: np.ndarray, estimator: str, others: np.ndarray) -> np.ndarray:
        """float64[N, G+1], how far an estimate would move with other labels; 0 for documents without one."""
        if not isinstance(self.pool, RevealedPool):
            seen, each = self.pool, self.labels_as(estimator, contrast)
            slope = (contrast @ seen.gradients(each.expected)) * seen.weight[seen.query]
            share = coefficients(seen.query, each.sample, slope, each.share)
            pull = ratio_or_zero(share, each.sample.opening[seen.query])
            values = seen.form.values[: self.tables.pool.max_grade + 1]
            return np.asarray(pull[:, None] * (values - values[np.maximum(self.label, 0)][:, None]))
        if len(contrast) <= OWN_CLASSES and not self.drawn.sample.design.nested:
            return label_changes(self.labels_as(estimator, contrast), contrast[None], others)[0]
        key = estimator, others.tobytes()
        if key not in self.changed:  # The change of a contrast is the sum of those of its rankers.
            rankers = np.eye(len(contrast))
            self.changed[key] = label_changes(self.labels_as(estimator, rankers[0]), rankers, others)
        used = np.flatnonzero(contrast)
        return np.tensordot(contrast[used], self.changed[key][used], 1)

    @cached_property
    def _redraws(self) -> Redraws:
        """What samples like this one share, with labels from the model as the labels correct it."""
        grades = rescaled_grades(self.drawn.grades, self.counted, 1 / np.where(self.chance > 0, self.chance, 1.0))
        return Redraws(self.pool.query, self.drawn.sample.design, grades, self.tables.pool.by_name)

    def _replays(self, weights: np.ndarray, estimator: str) -> DocumentReplays | None:
        """Samples like this one; None if nothing is left to chance, or if the design cannot be replayed."""
        if self.basis.census or not can_be_replayed(self.pool, self.drawn.sample.design):
            return None
        redraws, values = self._redraws, self.pool.form.values
        expected = (self.drawn if estimator == "difference" else redraws).grades @ values
        stands_for = np.zeros_like(expected) if estimator == "ht" else expected
        return DocumentReplays(*self.pool.involved(weights), redraws, stands_for)

    def _unreached(self, contrast: np.ndarray) -> tuple[float, float]:
        """The model's variance in documents that could never be drawn, as a share of the whole and as it is."""
        possible = self.drawn.sample.design.inclusion > 0
        if possible.all():
            return 0.0, 0.0
        variance = self._expected_variance(contrast, possible)
        part, total = float(variance[~possible].sum()), float(variance.sum())
        return (part / total, part) if part > 1e-9 * total else (0.0, 0.0)  # else only rounding is left of it

    def _certain(self, contrast: np.ndarray) -> bool:
        """Whether no document is left to chance that can change a contrast."""
        if isinstance(self.pool, RevealedPool):
            matters = (self.pool.differs(contrast) & (self.pool.weight > 0))[self.pool.query]
        else:
            gradient = self.pool.gradients(Variables.of(self.pool.form, self.drawn.grades).mean)
            matters = influence_of(self.pool, gradient)[0] > 0
        return bool((self.drawn.sample.chance(self.pool.query) >= 1)[matters].all())

    def _expected_variance(self, contrast: np.ndarray, possible: np.ndarray) -> np.ndarray:
        """float64[N], the model's variance that each document brings; all that can be drawn become known first."""
        weight = self.pool.weight[self.pool.query]
        if isinstance(self.pool, RevealedPool):
            order = self.pool.judging_order(self.drawn.grades, first=possible)
            return weight**2 * self.pool.squares(order, self.drawn.grades, contrast[None])[0]
        variables = Variables.of(self.pool.form, self.drawn.grades)
        return ((contrast @ self.pool.gradients(variables.mean)) * weight) ** 2 * variables.variance

    def _caution(self, mean: DocumentEstimate, what: str, unreached: float, census: bool) -> str:
        """The cautions of an estimate, joined into one text; each is also given as a warning."""
        said = []
        if unreached > _NOTED_UNREACHED_SHARE:
            said.append(
                f"{unreached:.0%} of the variance that the model expects of {self.basis.measure} of {what} lies in "
                "documents that this plan never asks for; there the estimate rests on the model alone"
                + (", so there is no interval and no test" if unreached > MAX_UNREACHED_SHARE else "")
            )
        if not census and (unfit := misfit_in_words(mean.misfit)):
            said.append(unfit)
        if self.basis.missing:
            said.append(
                f"labels are missing ({len(self.basis.missing)}), and the interval does not account for the error of "
                "the values that replace them"
            )
        if not census and mean.n_effective < _MIN_EFFECTIVE_DOCUMENTS:
            said.append(f"the estimate of {what} rests on {mean.n_effective:.1f} effective documents")
        for caution in said:
            warnings.warn(caution, stacklevel=6)
        return "; ".join(said)

    def within(self, rows: np.ndarray, share: float) -> LabelledDocuments | None:
        """The same within a group of queries: ``p`` becomes ``p/P`` with the group's share P, and 0 outside it."""
        pool, qids = self.pool, set(self.tables.pool.qids[rows])
        inside = np.isin(np.arange(len(pool.weight)), rows)
        drawn = self.drawn.sample.drawn & inside[pool.query]
        if not (drawn & (self.counted >= 0)).any():
            return None
        missing = tuple(pair for pair in self.basis.missing if pair[0] in qids)
        basis = replace(
            self.basis,
            n_draws=int(drawn.sum()),
            n_queries=len(np.unique(pool.query[drawn])),
            n_judged=int(drawn.sum()) - len(missing),
            missing=missing,
            model_caution="",
        )
        weight = np.where(inside, pool.weight / share, 0.0)
        return replace(self, pool=replace(pool, weight=weight), basis=basis, shown={}, changed={}, read={})

    def parts(self, contrast: np.ndarray, estimator: str) -> Parts:
        """An estimate taken apart, with the expectations after its correction of the model."""
        each = self.labels_as(estimator, contrast)
        seen, counts = each.seen, ratio_or_zero(each.seen.weight, each.sample.opening)
        base = float(seen.weight @ (seen.values(each.expected) @ contrast))
        residuals = query_residuals(seen, each.sample, each.expected, each.observed, contrast, each.share)
        step, effect = counts * residuals.step, counts[seen.query] * residuals.terms
        weight = counts[seen.query] * residuals.influence
        total, labelled = weight.sum(), self.counted >= 0
        weight, use = weight / total if total > 0 else weight, labelled & (weight > 0)
        documents = np.bincount(seen.query[labelled], minlength=len(step))
        drawn = np.flatnonzero(documents > 0)
        base += float(np.delete(step, drawn).sum())  # what labels of other queries say about those without one
        of_query = np.bincount(seen.query, weights=weight, minlength=len(step))
        columns = {"documents": documents[drawn], "weight": of_query[drawn], "contribution": step[drawn]}
        return Parts(base, drawn, columns, self.counted, effect, weight, use)


def labelled_documents(
    tables: PlanTables,
    documents: DrawnDocuments,
    label: np.ndarray,
    measure: irm.Measure,
    missing: str = "error",
    strays: Strays = NO_STRAYS,
) -> LabelledDocuments:
    """Join labels to the documents that were drawn.

    Shapes: label int64[N].
    """
    pool, sample = tables.pool, documents.sample
    drawn, drawing, nested = sample.drawn, sample.design.drawing, sample.design.nested
    seen, by_surprises = seen_by(measure, pool), drawing == SURPRISES
    served_family = seen.form.family == "additive" or (by_surprises and isinstance(seen, RevealedPool))
    if not (nested or served_family):
        served = "nDCG, AP and additive measures" if by_surprises else "additive measures"
        raise ValueError(
            f"{measure} cannot be estimated from this plan: labels of documents drawn by {drawing} serve {served}, "
            'such as DCG. Those of a plan with design="depth" serve every measure'
        )
    chance = np.where(drawn, sample.chance(pool.query_of_document), 0.0)
    line = label_calibration(pool, measure, label, chance)
    otherwise = "" if nested else LOOK_SO_FAR
    unlabelled = missing_pairs(pool.keys, drawn & (label < 0), missing, otherwise=otherwise, strays=strays)
    basis = Basis(
        measure=str(measure),
        n_draws=int(drawn.sum()),
        n_queries=len(np.unique(pool.query_of_document[drawn])),
        n_judged=int(drawn.sum()) - len(unlabelled),
        census=documents.certain,
        missing=unlabelled,
        missing_policy=missing,
        level="document",
        model_caution="" if line is None else line.caution,
    )
    return LabelledDocuments(pool.names, basis, tables, measure, label, chance, seen, documents, topics=pool.queries)
