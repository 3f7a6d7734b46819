"""Labels meet a plan: what they say of every draw."""

from __future__ import annotations

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.documents.judged import JudgedDocuments, judged_documents
from pt_active.judged import JudgedSample, judged_sample
from pt_active.measures import parse_measure
from pt_active.plan_tables import PlanTables


def judged_plan(
    tables: PlanTables, measure: irm.Measure, qrels: pd.DataFrame, missing: str
) -> JudgedSample | JudgedDocuments:
    """Bring the labels of a plan together with its sample; see `judged_sample` and `judged_documents`."""
    if tables.rounds:
        return judged_documents(tables.pool, tables.rounds, measure, qrels, missing)
    census, means = bool(tables.manifest["census"]), model_means(tables, measure)
    return judged_sample(tables.pool, tables.queries, measure, means, qrels, missing, census)


def model_means(tables: PlanTables, measure: irm.Measure) -> np.ndarray:
    """``M(x)`` of every ranker and query under the grade model, float64[m, k], for any measure."""
    if measure == parse_measure(tables.manifest["arguments"]["measure"]):
        return tables.queries[[f"q_mean_{name}" for name in tables.pool.names]].to_numpy()
    return tables.pool.moments(measure).mean
