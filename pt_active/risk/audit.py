"""`Audit`: which query-document pairs to label, and how often relevance predictors are wrong [theory 6]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, how_many, number, positive, truth_value, whole_number
from pt_active.frames.qrels import check_policy
from pt_active.frames.visible import visible
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.kept import Kept
from pt_active.plans.making.rankers import named_pair
from pt_active.relevance.costs import Cost, UnitCost
from pt_active.relevance.losses import Loss, described
from pt_active.risk.judged import JudgedPairs, judged_pairs, usual_estimator
from pt_active.risk.kept import AuditArguments, AuditTables, audit_of
from pt_active.risk.pairs import Pairs
from pt_active.sampling.designs import check_design, default_defensive, suits_single_risks

DESIGN = "optimal"  # The default design


class Audit(Kept[AuditTables]):
    """A sample of query-document pairs to be labelled, from which the risks of predictors are estimated.

    A predictor is anything that gives each pair a grade or a number: a grade model, a relevance classifier or an LLM
    judge. Make an audit with `create`; read one with ``Audit.load(path)`` or ``pt.Artifact.load(path)``.

    Args:
        path: The folder of a saved audit.
    """

    ARTIFACT_TYPE = "active_audit"
    TABLES = AuditTables

    @classmethod
    def create(
        cls,
        frame: pd.DataFrame,
        predictions: Mapping[str, str],
        loss: Loss,
        budget: float | None = None,
        design: str = DESIGN,
        seed: int = 0,
        *,
        draws: int | None = None,
        cost: Cost | None = None,
        replace: bool = False,
        defensive: float | None = None,
    ) -> Audit:
        """Choose which pairs to label.

        Args:
            frame: The pool: ``qid, docno`` (+ ``query``, ``text``), a column for each predictor, and ``grade_0 …
                grade_G``, a label model's probability of each grade (any grade model adds these columns).
            predictions: Name of a predictor → its column. With one predictor the design is for its own risk, with two
                for their difference, with more for all pairwise differences.
            loss: A loss of `pt_active.risk`, such as `ZeroOne` or `FMeasure`.
            budget: The most that may be spent, in the unit of the cost. A budget that pays for all pairs is a census.
            design: A name in `designs.audit_designs`.
            seed: Random seed of the draws.
            draws: Number of draws, instead of a budget.
            cost: Cost of a label; `UnitCost` (each pair 1) by default.
            replace: Whether a pair can be drawn more than once, as in the sources.
            defensive: Share of plain random sampling in the design, which bounds the importance weights by its inverse.
                The default is 0.1, or 0 for designs that never draw pairs whose difference is known.

        Returns:
            The audit, in memory; `save` writes it to disk.

        Raises:
            ValueError: If an argument is out of range or does not suit the loss, or the frame is malformed.
        """
        check_design(design)
        seed, replace = whole_number("seed", seed, 0, MAX_SEED), truth_value("replace", replace)
        draws = None if draws is None else whole_number("draws", draws, 1, MAX_DRAWS)
        budget = None if budget is None else positive("budget", budget)
        defensive = default_defensive(design) if defensive is None else number("defensive", defensive)
        described(loss)
        cost = UnitCost() if cost is None else cost
        pairs = Pairs.from_frame(frame, predictions, loss, cost)
        arguments = AuditArguments(
            predictions=dict(predictions),
            cost=repr(cost),
            budget=budget,
            draws=draws,
            design=design,
            defensive=defensive,
            replace=replace,
            seed=seed,
        )
        return cls._of(audit_of(pairs, arguments, frame))

    @property
    def loss(self) -> Loss:
        """The loss for which the sample was designed."""
        return self.tables.pairs.loss

    @property
    def predictors(self) -> tuple[str, ...]:
        """Names of the predictors."""
        return self.tables.pairs.names

    @property
    def pairs(self) -> pd.DataFrame:
        """All pairs: predictions, grades, ``prob`` (q), ``draws``, ``importance`` (p/q), ``inclusion`` (π)."""
        return self.tables.table

    def export(self, path: str | Path, format: str = "csv") -> Path:
        """Write the pairs that people are to label to a file, as `Plan.export` does."""
        return super().export(path, format)

    def estimate(
        self,
        qrels: pd.DataFrame,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
    ) -> dict[str, Estimate]:
        """Estimate the risk of every predictor over the whole pool.

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`. Labels of other pairs are ignored and counted,
                with a warning.
            estimator: ``regression`` (the default), ``snis`` or ``difference``; for the design ``stratified`` always
                ``stratified``.
            confidence: Confidence level of the intervals.
            missing: How to treat a drawn pair without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).

        Returns:
            Predictor → estimate. An estimate is NaN, with the reason as its ``note``, if no drawn pair counts.

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the audit, or pairs that count could never be
                drawn.
        """
        how, judged = self._asked(estimator, confidence, missing), self.judged(qrels, missing)
        estimates = [judged.estimate(s, how) for s in range(len(self.predictors))]
        return {each.name: each for each in estimates}

    def _asked(self, estimator: str | None, confidence: float, missing: str) -> How:
        check_policy(missing)
        estimator = usual_estimator(self.tables.sample) if estimator is None else estimator
        return How(self.loss, estimator, confidence, missing)

    def compare(
        self,
        qrels: pd.DataFrame,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        first: str | None = None,
        second: str | None = None,
    ) -> Comparison:
        """Estimate and test the difference of two predictors' risks, first minus second.

        The arguments are those of `estimate`, and the names of two predictors, which
        can be left out if the audit has two. The level of the test is ``1 − confidence``.

        Returns:
            The comparison. Its ``winner`` is the predictor with the smaller error or cost, or the larger accuracy,
            precision, recall or F.

        Raises:
            ValueError: As `estimate`, or if there is one predictor, or there are more than two and not two are named.
        """
        one, other = named_pair(self.predictors, first, second, "predictor", "audit")
        how = self._asked(estimator, confidence, missing)
        return self.judged(qrels, missing).compare(one, other, how)

    def rank(
        self,
        qrels: pd.DataFrame,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        correction: str = "holm",
    ) -> Ranking:
        """Estimate all predictors, test all differences, and group those that cannot be told apart [theory 5].

        The arguments are those of `compare`, and a ``correction`` of the p-values: ``"tukey"``, or a method of
        statsmodels' ``multipletests``. The level of all tests together is ``1 − confidence``.

        Returns:
            The ranking, best predictor first: the smallest error or cost, or the largest accuracy, precision, recall or
            F.

        Raises:
            ValueError: As `estimate`, or if there is one predictor.
        """
        how = self._asked(estimator, confidence, missing)
        return rank_judged(self.judged(qrels, missing), how, correction)

    def judged(self, qrels: pd.DataFrame, missing: str = "error") -> JudgedPairs:
        """The draws with their labels, from which `estimate`, `compare` and `rank` are computed.

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`.
            missing: How to treat a drawn pair without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).

        Raises:
            ValueError: If the policy is unknown or the labels do not fit the audit.
        """
        design = self.tables.manifest.arguments.design
        for_differences = len(self.predictors) > 1 and not suits_single_risks(design)
        return judged_pairs(self.tables.pairs, self.tables.sample, qrels, missing, for_differences)

    def __str__(self) -> str:
        manifest, counts, arguments = self.tables.manifest, self.tables.manifest.counts, self.tables.manifest.arguments
        repeated = f"{how_many('draw', counts.draws)}, " if arguments.replace else ""
        kind = "census" if manifest.census else f"{repeated}design: {arguments.design}"
        pool = f"{how_many('pair', counts.pairs)} of {how_many('query', counts.queries)}"
        return visible(
            f"Audit of {', '.join(self.predictors)} for {self.loss}\n"
            f"  judge     {counts.assessments} of {pool} ({kind})\n"
            f"  cost      {manifest.spent:.6g} of {manifest.pool_cost:.6g} for all pairs"
        )
