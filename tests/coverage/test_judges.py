"""Judges' part in the error: several people who judge one document, and an LLM that no label of people has checked.

The shares are held against .95 within 3 standard errors of the simulation.
"""

import math

import numpy as np
import pytest

from pt_active import Comparison, JudgeGrades, Plan, Runs
from pt_active.demo.collection import demo_collection

REPETITIONS = 60


@pytest.mark.slow
def test_the_standard_error_with_the_judges_part_covers_where_the_plain_one_does_not(script):
    """It takes seconds, since the size of an error shows in repetitions alone."""
    simulated = script("judges_error")
    judging = simulated.Judging.of_demo(queries=40)
    design = simulated.DESIGNS["documents, one after the other"]
    table = simulated.repeated(judging, simulated.Setting(design, 450.0, 0.2), REPETITIONS)
    slack = 3 * math.sqrt(0.95 * 0.05 / REPETITIONS)
    assert table["covers"].mean() >= 0.95 - slack
    assert table["plain_covers"].mean() < 0.95 - 2 * slack
    assert table["se"].mean() == pytest.approx(table["error"].std(), rel=3 / math.sqrt(2 * REPETITIONS) + 0.05)
    assert abs(table["error"].mean()) < 0.5 * table["error"].std()


@pytest.mark.slow
def test_an_unchecked_llm_that_is_upside_down_costs_neither_bias_nor_coverage():
    """It takes seconds, since bias and coverage show in repetitions alone."""
    collection = demo_collection(queries=40)
    pool = Runs(depth=10, **collection.runs)(collection.topics)
    truth = collection.judge(pool)
    graded = JudgeGrades(truth.assign(label=3 - truth["label"]), 3).transform(pool)

    def found(budget: float, seed: int) -> Comparison:
        plan = Plan.create(graded, None, "DCG@10", budget=budget, level="document", seed=seed)
        return plan.compare(collection.judge(plan.assessments))

    samples, value = [found(120, seed) for seed in range(REPETITIONS)], found(len(graded), 0).difference
    error = np.array([each.difference for each in samples]) - value
    assert abs(error.mean()) < 3 * error.std() / math.sqrt(REPETITIONS)
    ends = np.array([each.confidence_interval() for each in samples])
    covered = np.mean((ends[:, 0] <= value) & (value <= ends[:, 1]))
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / REPETITIONS)
