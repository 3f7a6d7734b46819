"""What the tests of commands share: files to work on."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from pt_active import Runs
from pt_active.frames.trec import read_run

sys.path.insert(0, str(Path(__file__).parent))

from small_collection import DOCUMENTS, PAST, QUERIES, label, qrels_lines, write, write_run


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with two runs, a judged past run, topics, texts and another judge's labels."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "a.run.gz", QUERIES, seed=1)
    write_run(tmp_path / "b.run", QUERIES, seed=5)
    write_run(tmp_path / "past.run", PAST, seed=2)
    write_run(tmp_path / "past2.run", PAST, seed=3)
    write(tmp_path / "past.qrels.gz", qrels_lines(PAST))
    write(tmp_path / "judge.qrels", qrels_lines(PAST + QUERIES))
    write(tmp_path / "scores.csv", "qid,docno,score\n" + "".join(f"{q},D-1,0.5\n" for q in QUERIES))
    write(tmp_path / "topics.tsv", "".join(f"{q}\twhat is {q}\n" for q in QUERIES))
    write(tmp_path / "texts.tsv", "".join(f"D-{d}\t{'word ' * (d + 1)}\n" for d in range(DOCUMENTS)))
    return tmp_path


@pytest.fixture
def labelled(files):
    """Two rankers on judged queries in two folds."""
    runs = {name: read_run(files / file) for name, file in (("a", "a.run.gz"), ("b", "b.run"))}
    pool = Runs(**runs).transform(pd.DataFrame({"qid": QUERIES}))
    pool["label"] = [label(q, int(d[2:])) for q, d in zip(pool["qid"], pool["docno"], strict=True)]
    pool["fold"] = [1 + (QUERIES.index(q) >= 12) for q in pool["qid"]]
    pool.to_parquet(files / "pool.parquet")
    return pool
