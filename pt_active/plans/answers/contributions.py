"""What each label did to an estimate, and what each query or document weighs in it [theory 5, 9]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.inference.documents import query_residuals
from pt_active.inference.estimators import ESTIMATOR, Controls, estimator_named
from pt_active.inference.rounds import RoundLabels, round_labels, round_weights
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

DECIDING = 3
"""Documents that are named of each query."""


@dataclass(frozen=True)
class Contributions:
    """An estimate taken apart: ``estimate = base + Σ contribution``.

    A contribution is how far the labels of a query moved the estimate from where it would be had they been what the
    grade model expects; where documents were drawn, after the line by which ``regression`` corrects the model.

    Attributes:
        base: The estimate if all labels were as expected.
        queries: ``qid`` (+ ``query``), ``weight``, ``value``, ``expected``, ``contribution`` of each drawn query,
            largest first; without ``value`` and ``expected``, and with ``documents``, where single documents were
            drawn. The weights are shares of 1: of the draws' importance, or of the documents' influence.
        documents: ``qid, docno, label, weight, effect`` of every labelled document that the measure sees: how far its
            label alone moved the estimate, largest first. Exact for additive measures, where the effects of a query sum
            to its contribution; else of a label beside the others of its query (of queries), or to first order (of
            documents). ``weight`` is as in ``queries``, NaN where queries were drawn.
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

        Args:
            plan: Of queries or of documents.
            qrels: Its labels, of all rounds.
            contrast: float64[k], 1 for a ranker, 1 and −1 for a difference.
            measure: Another measure than the plan's, on the same labels.
            estimator: A name in `estimators.ESTIMATORS`, or where documents were drawn in
                `documents.DOCUMENT_ESTIMATORS`.
            missing: What to do about a document without a label: ``"error"``, ``"nonrelevant"`` or ``"expected"``.

        Raises:
            ValueError: As `Plan.estimate` does, or if the contrast has not one entry a ranker.
        """
        how = asked(plan.tables, measure, estimator, missing=missing)
        return cls.of_labelled(labelled_plan(plan.tables, qrels), contrast, how)

    @classmethod
    def of_labelled(cls, labelled: LabelledPlan[Any], contrast: np.ndarray, how: How[irm.Measure]) -> Contributions:
        """Take an estimate of a plan with its labels apart.

        Args:
            labelled: The plan.
            contrast: float64[k], 1 for a ranker, 1 and −1 for a difference.
            how: What is asked.

        Raises:
            ValueError: If the contrast has not one entry a ranker, labels are missing, or the estimator is unknown.
        """
        contrast, k = np.asarray(contrast, dtype=float), len(labelled.tables.pool.names)
        if contrast.shape != (k,):
            raise ValueError(f"the contrast needs one number for each of {k} rankers, got {contrast}")
        judged = labelled.judged(how)
        if isinstance(judged, JudgedDocuments):
            return cls(*_of_documents(labelled.tables.pool, judged, contrast, how.estimator))
        return cls(*_of_queries(labelled, judged, contrast, how))

    def deciding(self, queries: int) -> pd.DataFrame:
        """The documents with the largest effects, `DECIDING` at most of each of the first queries.

        Args:
            queries: How many.
        """
        first = self.queries["qid"].head(queries)
        rows = self.documents[self.documents["qid"].isin(first)].groupby("qid", sort=False).head(DECIDING)
        order = rows["qid"].map(dict(zip(first, range(len(first)), strict=True)))
        return rows.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)


def influence(judged: JudgedQueries, contrast: np.ndarray, estimator: str) -> tuple[float, np.ndarray]:
    """An estimator of queries as ``base + Σ a (ℓ − M)``: the weights a are its influence.

    Args:
        judged: The sample.
        contrast: float64[k].
        estimator: A name in `estimators.ESTIMATORS`.

    Returns:
        The estimate at ``ℓ = M``, and a, float64[s].
    """
    controls = Controls(judged.pool_weight, judged.pool_model @ contrast)
    weighting = estimator_named(estimator).weigh(judged.sample, controls)
    expected = np.nan_to_num(judged.sample.of(controls.model))
    return float(weighting.estimate(expected).value), weighting.weights


def _of_queries(
    labelled: LabelledPlan[JudgedQueries], judged: JudgedQueries, contrast: np.ndarray, how: How[irm.Measure]
) -> tuple[float, pd.DataFrame, pd.DataFrame]:
    base, pull = influence(judged, contrast, how.estimator)
    sample = judged.sample
    value, model = judged.values @ contrast, sample.of(judged.pool_model @ contrast)
    share = sample.count * sample.importance(judged.pool_weight)
    columns = {"weight": share / share.sum(), "value": value, "expected": model}
    table = _named(labelled.tables.pool, labelled.drawn)
    table = table.assign(**columns, contribution=pull * (value - np.nan_to_num(model)))
    effects = _label_effects(labelled, pull, contrast, how)
    return base, _largest(table, "contribution"), _largest(effects, "effect")


def _label_effects(
    labelled: LabelledPlan[JudgedQueries], pull: np.ndarray, contrast: np.ndarray, how: How[irm.Measure]
) -> pd.DataFrame:
    """``g (ℓ − Σ_y P(y) ℓ(y in the place of the label))`` of each labelled document."""
    pool, label, measure = labelled.tables.pool, labelled.label, how.measure
    evaluate, seen, effect = _valuation(pool, measure), pool.seen(measure), np.zeros(len(label))
    grades, use = pool.max_grade + 1, np.zeros(len(label), dtype=bool)
    for query, weight in zip(labelled.drawn, pull, strict=True):
        rows = np.arange(pool.indptr[query], pool.indptr[query + 1])
        known = np.flatnonzero((label[rows] >= 0) & seen[rows])
        labels = np.tile(np.maximum(label[rows], 0), (len(known) * grades + 1, 1))
        labels[np.arange(len(known) * grades), np.repeat(known, grades)] = np.tile(np.arange(grades), len(known))
        values = evaluate(labels, pool.ranks[:, rows]) @ contrast
        expected = (values[:-1].reshape(-1, grades) * pool.grades[rows[known]]).sum(axis=1)
        effect[rows[known]] = weight * (values[-1] - expected)
        use[rows[known]] = True
    return _documents(pool, use, label, np.full(len(label), np.nan), effect)


def _valuation(pool: Pool, measure: irm.Measure) -> Evaluator:
    """(labels int64[b, n], ranks int32[k, n]) of one query → float64[b, k], compiled for additive and cascades."""
    if not has_rank_form(measure):
        return evaluator(measure, pool.max_grade)
    form = rank_form(measure, pool.max_grade, int(pool.ranks.max(initial=0)))

    def evaluate(labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        copies, n = labels.shape
        many = np.ascontiguousarray(np.tile(ranks, (1, copies)))
        return variable_values(form, np.arange(copies + 1) * n, many, form.values[labels].ravel())

    return evaluate


def _of_documents(
    pool: Pool, judged: JudgedDocuments, contrast: np.ndarray, estimator: str
) -> tuple[float, pd.DataFrame, pd.DataFrame]:
    seen, size = judged.pool, len(judged.label)
    base, step, effect, weight = 0.0, np.zeros(len(seen.weight)), np.zeros(size), np.zeros(size)
    labelled = round_labels(seen, judged.rounds, judged.label, contrast, estimator)
    for share, each in zip(round_weights(judged.rounds), labelled, strict=True):
        base += float(share * (seen.weight @ (seen.values(each.expected) @ contrast)))
        opening = each.sample.opening
        found = query_residuals(seen, each.sample, each.expected, each.observed, contrast)
        step += share * seen.weight * np.divide(found.step, opening, out=np.zeros_like(opening), where=opening > 0)
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
    return (
        base,
        _largest(table, "contribution"),
        _largest(_documents(pool, use, judged.label, share_of, effect), "effect"),
    )


def _pull(judged: JudgedDocuments, each: RoundLabels, contrast: np.ndarray) -> np.ndarray:
    """float64[N], ``p D/(Ππ)`` of the documents that the round drew and 0 elsewhere."""
    seen, sample = judged.pool, each.sample
    chance = sample.chance(seen.query)
    slope = (contrast @ seen.gradients(each.expected)) * seen.weight[seen.query]
    return np.divide(slope, chance, out=np.zeros_like(slope), where=sample.drawn & (chance > 0))


def _named(pool: Pool, rows: np.ndarray) -> pd.DataFrame:
    columns = [name for name in ("qid", "query") if name in pool.queries.columns]
    return pool.queries.iloc[rows][columns].reset_index(drop=True)


def _documents(pool: Pool, use: np.ndarray, label: np.ndarray, weight: np.ndarray, effect: np.ndarray) -> pd.DataFrame:
    names = {"qid": pool.qids[pool.query_of_document[use]], "docno": pool.docno[use], "label": label[use]}
    return pd.DataFrame(names | {"weight": weight[use], "effect": effect[use]})


def _largest(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The largest absolute values first; of equal ones in the order of the ids, not of the rows."""
    ids = [name for name in ("docno", "qid") if name in table.columns]
    order = np.lexsort([*(table[name].astype(str).to_numpy() for name in ids), -table[column].abs().to_numpy()])
    return table.iloc[order].reset_index(drop=True)
