"""The study of a track on a few of its judgments, on a small simulated one."""

import itertools

import numpy as np
import pandas as pd
import pytest

from pt_active import measure_values


@pytest.fixture
def track(script, demo, graded):
    frame = graded.merge(demo.qrels, on=["qid", "docno"], validate="1:1")
    kept = frame[frame["qid"].isin(sorted(frame["qid"].unique())[:15])]
    return script("tracks").Track(kept.drop(columns="label"), kept[["qid", "docno", "label"]])


@pytest.mark.parametrize("measure", ["nDCG@10", "AP(rel=2)"])
def test_true_scores_are_those_of_ir_measures(script, track, demo, measure):
    wanted = []
    for name in demo.runs:
        run = track.pool[track.pool[f"rank_{name}"] >= 0].assign(score=lambda rows, name=name: -rows[f"rank_{name}"])
        values = measure_values(run[["qid", "docno", "score"]], track.qrels, measure)
        wanted.append(values["value"].sum() / track.pool["qid"].nunique())
    assert script("tracks").true_scores(track, measure) == pytest.approx(wanted)


def test_documents_come_closer_to_the_truth_than_a_share_of_each_pool(script, track):
    tracks = script("tracks")
    size = len(track.pool)
    few, everything = (
        tracks.league(track, list(tracks.MEASURES), [budget], repetitions).set_index(["measure", "way"])
        for budget, repetitions in ((size // 4, 8), (size, 1))
    )
    ways = {"documents", "from the top", "infNDCG", "xinfAP", "statAP", "depth", "move to front"}
    assert set(few.index.unique("way")) == ways
    assert everything["RMSE"].max() < 1e-4
    assert everything["τ"].min() == 1
    ndcg, ap = few.loc["nDCG@10", "RMSE"], few.loc["AP(rel=2)", "RMSE"]
    assert ndcg["documents"] < ndcg["infNDCG"]
    assert ap["documents"] < ap["xinfAP"]
    assert few.loc[("nDCG@10", "documents"), "covers"] >= 0.7
    assert "| – |" in tracks.shown(few.reset_index())


def test_the_top_counts_more_in_the_correlation_of_average_precision(script):
    tau_ap, truth = script("tracks").tau_ap, np.array([4.0, 3.0, 2.0, 1.0])
    assert tau_ap(truth, truth) == 1
    assert tau_ap(-truth, truth) == -1
    assert tau_ap(np.array([3.0, 4.0, 2.0, 1.0]), truth) < tau_ap(np.array([4.0, 3.0, 1.0, 2.0]), truth)
    assert np.mean([tau_ap(np.array(each), truth) for each in itertools.permutations(truth)]) == pytest.approx(0)


def test_a_new_track_needs_more_topics_and_fewer_judgments_if_topics_are_cheap(track, script):
    new_track = script("new_track")
    table = pd.DataFrame(new_track.needed(new_track.of_runs(track, 3), "nDCG@10", [0.1])).set_index("way")
    documents = table.filter(like="documents", axis=0)
    assert (documents["topics"].diff().dropna() < 0).all()
    assert (documents["judgments"].diff().dropna() > 0).all()
    design, every = table.loc["topic set size design"], table.loc["all judged"]
    assert abs(design["topics"] - every["topics"]) <= 1
    assert every["topics"] <= documents["topics"].min()
    assert documents["judgments"].max() < every["judgments"]
