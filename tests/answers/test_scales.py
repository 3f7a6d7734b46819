from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pt_active import parse_measure
from pt_active.answers.scales import ScoreScale
from pt_active.relevance.measures import rank_form

SCALES = {
    "0-1": [0, 1],
    "1-5": [1, 2, 3, 4, 5],
    "0-1:0.25": [0, 0.25, 0.5, 0.75, 1],
    "-2-2": [-2, -1, 0, 1, 2],
    "preference": [-1, 0, 1],
}


@pytest.mark.parametrize("text", SCALES)
def test_a_label_stands_for_its_score_in_the_measure(text):
    scale = ScoreScale.parsed(text)
    values = rank_form(parse_measure(scale.measure()), scale.max_grade, 1).values
    labels = scale.labels(pd.Series(SCALES[text]))
    np.testing.assert_allclose(values[labels], SCALES[text], atol=1e-12)
    assert np.ptp(values) == scale.high - scale.low
    given = pd.Series(np.linspace(scale.low, scale.high, 13))  # a judge's score between two counts for both
    shares = scale.shares(given)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares @ scale.scores, given, atol=1e-12)


@pytest.mark.parametrize("text", ["", "5", "1-1", "5-1", "0-1:0", "0-1:0.3", "0-2000", "good-bad"])
def test_a_scale_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="scale"):
        ScoreScale.parsed(text)


def test_scores_off_the_scale_are_refused():
    with pytest.raises(ValueError, match=r"row 1: expected a score from 1 to 5; got '7'"):
        ScoreScale.parsed("1-5").shares(pd.Series(["2", "7"]))
    with pytest.raises(ValueError, match=r"must be one of 1, 2, 3, 4, 5; got 2.5"):
        ScoreScale.parsed("1-5").labels(pd.Series([2.5]))
