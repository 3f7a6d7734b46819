"""What the labels of an audit's pairs say of its predictors [theory 6]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.qrels import (
    MISSING_LABELS,
    check_policy,
    checked_qrels,
    drawn_labels,
    label_columns,
    missing_pairs,
)
from pt_active.frames.strays import stray_labels
from pt_active.inference.estimators import ESTIMATOR, ESTIMATORS, MeanEstimate, effective_size, is_rounding
from pt_active.inference.intervals import counted
from pt_active.inference.ratios import (
    Domain,
    Scores,
    difference_domain,
    domain_estimate,
    ratio_estimate,
    risk_domain,
    stratified_estimate,
)
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured, inferred
from pt_active.plans.answers.results import Basis, Estimate
from pt_active.risk.pairs import Pairs
from pt_active.risk.proportions import BINOMIAL_REFERENCES, ProportionEstimate, refuse_binomial
from pt_active.sampling.designs import STRATIFIED
from pt_active.sampling.sample import Sample


@dataclass(frozen=True)
class JudgedPairs(Judged):
    """The drawn pairs of an audit with their labels.

    Attributes:
        pairs: All pairs of the audit.
        sample: The n pairs that were drawn.
        observed: For each predictor, numerator u and weight w of its loss at the labels, float64[n] each.
    """

    pairs: Pairs
    sample: Sample
    observed: list[tuple[np.ndarray, np.ndarray]]

    @property
    def lower_is_better(self) -> bool:
        """Whether the loss is an error or a cost."""
        return self.pairs.loss.lower_is_better

    def scores(self, predictor: int) -> Scores:
        """The losses of one predictor at the labels, and their expectations under the label model."""
        view = self.pairs.introspection
        return Scores(*self.observed[predictor], view.numerator[:, predictor], view.weight[:, predictor])

    def estimate(self, system: int, how: How[Any]) -> Estimate:
        """Estimate the risk of one predictor [theory 6].

        Args:
            system: The index of the predictor in ``names``.
            how: The loss, estimator, confidence level and reference. The reference of a share may also be one of
                `BINOMIAL_REFERENCES`.

        Raises:
            ValueError: If the estimator or the reference is unknown or does not fit, or a pair that counts could never
                be drawn.
        """
        if how.reference in tuple(BINOMIAL_REFERENCES):
            return self._proportion(system, how)
        return super().estimate(system, how)

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The risk of a predictor, or the difference of two, a name in `risk_estimators` or ``stratified``."""
        if contrast.second is None:
            return self._risk(contrast.first, how)
        return self._difference(contrast.first, contrast.second, how)

    def _risk(self, predictor: int, how: How[Any]) -> Measured:
        scores, counts = self.scores(predictor), self._counts(predictor)
        self._check_estimator(how.estimator)
        domain = risk_domain(scores, self.pairs.weight) if self.pairs.fixed_weights(predictor) else None
        risk = self._measured(self._mean([scores], domain, how.estimator), [scores], counts, how.estimator)
        within_range = how.reference == "effective" and (
            how.estimator == STRATIFIED or ESTIMATORS[how.estimator].bounded
        )
        return risk._replace(bounds=self.pairs.bounds(predictor)) if within_range else risk

    def _difference(self, first: int, second: int, how: How[Any]) -> Measured:
        refuse_binomial(how.reference)
        self._check_estimator(how.estimator)
        pairs, scores, names = self.pairs, [self.scores(first), self.scores(second)], self.names
        domain, differ = None, pairs.counts(first) | pairs.counts(second)
        if pairs.known_differences(first, second):
            differ = pairs.differ(first, second)
            if not differ.any():
                return self._agreeing(names[first], names[second], how.estimator)
            domain = difference_domain(scores[0], scores[1], differ, pairs.weight)
        self._check_drawable(differ, f"that count in the difference of {names[first]!r} and {names[second]!r}")
        return self._measured(self._mean(scores, domain, how.estimator), scores, differ, how.estimator)

    def _counts(self, predictor: int) -> np.ndarray:
        """bool[N], the pairs that count in the risk of a predictor.

        Raises:
            ValueError: If one of them could never be drawn.
        """
        counts = self.pairs.counts(predictor)
        self._check_drawable(counts, f"that count in the risk of {self.names[predictor]!r}")
        return counts

    def _mean(self, scores: list[Scores], domain: Domain | None, estimator: str) -> MeanEstimate:
        if estimator == STRATIFIED:
            return stratified_estimate(scores, self.sample)
        if domain is None:
            return ratio_estimate(scores, self.sample, self.pairs.weight, estimator)
        return domain_estimate(domain, self.sample, estimator)

    def _proportion(self, predictor: int, how: How[Any]) -> ProportionEstimate:
        counts, method = self._counts(predictor), how.reference
        if how.estimator != "snis":
            raise ValueError(
                f"a {method} interval belongs to the plain share, estimator='snis', not to {how.estimator!r}"
            )
        scores, sample, p = self.scores(predictor), self.sample, self.pairs.weight
        successes, trials = counted(scores.numerator, scores.weight, sample.count, sample.importance(p), method)
        share = self._measured(ratio_estimate([scores], sample, p, "snis"), [scores], counts, "snis")
        fields = inferred(share, replace(how, reference="normal")) | {"degenerate": False}
        fields |= {"name": self.names[predictor], "value": share.value}
        return ProportionEstimate(successes=successes, trials=trials, method=method, **fields)

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

    def _measured(self, mean: MeanEstimate, scores: list[Scores], count: np.ndarray, estimator: str) -> Measured:
        """An estimate with the sample that it rests on.

        Args:
            mean: The estimate.
            scores: The scores of one predictor, or of the two that are compared.
            count: bool[N], the pairs that count in the estimate.
            estimator: The name of the estimator.
        """
        draws, undefined = self.sample.count, bool(np.isnan(mean.value))
        size = np.max([np.abs(score.numerator) for score in scores], axis=0)
        reason = f"no sampled pair counts in {self.pairs.loss}, so the estimate is 0/0: judge more pairs"
        importance = self.sample.importance(self.pairs.weight) * self.sample.of(count)
        certain = self._all_judged(count) and not undefined
        basis = replace(
            self.basis,
            estimator=estimator,
            census=certain,
            caution=reason if undefined else "",
            n_effective=min(float(effective_size(draws, importance * score.weight)) for score in scores),
        )
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=basis,
            certain=certain,
            still=bool(is_rounding(mean.standard_error, draws, size)),
            unusable=undefined,
        )

    def _agreeing(self, first: str, second: str, estimator: str) -> Measured:
        """The difference, 0, of two predictors that agree on every pair, whatever the labels."""
        caution = f"{first!r} and {second!r} agree on every pair that counts: the difference is known to be 0"
        basis = replace(self.basis, estimator=estimator, caution=caution)
        return Measured(0.0, 0.0, np.inf, basis, certain=True, still=True, unusable=True)


def is_stratified(sample: Sample) -> bool:
    """Whether the pairs were drawn from strata."""
    return sample.stratum is not None


def usual_estimator(sample: Sample, reference: str = "effective") -> str:
    """The default estimator of a risk.

    Args:
        sample: The drawn pairs.
        reference: The reference distribution of the interval.
    """
    if reference in tuple(BINOMIAL_REFERENCES):
        return "snis"
    return STRATIFIED if is_stratified(sample) else ESTIMATOR


def judged_pairs(pairs: Pairs, sample: Sample, qrels: pd.DataFrame, missing: str) -> JudgedPairs:
    """Match labels to the drawn pairs.

    Args:
        pairs: All pairs of the audit.
        sample: The drawn pairs.
        qrels: ``qid, docno, label``; labels of pairs that were not drawn are ignored and counted, with a warning.
        missing: One of `qrels.MISSING_LABELS`.

    Raises:
        ValueError: If a label is invalid, no label belongs to the sample, or a drawn pair has no label and ``missing``
            is ``"error"``.
    """
    check_policy(missing, MISSING_LABELS)
    keys = pairs.keys.iloc[sample.rows]
    known = _real_qrels(qrels) if pairs.is_gaussian else checked_qrels(qrels)
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
    observed = pairs.observed(sample.rows, np.where(absent, 0.0, label))
    return JudgedPairs(pairs.names, basis, pairs, sample, observed)


def _real_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` with string ids, each pair once, and labels that are real numbers."""
    known = with_string_ids(label_columns(qrels)).drop_duplicates()
    label = pd.to_numeric(known["label"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if unusable := int((~np.isfinite(label)).sum()):
        raise ValueError(f"qrels: labels must be finite numbers; {how_many('label', unusable, 'is')} not")
    check_pairs(known, "the qrels")
    return known.assign(label=label)
