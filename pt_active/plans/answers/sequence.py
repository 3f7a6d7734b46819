"""What do the labels so far prove, in the order in which units come [theory 14]?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import Argument, ArgumentError
from pt_active.inference.documents import steps
from pt_active.inference.rounds import Round, judged_before
from pt_active.inference.stopping.bets import Draws, Stakes, Units
from pt_active.inference.stopping.looks import ASYMPTOTIC
from pt_active.plans.answers.judged import Contrast
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import foreign_labels, judged_values
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import DrawingOrder, queries_judged
from pt_active.relevance.bounds import contrast_bounds, document_bounds
from pt_active.relevance.moments import Moments, discounts
from pt_active.sampling.chances import expected_size, within_budget
from pt_active.sampling.designs import contrast_moments
from pt_active.sampling.documents import hedged
from pt_active.sampling.laws import EXPONENTIAL
from pt_active.sampling.pools import DocumentPool, Variables
from pt_active.sampling.successive import Succession, succession_of

_RANGE_VARIANCE = 1e-3
"""Share of its squared range that is added to the variance of each unit, so that none counts as certain."""


@dataclass(frozen=True)
class Progress:
    """The units of a plan in the order in which they come, and how far they are judged.

    Attributes:
        unit: What a unit is: ``query``, ``document``, or ``step``.
        cost: float64[n], the cost of each draw, of those that the plan asks for and those that could follow.
        drawn: How many draws the plan asks for.
        judged: How many of these are judged, without a gap from the first.
        documents: int64[n], how many labels each draw takes.
        waiting: The first unit that is not judged, in words; None if the plan asks for no more.
        left_out: The number of labels of the plan beyond the first gap.
    """

    unit: str
    cost: np.ndarray
    drawn: int
    judged: int
    documents: np.ndarray
    waiting: str | None
    left_out: int

    @cached_property
    def spent(self) -> np.ndarray:
        """float64[n+1], what the draws cost before the first and up to each."""
        return np.r_[0.0, np.cumsum(self.cost)]


@dataclass(frozen=True)
class Proof:
    """What the judged units say of a contrast.

    Attributes:
        draws: All draws so far, also of blocks before the model was fitted again.
        units: The units of the last block, judged or not.
        begun: How many draws of the last block are judged.
        stakes: How the bets are spread.
    """

    draws: Draws
    units: Units
    begun: int
    stakes: Stakes


class QuerySequence:
    """A plan of queries, which come in successive order.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        measure: What is measured.

    Raises:
        ArgumentError: If the plan has no successive order.
    """

    def __init__(self, tables: PlanTables, label: np.ndarray, measure: irm.Measure) -> None:
        self.tables, self.label, self.measure = tables, label, measure
        self.order = DrawingOrder.of(tables)
        if self.order.law is not EXPONENTIAL:
            raise ArgumentError(
                "the plan was saved in an earlier format, whose queries come in another order; use ",
                Argument("looks", ASYMPTOTIC),
            )

    @cached_property
    def progress(self) -> Progress:
        """How far the queries are judged."""
        pool, order = self.tables.pool, self.order
        drawn = self.tables.manifest.cut.of if self.tables.manifest.cut else order.drawn
        judged = queries_judged(pool, self.label, self.measure, order)
        place = np.full(len(pool.queries), len(order.rows))
        place[order.rows] = np.arange(len(order.rows))
        document, has = place[pool.query_of_document], (self.label >= 0) & pool.seen(self.measure)
        foreign_labels(has & (document >= drawn), "queries")
        counts = np.bincount(pool.query_of_document[pool.seen(self.measure)], minlength=len(pool.queries))
        return Progress(
            unit="query",
            cost=order.cost,
            drawn=drawn,
            judged=judged,
            documents=counts[order.rows],
            waiting=f"query {pool.qids[order.rows[judged]]}" if judged < drawn else None,
            left_out=int((has & (document >= judged) & (document < drawn)).sum()),
        )

    @cached_property
    def _moments(self) -> Moments:
        """The moments of the plan's measure, from its tables if they hold the covariance."""
        pool, queries = self.tables.pool, self.tables.queries
        if len(pool.names) > 2 or self.measure != self.tables.measure:
            return pool.moments(self.measure)
        mean, variance = (queries[[f"q_{what}_{name}" for name in pool.names]].to_numpy() for what in ("mean", "var"))
        covariance = np.zeros((len(mean), len(pool.names), len(pool.names)))
        for s in range(len(pool.names)):
            covariance[:, s, s] = variance[:, s]
        if len(pool.names) == 2:
            covariance[:, 0, 1] = covariance[:, 1, 0] = queries["q_cov"].to_numpy()
        return Moments(mean, covariance)

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[n, k], the values of the judged queries."""
        return judged_values(self.tables.pool, self.label, self.measure, self.order.rows[: self.progress.judged])

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged queries say of a contrast.

        Args:
            contrast: A ranker, or the difference of two.
            alpha: The level of the bets, which are spread for it.

        Raises:
            ValueError: If the design never draws a query that counts.
        """
        pool, order, judged = self.tables.pool, self.order, self.progress.judged
        weight, rows = pool.query_weight, order.rows
        bounds = contrast_bounds(
            self.measure, pool.indptr, pool.ranks, pool.max_grade, contrast.weights(len(pool.names))
        )
        low, high = (weight * bound for bound in bounds)
        mean, variance = contrast_moments(self._moments, contrast.first, contrast.second)
        _check_reached((high > low) & ~np.isin(np.arange(len(weight)), rows), "queries")
        spread = weight**2 * (variance + weight @ variance) + _RANGE_VARIANCE * (high - low) ** 2
        mean = np.clip(weight * mean, low, high)
        units = Units.one_by_one(
            order.q, mean[rows], spread[rows], low[rows], high[rows], float(np.delete(low, rows).sum())
        )
        contribution = np.full(len(rows), np.nan)
        contribution[:judged] = weight[rows[:judged]] * contrast.of(self._values)
        arguments = self.tables.manifest.arguments
        price = order.cost if arguments.draws is None else np.ones(len(rows))
        planned = expected_size(order.q, price, float(arguments.budget or arguments.draws or 0))
        return Proof(units.judged(contribution, judged), units, judged, _stakes(units, planned, alpha))


class DocumentSequence:
    """A plan of documents that come one after the other, in one block or in several with refitted grades.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.

    Raises:
        ArgumentError: If a round was drawn at once.
    """

    def __init__(self, tables: PlanTables, label: np.ndarray) -> None:
        self.tables, self.label = tables, label
        pool, overhead = tables.pool, tables.manifest.arguments.per_query
        found = [succession_of(each.sample, pool.indptr, pool.document_cost, overhead) for each in tables.rounds]
        self.successions = [each for each in found if each is not None]
        if len(self.successions) < len(tables.rounds):
            raise ArgumentError(
                f"the documents were drawn at once, by {tables.manifest.arguments.design}, so nothing can be proved "
                "after each label; use ",
                Argument("looks", ASYMPTOTIC),
                " after each round, or make a plan with ",
                Argument("design", "successive"),
            )

    @cached_property
    def _blocks(self) -> list[tuple[Succession, int, int]]:
        """For each round its order, and how many of its draws were asked for and are judged."""
        blocks, complete = [], True
        for each, order in zip(self.tables.rounds, self.successions, strict=True):
            drawn = int(np.searchsorted(order.ends, int(each.sample.drawn.sum()), side="right"))
            judged = int(np.searchsorted(order.ends, order.judged(self.label >= 0), side="right")) if complete else 0
            judged = min(judged, drawn)
            complete = complete and judged == drawn
            blocks.append((order, drawn, judged))
        return blocks

    @cached_property
    def progress(self) -> Progress:
        """How far the documents are judged."""
        pool, drawn = self.tables.pool, judged_before(self.tables.rounds)
        foreign_labels((self.label >= 0) & ~drawn, "documents")
        cost, count, used, waiting = [], [], np.zeros(len(drawn), dtype=bool), None
        for number, (order, asked, judged) in enumerate(self._blocks):
            end = len(order.ends) if number == len(self._blocks) - 1 else asked
            ends = np.r_[0, order.ends]
            cost.append(np.diff(np.r_[0.0, order.spent][ends])[:end])
            count.append(np.diff(ends)[:end])
            used[order.order[: ends[judged]]] = True
            if judged < asked and waiting is None:
                first = order.order[ends[judged]]
                waiting = f"document {pool.docno[first]} of query {pool.qids[pool.query_of_document[first]]}"
        return Progress(
            unit=self.successions[0].design.unit,
            cost=np.concatenate(cost),
            drawn=sum(asked for _, asked, _ in self._blocks),
            judged=sum(judged for _, _, judged in self._blocks),
            documents=np.concatenate(count),
            waiting=waiting,
            left_out=int((drawn & ~used & (self.label >= 0)).sum()),
        )

    def proof(self, contrast: Contrast, alpha: float) -> Proof:
        """What the judged documents say of a contrast.

        Args:
            contrast: A ranker, or the difference of two.
            alpha: The level of the bets, which are spread for it.

        Raises:
            ValueError: If the design never draws a document that counts.
        """
        blocks = list(self._proved(contrast))
        draws, units, _ = blocks[0]
        order, budget = self.successions[0], self.tables.manifest.arguments.budget
        price = np.diff(np.r_[0.0, order.spent[order.ends - 1]])
        # The cost of a step depends on what is known, so it counts with the mean.
        price = price if len(price) == len(units.rate) else np.full(len(units.rate), price.sum() / len(units.rate))
        planned = expected_size(units.rate, price, float(budget or 0))
        stakes = _stakes(units, planned, alpha)
        for later, _, _ in blocks[1:]:
            draws = draws.then(later)
        return Proof(draws, *blocks[-1][1:], stakes)

    def _proved(self, contrast: Contrast) -> Iterator[tuple[Draws, Units, int]]:
        """The draws, the units and the number of judged draws of each block, up to the last that is begun."""
        pool, known = self.tables.pool, np.zeros(len(self.label), dtype=bool)
        seen = seen_by(self.tables.measure, pool)
        weights = contrast.weights(len(pool.names))
        entries = self.tables.manifest.rounds
        for (order, drawn, judged), each, entry in zip(self._blocks, self.tables.rounds, entries, strict=True):
            form = _additive if order.design.unit != "step" else _cascade
            units, contribution = form(seen, each, order, np.where(known, self.label, -1), self.label, weights)
            draws = units.judged(contribution, judged)
            followed = each is not self.tables.rounds[-1] and judged == drawn
            if followed and _chosen_by_cost(order, drawn, entry.budget):
                draws = draws.without_next(units)
            yield draws, units, judged
            known |= each.sample.drawn
            if judged < drawn:
                return


def _chosen_by_cost(order: Succession, drawn: int, budget: float) -> bool:
    """Whether another unit might have been drawn than the one that would have overspent, so that costs tell of it."""
    if drawn == len(order.ends):
        return False
    spent = order.spent[order.ends - 1]
    cheapest = np.diff(np.r_[0.0, spent])[drawn:].min()
    # What a step costs depends on what is known, so any may have been left out.
    return order.design.unit == "step" or bool(within_budget(np.r_[0.0, spent][drawn] + cheapest, budget))


def _check_reached(missed: np.ndarray, what: str) -> None:
    if number := int(missed.sum()):
        raise ValueError(f"{number} {what} that can change the result are never drawn, so nothing can be proved")


def _stakes(units: Units, planned: float, alpha: float) -> Stakes:
    variance = float(units.expected[0]) if len(units.expected) else 1.0
    return Stakes.planned(variance, len(units.drawn_at), planned, alpha)


def _additive(
    seen: DocumentPool, each: Round, order: Succession, before: np.ndarray, label: np.ndarray, weights: np.ndarray
) -> tuple[Units, np.ndarray]:
    """The units of an additive measure, documents or whole queries, and what the labelled ones contribute.

    Args:
        seen: The pool as the measure sees it.
        each: The round.
        order: Its order.
        before: int64[N], the labels that were known before the round; -1 elsewhere.
        label: int64[N], all labels; -1 where there is none.
        weights: float64[k], the contrast.
    """
    variables = Variables.of(seen.form, each.grades, before)
    weight = seen.weight[seen.query] * (weights @ discounts(seen.form, seen.ranks))
    documents, ends = order.order, order.ends
    ahead = np.zeros(len(weight), dtype=bool)
    ahead[documents] = True
    _check_reached((weight != 0) & ~ahead & ~variables.known, "documents")
    low, high = document_bounds(seen.form, weight)
    spread = weight**2 * hedged(variables, weight[None], 1.0).variance + _RANGE_VARIANCE * (high - low) ** 2
    starts = np.r_[0, ends[:-1]]

    def by_unit(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values[documents], starts)

    settled = float((weight * variables.mean)[variables.known].sum())
    rate = _rates(order)[documents][starts]
    mean, spread, low, high = map(by_unit, (weight * variables.mean, spread, low, high))
    units = Units.one_by_one(rate, mean, spread, low, high, settled)
    return units, by_unit(weight * np.where(label >= 0, seen.form.values[label], np.nan))


def _cascade(
    seen: DocumentPool, each: Round, order: Succession, before: np.ndarray, label: np.ndarray, weights: np.ndarray
) -> tuple[Units, np.ndarray]:
    """The steps of a cascade, and by how much the labelled ones change its expectation; see `_additive`.

    A step that has no rate of its own is taken together with the next deeper one. The label of a document changes the
    expectation by ``(κ − μ) D``, where D of each ranker lies between 0 and the weight of its rank.
    """
    variables, price = Variables.of(seen.form, each.grades, before), seen.weight[seen.query]
    documents, rate = order.design.order, _rates(order)[order.design.order]
    query = seen.query[documents]
    own = rate - np.r_[np.where(query[1:] == query[:-1], rate[1:], 0.0), 0.0]
    ends = np.flatnonzero(own > 0)
    starts = np.r_[0, ends[:-1] + 1]
    labelled = documents[label[documents] >= 0]
    observed = np.where(label >= 0, seen.form.values[label], variables.mean)
    change = np.full(len(price), np.nan)
    change[labelled] = (weights @ steps(seen, labelled, variables.mean, observed))[labelled] * price[labelled]
    reach = discounts(seen.form, seen.ranks)
    least, most = (price * (np.where(sign * weights > 0, weights, 0.0) @ reach) for sign in (-1, 1))
    below, above = -variables.mean, seen.form.values.max() - variables.mean
    corners = np.stack([most * above, most * below, least * above, least * below])
    low, high = corners.min(axis=0), corners.max(axis=0)
    spread = (price * (weights @ seen.gradients(variables.mean))) ** 2 * variables.variance
    spread = spread + _RANGE_VARIANCE * (high - low) ** 2
    low, high, spread, change = (np.add.reduceat(part[documents], starts) for part in (low, high, spread, change))
    turn = np.unique(order.priority[documents[ends]], return_inverse=True)[1]
    # A draw makes several steps known; the one that was drawn is the deepest of them.
    drawn = np.zeros(turn.max() + 1, dtype=np.int64)
    drawn[turn] = np.arange(len(ends))
    settled = float(seen.weight @ (seen.values(variables.mean) @ weights))
    return Units(own[ends], np.zeros(len(ends)), spread, low, high, turn, drawn, settled), change


def _rates(order: Succession) -> np.ndarray:
    rate = order.design.rate
    if rate is None:
        raise ValueError("the documents have no rates")
    return rate


def sequence_of(tables: PlanTables, label: np.ndarray, measure: irm.Measure) -> QuerySequence | DocumentSequence:
    """The order in which the units of a plan come, with the labels so far.

    Args:
        tables: The plan's content.
        label: int64[N], -1 where there is none.
        measure: What is measured; in plans of documents it is the plan's own.

    Raises:
        ValueError: If the plan has no successive order.
    """
    return DocumentSequence(tables, label) if tables.rounds else QuerySequence(tables, label, measure)
