"""May a judge replace people? Exact with all labels, and an interval of τ that holds where rankers are tied."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import demo_collection
from pt_active.relevance.measure_values import measure_values
from pt_active.risk.replacing import CONFIRMED, OPEN, REFUTED, Replacement, _closed, replacement


@pytest.fixture(scope="module")
def collection():
    return demo_collection(seed=7, queries=40)


@pytest.fixture(scope="module")
def pool(collection) -> pd.DataFrame:
    grades = OrderedLogitGrades(max_grade=3).fit(collection.past_run, collection.past_qrels)
    return (Runs(**collection.runs, depth=10) >> grades)(collection.topics)


def made(pool: pd.DataFrame, collection, budget: float) -> tuple[Plan, pd.DataFrame]:
    plan = Plan.create(pool, collection.topics, "DCG@10", budget=budget, level="document", seed=1)
    return plan, collection.judge(plan.assessments)


def test_a_judge_who_agrees_with_people_is_confirmed(pool, collection) -> None:
    plan, qrels = made(pool, collection, len(pool))
    found = replacement(plan, qrels, collection.judge(pool), "twin")
    assert found.answer.startswith("Yes: people's labels confirm")
    assert found.tau_interval == (1.0, 1.0)
    np.testing.assert_allclose(found.pairs["judge"], found.pairs["people"])
    for row in found.rankers.to_dict("records"):
        wanted = measure_values(collection.runs[row["name"]], collection.judge(pool), "DCG@10")["value"].mean()
        assert row["judge"] == pytest.approx(wanted)


def test_a_judge_who_prefers_the_worse_ranker_is_refuted(pool, collection) -> None:
    """The judge says the opposite of people, so that the better ranker looks worse."""
    plan, qrels = made(pool, collection, len(pool))
    opposite = collection.judge(pool).assign(label=lambda frame: 3 - frame["label"])
    found = replacement(plan, qrels, opposite, "contrarian")
    assert found.pairs["verdict"].tolist() == [REFUTED]
    assert found.answer.startswith("No: contrarian alone finds")
    assert found.tau_interval == (-1.0, -1.0)


def test_a_wrong_level_is_said_first(pool, collection) -> None:
    """A judge who finds everything highly relevant says nothing of the order, and much too much of each ranker."""
    plan = Plan.create(pool, None, "P(rel=2)@10", draws=20, level="query", seed=1)
    qrels, kind = collection.judge(plan.assessments), collection.judge(pool).assign(label=3)
    found = replacement(plan, qrels, kind, "kind")
    assert found.pairs["verdict"].tolist() == [OPEN]
    assert found.rankers["judge"].tolist() == pytest.approx([1.0, 1.0])
    assert set(found.wrong_levels["name"]) == set(plan.rankers)
    row = found.wrong_levels.iloc[0]
    assert found.answer.startswith(
        f"No: people's labels prove that the value of {row['name']} is not 1.00, as kind alone finds"
    )
    said = (
        f"by people {row['people']:.2f}, error [+{row['error_low']:.2f}, +{row['error_high']:.2f}], and 1 more is wrong"
    )
    assert said in str(found).splitlines()[0]
    assert "Of the order alone: Not known" in str(found).splitlines()[0]
    tied = replace(found, rankers=found.rankers.assign(error=[0.3, 0.1 + 0.2]))
    assert tied.wrong_levels["name"].tolist() == found.rankers["name"].tolist()  # not by the last digit
    each = plan.estimate(qrels, confidence=0.975)[row["name"]].confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx(each)


def test_what_the_plan_does_not_tell_is_shown_with_its_error(pool, collection) -> None:
    """A handful of documents, of which those carry the error that the sample mostly misses."""
    plan, qrels = made(pool, collection, 12)
    found = replacement(plan, qrels, collection.judge(pool), "twin")
    row = found.rankers.set_index("name").loc["candidate"]
    assert np.isnan(row["low"])
    assert row["standard_error"] > 0
    said = f"{row['people']:.4f} by people, SE {row['standard_error']:.4f}: not known from this plan"
    assert said in str(found)
    assert found.to_dict()["rankers"][0]["standard_error"] > 0
    assert found.wrong_levels.empty


def test_the_sample_is_that_of_the_comparison_with_the_fewest(pool, collection) -> None:
    """As in a ranking, whatever the order of the pairs; with one pair it is that pair's own."""
    candidate, production = collection.runs.values()
    reverse = candidate.assign(score=-candidate["score"]).drop(columns="rank")
    three = Runs(candidate=candidate, production=production, twin=reverse, depth=10)
    grades = OrderedLogitGrades(max_grade=3).fit(collection.past_run, collection.past_qrels)
    plan = Plan.create((three >> grades)(collection.topics), collection.topics, "DCG@10", budget=200, level="document")
    qrels = collection.judge(plan.assessments)
    many = replacement(plan, qrels, collection.judge(plan.tables.pool.keys), "twin")
    pairs = many.pairs[["first", "second"]].to_dict("records")
    each = [plan.compare(qrels, confidence=1 - 0.05 / 3, **pair) for pair in pairs]
    ends = [found.confidence_interval() for found in each]
    assert (many.pairs["verdict"] == OPEN).tolist() == [low <= 0 <= high for low, high in ends]
    assert many.pairs["low"].tolist() == pytest.approx([low for low, _ in ends])
    sizes = [found.n_effective for found in each]
    assert f"{min(sizes):.1f} effective in the comparison with the fewest" in dict(many.basis)["sample"]
    assert min(sizes) < sizes[-1]
    plan, qrels = made(pool, collection, 60)
    one = replacement(plan, qrels, collection.judge(pool), "twin")
    assert tuple(one.basis) == tuple(plan.compare(qrels).basis.facts())


def of_normal(value: np.ndarray, alone: np.ndarray) -> Replacement:
    """The replacement that independent estimates with standard errors 1 lead to."""
    number, rows = len(value) * (len(value) - 1) // 2, []
    half = stats.norm.ppf(1 - 0.025 / number) * np.sqrt(2)
    for a, b in combinations(range(len(value)), 2):
        first, second = (a, b) if alone[a] >= alone[b] else (b, a)
        people = value[first] - value[second]
        verdict = CONFIRMED if people > half else REFUTED if people < -half else OPEN
        names = {"first": f"r{first}", "second": f"r{second}"}
        rows.append(names | {"judge": alone[first] - alone[second], "people": people, "verdict": verdict})
    return Replacement("judge", "DCG@10", pd.DataFrame(), _closed(pd.DataFrame(rows)), 0.95, ())


@pytest.mark.parametrize("step", [0.0, 0.5, 3.0])
def test_the_interval_of_tau_holds_where_a_bootstrap_does_not(step: float) -> None:
    """Five rankers ``step`` standard errors apart, 150 samples, a judge who swaps two of them."""
    truth, alone = step * np.arange(5.0), np.array([0.0, 2.0, 1.0, 3.0, 4.0])
    pairs = np.array(list(combinations(range(5), 2))).T

    def tau(values: np.ndarray) -> np.ndarray:
        one, other = np.sign(values[..., pairs[0]] - values[..., pairs[1]]), np.sign(alone[pairs[0]] - alone[pairs[1]])
        return (one * other).mean(axis=-1)

    rng, hits, naive = np.random.default_rng(0), 0, 0
    for _ in range(150):
        value = truth + rng.normal(size=5)
        low, high = of_normal(value, alone).tau_interval
        hits += low - 1e-9 <= tau(truth) <= high + 1e-9
        ends = np.quantile(tau(value + rng.normal(size=(400, 5))), [0.025, 0.975])
        naive += ends[0] - 1e-9 <= tau(truth) <= ends[1] + 1e-9
    assert hits / 150 >= 0.95
    if step == 0.5:
        assert naive / 150 < 0.9
