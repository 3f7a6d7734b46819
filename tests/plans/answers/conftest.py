"""A plan of queries of the demonstration, and all labels."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def plan(graded: pd.DataFrame) -> Plan:
    return Plan.create(graded, None, DCG @ 10, budget=600, seed=3, level="query")


@pytest.fixture(scope="session")
def topics(demo: DemoCollection) -> pd.DataFrame:
    """Three queries for each need."""
    return demo.topics.assign(qneed=[f"need {row // 3}" for row in range(len(demo.topics))])


@pytest.fixture(scope="session")
def census(graded: pd.DataFrame, topics: pd.DataFrame) -> Plan:
    return Plan.create(graded, topics, DCG @ 10, budget=1e9, level="query", seed=1)


@pytest.fixture(scope="session")
def labels(demo: DemoCollection, graded: pd.DataFrame) -> pd.DataFrame:
    return demo.judge(graded)
