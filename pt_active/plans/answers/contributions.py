"""Which labels decided: how far did each move an estimate, and how much does it weigh [theory 5, 9]?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.plans.answers.judged import How, LabelledPlan

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
            that are neither additive nor cascades, unless they are drawn by surprises: then it is the correction that
            its own surprise makes. For others it is the effect of one label given the other labels of
            its query (plans of queries), or a first-order approximation (plans of documents).
            With ``regression`` and whole queries, the trust in the line stays as it is. ``weight`` is the document's
            share of the influence; NaN if queries were drawn.
    """

    base: float
    queries: pd.DataFrame
    documents: pd.DataFrame

    @classmethod
    def of_labelled(cls, labelled: LabelledPlan[Any], contrast: np.ndarray, how: How[irm.Measure]) -> Contributions:
        """Take an estimate of a contrast, float64[k], apart."""
        contrast, k = np.asarray(contrast, dtype=float), len(labelled.tables.pool.names)
        if contrast.shape != (k,):
            raise ValueError(f"the contrast needs one number for each of {k} rankers, got {contrast}")
        pool, parts = labelled.tables.pool, labelled.parts(contrast, how)
        names = [name for name in ("qid", "query") if name in pool.queries.columns]
        queries = pool.queries.iloc[parts.rows][names].reset_index(drop=True).assign(**parts.columns)
        documents = pool.keys_of(np.flatnonzero(parts.use)).assign(
            label=parts.label[parts.use], weight=parts.weight[parts.use], effect=parts.effect[parts.use]
        )
        return cls(parts.base, _largest_first(queries, "contribution"), _largest_first(documents, "effect"))

    def deciding(self, queries: int) -> pd.DataFrame:
        """The documents with the largest effects, at most `DOCUMENTS_PER_QUERY` of each of the first queries."""
        first = self.queries["qid"].head(queries)
        rows = self.documents[self.documents["qid"].isin(first)].groupby("qid", sort=False).head(DOCUMENTS_PER_QUERY)
        order = rows["qid"].map(dict(zip(first, range(len(first)), strict=True)))
        return rows.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)


def _largest_first(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The table by decreasing absolute values of a column; values that are equal up to rounding, by their ids."""
    size = table[column].abs().to_numpy()
    largest = size.max(initial=0.0)
    # In a census many values are equal in theory and differ in the last bits, which depend on the machine.
    key = np.round(size / largest, _DIGITS) if largest > 0 else size
    ids = [table[name].astype(str).to_numpy() for name in ("docno", "qid") if name in table.columns]
    return table.iloc[np.lexsort([*ids, -key])].reset_index(drop=True)
