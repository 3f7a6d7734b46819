"""Which labels decided: how far did each move an estimate, and how much does it weigh [theory 5, 9]?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.estimators import ESTIMATOR, Controls, estimator_named
from pt_active.inference.residuals import WithinQueries, query_residuals
from pt_active.inference.rounds import RoundLabels, round_labels, round_weights
from pt_active.inference.ties import settled
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.judged_documents import JudgedDocuments
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.plans.answers.labelled_plan import LabelledPlan, asked, labelled_plan
from pt_active.plans.making.artifact import KeptArtifact
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import Pool
from pt_active.relevance.measures import has_rank_form, rank_form
from pt_active.relevance.moments import variable_values
from pt_active.relevance.montecarlo import Evaluator, evaluator
from pt_active.sampling.revealed import RevealedPool

DOCUMENTS_PER_QUERY = 3
"""Deciding documents listed per query, at most."""

_DIGITS = 12
"""Decimals of a contribution, relative to the largest, that count when contributions are sorted."""


@dataclass(frozen=True)
class Contributions:
    """An estimate taken apart: ``estimate = base + Σ contribution``.

    A contribution is how far the labels of a query moved the estimate away from its value if all labels were as the
    grade model expects. With ``regression`` and whole queries, this is for the trust in the line that the labels lead
    to; if documents were drawn, the expectations are those after its correction of the model.

    Attributes:
        base: The estimate if all labels were as expected.
        queries: ``qid`` (+ ``query``), ``weight``, ``value``, ``expected``, ``contribution`` of each drawn query, the
            largest first. If documents were drawn, it has ``documents`` (their number) instead of ``value`` and
            ``expected``. The weights are shares of 1: of the draws' importance, or of the documents' influence.
        documents: ``qid, docno, label, weight, effect`` of every labelled document above the measure's cutoff, the
            largest effect first. The effect is how far its label alone moved the estimate. For additive measures it is
            exact, and the effects of a query sum to its contribution; so it is for plans of documents under measures
            that are neither additive nor cascades. For others it is the effect of one label given the other labels of
            its query (plans of queries), or a first-order approximation (plans of documents).
            With ``regression`` and whole queries, the trust in the line stays as it is. ``weight`` is the document's
            share of the influence; NaN if queries were drawn.
    """

    base: float
    queries: pd.DataFrame
    documents: pd.DataFrame

    @classmethod
    def of(
        cls,
        plan: KeptArtifact[PlanTables],
        qrels: pd.DataFrame,
        contrast: np.ndarray,
        measure: irm.Measure | None = None,
        estimator: str = ESTIMATOR,
        missing: str = "error",
    ) -> Contributions:
        """Take an estimate of a plan apart.

        Shapes: contrast float64[k].
        """
        how = asked(plan.tables, measure, estimator, missing=missing)
        return cls.of_labelled(labelled_plan(plan.tables, qrels), contrast, how)

    @classmethod
    def of_labelled(cls, labelled: LabelledPlan[Any], contrast: np.ndarray, how: How[irm.Measure]) -> Contributions:
        """Take an estimate apart, given a plan that is already joined to its labels.

        Shapes: contrast float64[k].
        """
        contrast, k = np.asarray(contrast, dtype=float), len(labelled.tables.pool.names)
        if contrast.shape != (k,):
            raise ValueError(f"the contrast needs one number for each of {k} rankers, got {contrast}")
        judged = labelled.judged(how)
        if isinstance(judged, JudgedDocuments):
            return _of_documents(labelled.tables.pool, judged, contrast, how.estimator)
        return _of_queries(labelled, judged, contrast, how)

    def deciding(self, queries: int) -> pd.DataFrame:
        """The documents with the largest effects, at most `DOCUMENTS_PER_QUERY` of each of the first queries."""
        first = self.queries["qid"].head(queries)
        rows = self.documents[self.documents["qid"].isin(first)].groupby("qid", sort=False).head(DOCUMENTS_PER_QUERY)
        order = rows["qid"].map(dict(zip(first, range(len(first)), strict=True)))
        return rows.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)


def influence(judged: JudgedQueries, contrast: np.ndarray, estimator: str) -> tuple[float, np.ndarray]:
    """Write an estimator of queries as ``base + Σ a (ℓ − M)``; the weights a are its influence.

    With ``regression`` they are those of the trust in its line that the labels lead to.

    Shapes: contrast float64[k].
    """
    controls = Controls(judged.pool_weight, judged.pool_model @ contrast)
    weighting = estimator_named(estimator).weigh(judged.sample, controls).at(judged.values @ contrast)
    expected = np.nan_to_num(judged.sample.of(controls.model))
    return float(weighting.estimate(expected).value), weighting.weights


def _of_queries(
    labelled: LabelledPlan[JudgedQueries], judged: JudgedQueries, contrast: np.ndarray, how: How[irm.Measure]
) -> Contributions:
    base, pull = influence(judged, contrast, how.estimator)
    sample = judged.sample
    value = settled(judged.values @ contrast, np.abs(judged.values) @ np.abs(contrast))
    model = sample.of(judged.pool_model @ contrast)
    share = sample.count * sample.importance(judged.pool_weight)
    columns = {"weight": share / share.sum(), "value": value, "expected": model}
    table = _named(labelled.tables.pool, labelled.drawn)
    table = table.assign(**columns, contribution=pull * (value - np.nan_to_num(model)))
    effects = _label_effects(labelled, pull, contrast, how)
    return Contributions(base, _largest_first(table, "contribution"), _largest_first(effects, "effect"))


def _label_effects(
    labelled: LabelledPlan[JudgedQueries], pull: np.ndarray, contrast: np.ndarray, how: How[irm.Measure]
) -> pd.DataFrame:
    """The effect of each labelled document, ``a (ℓ − Σ_y P(y) ℓ(y instead of its label))``."""
    pool, label = labelled.tables.pool, labelled.label
    effect, use = np.zeros(len(label)), np.zeros(len(label), dtype=bool)
    for weight, (rows, values, value) in zip(pull, values_by_label(labelled, contrast, how), strict=True):
        effect[rows] = weight * (value - (values * pool.grades[rows]).sum(axis=1))
        use[rows] = True
    return _documents(pool, use, label, np.full(len(label), np.nan), effect)


def values_by_label(
    labelled: LabelledPlan[JudgedQueries], contrast: np.ndarray, how: How[irm.Measure]
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """What each drawn query would be worth if one of its documents had another label.

    Shapes: contrast float64[k].
    """
    pool, label, measure = labelled.tables.pool, labelled.label, how.measure
    evaluate, seen, grades = _valuation(pool, measure), pool.seen(measure), pool.max_grade + 1
    for query in labelled.drawn:
        rows = np.arange(pool.indptr[query], pool.indptr[query + 1])
        known = np.flatnonzero((label[rows] >= 0) & seen[rows])
        labels = np.tile(np.maximum(label[rows], 0), (len(known) * grades + 1, 1))
        labels[np.arange(len(known) * grades), np.repeat(known, grades)] = np.tile(np.arange(grades), len(known))
        values = evaluate(labels, pool.ranks[:, rows]) @ contrast
        yield rows[known], values[:-1].reshape(-1, grades), float(values[-1])


def _valuation(pool: Pool, measure: irm.Measure) -> Evaluator:
    """A function of one query, (labels int64[b, n], ranks int32[k, n]) → float64[b, k].

    It is compiled for additive and cascade measures.
    """
    if not has_rank_form(measure):
        return evaluator(measure, pool.max_grade)
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))

    def evaluate(labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        copies, n = labels.shape
        many = np.ascontiguousarray(np.tile(ranks, (1, copies)))
        return variable_values(form, np.arange(copies + 1) * n, many, form.values[labels].ravel())

    return evaluate


def _of_documents(pool: Pool, judged: JudgedDocuments, contrast: np.ndarray, estimator: str) -> Contributions:
    seen, size = judged.pool, len(judged.label)
    base, step, effect, weight = 0.0, np.zeros(len(seen.weight)), np.zeros(size), np.zeros(size)
    labelled = round_labels(seen, judged.rounds, judged.label, contrast, estimator)
    for share, each in zip(round_weights(judged.rounds), labelled, strict=True):
        seen = each.seen
        base += float(share * (seen.weight @ (seen.values(each.expected) @ contrast)))
        opening = each.sample.opening
        residuals = query_residuals(seen, each.sample, each.expected, each.observed, contrast, each.share)
        step += share * seen.weight * np.divide(residuals.step, opening, out=np.zeros_like(opening), where=opening > 0)
        if isinstance(seen, RevealedPool):
            counts_for = share * seen.weight[seen.query]
            counts_for = np.divide(counts_for, opening[seen.query], out=np.zeros(size), where=opening[seen.query] > 0)
            effect += counts_for * residuals.terms
            weight += counts_for * residuals.influence
            continue
        pull = share * _pull(judged, each, contrast)
        effect += pull * (each.observed - each.expected)
        weight += np.abs(pull)
    use = (judged.label >= 0) & (weight > 0)
    total = weight.sum()
    share_of = weight / total if total > 0 else weight
    drawn = np.flatnonzero(np.bincount(seen.query[judged.label >= 0], minlength=len(step)) > 0)
    counts = np.bincount(seen.query, weights=judged.label >= 0, minlength=len(step))[drawn].astype(int)
    queries = np.bincount(seen.query, weights=share_of, minlength=len(step))[drawn]
    table = _named(pool, drawn).assign(documents=counts, weight=queries, contribution=step[drawn])
    documents = _documents(pool, use, judged.label, share_of, effect)
    return Contributions(base, _largest_first(table, "contribution"), _largest_first(documents, "effect"))


def document_pull(judged: JudgedDocuments, contrast: np.ndarray, estimator: str) -> np.ndarray:
    """float64[N], how far an estimate moves with the value of each document's label; 0 for those without one.

    Shapes: contrast float64[k].
    """
    rounds = round_labels(judged.pool, judged.rounds, judged.label, contrast, estimator)
    shares = round_weights(judged.rounds)
    return np.sum([share * _pull(judged, each, contrast) for share, each in zip(shares, rounds, strict=True)], axis=0)


def _pull(judged: JudgedDocuments, each: RoundLabels, contrast: np.ndarray) -> np.ndarray:
    """float64[N], how much the error of each document that the round drew counts, and 0 for all others."""
    seen, opening = judged.pool, each.sample.opening[judged.pool.query]
    slope = (contrast @ seen.gradients(each.expected)) * seen.weight[seen.query]
    counted = WithinQueries.of(seen.query, each.sample, each.share).coefficient(slope)
    return np.divide(counted, opening, out=np.zeros_like(slope), where=opening > 0)


def _named(pool: Pool, rows: np.ndarray) -> pd.DataFrame:
    columns = [name for name in ("qid", "query") if name in pool.queries.columns]
    return pool.queries.iloc[rows][columns].reset_index(drop=True)


def _documents(pool: Pool, use: np.ndarray, label: np.ndarray, weight: np.ndarray, effect: np.ndarray) -> pd.DataFrame:
    names = {"qid": pool.qids[pool.query_of_document[use]], "docno": pool.docno[use], "label": label[use]}
    return pd.DataFrame(names | {"weight": weight[use], "effect": effect[use]})


def _largest_first(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The table by decreasing absolute values of a column; values that are equal up to rounding, by their ids."""
    size = table[column].abs().to_numpy()
    largest = size.max(initial=0.0)
    # In a census many values are equal in theory and differ in the last bits, which depend on the machine.
    key = np.round(size / largest, _DIGITS) if largest > 0 else size
    ids = [table[name].astype(str).to_numpy() for name in ("docno", "qid") if name in table.columns]
    return table.iloc[np.lexsort([*ids, -key])].reset_index(drop=True)
