"""Labels meet a plan: what they say of every draw."""

from __future__ import annotations

from dataclasses import replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active import frames
from pt_active.documents.judged import JudgedDocuments, judged_documents
from pt_active.documents.rounds import judged_before
from pt_active.judged import JudgedSample, judged_sample
from pt_active.measures import parse_measure
from pt_active.plan_tables import PlanTables

CUT = (
    "the plan was cut to what is judged; the interval is that of a sample whose end was fixed beforehand, `status` has "
    "the one that holds however often one has looked"
)
"""The caution of estimates from a plan that was cut."""


def judged_plan(
    tables: PlanTables, measure: irm.Measure, qrels: pd.DataFrame, missing: str
) -> JudgedSample | JudgedDocuments:
    """Bring the labels of a plan together with its sample; see `judged_sample` and `judged_documents`.

    A plan that was cut to what is judged takes no notice of labels of what was cut off.
    """
    cut = "cut" in tables.manifest
    qrels = _of_sample(tables, qrels) if cut else qrels
    judged: JudgedSample | JudgedDocuments
    if tables.rounds:
        judged = judged_documents(tables.pool, tables.rounds, measure, qrels, missing)
    else:
        census, means = bool(tables.manifest["census"]), model_means(tables, measure)
        judged = judged_sample(tables.pool, tables.queries, measure, means, qrels, missing, census)
    return replace(judged, basis=replace(judged.basis, stopping_caution=CUT)) if cut else judged


def _of_sample(tables: PlanTables, qrels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what was sampled."""
    pool, qrels = tables.pool, frames.checked_qrels(qrels)
    drawn = tables.queries["q_draws"].to_numpy() > 0
    wanted = judged_before(tables.rounds) if tables.rounds else drawn[pool.query_of_document]
    return qrels.merge(pool.keys.loc[wanted, ["qid", "docno"]], on=["qid", "docno"])


def model_means(tables: PlanTables, measure: irm.Measure) -> np.ndarray:
    """``M(x)`` of every ranker and query under the grade model, float64[m, k], for any measure."""
    if measure == parse_measure(tables.manifest["arguments"]["measure"]):
        return tables.queries[[f"q_mean_{name}" for name in tables.pool.names]].to_numpy()
    return tables.pool.moments(measure).mean
