"""What did looks at a plan show that are planned or asymptotic, and when are the next [theory 9, 10]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, product
from typing import Any, NamedTuple

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import Argument, ArgumentError, level, positive
from pt_active.inference.estimators import ESTIMATOR, Controls, estimator_named
from pt_active.inference.new_queries import NEW, SHARE_OF_LABELS, THESE
from pt_active.inference.rounds import judged_before, pool_sizes
from pt_active.inference.stopping.boundaries import SPENDING
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import (
    ALWAYS,
    ASYMPTOTIC,
    Looks,
    check_looks,
    critical_values,
    information,
    look_sizes,
    needed_degrees,
    nested_estimates,
)
from pt_active.inference.ties import is_rounding, settled
from pt_active.plans.answers.judged import Contrast, How, inferred
from pt_active.plans.answers.judged_documents import JudgedDocuments, judged_documents
from pt_active.plans.making.documents import round_settings
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import judged_values, model_means
from pt_active.plans.making.parts import in_parts, rounds_of_parts
from pt_active.plans.making.pool import graded_pool
from pt_active.plans.making.queries import DrawingOrder, queries_judged
from pt_active.plans.making.sampled import sampled

_MAX_FUTURE_LOOKS = 50
"""Looks to come that are simulated, at most."""

_N_FURTHER_BUDGETS = 50
"""Sizes of a further round for which errors are foreseen."""

_MAX_COMPLETIONS = 32
"""Sets of labels that the gaps of a part may turn out to have, at most; with more, the part does not count."""

USUAL = "usual"
"""The looks if none are asked for: after each part of a plan that comes in parts, and at any time for others."""

PLANNED = "obrien-fleming"
"""How the error is spent over the parts of a plan."""


def looks_asked(tables: PlanTables, looks: str | None) -> str | None:
    """The looks that are meant for a plan."""
    if looks != USUAL:
        return looks
    return PLANNED if in_parts(tables) else ALWAYS


@dataclass(frozen=True)
class Question:
    """What a status answers: of which ranker or pair, by which looks, margin and level, for which queries.

    ``bridged`` says whether gaps are, and ``pairs`` how many pairs share the level.
    """

    pair: tuple[int, ...]
    measure: irm.Measure
    looks: str | None
    margin: float | None
    confidence: float
    bridged: bool = True
    queries: str = THESE
    clusters: str | None = None
    pairs: int = 1

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        check_looks(self.looks)
        if self.margin is not None:
            positive("margin", self.margin)
        if len(self.pair) == 1 and self.margin is None:
            raise ArgumentError(
                "the plan has one ranker: pass ", Argument("margin", asked=True), ", how far off its estimate may be"
            )

    @property
    def compared(self) -> bool:
        """Whether two rankers are compared, rather than one estimated."""
        return len(self.pair) > 1

    @property
    def contrast(self) -> Contrast:
        """The first ranker minus the second, or the only one."""
        return Contrast(*self.pair)

    @property
    def how(self) -> How[irm.Measure]:
        """What is asked of the labels."""
        return How(self.measure, confidence=1 - self.level, queries=self.queries, clusters=self.clusters)

    @property
    def turned(self) -> Question:
        """The same question about the other queries."""
        return replace(self, queries=THESE if self.queries == NEW else NEW)

    @property
    def level(self) -> float:
        """The probability of an error that the answer may have; ``pairs`` of them share that of all together."""
        return (1 - self.confidence) / self.pairs

    @property
    def alpha(self) -> float:
        """The part of it that is spent on the labels [theory 16]."""
        return self.level * (SHARE_OF_LABELS if self.queries == NEW else 1)

    def critical(self, looks: str | None, sizes: np.ndarray, time: np.ndarray) -> np.ndarray:
        """How many standard errors the interval of each look is wide, float64[L]."""
        return critical_values(looks, sizes, time, self.alpha)


class Growth(NamedTuple):
    """The looks at a sample so far, those to come within the plan, and one at each of several larger budgets.

    ``counts`` are the fields of `Status` from ``unit`` to ``next_look``, and ``everything``.
    """

    past: Looks
    plan: Looks
    rest: Looks
    counts: dict[str, Any]
    least: int  # How many degrees of freedom an interval needs


def growing(tables: PlanTables, label: np.ndarray, looks: str | None, bridged: bool = False) -> Growing:
    """The units of a plan as they become judged, which all its rankers and pairs share.

    ``bridged`` says whether parts count in which a few labels lack; the worst case of these is assumed.
    """
    return _Rounds(tables, label, looks, bridged) if tables.rounds else _QueriesInOrder(tables, label, looks)


def growth_of(sample: Growing, question: Question) -> Growth:
    """The looks at a plan."""
    label, sizes, spent, reach, drawn = sample.label, sample.sizes, sample.spent, sample.reach, sample.drawn
    critical = question.critical(question.looks, sizes, sample.time)
    passed = int((sizes <= reach).sum())
    planned = _without_labels(spent[sizes - 1], sample.time, critical)
    cost, numbers, time = sample.further
    wanted, used, judged = sample.first(drawn), sample.first(reach) & (label >= 0), reach - sample.open
    unpaid = float(sample.tables.pool.document_cost[sample.first(reach) & (label < 0)].sum())
    counts = {
        "unit": sample.unit,
        "n_judged": int(used.sum()),
        "left_out": int((wanted & ~used & (label >= 0)).sum()),
        "judged": judged,
        "open": sample.open,
        "drawn": drawn,
        "waiting": sample.named(judged) if judged < drawn else None,
        "spent": float(spent[reach - 1]) - unpaid if reach else 0.0,
        "budget": float(spent[drawn - 1]),
        "next_look": int(sizes[passed]) if passed < len(sizes) else None,
        "everything": sample.everything,
    }
    # The planned looks are over by then.
    later = ASYMPTOTIC if question.looks == ASYMPTOTIC else None
    return Growth(
        past=sample.past(planned.part(slice(passed)), sizes[:passed], question),
        plan=_to_come(planned.cost[passed:], planned.time[passed:], critical[passed:]),
        rest=_to_come(cost, time, question.critical(later, numbers, time)),
        counts=counts,
        least=sample.least,
    )


def _to_come(cost: np.ndarray, time: np.ndarray, critical: np.ndarray) -> Looks:
    """Future looks, of which only cost and information are known; at most `_MAX_FUTURE_LOOKS` of them are kept."""
    some = np.unique(np.linspace(0, len(cost) - 1, min(_MAX_FUTURE_LOOKS, len(cost))).astype(np.int64))
    return _without_labels(cost[some], time[some], critical[some])


def _without_labels(cost: np.ndarray, time: np.ndarray, critical: np.ndarray) -> Looks:
    unknown = np.full(len(cost), np.nan)
    return Looks(cost, time, unknown, unknown, unknown, critical, np.zeros(len(cost)))


def _refuse_planned(looks: str | None, why: str) -> None:
    """Raise if looks were asked for that are planned."""
    if looks not in (None, ASYMPTOTIC):
        fixed = " needs to know from the start how many looks there will be, but "
        raise ArgumentError(Argument("looks", looks), fixed + why, Argument("looks", ASYMPTOTIC))


class _QueriesInOrder:
    """Queries in the order in which they were drawn, with what they cost together and how far they are judged."""

    unit, open = "query", 0

    def __init__(self, tables: PlanTables, label: np.ndarray, looks: str | None) -> None:
        self.least = needed_degrees(looks)
        order, extensions = DrawingOrder.of(tables), tables.manifest.extensions
        if cut := tables.manifest.cut:
            order = replace(order, drawn=cut.of)
        self.tables, self.label = tables, label
        if extensions:
            _refuse_planned(looks, "the plan was extended; use ")
        self.order, self.drawn, self.spent = order, order.drawn, np.cumsum(order.cost)
        self.counted = tables.pool.seen(tables.measure)
        self.reach = queries_judged(tables.pool, self.label, tables.measure, order)
        self.everything = float(tables.manifest.pool_cost)
        self.sizes = sizes = look_sizes(looks, order.drawn)
        if looks in SPENDING:
            # Error is spent on the looks alone that can be expected to have an interval, and on the last one.
            degrees = np.array([order.curve.degrees_of_freedom(float(self.spent[size - 1])) for size in sizes])
            self.sizes = sizes[(degrees >= self.least) | (sizes == sizes[-1])]
        # The unit stays that of the plan before its extensions, so that they do not change the intervals of past looks.
        self._unit = self.spent[order.drawn - sum(each.queries for each in extensions) - 1]
        self.time = information(order.curve, self.spent[self.sizes - 1], self._unit)

    def first(self, number: int) -> np.ndarray:
        """bool[N], the documents of the first units."""
        inside = np.zeros(len(self.tables.pool.queries), dtype=bool)
        inside[self.order.rows[:number]] = True
        return np.asarray(inside[self.tables.pool.query_of_document] & self.counted)

    def named(self, number: int) -> str:
        return f"query {self.tables.pool.qids[self.order.rows[number]]}"

    def past(self, looks: Looks, sizes: np.ndarray, question: Question) -> Looks:
        """Looks with the estimate at each."""
        tables, order = self.tables, self.order
        first = order.rows[: sizes[-1] if len(sizes) else 0]
        expected = model_means(tables, question.measure)
        values = judged_values(tables.pool, self.label, question.measure, first)
        contrast, weight = question.contrast, tables.pool.query_weight
        estimates = nested_estimates(
            estimator_named(ESTIMATOR).weigh,
            (order.first(size) for size in sizes.tolist()),
            Controls(weight, contrast.of(expected)),
            contrast.of(values),
        )
        largest = np.maximum.accumulate(contrast.size(values))[sizes - 1]
        scale = largest + np.nan_to_num(contrast.size(expected)) @ weight
        still = is_rounding(estimates.standard_error, scale)
        error = np.where(np.isinf(looks.time), 0.0, np.where(still, np.nan, estimates.standard_error))
        degrees = estimates.degrees_of_freedom
        critical = np.where(degrees >= self.least, looks.critical, np.inf)
        value = settled(estimates.value, scale)
        return replace(looks, value=value, standard_error=error, degrees=degrees, critical=critical)

    @cached_property
    def further(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost, number and information of samples that are larger than the plan's."""
        more = np.unique(np.linspace(self.drawn, len(self.spent), _N_FURTHER_BUDGETS).astype(np.int64))[1:]
        cost = self.spent[more - 1]
        return cost, more, information(self.order.curve, cost, self._unit)


class _Rounds:
    """Rounds of documents, with one look after each, or the parts of the only one."""

    def __init__(self, tables: PlanTables, label: np.ndarray, looks: str | None, bridged: bool) -> None:
        self.tables, self.label = tables, label
        self._known: dict[tuple[int, int], JudgedDocuments] = {}
        self._found: dict[tuple[object, ...], np.ndarray] = {}
        rounds, least = list(tables.rounds), needed_degrees(looks)
        # What is judged at each look. In parts, the t quantiles of early looks make up for few degrees of freedom.
        if in_parts(tables):
            self.unit, self.least = "part", 0 if looks in SPENDING else least
            self._samples = [[each] for each in rounds_of_parts(tables)]
        else:
            _refuse_planned(looks, "a plan of documents can always be extended; use ")
            self.unit, self.least = "round", least
            self._samples = list(accumulate([each] for each in rounds))
        self.drawn = len(self._samples)
        self.reach, self.open = self._judged(bridged and self.unit == "part")
        self.spent = np.array([sum(each.sample.spent for each in some) for some in self._samples])
        self.sizes = look_sizes(looks, self.drawn)
        expected = np.array([each.expected for each in rounds])
        # The variance whose inverse is one unit of information; it is infinite if all that matters is judged.
        self._unit = expected[0] if expected[0] > 0 else 1.0
        with np.errstate(divide="ignore"):
            self._clock = np.array(
                [sum(self._unit / np.maximum(e.expected, 0.0) for e in some) for some in self._samples]
            )
        self.time = self._clock[self.sizes - 1]

    def first(self, number: int) -> np.ndarray:
        return judged_before(self._samples[number - 1]) if number else np.zeros(len(self.label), dtype=bool)

    def _judged(self, bridged: bool) -> tuple[int, int]:
        """How many of the samples count, and how many of these have gaps: documents before the last part with labels.

        The one with gaps counts if few sets of labels complete it, since all of them are tried.
        """
        first = [judged_before(each) for each in self._samples]
        lacking = [each & (self.label < 0) for each in first]
        begun = int(np.argmax([(each & (self.label >= 0)).sum() for each in first]))
        gaps = lacking[begun - 1] if bridged and begun else np.zeros_like(first[0])
        grades = self.tables.pool.max_grade + 1
        few = [not (each & ~gaps).any() and grades ** int(each.sum()) <= _MAX_COMPLETIONS for each in lacking]
        reach = int(np.sum(few))
        return reach, int(np.count_nonzero(np.diff([each.sum() for each in lacking[:reach]], prepend=0)))

    def named(self, number: int) -> str:
        if self.open == 0:
            return f"{self.unit} {number + 1}"
        pool, place = self.tables.pool, sampled(self.tables).place
        rows = np.flatnonzero(self.first(self.reach) & (self.label < 0))
        gap = rows[np.argmin(place[rows])]
        return f"document {pool.docno[gap]} of query {pool.qids[pool.query_of_document[gap]]}"

    def past(self, looks: Looks, sizes: np.ndarray, question: Question) -> Looks:
        """Looks with the estimate at each; its error is NaN if it cannot be estimated.

        Where labels lack, it is the middle of the estimates with all labels that they may have.
        """
        for size in sizes.tolist():
            if (size, question.pair) not in self._found:
                self._found[size, question.pair] = self._inferences(size, question)
        several = [self._found[size, question.pair] for size in sizes.tolist()]
        low, high = (np.array([of(each, axis=0) for each in several]).reshape(-1, 3) for of in (np.min, np.max))
        value, open_ = (low[:, 0] + high[:, 0]) / 2, (high[:, 0] - low[:, 0]) / 2
        error, degrees = high[:, 1], low[:, 2]
        critical = np.where(degrees >= self.least, looks.critical, np.inf)
        return replace(looks, value=value, standard_error=error, degrees=degrees, critical=critical, open=open_)

    def _inferences(self, rounds: int, question: Question) -> np.ndarray:
        """float64[C, 3], what `_inference` says with each set of labels that completes the first rounds."""
        label = np.where(self.first(rounds), self.label, -1)
        rows = np.flatnonzero(self.first(rounds) & (label < 0))
        found = []
        for number, grades in enumerate(product(range(self.tables.pool.max_grade + 1), repeat=len(rows))):
            label[rows] = grades
            found.append(self._inference((rounds, number), label, question))
        return np.array(found)

    def _inference(self, key: tuple[int, int], label: np.ndarray, question: Question) -> tuple[float, float, float]:
        """Estimate, standard error and degrees of freedom after the first rounds, by their labels int64[N]."""
        how = How(question.measure, ESTIMATOR, reference="effective")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if key not in self._known:
                found = judged_documents(self.tables, self._samples[key[0] - 1], label.copy(), how)
                # All looks share what the pool keeps for the next question.
                pool = next(iter(self._known.values()), found).pool
                self._known[key] = replace(found, pool=pool)
            measured = self._known[key].measured(question.contrast, how)
        fields = inferred(measured, how)
        error = np.nan if fields["degenerate"] else fields["standard_error"]
        return measured.value, error, fields["degrees_of_freedom"]

    @property
    def everything(self) -> float:
        """What all documents cost that can change the result."""
        return float(self.spent[-1]) + (self._left[1] if self._can_go_on else 0.0)

    @property
    def _can_go_on(self) -> bool:
        return self._left[1] > 0 and bool(np.isfinite(self._clock[-1]))

    @cached_property
    def further(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One further round in several sizes; the information that it adds is what the model expects, as before."""
        if not self._can_go_on:
            return np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)
        left, total = self._left
        more = np.linspace(0, total, _N_FURTHER_BUDGETS + 1)[1:]
        variance = np.array([*(left.variance(float(budget)) for budget in more[:-1]), 0.0])
        with np.errstate(divide="ignore"):
            return self.spent[-1] + more, np.arange(1, len(more) + 1), self._clock[-1] + self._unit / variance

    @cached_property
    def _left(self) -> tuple[ErrorCurve, float]:
        """The expected errors of a further round by its cost, and what all documents cost that matter to the result."""
        pool, arguments = self.tables.pool, self.tables.manifest.arguments
        graded = graded_pool(pool, self.tables.measure, arguments.per_query)
        drawn = judged_before(self.tables.rounds)
        known = np.where(drawn, self.label, -1)
        sizes = pool_sizes(graded, round_settings(arguments, pool.names), pool.grades, known)
        rows = sizes.order[~drawn[sizes.order]]
        cost, query = pool.document_cost[rows], pool.query_of_document[rows]
        matter = sizes.gain[rows] > 0
        total = cost[matter].sum() + graded.per_query * len(np.unique(query[matter]))
        curve = ErrorCurve.of_documents(
            sizes.size[rows], sizes.gain[rows], cost, query, graded.per_query, together=True, opening=sizes.opening
        )
        return curve, float(total)


Growing = _QueriesInOrder | _Rounds
