"""The small plan of ``examples/reproduce/judging_round_trips.py``."""

from __future__ import annotations

import pytest
from judging_round_trips import DOCUMENTS, small_plan

from pt_active import Plan
from pt_active.judging.worklist import Worklist


@pytest.fixture(scope="session")
def plan() -> Plan:
    return small_plan()


@pytest.fixture(scope="session")
def worklist(plan: Plan) -> Worklist:
    return Worklist(DOCUMENTS, 2, plan.id)
