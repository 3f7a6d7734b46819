"""The difference as a share: Fieller's interval, which has the error of the denominator in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.labelled_plan import asked, labelled_plan
from pt_active.plans.answers.relative import Scaled, relative_change


def question(
    graded: pd.DataFrame, demo: DemoCollection, level: str, estimator: str, budget: float = 500, seed: int = 1
):
    """The judged sample of a plan, the comparison, the estimate of the second ranker, and what is asked."""
    plan = Plan.create(graded, None, DCG @ 10, budget=budget, level=level, seed=seed)
    how = asked(plan.tables, estimator=estimator, reference="effective")
    judged = labelled_plan(plan.tables, demo.judge(plan.assessments)).judged(how)
    return judged, judged.compare(0, 1, how), judged.estimate(1, how), how


@pytest.mark.parametrize(("level", "estimator"), [("query", "ht"), ("query", "difference")])
def test_the_ends_are_the_roots_of_fiellers_quadratic(level, estimator, graded, demo) -> None:
    """Variances of linear estimators are quadratic in the share; that of the sum gives the covariance."""
    judged, compared, base, how = question(graded, demo, level, estimator)
    found = relative_change(judged, compared, base, how)
    d, b = compared.difference, base.value
    var_d, var_b = (judged.error_of(Scaled(0, 1, 1.0), how)[1] ** 2, judged.error_of(Scaled(1, 0, 0.0), how)[1] ** 2)
    cov = (var_d + var_b - judged.error_of(Scaled(0, 1, 2.0), how)[1] ** 2) / 2
    t2 = stats.t.ppf(0.975, compared.degrees_of_freedom) ** 2
    roots = np.roots([b**2 - t2 * var_b, -2 * (d * b - t2 * cov), d**2 - t2 * var_d])
    assert found is not None
    np.testing.assert_allclose([found.low, found.high], np.sort(roots.real), rtol=1e-4)
    assert found.change == pytest.approx(d / b)
    assert found.low < found.change < found.high


@pytest.mark.parametrize(("level", "estimator"), [("query", "regression"), ("document", "regression")])
def test_at_its_ends_the_test_turns(level, estimator, graded, demo) -> None:
    judged, compared, base, how = question(graded, demo, level, estimator)
    found = relative_change(judged, compared, base, how)
    assert found is not None
    quantile = stats.t.ppf(0.975, compared.degrees_of_freedom)
    for end, sign in ((found.low, 1), (found.high, -1)):
        value, error = judged.error_of(Scaled(0, 1, 1 + end), how)
        assert value / error == pytest.approx(sign * quantile, rel=1e-4)


@pytest.mark.parametrize(("level", "budget"), [("query", 300), ("query", 900), ("document", 300), ("document", 900)])
def test_it_holds_0_just_when_the_difference_does(level, budget, graded, demo) -> None:
    for seed in range(2):
        judged, compared, base, how = question(graded, demo, level, "regression", budget, seed)
        found, (low, high) = relative_change(judged, compared, base, how), compared.confidence_interval()
        assert found is not None
        assert (found.low > 0, found.high < 0) == (low > 0, high < 0)


def test_without_the_error_of_the_base_there_is_only_the_point(graded, demo) -> None:
    judged, compared, base, how = question(graded, demo, "query", "difference")
    unknown = replace(base, degenerate=True)
    found = relative_change(judged, compared, unknown, how)
    assert found is not None
    assert not found.has_interval
    assert found.change == pytest.approx(compared.difference / base.value)
    assert found.to_dict()["low"] is None
    far = replace(base, standard_error=base.value)
    assert relative_change(judged, compared, far, how) is None
    assert relative_change(judged, compared, replace(base, value=0.0), how) is None


def test_a_census_has_an_exact_share(graded, demo) -> None:
    judged, compared, base, how = question(graded, demo, "query", "difference", budget=1e6)
    found = relative_change(judged, compared, base, how)
    assert found is not None
    assert found.low == found.high == found.change
