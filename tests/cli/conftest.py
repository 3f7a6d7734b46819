"""What the tests of commands share: files to work on."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from pt_active import Runs
from pt_active.frames.trec import read_run

sys.path.insert(0, str(Path(__file__).parent))

from small_collection import DOCUMENTS, PAST, QUERIES, label, qrels_lines, worked_on, write, write_run


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
    write(folder / "texts.tsv", "".join(f"D-{d}\t{'word ' * (d + 1)}\n" for d in range(DOCUMENTS)))
    return folder


@pytest.fixture
def files(collection, tmp_path, monkeypatch):
    """A copy of the collection to work in."""
    return worked_on(collection, tmp_path, monkeypatch)


@pytest.fixture
def labelled(files):
    """Two rankers on judged queries."""
    runs = {name: read_run(files / file) for name, file in (("a", "a.run.gz"), ("b", "b.run"))}
    pool = Runs(**runs).transform(pd.DataFrame({"qid": QUERIES}))
    pool["label"] = [label(q, int(d[2:])) for q, d in zip(pool["qid"], pool["docno"], strict=True)]
    pool.to_parquet(files / "pool.parquet")
    return pool
