"""`Audit`: which query-document pairs to label, and how often relevance predictors are wrong [theory 6]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from pt_active.frames.checks import MAX_DRAWS, MAX_SEED, how_many, number, positive, truth_value, whole_number
from pt_active.frames.clocks import clocks
from pt_active.frames.qrels import checked_qrels, joined_labels
from pt_active.frames.visible import visible
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.results import Comparison, Estimate, Estimates
from pt_active.plans.making.kept import Kept
from pt_active.plans.making.manifest import Provenance, digest, from_json
from pt_active.plans.making.rankers import named_pair
from pt_active.relevance.costs import Cost, UnitCost
from pt_active.relevance.digits import believed
from pt_active.relevance.introspection import introspection
from pt_active.relevance.losses import Loss, described, from_description
from pt_active.risk.judged import JudgedPairs, real_qrels, usual_estimator
from pt_active.risk.pairs import Pairs
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.designs import (
    GAP_DESIGNS,
    STRATIFIED,
    check_design,
    default_defensive,
    gap_distribution,
    needs_uniform_grades,
    sampling_distribution,
    suits_single_risks,
)
from pt_active.sampling.draws import (
    DEFAULT_STRATA,
    allocation,
    draw_number,
    draw_strata,
    draw_to_budget,
    strata_by,
)
from pt_active.sampling.sample import Sample

DESIGN = "optimal"  # The default design

_NO_STRATUM = -1  # The value of the column ``stratum`` if the pairs were not drawn from strata


@dataclass(frozen=True, kw_only=True)
class AuditArguments:
    """The arguments of ``Audit.create``."""

    predictions: dict[str, str] = field(default_factory=dict)  # name of a predictor → its column
    cost: str = ""  # the ``repr`` of the cost
    budget: float | None = None  # None if a number of draws was given
    draws: int | None = None  # None if a budget was given
    design: str
    defensive: float = 0.0  # share of plain random sampling in the design
    replace: bool = False  # whether a pair can be drawn more than once
    seed: int = 0


@dataclass(frozen=True)
class AuditCounts:
    """Sizes of the pool (pairs, queries) and of the sample (draws, which may repeat a pair, and pairs to label)."""

    pairs: int
    queries: int
    draws: int
    assessments: int


@dataclass(frozen=True, kw_only=True)
class AuditManifest(Provenance):
    """Everything that is needed to repeat an audit, and to check that the result is the same."""

    arguments: AuditArguments
    loss: dict[str, Any]  # the name of its class, and its arguments
    predictors: tuple[str, ...]
    census: bool  # whether all pairs are to be labelled
    counts: AuditCounts
    spent: float
    pool_cost: float  # of labelling the whole pool
    inputs: dict[str, str] = field(default_factory=dict)  # the digest of the frame


@dataclass(frozen=True)
class AuditTables:
    """What an audit holds."""

    KIND: ClassVar[str] = "audit"

    pairs: Pairs
    sample: Sample
    assessments: pd.DataFrame  # the pairs to label: qid, docno (+ query, text), inclusion
    manifest: AuditManifest

    @property
    def table(self) -> pd.DataFrame:
        """All pairs: ``qid, docno``, predictions, grades, cost, probabilities under the design, numbers of draws."""
        pairs, sample = self.pairs, self.sample
        table, names = pairs.keys, list(pairs.names)
        table = table.join(pd.DataFrame(pairs.predictions, columns=names).add_prefix("prediction_"))
        if pairs.is_gaussian:
            table = table.join(pd.DataFrame(pairs.variances, columns=names).add_prefix("variance_"))
        stratum = _NO_STRATUM if sample.stratum is None else sample.stratum
        table = table.join(pd.DataFrame(pairs.grades).add_prefix("grade_"))
        table = table.assign(in_slice=pairs.member, cost=pairs.cost, prob=sample.q, stratum=stratum)
        return table.assign(**sample.columns(pairs.weight))

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables on disk: all pairs, and those to label."""
        return {"pairs": self.table, "assessments": self.assessments}

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """The content of the tables that `frames` made, and of the values of the manifest."""
        manifest, table = from_json(AuditManifest, values), frames["pairs"]
        columns = ("in_slice", "cost", "prob", "draws", "inclusion", "stratum")
        member, cost, q, draws, inclusion, stratum = (table[name].to_numpy() for name in columns)
        predictions, grades, variances = (
            np.ascontiguousarray(table.filter(regex=f"^{kind}_"), dtype=np.float64)
            for kind in ("prediction", "grade", "variance")
        )
        pairs = Pairs(
            table[["qid", "docno"]],
            manifest.predictors,
            predictions,
            grades,
            variances,
            member,
            cost,
            from_description(manifest.loss),
        )
        strata = None if (stratum == _NO_STRATUM).all() else stratum
        sample = Sample.from_columns(q, draws, inclusion, manifest.census, stratum=strata)
        return cls(pairs, sample, frames["assessments"], manifest)


def draw_pairs(pairs: Pairs, arguments: AuditArguments) -> Sample:
    """Draw pairs to a budget, or a number of them, in the order of ``U/q`` if without replacement [theory 6]."""
    budget, draws, again = arguments.budget, arguments.draws, arguments.replace
    if (budget is None) == (draws is None):
        raise ValueError("pass either budget= or draws=, and not both")
    # The order and the names of predictors change nothing.
    predicted = np.sort(pairs.predictions, axis=1), pairs.grades, np.sort(pairs.variances, axis=1)
    seed = arguments.seed, believed(pairs.keys, np.hstack(predicted))
    rng = np.random.default_rng(seed)
    if arguments.design == STRATIFIED:
        return _draw_strata(pairs, draws, again, rng)
    q = _distribution(pairs, arguments.design, arguments.defensive)
    uniform = -np.expm1(-clocks(seed, pairs.keys["qid"], pairs.keys["docno"]))
    if budget is None:
        return draw_number(q, pairs.weight, draws or 0, rng, again, uniform, UNIFORM)
    dearest = pairs.cost[q > 0].max()
    if budget < dearest:
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest pair, which costs {dearest:g}, so it could never be "
            "judged and estimates would be biased; raise the budget"
        )
    return draw_to_budget(q, pairs.weight, pairs.cost, budget, rng, again, uniform, UNIFORM)


def _distribution(pairs: Pairs, design: str, defensive: float) -> np.ndarray:
    if design in GAP_DESIGNS:
        if not pairs.fixed_weights(*range(len(pairs.names))):
            raise ValueError(
                f"the design {design!r} leaves out pairs where the predictors agree, but those count "
                f"in {pairs.loss}, whose weights depend on labels or predictions"
            )
        return gap_distribution(design, pairs.predictions, pairs.cost, pairs.weight, defensive)
    uniform = None
    if needs_uniform_grades(design):
        if pairs.is_gaussian:
            said = "real labels have no uniform distribution; choose a design that does not need one"
            raise ValueError(said)
        unknown = np.full_like(pairs.grades, 1 / pairs.grades.shape[1])
        uniform = introspection(pairs.tables, unknown, pairs.weight, pairs.loss.proportion).moments
    moments = pairs.introspection.moments
    return sampling_distribution(design, moments, pairs.cost, pairs.weight, defensive, uniform)


def _draw_strata(pairs: Pairs, draws: int | None, again: bool, rng: np.random.Generator) -> Sample:
    if draws is None or again:
        raise ValueError(
            f"the design {STRATIFIED!r} draws a number of pairs, each once: pass draws=, not budget= or replace="
        )
    if len(pairs.names) > 1:
        raise ValueError(f"the design {STRATIFIED!r} is for one predictor, not {len(pairs.names)}")
    moments = pairs.introspection.moments
    mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
    stratum = strata_by(mean, DEFAULT_STRATA)
    drawn = allocation(stratum, mean, variance, min(draws, len(stratum)))
    inclusion = (drawn / np.bincount(stratum))[stratum]
    chosen = draw_strata(stratum, drawn, rng)
    sample = Sample.once(np.where(chosen, inclusion, 0.0), census=bool(chosen.all()))
    return replace(sample, q=inclusion / inclusion.sum(), stratum=stratum)


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
        described(loss)
        cost = UnitCost() if cost is None else cost
        defensive = default_defensive(design) if defensive is None else defensive
        pairs = Pairs.from_frame(frame, predictions, loss, cost)
        arguments = AuditArguments(
            predictions=dict(predictions),
            cost=repr(cost),
            budget=None if budget is None else positive("budget", budget),
            draws=None if draws is None else whole_number("draws", draws, 1, MAX_DRAWS),
            design=design,
            defensive=number("defensive", defensive),
            replace=truth_value("replace", replace),
            seed=whole_number("seed", seed, 0, MAX_SEED),
        )
        sample = draw_pairs(pairs, arguments)
        manifest = AuditManifest(
            inputs={"frame": digest(frame)},
            arguments=arguments,
            loss=described(pairs.loss),
            predictors=pairs.names,
            census=sample.census,
            counts=AuditCounts(len(pairs.keys), pairs.keys["qid"].nunique(), int(sample.draws), len(sample.rows)),
            spent=float(pairs.cost[sample.rows].sum()),
            pool_cost=float(pairs.cost.sum()),
        )
        inclusion = np.nan if sample.repeated else sample.expected
        wanted = pairs.frame.iloc[sample.rows].reset_index(drop=True).assign(inclusion=inclusion)
        return cls._of(AuditTables(pairs, sample, wanted, manifest))

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
        settings, judged = self._settings(estimator, confidence), self.judged(qrels, missing)
        estimates = [judged.estimate(s, settings) for s in range(len(self.predictors))]
        return Estimates((each.name, each) for each in estimates)

    def _settings(self, estimator: str | None, confidence: float) -> Settings:
        estimator = usual_estimator(self.tables.sample) if estimator is None else estimator
        return Settings(estimator, confidence)

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
        return self.judged(qrels, missing).compare(one, other, self._settings(estimator, confidence))

    def rank(
        self,
        qrels: pd.DataFrame,
        estimator: str | None = None,
        confidence: float = 0.95,
        missing: str = "error",
        *,
        correction: str = "joint",
    ) -> Ranking:
        """Estimate all predictors, test all differences, and group those that cannot be told apart [theory 5].

        The arguments are those of `compare`, and a ``correction`` for the number of pairs: ``"joint"``, by the joint
        distribution of all differences in large samples, ``"holm"`` or ``"tukey"``. The level of all tests together is
        ``1 − confidence``.

        Returns:
            The ranking, best predictor first: the smallest error or cost, or the largest accuracy, precision, recall or
            F.

        Raises:
            ValueError: As `estimate`, or if there is one predictor.
        """
        return rank_judged(self.judged(qrels, missing), self._settings(estimator, confidence), correction)

    def judged(self, qrels: pd.DataFrame, missing: str = "error") -> JudgedPairs:
        """The draws with their labels, from which `estimate`, `compare` and `rank` are computed.

        Args:
            qrels: ``qid, docno, label``, the labels of `assessments`.
            missing: How to treat a drawn pair without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).

        Raises:
            ValueError: If the policy is unknown or the labels do not fit the audit.
        """
        pairs, sample = self.tables.pairs, self.tables.sample
        known = real_qrels(qrels) if pairs.is_gaussian else checked_qrels(qrels)
        drawn = np.zeros(len(pairs.keys), dtype=bool)
        drawn[sample.rows] = True
        labels = joined_labels(pairs.keys, drawn, known, missing, pairs.max_grade, "pair")
        label = labels.label[sample.rows]
        basis = Basis.of(
            sample,
            pairs.weight,
            measure=str(pairs.loss),
            n_queries=pairs.keys["qid"][drawn].nunique(),
            n_judged=int((~np.isnan(label)).sum()),
            missing_policy=missing,
            level="pair",
            **labels.about,
        )
        design = self.tables.manifest.arguments.design
        for_differences = len(pairs.names) > 1 and not suits_single_risks(design)
        return JudgedPairs(pairs.names, basis, pairs, sample, label, for_differences)

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
