"""Is an answer the unit that is drawn, or an item with all its answers?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from pt_active.answers.scales import ScoreScale
from pt_active.answers.table import judge_columns

_SHARED = 0.33
"""The difference, over the length of the scale and the correlation of the scores, up to which items are drawn;
fitted to pairs of the data set of `examples/reproduce/answers.py`, which measures it."""


def unit_of_choice(table: pd.DataFrame, scale: ScoreScale) -> str:
    """``answer`` or ``item``, whichever probably needs fewer labels for a verdict.

    Two answers to an item share its difficulty, which cancels if both are judged: the more, the more their scores
    correlate. For a clear difference the number of draws counts, and an item takes a label for each answer. So items
    are drawn where the difference of the judges' scores is small against their correlation, or where there are no
    judges' scores. With more than two systems most of the pairs decide. Runs of a system repeat each other, so that
    an item with all of them is never worth its labels.
    """
    columns = judge_columns(table)
    if scale.prefers or table["system"].nunique() == 1 or table.duplicated(["item", "system"]).any():
        return "answer"
    if not columns:
        return "item"
    score = table[columns].apply(pd.to_numeric).mean(axis=1)
    by_item = score.groupby([table["item"], table["system"]]).mean().unstack().dropna()
    varies = by_item.std(ddof=0).to_numpy() > 0
    if len(by_item) < 2 or not varies.all():
        return "item"
    mean, correlation = by_item.mean().to_numpy(), np.corrcoef(by_item.to_numpy(), rowvar=False)
    near = [
        abs(mean[i] - mean[j]) < _SHARED * correlation[i, j] * (scale.high - scale.low)
        for i, j in combinations(range(len(mean)), 2)
    ]
    return "item" if np.mean(near) >= 0.5 else "answer"
