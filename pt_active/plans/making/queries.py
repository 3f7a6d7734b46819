"""How is a plan made that draws whole queries, and in which order do they come?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames import columns
from pt_active.frames.checks import Argument, ArgumentError, within
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, Source, plan_manifest
from pt_active.plans.making.pool import Pool, design_table
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.draws import draw_number, draw_to_budget
from pt_active.sampling.sample import Sample

DESIGN = "hedged"
"""The default design."""

ORDERS = ("sorted", "drawn")
"""Orders in which assessments can be exported: by qid and docno, or as the queries were drawn."""


def plan_of_queries(source: Source, arguments: PlanArguments) -> PlanTables:
    """A plan that samples whole queries.

    Args:
        source: What the plan is made from.
        arguments: The arguments of ``Plan.create``.

    Raises:
        ValueError: If an argument is out of range.
    """
    if arguments.objective != "mean":
        raise ArgumentError(Argument("objective", arguments.objective), " needs ", Argument("level", "document"))
    within("defensive", arguments.defensive, 0, 1)
    pool, measure, seed = source.pool, source.measure, arguments.seed
    pairs = stored_weights(arguments.pairs, pool.names)
    queries = design_table(pool, measure, arguments.design, arguments.defensive, seed=seed, pairs=pairs)
    sample = draw(queries, arguments.budget, arguments.draws, seed, arguments.replace)
    queries = queries.assign(**sample_columns(sample, pool.query_weight), q_priority=_priority(sample, len(queries)))
    assessments = _assessments(pool, measure, sample, source.frame)
    spent = float(pool.query_cost[sample.rows].sum())
    manifest = plan_manifest(arguments, source, queries, assessments, census=sample.census, spent=spent)
    return PlanTables(pool, queries, assessments, manifest)


def sample_columns(sample: Sample, weight: np.ndarray) -> dict[str, np.ndarray]:
    """The columns ``q_draws``, ``q_importance`` and ``q_inclusion`` of all queries.

    Args:
        sample: The queries that were drawn.
        weight: float64[m], p, the weights of all queries.
    """
    return {f"q_{name}": column for name, column in sample.columns(weight).items()}


def sample_of(queries: pd.DataFrame, census: bool = False) -> Sample:
    """Rebuild the sample from the columns of a plan's queries.

    Args:
        queries: ``q_prob, q_draws, q_inclusion`` of all queries.
        census: Whether every query was drawn with certainty.
    """
    q, draws, inclusion = (queries[column].to_numpy() for column in ("q_prob", "q_draws", "q_inclusion"))
    return Sample.from_columns(q, draws, inclusion, census)


def _priority(sample: Sample, m: int) -> np.ndarray:
    """float64[m], ``q_priority``: queries are drawn in increasing order of it; NaN with replacement."""
    return np.full(m, np.nan) if sample.priority is None else sample.priority


def draw(queries: pd.DataFrame, budget: float | None, draws: int | None, seed: int, replace: bool) -> Sample:
    """Draw from a design table, sorted by qid, so that its row order does not matter.

    Args:
        queries: ``qid, q_prob, q_weight, q_cost``.
        budget: What may be spent; None if ``draws`` is given.
        draws: The number of draws; None if ``budget`` is given.
        seed: Seed of the draws.
        replace: Whether a query can be drawn more than once.

    Returns:
        The sample in the row order of ``queries``.

    Raises:
        ValueError: If not exactly one of ``budget`` and ``draws`` is given, or it is out of range.
    """
    if (budget is None) == (draws is None):
        raise ArgumentError.either("budget", "draws")
    order = np.argsort(queries["qid"].to_numpy(dtype=object), kind="stable")
    q, p, cost = (queries[c].to_numpy(dtype=np.float64)[order] for c in ("q_prob", "q_weight", "q_cost"))
    rng = np.random.default_rng(seed)
    if draws is not None:
        sample = draw_number(q, p, draws, rng, replace)
    else:
        sample = draw_to_budget(q, p, cost, float(budget or 0), rng, replace)
    back = np.argsort(order)
    priority = None if sample.priority is None else sample.priority[back]
    return Sample(
        order[sample.rows],
        sample.count,
        sample.expected,
        repeated=sample.repeated,
        census=sample.census,
        q=q[back],
        priority=priority,
    )


def has_order(tables: PlanTables) -> bool:
    """Whether the plan has kept the order of its queries, or of documents that come one after the other.

    Other plans of documents and draws with replacement have no order.
    """
    if tables.rounds:
        return tables.rounds[-1].sample.priority is not None
    return "q_priority" in tables.queries.columns and not tables.queries["q_priority"].isna().any()


def in_drawing_order(tables: PlanTables, order: str) -> pd.DataFrame:
    """The assessments, for export.

    Args:
        tables: The plan's content.
        order: ``"sorted"`` by qid and docno, or ``"drawn"``: in the order in which the queries were drawn, then by
            docno, or in that of documents that come one after the other.

    Raises:
        ValueError: If the order is unknown, or the plan has not kept it.
    """
    if order not in ORDERS:
        raise ValueError(f"unknown order {order!r}; it is one of {', '.join(ORDERS)}")
    if order == "sorted":
        return tables.assessments
    if not has_order(tables):
        raise ArgumentError(
            Argument("order", order),
            " needs a plan of queries without replacement, saved in format 4 or later, or one of documents with ",
            Argument("design", "successive"),
            "; documents of other rounds can only be used as a whole",
        )
    by_query = tables.queries.set_index("qid").get("q_priority")
    place = _place_of_documents(tables) if by_query is None else tables.assessments["qid"].map(by_query)
    return tables.assessments.iloc[np.argsort(place.to_numpy(), kind="stable")].reset_index(drop=True)


def _place_of_documents(tables: PlanTables) -> pd.Series:
    """The place of each document of the assessments in the order in which the documents of the last round come."""
    sample, keys = tables.rounds[-1].sample, tables.pool.keys
    order = sample.design.order
    if sample.priority is not None:
        order = order[np.argsort(sample.priority[order], kind="stable")]
    places = keys.iloc[order][["qid", "docno"]].assign(place=np.arange(len(order)))
    return tables.assessments[["qid", "docno"]].merge(places, how="left", on=["qid", "docno"])["place"]


def _assessments(pool: Pool, measure: irm.Measure, sample: Sample, frame: pd.DataFrame) -> pd.DataFrame:
    query = pool.query_of_document
    judge = pool.seen(measure) & np.isin(query, sample.rows)
    table = pd.DataFrame({"qid": pool.qids[query[judge]], "docno": pool.docno[judge]})
    texts = columns.with_string_ids(frame[[c for c in ("qid", "docno", "query", "text") if c in frame.columns]])
    table = table.merge(texts, how="left", on=["qid", "docno"]).assign(inclusion=1.0)
    return table.sort_values(["qid", "docno"]).reset_index(drop=True)


@dataclass(frozen=True)
class DrawingOrder:
    """The queries that can be drawn, in increasing order of their priority.

    Attributes:
        rows: int64[r], their indices in the pool.
        q: float64[r], sampling probabilities.
        weight: float64[r], p.
        cost: float64[r], λ.
        threshold: float64[r], the priority of the query that comes next; infinite after the last.
        drawn: How many of them the plan asks for.
    """

    rows: np.ndarray
    q: np.ndarray
    weight: np.ndarray
    cost: np.ndarray
    threshold: np.ndarray
    drawn: int

    @classmethod
    def of(cls, queries: pd.DataFrame) -> DrawingOrder:
        """The order in a plan's table of all queries.

        Raises:
            ValueError: If the plan draws with replacement, or was saved in a format without the order.
        """
        if "q_priority" not in queries.columns:
            raise ValueError(
                "the plan was saved in format 3, which does not keep the order in which queries come; judge all that "
                "it asks for and compare, or make a new plan"
            )
        priority = queries["q_priority"].to_numpy(dtype=np.float64)
        if np.isnan(priority).any():
            raise ArgumentError(
                "the plan draws with replacement, so its sample has no order and can only be used as a whole; judge "
                "all that it asks for and compare, or make a plan with ",
                Argument("replace", False),
            )
        rows = np.argsort(priority, kind="stable")
        rows = rows[np.isfinite(priority[rows])]
        q, weight, cost = (queries[c].to_numpy(dtype=np.float64)[rows] for c in ("q_prob", "q_weight", "q_cost"))
        drawn = int((queries["q_draws"].to_numpy() > 0).sum())
        return cls(rows, q, weight, cost, np.append(priority[rows], np.inf)[1:], drawn)

    def first(self, n: int) -> Sample:
        """The first n queries, as they would have been drawn with a budget that ended there."""
        return Sample.by_priority(self.rows[:n], np.ones(n, dtype=np.int64), self.q[:n], self.threshold[n - 1])

    def asked(self, size: int) -> np.ndarray:
        """bool[m], the queries that the plan asks for; ``size`` is m, the number of queries in the pool."""
        wanted = np.zeros(size, dtype=bool)
        wanted[self.rows[: self.drawn]] = True
        return wanted

    @property
    def curve(self) -> ErrorCurve:
        """The errors that the design expects. The labels do not enter: the design implies ``a ∝ λ (q/p)²``."""
        unit = np.ones_like(self.q)
        return ErrorCurve(self.q, self.cost * self.q**2, self.cost, unit, np.arange(len(unit)), share=self.weight)


def queries_judged(pool: Pool, label: np.ndarray, measure: irm.Measure, order: DrawingOrder) -> int:
    """The number of queries with labels for all documents above the cutoff, up to the first that lacks one.

    Args:
        pool: All queries.
        label: int64[N], -1 where there is none.
        measure: Its cutoff says which documents need a label.
        order: The order in which the queries come.
    """
    absent = pool.seen(measure) & (label < 0)
    complete = np.bincount(pool.query_of_document[absent], minlength=len(pool.queries)) == 0
    return sum(1 for _ in takewhile(bool, complete[order.rows[: order.drawn]]))
