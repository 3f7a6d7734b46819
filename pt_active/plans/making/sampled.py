"""What depends on whether a plan drew queries or documents: what it asks for, in which order, and its judged part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import document_of, how_many
from pt_active.frames.qrels import checked_qrels, known_labels, warn_of_ignored, whole_labels
from pt_active.frames.strays import Strays, stray_labels
from pt_active.inference.rounds import judged_before
from pt_active.plans.making.documents import rounds_judged, worklist
from pt_active.plans.making.documents import sample_columns as round_columns
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import labels_of_drawn, labels_of_others, labels_of_queries
from pt_active.plans.making.manifest import Cut
from pt_active.plans.making.parts import in_parts, judged_part, part_of
from pt_active.plans.making.pool import known_texts
from pt_active.plans.making.queries import DrawingOrder, documents_to_judge, queries_judged
from pt_active.plans.making.queries import sample_columns as query_columns

_MIN_BEFORE_GAP = 10
"""With fewer labels before the first gap, and as many after it or more, there is no estimate."""


class NothingJudged(ValueError):
    """The unit that comes first lacks a label, or one so early that nearly all labels come after it."""


class Sampled(ABC):
    """What a plan drew, as far as it depends on the kind of its units."""

    def __init__(self, tables: PlanTables) -> None:
        self.tables = tables

    @property
    @abstractmethod
    def wanted(self) -> np.ndarray:
        """bool[N], the drawn documents, or the documents of the drawn queries."""

    @property
    @abstractmethod
    def place(self) -> np.ndarray:
        """float64[N], increasing in the order in which documents come; infinite for those that need no label."""

    @abstractmethod
    def labels(self, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
        """The label of each wanted document, int64[N], -1 for all others; and how many labels are of others."""

    @abstractmethod
    def others(self, qrels: pd.DataFrame, label: np.ndarray) -> tuple[int, str]:
        """How many labels are not of what was sampled, and of what they are; ``label`` is int64[N]."""

    def cut(self, label: np.ndarray) -> PlanTables:
        """The plan of what is judged without a gap, by labels int64[N].

        Raises:
            NothingJudged: If that is nothing, or so little that an estimate would leave out nearly all labels.
        """
        cut, known = self._cut(label), self.wanted & (label >= 0)
        used = 0 if cut is None else int((sampled(cut).wanted & known).sum())
        if cut is not None and not used < _MIN_BEFORE_GAP <= known.sum() - used:
            return cut
        pool, place = self.tables.pool, self.place
        last = place[known & np.isfinite(place)].max(initial=place.min())
        rows = np.flatnonzero(self.wanted & (label < 0) & (place <= last))
        first, more = rows[np.argmin(place[rows])], len(rows) - 1
        named = document_of(pool.qids[pool.query_of_document[first]], pool.docno[first])
        so_far = "nothing is judged" if cut is None else f"{used} of {how_many('label', int(known.sum()))} are judged"
        lack = f"and {more:,} more lack" if more else "lacks"
        raise NothingJudged(f"{so_far} so far without a gap: {named} {lack} a label; judge what comes first")

    @abstractmethod
    def _cut(self, label: np.ndarray) -> PlanTables | None:
        """The plan of what is judged without a gap; None if nothing is."""


class _SampledQueries(Sampled):
    @property
    def wanted(self) -> np.ndarray:
        return np.asarray((self.tables.queries["q_draws"].to_numpy() > 0)[self.tables.pool.query_of_document])

    @property
    def place(self) -> np.ndarray:
        pool, by_query = self.tables.pool, self.tables.queries["q_priority"].to_numpy(float)
        place = np.nan_to_num(by_query, nan=0.0, posinf=np.inf)[pool.query_of_document]
        return np.where(pool.seen(self.tables.measure), place, np.inf)

    def labels(self, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
        wanted, drawn = self.wanted, np.flatnonzero(self.tables.queries["q_draws"].to_numpy() > 0)
        label = np.full(len(wanted), -1)
        label[wanted], ignored = labels_of_queries(self.tables.pool.select(drawn), qrels)
        return label, ignored

    def others(self, qrels: pd.DataFrame, label: np.ndarray) -> tuple[int, str]:
        return labels_of_others(self.tables.pool.qids[self.tables.queries["q_draws"].to_numpy() > 0], qrels)

    def _cut(self, label: np.ndarray) -> PlanTables | None:
        tables = self.tables
        order, pool, measure = DrawingOrder.of(tables), tables.pool, tables.measure
        n = queries_judged(pool, label, measure, order)
        if n == order.drawn:
            return tables
        if n == 0:
            return None
        queries = tables.queries.assign(**query_columns(order.first(n), pool.query_weight))
        if tables.manifest.extensions:  # An extended plan has kept the list of its new queries alone.
            assessments = documents_to_judge(pool, measure, order.rows[:n], known_texts(pool))
        else:
            listed = tables.assessments["qid"].isin(pool.qids[order.rows[:n]])
            assessments = tables.assessments[listed].reset_index(drop=True)
        cut_off = replace(tables, queries=queries, assessments=assessments)
        cut, spent = Cut("queries", order.drawn, n), float(order.cost[:n].sum())
        return _with_manifest(cut_off, cut, int(queries["q_draws"].sum()), spent, census=False)


class _SampledDocuments(Sampled):
    @property
    def wanted(self) -> np.ndarray:
        return judged_before(self.tables.rounds)

    @property
    def place(self) -> np.ndarray:
        place = np.full(len(self.tables.pool.docno), np.inf)
        for number, each in enumerate(self.tables.rounds):
            drawn, priority, within = each.sample.drawn, each.sample.priority, np.zeros(len(place))
            if in_parts(self.tables):
                priority = part_of(self.tables).astype(float)
            if priority is not None:
                values, rank = np.unique(np.where(drawn, priority, np.inf), return_inverse=True)
                within = rank / (len(values) + 1)
            place[drawn] = number + within[drawn]
        return place

    def labels(self, qrels: pd.DataFrame) -> tuple[np.ndarray, int]:
        return labels_of_drawn(self.tables.pool, self.wanted, qrels)

    def others(self, qrels: pd.DataFrame, label: np.ndarray) -> tuple[int, str]:
        return len(qrels) - int((self.wanted & (label >= 0)).sum()), "documents that were not drawn"

    def _cut(self, label: np.ndarray) -> PlanTables | None:
        tables = self.tables
        pool, drawn = tables.pool, self.wanted
        n = rounds_judged(tables.rounds, label)
        if n == len(tables.rounds):
            return tables
        rounds, entries, cut = tables.rounds[:n], tables.manifest.rounds[:n], Cut("rounds", len(tables.rounds), n)
        if part := judged_part(tables, label, n):
            rounds, entries = (*rounds, part[0]), (*entries, part[1])
            cut = Cut("documents", int(drawn.sum()), int(judged_before(rounds).sum()))
        if not rounds:
            return None
        last = rounds[-1]
        queries = tables.queries.assign(**round_columns(pool, last), q_prob=last.sample.design.opening)
        assessments = worklist(pool, last.sample, None)
        draws = len(assessments) if len(rounds) > 1 else int(queries["q_draws"].sum())
        manifest = replace(tables.manifest, rounds=entries)
        cut_off = replace(tables, queries=queries, assessments=assessments, rounds=rounds, manifest=manifest)
        return _with_manifest(cut_off, cut, draws, float(sum(each.spent for each in entries)), last.certain)


def sampled(tables: PlanTables) -> Sampled:
    """What a plan drew."""
    return _SampledDocuments(tables) if tables.rounds else _SampledQueries(tables)


def wanted_documents(tables: PlanTables) -> np.ndarray:
    """bool[N], the drawn documents, or the documents of the drawn queries."""
    return sampled(tables).wanted


def strays_of(tables: PlanTables, qrels: pd.DataFrame, label: np.ndarray | None = None) -> Strays:
    """The labels that belong to no document of a plan."""
    pool = tables.pool
    label = whole_labels(pool.keys, qrels) if label is None else label
    return stray_labels(pool.keys, wanted_documents(tables) & pool.seen(tables.measure) & (label < 0), qrels)


def strays_told(tables: PlanTables, qrels: pd.DataFrame, label: np.ndarray) -> Strays:
    """The same; warns of labels of the pool, or of other queries, that are not of what was sampled."""
    strays, (number, what) = strays_of(tables, qrels, label), sampled(tables).others(qrels, label)
    if number > strays.number:
        warn_of_ignored(number, what)
    return strays


def cut_to_judged(tables: PlanTables, qrels: pd.DataFrame) -> PlanTables:
    """Cut a plan to what is judged."""
    qrels = checked_qrels(qrels, tables.pool.max_grade)
    label = known_labels(tables.pool.keys, qrels)
    strays_told(tables, qrels, label)
    return sampled(tables).cut(label)


def _with_manifest(tables: PlanTables, cut: Cut, draws: int, spent: float, census: bool) -> PlanTables:
    """The cut plan with its manifest."""
    manifest, sampled = tables.manifest, int((tables.queries["q_draws"] > 0).sum())
    counts = replace(manifest.counts, sampled_queries=sampled, draws=draws, assessments=len(tables.assessments))
    cut = replace(cut, of=(manifest.cut or cut).of)
    return replace(tables, manifest=replace(manifest, cut=cut, counts=counts, spent=spent, census=census))
