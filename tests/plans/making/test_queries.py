"""The order in which queries come: by clocks from their ids, and beyond a plan's end."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_order import in_order
from hypothesis import given, settings
from hypothesis import strategies as st

from pt_active import DCG, LogLengthCost, Plan
from pt_active.plans.making.queries import DrawingOrder, draw

BUDGET = 300.0


@pytest.fixture(scope="module")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=BUDGET, seed=3, level="query")


def order_of(qids: Sequence[str], size: np.ndarray, seed: int) -> list[str]:
    table = pd.DataFrame({"qid": qids, "q_prob": size / size.sum(), "q_weight": 1 / len(size), "q_cost": 1.0})
    return table["qid"].iloc[np.argsort(draw(table, None, 1, seed, replace=False).priority)].tolist()


IDS = st.lists(st.text(max_size=6), min_size=2, max_size=15, unique=True)


@settings(max_examples=20)
@given(IDS, st.integers(0, 99), st.randoms(use_true_random=False), st.data())
def test_neither_other_queries_nor_the_order_of_rows_move_a_query(qids, seed, random, data):
    size = np.array([random.uniform(0.1, 3) for _ in qids])
    rows = data.draw(st.permutations(range(len(qids))))[: data.draw(st.integers(2, len(qids)))]
    kept = [qids[row] for row in rows]
    assert order_of(kept, size[rows], seed) == [x for x in order_of(qids, size, seed) if x in kept]


def test_priorities_say_which_queries_were_drawn(plan):
    queries = plan.queries
    drawn = queries.q_draws > 0
    assert queries.q_priority[drawn].max() < queries.q_priority[~drawn].min()
    threshold = queries.q_priority[~drawn].min()
    expected = 1 - np.exp(-queries.q_prob[drawn] * threshold)
    np.testing.assert_allclose(queries.q_inclusion[drawn], expected, rtol=1e-12)
    assert DrawingOrder.of(plan.tables).drawn == drawn.sum()


@pytest.mark.parametrize(("cost", "unit"), [(None, 10), (LogLengthCost(), 1)])
def test_an_extended_plan_is_the_one_that_the_sum_of_the_budgets_would_have_drawn(cost, unit, graded, labels, tmp_path):
    frame = graded.assign(text=[docno * (1 + int(docno[1:]) % 7) for docno in graded["docno"]])
    few, many = (
        Plan.create(frame, None, DCG @ 10, cost, budget=budget * unit, seed=5, level="query") for budget in (20, 42)
    )
    one = few.extend(10 * unit)
    two = Plan.load(one.save(tmp_path / "one").path).extend(12 * unit, texts=frame)
    pd.testing.assert_frame_equal(two.queries, many.queries)
    columns = ["qid", "docno", "inclusion"]
    together = pd.concat([few.assessments, one.assessments, two.assessments]).sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(together[columns], many.assessments[columns])
    assert two.assessments["text"].str.startswith("d").all()
    assert "text" not in one.assessments
    judged = together[["qid", "docno"]].merge(labels)
    assert two.compare(judged) == many.compare(judged)
    assert two.estimate(judged) == many.estimate(judged)
    with pytest.raises(ValueError, match="have no label"):
        two.compare(judged[judged.qid.isin(two.assessments.qid)])
    assert two.manifest["limit"] == many.manifest["limit"] == 42 * unit
    assert two.assessments.qid.nunique() == len(two.sample) - len(one.sample)
    assert two.manifest["counts"]["assessments"] == len(two.assessments)
    assert two.manifest["spent"] == pytest.approx(many.manifest["spent"], rel=1e-12)


def test_an_extended_plan_is_cut_to_what_is_judged(graded, labels):
    longer = Plan.create(graded, None, DCG @ 10, seed=4, budget=900, level="query").extend(250)
    judged = labels[labels.qid.isin(in_order(longer)[:-2])]
    cut, status = longer.so_far(judged), longer.status(judged, None)
    assert cut.compare(judged).difference == pytest.approx(status.value, rel=1e-12)
    assert cut.manifest["counts"]["assessments"] == len(cut.assessments) == status.n_judged
    assert cut.status(judged, None) == status


def test_what_cannot_be_extended(plan, graded, labels):
    run = graded.rename(columns={"score_candidate": "score"})[["qid", "docno", "score"]].dropna()
    whole = plan.extend(1e6)
    assert whole.manifest["census"]
    assert whole.compare(labels).standard_error == 0
    for made, budget, message in (
        (whole, 10, "nothing is left that can change the estimate"),
        (plan, 0.01, "budget 0.01 does not pay for the query that comes next, which costs"),
        (plan, -1, "budget must be a positive number"),
        (Plan.create(graded, None, DCG @ 10, budget=300, replace=True), 50, "draws with replacement"),
        (Plan.create(graded, None, DCG @ 10, draws=15), 50, "a plan by a number of draws, draws=15, has no budget"),
        (plan.so_far(labels[labels.qid.isin(in_order(plan)[:5])]), 50, "extend the plan as it was drawn"),
        (plan.with_rankers(other=run), 50, "and add 'other' to the extended one"),
    ):
        with pytest.raises(ValueError, match=message):
            made.extend(budget)


def test_rounding_changes_no_id_and_another_sample_does(graded):
    def made(frame: pd.DataFrame, budget: float = 150) -> Plan:
        return Plan.create(frame, None, "DCG@10", budget=budget, level="document", seed=1)

    plan, columns = made(graded), graded.select_dtypes("float").columns
    noise = 1 + np.random.default_rng(0).uniform(-1e-14, 1e-14, (len(graded), len(columns)))
    near = graded.assign(**dict(zip(columns, (graded[columns] * noise).to_numpy().T, strict=True)))
    assert made(near).id == plan.id
    other = replace(plan.tables.manifest, drawn=made(graded, budget=151).tables.manifest.drawn)
    assert other.id != plan.id
    assert made(graded.iloc[::-1]).id == plan.id
