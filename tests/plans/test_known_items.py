"""nDCG and AP where a query has one relevant document, or always the same number [theory 21]."""

import numpy as np
import pandas as pd
import pytest
from samples import wanted

from pt_active import Plan
from pt_active.plans.answers.report.report import Report

pytestmark = pytest.mark.filterwarnings("ignore")


def framed(ranks: dict[str, np.ndarray], label: np.ndarray) -> pd.DataFrame:
    """A labelled pool with a model that knows nothing. Shapes: ranks from 0 and label int64[m, n]."""
    m, n = label.shape
    keys = {"qid": np.repeat([f"q{x:03d}" for x in range(m)], n), "docno": np.tile([f"d{z:02d}" for z in range(n)], m)}
    places = {f"rank_{name}": rank.ravel() for name, rank in ranks.items()}
    return pd.DataFrame(keys | places).assign(label=label.ravel(), grade_0=0.5, grade_1=0.5)


def tied(queries: int, documents: int = 20) -> pd.DataFrame:
    """In 12 of 13 queries b has the relevant document at rank 3, a at rank 4; in one a has it first and b lacks it."""
    place = np.arange(documents)
    a, b, label = (np.tile(each, (queries, 1)) for each in (place, place, (place == 2).astype(int)))
    a[:, [2, 3]] = 3, 2
    last = np.arange(queries) % 13 == 0
    a[last], b[last], label[last] = place, np.r_[-1, place[:-1]], place == 0
    return framed({"a": a, "b": b}, label)


def relevant(number: int, queries: int, documents: int, seed: int) -> pd.DataFrame:
    """The best documents of each query are relevant, as many in each; the ranker has some skill."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(queries, documents))
    label = ((-latent).argsort(axis=1).argsort(axis=1) < number).astype(int)
    rank = (rng.normal(size=latent.shape) - 0.8 * latent).argsort(axis=1).argsort(axis=1)
    return framed({"a": rank}, label)


def planned(frame: pd.DataFrame, measure: str, share: float, seed: int) -> tuple[Plan, pd.DataFrame]:
    """A plan, and the labels that it asks for."""
    plan = Plan.create(frame.drop(columns="label"), None, measure, budget=round(share * len(frame)), seed=seed)
    return plan, wanted(plan, frame)


def test_no_look_names_a_winner_of_a_tie():
    """Three of these four did before. At the level of 0.05, two of four would be one chance in 70."""
    asked = (planned(tied(104), "AP", 0.15, seed) for seed in range(4))
    winners = [plan.status(qrels, first="b", second="a").winner for plan, qrels in asked]
    assert sum(winner is not None for winner in winners) <= 1


@pytest.mark.parametrize("measure", ["AP", "nDCG@10"])
def test_intervals_of_known_items_cover(measure):
    covered, error, stated = [], [], []
    for seed in range(12):
        frame = relevant(1, 40, 20, seed)
        plan, qrels = planned(frame, measure, 0.15, seed)
        found = plan.estimate(qrels)["a"]
        rank = frame.loc[frame["label"] == 1, "rank_a"]
        truth = (1 / (rank + 1) if measure == "AP" else (rank < 10) / np.log2(rank + 2)).mean()
        low, high = found.confidence_interval()
        covered.append(low <= truth <= high)
        error.append(found.value - truth)
        stated.append(found.standard_error)
    assert np.mean(covered) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 12)
    assert abs(np.mean(error)) < 3 * np.std(error) / np.sqrt(12)
    assert 0.75 < np.linalg.norm(stated) / np.linalg.norm(error) < 2


def test_where_queries_with_one_relevant_document_are_surely_a_part_there_is_no_interval():
    """Few labels do not tell them from queries with none, whose values would come out too high."""
    frame = pd.concat([relevant(number, 80, 20, number).assign(part=number) for number in (0, 1, 8)])
    frame["qid"] += frame.pop("part").astype(str)
    plan, qrels = planned(frame.reset_index(drop=True), "nDCG@10", 0.3, 0)
    found = plan.estimate(qrels)["a"]
    assert np.isnan(found.confidence_interval()).all()
    assert 'do not tell them from queries with none, so there is no interval and no test; design="depth"' in found.note


def test_what_fits_no_class_of_queries_has_no_interval_and_says_so():
    """With five relevant documents in each query, their number hardly varies, which no class expects."""
    plan, qrels = planned(relevant(5, 100, 10, 0), "AP", 0.8, 0)
    found, state = plan.estimate(qrels)["a"], plan.status(qrels, margin=0.05)
    assert np.isnan([*found.confidence_interval(), state.low, state.high]).all()
    said = "relevant documents keep apart in queries more than the estimate allows for"
    assert f"none   for these 100 queries: {said}" in state.details
    assert all(said in each for each in (found.note, str(found), str(Report.of(plan, qrels))))
