from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import settings

from pt_active import OrderedLogitGrades, Runs
from pt_active.demo.collection import DemoCollection, demo_collection

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def demo() -> DemoCollection:
    return demo_collection(seed=7, queries=120)


@pytest.fixture(scope="session")
def grades(demo: DemoCollection) -> OrderedLogitGrades:
    return OrderedLogitGrades(max_grade=3).fit(demo.past_run, demo.past_qrels)


@pytest.fixture(scope="session")
def pipeline(demo: DemoCollection, grades: OrderedLogitGrades) -> pt.Transformer:
    return Runs(**demo.runs, depth=15) >> grades


@pytest.fixture(scope="session")
def graded(demo: DemoCollection, pipeline: pt.Transformer) -> pd.DataFrame:
    return pipeline(demo.topics)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script of the reproductions by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples" / "reproduce"))
    return importlib.import_module
