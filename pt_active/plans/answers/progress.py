"""How far is a plan judged, and what do the labels say at each look [theory 9, 10]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import Argument, ArgumentError, level, positive
from pt_active.frames.qrels import whole_labels
from pt_active.inference.estimators import ESTIMATOR, Controls, estimator_named
from pt_active.inference.rounds import judged_before, pool_sizes
from pt_active.inference.stopping.boundaries import SPENDING
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import (
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
from pt_active.plans.answers.judged_documents import judged_documents
from pt_active.plans.making.documents import round_settings, rounds_judged
from pt_active.plans.making.kept import PlanTables, check_whole
from pt_active.plans.making.labelled import foreign_labels, judged_values, model_means
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.plans.making.queries import DrawingOrder, queries_judged

_MAX_FUTURE_LOOKS = 50
"""Looks to come that are simulated, at most."""

_N_FURTHER_BUDGETS = 50
"""Sizes of a further round for which errors are foreseen."""


@dataclass(frozen=True)
class Question:
    """The question that a status answers.

    Attributes:
        pair: Indices of the two rankers, or of the only one.
        measure: As `parse_measure` returns it.
        looks: One of `looks.look_names`, or None.
        margin: Differences up to this do not matter; for a single ranker, how far off its estimate may be. None if it
            was not given.
        confidence: Level of all intervals together.
        bridged: Whether units count that come after one that is not fully judged, in looks at any time by bets.

    Raises:
        ValueError: If the level or the margin is out of range, the looks are unknown, or there is one ranker and no
            margin.
    """

    pair: tuple[int, ...]
    measure: irm.Measure
    looks: str | None
    margin: float | None
    confidence: float
    bridged: bool = True

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        check_looks(self.looks)
        if self.margin is not None:
            positive("margin", self.margin)
        if len(self.pair) == 1 and self.margin is None:
            raise ArgumentError(
                "the plan has one ranker: say ", Argument("margin", asked=True), ", how far off its estimate may be"
            )

    @property
    def compared(self) -> bool:
        """Whether two rankers are compared, rather than one estimated."""
        return len(self.pair) > 1

    @property
    def contrast(self) -> Contrast:
        """The first ranker minus the second, or the only one."""
        return Contrast(*self.pair)


@dataclass(frozen=True)
class Growth:
    """The looks at a sample: those so far, those to come, and those of larger samples.

    Attributes:
        past: The looks that have passed.
        plan: The looks to come within the plan.
        rest: One look at each of several larger budgets, up to the whole pool.
        counts: The fields of `Status` from ``unit`` to ``next_look``, and ``everything``.
    """

    past: Looks
    plan: Looks
    rest: Looks
    counts: dict[str, Any]


def to_come(cost: np.ndarray, time: np.ndarray, critical: np.ndarray) -> Looks:
    """Future looks, of which only cost and information are known; at most `_MAX_FUTURE_LOOKS` of them are kept.

    Shapes: cost, time, critical float64[L].
    """
    some = np.unique(np.linspace(0, len(cost) - 1, min(_MAX_FUTURE_LOOKS, len(cost))).astype(np.int64))
    return _without_labels(cost[some], time[some], critical[some])


def _without_labels(cost: np.ndarray, time: np.ndarray, critical: np.ndarray) -> Looks:
    unknown = np.full(len(cost), np.nan)
    return Looks(cost, time, unknown, unknown, unknown, critical)


def grown_queries(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Growth:
    """The looks at a sample of queries."""
    if question.looks is not None:
        check_whole(tables, "be looked at before all is judged", "ask at the end: ", Argument("looks", None))
    order, extensions = DrawingOrder.of(tables), tables.manifest.extensions
    if cut := tables.manifest.cut:
        order = replace(order, drawn=cut.of)
    if extensions and question.looks not in (None, ASYMPTOTIC):
        raise ArgumentError(
            Argument("looks", question.looks),
            " needs to know from the start how many looks there will be, but the plan was extended; use ",
            Argument("looks", ASYMPTOTIC),
        )
    label = whole_labels(tables.pool.keys, qrels)
    judged = queries_judged(tables.pool, label, question.measure, order)
    spent = np.cumsum(order.cost)
    sizes = _large_enough(look_sizes(question.looks, order.drawn), order, spent, question.looks)
    # The unit stays that of the plan before its extensions, so that they do not change the intervals of past looks.
    unit = spent[order.drawn - sum(each.queries for each in extensions) - 1]
    time = information(order.curve, spent[sizes - 1], unit)
    critical = critical_values(question.looks, sizes, time, 1 - question.confidence)
    passed = int((sizes <= judged).sum())
    planned = _without_labels(spent[sizes - 1], time, critical)
    return Growth(
        past=_past(planned.part(slice(passed)), tables, label, question, order, sizes[:passed]),
        plan=to_come(planned.cost[passed:], time[passed:], critical[passed:]),
        rest=_rest_of_queries(order, question, unit, tables.manifest.rest is None),
        counts={
            **_labels_of_queries(tables.pool, label, question, order, judged),
            "judged": judged,
            "drawn": order.drawn,
            "waiting": f"query {tables.pool.qids[order.rows[judged]]}" if judged < order.drawn else None,
            "spent": float(spent[judged - 1]) if judged else 0.0,
            "budget": float(spent[order.drawn - 1]),
            "next_look": int(sizes[passed]) if passed < len(sizes) else None,
            "everything": float(tables.manifest.pool_cost),
        },
    )


def _large_enough(sizes: np.ndarray, order: DrawingOrder, spent: np.ndarray, looks: str | None) -> np.ndarray:
    """int64[L], the looks that can be expected to have an interval, and the last one in any case.

    Planned looks would otherwise spend error on looks that have none.
    """
    if looks not in SPENDING:
        return sizes
    degrees = np.array([order.curve.degrees_of_freedom(float(spent[size - 1])) for size in sizes])
    return sizes[(degrees >= needed_degrees(looks)) | (sizes == sizes[-1])]


def _past(
    looks: Looks, tables: PlanTables, label: np.ndarray, question: Question, order: DrawingOrder, sizes: np.ndarray
) -> Looks:
    """The looks so far, with the estimate at each."""
    first = order.rows[: sizes[-1] if len(sizes) else 0]
    expected, values = model_means(tables, question.measure), judged_values(tables.pool, label, question.measure, first)
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
    critical = np.where(degrees >= needed_degrees(question.looks), looks.critical, np.inf)
    value = settled(estimates.value, scale)
    return replace(looks, value=value, standard_error=error, degrees=degrees, critical=critical)


def _rest_of_queries(order: DrawingOrder, question: Question, unit: float, whole: bool) -> Looks:
    """Samples that are larger than the plan's, with one look at each: the planned looks are over by then.

    ``unit`` is the cost whose information is 1. There are none if the plan does not keep its ``whole`` population.
    """
    spent = np.cumsum(order.cost)
    beyond = np.unique(np.linspace(order.drawn, len(spent), _N_FURTHER_BUDGETS).astype(np.int64))[1:]
    if not whole:
        beyond = beyond[:0]
    time = information(order.curve, spent[beyond - 1], unit)
    looks = ASYMPTOTIC if question.looks == ASYMPTOTIC else None
    return to_come(spent[beyond - 1], time, critical_values(looks, beyond, time, 1 - question.confidence))


def _labels_of_queries(
    pool: Pool, label: np.ndarray, question: Question, order: DrawingOrder, judged: int
) -> dict[str, object]:
    """The unit, the number of labels that are used, and the number of those beyond the first gap."""
    place = np.full(len(pool.queries), len(order.rows))
    place[order.rows] = np.arange(len(order.rows))
    document = place[pool.query_of_document]
    has = (label >= 0) & pool.seen(question.measure)
    foreign_labels(has & (document >= order.drawn), "queries")
    left_out = has & (document >= judged) & (document < order.drawn)
    return {"unit": "query", "n_judged": int((has & (document < judged)).sum()), "left_out": int(left_out.sum())}


def grown_documents(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Growth:
    """The looks at a sample of documents, one after each round."""
    if question.looks not in (None, ASYMPTOTIC):
        raise ArgumentError(
            Argument("looks", question.looks),
            " needs to know from the start how many looks there will be, but a plan of documents can always be "
            "extended; use ",
            Argument("looks", ASYMPTOTIC),
        )
    rounds, label = tables.rounds, whole_labels(tables.pool.keys, qrels)
    foreign_labels((label >= 0) & ~judged_before(rounds), "documents")
    judged = rounds_judged(rounds, label)
    spent, sizes = np.cumsum([each.sample.spent for each in rounds]), look_sizes(question.looks, len(rounds))
    time = _information(tables)
    critical = critical_values(question.looks, sizes, time[sizes - 1], 1 - question.confidence)
    passed = int((sizes <= judged).sum())
    at = sizes - 1
    inferences = [_inference(tables, label, question, size) for size in sizes[:passed].tolist()]
    value, error, degrees = np.array(inferences).reshape(-1, 3).T
    large = np.where(degrees >= needed_degrees(question.looks), critical[:passed], np.inf)
    past = Looks(spent[at][:passed], time[at][:passed], value, error, degrees, large)
    rest = _rest_of_documents(tables, label, float(spent[-1]), float(time[-1]), question)
    return Growth(
        past=past,
        plan=to_come(spent[at][passed:], time[at][passed:], critical[passed:]),
        rest=rest,
        counts={
            **_labels_of_documents(tables, label, judged),
            "judged": judged,
            "drawn": len(rounds),
            "waiting": f"round {judged + 1}" if judged < len(rounds) else None,
            "spent": float(spent[judged - 1]) if judged else 0.0,
            "budget": float(spent[-1]),
            "next_look": int(sizes[passed]) if passed < len(sizes) else None,
            "everything": _everything(tables, rest, float(spent[-1])),
        },
    )


def _everything(tables: PlanTables, rest: Looks, spent: float) -> float:
    """What all documents cost that can change the result."""
    if tables.manifest.rest is not None:
        return spent + tables.manifest.rest.further
    return float(rest.cost[-1]) if len(rest.cost) else spent


def _information(tables: PlanTables) -> np.ndarray:
    """float64[r], the information after each round, relative to the first; infinite if all that matters is judged."""
    expected = np.array([each.expected for each in tables.rounds])
    with np.errstate(divide="ignore"):
        return np.asarray(np.cumsum(_unit(tables) / np.maximum(expected, 0.0)))


def _unit(tables: PlanTables) -> float:
    """The variance whose inverse is one unit of information."""
    expected = tables.rounds[0].expected
    return expected if expected > 0 else 1.0


def _inference(tables: PlanTables, label: np.ndarray, question: Question, rounds: int) -> tuple[float, float, float]:
    """Estimate, standard error (NaN if it cannot be estimated) and degrees of freedom after the first rounds."""
    so_far, how = tables.rounds[:rounds], How(question.measure, ESTIMATOR, question.confidence, reference="effective")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judged = judged_documents(
            tables.pool, so_far, np.where(judged_before(so_far), label, -1), 0, how, rest=tables.manifest.rest
        )
        measured = judged.measured(question.contrast, how)
    fields = inferred(measured, how)
    return measured.value, np.nan if fields["degenerate"] else fields["standard_error"], fields["degrees_of_freedom"]


def _rest_of_documents(tables: PlanTables, label: np.ndarray, spent: float, time: float, question: Question) -> Looks:
    """One further round in several sizes, up to all documents that are left and can change the result.

    The information that it adds is what the model expects, as for the rounds so far.
    """
    if tables.manifest.rest is not None:
        return to_come(*np.empty((3, 0)))
    left, total = _left(tables, label)
    possible = total > 0 and bool(np.isfinite(time))
    more = np.linspace(0, total, _N_FURTHER_BUDGETS + 1)[1:] if possible else np.empty(0)
    variance = np.array([left.variance(float(budget)) for budget in more[:-1]] + [0.0] * possible)
    with np.errstate(divide="ignore"):
        clock = time + _unit(tables) / variance
    critical = critical_values(question.looks, np.arange(1, len(more) + 1), clock, 1 - question.confidence)
    return to_come(spent + more, clock, critical)


def _left(tables: PlanTables, label: np.ndarray) -> tuple[ErrorCurve, float]:
    """The expected errors of a further round over its cost, and what all documents cost that can change the result."""
    pool, arguments = tables.pool, tables.manifest.arguments
    graded = graded_pool(pool, tables.measure, arguments.per_query)
    drawn, last = judged_before(tables.rounds), tables.manifest.rounds[-1]
    known = np.where(drawn, label, -1)
    sizes = pool_sizes(graded, round_settings(arguments, pool.names), pool.grades, known, last.budget)
    rows = sizes.order[~drawn[sizes.order]]
    cost, query = pool.document_cost[rows], pool.query_of_document[rows]
    matter = sizes.gain[rows] > 0
    total = cost[matter].sum() + graded.per_query * len(np.unique(query[matter]))
    curve = ErrorCurve.of_documents(
        sizes.size[rows], sizes.gain[rows], cost, query, graded.per_query, together=True, opening=sizes.opening
    )
    return curve, float(total)


def _labels_of_documents(tables: PlanTables, label: np.ndarray, judged: int) -> dict[str, object]:
    """The unit, the number of labels that are used, and the number of those after the last fully judged round."""
    drawn = judged_before(tables.rounds)
    used = judged_before(tables.rounds[:judged]) if judged else np.zeros(len(label), dtype=bool)
    return {"unit": "round", "n_judged": int(used.sum()), "left_out": int((drawn & ~used & (label >= 0)).sum())}
