"""Scripts, examples and the notebook: each can be loaded, and runs to its tables and pictures on a small pool."""

import json
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from pt_active.demo import collection

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL_FIGURES = {"figures.STEPS": 3, "RATIOS": (2.0,), "SHARES": (1.0,)}
DCG_ALONE = {"MEASURES": ("DCG@10",)}
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bench": ("POOL --repetitions 3 --evidence OUT", {}),
    "document_league": ("POOL --quick --csv OUT/x.csv --evidence OUT", DCG_ALONE),
    "simulator": (
        "--repetitions 6 --evidence OUT",
        {"QUERIES": (50,), "DIFFERENCES": (0.4, 0.8), "SHARES": (0.2, 0.4)},
    ),
    "evidence_pictures": ("--out OUT", {}),
    "demo_picture": ("--out OUT/x.png", {"REPETITIONS": 10}),
    "document_saving": ("POOL --quick --out OUT/x.png", {}),
    "document_worst": ("POOL --repetitions 20 --evidence OUT", {"SPOILERS": {"fitted": np.copy}, **DCG_ALONE}),
    "lowest_cells": (
        "LEAGUE POOL --cells 2 --repetitions 40 --evidence OUT",
        {"document_worst.MEASURES": ("DCG@10",), "document_worst.SPOILERS": {"fitted": np.copy}},
    ),
    "small_samples": ("POOL --quick --repetitions 60 --csv OUT/x.csv", {}),
    "small_intervals": ("--repetitions 2 --evidence OUT", {"NAMES": ()}),
    "revealed_coverage": ("POOL --share 0.3 --repetitions 4 --evidence OUT", {}),
    "revealed_saving": ("--track TRACK --pairs 2 --share 0.2 --evidence OUT", {}),
    "tracks": ("TRACK --budgets 100 --repetitions 2 --evidence OUT", {}),
    "certificate": (
        "TRACK --repetitions 2 --evidence OUT",
        {"BUDGETS": (100,), "JUDGES": {"UMBRELA": "umbrela-gpt-4.qrels"}, "every_third": lambda track: track},
    ),
    "new_track": ("TRACK --differences 0.1 --runs 3 --evidence OUT", {}),
    "study": ("TRACK --pairs 2 --samples 2 --out OUT/x.png", {"BUDGETS": (50, 100), "MOST": 120}),
    "new_queries": (
        "POOL --repetitions 2 --evidence OUT",
        {"SIZES": (9, 10, 11), "HARD": ("skewed",), "CLUSTERS": (4,), "SHARE": 0.5},
    ),
    "sampled_logs": ("--repetitions 3 --evidence OUT", {"QUERIES": 2000, "SIZES": (50, 200), "JUDGED": 20}),
    "which_queries": ("--out OUT/x.png", {"QUERIES": 40, "STEPS": 3, "SMALLEST": 60}),
    "promised_power": ("POOL --repetitions 1 --evidence OUT", {"PAST": 30, "NEW_POOLS": 2, **DCG_ALONE}),
    "surprises": ("POOL --measures AP --shares 0.3 --repetitions 3 --evidence OUT", {}),
    "grade_models": ("POOL --quick --evidence OUT", {"MEASURES": {"DCG@10": 1}, "QUERIES": 20}),
    "cold_start": ("POOL OTHER --repetitions 2 --evidence OUT", {"SHARES": (0.4,)}),
    "until_known": ("POOL --quick --pairs small=2 --evidence OUT", {"WIDTHS": {"small": (40,)}, "DIFFERENCES": (0.6,)}),
    "closing_in": ("POOL --quick --out OUT/x.png", {"DIFFERENCES": (0.4, 0.8), "LOOKS": 20}),
    "hostile": ("--populations plain --repetitions 10 --evidence OUT", {"POOLS": 1, "QUERIES": 96, "JUDGED": 25}),
    "hostile late": ("--late --populations plain --repetitions 6", {"POOLS": 1, "QUERIES": 64, "LOOK": 100}),
    "hostile ties": (
        "--ties --repetitions 10",
        {"equal_rankers.MEASURES": {("DCG@10",): (None, "successive", "depth")}, "equal_rankers.QUERIES": 6},
    ),
    "active_testing": ("--repetitions 2 --out OUT", {"ROUNDS": 2, "FOREST": {"n_estimators": 3, "random_state": 0}}),
    "audit_coverage": ("--repetitions 4 --out OUT --evidence OUT", {"PAIRS": 400}),
    "risk_on_pools": (
        "POOL --judges FOLDER --out OUT --quick --repetitions 20",
        {"LABELS": [50, 100], "SIZES": [2, 20]},
    ),
    "risk_curves": ("--out OUT --quick --repetitions 10", {"SIZES": [10, 100], "LABELS": [50, 100]}),
    "model_comparison": ("--out OUT --quick --repetitions 10", {"LABELS": [20, 150], "SHOWN": [20, 150]}),
}
OF_FIGURES = "estimation_error model_selection_error sampling_distribution index_update training_size type_errors"
for figure in (*OF_FIGURES.split(), "draw_until_significant"):
    STUDIES[figure] = "POOL --out OUT --quick --repetitions 20 --seed 3 --measure DCG@5", SMALL_FIGURES
"""Script → what is typed after its name, where words in capitals are files or folders, and what is made smaller."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A pool, a part of it, a league, and runs, qrels and judges of it."""
    rng, folder = np.random.default_rng(1), tmp_path_factory.mktemp("pool")
    queries, documents = 50, 12
    quality = rng.normal(size=(queries, documents))
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{q:03d}" for q in range(queries)], documents),
            "docno": np.tile([f"d{d}" for d in range(documents)], queries),
            "label": np.digitize(quality, [0.5, 1.3]).ravel(),
            "fold": np.repeat(np.arange(queries) % 5 + 1, documents),
            "features": list((quality + 0.5 * rng.normal(size=quality.shape)).reshape(-1, 1)),
            "length": rng.integers(5, 300, quality.size),
        }
    )
    for name in ("runs", "judges"):
        (folder / name).mkdir()
    trec = {"sep": " ", "header": False, "index": False}
    for number, noise in enumerate((0.5, 0.8, 2.0, 3.0)):
        score = quality + noise * rng.normal(size=quality.shape)
        frame[f"score_r{number}"] = score.ravel()
        frame[f"rank_r{number}"] = (-score).argsort(axis=1).argsort(axis=1).ravel()
        run = frame.assign(q0="Q0", tag="t")[["qid", "q0", "docno", f"rank_r{number}", f"score_r{number}", "tag"]]
        run.to_csv(folder / "runs" / f"r{number}.gz", **trec)
    frame.to_parquet(folder / "small.parquet")
    frame[frame["fold"] <= 3].to_parquet(folder / "other.parquet")
    tasks = ["one ranker", "clear pair", "near-tied pair"]
    league = pd.DataFrame({"data": "small", "measure": "DCG@10", "task": tasks, "model": "fitted", "method": "default"})
    league.assign(ratio=[0.9, 0.8, 1.1]).to_csv(folder / "league.csv", index=False)
    qrels = frame.assign(zero="0")[["qid", "zero", "docno", "label"]]
    unsure = qrels.assign(label=qrels["label"].where(rng.random(len(qrels)) < 0.7, 1))
    for name, labels in (("good.qrels", qrels), ("qrels.txt", qrels), ("judges/umbrela-gpt-4.qrels", unsure)):
        labels.to_csv(folder / name, **trec)
    topics = "".join(f"{qid}\twhat is {qid}\n" for qid in frame["qid"].unique())
    (folder / "topics.tsv").write_text(topics, encoding="utf-8")
    votes = rng.multinomial(9, np.full(3, 1 / 3), len(frame)) + 3 * np.eye(3, dtype=int)[frame["label"]]
    votes = frame[["qid", "docno"]].join(pd.DataFrame(votes).add_prefix("votes_"))
    votes.to_csv(folder / "votes-poor.tsv.gz", sep="\t", index=False)
    files = {"POOL": "small.parquet", "OTHER": "other.parquet", "LEAGUE": "league.csv", "TRACK": "", "FOLDER": ""}
    return {name: folder / file for name, file in files.items()}


@pytest.mark.parametrize("name", sorted(path.stem for path in (EXAMPLES / "reproduce").glob("*.py")))
def test_each_script_can_be_loaded(name: str, script) -> None:
    if name in ("llm_judges", "judge_ways"):
        pytest.importorskip("ppi_py")
    assert script(name).__doc__


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_each_study_leaves_its_tables_and_pictures(name, script, inputs, tmp_path, monkeypatch, capsys) -> None:
    (words, small), module = STUDIES[name], script(name.split()[0])
    for constant, value in small.items():
        owner, _, attribute = constant.rpartition(".")
        monkeypatch.setattr(script(owner) if owner else module, attribute, value, raising=False)
    for place, path in (inputs | {"OUT": tmp_path}).items():
        words = words.replace(place, str(path))
    monkeypatch.setattr("sys.argv", [f"{module.__name__}.py", *shlex.split(words)])
    module.main()
    files = [path for path in tmp_path.rglob("*.*") if path.is_file()]
    assert bool(files) == (str(tmp_path) in words)
    assert all(path.stat().st_size > 10_000 for path in files if path.suffix == ".png")
    tables = [path for path in files if path.suffix == ".csv"]
    assert not [path for path in tables if pd.read_csv(path, comment="#").empty]
    command = f"# command: python examples/reproduce/{module.__name__}.py"
    assert ("--evidence" in words) == any(path.read_text("utf-8").startswith(command) for path in tables)
    assert capsys.readouterr().out or "--evidence" not in words


def test_the_example_compares_documents_with_queries(script, capsys, monkeypatch) -> None:
    module: ModuleType = script("ndcg_from_documents")
    made = module.demo_collection
    monkeypatch.setattr(module, "demo_collection", lambda seed, queries: made(seed, queries // 4))
    monkeypatch.setattr(module, "BUDGET", 150)
    module.main()
    printed = capsys.readouterr().out
    assert printed.count("Plan for nDCG@10") == printed.count("runs): candidate − production") == 2
    rows = [line.split() for line in printed.splitlines() if line.split()[:1] in (["document"], ["query"])]
    errors = {row[1]: float(row[6]) for row in rows}
    assert errors["surprises"] < errors["passive"]


def test_the_tour_ends_in_a_verdict(tmp_path, monkeypatch) -> None:
    """The notebook, with half of its queries, which is quicker."""
    monkeypatch.chdir(tmp_path)
    made = collection.demo_collection
    monkeypatch.setattr(collection, "demo_collection", lambda queries: made(queries=queries // 2))
    mpl.use("Agg")
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept, since they would go out of date"
            exec("".join(cell["source"]), names)
    status = names["status"]
    assert status.winner == "candidate"
    assert status.low < names["truth"] < status.high
    assert (tmp_path / "report.html").is_file()
    assert names["figure"].axes
