"""How many rounds of documents are judged: each is a look [theory 9, 10].

A round's estimate is unbiased given all that was known when it was drawn, and its weight was known by then; so the
weighted sum of the errors is a martingale, and information adds up over rounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from pt_active.budget import ErrorCurve
from pt_active.documents.judged import JudgedDocuments, judged_documents
from pt_active.documents.planning import round_settings
from pt_active.documents.rounds import Round, judged_before, pool_sizes
from pt_active.documents.tables import graded_pool
from pt_active.growth import ESTIMATOR, Growth, Question, foreign_labels, to_come
from pt_active.labels import whole_labels
from pt_active.measures import parse_measure
from pt_active.plan_tables import PlanTables
from pt_active.results import Comparison, Estimate
from pt_active.sequential import Looks, critical_values, look_sizes

_AHEAD = 50
"""Sizes of a further round that are looked at."""


def grown_documents(tables: PlanTables, qrels: pd.DataFrame, question: Question) -> Growth:
    """A sample of documents in rounds.

    Args:
        tables: Of the plan.
        qrels: As `frames.checked_qrels` returns them.
        question: What is asked.

    Raises:
        ValueError: If looks are planned, whose number would have to be known from the start, or are unknown.
    """
    if question.looks not in (None, "always"):
        raise ValueError(
            f"looks={question.looks!r} needs to know from the start how many looks there will be, and a plan of "
            'documents can always be extended; say looks="always"'
        )
    rounds, label = tables.rounds, whole_labels(tables.pool.keys, qrels)
    foreign_labels((label >= 0) & ~judged_before(rounds), "documents")
    judged = rounds_judged(rounds, label)
    spent, sizes = np.cumsum([each.sample.spent for each in rounds]), look_sizes(question.looks, len(rounds))
    time = _information(tables)
    critical = critical_values(question.looks, sizes, time[sizes - 1], 1 - question.confidence)
    passed = int((sizes <= judged).sum())
    at = sizes - 1
    found = [_inference(tables, qrels, question, size) for size in sizes[:passed].tolist()]
    value, error, degrees = np.array(found).reshape(-1, 3).T
    past = Looks(spent[at][:passed], time[at][:passed], value, error, degrees, critical[:passed])
    rest = _rest(tables, label, float(spent[-1]), float(time[-1]), question)
    return Growth(
        past=past,
        plan=to_come(spent[at][passed:], time[at][passed:], critical[passed:]),
        rest=rest,
        counts={
            **_labels(tables, label, judged),
            "judged": judged,
            "drawn": len(rounds),
            "waiting": f"round {judged + 1}" if judged < len(rounds) else None,
            "spent": float(spent[judged - 1]) if judged else 0.0,
            "budget": float(spent[-1]),
            "next_look": int(sizes[passed]) if passed < len(sizes) else None,
            "everything": float(rest.cost[-1]) if len(rest.cost) else float(spent[-1]),
        },
    )


def rounds_judged(rounds: Sequence[Round], label: np.ndarray) -> int:
    """How many rounds are fully judged, up to the first gap.

    Args:
        rounds: In order.
        label: int64[N], -1 where there is none.
    """
    return sum(1 for _ in takewhile(lambda each: bool((label[each.sample.drawn] >= 0).all()), rounds))


def _information(tables: PlanTables) -> np.ndarray:
    """float64[r], after each round, in units of the first; infinite once all that matters is judged."""
    expected = np.array([each.expected for each in tables.rounds])
    with np.errstate(divide="ignore"):
        return np.asarray(np.cumsum(_unit(tables) / np.maximum(expected, 0.0)))


def _unit(tables: PlanTables) -> float:
    """The variance whose inverse is one unit of information."""
    expected = tables.rounds[0].expected
    return expected if expected > 0 else 1.0


def _inference(tables: PlanTables, qrels: pd.DataFrame, question: Question, rounds: int) -> tuple[float, float, float]:
    """Estimate, standard error (NaN if it cannot be told) and degrees of freedom after some rounds."""
    pool, drawn = tables.pool, judged_before(tables.rounds[:rounds])
    wanted = pd.DataFrame({"qid": pool.qids[pool.query_of_document[drawn]], "docno": pool.docno[drawn]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labelled = wanted.merge(qrels, on=["qid", "docno"])
        judged = judged_documents(pool, tables.rounds[:rounds], question.measure, labelled, "error")
        found = _inferred(judged, question)
    value = found.difference if isinstance(found, Comparison) else found.value
    return value, np.nan if found.degenerate else found.standard_error, found.degrees_of_freedom


def _inferred(judged: JudgedDocuments, question: Question) -> Comparison | Estimate:
    how = ESTIMATOR, "effective", question.confidence
    first, *others = question.pair
    return judged.compare(first, others[0], *how) if others else judged.estimate(first, *how)


def _rest(tables: PlanTables, label: np.ndarray, spent: float, time: float, question: Question) -> Looks:
    """One further round of several sizes, up to all that is left and can change the result.

    It adds to the information what the model expects of such a round, as it does of those so far.
    """
    left = _left(tables, label)
    more = np.linspace(0, left.total, _AHEAD + 1)[1:] if left.total > 0 and np.isfinite(time) else np.empty(0)
    variance = np.array([left.variance(float(budget)) for budget in more])
    with np.errstate(divide="ignore"):
        clock = time + _unit(tables) / variance
    critical = critical_values(question.looks, np.arange(1, len(more) + 1), clock, 1 - question.confidence)
    return to_come(spent + more, clock, critical)


def _left(tables: PlanTables, label: np.ndarray) -> ErrorCurve:
    """The errors that a further round is expected to have, over what it costs."""
    pool, arguments = tables.pool, tables.manifest["arguments"]
    graded = graded_pool(pool, parse_measure(arguments["measure"]), arguments["per_query"])
    drawn, last = judged_before(tables.rounds), tables.manifest["rounds"][-1]
    known = np.where(drawn, label, -1)
    sizes = pool_sizes(graded, round_settings(arguments, pool.names), pool.grades, known, last["budget"])
    rows = sizes.order[~drawn[sizes.order]]
    cost, query = pool.document_cost[rows], pool.query_of_document[rows]
    return ErrorCurve.of_documents(sizes.size[rows], sizes.gain[rows], cost, query, graded.per_query, together=True)


def _labels(tables: PlanTables, label: np.ndarray, judged: int) -> dict[str, object]:
    """How many labels are used, and how many lie beyond the last round that is fully judged."""
    drawn = judged_before(tables.rounds)
    used = judged_before(tables.rounds[:judged]) if judged else np.zeros(len(label), dtype=bool)
    return {"unit": "rounds", "n_judged": int(used.sum()), "left_out": int((drawn & ~used & (label >= 0)).sum())}
