"""The published numbers of two models on 198 questions, and the same formulas on made scores."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

SCORES = Path(__file__).parents[3] / "shared" / "data" / "answers" / "gpqa_diamond_scores.csv"


def made(seed: int, questions: int, runs: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product([np.arange(questions).astype(str), ["b", "a"], 1 + np.arange(runs)])
    frame = index.to_frame(index=False).set_axis(["item_id", "model_id", "epoch"], axis=1)
    return frame.assign(score=rng.binomial(1, np.repeat(rng.beta(1, 1, questions), 2 * runs)).astype(float))


@pytest.mark.parametrize(("questions", "runs"), [(198, 5), (7, 3), (40, 1)])
def test_runs_are_repeats_of_their_question(example, questions, runs):
    scores, module = made(questions, questions, runs), example("repeated_runs")
    result, estimates = module.census(scores)
    means = scores.groupby(["item_id", "model_id"])["score"].mean().unstack()
    gain = means["a"] - means["b"]
    assert (result.first, result.second) == ("a", "b")
    assert result.difference == pytest.approx(gain.mean(), rel=1e-9)
    assert result.standard_error == pytest.approx(gain.sem(), rel=1e-9)
    assert result.pvalue == pytest.approx(stats.ttest_1samp(gain, 0).pvalue, rel=1e-9)
    assert result.beside.confidence_interval() == (result.difference, result.difference)
    for name, estimate in estimates.items():
        assert estimate.standard_error == pytest.approx(means[name].sem(), rel=1e-9)
    z = (gain.mean() - np.array(module.unpaired(estimates))) / np.sqrt(means["a"].var() + means["b"].var())
    assert z * np.sqrt(questions) == pytest.approx([1.959964, -1.959964], rel=1e-6)


@pytest.mark.skipif(not SCORES.exists(), reason="the scores are not here")
def test_the_published_numbers(example):
    module = example("repeated_runs")
    result, estimates = module.census(pd.read_csv(SCORES))
    assert (round(abs(result.difference), 4), round(result.standard_error, 4)) == (0.0586, 0.0278)
    assert round(result.pvalue, 3) == 0.036
    low, high = np.sign(result.difference) * np.array(module.unpaired(estimates))
    assert [round(100 * each, 1) for each in sorted((low, high))] == [-2.1, 13.8]
    assert result.beside.pvalue == 0
