"""What the labels of an audit's pairs say about its predictors [theory 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd

from pt_active.frames.columns import check_pairs, finite_numbers, with_string_ids
from pt_active.frames.qrels import (
    label_columns,
)
from pt_active.inference.estimators import ESTIMATOR, MeanEstimate, effective_size, estimator_named
from pt_active.inference.label_model import surprise
from pt_active.inference.ratios import (
    Scores,
    difference_domain,
    domain_estimate,
    ratio_estimate,
    risk_domain,
    stratified_estimate,
)
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured
from pt_active.plans.answers.results import Comparison, ConfidenceInterval, Estimate
from pt_active.risk.pairs import Pairs
from pt_active.risk.replayed import Estimated, PairReplays
from pt_active.sampling.designs import STRATIFIED
from pt_active.sampling.sample import Sample
from pt_active.showing.printed import Facts

SURPRISING = 2.5  # Labels that surprise a model by more standard deviations than this make a caution


@dataclass(frozen=True)
class JudgedPairs(Judged):
    """The drawn pairs of an audit with their labels."""

    pairs: Pairs  # all of the audit
    sample: Sample
    label: np.ndarray  # float64[n], of the drawn pairs; NaN where there is none, which counts as grade 0
    # Whether the design draws for differences alone, so that pairs that matter to a single risk may be left out.
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
        if not surprise(pairs.grades[rows], pairs.closest_grades[rows], self.label[known].astype(int)) > SURPRISING:
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
        view = self.pairs.introspection
        return Scores(*self.observed[predictor], view.numerator[:, predictor], view.weight[:, predictor])

    def estimate(self, system: int, how: How) -> Estimate:
        """Estimate the risk of one predictor [theory 6]."""
        found = super().estimate(system, how)
        if not self.for_differences or found.basis.census or found.basis.caution:
            return found
        caution = "the pairs were drawn for differences; the interval of one risk alone may be too narrow"
        return replace(found, basis=replace(found.basis, caution=caution))

    def compare(self, first: int, second: int, how: How) -> Comparison:
        """Estimate and test the difference of two predictors' risks, first minus second."""
        compared = super().compare(first, second, how)
        if np.isnan(compared.difference) or not self.agree(first, second):
            return compared
        known = {each.name: getattr(compared, each.name) for each in fields(compared)}
        return KnownZero(**known | {"pvalue": np.nan})

    def agree(self, first: int, second: int) -> bool:
        """Whether two predictors agree on every pair that counts, so that their difference is known to be 0."""
        return self.pairs.same_losses(first, second)

    def measured(self, contrast: Contrast, how: How) -> Measured:
        """The risk of a predictor, or the difference of two, a name in `estimators_of("pair")` or ``stratified``."""
        pairs, name, one, other = self.pairs, how.estimator, contrast.first, contrast.second
        both = [one] if other is None else [one, other]
        for each in both:
            if not pairs.counts(each).any():
                never = (
                    f"no pair counts in {pairs.loss} of {self.names[each]!r}, whatever its label, so it is not defined"
                )
                return self._known(np.nan, replace(self.basis, census=False, n_effective=0.0), name, never)
        if (name == STRATIFIED) != (self.sample.stratum is not None):
            raise ValueError(
                f"the estimator {STRATIFIED!r} is for the design of that name, which takes no other; leave it out"
            )
        if other is not None and self.agree(one, other):
            return self._agreeing(one, other, name)
        fixed = pairs.fixed_weights(one) if other is None else pairs.known_differences(one, other)
        count, what = pairs.counts(one), f"the risk of {self.names[one]!r}"
        if other is not None:
            count = pairs.differ(one, other) if fixed else count | pairs.counts(other)
            what = f"the difference of {self.names[one]!r} and {self.names[other]!r}"
        self._check_drawable(count, what)

        def estimate(scores: Sequence[Scores], sample: Sample) -> MeanEstimate:
            if name == STRATIFIED:
                return stratified_estimate(scores, sample)
            if not fixed:
                return ratio_estimate(scores, sample, pairs.weight, name)
            if len(scores) == 1:
                return domain_estimate(risk_domain(scores[0], pairs.weight), sample, name)
            return domain_estimate(difference_domain(scores[0], scores[1], count, pairs.weight), sample, name)

        within_range = other is None and (name == STRATIFIED or estimator_named(name, "pair").bounded)
        return self._measured(both, estimate, count, name, pairs.bounds(one) if within_range else None)

    def _check_drawable(self, count: np.ndarray, what: str) -> None:
        never = 0 if self.sample.q is None else int((count & (self.sample.q <= 0)).sum())
        if never and not self.basis.census:
            raise ValueError(
                f"pairs that count in {what} could never be drawn ({never} in all), so it cannot be estimated from "
                "this sample; make the audit with defensive > 0, or with a design that reaches all pairs, or compare "
                "two predictors"
            )

    def _all_judged(self, count: np.ndarray) -> bool:
        """Whether all pairs that count, bool[N], were certain to be drawn, so that there is no sampling error."""
        certain = self.sample.rows[self.sample.expected == 1]
        return self.basis.census or (not self.sample.repeated and bool(np.isin(np.flatnonzero(count), certain).all()))

    def _measured(
        self,
        predictors: list[int],
        estimate: Estimated,
        count: np.ndarray,
        estimator: str,
        bounds: tuple[float, float] | None,
    ) -> Measured:
        """An estimate with the sample that it rests on; ``count`` is bool[N], the pairs that count."""
        scores, weight = [self.scores(s) for s in predictors], self.pairs.weight
        mean = estimate(scores, self.sample)
        undefined = bool(np.isnan(mean.value))
        reason = f"no sampled pair counts in {self.pairs.loss}, so the estimate is 0/0: judge more pairs"
        importance = self.sample.importance(weight) * self.sample.of(count)
        certain = self._all_judged(count) and not undefined
        basis = replace(
            self.basis,
            estimator=estimator,
            census=certain,
            caution=reason if undefined else "",
            model_caution="" if certain else self._model_caution,
            n_effective=min(float(effective_size(self.sample.count, importance * score.weight)) for score in scores),
        )
        again = partial(self.replays.errors, predictors=predictors, estimate=estimate, bounds=bounds)
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=basis,
            certain=certain,
            scale=sum(score.scale(weight) for score in scores),
            unusable=undefined,
            bounds=bounds,
            replayed=again if self.replays.possible else None,
        )

    def _agreeing(self, first: int, second: int, estimator: str) -> Measured:
        """The difference, 0, of two predictors that agree on every pair, whatever the labels."""
        names = f"{self.names[first]!r} and {self.names[second]!r}"
        caution = f"{names} agree on every pair that counts: the difference is known to be 0"
        return self._known(0.0, self.basis, estimator, caution)

    def _known(self, value: float, basis: Basis, estimator: str, caution: str) -> Measured:
        """What is known whatever the labels are: that a difference is 0, or that a risk is not defined (NaN)."""
        basis, defined = replace(basis, estimator=estimator, caution=caution), not np.isnan(value)
        return Measured(value, value, np.inf if defined else 0.0, basis, certain=defined, scale=0.0, unusable=True)


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


def usual_estimator(sample: Sample) -> str:
    """The default estimator of a risk."""
    return ESTIMATOR if sample.stratum is None else STRATIFIED


def real_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` with string ids, each pair once, and labels that are real numbers."""
    known = with_string_ids(label_columns(qrels)).drop_duplicates()
    known = known.assign(label=finite_numbers(known, "label"))
    check_pairs(known, "the qrels")
    return known
