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
    label,
    qrels_lines,
    run,
    worked_on,
    write,
    write_run,
)


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    """A folder with two runs, a judged past run, topics, texts and another judge's labels."""
    folder = tmp_path_factory.mktemp("collection")
    for name, qids, seed in (("a.run.gz", QUERIES, 1), ("b.run", QUERIES, 5), ("past.run", PAST, 2)):
        write_run(folder / name, qids, seed)
    write_run(folder / "past2.run", PAST, seed=3)
    write(folder / "past.qrels.gz", qrels_lines(PAST))
    write(folder / "judge.qrels", qrels_lines(PAST + QUERIES))
    write(folder / "topics.tsv", "".join(f"{q}\twhat is {q}\n" for q in QUERIES))
    write(folder / "pt-active.toml", 'level = "query"\nseed = 1\n')
    write(folder / "texts.tsv", "".join(f"D-{d}\t{'word ' * (d + 1)}\n" for d in range(DOCUMENTS)))
    return folder


@pytest.fixture
def files(collection, tmp_path, monkeypatch):
    """A copy of the collection to work in."""
    return worked_on(collection, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def judged_once(collection, tmp_path_factory):
    """A plan that is judged, and a file in which it is judged in part, in its order."""
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
    return folder


@pytest.fixture
def judged(judged_once, tmp_path, monkeypatch):
    return worked_on(judged_once, tmp_path, monkeypatch)


@pytest.fixture
def labelled(files):
    """Two rankers on judged queries."""
    runs = {name: read_run(files / file) for name, file in (("a", "a.run.gz"), ("b", "b.run"))}
    pool = Runs(**runs).transform(pd.DataFrame({"qid": QUERIES}))
    pool["label"] = [label(q, int(d[2:])) for q, d in zip(pool["qid"], pool["docno"], strict=True)]
    pool.to_parquet(files / "pool.parquet")
    return pool
