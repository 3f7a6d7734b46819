"""What the labels of an audit's pairs say about its predictors [theory 6, 12]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.columns import check_pairs, finite_numbers, with_string_ids
from pt_active.frames.qrels import label_columns
from pt_active.inference.agreement import COEFFICIENTS, agreement_estimate
from pt_active.inference.estimators import (
    ESTIMATOR,
    MeanEstimate,
    effective_size,
    estimator_named,
)
from pt_active.inference.label_model import surprise
from pt_active.inference.ratios import (
    Scores,
    domain_estimate,
    ratio_estimate,
    stratified_estimate,
)
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import Contrast, Labelled, Measured, Settings
from pt_active.plans.answers.results import Comparison, ConfidenceInterval, Estimate
from pt_active.risk.pairs import Pairs
from pt_active.risk.replayed import PairReplays
from pt_active.sampling.designs import STRATIFIED
from pt_active.sampling.sample import Sample
from pt_active.showing.printed import Facts

SURPRISING = 2.5  # Labels that surprise a model by more standard deviations than this make a caution


@dataclass(frozen=True)
class JudgedPairs(Labelled):
    """The drawn pairs of an audit with their labels."""

    pairs: Pairs  # all of the audit
    sample: Sample
    label: np.ndarray  # float64[n], of the drawn pairs; NaN where there is none, which counts as grade 0
    # Whether the design draws for differences alone, so that pairs that matter to a single risk may be left out.
    for_differences: bool = False

    @cached_property
    def _model_caution(self) -> str:
        """What the labels say against the label model; empty if nothing."""
        known = ~np.isnan(self.label)
        if self.pairs.is_gaussian or not known.any():
            return ""
        rows, pairs = self.sample.rows[known], self.pairs
        label = self.label[known].astype(int)
        if not surprise(pairs.grades[rows], pairs.closest_grades[rows], label) > SURPRISING:
            return ""
        return (
            "the grade model is too sure of itself, since the labels surprise it more than it expected: pairs that it "
            "is certain of are hardly drawn, so the sample may lack their errors"
        )

    @cached_property
    def replays(self) -> PairReplays:
        """Samples like the one that was drawn."""
        return PairReplays(self.pairs, self.sample, self.label)

    @property
    def lower_is_better(self) -> bool:
        """Whether the loss is an error or a cost."""
        return self.pairs.loss.lower_is_better

    def scores(self, predictor: int) -> Scores:
        """The losses of one predictor at the labels, and their expectations under the label model."""
        view, label = self.pairs.introspection, np.nan_to_num(self.label)
        observed = self.pairs.observed(predictor, self.sample.rows, label)
        return Scores(*observed, view.numerator[:, predictor], view.weight[:, predictor])

    def estimate(self, system: int, settings: Settings) -> Estimate:
        """Estimate the risk of one predictor [theory 6]."""
        found = super().estimate(system, settings)
        if not self.for_differences or found.basis.census or found.basis.caution:
            return found
        caution = "the pairs were drawn for differences; the interval of one risk alone may be too narrow"
        return replace(found, basis=replace(found.basis, caution=caution))

    def compare(self, first: int, second: int, settings: Settings) -> Comparison:
        """Estimate and test the difference of two predictors' risks, first minus second."""
        compared = super().compare(first, second, settings)
        if np.isnan(compared.difference) or not self.agree(first, second):
            return compared
        return KnownZero(**vars(compared) | {"pvalue": np.nan})

    def agree(self, first: int, second: int) -> bool:
        """Whether two predictors agree on every pair that counts, so that their difference is known to be 0."""
        return self.pairs.same_losses(first, second)

    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """The risk of a predictor, or the difference of two, a name in `estimators_of("pair")` or ``stratified``."""
        pairs, name, predictors = self.pairs, settings.estimator, _predictors(contrast)
        names = [repr(self.names[s]) for s in predictors]
        if (name == STRATIFIED) != (self.sample.stratum is not None):
            raise ValueError(
                f"the estimator {STRATIFIED!r} is for the design of that name, which takes no other; leave it out"
            )
        counting = [pairs.counts(s) for s in predictors]
        for counts, of in zip(counting, names, strict=True):
            if not counts.any():
                never = f"no pair counts in {pairs.loss} of {of}, whatever its label"
                basis = replace(self.basis, census=False, n_effective=0.0)
                return _known(np.nan, basis, settings, f"{never}, so it is not defined")
        if len(predictors) > 1 and self.agree(*predictors):
            return self._zero(contrast, settings)
        fixed, count = pairs.fixed_weights(*predictors), np.any(counting, axis=0)
        if fixed and len(predictors) > 1:
            count = pairs.differ(*predictors)
        kind = "risk" if len(names) == 1 else "difference"
        self._check_drawable(count, f"the {kind} of {' and '.join(names)}")

        def estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
            if name == STRATIFIED:
                return stratified_estimate(scores, sample)
            if not fixed:
                return ratio_estimate(scores, sample, pairs.weight, name)
            return domain_estimate(scores, sample, pairs.weight, name, count)

        scores = [self.scores(s) for s in predictors]
        importance = self.sample.importance(pairs.weight) * self.sample.of(count)
        parts = [importance * each.weight for each in scores]
        effective = min(effective_size(self.sample.count, part) for part in parts)
        bounded = name == STRATIFIED or estimator_named(name, "pair").bounded
        bounds = pairs.bounds(contrast.first) if bounded and len(names) == 1 else None
        replays = self.replays
        again = partial(replays.errors, predictors=predictors, estimate=estimate, bounds=bounds)
        return self._found(
            estimate(scores, self.sample),
            count,
            replace(self.basis, n_effective=float(effective), model_caution=self._model_caution),
            settings,
            f"no sampled pair counts in {pairs.loss}, so the estimate is 0/0: judge more pairs",
            scale=sum(each.scale(pairs.weight) for each in scores),
            bounds=bounds,
            replayed=again if replays.possible else None,
        )

    def _check_drawable(self, count: np.ndarray, what: str) -> None:
        never = 0 if self.sample.q is None else int((count & (self.sample.q <= 0)).sum())
        if never and not self.basis.census:
            raise ValueError(
                f"pairs that count in {what} could never be drawn ({never} in all), so it cannot be estimated from "
                "this sample; make the audit with defensive > 0, or with a design that reaches all pairs, or compare "
                "two predictors"
            )

    def _found(
        self,
        mean: MeanEstimate,
        count: np.ndarray,
        basis: Basis,
        settings: Settings,
        undefined: str,
        **about: Any,
    ) -> Measured:
        """An estimate with the sample that it rests on; ``count`` is bool[N], the pairs that count.

        If all of these were certain to be drawn, there is no sampling error.
        """
        lacks = bool(np.isnan(mean.value))
        sure = self.sample.rows[self.sample.expected == 1] if not self.sample.repeated else []
        judged = self.basis.census or bool(np.isin(np.flatnonzero(count), sure).all())
        census = judged and not lacks
        basis = replace(
            basis,
            estimator=settings.estimator,
            census=census,
            caution=undefined if lacks else "",
            model_caution="" if census else basis.model_caution,
        )
        return Measured(
            float(mean.value),
            float(mean.standard_error),
            float(mean.degrees_of_freedom),
            basis,
            census,
            unusable=lacks,
            **about,
        )

    def _zero(self, contrast: Contrast, settings: Settings) -> Measured:
        """The difference of two predictors that agree on every pair, whatever the labels."""
        names = " and ".join(repr(self.names[s]) for s in _predictors(contrast))
        caution = f"{names} agree on every pair that counts: the difference is known to be 0"
        return _known(0.0, self.basis, settings, caution)


def _predictors(contrast: Contrast) -> list[int]:
    return [contrast.first] if contrast.second is None else [contrast.first, contrast.second]


def _known(value: float, basis: Basis, settings: Settings, caution: str) -> Measured:
    """What is known whatever the labels are: a difference of 0, or a risk that is not defined, NaN."""
    defined = not np.isnan(value)
    basis = replace(basis, estimator=settings.estimator, caution=caution)
    degrees = np.inf if defined else 0.0
    return Measured(value, value, degrees, basis, certain=defined, scale=0.0, unusable=True)


@dataclass(frozen=True)
class KnownZero(Comparison):
    """The difference of two predictors that agree on every pair that counts: 0, with nothing to test."""

    @property
    def _sample_note(self) -> str:
        return self.basis.caution

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """Low and high, both 0."""
        super().confidence_interval(confidence_level)
        return ConfidenceInterval(0.0, 0.0)

    def _tests(self) -> Facts:
        return [("winner", "none")]


@dataclass(frozen=True)
class AgreementEstimate(Estimate):
    """A coefficient of agreement, with an interval that never exceeds 1."""

    def confidence_interval(self, confidence_level: float | None = None) -> ConfidenceInterval:
        """``1 − (1 − κ) exp(± t SE/(1 − κ))``: symmetric for the logarithm of the disagreement."""
        low, high = super().confidence_interval(confidence_level)
        apart = 1 - self.value
        if not np.isfinite(low) or apart <= 0 or low == high:
            return ConfidenceInterval(low, min(high, 1.0))
        factor = np.exp((high - low) / 2 / apart)
        return ConfidenceInterval(float(1 - apart * factor), float(1 - apart / factor))


@dataclass(frozen=True)
class JudgedAgreement(JudgedPairs):
    """The labels of an audit, asked how far predictors and people agree beyond chance [theory 6, 12]."""

    coefficient: str = "Kappa"  # a name in `agreement.COEFFICIENTS`

    @classmethod
    def of(cls, judged: JudgedPairs, coefficient: str) -> JudgedAgreement:
        """The same labels, asked for a coefficient."""
        if judged.pairs.is_gaussian:
            raise ValueError(f"{coefficient} is for grades, not for labels that are real numbers")
        basis = replace(judged.basis, measure=coefficient)
        parts = judged.names, basis, judged.pairs, judged.sample, judged.label
        return cls(*parts, judged.for_differences, coefficient)

    @property
    def lower_is_better(self) -> bool:
        """False: more agreement is better."""
        return False

    def estimate(self, system: int, settings: Settings) -> AgreementEstimate:
        """The coefficient of one predictor with people."""
        return AgreementEstimate(**vars(super().estimate(system, settings)))

    def agree(self, first: int, second: int) -> bool:
        """Whether two predictors give every pair that counts the same grade, which makes their difference 0."""
        closest = self.pairs.closest_grades[self.pairs.member]
        return bool((closest[:, first] == closest[:, second]).all())

    def measured(self, contrast: Contrast, settings: Settings) -> Measured:
        """The coefficient of one predictor with people, or the difference of two."""
        pairs, predictors = self.pairs, _predictors(contrast)
        if settings.estimator == STRATIFIED:
            said = "is not estimated from strata; draw the audit by another design"
            raise ValueError(f"{self.coefficient} {said}")
        self._check_drawable(pairs.member, self.coefficient)
        if len(predictors) > 1 and self.agree(*predictors):
            return self._zero(contrast, settings)
        mean = agreement_estimate(
            COEFFICIENTS[self.coefficient],
            list(pairs.closest_grades[:, predictors].T),
            np.nan_to_num(self.label).astype(np.int64),
            pairs.grades,
            self.sample,
            pairs.weight,
            settings.estimator,
        )
        undefined = "is not defined: all labels in the sample are equal; judge more pairs"
        undefined = f"{self.coefficient} {undefined}"
        return self._found(mean, pairs.member, self.basis, settings, undefined, scale=1.0)


def usual_estimator(sample: Sample) -> str:
    """The default estimator of a risk."""
    return ESTIMATOR if sample.stratum is None else STRATIFIED


def real_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` with string ids, each pair once, and labels that are real numbers."""
    known = with_string_ids(label_columns(qrels)).drop_duplicates()
    known = known.assign(label=finite_numbers(known, "label"))
    check_pairs(known, "the qrels")
    return known
