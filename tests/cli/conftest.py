"""What the tests of commands share: files to work on."""

import contextlib
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from pt_active import Runs
from pt_active.frames.trec import read_run

sys.path.insert(0, str(Path(__file__).parent))

from small_collection import (
    DOCUMENTS,
    MEASURED,
    PAST,
    QUERIES,
    RUNS,
    TRAINING,
    exported,
    labelled,
    qrels_lines,
    run,
    run_lines,
    worked_on,
    write,
)


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    """A folder with two runs, a judged past run, topics, texts, another judge's labels, and a labelled pool."""
    folder = tmp_path_factory.mktemp("collection")
    write(folder / "a.run.gz", run_lines(QUERIES, seed=1))
    write(folder / "b.run", run_lines(QUERIES, seed=5))
    write(folder / "past.run", run_lines(PAST, seed=2))
    write(folder / "past2.run", run_lines(PAST, seed=3))
    write(folder / "past.qrels.gz", qrels_lines(PAST))
    write(folder / "judge.qrels", qrels_lines(PAST + QUERIES))
    write(folder / "topics.tsv", "".join(f"{q}\twhat is {q}\n" for q in QUERIES))
    write(folder / "pt-active.toml", 'level = "query"\nseed = 1\n')
    write(folder / "texts.tsv", "".join(f"D-{d}\t{'word ' * (d + 1)}\n" for d in range(DOCUMENTS)))
    write(folder / "queries.csv", "qid,traffic\n" + "".join(f"{qid},1\n" for qid in QUERIES))
    runs = {"a": read_run(folder / "a.run.gz"), "b": read_run(folder / "b.run")}
    for name, frame in runs.items():
        frame.to_csv(folder / f"log-{name}.csv", index=False)
    labelled(Runs(**runs).transform(pd.DataFrame({"qid": QUERIES}))).to_parquet(folder / "pool.parquet")
    return folder


@pytest.fixture
def files(collection, tmp_path, monkeypatch):
    """A copy of the collection to work in."""
    return worked_on(collection, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def judged_once(collection, tmp_path_factory):
    """A plan that is judged, a file in which it is judged in part, in its order, and an audit that is judged."""
    folder = shutil.copytree(collection, tmp_path_factory.mktemp("judged"), dirs_exist_ok=True)
    with contextlib.chdir(folder):
        made = run("plan", *RUNS, *TRAINING, *MEASURED, "--topics", "topics.tsv", "--texts", "texts.tsv")
        assert made.startswith("Plan for DCG@5 of a, b")
        assert made.endswith("in their browsers:\n  pt-active judge plan\n")
        assert exported().rstrip().endswith("as labels come in:\n  pt-active status plan plan.csv")
        worklist = pd.read_csv("plan.csv", dtype=str)
        assert worklist.columns.tolist() == ["qid", "docno", "query", "text", "label"]
        assert worklist["qid"].isin(QUERIES).all()
        assert worklist["query"].str.startswith("what is née-").all()
        worklist.head(60).to_csv("part.csv", index=False)
        run("plan", "--audit", "--judge", "gpt=judge.qrels", "--budget", "60", "--out", "audit")
        assert exported("audit").endswith("pt-active status audit audit.csv\n")
    return folder


@pytest.fixture
def judged(judged_once, tmp_path, monkeypatch):
    return worked_on(judged_once, tmp_path, monkeypatch)
