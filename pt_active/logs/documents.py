"""How are documents drawn from the numbers of all, and what does a plan keep of the others [theory 9, 14]?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.clocks import times
from pt_active.inference.documents import FOLDS, expected_variance
from pt_active.inference.rounds import Round, drawn_by
from pt_active.logs.one_by_one import FirstDocuments, first_documents
from pt_active.logs.pools import DocumentBlock, Documents
from pt_active.logs.rows import AllQueries, with_rows
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
from pt_active.sampling.document_designs import SAME_GRADIENT
from pt_active.sampling.documents import added_variance
from pt_active.sampling.drawings import DEFENSIVE_VARIANCE, REVEALED_VARIANCE, SUCCESSIVE
from pt_active.sampling.pools import GradedPool
from pt_active.sampling.sample import Costs, DocumentDesign, Sample, TwoPhase
from pt_active.sampling.successive import at, inclusion_of

_TO_COME = 2
"""So many of the documents that come next are kept with their queries: two units must stand for all that may follow."""

OTHERS = "(other queries)"  # The id of the row that stands for the queries that are not kept


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
        sizes, cost, key = documents.sizes(settings), rows.by_document["cost"], rows.by_document.get("key")
        clock = None if key is None else times(key, rows.believed)
        pool = GradedPool(documents.pool, np.empty((len(cost), 0)), cost, documents.overhead)
        rng = np.random.default_rng([arguments.seed, rows.believed])
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


class _Drawing(NamedTuple):
    """A sample of documents as a plan keeps it."""

    kept: np.ndarray  # bool[m], the queries that the plan keeps
    documents: Documents  # these at least, in memory
    drawn: DrawnDocuments  # what was drawn of those
    rest: Rest | None  # what the plan knows of all others


def plan_of_documents(population: AllQueries, arguments: PlanArguments) -> PlanTables:
    """A plan that keeps the queries of drawn documents, and sums over all others."""
    measure, rows, overhead = population.measure, population.rows, float(population.question.cost.per_query)
    form: RankForm = revealed_form(measure, rows.max_grade)
    if has_rank_form(measure):
        form = rank_form(measure, rows.max_grade, rows.deepest)
    documents, names = Documents(rows, form, population.weight, overhead), population.question.names
    budget, settings = budget_of_documents(arguments), round_settings(arguments, names)
    first = None
    if settings.drawing == SUCCESSIVE and form.family == "additive" and overhead == 0:
        first = first_documents(documents, settings, budget, population.folder)
    if first is None:
        kept, documents, drawn, rest = _drawn_at_once(documents, arguments, names)
    else:
        kept, documents, drawn, rest = _drawn_one_by_one(documents, first, budget)
    part, graded = population.kept(np.flatnonzero(kept))
    table = _query_table(population, kept, part, rest)
    pool = replace(with_rows(part, table), place=table["q_place"].to_numpy())
    own = _kept_round(documents, drawn, pool, pool.seen(measure))
    table = table.assign(**sample_columns(pool, own), q_prob=own.sample.design.opening)
    assessments = worklist(pool, own.sample, None)
    source, sample = PlanSource(pool, measure, graded, None), drawn.sample
    made = plan_manifest(arguments, source, table, assessments, census=drawn.round.certain, spent=sample.spent)
    manifest = population.manifest(made, rest, rounds=(round_entry(drawn.round, budget, arguments.seed),))
    return PlanTables(pool, table, assessments, manifest, (own,))


def _drawn_at_once(documents: Documents, arguments: PlanArguments, names: tuple[str, ...]) -> _Drawing:
    """A sample for which the numbers of all documents are in memory."""
    documents = replace(documents, rows=documents.rows.loaded())
    drawn = DrawnDocuments.of(documents, arguments, names)
    return _Drawing(drawn.kept, documents, drawn, _rest(documents, drawn, float(arguments.budget or 0)))


def _drawn_one_by_one(documents: Documents, first: FirstDocuments, budget: float) -> _Drawing:
    """The documents that come first, and what is known of those that are left."""
    rows, succession, kept = documents.rows, first.succession, np.zeros(len(documents.weight), dtype=bool)
    number = succession.within(budget)
    sample, threshold = succession.first(number), succession.threshold(number)
    wanted = first.place[succession.order[: number + _TO_COME]]
    kept[np.searchsorted(rows.indptr, wanted, side="right") - 1] = True
    some, source = documents.among(np.flatnonzero(kept)), rows.documents_of(np.flatnonzero(kept))
    rate, key, everything = first.rate.taken(source)[:], some.rows.by_document["key"], slice(0, len(source))
    order, *_ = first.sizes.of(DocumentBlock(everything, everything, some.pool, dict(some.rows.by_document)))
    prices, places = Costs(some.rows.indptr, some.rows.by_document["cost"], 0.0), first.place[sample.drawn]
    nothing = np.zeros(len(some.weight)), np.zeros(len(rate))
    design = at(DocumentDesign(SUCCESSIVE, order, *nothing, rate=rate), prices, threshold)
    priority = np.divide(times(key, rows.believed), rate, out=np.full(len(rate), np.inf), where=rate > 0)
    apart, own = np.ones(len(some.weight), dtype=bool), np.isin(source, places)
    found = TwoPhase(design, Sample.once(design.opening), own, apart, sample.spent, priority)
    drawn_round = not_empty(Round(found, np.empty((len(rate), 0)), first.expected, first.expected))
    drawn = DrawnDocuments(drawn_round, np.empty(0), apart, True, (0.0, 0.0))

    def of_block(block: DocumentBlock) -> tuple[np.ndarray, ...]:
        every, rates = np.ones(len(block.pool.weight)), first.rate[block.documents]
        start, stop = np.searchsorted(places, [block.documents.start, block.documents.stop])
        taken = np.zeros(len(rates), dtype=bool)
        taken[places[start:stop] - block.documents.start] = True
        return every, inclusion_of(rates, threshold), every, rates, taken

    rates, cost = first.rate[:], rows.by_document["cost"][:]
    if first.reached < len(rates):
        rates, cost = rates[rates > 0], cost[rates > 0]
    expected = expected_size(rates, cost, budget)
    del rates, cost  # since memory may be short
    rest = _known(
        documents,
        kept,
        _sums_of(documents, of_block, kept, looked_at=True),
        units=first.reached,
        expected_draws=expected,
        useless=int(rows.seen.sum()) - first.reached,
        cost=first.cost - sample.spent,
        further=first.of_matter - float(succession.prices.cost[sample.drawn & first.matters].sum()),
    )
    return _Drawing(kept, some, drawn, rest)


def _query_table(population: AllQueries, kept: np.ndarray, part: Pool, rest: Rest | None) -> pd.DataFrame:
    """The design of the queries that are kept, with a row for all others and ``q_place``."""
    place, others = np.flatnonzero(kept), ~kept
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
    rows, design = documents.rows, drawn.sample.design
    if drawn.kept.all():
        return None
    cost, order = rows.by_document["cost"], design.order
    looked_at = drawn.looked_at and design.rate is not None
    expected = expected_size(design.rate[order], cost[order], budget) if looked_at else 0.0  # type: ignore[index]
    left = order[(design.inclusion[order] > 0) & ~drawn.sample.drawn[order]]
    further = left[drawn.matters[left]]
    prices, opened = Costs(rows.indptr, cost, documents.overhead), drawn.sample.opening
    rate = np.zeros(len(cost)) if design.rate is None else design.rate

    def of_block(block: DocumentBlock) -> tuple[np.ndarray, ...]:
        queries, own = block.queries, block.documents
        about = design.opening[queries], design.inclusion[own], opened[queries]
        return *about, rate[own], drawn.sample.drawn[own]

    if isinstance(documents.form, RevealedForm):
        sums = _sums_of_simulated(documents, drawn)
    else:
        sums = _sums_of(documents, of_block, drawn.kept, looked_at)
    return _known(
        documents,
        drawn.kept,
        sums,
        units=len(order) if looked_at else 0,
        expected_draws=expected,
        useless=int((design.inclusion == 0).sum()),
        cost=float(cost[left].sum()),
        further=float(cost[further].sum() + documents.overhead * prices.firsts(further).sum()),
        expected=drawn.expected[0],
        gain=drawn.expected[1],
    )


def _known(documents: Documents, kept: np.ndarray, sums: tuple[RestOfDocuments, ...], **about: Any) -> Rest | None:
    """What a plan keeps of the queries that are not kept; None if there are none."""
    rows, others = documents.rows, ~kept
    if not others.any():
        return None
    number = int(others.sum()), int(rows.documents[others].sum())
    return Rest(*number, stand_ins=1, sums=sums, seen=int(rows.seen.sum()), **about)


def _contrasts(k: int) -> list[Contrast]:
    """Each ranker, and each pair."""
    return [Contrast(s) for s in range(k)] + [Contrast(a, b) for a in range(k) for b in range(a + 1, k)]


def _sums_of_simulated(documents: Documents, drawn: DrawnDocuments) -> tuple[RestOfDocuments, ...]:
    """What a plan must know of all queries for each contrast of a measure that is no sum over documents."""
    pool, design, found = documents.pool, drawn.sample.design, []
    assert isinstance(pool, SimulatedPool)
    query, m, nothing, reached = pool.query, len(pool.weight), np.empty(0), design.inclusion > 0
    opened = np.bincount(query[reached], minlength=m) > 0
    sure = np.bincount(query[~(drawn.sample.chance(query) >= 1)], minlength=m) == 0
    for contrast in _contrasts(len(pool.ranks)):
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


def _sums_of(
    documents: Documents, of_block: Callable[[DocumentBlock], tuple[np.ndarray, ...]], kept: np.ndarray, looked_at: bool
) -> tuple[RestOfDocuments, ...]:
    """What a plan must know of all documents for each contrast of an additive measure.

    ``of_block`` returns Π of each query, π of each document, Π of each query that was opened, the rate of each, and
    whether it was drawn.
    """
    from pt_active.logs._kernels import sums_to_come, undrawn_sums

    form, k, found = documents.form, len(next(documents.blocks()).pool.ranks), []
    contrasts, table, ends = _contrasts(k), np.r_[0.0, form.weights, 0.0], (form.values.min(), form.values.max())
    sums, parts = np.zeros((len(contrasts), 10)), np.zeros((len(contrasts), 3, FOLDS))
    come = np.tile([0.0, np.inf, 0.0, 0.0, 0.0, np.inf, -np.inf, 0.0, 0.0], (len(contrasts), 1))
    for block in documents.blocks("mean", "variance"):
        pool, (opening, inclusion, opened, rate, drawn) = block.pool, of_block(block)
        about = pool.weight, block.numbers["mean"], block.numbers["variance"], kept[block.queries]
        for place, contrast in enumerate(contrasts):
            least = SAME_GRADIENT * np.abs(table).max() if contrast.second is not None else 0.0
            where = pool.indptr, pool.ranks, (table, contrast.weights(k), least), about
            undrawn_sums(*where, (opening, inclusion, opened), (sums[place], parts[place], block.queries.start))
            if looked_at:
                sums_to_come(*where, (rate, drawn, float(ends[0]), float(ends[1])), come[place])
    for contrast, each, part, further in zip(contrasts, sums, parts, come, strict=True):
        made = _rest_of(contrast, each, part)
        found.append(replace(made, beyond=_beyond(contrast, form, made.added, further)) if looked_at else made)
    return tuple(found)


def _rest_of(contrast: Contrast, sums: np.ndarray, parts: np.ndarray) -> RestOfDocuments:
    """What a plan must know of all documents for one contrast, by the sums of `undrawn_sums`."""
    square, square_errors, weights, variance, unreached, never, left, left_errors, uncertain, settled = sums.tolist()
    tiny, (weight, mean, squares) = np.finfo(float).tiny, parts.tolist()
    cautious = added_variance(square_errors / max(square, tiny), DEFENSIVE_VARIANCE)
    return RestOfDocuments(
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
        added=added_variance(variance / max(weights, tiny), 1.0),
        gain=variance + cautious * weights,
    )


def _beyond(contrast: Contrast, form: RankForm, added: float, sums: np.ndarray) -> Beyond:
    """What bets know of the documents that were not drawn, whose variance is p² D² (v + a + c range²)."""
    names = ("rate", "least_rate", "mean", "low", "high", "worst", "best")
    over, over_errors = sums[7:].tolist()
    variance = over_errors + (added + RANGE_VARIANCE * float(np.ptp(form.values)) ** 2) * over
    known = dict(zip(names, sums[:7].tolist(), strict=True))
    return Beyond(contrast.first, contrast.second, variance=variance, settled=0.0, **known)
