"""What an audit holds: how its pairs are drawn, its manifest, and its form on disk."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pt_active.frames.checks import ArgumentError, positive
from pt_active.frames.clocks import clocks
from pt_active.plans.making import artifact
from pt_active.plans.making.artifact import Record
from pt_active.plans.making.stored import Stored, StoredTable, write_tables
from pt_active.relevance.losses import GaussianSquared, Loss, described, from_description
from pt_active.risk.pairs import Pairs
from pt_active.sampling import designs
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.designs import GAP_DESIGNS, STRATIFIED, gap_distribution
from pt_active.sampling.draws import draw_number, draw_to_budget
from pt_active.sampling.sample import Sample
from pt_active.sampling.strata import DEFAULT_STRATA, allocation, draw_strata, strata_by


def audit_distribution(pairs: Pairs, design: str, defensive: float) -> np.ndarray:
    """The sampling distribution q of a design, float64[N] [theory 6]."""
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


def draw_pairs(
    pairs: Pairs, design: str, budget: float | None, draws: int | None, replace: bool, defensive: float, seed: int
) -> Sample:
    """Draw pairs to a budget, or a number of them.

    Without replacement, pairs come in the order of ``U/q``, with uniform clocks U that depend on the seed and the ids
    alone. Where q is very uneven, as with rare errors, this law makes the pairs with the largest q certain, which
    ``E/q`` does not.
    """
    if (budget is None) == (draws is None):
        raise ArgumentError.either("budget", "draws")
    rng = np.random.default_rng(seed)
    if design == STRATIFIED:
        return _draw_strata(pairs, budget, draws, replace, rng)
    q = audit_distribution(pairs, design, defensive)
    uniform = -np.expm1(-clocks(seed, pairs.keys["qid"], pairs.keys["docno"]))
    if draws is not None:
        return draw_number(q, pairs.weight, draws, rng, replace, uniform, UNIFORM)
    _check_budget(float(budget or 0), pairs.cost[q > 0])
    return draw_to_budget(q, pairs.weight, pairs.cost, float(budget or 0), rng, replace, uniform, UNIFORM)


def _draw_strata(
    pairs: Pairs, budget: float | None, draws: int | None, replace: bool, rng: np.random.Generator
) -> Sample:
    if draws is None or replace:
        raise ValueError(
            f"the design {STRATIFIED!r} draws a number of pairs, each once: say draws=, not budget= or replace="
        )
    if len(pairs.names) > 1:
        raise ValueError(f"the design {STRATIFIED!r} is for one predictor, not {len(pairs.names)}")
    moments = pairs.introspection.moments
    mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
    stratum = strata_by(mean, DEFAULT_STRATA)
    size = np.bincount(stratum)
    drawn = allocation(stratum, mean, variance, min(draws, len(stratum)))
    inclusion = (drawn / size)[stratum]
    rows = np.flatnonzero(draw_strata(stratum, drawn, rng))
    once, census = np.ones(len(rows), dtype=np.int64), len(rows) == len(stratum)
    return Sample(rows, once, inclusion[rows], census=census, q=inclusion / inclusion.sum(), stratum=stratum)


def _check_budget(budget: float, cost: np.ndarray) -> None:
    positive("budget", budget)
    if budget < cost.max():
        raise ValueError(
            f"budget {budget:g} does not pay for the dearest pair, which costs {cost.max():g}, so it could never be "
            "judged and estimates would be biased; raise the budget"
        )


FORMAT_VERSION = 1
"""The format of the tables on disk; an audit of another format raises an error, so that it is not misread."""

_NO_STRATUM = -1
"""The value of the column ``stratum`` if the pairs were not drawn from strata."""

_EQUAL = 1e-9
"""How far apart, relatively, two stored forms of one number may be."""


@dataclass(frozen=True, kw_only=True)
class AuditArguments(Record):
    """The arguments of ``Audit.create``.

    Attributes:
        predictions: Name of a predictor → its column.
        cost: The ``repr`` of the cost.
        budget: The most to spend; None if a number of draws was given.
        draws: The number of draws; None if a budget was given.
        design: A name in `designs.audit_designs`.
        defensive: Share of plain random sampling in the design.
        replace: Whether a pair can be drawn more than once.
        seed: The random seed.
    """

    predictions: dict[str, str] = field(default_factory=dict)
    cost: str = ""
    budget: float | None = None
    draws: int | None = None
    design: str
    defensive: float = 0.0
    replace: bool
    seed: int = 0


@dataclass(frozen=True)
class AuditCounts(Record):
    """Sizes of the pool and of the sample.

    Attributes:
        pairs: Pairs in the pool.
        queries: Queries in the pool.
        draws: Draws, which may repeat a pair.
        assessments: Pairs to label.
    """

    pairs: int
    queries: int
    draws: int
    assessments: int


@dataclass(frozen=True, kw_only=True)
class AuditManifest(Record):
    """Everything that is needed to repeat an audit, and to check that the result is the same.

    Attributes:
        format_version: The format of the tables on disk.
        versions: Package → version.
        arguments: The arguments of ``Audit.create``.
        loss: The loss as plain values: the name of its class, and its arguments.
        predictors: The names of the predictors.
        census: Whether all pairs are to be labelled.
        counts: Sizes of the pool and of the sample.
        spent: The cost of the labels of the sample.
        pool_cost: The cost of labelling the whole pool.
        inputs: The digest of the frame.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {"arguments": AuditArguments, "counts": AuditCounts}

    format_version: int = FORMAT_VERSION
    versions: dict[str, str] = field(default_factory=dict)
    arguments: AuditArguments
    loss: dict[str, Any]
    predictors: tuple[str, ...]
    census: bool
    counts: AuditCounts
    spent: float
    pool_cost: float
    inputs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditTables:
    """What an audit holds.

    Attributes:
        pairs: All pairs with their predictions.
        sample: The drawn pairs, and the distribution by which they were drawn.
        assessments: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``: the pairs to label.
        manifest: Versions, arguments with the seed, counts, costs and the digest of the frame.
    """

    pairs: Pairs
    sample: Sample
    assessments: pd.DataFrame
    manifest: AuditManifest


def worklist(pairs: Pairs, sample: Sample, frame: pd.DataFrame) -> pd.DataFrame:
    """The pairs to label, sorted by qid and docno, so that their order does not reveal their probabilities."""
    table = pairs.keys.iloc[sample.rows].reset_index(drop=True)
    texts = frame[[c for c in ("qid", "docno", "query", "text") if c in frame.columns]]
    inclusion = np.nan if sample.repeated else sample.expected
    return table.merge(texts, how="left", on=["qid", "docno"]).assign(inclusion=inclusion)


def audit_manifest(arguments: AuditArguments, pairs: Pairs, sample: Sample, frame: pd.DataFrame) -> AuditManifest:
    """The manifest of a new audit."""
    packages = ("pt-active", "pyterrier", "numpy", "pandas")
    counts = AuditCounts(len(pairs.keys), int(pairs.keys["qid"].nunique()), int(sample.draws), len(sample.rows))
    return AuditManifest(
        versions={"python": platform.python_version()} | {name: version(name) for name in packages},
        arguments=arguments,
        loss=described(pairs.loss),
        predictors=pairs.names,
        census=sample.census,
        counts=counts,
        spent=float(pairs.cost[sample.rows].sum()),
        pool_cost=float(pairs.cost.sum()),
        inputs={"frame": artifact.digest(frame)},
    )


def pair_table(tables: AuditTables) -> pd.DataFrame:
    """All pairs: ``qid, docno``, predictions, grades, cost, probabilities under the design, and numbers of draws."""
    pairs, sample = tables.pairs, tables.sample
    columns = {f"prediction_{name}": column for name, column in zip(pairs.names, pairs.predictions.T, strict=True)}
    columns |= {f"variance_{name}": column for name, column in zip(pairs.names, pairs.variances.T, strict=False)}
    columns |= {f"grade_{g}": column for g, column in enumerate(pairs.grades.T)}
    stratum = np.full(len(pairs.keys), _NO_STRATUM) if sample.stratum is None else sample.stratum
    columns |= {"in_slice": pairs.member, "cost": pairs.cost, "prob": sample.q, "stratum": stratum}
    return pairs.keys.assign(**columns, **sample.columns(pairs.weight))


def write_audit(tables: AuditTables, folder: Path) -> None:
    """Write an audit into an empty folder, as Parquet files and ``manifest.json`` with their digests."""
    write_tables(folder, {"pairs": pair_table(tables), "assessments": tables.assessments}, tables.manifest)


def read_audit(folder: Path) -> AuditTables:
    """Read a saved audit."""
    stored = Stored.open(folder, "audit", (FORMAT_VERSION,))
    with stored.checked():
        manifest = AuditManifest.from_json(stored.values)
        loss = from_description(manifest.loss)
    table, assessments = stored.table("pairs"), stored.table("assessments")
    with stored.checked():
        pairs, sample = _from_table(table, manifest, loss)
        _check_assessments(assessments, pairs, sample)
    return AuditTables(pairs, sample, assessments.frame, manifest)


def _check_assessments(assessments: StoredTable, pairs: Pairs, sample: Sample) -> None:
    """Raise if the pairs to label are not those that were drawn, or a probability is not that of its draw."""
    assessments.texts("qid")
    assessments.texts("docno")
    assessments.no_pair_twice("qid", "docno")
    assessments.length(len(sample.rows), "drawn pair")
    drawn = pairs.keys.iloc[sample.rows].assign(chance=np.inf if sample.repeated else sample.expected)
    keys = assessments.frame[["qid", "docno"]]
    chance = keys.merge(drawn, how="left", on=["qid", "docno"])["chance"].to_numpy()
    assessments.must("docno", ~np.isnan(chance), "be documents that were drawn")
    known = np.full(len(chance), not sample.repeated)
    inclusion = assessments.within("inclusion", 0, 1, open=True, where=known)
    same = ~known | np.isclose(inclusion, chance, rtol=_EQUAL, atol=0)
    assessments.must("inclusion", same, "be what its draw had")


def _from_table(table: StoredTable, manifest: AuditManifest, loss: Loss) -> tuple[Pairs, Sample]:
    table.length(manifest.counts.pairs, "pair")
    table.texts("qid")
    table.texts("docno")
    table.no_pair_twice("qid", "docno")
    names, columns = manifest.predictors, table.frame.columns
    variances = [f"variance_{name}" for name in names if f"variance_{name}" in columns]
    keys, member = table.frame[["qid", "docno"]], table.truths("in_slice")
    if not names or not member.any():
        raise ValueError(f"{table.file} has no predictor, or no pair in the slice")
    grades = np.zeros((len(keys), 0)) if isinstance(loss, GaussianSquared) else table.grades(keys)
    highest = loss.grades_allowed(grades.shape[1] - 1) if loss.needs_grades else np.inf
    for name in names if loss.needs_grades else ():
        predicted = table.whole(f"prediction_{name}")
        table.must(f"prediction_{name}", predicted <= highest, f"be grades from 0 to {highest}")
    pairs = Pairs(
        keys=keys,
        names=names,
        predictions=np.column_stack([table.within(f"prediction_{name}", -np.inf) for name in names]),
        grades=grades,
        variances=np.column_stack([table.within(name, 0) for name in variances] or [np.zeros((len(keys), 0))]),
        member=member,
        cost=table.within("cost", 0),
        loss=loss,
    )
    return pairs, _sample(table, pairs.weight, manifest)


def _sample(table: StoredTable, weight: np.ndarray, manifest: AuditManifest) -> Sample:
    """The sample in the columns of the pairs."""
    q, draws, stratum = table.within("prob", 0, 1), table.whole("draws"), table.whole("stratum", _NO_STRATUM)
    table.sums_to_one("prob")
    drawn = draws > 0
    if draws.sum() != manifest.counts.draws or drawn.sum() != manifest.counts.assessments:
        raise ValueError(f"{table.file} has {draws.sum()} draws, and manifest.json {manifest.counts.draws}")
    # With replacement there are no inclusion probabilities, except where all pairs are certain.
    repeated = manifest.arguments.replace and bool(np.isnan(table.numbers("inclusion")[drawn]).any())
    known = np.zeros_like(drawn) if repeated else drawn
    inclusion = table.within("inclusion", 0, 1, open=True, where=known)
    kept = None if (stratum == _NO_STRATUM).all() else stratum
    sample = Sample.from_columns(q, draws, inclusion, manifest.census, stratum=kept)
    importance = table.within("importance", 0, where=drawn)[sample.rows]
    agrees = np.ones(len(draws), dtype=bool)
    agrees[sample.rows] = np.isclose(importance, sample.importance(weight), rtol=_EQUAL, atol=0)
    table.must("importance", agrees, "agree with the probabilities of the draws")
    return sample
