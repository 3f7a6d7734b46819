"""The study of LLM judges, on a small simulated collection."""

import numpy as np
import pytest

pytest.importorskip("ppi_py")


def test_every_way_is_near_the_truth_on_average(script, demo, graded):
    """60 samples, four standard errors; the error of the judge alone, wrong in a third, is the same in every sample."""
    frame = graded.merge(demo.qrels, on=["qid", "docno"])
    frame = frame[frame["qid"].isin(sorted(frame["qid"].unique())[:30])].reset_index(drop=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(frame)) < 1 / 3
    frame = frame.assign(said=np.where(wrong, rng.integers(0, 4, len(frame)), frame["label"]))
    ways = script("judge_ways")
    case = ways.case_of(frame, "DCG@10", list(demo.runs))
    for name, way in ways.WAYS.items():
        outcome = way(case, float(case.population.cost.sum() / 3), 60, 0)
        if name == "LLM alone":
            assert np.ptp(outcome.error) == 0
        else:
            assert abs(outcome.error.mean()) < 4 * outcome.error.std() / np.sqrt(60), name
