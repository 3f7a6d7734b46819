"""Small generated pools, and scripts that keep their tables."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def small_pool() -> Callable[..., pd.DataFrame]:
    """Judged queries in 5 folds, a feature that tells the grade with noise, and rankers with more and more of it."""

    def made(
        rng: np.random.Generator, queries: int, documents: int, noises: Sequence[float], feature_noise: float
    ) -> pd.DataFrame:
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

    return made


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """Loads an example by its name."""

    def loaded(name: str) -> ModuleType:
        path = Path(__file__).parents[2] / "examples" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture
def published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, str]]:
    """Runs a script that keeps its tables: the text of its CSV files, and what was printed."""

    def run(module: ModuleType, *words: object) -> tuple[str, str]:
        folder = tmp_path / "evidence"
        monkeypatch.setattr("sys.argv", [f"{module.__name__}.py", *map(str, words), "--evidence", str(folder)])
        module.main()
        files = sorted(folder.glob("*.csv"))
        assert files
        return "".join(path.read_text(encoding="utf-8") for path in files), capsys.readouterr().out

    return run
