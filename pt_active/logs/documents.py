"""How are documents drawn from the numbers of all, and what does a plan keep of the others [theory 9, 14]?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.inference.documents import FOLDS, expected_variance
from pt_active.inference.rounds import Round, drawn_by
from pt_active.logs.rows import AllQueries, Rows, with_rows
from pt_active.logs.simulated import SimulatedPool
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.answers.units import RANGE_VARIANCE
from pt_active.plans.making.documents import (
    budget_of_documents,
    not_empty,
    round_entry,
    round_settings,
    sample_columns,
    worklist,
)
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import Beyond, PlanArguments, PlanSource, Rest, RestOfDocuments, plan_manifest
from pt_active.plans.making.pool import Pool, query_design
from pt_active.relevance.measures import RankForm, has_rank_form, rank_form
from pt_active.relevance.revealed import RevealedForm, revealed_form
from pt_active.sampling.chances import expected_size
from pt_active.sampling.document_designs import (
    SAME_GRADIENT,
    ErrorVariance,
    Influence,
    influence_of,
    influence_of_singles,
)
from pt_active.sampling.documents import (
    CERTAIN_MODEL,
    COMMON_SHARE,
    Sizing,
    added_variance,
    document_sizes,
    serves_singles,
)
from pt_active.sampling.drawings import DEFENSIVE_VARIANCE, REVEALED_VARIANCE, RoundSettings
from pt_active.sampling.pools import DocumentPool, GradedPool, Variables
from pt_active.sampling.sample import Costs, DocumentDesign, DocumentSizes, Sample, TwoPhase

QUERIES_AT_ONCE = 4_000  # Of so many queries the numbers of documents stay near the processor

_TO_COME = 2
"""So many of the documents that come next are kept with their queries: two units must stand for all that may follow."""

OTHERS = "(other queries)"  # The id of the row that stands for the queries that are not kept


@dataclass(frozen=True)
class Documents:
    """All documents that a measure sees."""

    rows: Rows
    form: RankForm  # of an additive measure, or a `RevealedForm`
    weight: np.ndarray  # float64[m], p
    overhead: float  # λ₀, the cost of opening a query

    @property
    def pool(self) -> DocumentPool:
        """The pool as the measure sees it."""
        about, rows = (self.rows.indptr, self.rows.by_document["ranks"], self.weight), self.rows.by_document
        if not isinstance(self.form, RevealedForm):
            return DocumentPool(self.form, *about)
        known: dict[str, Any] = {"turn": rows["turn"], "expected": rows["squares"]}
        return SimulatedPool(self.form, *about, *np.empty((2, 0)), value=self.rows.by_query["value"], **known)

    def sizes(self, settings: RoundSettings) -> DocumentSizes:
        """The sizes of `sampling.documents.document_sizes`."""
        if not isinstance(self.form, RevealedForm):
            return sizes_in_blocks(self, settings)
        cost = self.rows.by_document["cost"]
        unknown = Variables(np.empty((len(cost), 0)), np.empty(0), np.zeros(len(cost), dtype=bool))
        return document_sizes(self.pool, unknown, cost, self.overhead, settings)

    def blocks(self) -> Iterator[tuple[slice, slice, DocumentPool]]:
        """Parts of the queries: which queries, which of the documents, and the pool of these."""
        indptr = self.rows.indptr
        for start in range(0, len(self.weight), QUERIES_AT_ONCE):
            queries = slice(start, min(start + QUERIES_AT_ONCE, len(self.weight)))
            own = indptr[queries.start : queries.stop + 1]
            documents = slice(int(own[0]), int(own[-1]))
            ranks = self.rows.by_document["ranks"][:, documents]
            yield queries, documents, DocumentPool(self.form, own - own[0], ranks, self.weight[queries])


def sizes_in_blocks(documents: Documents, settings: RoundSettings) -> DocumentSizes:
    """The sizes of `sampling.documents.document_sizes` for an additive measure, from little memory."""
    mean, variance, cost = (documents.rows.by_document[name] for name in ("mean", "variance", "cost"))
    weighted, total = np.zeros(2), 0.0
    for _, own, pool in documents.blocks():
        square = (pool.gradients(mean[own]) ** 2).sum(axis=0)
        weighted += square @ variance[own], square.sum()
        total += float(np.abs(square).sum())
    average = float(weighted[0] / max(weighted[1], np.finfo(float).tiny))
    if average == 0 and total > 0:
        warnings.warn(CERTAIN_MODEL, stacklevel=3)
    added = added_variance(average, settings.defensive)
    errors = ErrorVariance(variance + added, COMMON_SHARE * added)
    prices = Costs(documents.pool.indptr, cost, documents.overhead)
    sizing = Sizing(errors, documents.pool, prices, settings.drawing, [])
    both = serves_singles(settings, sizing.pool, documents.overhead)
    influences = _influences(documents, settings, 1 + both)
    # None stays here, since memory is short where sizes follow from them.
    return sizing.with_singles(influences.pop(0), influences.pop()) if both else sizing.sizes(influences.pop())


def _influences(documents: Documents, settings: RoundSettings, number: int) -> list[Influence]:
    """The influence on differences, in the mean over pairs, and that on single rankers if two are asked for."""
    mean = documents.rows.by_document["mean"]
    pairs, *singles = (Influence(np.zeros(len(mean)), np.zeros(len(documents.weight))) for _ in range(number))
    for queries, own, pool in documents.blocks():
        gradient, known = pool.gradients(mean[own]), np.zeros(own.stop - own.start, dtype=bool)
        each = influence_of(pool, gradient, known)
        share = np.full(len(each.documents), 1 / len(each.documents))
        if settings.pairs is not None:
            share = settings.pairs / settings.pairs.sum()
        parts = [each.mean(share), *(influence_of_singles(pool, gradient, known) for _ in singles)]
        for whole, part in zip((pairs, *singles), parts, strict=True):
            whole.documents[own], whole.queries[queries] = part.documents, part.queries
    return [pairs, *singles]


@dataclass(frozen=True)
class DrawnDocuments:
    """A sample of documents, and which queries a plan keeps with all of their documents."""

    round: Round  # what was drawn, without its grades
    matters: np.ndarray  # bool[N], the documents that can change a difference, or the value of a single ranker
    kept: np.ndarray  # bool[m], the queries of drawn documents, and of the next ones that would come
    looked_at: bool  # whether documents can be looked at before all are judged, and more than the kept ones could come
    expected: tuple[float, float]  # the variance expected of a sample from the top, and ``Σ g``

    @classmethod
    def of(cls, documents: Documents, arguments: PlanArguments, names: tuple[str, ...]) -> DrawnDocuments:
        """The round that `first_round` draws in memory."""
        budget, rows, settings = budget_of_documents(arguments), documents.rows, round_settings(arguments, names)
        sizes, cost, clock = documents.sizes(settings), rows.by_document["cost"], rows.by_document.get("clock")
        pool = GradedPool(documents.pool, np.empty((len(cost), 0)), cost, documents.overhead)
        rng = np.random.default_rng(arguments.seed)
        drawn = not_empty(drawn_by(sizes, sizes.gain, pool, settings, budget, rng, clock))
        sample, more = drawn.sample, np.empty(0, dtype=np.int64)
        if sample.priority is not None:
            left = np.where(sample.drawn, np.inf, sample.priority)
            last = np.partition(left, _TO_COME - 1)[_TO_COME - 1] if len(left) > _TO_COME else np.inf
            more = np.flatnonzero((left <= last) & (left < np.inf))
            more = more[np.argsort(left[more], kind="stable")[:_TO_COME]]
        kept = np.zeros(len(documents.weight), dtype=bool)
        wanted = np.r_[np.flatnonzero(sample.drawn), more]
        kept[np.searchsorted(rows.indptr, wanted, side="right") - 1] = True
        looked_at = sample.design.unit == "document" and len(more) == _TO_COME
        design = sample.design
        expected = (0.0, 0.0)
        if design.nested:
            expected = expected_variance(pool.seen, design, sizes.gain), float(sizes.gain[design.order].sum())
        return cls(drawn, sizes.gain > 0, kept, looked_at, expected)

    @property
    def sample(self) -> TwoPhase:
        """What was drawn."""
        return self.round.sample


def plan_of_documents(population: AllQueries, arguments: PlanArguments) -> PlanTables:
    """A plan that keeps the queries of drawn documents, and sums over all others."""
    measure, rows, overhead = population.measure, population.rows, float(population.question.cost.per_query)
    form: RankForm = revealed_form(measure, rows.max_grade)
    if has_rank_form(measure):
        form = rank_form(measure, rows.max_grade, rows.deepest)
    documents = Documents(rows, form, population.weight, overhead)
    drawn = DrawnDocuments.of(documents, arguments, population.question.names)
    part, graded = population.kept(np.flatnonzero(drawn.kept))
    rest = _rest(documents, drawn, float(arguments.budget or 0))
    table = _query_table(population, drawn, part, rest)
    pool = replace(with_rows(part, table), place=table["q_place"].to_numpy())
    kept = _kept_round(documents, drawn, pool, pool.seen(measure))
    table = table.assign(**sample_columns(pool, kept), q_prob=kept.sample.design.opening)
    assessments = worklist(pool, kept.sample, None)
    source, sample = PlanSource(pool, measure, graded, None), drawn.sample
    made = plan_manifest(arguments, source, table, assessments, census=drawn.round.certain, spent=sample.spent)
    manifest = population.manifest(
        made, rest, rounds=(round_entry(drawn.round, float(arguments.budget or 0), arguments.seed),)
    )
    return PlanTables(pool, table, assessments, manifest, (kept,))


def _query_table(population: AllQueries, drawn: DrawnDocuments, part: Pool, rest: Rest | None) -> pd.DataFrame:
    """The design of the queries that are kept, with a row for all others and ``q_place``."""
    place, others = np.flatnonzero(drawn.kept), ~drawn.kept
    queries, weight = population.queries, population.weight
    known = replace(part, queries=queries.iloc[place].reset_index(drop=True), query_weight=weight[place])
    table = query_design(known, np.ones(len(place)), part.moments(population.measure)).assign(q_place=place)
    if rest is None:
        return table
    total, cost = float(weight[others].sum()), float(population.rows.cost[others].sum())
    row: dict[str, object] = {"qid": OTHERS, "q_prob": 0.0, "q_cost": cost, "q_weight": total, "q_place": -1}
    for s, name in enumerate(part.names):
        about = rest.of(s, None)
        row[f"q_mean_{name}"] = float(sum(about.mean) + about.settled) / total if total > 0 else 0.0
        row[f"q_var_{name}"] = 0.0
    if len(part.names) == 2:
        row["q_cov"] = 0.0
    if "traffic" in queries.columns:
        row["traffic"] = float(pd.to_numeric(queries["traffic"]).to_numpy(float)[others].sum())
    last = pd.DataFrame([row]).reindex(columns=table.columns)
    whole = pd.concat([table, last.dropna(axis=1)], ignore_index=True)
    return whole.astype({name: kind for name, kind in table.dtypes.items() if kind.kind in "iufb"})


def _kept_round(documents: Documents, drawn: DrawnDocuments, pool: Pool, seen: np.ndarray) -> Round:
    """The round with the documents of the pool alone, of which the measure sees some, bool[N]."""
    ranks, sample, design = documents.rows.by_document["ranks"], drawn.sample, drawn.sample.design
    queries, places = np.flatnonzero(drawn.kept), np.flatnonzero(seen)
    source = documents.rows.documents_of(queries)
    found = np.minimum(pool.ranks[:, places], np.iinfo(np.int16).max)
    if not np.array_equal(found, ranks[:, source]):
        raise ValueError("the second pass over the runs found other documents than the first; did the files change?")

    def of(values: np.ndarray | None, fill: float | bool) -> Any:
        if values is None:
            return None
        own = np.full(len(pool.docno), fill, dtype=values.dtype)
        own[places] = values[source]
        return own

    chosen = np.zeros(ranks.shape[1], dtype=bool)
    chosen[source] = True
    order = places[np.searchsorted(source, design.order[chosen[design.order]])]
    nothing = np.zeros(len(pool.queries) - len(queries))
    opening, opened = (np.r_[each[queries], nothing] for each in (design.opening, sample.opening))
    own = DocumentDesign(design.drawing, order, opening, of(design.inclusion, 0.0), design.unit, of(design.rate, 0.0))
    apart = np.r_[sample.apart[queries], nothing > 0]
    kept = TwoPhase(own, Sample.once(opened), of(sample.drawn, False), apart, sample.spent, of(sample.priority, np.inf))
    return replace(drawn.round, sample=kept, grades=pool.grades)


def _rest(documents: Documents, drawn: DrawnDocuments, budget: float) -> Rest | None:
    """What a plan keeps of queries of which nothing was drawn; None if there are none."""
    rows, design, others = documents.rows, drawn.sample.design, ~drawn.kept
    if not others.any():
        return None
    cost, order, k = rows.by_document["cost"], design.order, len(rows.by_document["ranks"])
    looked_at = drawn.looked_at and design.rate is not None
    expected = expected_size(design.rate[order], cost[order], budget) if looked_at else 0.0  # type: ignore[index]
    left = order[(design.inclusion[order] > 0) & ~drawn.sample.drawn[order]]
    further = left[drawn.matters[left]]
    prices = Costs(rows.indptr, cost, documents.overhead)
    contrasts = [Contrast(s) for s in range(k)] + [Contrast(a, b) for a in range(k) for b in range(a + 1, k)]
    sums = _rest_of_simulated if isinstance(documents.form, RevealedForm) else _rest_of_contrasts
    return Rest(
        queries=int(others.sum()),
        documents=int(rows.documents[others].sum()),
        stand_ins=1,
        units=len(order) if looked_at else 0,
        expected_draws=expected,
        sums=sums(documents, drawn, contrasts),
        seen=len(cost),
        useless=int((design.inclusion == 0).sum()),
        cost=float(cost[left].sum()),
        further=float(cost[further].sum() + documents.overhead * prices.firsts(further).sum()),
        expected=drawn.expected[0],
        gain=drawn.expected[1],
    )


def _rest_of_simulated(
    documents: Documents, drawn: DrawnDocuments, contrasts: list[Contrast]
) -> tuple[RestOfDocuments, ...]:
    """What a plan must know of all queries for each contrast of a measure that is no sum over documents."""
    pool, design, found = documents.pool, drawn.sample.design, []
    assert isinstance(pool, SimulatedPool)
    query, m, nothing, reached = pool.query, len(pool.weight), np.empty(0), design.inclusion > 0
    opened = np.bincount(query[reached], minlength=m) > 0
    sure = np.bincount(query[~(drawn.sample.chance(query) >= 1)], minlength=m) == 0
    for contrast in contrasts:
        sides = contrast.weights(len(pool.ranks))
        matters, mean = pool.differs(sides) & (pool.weight > 0), pool.weight * (pool.value @ sides) * ~drawn.kept
        (gain,) = pool.cautious_gains(design.order, nothing, sides[None], REVEALED_VARIANCE)
        variance = pool.weight[query] ** 2 * pool.squares(nothing, nothing, sides[None])[0]
        found.append(
            RestOfDocuments(
                first=contrast.first,
                second=contrast.second,
                weight=[0.0],
                mean=[float(mean[opened].sum())],
                square=[0.0],
                settled=float(mean[~opened].sum()),
                cautious=expected_variance(pool, design, gain),
                variance=float(variance.sum()),
                unreached=float(variance[~reached].sum()),
                never=int(((variance > 0) & ~reached).sum()),
                certain=bool(sure[matters].all()),
                added=0.0,
                gain=float(gain[reached].sum()),
            )
        )
    return tuple(found)


def _rest_of_contrasts(
    documents: Documents, drawn: DrawnDocuments, contrasts: list[Contrast]
) -> tuple[RestOfDocuments, ...]:
    """What a plan must know of all documents for each contrast of an additive measure."""
    return tuple(_rest_of(documents, drawn, each) for each in contrasts)


def _rest_of(documents: Documents, drawn: DrawnDocuments, contrast: Contrast) -> RestOfDocuments:
    """What a plan must know of all documents for one contrast."""
    from pt_active.logs._kernels import undrawn_sums

    rows, design, form = documents.rows, drawn.sample.design, documents.form
    table, sides = np.r_[0.0, form.weights, 0.0], contrast.weights(len(rows.by_document["ranks"]))
    least = SAME_GRADIENT * np.abs(table).max() if contrast.second is not None else 0.0
    about = documents.weight, rows.by_document["mean"], rows.by_document["variance"], drawn.kept
    where = rows.indptr, rows.by_document["ranks"], (table, sides, least), about
    sums, parts = np.zeros(10), np.zeros((3, FOLDS))
    undrawn_sums(*where, (design.opening, design.inclusion, drawn.sample.opening), (sums, parts))
    square, square_errors, weights, variance, unreached, never, left, left_errors, uncertain, settled = sums.tolist()
    tiny, (weight, mean, squares) = np.finfo(float).tiny, parts.tolist()
    cautious = added_variance(square_errors / max(square, tiny), DEFENSIVE_VARIANCE)
    added = added_variance(variance / max(weights, tiny), 1.0)
    made = RestOfDocuments(
        first=contrast.first,
        second=contrast.second,
        weight=weight,
        mean=mean,
        square=squares,
        cautious=left_errors + cautious * left,
        settled=settled,
        variance=variance,
        unreached=unreached,
        never=int(never),
        certain=uncertain == 0,
        added=added,
        gain=variance + cautious * weights,
    )
    return replace(made, beyond=_beyond(drawn, contrast, form, added, where)) if drawn.looked_at else made


def _beyond(drawn: DrawnDocuments, contrast: Contrast, form: RankForm, added: float, where: tuple[Any, ...]) -> Beyond:
    """What bets know of the documents that were not drawn, whose variance is p² D² (v + a + c range²)."""
    from pt_active.logs._kernels import sums_to_come

    sums = np.array([0.0, np.inf, 0.0, 0.0, 0.0, np.inf, -np.inf, 0.0, 0.0])
    ends = float(form.values.min()), float(form.values.max())
    sums_to_come(*where, (drawn.sample.design.rate, drawn.sample.drawn, *ends), sums)
    names = ("rate", "least_rate", "mean", "low", "high", "worst", "best")
    over, over_errors = sums[7:].tolist()
    variance = over_errors + (added + RANGE_VARIANCE * (ends[1] - ends[0]) ** 2) * over
    known = dict(zip(names, sums[:7].tolist(), strict=True))
    return Beyond(contrast.first, contrast.second, variance=variance, settled=0.0, **known)
