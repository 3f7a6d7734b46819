"""The small plan and the opinions of ``examples/reproduce/judging_round_trips.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pt_active import Plan
from pt_active.judging.worklist import Worklist

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "examples" / "reproduce")]

from judging_round_trips import DOCUMENTS, Row, opinions, small_plan  # noqa: E402


@pytest.fixture(scope="session")
def plan() -> Plan:
    return small_plan()


@pytest.fixture(scope="session")
def worklist(plan: Plan) -> Worklist:
    return Worklist(DOCUMENTS, 2, plan.id)


@pytest.fixture(scope="session")
def judged() -> list[Row]:
    """What two people said: qid, docno, label, annotator, status, note."""
    return opinions()
