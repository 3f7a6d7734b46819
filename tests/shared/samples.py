"""What tests of several folders ask of samples: their labels and their losses."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
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
        patch.setattr("pt_active.plans.answers.labelled.MAX_DRAWS", 0)
        return ask(*given, **named)


def pool_scores(loss: Loss, f: np.ndarray, y: np.ndarray, rho: np.ndarray, p: np.ndarray) -> list[Scores]:
    """The losses of each predictor at labels 0 and 1, and what ``P(y = 1) = ρ`` expects of them."""
    grades = np.column_stack([1 - rho, rho])
    view = introspection(label_tables(loss, f, 2, np.ones(len(p), dtype=bool)), grades, p, loss.proportion)
    return [Scores(*loss.terms(f[:, s], y), view.numerator[:, s], view.weight[:, s]) for s in range(f.shape[1])]


@cache
def small_pool() -> pd.DataFrame:
    """24 queries of six documents with two rankers, grades, labels, and predictions of a judge."""
    rng, queries, documents = np.random.default_rng(0), 24, 6
    qids = [f"q{number:02d}" for number in range(queries)]
    frame = pd.DataFrame({"qid": np.repeat(qids, documents), "docno": [f"d{d}" for d in range(documents)] * queries})
    for name in ("a", "b"):
        frame[f"rank_{name}"] = np.concatenate([rng.permutation(documents) for _ in qids])
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet([2, 1, 1], len(frame))
    frame["label"] = [rng.choice(3, p=row) for row in frame.filter(like="grade_").to_numpy()]
    return frame.assign(judge=rng.integers(0, 3, len(frame)), query="desk lamp", text="a lamp for a desk")


def errors_of(covariance: np.ndarray) -> np.ndarray:
    """The standard errors of all differences, float64[k, k]."""
    variance = np.diag(covariance)
    return np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0.0))


def rows_of(score: Scores, rows: np.ndarray) -> Scores:
    """The losses of some pairs, and what is expected of all."""
    return replace(score, numerator=score.numerator[rows], weight=score.weight[rows])


def forked(work: Callable[[], object]) -> BaseProcess:
    """A copy of this process that does something; it exits with 0, or with 2 if that raises an error of files."""

    def run() -> None:
        try:
            work()
        except OSError:
            sys.exit(2)

    process = get_context("fork").Process(target=run)
    process.start()
    return process
