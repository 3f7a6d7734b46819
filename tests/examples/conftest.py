"""Small generated pools, and scripts that put their tables into a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest


def _small_pool(
    rng: np.random.Generator, queries: int, documents: int, noises: Sequence[float], feature_noise: float
) -> pd.DataFrame:
    """Judged queries in 5 folds, a feature that tells the grade with noise, and rankers with more and more of it."""
    quality = rng.normal(size=(queries, documents))
    noisy = quality + feature_noise * rng.normal(size=quality.shape)
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{q:03d}" for q in range(queries)], documents),
            "docno": np.tile([f"d{d}" for d in range(documents)], queries),
            "label": np.digitize(quality, [0.5, 1.3]).ravel(),
            "fold": np.repeat(np.arange(queries) % 5 + 1, documents),
            "features": list(noisy.reshape(-1, 1)),
        }
    )
    for number, noise in enumerate(noises):
        score = quality + noise * rng.normal(size=quality.shape)
        frame[f"score_r{number}"] = score.ravel()
        frame[f"rank_r{number}"] = (-score).argsort(axis=1).argsort(axis=1).ravel()
    return frame


@pytest.fixture(scope="session")
def small_pool() -> Callable[..., pd.DataFrame]:
    """Makes a pool from random numbers, its queries, documents, the noises of its rankers and that of its feature."""
    return _small_pool


@pytest.fixture(scope="module")
def pool_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pool of a module, ``POOL``: its queries, documents, the noises of its rankers and that of its feature."""
    path = tmp_path_factory.mktemp("pool") / "small.parquet"
    _small_pool(np.random.default_rng(1), *request.module.POOL).to_parquet(path)
    return path


@pytest.fixture
def published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Runs a script that puts its table between the marks of a page: the page, and what was printed."""

    def run(module: ModuleType, *words: object, marks: tuple[str, str] | None = None) -> tuple[str, str]:
        begin, end = marks or (module.BEGIN, module.END)
        page = tmp_path / "page.md"
        page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
        monkeypatch.setattr("sys.argv", [module.__name__, *map(str, words), "--docs", str(page)])
        module.main()
        text = page.read_text(encoding="utf-8")
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "\nold\n" not in text
        return text, capsys.readouterr().out

    return run
