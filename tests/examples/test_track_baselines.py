"""Estimates from incomplete judgments, as tracks have made them."""

import itertools

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, infAP, nDCG

GAIN = np.array([0.0, 1.0, 3.0])


@pytest.fixture
def baselines(script):
    return script("track_baselines")


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
def test_with_all_labels_every_estimate_is_the_measure(baselines, seed):
    ranks, label = topic(seed)
    all_of_them, stratum = np.ones(len(label), dtype=bool), np.arange(len(label)) % 2
    ap = [by_ir_measures(AP, rank, label) for rank in ranks]
    ndcg = [by_ir_measures(nDCG(dcg="exp-log2") @ 5, rank, label) for rank in ranks]
    found = baselines.inferred_ndcg(ranks, stratum, GAIN, label, all_of_them, 5)
    assert found == pytest.approx(ndcg)
    assert baselines.inferred_ap(ranks, stratum, label, all_of_them) == pytest.approx(ap, abs=1e-4)
    assert baselines.stat_ap(ranks, np.ones(len(label)), label, all_of_them) == pytest.approx(ap)


@pytest.mark.parametrize("seed", range(2))
def test_one_stratum_is_what_trec_eval_infers(baselines, seed):
    ranks, label = topic(seed)
    sampled = np.arange(len(label)) % 3 != 1
    shown = np.where(sampled, label, -1)
    found = baselines.inferred_ap(ranks, np.zeros(len(label), dtype=int), label, sampled)
    assert found == pytest.approx([by_ir_measures(infAP, rank, shown) for rank in ranks], abs=1e-9)


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


def test_numbers_of_grades_need_not_be_whole(baselines):
    assert baselines.ideal_dcg(np.array([5.0, 1.0, 0.5]), GAIN, 3) == pytest.approx(1.5 + 0.5 + 0.5 / np.log2(3))
    assert baselines.ideal_dcg(np.array([0.0, 9.0, 9.0]), GAIN, 1) == pytest.approx(3.0)


def test_inclusion_probabilities_sum_to_the_number_and_stay_below_one(baselines):
    chance = baselines.inclusion_of(np.array([100.0, 5.0, 3.0, 1.0, 0.0]), 2.5)
    assert (chance[0], chance[4]) == (1, 0)
    assert chance[1:4] == pytest.approx([5 / 6, 3 / 6, 1 / 6])


def test_the_prior_is_the_weight_of_a_rank_in_average_precision(baselines):
    """If half of the pairs of ranks are judged, the weight of a rank is its share of the pairs ``j ≤ i``, each 1/i."""
    pairs = np.array([1 + 1 + 1 / 2 + 1 / 3, 1 + 1 / 2 + 1 / 3, 1 + 1 / 3, 0])
    assert baselines.stat_ap_prior(np.array([[1, 2, 3, 0]]), 3) == pytest.approx(pairs / 6)


def test_a_run_stays_in_front_while_it_finds_relevant_documents(baselines):
    ranks = np.array([[1, 2, 3, 0, 0], [0, 0, 2, 1, 3]])
    label = np.array([1, 0, 1, 1, 0])
    judged = [baselines.move_to_front(ranks, label, number) for number in range(7)]
    assert [np.flatnonzero(after & ~before).tolist() for before, after in itertools.pairwise(judged)] == [
        [0], [1], [3], [2], [4], [],
    ]  # fmt: skip
