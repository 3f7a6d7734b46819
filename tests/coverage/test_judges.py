"""Judges' part in the error where several people judge one document."""

import math

import pytest

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
