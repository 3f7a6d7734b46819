"""Labels meet the sampled pairs of an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import level
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.qrels import check_policy, checked_qrels, drawn_labels, label_columns, missing_pairs
from pt_active.inference.estimators import MeanEstimate, effective_size, is_rounding
from pt_active.inference.intervals import counted, reference_degrees
from pt_active.inference.ratios import (
    Domain,
    Scores,
    difference_domain,
    domain_estimate,
    ratio_estimate,
    risk_domain,
    stratified_estimate,
)
from pt_active.plans.answers.results import Basis, Comparison, Estimate, kept_to
from pt_active.risk.pairs import Pairs
from pt_active.risk.proportions import BINOMIAL_REFERENCES, ProportionEstimate, refuse_binomial
from pt_active.sampling.designs import STRATIFIED
from pt_active.sampling.sample import Sample

MISSING_LABELS = ("error", "nonrelevant")
"""What to do about a sampled pair without a label: refuse, or take grade 0."""

DEFAULT_ESTIMATOR = "regression"
"""If none is named, but where strata or a binomial interval decide."""


@dataclass(frozen=True)
class JudgedPairs:
    """What the labels say of every drawn pair.

    Attributes:
        pairs: All of them.
        sample: The n pairs that were drawn.
        observed: u and w of each predictor, float64[n] each.
        basis: What every inference rests on, but for the estimator.
    """

    pairs: Pairs
    sample: Sample
    observed: list[tuple[np.ndarray, np.ndarray]]
    basis: Basis

    @property
    def names(self) -> tuple[str, ...]:
        """The k predictors."""
        return self.pairs.names

    def scores(self, predictor: int) -> Scores:
        """What labels and label model say of one predictor."""
        view = self.pairs.introspection
        return Scores(*self.observed[predictor], view.numerator[:, predictor], view.weight[:, predictor])

    def estimate(self, predictor: int, estimator: str | None, reference: str, confidence: float) -> Estimate:
        """Estimate the risk of one predictor [theory 6].

        Args:
            predictor: Its index.
            estimator: A name in `RISK_ESTIMATORS`, or `stratified`; None takes the one that fits.
            reference: A name in `intervals.REFERENCES` or `BINOMIAL_REFERENCES`.
            confidence: Level of the interval, in (0, 1).

        Raises:
            ValueError: If an argument is unknown or does not fit, or a pair that counts could never be drawn.
        """
        counts = self.pairs.counts(predictor)
        self._check_drawable(counts, f"that count in the risk of {self.pairs.names[predictor]!r}")
        if reference in tuple(BINOMIAL_REFERENCES):
            return self._proportion(predictor, estimator, reference, confidence)
        scores, estimator = self.scores(predictor), self._estimator(estimator)
        domain = risk_domain(scores, self.pairs.weight) if self.pairs.fixed_weights(predictor) else None
        mean = self._mean([scores], domain, estimator)
        fields = self._fields(mean, [scores], counts, estimator, reference, confidence)
        if reference == "effective" and estimator != "difference":
            fields = kept_to(self.pairs.bounds(predictor), fields)
        return Estimate(name=self.pairs.names[predictor], value=float(mean.value), **fields)

    def compare(self, first: int, second: int, estimator: str | None, reference: str, confidence: float) -> Comparison:
        """Estimate and test the difference of two risks, first minus second; see `estimate`."""
        refuse_binomial(reference)
        estimator, pairs = self._estimator(estimator), self.pairs
        scores, names = [self.scores(first), self.scores(second)], (pairs.names[first], pairs.names[second])
        domain, differ = None, pairs.counts(first) | pairs.counts(second)
        if pairs.known_differences(first, second):
            differ = pairs.differ(first, second)
            if not differ.any():
                return self._agreeing(*names, estimator, confidence)
            domain = difference_domain(scores[0], scores[1], differ, pairs.weight)
        self._check_drawable(differ, f"that count in the difference of {names[0]!r} and {names[1]!r}")
        mean = self._mean(scores, domain, estimator)
        fields = self._fields(mean, scores, differ, estimator, reference, confidence)
        fields |= {"lower_is_better": pairs.loss.lower_is_better}
        return Comparison.tested(*names, float(mean.value), fields)

    def _mean(self, scores: list[Scores], domain: Domain | None, estimator: str) -> MeanEstimate:
        if estimator == STRATIFIED:
            return stratified_estimate(scores, self.sample)
        if domain is None:
            return ratio_estimate(scores, self.sample, self.pairs.weight, estimator)
        return domain_estimate(domain, self.sample, estimator)

    def _proportion(self, predictor: int, estimator: str | None, method: str, confidence: float) -> ProportionEstimate:
        if estimator not in (None, "snis"):
            raise ValueError(f"a {method} interval belongs to the plain share, estimator='snis', not to {estimator!r}")
        scores, p = self.scores(predictor), self.pairs.weight
        successes, trials = counted(
            scores.numerator, scores.weight, self.sample.count, self.sample.importance(p), method
        )
        mean = ratio_estimate([scores], self.sample, p, "snis")
        counts, name, value = self.pairs.counts(predictor), self.pairs.names[predictor], float(mean.value)
        fields = self._fields(mean, [scores], counts, "snis", "normal", confidence) | {"degenerate": False}
        return ProportionEstimate(name=name, value=value, successes=successes, trials=trials, method=method, **fields)

    def _estimator(self, estimator: str | None) -> str:
        stratified = self.sample.stratum is not None
        if estimator is None:
            estimator = STRATIFIED if stratified else DEFAULT_ESTIMATOR
        if stratified != (estimator == STRATIFIED):
            raise ValueError(
                f"the estimator {STRATIFIED!r} belongs to the design of that name, and no other does; leave it out"
            )
        return estimator

    def _check_drawable(self, count: np.ndarray, what: str) -> None:
        never = 0 if self.sample.q is None else int((count & (self.sample.q <= 0)).sum())
        if never and not self.basis.census:
            raise ValueError(
                f"{never} pairs {what} could never be drawn, so it cannot be estimated from this sample; make the "
                "audit with defensive > 0, or with a design that reaches all pairs, or compare two predictors"
            )

    def _all_judged(self, count: np.ndarray) -> bool:
        """Whether all pairs that count were certain to be drawn, so that nothing is left to chance."""
        certain = self.sample.rows[self.sample.expected == 1]
        return self.basis.census or (not self.sample.repeated and bool(np.isin(np.flatnonzero(count), certain).all()))

    def _fields(
        self,
        mean: MeanEstimate,
        scores: list[Scores],
        count: np.ndarray,
        estimator: str,
        reference: str,
        confidence: float,
    ) -> dict[str, Any]:
        """The fields that `Estimate` and `Comparison` have in common."""
        confidence = level("confidence", confidence)
        draws, census = self.sample.count, self._all_judged(count)
        size = np.max([np.abs(score.numerator) for score in scores], axis=0)
        still, undefined = bool(is_rounding(mean.standard_error, draws, size)), bool(np.isnan(mean.value))
        degrees = reference_degrees(reference, mean.degrees_of_freedom, self.basis.n_draws)
        reason = f"no sampled pair counts in {self.pairs.loss}, so the estimate is 0/0: judge more pairs"
        exact = census and not undefined
        v = self.sample.importance(self.pairs.weight) * self.sample.of(count)
        importance = [v * score.weight for score in scores]
        found: dict[str, Any] = {"estimator": estimator, "census": exact, "caution": reason if undefined else ""}
        found |= {"n_effective": min(float(effective_size(draws, v)) for v in importance)}
        return {
            "basis": replace(self.basis, **found),
            "standard_error": 0.0 if exact or still else float(mean.standard_error),
            "degrees_of_freedom": np.inf if exact else float(degrees),
            "confidence_level": confidence,
            "degenerate": undefined or (bool(self.basis.missing) if census else still),
        }

    def _agreeing(self, first: str, second: str, estimator: str, confidence: float) -> Comparison:
        """Two predictors whose difference is 0 on every pair, whatever the labels."""
        caution = f"{first!r} and {second!r} agree on every pair that counts: the difference is known to be 0"
        basis = replace(self.basis, estimator=estimator, caution=caution)
        fields = {"basis": basis, "standard_error": 0.0, "degrees_of_freedom": np.inf, "degenerate": True}
        fields |= {"confidence_level": confidence, "lower_is_better": self.pairs.loss.lower_is_better}
        return Comparison.tested(first, second, 0.0, fields)


def judged_pairs(pairs: Pairs, sample: Sample, qrels: pd.DataFrame, missing: str) -> JudgedPairs:
    """Bring labels and sample together.

    Args:
        pairs: All of them.
        sample: The drawn pairs.
        qrels: ``qid, docno, label``, as they came back; labels of pairs that were not drawn are ignored and counted.
        missing: One of `MISSING_LABELS`.

    Raises:
        ValueError: If a label is none, no label belongs to the sample, or a drawn pair has none and ``missing`` is
            ``"error"``.
    """
    check_policy(missing, MISSING_LABELS)
    keys = pairs.keys.iloc[sample.rows]
    known = _real_qrels(qrels) if pairs.is_gaussian else checked_qrels(qrels)
    label, ignored = drawn_labels(keys, known, pairs.max_grade, "pair")
    absent = np.isnan(label)
    without = missing_pairs(keys, absent, missing, "pair", others=False)
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
        level="pair",
    )
    return JudgedPairs(pairs, sample, pairs.observed(sample.rows, np.where(absent, 0.0, label)), basis)


def _real_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """``qid, docno, label`` with string ids, each pair once, and labels that are real numbers."""
    known = with_string_ids(label_columns(qrels)).drop_duplicates()
    label = pd.to_numeric(known["label"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(label).all():
        raise ValueError(f"qrels: {int((~np.isfinite(label)).sum())} labels are not finite numbers")
    check_pairs(known, "the qrels")
    return known.assign(label=label)
