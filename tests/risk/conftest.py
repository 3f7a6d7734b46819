"""A world of judges that tests of audits share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """400 pairs of 40 queries with grades 0–2 of a model, labels, and judges that are right as often as said."""
    rng, n = np.random.default_rng(0), 400
    grades = rng.dirichlet([2.0, 1, 1], n)
    label = np.array([rng.choice(3, p=row) for row in grades])
    right = {"a": 0.8, "b": 0.5, "c": 0.7, "d": 0.2}
    qids, docnos = [f"q{q:02d}" for q in range(40)], [f"d{d}" for d in range(10)]
    frame = pd.DataFrame([(qid, docno) for qid in qids for docno in docnos], columns=["qid", "docno"])
    frame = frame.assign(**{f"grade_{g}": grades[:, g] for g in range(3)}, label=label)
    frame = frame.assign(**{k: np.where(rng.random(n) < p, label, rng.integers(0, 3, n)) for k, p in right.items()})
    return frame.assign(long=rng.random(n) < 0.3, doc_cost=rng.uniform(0.5, 2, n))


@pytest.fixture(scope="session")
def qrels(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["qid", "docno", "label"]]
