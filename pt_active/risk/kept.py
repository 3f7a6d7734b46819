"""What an audit holds: how its pairs are drawn, its manifest, and its form on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from pt_active.frames.checks import positive
from pt_active.frames.clocks import clocks
from pt_active.plans.making.manifest import Provenance, digest, from_json
from pt_active.relevance.digits import believed
from pt_active.relevance.losses import described, from_description
from pt_active.risk.pairs import Pairs
from pt_active.sampling import designs
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.designs import GAP_DESIGNS, STRATIFIED, gap_distribution
from pt_active.sampling.draws import DEFAULT_STRATA, allocation, draw_number, draw_strata, draw_to_budget, strata_by
from pt_active.sampling.sample import Sample

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
        columns: dict[str, Any] = _columns("prediction", pairs.names, pairs.predictions)
        columns |= _columns("variance", pairs.names[: pairs.variances.shape[1]], pairs.variances)
        columns |= _columns("grade", range(pairs.grades.shape[1]), pairs.grades)
        stratum = _NO_STRATUM if sample.stratum is None else sample.stratum
        columns |= {"in_slice": pairs.member, "cost": pairs.cost, "prob": sample.q, "stratum": stratum}
        return pairs.keys.assign(**columns, **sample.columns(pairs.weight))

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables on disk: all pairs, and those to label."""
        return {"pairs": self.table, "assessments": self.assessments}

    @classmethod
    def of_frames(cls, frames: dict[str, pd.DataFrame], values: dict[str, Any]) -> Self:
        """The content of the tables that `frames` made, and of the values of the manifest."""
        manifest, table = from_json(AuditManifest, values), frames["pairs"]
        column = {str(name): each.to_numpy() for name, each in table.items()}
        predictions, grades, variances = (
            np.ascontiguousarray(table.filter(regex=f"^{kind}_"), dtype=np.float64)
            for kind in ("prediction", "grade", "variance")
        )
        keys, loss = table[["qid", "docno"]], from_description(manifest.loss)
        known = predictions, grades, variances, column["in_slice"], column["cost"]
        pairs = Pairs(keys, manifest.predictors, *known, loss)
        stratum = None if (column["stratum"] == _NO_STRATUM).all() else column["stratum"]
        draws = column["prob"], column["draws"], column["inclusion"]
        sample = Sample.from_columns(*draws, manifest.census, stratum=stratum)
        return cls(pairs, sample, frames["assessments"], manifest)


def _columns(kind: str, names: Iterable[object], values: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of a matrix, by their names."""
    return {f"{kind}_{name}": column for name, column in zip(names, values.T, strict=True)}


def audit_of(pairs: Pairs, arguments: AuditArguments, frame: pd.DataFrame) -> AuditTables:
    """A new audit of pairs that were made from a frame."""
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
    return AuditTables(pairs, sample, wanted, manifest)


def draw_pairs(pairs: Pairs, arguments: AuditArguments) -> Sample:
    """Draw pairs to a budget, or a number of them, in the order of ``U/q`` if without replacement [theory 6]."""
    budget, draws, replace = arguments.budget, arguments.draws, arguments.replace
    if (budget is None) == (draws is None):
        raise ValueError("pass either budget= or draws=, and not both")
    # The order and the names of predictors change nothing.
    predicted = np.sort(pairs.predictions, axis=1), pairs.grades, np.sort(pairs.variances, axis=1)
    seed = arguments.seed, believed(pairs.keys, np.hstack(predicted))
    rng = np.random.default_rng(seed)
    if arguments.design == STRATIFIED:
        return _draw_strata(pairs, draws, replace, rng)
    q = _distribution(pairs, arguments.design, arguments.defensive)
    uniform = -np.expm1(-clocks(seed, pairs.keys["qid"], pairs.keys["docno"]))
    if budget is None:
        return draw_number(q, pairs.weight, draws or 0, rng, replace, uniform, UNIFORM)
    dearest = pairs.cost[q > 0].max()
    if positive("budget", budget) < dearest:
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest pair, which costs {dearest:g}, so it could never be "
            "judged and estimates would be biased; raise the budget"
        )
    return draw_to_budget(q, pairs.weight, pairs.cost, float(budget), rng, replace, uniform, UNIFORM)


def _distribution(pairs: Pairs, design: str, defensive: float) -> np.ndarray:
    if design not in GAP_DESIGNS:
        uniform = pairs.uniform_introspection().moments if designs.needs_uniform_grades(design) else None
        moments = pairs.introspection.moments
        return designs.sampling_distribution(design, moments, pairs.cost, pairs.weight, defensive, uniform)
    if not all(pairs.known_differences(a, b) for a, b in combinations(range(len(pairs.names)), 2)):
        raise ValueError(
            f"the design {design!r} leaves out pairs where the predictors agree, but those count in {pairs.loss}, "
            "whose weights depend on labels or predictions"
        )
    return gap_distribution(design, pairs.predictions, pairs.cost, pairs.weight, defensive)


def _draw_strata(pairs: Pairs, draws: int | None, replace: bool, rng: np.random.Generator) -> Sample:
    if draws is None or replace:
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
    rows = np.flatnonzero(draw_strata(stratum, drawn, rng))
    once, census = np.ones(len(rows), dtype=np.int64), len(rows) == len(stratum)
    return Sample(rows, once, inclusion[rows], census=census, q=inclusion / inclusion.sum(), stratum=stratum)
