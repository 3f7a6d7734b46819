"""Scripts of the reproductions: each can be loaded, and runs to its tables and pictures on a small generated pool."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

POOL = 50, 12, (0.5, 0.8, 2.0, 3.0), 0.5
SCRIPTS = Path(__file__).parents[2] / "examples" / "reproduce"


@dataclass(frozen=True)
class Study:
    """What is typed after the name of a script, what it leaves, and what of it is made smaller."""

    words: str  # In which POOL, OTHER, LEAGUE, JUDGES and OUT are files and folders
    leaves: str = ""  # Names of files below OUT
    small: dict[str, Any] = field(default_factory=dict)  # Constants of the script, or of a module that it loads
    page: bool = True  # Whether it keeps its tables as evidence


FIGURES = "POOL --out OUT --quick --repetitions 20 --seed 3 --measure DCG@5"
STUDIES = {
    "document_league": Study("POOL --quick --csv OUT/x.csv", "x.csv", {"MEASURES": ("DCG@10",)}),
    "simulator": Study("--repetitions 6", small={"QUERIES": (50,), "DIFFERENCES": (0.4, 0.8), "SHARES": (0.2, 0.4)}),
    "evidence_pictures": Study("--out OUT", "evidence-verdict.png evidence-coverage.png", page=False),
    "demo_picture": Study("--out OUT/x.png", "x.png", {"REPETITIONS": 10}, page=False),
    "document_saving": Study("POOL --quick --out OUT/x.png", "x.png", page=False),
    "document_worst": Study("POOL --repetitions 20", small={"SPOILERS": {"fitted": np.copy}, "MEASURES": ("DCG@10",)}),
    "lowest_cells": Study(
        "LEAGUE POOL --cells 2 --repetitions 40",
        small={"document_worst.MEASURES": ("DCG@10",), "document_worst.SPOILERS": {"fitted": np.copy}},
    ),
    "small_samples": Study("POOL --quick --repetitions 60 --csv OUT/x.csv", "x.csv", page=False),
    "small_intervals": Study("--repetitions 2", small={"NAMES": ()}),
    "revealed_coverage": Study("POOL --share 0.3 --repetitions 4"),
    "new_queries": Study(
        "POOL --repetitions 2", small={"SIZES": (9, 10, 11), "HARD": ("skewed",), "CLUSTERS": (4,), "SHARE": 0.5}
    ),
    "sampled_logs": Study("--repetitions 3", small={"QUERIES": 2000, "SIZES": (50, 200), "JUDGED": 20}),
    "which_queries": Study("--out OUT/x.png", "x.png", {"QUERIES": 40, "STEPS": 3, "SMALLEST": 60}, page=False),
    "promised_power": Study("POOL --repetitions 1", small={"PAST": 30, "NEW_POOLS": 2, "MEASURES": ("DCG@10",)}),
    "surprises": Study("POOL --measures AP --shares 0.3 --repetitions 3"),
    "grade_models": Study("POOL --quick", small={"MEASURES": {"DCG@10": 1}, "QUERIES": 20}),
    "cold_start": Study("POOL OTHER --repetitions 2", small={"SHARES": (0.4,)}),
    "until_known": Study("POOL --quick --pairs small=2", small={"WIDTHS": {"small": (40,)}, "DIFFERENCES": (0.6,)}),
    "closing_in": Study("POOL --quick --out OUT/x.png", "x.png", {"DIFFERENCES": (0.4, 0.8), "LOOKS": 20}, page=False),
    "hostile": Study("--populations plain --repetitions 10", small={"POOLS": 1, "QUERIES": 96, "JUDGED": 25}),
    "hostile late": Study(
        "--late --populations plain --repetitions 6", small={"POOLS": 1, "QUERIES": 64, "LOOK": 100}, page=False
    ),
    "hostile ties": Study(
        "--ties --repetitions 10",
        "",
        {"equal_rankers.MEASURES": {("DCG@10",): (None, "successive", "depth")}, "equal_rankers.QUERIES": 6},
        page=False,
    ),
    "active_testing": Study(
        "--repetitions 2 --out OUT",
        "active_testing.csv active_testing.png",
        {"ROUNDS": 2, "FOREST": {"n_estimators": 3, "random_state": 0}},
        page=False,
    ),
    "audit_coverage": Study("--repetitions 4 --out OUT", "audit_coverage.csv", {"PAIRS": 400}),
    "risk_on_pools": Study(
        "POOL --judges JUDGES --out OUT --quick --repetitions 20",
        "risk_on_pools.csv risk_on_pools_quality.csv risk_on_pools.png",
        {"LABELS": [50, 100], "SIZES": [2, 20]},
        page=False,
    ),
    "risk_curves": Study(
        "--out OUT --quick --repetitions 10",
        "risk_curves.csv risk_quality.csv risk_curves.png",
        {"SIZES": [10, 100], "LABELS": [50, 100]},
        page=False,
    ),
    "model_comparison": Study(
        "--out OUT --quick --repetitions 10",
        "model_comparison.csv model_comparison.png",
        {"LABELS": [20, 150], "SHOWN": [20, 150]},
        page=False,
    ),
} | {
    name: Study(FIGURES, leaves, {"figures.STEPS": 3, "RATIOS": (2.0,), "SHARES": (1.0,)}, page=False)
    for name, leaves in (
        ("estimation_error", "estimation_error.csv estimation_error.png"),
        ("model_selection_error", "model_selection_error.csv model_selection_error.png"),
        ("sampling_distribution", "sampling_distribution.csv distinct_queries.png"),
        ("index_update", "index_update.csv index_update.png"),
        ("training_size", "training_size.csv training_size_fixed_budget.png"),
        ("type_errors", "type_1_error.csv type_2_error.png"),
        ("draw_until_significant", "draw_until_significant.csv draw_until_significant.png"),
    )
}


@pytest.fixture(scope="module")
def inputs(small_pool, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A pool, another one, a league of it, and the folder with its two judges."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("pool")
    frame = small_pool(rng, *POOL).assign(length=lambda rows: rng.integers(5, 300, len(rows)))
    frame.to_parquet(folder / "small.parquet")
    frame[frame["fold"] <= 3].to_parquet(folder / "other.parquet")
    tasks = ["one ranker", "clear pair", "near-tied pair"]
    league = pd.DataFrame({"data": "small", "measure": "DCG@10", "task": tasks, "model": "fitted", "method": "default"})
    league.assign(ratio=[0.9, 0.8, 1.1]).to_csv(folder / "league.csv", index=False)
    qrels = frame.assign(zero="0")[["qid", "zero", "docno", "label"]]
    qrels.to_csv(folder / "good.qrels", sep=" ", header=False, index=False)
    votes = rng.multinomial(9, np.full(3, 1 / 3), len(frame)) + 3 * np.eye(3, dtype=int)[frame["label"]]
    frame[["qid", "docno"]].join(pd.DataFrame(votes).add_prefix("votes_")).to_csv(
        folder / "votes-poor.tsv.gz", sep="\t", index=False
    )
    files = {"POOL": "small.parquet", "OTHER": "other.parquet", "LEAGUE": "league.csv", "JUDGES": ""}
    return {name: folder / file for name, file in files.items()}


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_each_script_can_be_loaded(name, script):
    if name in ("llm_judges", "judge_ways"):
        pytest.importorskip("ppi_py")
    assert script(name).__doc__


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_each_study_leaves_its_tables_and_pictures(name, script, inputs, tmp_path, monkeypatch, published):
    study, module = STUDIES[name], script(name.split()[0])
    for constant, value in study.small.items():
        owner, _, attribute = constant.rpartition(".")
        monkeypatch.setattr(script(owner) if owner else module, attribute, value, raising=False)
    words = study.words.replace("OUT", str(tmp_path))
    for place, path in inputs.items():
        words = words.replace(place, str(path))
    if study.page:
        text, printed = published(module, *shlex.split(words))
        assert text.startswith(f"# command: python examples/reproduce/{module.__name__}.py")
        assert len(re.findall(r"^(?!#).", text, re.MULTILINE)) >= 2
        assert printed
    else:
        monkeypatch.setattr("sys.argv", [name, *shlex.split(words)])
        module.main()
    for file in study.leaves.split():
        assert (tmp_path / file).stat().st_size > (10_000 if file.endswith(".png") else 0)
        if file.endswith(".csv"):
            assert len(pd.read_csv(tmp_path / file)) > 1
