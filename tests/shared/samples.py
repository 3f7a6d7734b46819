"""What tests of several folders ask of samples: their labels and their losses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pt_active.inference.ratios import Scores
from pt_active.relevance.introspection import introspection, label_tables
from pt_active.relevance.losses import Loss


def wanted(made: Any, labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of what a plan, an audit or an active test asks for."""
    return made.assessments[["qid", "docno"]].merge(labels[["qid", "docno", "label"]], on=["qid", "docno"])


def by_t(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a question answers by t alone, without replays of the sample."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pt_active.plans.answers.judged.MAX_DRAWS", 0)
        return ask(*given, **named)


def pool_scores(loss: Loss, f: np.ndarray, y: np.ndarray, rho: np.ndarray, p: np.ndarray) -> list[Scores]:
    """The losses of each predictor at labels 0 and 1, and what ``P(y = 1) = ρ`` expects of them."""
    grades = np.column_stack([1 - rho, rho])
    view = introspection(label_tables(loss, f, 2, np.ones(len(p), dtype=bool)), grades, p, loss.proportion)
    return [Scores(*loss.terms(f[:, s], y), view.numerator[:, s], view.weight[:, s]) for s in range(f.shape[1])]


def rows_of(score: Scores, rows: np.ndarray) -> Scores:
    """The losses of some pairs, and what is expected of all."""
    return replace(score, numerator=score.numerator[rows], weight=score.weight[rows])
