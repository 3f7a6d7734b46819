"""Relative changes of whole plans: coverage of Fieller's interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.labelled_plan import asked, labelled_plan
from pt_active.plans.answers.relative import relative_change

N_PLANS = 200


@pytest.mark.slow
@pytest.mark.parametrize(("level", "budget"), [("query", 400), ("document", 400)])
def test_they_cover_the_true_share(level: str, budget: float, graded: pd.DataFrame, demo: DemoCollection) -> None:
    """200 plans find a coverage of .90 or less."""
    whole = Plan.create(graded, None, DCG @ 10, budget=1e6, level="query")
    truth = {name: each.value for name, each in whole.estimate(demo.judge(graded)).items()}
    share, covered = (truth["production"] - truth["candidate"]) / truth["candidate"], []
    for seed in range(N_PLANS):
        plan = Plan.create(graded, None, DCG @ 10, budget=budget, level=level, seed=seed)
        how = asked(plan.tables)
        judged = labelled_plan(plan.tables, demo.judge(plan.assessments)).judged(how)
        base = judged.estimate(1, how)
        found = relative_change(judged, judged.compare(0, 1, how), base, how)
        assert (found is None) == (base.confidence_interval().low <= 0)
        covered.append(found is None or not found.has_interval or found.low <= share <= found.high)
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / N_PLANS)
