"""The simulated collection is the same for a seed, and has the properties that it claims."""

import pandas as pd
import pytest

from pt_active import measure_values
from pt_active.demo.collection import demo_collection
from pt_active.plans.making.manifest import digest


@pytest.fixture(scope="module")
def collection():
    return demo_collection()


PINNED = {
    "topics": "41902f352518",
    "documents": "a231e186fc26",
    "qrels": "526eb5b1da2a",
    "past_topics": "f3f7327149c7",
    "past_run": "766171af5567",
    "past_qrels": "22d64842c4eb",
    "production": "633c811cd93f",
    "candidate": "96634995c09d",
}


def digests(made) -> dict[str, str]:
    return {name: digest(frame)[:12] for name, frame in (vars(made) | made.runs).items() if name in PINNED}


def test_a_seed_gives_the_same_collection_on_every_machine(collection):
    assert digests(collection) == PINNED
    assert not set(digests(demo_collection(4, queries=3)).items()) & set(PINNED.items())


def test_shape(collection):
    assert (len(collection.topics), len(collection.past_topics)) == (600, 200)
    every = pd.concat([collection.topics, collection.past_topics])
    assert every["qid"].is_unique
    assert every["query"].is_unique
    assert collection.documents["docno"].is_unique
    runs = [(run, collection.topics) for run in collection.runs.values()]
    for run, topics in [*runs, (collection.past_run, collection.past_topics)]:
        assert set(run["qid"]) == set(topics["qid"])
        assert run.groupby("qid").size().between(20, 30).all()
        assert run["docno"].isin(collection.documents["docno"]).all()
        assert (run.groupby("qid")["score"].diff().dropna() <= 0).all()


def test_qrels_are_complete_and_what_the_judge_says(collection):
    union = pd.concat(collection.runs.values())[["qid", "docno"]].drop_duplicates(ignore_index=True)
    pd.testing.assert_frame_equal(collection.qrels[["qid", "docno"]], union)
    some = collection.qrels.sample(frac=0.5, random_state=1, ignore_index=True)
    pd.testing.assert_frame_equal(collection.judge(some[["qid", "docno"]]), some)
    pd.testing.assert_frame_equal(collection.judge(collection.past_run), collection.past_qrels)
    with pytest.raises(ValueError, match="not in the demo collection: docno 'x'"):
        collection.judge(pd.DataFrame({"qid": ["q1"], "docno": ["x"]}))


def test_candidate_is_a_little_better(collection):
    """Between 60 and 300 random queries resolve it."""
    old, new = (
        measure_values(collection.runs[name], collection.qrels, "DCG@10")["value"].to_numpy()
        for name in ("production", "candidate")
    )
    assert 0.03 < (new - old).mean() / old.mean() < 0.06
    assert 60 < (1.96 * (new - old).std() / (new - old).mean()) ** 2 < 300


@pytest.mark.parametrize("queries", [2, 3001])
def test_number_of_queries_is_checked(queries):
    with pytest.raises(ValueError, match=f"queries must be between 3 and 3000, got {queries}"):
        demo_collection(queries=queries)
