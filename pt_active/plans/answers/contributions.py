"""Which labels decided an estimate, and what do labels say about groups of queries [theory 5, 9]?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import shown, some
from pt_active.inference.estimators import estimator_named
from pt_active.plans.answers.basis import topic_column
from pt_active.plans.answers.labelled import Contrast, LabelledPlan, Settings
from pt_active.plans.answers.results import Comparison, Estimate

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
    def of_labelled(cls, labelled: LabelledPlan, contrast: Contrast, estimator: str) -> Contributions:
        """Take an estimate of a contrast apart."""
        pool = labelled.tables.pool
        parts = labelled.parts(contrast.weights(len(pool.names)), estimator)
        names = [name for name in ("qid", "query") if name in pool.queries.columns]
        queries = pool.queries.iloc[parts.rows][names].reset_index(drop=True).assign(**parts.columns)
        documents = pool.keys_of(np.flatnonzero(parts.use)).assign(
            label=parts.label[parts.use], weight=parts.weight[parts.use], effect=parts.effect[parts.use]
        )
        return cls(parts.base, _largest_first(queries, "contribution"), _largest_first(documents, "effect"))


def _largest_first(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The table by decreasing absolute values of a column; values that are equal up to rounding, by their ids."""
    size = table[column].abs().to_numpy()
    largest = size.max(initial=0.0)
    # In a census many values are equal in theory and differ in the last bits, which depend on the machine.
    key = np.round(size / largest, _DIGITS) if largest > 0 else size
    ids = [table[name].astype(str).to_numpy() for name in ("docno", "qid") if name in table.columns]
    return table.iloc[np.lexsort([*ids, -key])].reset_index(drop=True)


MIN_REGRESSION_DRAWS = 10
"""With fewer effective draws in a group, ``regression`` cannot fit a useful line, and ``snis`` is used instead."""

MAX_GROUPS = 20
"""Groups that a column may make, at most."""

NO_VALUE = "(none)"
"""The group of queries without a value in the column."""


@dataclass(frozen=True)
class Slice:
    """Results for the queries with one value of a column.

    Attributes:
        column: A column of the queries.
        value: Its value, as text.
        n_queries: The number of such queries in the pool.
        share: Their share of the population's weight.
        results: One comparison, or an estimate of each ranker; empty if none of the queries was drawn.
    """

    column: str
    value: str
    n_queries: int
    share: float
    results: tuple[Comparison | Estimate, ...]

    def rows(self) -> list[dict[str, object]]:
        """One row per result: the group, the ranker, the estimator, the estimate with its interval, and its note."""
        head = {"column": self.column, "value": self.value, "queries": self.n_queries, "share": self.share}
        if not self.results:
            nothing = dict.fromkeys(("estimate", "standard_error", "low", "high"), np.nan)
            drawn = {"name": "", "estimator": "", "judged": 0} | nothing | {"note": "none of these queries was drawn"}
            return [head | drawn]
        return [head | _row(result) for result in self.results]


def _row(result: Comparison | Estimate) -> dict[str, object]:
    low, high = result.confidence_interval()
    return {
        "name": result.what,
        "estimator": result.basis.estimator,
        "judged": result.basis.n_judged,
        "estimate": result.point,
        "standard_error": result.standard_error,
        "low": low,
        "high": high,
        "note": result.note,
    }


def slices_of(labelled: LabelledPlan, column: str, pair: tuple[int, int] | None, settings: Settings) -> list[Slice]:
    """Estimate within each group of queries.

    The groups are known before drawing. Within a group, ``p`` becomes ``p/P`` with its share P, and the inclusion
    probabilities of its queries do not change; with replacement q becomes ``q/Q``, given how many draws fell into the
    group. The intervals are not corrected for the number of groups: of many, some miss. In a group with fewer than
    `MIN_REGRESSION_DRAWS` effective draws of queries, ``regression`` is replaced by ``snis``.
    """
    pool, groups = labelled.tables.pool, []
    contrasts = [Contrast(s) for s in range(len(pool.names))] if pair is None else [Contrast(*pair)]
    for value, rows in _groups(labelled.tables.queries, column):
        share = float(pool.query_weight[rows].sum())
        judged, suited = labelled.within(rows, share) if share > 0 else None, settings
        few = judged is not None and judged.basis.n_effective < MIN_REGRESSION_DRAWS
        if few and labelled.tables.documents is None and estimator_named(settings.estimator).fitted > 1:
            suited = replace(settings, estimator="snis")
        results = () if judged is None else tuple(judged.result(each, suited) for each in contrasts)
        groups.append(Slice(column, value, len(rows), share, results))
    return groups


def _groups(queries: pd.DataFrame, column: str) -> list[tuple[str, np.ndarray]]:
    found = topic_column(queries, column, "slices are made by a column")
    text = found.map(lambda value: NO_VALUE if pd.isna(value) else str(value)).to_numpy(dtype=object)
    values = sorted(set(text))
    if len(values) > MAX_GROUPS:
        raise ValueError(
            f"the column {shown(column)} has {len(values)} values, such as {some(values, 3)}; at most {MAX_GROUPS} "
            "make slices, so put its values into classes before planning"
        )
    return [(value, np.flatnonzero(text == value)) for value in values]
