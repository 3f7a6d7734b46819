"""All steps on real submissions to the TREC 2021 Deep Learning track; skipped if the files are absent."""

from pathlib import Path

import ir_measures
import pandas as pd
import pytest

from pt_active import measure_values
from pt_active.frames.trec import read_qrels, read_run
from pt_active.risk import Precision, Recall, ZeroOne

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "dl21"

CUT_BY_ITS_OWN_RANKS = "uogTrPC"
"""A run whose ranks disagree with its scores. The stored file keeps the first 50 ranks, so it lacks some documents with
top scores, and its published value cannot be recomputed. The reference is trec_eval on the stored file."""

pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the track's files are not here"),
    pytest.mark.filterwarnings("ignore:.*the rank column disagrees"),
]


def test_ndcg_equals_the_published_values():
    published = pd.read_csv(FOLDER / "ndcg_cut10.txt", dtype={"topic": str})
    published = published[published.topic != "average"].set_index(["runid", "topic"]).ndcg_cut_10
    qrels = read_qrels(FOLDER / "qrels.txt")
    names = sorted(path.stem for path in (FOLDER / "runs").iterdir())
    assert len(names) == 63
    for name in {*names[::6], CUT_BY_ITS_OWN_RANKS}:
        path, expected = FOLDER / "runs" / f"{name}.gz", published[name]
        assert len(expected) == 53
        if name == CUT_BY_ITS_OWN_RANKS:
            run, judged = ir_measures.read_trec_run(str(path)), ir_measures.read_trec_qrels(str(FOLDER / "qrels.txt"))
            metrics = ir_measures.iter_calc([ir_measures.nDCG @ 10], judged, run)
            expected = pd.Series({metric.query_id: metric.value for metric in metrics})
        found = measure_values(read_run(path), qrels, "nDCG@10").set_index("qid").value
        assert found[expected.index].to_numpy() == pytest.approx(expected.to_numpy(), abs=5.1e-5)


def test_the_audit_of_a_real_llm_judge(script):
    audit = script("audit_llm_judge")
    pool, qrels = audit.make_pool(FOLDER, "umbrela-gpt-4", "gpt-4o")
    assert len(pool) == len(qrels) == 5112
    losses = {"error": ZeroOne(), "precision": Precision(rel=2), "recall": Recall(rel=2)}
    for estimate, exact in audit.audited(pool, qrels, "umbrela-gpt-4", losses, 200, seed=5).values():
        low, high = estimate.confidence_interval(0.999)
        assert low < exact < high
