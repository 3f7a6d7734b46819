"""Estimates from incomplete judgments as tracks have made them, and the study of a track on a few judgments."""

import itertools

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, infAP, nDCG

from pt_active import measure_values
from pt_active.inference.certificate import agreement

GAIN = np.array([0.0, 1.0, 3.0])


@pytest.fixture
def baselines(script):
    return script("track_baselines")


@pytest.fixture
def track(script, demo, graded):
    frame = graded.merge(demo.qrels, on=["qid", "docno"], validate="1:1")
    kept = frame[frame["qid"].isin(sorted(frame["qid"].unique())[:15])]
    return script("tracks").Track(kept.drop(columns="label"), kept[["qid", "docno", "label"]])


def topic(seed: int, n: int = 14, runs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Ranks, with documents that are not retrieved and lists with gaps, and labels."""
    rng = np.random.default_rng(seed)
    ranks = np.zeros((runs, n), dtype=np.int64)
    for run in range(runs):
        found = rng.permutation(n)[: n - 3]
        ranks[run, found] = np.sort(rng.permutation(2 * n)[: n - 3] + 1)
    label = rng.integers(0, 3, n)
    label[0] = 2
    return ranks, label


def by_ir_measures(measure, rank: np.ndarray, label: np.ndarray) -> float:
    """The value of a list whose gaps are filled with documents that were not pooled."""
    docnos = {int(r): f"d{z}" for z, r in enumerate(rank) if r > 0}
    rows = [("q", docnos.get(r, f"other{r}"), -float(r)) for r in range(1, rank.max() + 1)]
    qrels = pd.DataFrame({"query_id": "q", "doc_id": [f"d{z}" for z in range(len(rank))], "relevance": label})
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    return float(ir_measures.calc_aggregate([measure], qrels, run)[measure])


@pytest.mark.parametrize("seed", range(2))
def test_with_all_labels_every_estimate_is_the_measure_and_one_stratum_is_what_trec_eval_infers(baselines, seed):
    ranks, label = topic(seed)
    every, stratum = np.ones(len(label), dtype=bool), np.arange(len(label)) % 2
    ap = [by_ir_measures(AP, rank, label) for rank in ranks]
    ndcg = [by_ir_measures(nDCG(dcg="exp-log2") @ 5, rank, label) for rank in ranks]
    assert baselines.inferred_ndcg(ranks, stratum, GAIN, label, every, 5) == pytest.approx(ndcg)
    assert baselines.inferred_ap(ranks, stratum, label, every) == pytest.approx(ap, abs=1e-4)
    assert baselines.stat_ap(ranks, np.ones(len(label)), label, every) == pytest.approx(ap)
    sampled = np.arange(len(label)) % 3 != 1
    inferred = [by_ir_measures(infAP, rank, np.where(sampled, label, -1)) for rank in ranks]
    assert baselines.inferred_ap(ranks, 0 * stratum, label, sampled) == pytest.approx(inferred, abs=1e-9)


def test_sums_of_precisions_are_unbiased_and_ratios_are_not(baselines):
    """statAP over all samples: its numerator and its denominator have the right means."""
    ranks, label = topic(1, n=8, runs=1)
    inclusion = np.linspace(0.3, 0.9, 8)
    sums, counts, values = 0.0, 0.0, 0.0
    for chosen in itertools.product([False, True], repeat=8):
        sampled = np.array(chosen)
        chance = np.where(sampled, inclusion, 1 - inclusion).prod()
        value = baselines.stat_ap(ranks, inclusion, label, sampled)[0]
        number = (sampled & (label > 0)) @ (1 / inclusion)
        sums, counts, values = sums + chance * value * number, counts + chance * number, values + chance * value
    ap = by_ir_measures(AP, ranks[0], label)
    assert counts == pytest.approx((label > 0).sum())
    assert sums == pytest.approx(ap * (label > 0).sum())
    assert abs(values - ap) > 0.005


def test_parts_of_the_baselines_by_hand(baselines):
    """Ideal DCG of numbers of grades that are not whole, inclusion probabilities, and the prior of ranks.

    If half of the pairs of ranks are judged, the weight of a rank is its share of the pairs ``j ≤ i``, each 1/i.
    """
    assert baselines.ideal_dcg(np.array([5.0, 1.0, 0.5]), GAIN, 3) == pytest.approx(1.5 + 0.5 + 0.5 / np.log2(3))
    assert baselines.ideal_dcg(np.array([0.0, 9.0, 9.0]), GAIN, 1) == pytest.approx(3.0)
    chance = baselines.inclusion_of(np.array([100.0, 5.0, 3.0, 1.0, 0.0]), 2.5)
    assert chance == pytest.approx([1, 5 / 6, 3 / 6, 1 / 6, 0])
    pairs = np.array([1 + 1 + 1 / 2 + 1 / 3, 1 + 1 / 2 + 1 / 3, 1 + 1 / 3, 0])
    assert baselines.stat_ap_prior(np.array([[1, 2, 3, 0]]), 3) == pytest.approx(pairs / 6)


def test_a_run_stays_in_front_while_it_finds_relevant_documents(baselines):
    ranks = np.array([[1, 2, 3, 0, 0], [0, 0, 2, 1, 3]])
    label = np.array([1, 0, 1, 1, 0])
    judged = [baselines.move_to_front(ranks, label, number) for number in range(7)]
    assert [np.flatnonzero(after & ~before).tolist() for before, after in itertools.pairwise(judged)] == [
        [0], [1], [3], [2], [4], [],
    ]  # fmt: skip


@pytest.mark.parametrize("measure", ["nDCG@10", "AP(rel=2)"])
def test_true_scores_are_those_of_ir_measures(script, track, demo, measure):
    wanted = []
    for name in demo.runs:
        run = track.pool[track.pool[f"rank_{name}"] >= 0].assign(score=lambda rows, name=name: -rows[f"rank_{name}"])
        values = measure_values(run[["qid", "docno", "score"]], track.qrels, measure)
        wanted.append(values["value"].sum() / track.pool["qid"].nunique())
    assert script("tracks").true_scores(track, measure) == pytest.approx(wanted)


def test_the_correlation_of_average_precision_is_that_of_the_package(script):
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    for truth in map(np.array, itertools.permutations(scores)):
        assert script("tracks").tau_ap(scores, truth) == pytest.approx(agreement(scores, truth[None], 1)[1, 0])
