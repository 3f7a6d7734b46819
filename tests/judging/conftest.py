"""A small plan and worklist, with ids and texts that are hard on files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from pt_active import Plan
from pt_active.judging.worklist import Worklist

sys.path.insert(0, str(Path(__file__).parent))

from small_plan import DOCUMENTS


@pytest.fixture(scope="session")
def plan() -> Plan:
    count = DOCUMENTS.groupby("qid").cumcount()
    size = DOCUMENTS.groupby("qid")["docno"].transform("size")
    grades = DOCUMENTS.assign(rank_a=count, rank_b=size - 1 - count, grade_0=0.5, grade_1=0.3, grade_2=0.2)
    return Plan.create(grades, None, "DCG@2", budget=float(len(DOCUMENTS)))


@pytest.fixture(scope="session")
def worklist(plan: Plan) -> Worklist:
    return Worklist(DOCUMENTS, 2, plan.id)


@pytest.fixture(scope="session")
def judged() -> list[tuple[str, str, int | None, str, str, str]]:
    """What two people said: qid, docno, label, annotator, status, note."""
    rng, rows = np.random.default_rng(1), []
    for annotator in ("ann", "bob"):
        for qid, docno in zip(DOCUMENTS["qid"], DOCUMENTS["docno"], strict=True):
            status = ("judged", "judged", "skipped", "unjudgeable")[rng.integers(4)]
            note = ("", "=not a formula", "two\nlines, «ł»")[rng.integers(3)]
            rows.append((qid, docno, int(rng.integers(3)) if status == "judged" else None, annotator, status, note))
    return rows
