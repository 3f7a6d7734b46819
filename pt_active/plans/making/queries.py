"""How is a plan made that draws whole queries, and in which order do they come?"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as replaced

import numpy as np
import pandas as pd

from pt_active.frames.clocks import Seed, clocks
from pt_active.plans.making.documents import in_parts, part_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments, PlanSource
from pt_active.plans.making.pool import design_table, worklist
from pt_active.plans.making.rankers import stored_weights
from pt_active.sampling.chances import EXPONENTIAL
from pt_active.sampling.drawings import SUCCESSIVE
from pt_active.sampling.draws import check_budget, draw_number, draw_to_budget, first_within
from pt_active.sampling.sample import Sample
from pt_active.showing.rounding import amount

DESIGN = "hedged"
"""The default design."""


def plan_of_queries(source: PlanSource, arguments: PlanArguments) -> PlanTables:
    """A plan that samples whole queries."""
    pool, measure, seed = source.pool, source.measure, arguments.seed
    pairs = stored_weights(arguments.pairs, pool.names)
    queries = design_table(pool, measure, arguments.design, arguments.defensive, seed=seed, pairs=pairs)
    own = seed, pool.believed("query")
    sample = draw(queries, arguments.budget, arguments.draws, own, arguments.replace)
    priority = np.nan if sample.priority is None else sample.priority  # There is none with replacement.
    queries = queries.assign(**sample_columns(sample, pool.query_weight), q_priority=priority)
    assessments = worklist(pool, pool.of_queries(measure, sample.rows), texts=source.frame)
    return PlanTables.new(source, arguments, queries, assessments, sample.census)


def sample_columns(sample: Sample, weight: np.ndarray) -> dict[str, np.ndarray]:
    """The columns ``q_draws``, ``q_importance`` and ``q_inclusion`` of all queries; ``weight`` is float64[m]."""
    return {f"q_{name}": column for name, column in sample.columns(weight).items()}


def sample_of(tables: PlanTables) -> Sample:
    """Rebuild the sample from the columns of a plan's queries."""
    columns = ("q_prob", "q_draws", "q_inclusion")
    q, draws, inclusion = (tables.queries[column].to_numpy() for column in columns)
    return Sample.from_columns(q, draws, inclusion, tables.manifest.census)


def draw(queries: pd.DataFrame, budget: float | None, draws: int | None, seed: Seed, replace: bool) -> Sample:
    """Draw from a design table, whatever the order of its rows.

    Without replacement, queries come by clocks that depend on the seed and their qids alone. So other queries do not
    move a query in the order, as long as q stays proportional.
    """
    if (budget is None) == (draws is None):
        raise ValueError("pass either budget= or draws=, and not both")
    order = np.argsort(queries["qid"].to_numpy(dtype=object), kind="stable")
    q, p, cost = (queries[c].to_numpy(dtype=np.float64)[order] for c in ("q_prob", "q_weight", "q_cost"))
    rng, clock = np.random.default_rng(seed), clocks(seed, queries["qid"])[order]
    if draws is not None:
        sample = draw_number(q, p, draws, rng, replace, clock)
    else:
        sample = draw_to_budget(q, p, cost, float(budget or 0), rng, replace, clock)
    back = np.argsort(order)
    priority = None if sample.priority is None else sample.priority[back]
    return replaced(sample, rows=order[sample.rows], q=q[back], priority=priority)


def has_order(tables: PlanTables) -> bool:
    """Whether the plan has an order in which one may look after each of its queries, or of its documents."""
    if tables.documents:
        return tables.documents.sample.design.drawing == SUCCESSIVE
    return not tables.queries["q_priority"].isna().any()


def in_drawing_order(tables: PlanTables) -> pd.DataFrame:
    """The assessments as they come, also part by part; by qid and docno if the plan has no order."""
    if not (has_order(tables) or in_parts(tables)):
        return tables.assessments
    places = tables.pool.keys.assign(place=place_of(tables), within=0)
    if tables.documents:
        design = tables.documents.sample.design
        places.loc[design.order, "within"] = np.arange(len(design.order))
    found = tables.assessments[["qid", "docno"]].merge(places, how="left", on=["qid", "docno"])
    return tables.assessments.iloc[np.lexsort((found["within"], found["place"]))].reset_index(drop=True)


def place_of(tables: PlanTables) -> np.ndarray:
    """float64[N], increasing in the order in which documents come; infinite for those that need no label."""
    pool = tables.pool
    if tables.documents is None:
        by_query = tables.queries["q_priority"].to_numpy(float)
        place = np.nan_to_num(by_query, nan=0.0, posinf=np.inf)[pool.query_of_document]
        return np.where(pool.seen(tables.measure), place, np.inf)
    sample, place = tables.documents.sample, np.zeros(len(pool.docno))
    if not sample.design.nested:
        place = sample.priority
    elif in_parts(tables):
        place = part_of(tables).astype(float)
    return np.where(sample.drawn, place, np.inf)


def extended_by_queries(tables: PlanTables, budget: float) -> PlanTables:
    """A plan that goes on in its order of queries."""
    manifest, pool, before = tables.manifest, tables.pool, DrawingOrder.of(tables)
    if (draws := manifest.arguments.draws) is not None:
        # What the draws cost depends on which queries came, and so would the end of the extended plan: a bias.
        raise ValueError(
            f"a plan by a number of draws, draws={draws}, has no budget to go on from: make a new plan with more draws "
            "and the same seed and share of p (`defensive`), which begins with these queries"
        )
    q, priority = (tables.queries[column].to_numpy(dtype=np.float64) for column in ("q_prob", "q_priority"))
    total = manifest.limit + budget
    check_budget(total, pool.query_cost[q > 0])
    sample = first_within(priority, q, pool.query_weight, pool.query_cost, total)
    new = np.setdiff1d(sample.rows, before.rows[: before.drawn])
    if len(new) == 0:
        dearer = amount(before.cost[before.drawn])
        raise ValueError(f"budget {amount(budget)} does not pay for the query that comes next, which costs {dearer}")
    queries = tables.queries.assign(**sample_columns(sample, pool.query_weight))
    assessments = worklist(pool, pool.of_queries(tables.measure, new))
    return replaced(tables, queries=queries, assessments=assessments).counted(sample.census, limit=total)


@dataclass(frozen=True)
class DrawingOrder:
    """The queries that can be drawn, in increasing order of their priority.

    Shapes: rows int64[r], q, cost, threshold float64[r].
    """

    rows: np.ndarray
    q: np.ndarray
    cost: np.ndarray
    threshold: np.ndarray
    drawn: int

    @classmethod
    def of(cls, tables: PlanTables) -> DrawingOrder:
        """The order of a plan's queries."""
        queries = tables.queries
        priority = queries["q_priority"].to_numpy(dtype=np.float64)
        if np.isnan(priority).any():
            raise ValueError(
                "the plan draws with replacement, so its sample has no order and can only be used as a whole; judge "
                "all that it asks for and compare, or make a plan with replace=False"
            )
        rows = np.argsort(priority, kind="stable")
        rows = rows[np.isfinite(priority[rows])]
        q, cost = (queries[c].to_numpy(dtype=np.float64)[rows] for c in ("q_prob", "q_cost"))
        drawn = int((queries["q_draws"].to_numpy() > 0).sum())
        return cls(rows, q, cost, np.append(priority[rows], np.inf)[1:], drawn)

    def first(self, n: int) -> Sample:
        """The first n queries, as they would have been drawn with a budget that ended there."""
        inclusion = EXPONENTIAL.inclusion(self.q[:n] * self.threshold[n - 1])
        return Sample(self.rows[:n], np.ones(n, dtype=np.int64), inclusion)
