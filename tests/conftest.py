# ruff: noqa: E402
import fcntl
import functools
import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
FOLDERS = HERE / "shared", HERE / "answers", HERE.parent / "examples" / "reproduce", HERE.parent / "examples"
sys.path[:0] = map(str, FOLDERS)

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

# Must be set before numpy is imported: the workers already share the cores, and the tests' matrices are small.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import typer.testing
from hypothesis import settings
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from pt_active import OrderedLogitGrades, Runs, parse_measure
from pt_active.demo.collection import DemoCollection, demo_collection
from pt_active.inference.replay import LabelledPool
from pt_active.relevance.measures import rank_form
from pt_active.sampling.pools import DocumentPool, GradedPool, Variables
from pt_active.sampling.sample import Costs

_compile = Dispatcher.compile


@global_compiler_lock
def _compile_once(loop: Any, signature: Any) -> Any:
    """Compile a loop unless another worker is at it: then wait, and take what it has kept."""
    if not isinstance(loop._cache, FunctionCache):
        return _compile(loop, signature)
    Path(loop._cache.cache_path).mkdir(parents=True, exist_ok=True)
    with open(f"{loop._cache._cache_file._index_path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _compile(loop, signature)


if WORKER:
    Dispatcher.compile = _compile_once

# The runner would make the command of an app anew at each call, which takes longer than many calls.
typer.testing._get_command = functools.cache(typer.testing._get_command)

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One worker per core, but none for a single file, whose tests are quicker than the start of the workers."""
    return 0 if len(config.args) == 1 and config.args[0].partition("::")[0].endswith(".py") else None


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: modules and tests stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt what is there from garbage collection, and collect seldom: frames make many objects and few cycles."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


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


@pytest.fixture(scope="session")
def labelled_documents() -> Callable[[str], tuple[LabelledPool, np.ndarray]]:
    """Two systems, labels that follow a score and the query, a model that knows neither; and the scores."""

    def make(measure: str) -> tuple[LabelledPool, np.ndarray]:
        rng, queries, documents = np.random.default_rng(5), 60, 8
        size = queries * documents
        ranks = [rng.random((queries, documents)).argsort(axis=1).argsort(axis=1).ravel() + 1 for _ in range(2)]
        score = rng.random(size)
        chance = np.clip(score**2 + np.repeat(0.15 * rng.normal(size=queries), documents), 0.02, 0.9)
        label = (rng.random(size) < chance).astype(int) + (rng.random(size) < 0.6 * chance)
        form = rank_form(parse_measure(measure, 2), 2, documents)
        indptr, weight = np.arange(queries + 1) * documents, np.full(queries, 1 / queries)
        seen = DocumentPool(form, indptr, np.stack(ranks).astype(np.int32), weight)
        graded = GradedPool(seen, np.tile([0.5, 0.3, 0.2], (size, 1)), Costs(indptr, np.ones(size), 0.0))
        return LabelledPool(graded, label), score

    return make


@pytest.fixture(scope="session")
def random_documents() -> Callable[..., tuple[DocumentPool, Variables, np.ndarray, np.ndarray]]:
    """Pool, moments, labels that the model does not foresee, and costs .5 to 2: queries of 0 to 5 documents."""

    def make(
        seed: int, measure: str, queries: int = 8, systems: int = 2
    ) -> tuple[DocumentPool, Variables, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        lengths = np.r_[0, 1, rng.integers(2, 6, queries - 2)]
        indptr = np.r_[0, np.cumsum(lengths)]
        ranks = np.vstack(
            [np.concatenate([rng.permutation(n) + 1 for n in lengths]).astype(np.int32) for _ in range(systems)]
        )
        form = rank_form(parse_measure(measure), 2, int(ranks.max()))
        grades = rng.dirichlet(np.ones(3), indptr[-1])
        truth = form.values[rng.integers(0, 3, indptr[-1])]
        pool = DocumentPool(form, indptr, ranks, rng.dirichlet(np.full(queries, 5.0)))
        return pool, Variables.of(form, grades), truth, rng.uniform(0.5, 2, indptr[-1])

    return make


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Imports an example or a script of the reproductions by its name."""
    return importlib.import_module


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window, driven by Selenium; its tests are skipped where it is not installed."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not (chromium and (driver := shutil.which("chromedriver"))):
        pytest.skip("there is no Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1280,900"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="session")
def accessible() -> Callable[[Any], None]:
    """Fails if axe finds a barrier on the page that a browser shows, on a light or on a dark ground."""
    axe = Path(importlib.import_module("axe_core_python").__file__ or "").with_name("axe.min.js").read_text("utf-8")
    ask = "axe.run(document, {resultTypes: ['violations']}).then(found => arguments[0](found.violations))"

    def check(browser: Any) -> None:
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
            found = browser.execute_async_script(ask)
            barriers = [(each["id"], node["html"]) for each in found for node in each["nodes"]]
            assert not barriers, f"{browser.title}, {scheme}: {barriers}"
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    return check
