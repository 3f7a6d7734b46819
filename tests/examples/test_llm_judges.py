"""The study of LLM judges, on a small simulated collection."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("ppi_py")


@pytest.fixture
def frame(demo, graded) -> pd.DataFrame:
    """Judged documents with the labels of a judge who is wrong in a third of the cases."""
    frame = graded.merge(demo.qrels, on=["qid", "docno"])
    frame = frame[frame["qid"].isin(sorted(frame["qid"].unique())[:30])].reset_index(drop=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(frame)) < 1 / 3
    return frame.assign(said=np.where(wrong, rng.integers(0, 4, len(frame)), frame["label"]))


@pytest.fixture
def case(script, frame):
    names = [name.removeprefix("rank_") for name in frame.columns if name.startswith("rank_")][:2]
    return script("judge_ways").case_of(frame, "DCG@10", names)


def test_every_way_is_near_the_truth_on_average(script, case) -> None:
    """But for the judge alone, whose error is the same in every sample: 60 samples, four standard errors."""
    ways = script("judge_ways").WAYS
    labels = float(case.population.cost.sum() / 3)
    for name, way in ways.items():
        outcome = way(case, labels, 60, 0)
        if name == "LLM alone":
            assert np.ptp(outcome.error) == 0
        else:
            assert abs(outcome.error.mean()) < 4 * outcome.error.std() / np.sqrt(60), name
