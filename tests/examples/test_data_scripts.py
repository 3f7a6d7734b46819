"""The scripts in ``data_scripts/`` on small files: their output, and their messages for malformed files."""

import gzip
import hashlib
import importlib
import json
import sys
from pathlib import Path

import ir_datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

SCRIPTS = Path(__file__).parents[2] / "data_scripts"
FILES = {
    "s1.txt": """\
2 qid:10 1:0.5 3:7 # docid = GX-1 x
0 qid:10 1:0.5\t2:1e-1  3:2
1.0 qid:11 2:-4 3:9

0 qid:12
""",
    "A1.txt": """\
1 qid:10 1:5 2:NULL 3:4 #docid = d1 inc = 1 prob = 0.02
0 qid:10 1:2 2:9 3:NULL #docid = d2 inc = 0.6 prob = 0.4
2 qid:10 1:NULL 2:9 3:NULL #docid = d3 inc = 1 prob = 0.5
0 qid:11 1:NULL 2:NULL 3:NULL #docid = d1 inc = 1 prob = 0.5
""",
    "A2.txt": "2 qid:5 1:1 2:2 3:3 #docid = d8 inc = 1 prob = 1\n",
    "runs/a-1.x.run": "q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq1 Q0 d3 3 1 a\nq9 Q0 d1 1 1 a\n",
    "runs/b.run": "q1 Q0 d3 1 9 b\nq2 Q0 d1 1 4 b\n",
    "runs/.hidden": "",
    "c.run": "q1 Q0\td1 1 3\n",
    "qrels.txt": "q1 0 d1 1\nq1 0 d3 2\nq1 0 d2 -1\nq2 0 d1 -2\nq3 0 d1 1\n",
    "all.qrels": "q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d1 0\n",
    "topics.tsv": "q1\tone thing\nq2\tanother\n",
    "texts.tsv": "d1\tsome words here\nd2\ttwo words\nd3\tword\n",
}
LETOR = "s1.txt", "s2.txt.gz"
TREC = "--runs", "runs", "--qrels", "qrels.txt"
SOME_LEFT_OUT = pytest.mark.filterwarnings("ignore:.* queries are left out")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SCRIPTS)
    Path("runs").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text)
    with gzip.open("s2.txt.gz", "wt") as stream:
        stream.write("1 qid:7 1:1 2:2 3:3 4:4\r\n0 qid:7 1:3\n")
    yield tmp_path
    for path in SCRIPTS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def call(script, *words, out="pool.parquet"):
    """Run a script and return its exit code."""
    module, writer = importlib.import_module(script), importlib.import_module("pool_writer")
    return writer.run(module.main, [*words, "--out", out])


def run(script, *words):
    """Run a script and return the pool that it wrote."""
    Path("pool.parquet").unlink(missing_ok=True)
    assert call(script, *words) == 0
    return pd.read_parquet("pool.parquet")


def manifest(*sources):
    """What the pool says of itself; it names its sources, with their digests."""
    found = json.loads(pq.read_schema("pool.parquet").metadata[b"pt_active"])
    assert found["sources"] == {
        Path(each).name: hashlib.sha256(Path(each).read_bytes()).hexdigest() for each in sources
    }
    return found


def test_svmlight_becomes_a_pool_with_a_manifest(folder, monkeypatch, capsys):
    """However many rows are read at once; the manifest says what the pool was made of, and not where."""
    monkeypatch.setattr(importlib.import_module("letor_files"), "ROWS_AT_ONCE", 2)
    rankers = "--ranker", "bm25=3", "--ranker", "flat=4", "--length-feature", "3"
    pool = run("letor_to_pool", *(str(folder / name) for name in LETOR), *rankers)
    features = np.stack(pool.pop("features"))
    assert pool.drop(columns="score_flat").to_dict("list") == {
        "qid": ["10", "10", "11", "12", "7", "7"],
        "docno": ["GX-1", "10-1", "11-0", "12-0", "7-0", "7-1"],
        "label": [2, 0, 1, 0, 1, 0],
        "fold": [1, 1, 1, 1, 2, 2],
        "length": [7, 2, 9, 0, 3, 0],
        "rank_bm25": [0, 1, 0, 0, 0, 1],
        "score_bm25": [7, 2, 9, 0, 3, 0],
        "rank_flat": [0, 1, 0, 0, 0, 1],
    }
    expected = [[0.5, 0, 7, 0], [0.5, 0.1, 2, 0], [0, -4, 9, 0], [0, 0, 0, 0], [1, 2, 3, 4], [3, 0, 0, 0]]
    np.testing.assert_allclose(features, expected, rtol=1e-6)
    types = {field.name: field.type for field in pq.read_schema("pool.parquet")}
    assert types.pop("features").value_type == pa.float32()
    assert (types["qid"], types["label"], types["rank_bm25"]) == (pa.string(), pa.int64(), pa.int32())
    said = "pool.parquet: 6 documents of 4 queries\nlabels 0: 3, 1: 2, 2: 1\n2 rankers: bm25, flat\n"
    assert capsys.readouterr().out == said
    found = manifest(*LETOR)
    assert (found["script"], found["arguments"]["files"]) == ("letor_to_pool.py", list(LETOR))
    assert found["counts"] == {"queries": 4, "documents": 6, "labels": {"0": 3, "1": 2, "2": 1}}
    assert str(folder) not in str(found)


def test_rankers_learn_on_the_training_fold_of_arrays_and_come_out_the_same():
    importlib.import_module("sklearn.ensemble")
    rng = np.random.default_rng(0)
    features = rng.uniform(0, 1, (2, 200, 4))
    labels = np.clip(np.round(2 * features[..., 0] + rng.normal(0, 0.3, (2, 200))), 0, 2)
    qids = np.repeat(np.arange(40), 10).reshape(2, 200)
    first, second = np.dstack([labels, qids, features])
    np.save("first.npy", first)
    with gzip.open("second.npy.gz", "wb") as stream:
        np.save(stream, np.asfortranarray(second))
    kinds = ("linear", "forest", "boosting")
    words = ["first.npy", "second.npy.gz", "--train-fold", "2"]
    words += [word for kind in kinds for word in ("--ranker", f"{kind}={kind}")]
    with threadpool_limits(1):  # of the loaded libraries; data this small are slower on several threads
        pool = run("letor_to_pool", *words)
        assert manifest(*words[:2])["arguments"]["train_fold"] == 2
        np.save("first.npy", first * np.array([0, 1, 1, 1, 1, 1]))
        again = run("letor_to_pool", *words)  # the labels of the other fold are not seen
    pd.testing.assert_frame_equal(pool.drop(columns="label"), again.drop(columns="label"))
    assert pool["qid"].tolist() == [str(qid) for qid in qids.ravel()]
    assert pool["label"].tolist() == labels.ravel().tolist()
    np.testing.assert_array_equal(np.stack(pool["features"]), features.reshape(-1, 4).astype(np.float32))
    rest = pool[pool["fold"] == 1]
    for kind in kinds:
        top = rest.loc[rest[f"rank_{kind}"] < 3, "label"].mean()
        assert top > rest["label"].mean() + 0.3


def test_lists_are_those_of_the_judged_documents():
    pool = run("letor_agg_to_pool", "A1.txt", "A2.txt")
    assert pool["rank_system_1"].tolist() == [1, 0, -1, -1, 0]
    assert pool["rank_system_2"].tolist() == [-1, 1, 0, -1, 0]
    np.testing.assert_array_equal(pool["score_system_3"], [-4, np.nan, np.nan, np.nan, -3])
    assert pool["fold"].tolist() == [1, 1, 1, 1, 2]
    expected = [[1 / 6, 0, 1 / 5], [1 / 3, 1 / 10, 0], [0, 1 / 10, 0], [0, 0, 0], [1 / 2, 1 / 3, 1 / 4]]
    np.testing.assert_allclose(np.stack(pool["features"]), expected, rtol=1e-6)
    assert manifest("A1.txt", "A2.txt")["rankers"] == ["system_1", "system_2", "system_3"]


def test_runs_and_qrels_become_a_pool():
    extra = ("--topics", "topics.tsv", "--texts", "texts.tsv", "--unjudged", "drop")
    with pytest.warns(UserWarning, match="queries are left out") as caught:
        pool = run("trec_to_pool", *TREC, *extra)
    assert [str(warning.message) for warning in caught] == [
        "runs/a-1.x.run: the last query, 'q9', has 1 line and all other queries at least 3; is the file whole?",
        "1 queries are left out, which have no labels: 'q9'",
        "1 queries are left out, which have labels, but are in no run: 'q3'",
    ]
    columns = ["qid", "docno", "label", "rank_a-1", "rank_b", "query", "text", "length"]
    assert sorted(pool[columns].to_numpy().tolist()) == [
        ["q1", "d1", 1, 0, -1, "one thing", "some words here", 3],
        ["q1", "d3", 2, 1, 0, "one thing", "word", 1],
        ["q2", "d1", 0, -1, 0, "another", "some words here", 3],
    ]
    found = manifest("runs/a-1.x.run", "runs/b.run", "qrels.txt", "topics.tsv", "texts.tsv")
    assert found["arguments"]["run"] == {"a-1": "a-1.x.run", "b": "b.run"}


@SOME_LEFT_OUT
def test_what_becomes_of_documents_without_a_label():
    """They count as not relevant, or lie below the depth."""
    pool = run("trec_to_pool", *TREC, "--unjudged", "nonrelevant").set_index(["qid", "docno"])
    assert pool["label"]["q1", "d2"] == 0
    assert pool["rank_a-1"]["q1", "d3"] == 2
    assert len(run("trec_to_pool", *TREC, "--depth", "1")) == 3


@SOME_LEFT_OUT
def test_a_data_set_of_ir_datasets(monkeypatch):
    files = {"docs_tsv": "texts.tsv", "queries_tsv": "topics.tsv", "qrels_trec": "all.qrels"}
    monkeypatch.setattr(ir_datasets, "load", {"a/here": ir_datasets.create_dataset(**files)}.__getitem__)
    pool = run("irds_to_pool", "a/here", "--runs", "runs", "--text").set_index(["qid", "docno"])
    assert pool["query"].unique().tolist() == ["one thing", "another"]
    assert pool["label"].to_dict() == {("q1", "d1"): 1, ("q1", "d2"): 0, ("q1", "d3"): 2, ("q2", "d1"): 0}
    assert pool["length"]["q1", "d3"] == 1
    found = json.loads(pq.read_schema("pool.parquet").metadata[b"pt_active"])
    assert found["arguments"]["dataset"] == "a/here"
    assert set(found["sources"]) == {"a-1.x.run", "b.run", "qrels of a/here", "queries of a/here"}


LABEL, QUERY = "expected a whole label from 0 to 1000, got", "expected qid:QUERY after the label, got"
FEATURE = "expected NUMBER:VALUE, from 1 to 10000 and finite, got"
BAD_SVMLIGHT = [
    ("1 qid:1 1:2\nx qid:1 1:2\n", f"2: {LABEL} 'x'"),
    ("1 qid:1 1:2\n\n1 1:2\n", f"3: {QUERY} '1:2'"),
    *((f"1 qid:1 {word}\n", f"1: {FEATURE} '{word}'") for word in ("2:y", "0:2", "1:nan")),
    ("1 qid:1 2:1 1:3\n", "1: expected numbers of features that increase, got '1:3' after 2"),
    ("1 qid:1 1:2\n1 qid:2 1:2\n1 qid:1 1:2\n", "3: expected each query once, got query '1'"),
    ("1 qid:1 1:2 # docid = a\n\n1 qid:1 1:3 # docid = a\n", "3: expected each document once, got 'a' twice"),
    ("", " the file is empty"),
]
BAD_TREC = [
    ("", "pass --run NAME=FILE"),
    ("--runs runs --run b=runs/b.run", "the name 'b' is taken"),
    ("--runs runs --run depth=runs/b.run", "the name 'depth' is taken"),
    ("--run c=c.run", "c.run: line 1: expected 6 columns"),
    ("--runs runs --unjudged drop --texts c.run", "no text for 2 documents of the pool: 'd1', 'd3'"),
    ("--runs runs", "1 retrieved documents have no label: ('q1', 'd2'); pass --depth N"),
]
WRONG = [
    *(("letor_to_pool bad.txt --ranker x=1", text, f"bad.txt:{message}") for text, message in BAD_SVMLIGHT),
    *((f"trec_to_pool --qrels qrels.txt {words}", "", message) for words, message in BAD_TREC),
    ("letor_to_pool s1.txt --ranker x=1", "new.parquet", "new.parquet exists; choose another --out"),
]


@SOME_LEFT_OUT
@pytest.mark.parametrize(("words", "bad", "message"), WRONG)
def test_bad_input_is_one_line_and_leaves_no_files(folder, capsys, words, bad, message):
    (folder / "bad.txt").write_text(bad)
    if bad == "new.parquet":
        Path(bad).write_text("mine")
    before = set(folder.iterdir())
    script, *words = words.split()
    assert call(script, *words, out="new.parquet") == 2
    assert set(folder.iterdir()) == before
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert message in line
