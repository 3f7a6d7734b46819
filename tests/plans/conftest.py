"""Plans of the demonstration, all labels, labels from the grade model, five rankers, and a model that is too sure."""

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan, measure_values


@pytest.fixture(scope="session")
def plan(graded):
    return Plan.create(graded, None, DCG @ 10, budget=600, seed=3, level="query")


@pytest.fixture(scope="session")
def topics(demo):
    """Three queries for each need."""
    return demo.topics.assign(qneed=[f"need {row // 3}" for row in range(len(demo.topics))])


@pytest.fixture(scope="session")
def census(graded, topics):
    return Plan.create(graded, topics, DCG @ 10, budget=1e9, level="query", seed=1)


@pytest.fixture(scope="session")
def labels(demo, graded):
    return demo.judge(graded)


@pytest.fixture(scope="session")
def differences(demo, labels):
    """The true difference in a measure, query by query."""

    def of(measure) -> pd.Series:
        runs = demo.runs["production"], demo.runs["candidate"]
        first, second = (measure_values(run, labels, measure).set_index("qid")["value"] for run in runs)
        return first - second

    return of


@pytest.fixture(scope="session")
def few(graded):
    """The pool of 40 queries."""
    return graded[graded["qid"].isin(graded["qid"].unique()[:40])]


@pytest.fixture(scope="session")
def five(graded, demo):
    """Five rankers: production, candidate, its twin, and two that are worse; with the texts of documents."""
    frame, rng = graded.assign(rank_twin=graded["rank_candidate"]), np.random.default_rng(0)
    frame["qwords"] = frame["query"].str.split().str.len().clip(upper=5).astype(str)
    frame["qnumber"] = (frame["qid"].str[1:].astype(int) % 7).astype(str)
    for name, noise in (("worse", 8.0), ("random", 1e6)):
        score = frame["rank_candidate"].where(frame["rank_candidate"] >= 0, 20) + noise * rng.random(len(frame))
        frame[f"rank_{name}"] = frame.assign(o=score).groupby("qid")["o"].rank(method="first").astype(int) - 1
    return frame.merge(demo.documents, on="docno")


@pytest.fixture(scope="session")
def sharp(graded):
    """A model that is right on average, and far too sure of it."""
    power = graded.filter(regex="^grade_") ** 6
    return graded.assign(**power.div(power.sum(axis=1), axis=0))


@pytest.fixture(scope="session")
def as_the_model_says(graded):
    """Makes labels that are drawn from the grade model, with a seed."""
    below = graded.filter(regex="^grade_").to_numpy().cumsum(axis=1)[:, :-1]

    def make(seed: int) -> pd.DataFrame:
        return graded.assign(label=(np.random.default_rng(seed).random((len(below), 1)) > below).sum(axis=1))

    return make
