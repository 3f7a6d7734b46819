"""All steps on real submissions to the TREC 2021 Deep Learning track; skipped if the files are absent."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

from pt_active import Plan, measure_values
from pt_active.frames.trec import read_qrels, read_run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "data" / "dl21"

CUT_BY_ITS_OWN_RANKS = "uogTrPC"
"""A run whose ranks disagree with its scores. The stored file keeps the first 50 ranks, so it lacks some documents with
top scores, and its published value cannot be recomputed. The reference is trec_eval on the stored file."""

pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the track's files are not here"),
    pytest.mark.filterwarnings("ignore:.*the rank column disagrees"),
]


def test_ndcg_equals_the_published_values() -> None:
    published = pd.read_csv(FOLDER / "ndcg_cut10.txt", dtype={"topic": str})
    published = published[published.topic != "average"].set_index(["runid", "topic"]).ndcg_cut_10
    qrels = read_qrels(FOLDER / "qrels.txt")
    names = sorted(path.stem for path in (FOLDER / "runs").iterdir())
    assert len(names) == 63
    for name in {*names[::3], CUT_BY_ITS_OWN_RANKS}:
        assert len(published[name]) == 53
        found = measure_values(read_run(FOLDER / "runs" / f"{name}.gz"), qrels, "nDCG@10").set_index("qid").value
        expected = trec_eval_values(name) if name == CUT_BY_ITS_OWN_RANKS else published[name]
        assert found[expected.index].to_numpy() == pytest.approx(expected.to_numpy(), abs=5.1e-5)


def trec_eval_values(name: str) -> pd.Series:
    run = ir_measures.read_trec_run(str(FOLDER / "runs" / f"{name}.gz"))
    qrels = ir_measures.read_trec_qrels(str(FOLDER / "qrels.txt"))
    metrics = ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)
    return pd.Series({metric.query_id: metric.value for metric in metrics})


def test_two_submissions_end_to_end(example) -> None:
    results, difference = example("trec_dl21").compare(FOLDER, "p_bm25", "NLE_P_v1", budget=200, seed=3)
    for plan, comparison in results.values():
        low, high = comparison.confidence_interval(0.999)
        assert low < difference < high
        assert plan.manifest["spent"] <= 200
        assert comparison.missing == ()


def test_an_llm_judge_narrows_the_interval(example) -> None:
    errors = {"runs (ordered logit)": [], "LLM judge": []}
    for seed in range(3):
        results, _ = example("trec_dl21").compare(FOLDER, "p_bm25", "NLE_P_v1", budget=200, seed=seed)
        for name, (_, comparison) in results.items():
            errors[name].append(comparison.standard_error)
    assert np.median(errors["LLM judge"]) < np.median(errors["runs (ordered logit)"])


def test_judging_ends_when_the_better_submission_is_known(example) -> None:
    module = example("until_known_dl21")
    question = module.read(FOLDER, "p_bm25", "NLE_P_v1")
    plan = Plan.create(question.graded, question.topics, module.MEASURE, budget=286, level="document", seed=1)
    states = list(module.campaign(plan, question.qrels))
    assert [state.n_judged for state in states] == list(range(1, len(states) + 1))
    assert [state.resolved for state in states] == [False] * (len(states) - 1) + [True]
    assert len(states) < 100
    assert states[-1].winner == "NLE_P_v1"
    assert states[-1].low < question.truth < states[-1].high < 0
