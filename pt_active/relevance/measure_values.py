"""The values of a measure for a run and qrels, query by query, and this package's measures as part of `ir_measures`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import ir_measures
import ir_measures.measures as irm
import numpy as np
import pandas as pd
from ir_measures import providers

from pt_active.frames.qrels import checked_qrels
from pt_active.frames.runs import ranked_run
from pt_active.relevance.measures import RANK_FORMS, has_rank_form, parse_measure
from pt_active.relevance.moments import document_moments, evaluator


def measure_values(run: pd.DataFrame, qrels: pd.DataFrame, measure: str | irm.Measure) -> pd.DataFrame:
    """Compute a measure for each query, as `ir_measures` and trec_eval do.

    Documents without a label count as not relevant. Queries of the qrels without results in the run get the measure's
    default (0). Queries without qrels are left out.

    Args:
        run: ``qid, docno, score``; ids may be strings or numbers.
        qrels: ``qid, docno, label``.
        measure: ``DCG@10``, ``"ERR(max_rel=3)@20"``, ``nDCG@10``, …

    Returns:
        ``qid, value``, in the order in which the queries first occur in the qrels.

    Raises:
        ValueError: If the run or the qrels are malformed, the measure is unknown, or a label is above ERR's
            ``max_rel``, which is 4 if left out.
    """
    measure = parse_measure(measure)
    if measure.NAME == "Accuracy":
        raise ValueError(f"{measure} has no value for queries of which nothing, or only what is relevant, is retrieved")
    run, qrels = ranked_run(run), checked_qrels(qrels)
    if qrels.empty:
        return pd.DataFrame({"qid": [], "value": np.zeros(0)}).astype({"qid": object})
    if _is_ours(measure):
        values = _values(run, qrels, measure)
    else:
        names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
        # Scores without ties, for some of its providers break them otherwise than trec_eval does.
        ranked = run[["qid", "docno"]].assign(score=-run["rank"].astype(float)).rename(columns=names)
        metrics = ir_measures.iter_calc([measure], qrels.rename(columns=names), ranked)
        values = pd.Series({metric.query_id: metric.value for metric in metrics}, dtype=np.float64)
    qids = qrels["qid"].unique()
    return pd.DataFrame({"qid": qids, "value": values.reindex(qids).fillna(measure.DEFAULT).to_numpy()})


def _is_ours(measure: irm.Measure) -> bool:
    """Whether this package computes the measure: additive and cascade ones, and nDCG where `ir_measures` needs Perl."""
    needs_perl = measure.NAME == "nDCG" and measure["dcg"] == "exp-log2" and not measure["judged_only"]
    return has_rank_form(measure) or needs_perl


def _values(run: pd.DataFrame, qrels: pd.DataFrame, measure: irm.Measure) -> pd.Series:
    """The values for the queries of a ranked run that checked qrels have, indexed by qid."""
    run = run.loc[run["qid"].isin(qrels["qid"]), ["qid", "docno", "rank"]]
    documents = qrels[qrels["qid"].isin(run["qid"])].merge(run, how="outer", on=["qid", "docno"])
    label = documents["label"].fillna(0).to_numpy(np.int64)
    ranks = documents[["rank"]].fillna(-1).to_numpy(np.int32).T + 1
    query, qids = pd.factorize(documents["qid"])
    indptr, max_grade = np.searchsorted(query, np.arange(len(qids) + 1)), int(qrels["label"].max())
    if has_rank_form(measure):
        values = document_moments(measure, indptr, ranks, np.eye(max_grade + 1)[label], max_grade)[:, 0]
    else:
        evaluate = evaluator(measure, max_grade)
        values = np.array([evaluate(label[None, a:b], ranks[:, a:b])[0, 0] for a, b in pairwise(indptr)])
    return pd.Series(values, index=qids, dtype=np.float64)


class ActiveProvider(providers.Provider):
    """Lets `ir_measures` and ``pt.Experiment`` compute DCG, ERR with ``max_rel``, RBP, and nDCG without Perl."""

    NAME = "pt_active"

    def supports(self, measure: irm.Measure) -> bool:
        """Whether `ir_measures` has no class for it, such as DCG, or it is RBP, or nDCG with exponential gains."""
        measure.validate_params()
        own = measure.NAME in RANK_FORMS and not type(measure).__module__.startswith("ir_measures.")
        return own or (measure.NAME in ("RBP", "nDCG") and _is_ours(measure))

    def _evaluator(self, measures: Iterable[irm.Measure], qrels: object) -> providers.Evaluator:
        return _ActiveEvaluator(list(measures), ir_measures.util.QrelsConverter(qrels).as_pd_dataframe())


class _ActiveEvaluator(providers.Evaluator):
    def __init__(self, measures: list[irm.Measure], qrels: pd.DataFrame) -> None:
        self.parsed = [(measure, parse_measure(measure)) for measure in measures]
        self.qrels = checked_qrels(_from_ir_measures(qrels))
        super().__init__(measures, set(self.qrels["qid"].unique()))

    def _iter_calc(self, run: object) -> Iterator[ir_measures.Metric]:
        frame = _from_ir_measures(ir_measures.util.RunConverter(run).as_pd_dataframe())
        if frame.empty:
            return
        ranked = ranked_run(frame)
        for measure, parsed in self.parsed:
            for qid, value in _values(ranked, self.qrels, parsed).items():
                yield ir_measures.Metric(query_id=str(qid), measure=measure, value=value)


def _from_ir_measures(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})


provider = ActiveProvider()
providers.register(provider)
ir_measures.DefaultPipeline.providers.insert(0, provider)
