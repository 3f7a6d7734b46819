"""Do the labels of a plan for differences say how good each ranker is?"""

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.inference.documents import expected_variance
from pt_active.inference.drawn_documents import pool_sizes
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.document_designs import SINGLES_LOSS, document_design
from pt_active.sampling.drawings import DrawingSettings


def agreeing(graded: pd.DataFrame, queries: int) -> pd.DataFrame:
    same = graded["qid"].isin(graded["qid"].unique()[:queries])
    return graded.assign(rank_candidate=graded["rank_candidate"].mask(same, graded["rank_production"]))


def designs(frame: pd.DataFrame, measure: str, drawing: str, share: float) -> tuple[float, float]:
    """The model's variance of differences with single rankers served and without."""
    parsed = parse_measure(measure, max_grade=3)
    pool = Pool.from_frame(frame, parsed)
    graded = graded_pool(pool, parsed, 0.0)
    budget, found = share * float(pool.query_cost.sum()), []
    for served in (True, False):
        sizes = pool_sizes(graded, DrawingSettings(drawing, serves_singles=served))
        design = document_design(sizes, drawing, graded.prices, budget)
        assert (design.inclusion[np.isfinite(graded.prices.cost)] > 0).all() == served
        found.append(expected_variance(graded.seen, design, sizes.gain))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("measure", "drawing"), [("DCG@10", "successive"), ("nDCG@10", "depth"), ("nDCG@10", "surprises")]
)
def test_differences_lose_little(measure, drawing, graded):
    frame = agreeing(graded, 9)
    loss = SINGLES_LOSS["revealed" if measure == "nDCG@10" else "additive"]
    for share, most in ((0.05, 1.2), (0.4, 2.0)):
        served, alone = designs(frame, measure, drawing, share)
        assert alone <= served * (1 + 1e-9)
        assert served <= alone * (1 + most * loss)


def test_a_census_of_the_differences_is_none_of_single_rankers(graded, demo):
    """If all that differences depend on is judged, these have no error, and single rankers still do."""
    frame = agreeing(graded, 60)
    plan = Plan.create(frame, None, "nDCG@10", budget=0.98 * len(frame), level="document", seed=3)
    qrels = demo.judge(plan.assessments)
    found = plan.compare(qrels)
    assert (found.standard_error, found.basis.census, plan.manifest["census"]) == (0, True, False)
    assert all(each.standard_error > 0 and not each.basis.census for each in plan.estimate(qrels).values())


def test_a_plan_says_at_once_that_single_rankers_have_no_interval(graded):
    how = {"budget": 600, "design": "depth"}
    plan = Plan.create(graded, None, DCG @ 10, **how)
    assert "single rankers may have no intervals" in str(plan)
    alone = Plan.create(graded.drop(columns=["rank_candidate", "score_candidate"]), None, DCG @ 10, **how)
    assert "single rankers" not in alone.caution
