"""The road of the sources: runs, grades, a sampling distribution and a sample, by transformers alone."""

import pandas as pd
import pytest

from pt_active import DCG, Draw, Plan, Runs, SamplingDistribution, UnitCost, plan_of

MEASURE = DCG @ 10


@pytest.mark.parametrize(
    ("rankers", "design", "replace"), [(1, None, False), (1, "optimal", True), (2, None, True), (2, "optimal", False)]
)
def test_a_plan_has_the_sample_that_the_pipeline_returns(demo, grades, rankers, replace, design):
    runs, topics = Runs(**dict(list(demo.runs.items())[:rankers])), demo.topics.head(40)
    distribution = SamplingDistribution(MEASURE, UnitCost(2.0), level="query", design=design)
    road = runs >> grades >> distribution >> Draw(300, replace=replace, seed=4)
    sample, plan = road(topics), plan_of(road, topics)
    same = [column for column in sample.columns if column in plan.sample.columns and column != "q_believed"]
    assert {"qid", "q_prob", "q_draws", "q_importance", "q_inclusion"} <= set(same)
    pd.testing.assert_frame_equal(sample[same], plan.sample[same])
    arguments = (MEASURE, UnitCost(2.0), 300, design, "query", 4)
    assert Plan.create(runs >> grades, topics, *arguments, replace=replace, defensive=0.1).id == plan.id


def test_a_graded_pool_may_stand_in_place_of_topics_and_another_pipeline_is_refused(demo, grades):
    pool = (Runs(**demo.runs) >> grades)(demo.topics)
    end = SamplingDistribution(MEASURE, level="query") >> Draw(draws=12)
    assert plan_of(end, pool).sample["qid"].tolist() == end(pool)["qid"].tolist()
    for road in (Draw(300), Runs(**demo.runs) >> grades, grades >> SamplingDistribution(MEASURE)):
        with pytest.raises(ValueError, match="ends in SamplingDistribution"):
            plan_of(road, demo.topics)
