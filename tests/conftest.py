# ruff: noqa: E402
from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

# Must be set before numpy is imported: the workers already share the cores, and the tests' matrices are small.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
if WORKER:  # two processes that compile into the same folder could mix up their files
    folder = Path(__file__).parents[1] / "pt_active" / "__pycache__" / f"numba_{WORKER}"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))

import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import settings

from pt_active import OrderedLogitGrades, Runs
from pt_active.demo.collection import DemoCollection, demo_collection

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One worker per core, but none for a single file, whose tests are quicker than the start of the workers."""
    return 0 if len(config.args) == 1 and config.args[0].partition("::")[0].endswith(".py") else None


def pytest_collection_finish() -> None:
    """Exempt imported modules from garbage collection, which statsmodels runs at every correction of p-values."""
    gc.collect()
    gc.freeze()


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
