"""What the labels of an audit's pairs say of its predictors [theory 6]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, how_many
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.qrels import (
    MISSING_LABELS,
    check_highest_grade,
    check_policy,
    checked_qrels,
    drawn_labels,
    label_columns,
    missing_pairs,
)
from pt_active.frames.strays import stray_labels
from pt_active.inference.estimators import ESTIMATOR, MeanEstimate, effective_size, estimator_named
from pt_active.inference.intervals import AUTO, SIMULATED, counted
from pt_active.inference.ratios import (
    Domain,
    Scores,
    difference_domain,
    domain_estimate,
    ratio_estimate,
    risk_domain,
    stratified_estimate,
)
from pt_active.inference.reference import Replayed
from pt_active.inference.replayed_pairs import surprise
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured, inferred
from pt_active.plans.answers.results import Comparison, ConfidenceInterval, Estimate
from pt_active.risk.pairs import Pairs
from pt_active.risk.proportions import BINOMIAL_REFERENCES, ProportionEstimate, refuse_binomial
from pt_active.risk.replayed import Estimated, PairReplays
from pt_active.sampling.designs import STRATIFIED
from pt_active.sampling.sample import Sample
from pt_active.showing.printed import Facts

SURPRISING = 2.5
"""Labels that surprise a model by more standard deviations than this make a caution."""

_SCORED = (AUTO, SIMULATED, "effective")
"""References with which the interval of a risk keeps to the values that the risk can have."""


@dataclass(frozen=True)
class JudgedPairs(Judged):
    """The drawn pairs of an audit with their labels.

    Attributes:
        pairs: All pairs of the audit.
        sample: The n pairs that were drawn.
        label: float64[n], their labels; NaN where there is none, which counts as grade 0.
        for_differences: Whether the design draws for differences of predictors alone, so that pairs that matter to a
            single risk may be left out.
    """

    pairs: Pairs
    sample: Sample
    label: np.ndarray
    for_differences: bool = False

    @cached_property
    def observed(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each predictor, numerator u and weight w of its loss at the labels, float64[n] each."""
        return self.pairs.observed(self.sample.rows, np.where(np.isnan(self.label), 0.0, self.label))

    @cached_property
    def _model_caution(self) -> str:
        """What the labels say against the label model; empty if nothing."""
        known = ~np.isnan(self.label)
        if self.pairs.is_gaussian or not known.any():
            return ""
        rows, pairs = self.sample.rows[known], self.pairs
        excess = surprise(pairs.grades[rows], pairs.closest_grades[rows], self.label[known].astype(np.int64))
        if not excess > SURPRISING:
            return ""
        return (
            "the grade model is too sure of itself, since the labels surprise it more than it expects: pairs that it "
            "takes for certain are hardly drawn, so the sample may lack their errors"
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
        view = self.pairs.introspection
        return Scores(*self.observed[predictor], view.numerator[:, predictor], view.weight[:, predictor])

    def estimate(self, system: int, how: How[Any]) -> Estimate:
        """Estimate the risk of one predictor [theory 6]."""
        if how.reference in tuple(BINOMIAL_REFERENCES):
            return self._with_caution(self._proportion(system, how))
        return self._with_caution(super().estimate(system, how))

    def _with_caution(self, estimate: Estimate) -> Estimate:
        """Add a caution if the pairs were drawn for differences, which leave out what all predictors get right."""
        if not self.for_differences or estimate.basis.census or estimate.basis.caution:
            return estimate
        caution = "the pairs were drawn for differences; the interval of one risk alone may be too narrow"
        return replace(estimate, basis=replace(estimate.basis, caution=caution))

    def compare(self, first: int, second: int, how: How[Any]) -> Comparison:
        """Estimate and test the difference of two predictors' risks, first minus second."""
        compared = super().compare(first, second, how)
        if np.isnan(compared.difference) or not self.agree(first, second):
            return compared
        known = {each.name: getattr(compared, each.name) for each in fields(compared)}
        return KnownZero(**known | {"pvalue": np.nan})

    def agree(self, first: int, second: int) -> bool:
        """Whether two predictors agree on every pair that counts, so that their difference is known to be 0."""
        return self.pairs.same_losses(first, second)

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The risk of a predictor, or the difference of two, a name in `risk_estimators` or ``stratified``."""
        for predictor in (contrast.first, contrast.second):
            if predictor is not None and not self.pairs.counts(predictor).any():
                return self._without_pairs(self.names[predictor], how.estimator)
        if contrast.second is None:
            return self._risk(contrast.first, how)
        return self._difference(contrast.first, contrast.second, how)

    def _risk(self, predictor: int, how: How[Any]) -> Measured:
        counts, name = self._counts(predictor), how.estimator
        self._check_estimator(name)
        fixed = self.pairs.fixed_weights(predictor)

        def estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
            domain = risk_domain(scores[0], self.pairs.weight) if fixed else None
            return self._mean(scores, sample, domain, name)

        within_range = how.reference in _SCORED and (name == STRATIFIED or estimator_named(name, "pair").bounded)
        bounds = self.pairs.bounds(predictor) if within_range else None
        return self._measured([predictor], estimate, counts, name, bounds)

    def _difference(self, first: int, second: int, how: How[Any]) -> Measured:
        refuse_binomial(how.reference)
        self._check_estimator(how.estimator)
        pairs, names = self.pairs, self.names
        if self.agree(first, second):
            return self._agreeing(names[first], names[second], how.estimator)
        known = pairs.known_differences(first, second)
        differ = pairs.differ(first, second) if known else pairs.counts(first) | pairs.counts(second)

        def estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
            domain = difference_domain(scores[0], scores[1], differ, pairs.weight) if known else None
            return self._mean(scores, sample, domain, how.estimator)

        self._check_drawable(differ, f"that count in the difference of {names[first]!r} and {names[second]!r}")
        return self._measured([first, second], estimate, differ, how.estimator)

    def _counts(self, predictor: int) -> np.ndarray:
        """bool[N], the pairs that count in the risk of a predictor."""
        counts = self.pairs.counts(predictor)
        self._check_drawable(counts, f"that count in the risk of {self.names[predictor]!r}")
        return counts

    def _mean(self, scores: Sequence[Scores], sample: Sample, domain: Domain | None, estimator: str) -> MeanEstimate:
        if estimator == STRATIFIED:
            return stratified_estimate(scores, sample)
        if domain is None:
            return ratio_estimate(scores, sample, self.pairs.weight, estimator)
        return domain_estimate(domain, sample, estimator)

    def _proportion(self, predictor: int, how: How[Any]) -> ProportionEstimate:
        method = how.reference
        if how.estimator != "snis":
            raise ValueError(
                f"a {method} interval belongs to the plain share, estimator='snis', not to {how.estimator!r}"
            )
        scores, sample, p = self.scores(predictor), self.sample, self.pairs.weight
        share = self._risk(predictor, replace(how, reference="normal"))
        successes, trials = counted(scores.numerator, scores.weight, sample.count, sample.importance(p), method)
        parts = inferred(share, replace(how, reference="normal")) | {"degenerate": False}
        parts |= {"name": self.names[predictor], "value": share.value}
        return ProportionEstimate(successes=successes, trials=trials, method=method, **parts)

    def _check_estimator(self, estimator: str) -> None:
        if (estimator == STRATIFIED) != is_stratified(self.sample):
            raise ValueError(
                f"the estimator {STRATIFIED!r} is for the design of that name, which takes no other; leave it out"
            )

    def _check_drawable(self, count: np.ndarray, what: str) -> None:
        never = 0 if self.sample.q is None else int((count & (self.sample.q <= 0)).sum())
        if never and not self.basis.census:
            raise ValueError(
                f"pairs {what} could never be drawn ({never} in all), so it cannot be estimated from this sample; make "
                "the audit with defensive > 0, or with a design that reaches all pairs, or compare two predictors"
            )

    def _all_judged(self, count: np.ndarray) -> bool:
        """Whether all pairs that count were certain to be drawn, so that there is no sampling error."""
        certain = self.sample.rows[self.sample.expected == 1]
        return self.basis.census or (not self.sample.repeated and bool(np.isin(np.flatnonzero(count), certain).all()))

    def _measured(
        self,
        predictors: list[int],
        estimate: Estimated,
        count: np.ndarray,
        estimator: str,
        bounds: tuple[float, float] | None = None,
    ) -> Measured:
        """An estimate with the sample that it rests on.

        Shapes: count bool[N].
        """
        scores = [self.scores(s) for s in predictors]
        mean = estimate(scores, self.sample)
        draws, undefined = self.sample.count, bool(np.isnan(mean.value))
        reason = f"no sampled pair counts in {self.pairs.loss}, so the estimate is 0/0: judge more pairs"
        importance = self.sample.importance(self.pairs.weight) * self.sample.of(count)
        certain = self._all_judged(count) and not undefined
        basis = replace(
            self.basis,
            estimator=estimator,
            census=certain,
            caution=reason if undefined else "",
            model_caution="" if certain else self._model_caution,
            n_effective=min(float(effective_size(draws, importance * score.weight)) for score in scores),
        )
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=basis,
            certain=certain,
            scale=sum(score.scale(self.pairs.weight) for score in scores),
            unusable=undefined,
            bounds=bounds,
            replayed=self._replayed(predictors, estimate, bounds),
        )

    def _replayed(
        self, predictors: list[int], estimate: Estimated, bounds: tuple[float, float] | None
    ) -> Callable[[int], Replayed] | None:
        """Function from a number of replays to their errors; None if the sample cannot be drawn again."""
        if not self.replays.possible:
            return None
        return partial(self.replays.errors, predictors=predictors, estimate=estimate, bounds=bounds)

    def _agreeing(self, first: str, second: str, estimator: str) -> Measured:
        """The difference, 0, of two predictors that agree on every pair, whatever the labels."""
        caution = f"{first!r} and {second!r} agree on every pair that counts: the difference is known to be 0"
        basis = replace(self.basis, estimator=estimator, caution=caution)
        return Measured(0.0, 0.0, np.inf, basis, certain=True, scale=0.0, unusable=True)

    def _without_pairs(self, name: str, estimator: str) -> Measured:
        """The risk of a predictor with which no pair counts, whatever the labels."""
        caution = f"no pair counts in {self.pairs.loss} of {name!r}, whatever its label, so it is not defined"
        basis = replace(self.basis, estimator=estimator, census=False, caution=caution, n_effective=0.0)
        return Measured(np.nan, np.nan, 0.0, basis, certain=False, scale=0.0, unusable=True)


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


def is_stratified(sample: Sample) -> bool:
    """Whether the pairs were drawn from strata."""
    return sample.stratum is not None


def usual_estimator(sample: Sample, reference: str = "effective") -> str:
    """The default estimator of a risk."""
    if reference in tuple(BINOMIAL_REFERENCES):
        return "snis"
    return STRATIFIED if is_stratified(sample) else ESTIMATOR


def judged_pairs(pairs: Pairs, sample: Sample, qrels: pd.DataFrame, missing: str, for_differences: bool) -> JudgedPairs:
    """Match labels to the drawn pairs."""
    check_policy(missing, MISSING_LABELS)
    keys = pairs.keys.iloc[sample.rows]
    known = _real_qrels(qrels) if pairs.is_gaussian else checked_qrels(qrels)
    if pairs.max_grade is not None:
        _check_highest_grade(keys.merge(known, on=["qid", "docno"]), pairs.max_grade)
    label, ignored = drawn_labels(keys, known, pairs.max_grade, "pair")
    absent = np.isnan(label)
    lacking = np.zeros(len(pairs.keys), dtype=bool)
    lacking[sample.rows] = absent
    strays = stray_labels(pairs.keys, lacking, known)
    without = missing_pairs(keys, absent, missing, "pair", others=False, strays=strays)
    basis = Basis(
        measure=str(pairs.loss),
        estimator="",
        n_draws=int(sample.draws),
        n_queries=keys["qid"].nunique(),
        n_judged=int((~absent).sum()),
        n_effective=float(effective_size(sample.count, sample.importance(pairs.weight))),
        census=sample.census,
        missing=without,
        missing_policy=missing,
        ignored=ignored,
        unknown=strays.kinds,
        label_caution=strays.caution,
        level="pair",
    )
    return JudgedPairs(pairs.names, basis, pairs, sample, label, for_differences)


def _check_highest_grade(drawn: pd.DataFrame, max_grade: int) -> None:
    """Raise if the label of a drawn pair is above the highest grade; the message says how to make room for it."""
    try:
        check_highest_grade(drawn, max_grade)
    except ValueError as error:
        wider = Argument("max_grade", int(drawn["label"].max()))
        raise ArgumentError(f"{error}; the audit has no such grade: make it again with ", wider) from error


def _real_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` with string ids, each pair once, and labels that are real numbers."""
    known = with_string_ids(label_columns(qrels)).drop_duplicates()
    label = pd.to_numeric(known["label"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if unusable := int((~np.isfinite(label)).sum()):
        raise ValueError(f"qrels: labels must be finite numbers; {how_many('label', unusable, 'is')} not")
    check_pairs(known, "the qrels")
    return known.assign(label=label)
