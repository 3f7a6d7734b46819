"""The scripts in ``data_scripts/`` on small files: what they write, and what they say of files that are wrong."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, OrderedLogitGrades
from pt_active.simulate import labelled_population

SCRIPTS = Path(__file__).parents[1] / "data_scripts"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SCRIPTS)
    yield tmp_path
    for path in SCRIPTS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def run(script, *words):
    """The written pool."""
    module, writer = importlib.import_module(script), importlib.import_module("pool_writer")
    assert writer.run(module.main, [*words, "--out", "pool.parquet"]) == 0
    return pd.read_parquet("pool.parquet")


def complaint(capsys, script, *words):
    """The line on stderr; nothing is left behind."""
    before = set(Path().iterdir())
    module, writer = importlib.import_module(script), importlib.import_module("pool_writer")
    assert writer.run(module.main, [*words, "--out", "new.parquet"]) == 2
    assert set(Path().iterdir()) == before
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    return line.removeprefix("error: ")


def manifest(path="pool.parquet"):
    return importlib.import_module("pool_writer").read_manifest(Path(path))


def ranks(scores):
    """From 0 by (score, docno), both descending, by counting who is before."""
    return [sum(other > mine for other in scores) if mine[0] is not None else -1 for mine in scores]


# --- LETOR ----------------------------------------------------------------------------------------------------------

FOLD_1 = """\
2 qid:10 1:0.5 3:7 # docid = GX-1 x
0 qid:10 1:0.5 2:1e-1 3:2
1 qid:11 2:-4 3:9

0 qid:12 3:1
"""
FOLD_2 = "1 qid:7 1:1 2:2 3:3 4:4\n0 qid:7 1:3\n"


@pytest.fixture
def letor(folder):
    (folder / "s1.txt").write_text(FOLD_1)
    with gzip.open(folder / "s2.txt.gz", "wt") as stream:
        stream.write(FOLD_2)
    return "s1.txt", "s2.txt.gz"


def test_svmlight_becomes_a_pool(letor):
    pool = run("letor_to_pool", *letor, "--ranker", "bm25=3", "--ranker", "flat=4", "--length-feature", "3")
    assert pool["qid"].tolist() == ["10", "10", "11", "12", "7", "7"]
    assert pool["docno"].tolist() == ["GX-1", "10-1", "11-0", "12-0", "7-0", "7-1"]
    assert pool["label"].tolist() == [2, 0, 1, 0, 1, 0]
    assert pool["fold"].tolist() == [1, 1, 1, 1, 2, 2]
    assert pool["length"].tolist() == [7, 2, 9, 1, 3, 0]
    features = np.stack(pool["features"])
    assert features[:, :3].tolist() == pytest.approx(
        np.array([[0.5, 0, 7], [0.5, 0.1, 2], [0, -4, 9], [0, 0, 1], [1, 2, 3], [3, 0, 0]])
    )
    assert pool["rank_bm25"].tolist() == [0, 1, 0, 0, 0, 1]
    for _, query in pool.groupby("qid"):
        assert query["rank_flat"].tolist() == ranks(list(zip(query["score_flat"], query["docno"], strict=True)))


def test_the_manifest_has_the_digests_of_the_sources(letor):
    run("letor_to_pool", *letor, "--ranker", "bm25=3")
    found = manifest()
    assert found["sources"] == {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in letor}
    assert found["counts"] == {"queries": 4, "documents": 6, "labels": {"0": 3, "1": 2, "2": 1}}
    assert "train_fold" not in found["arguments"]
    assert str(Path.cwd()) not in str(found)


@pytest.fixture
def learnable(folder):
    rng = np.random.default_rng(0)
    for fold in (1, 2):
        features = rng.uniform(0, 1, (200, 4))
        labels = np.clip(np.round(2 * features[:, 0] + rng.normal(0, 0.3, 200)), 0, 2)
        array = np.column_stack([labels, np.repeat(np.arange(20), 10) + 100 * fold, features])
        np.save(folder / f"fold{fold}.npy", array)
    return "fold1.npy", "fold2.npy"


def test_learned_rankers_learn_on_the_training_fold_and_come_out_the_same(learnable):
    rankers = [w for kind in ("linear", "forest", "boosting") for w in ("--ranker", f"{kind}={kind}")]
    pool = run("letor_to_pool", *learnable, *rankers, "--train-fold", "2")
    Path("pool.parquet").rename("first.parquet")
    pd.testing.assert_frame_equal(pool, run("letor_to_pool", *learnable, *rankers, "--train-fold", "2"))
    assert manifest()["arguments"]["train_fold"] == 2
    rest = pool[pool["fold"] == 1]
    for kind in ("linear", "forest", "boosting"):
        top = rest.loc[rest[f"rank_{kind}"] < 3, "label"].mean()
        assert top > rest["label"].mean() + 0.3
        for _, query in rest.groupby("qid"):
            assert sorted(query[f"rank_{kind}"]) == list(range(10))


def test_a_pool_can_be_graded_and_replayed(learnable):
    pool = run("letor_to_pool", *learnable, "--ranker", "a=1", "--ranker", "b=2")
    past, rest = pool[pool["fold"] == 1], pool[pool["fold"] == 2]
    model = OrderedLogitGrades(2).fit(past.drop(columns="label"), past[["qid", "docno", "label"]])
    population = labelled_population(model.transform(rest), DCG @ 5)
    assert len(population.cost) == 20
    assert population.truth > 0


def test_sizes_of_queries(folder):
    (folder / "a.txt").write_text("1 1:1\n0 1:2\n2 1:3\n")
    (folder / "a.query").write_text("2\n1\n")
    pool = run("letor_to_pool", "a.txt", "--query-sizes", "a.query", "--ranker", "x=1")
    assert pool["qid"].tolist() == ["1-0", "1-0", "1-1"]
    assert pool["rank_x"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:2\nx qid:1 1:2\n", "bad.txt:2: expected a whole label from 0, got 'x'"),
        ("1 qid:1 1:2\n1.5 qid:1 1:2\n", "bad.txt:2: expected a whole label from 0, got '1.5'"),
        ("-1 qid:1 1:2\n", "bad.txt:1: expected a whole label from 0, got '-1'"),
        ("1 qid:1 1:2\n\n1 1:2\n", "bad.txt:3: expected qid:NUMBER after the label, got '1:2'"),
        ("1 qid:1 1:2 2:y\n", "bad.txt:1: expected FEATURE:VALUE, a feature's number from 1 and a finite value"),
        ("1 qid:1 0:2\n", "bad.txt:1: expected FEATURE:VALUE"),
        ("1 qid:1 1:nan\n", "bad.txt:1: expected FEATURE:VALUE"),
        ("1 qid:1 2:1 1:3\n", "bad.txt:1: the features' numbers must increase"),
        ("1 qid:1 1:2\n1 qid:2 1:2\n1 qid:1 1:2\n", "query '1' comes back at document 3, after other queries"),
        ("1 qid:1 1:2 # docid = a\n1 qid:1 1:3 # docid = a\n", "document 'a' stands twice in query '1'"),
        ("", "bad.txt: the file is empty"),
    ],
)
def test_bad_svmlight(folder, capsys, text, message):
    (folder / "bad.txt").write_text(text)
    assert message in complaint(capsys, "letor_to_pool", "bad.txt", "--ranker", "x=1")


def test_bad_options_of_letor(letor, capsys, folder):
    def of(*words):
        return complaint(capsys, "letor_to_pool", *letor, *words)

    assert "there is no feature 9; they are numbered from 1 to 4" in of("--ranker", "x=9")
    assert "unknown ranker 'svm'; it is a feature's number or one of linear, forest" in of("--ranker", "x=svm")
    assert "--ranker needs NAME=VALUE, got 'bm25'" in of("--ranker", "bm25")
    assert "the name 'x' is taken" in of("--ranker", "x=1", "--ranker", "x=2")
    assert "--train-fold 3: the folds are 1 to 2" in of("--ranker", "x=1", "--train-fold", "3")
    assert "2 files need as many --query-sizes, got 1" in of("--ranker", "x=1", "--query-sizes", "s1.txt")
    assert "query '10' stands in two folds" in complaint(capsys, "letor_to_pool", "s1.txt", "s1.txt", "--ranker", "x=1")
    (folder / "new.parquet").write_text("")
    assert "new.parquet exists" in of("--ranker", "x=1")
    (folder / "new.parquet").unlink()
    (folder / "three.query").write_text("4\n")
    (folder / "a.txt").write_text("1 1:1\n")
    sizes = ("a.txt", "--query-sizes", "three.query", "--ranker", "x=1")
    assert "three.query counts 4 documents, but a.txt has 1" in complaint(capsys, "letor_to_pool", *sizes)
    (folder / "three.query").write_text("1\nx\n")
    assert "three.query:2: expected a number of documents, got 'x'" in complaint(capsys, "letor_to_pool", *sizes)


# --- rank aggregation -----------------------------------------------------------------------------------------------

AGG = """\
1 qid:10 1:5 2:NULL #docid = d1 inc = 1 prob = 0.02
0 qid:10 1:2 2:9 #docid = d2 inc = 0.6 prob = 0.4
2 qid:10 1:NULL 2:9 #docid = d3 inc = 1 prob = 0.5
0 qid:11 1:NULL 2:NULL #docid = d1 inc = 1 prob = 0.5
"""


def test_lists_are_those_of_the_judged_documents(folder):
    (folder / "A1.txt").write_text(AGG)
    pool = run("letor_agg_to_pool", "A1.txt")
    assert pool["rank_system_1"].tolist() == [1, 0, -1, -1]
    assert pool["rank_system_2"].tolist() == [-1, 1, 0, -1]
    assert np.isnan(pool["score_system_2"][0])
    assert np.stack(pool["features"]).tolist() == pytest.approx(
        np.array([[1 / 6, 0], [1 / 3, 0.1], [0, 0.1], [0, 0]]), rel=1e-6
    )
    assert manifest()["rankers"] == ["system_1", "system_2"]


def test_bad_lists(folder, capsys):
    for wrong, message in (
        (AGG.replace("2:9 #docid = d3", "2:x #docid = d3"), "A1.txt:3: expected 'LABEL qid:Q"),
        (AGG.replace(" 2:9 #docid = d3", " #docid = d3"), "A1.txt:3: expected 2 rankers, got 1"),
        (AGG.replace("d2", "d1"), "document 'd1' stands twice in query '10'"),
        ("", "A1.txt: the file is empty"),
    ):
        (folder / "A1.txt").write_text(wrong)
        assert message in complaint(capsys, "letor_agg_to_pool", "A1.txt")


# --- TREC -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trec(folder):
    (folder / "runs").mkdir()
    (folder / "runs" / "a.x.run").write_text("q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq1 Q0 d3 3 1 a\nq9 Q0 d1 1 1 a\n")
    (folder / "runs" / "b.run").write_text("q1 Q0 d3 1 9 b\nq2 Q0 d1 1 4 b\n")
    (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d3 2\nq1 0 d2 -1\nq2 0 d1 -2\n")
    (folder / "topics.tsv").write_text("q1\tone thing\nq2\tanother\n")
    (folder / "texts.tsv").write_text("d1\tsome words here\nd2\ttwo words\nd3\tword\n")
    return ("--runs", "runs", "--qrels", "qrels.txt")


def test_runs_and_qrels_become_a_pool(trec):
    extra = ("--topics", "topics.tsv", "--texts", "texts.tsv", "--unjudged", "drop")
    with pytest.warns(UserWarning, match="1 queries without labels are left out: 'q9'"):
        pool = run("trec_to_pool", *trec, *extra).set_index(["qid", "docno"])
    assert sorted(pool.index) == [("q1", "d1"), ("q1", "d3"), ("q2", "d1")]
    assert pool["label"].to_dict() == {("q1", "d1"): 1, ("q1", "d3"): 2, ("q2", "d1"): 0}
    assert pool["rank_a"].to_dict() == {("q1", "d1"): 0, ("q1", "d3"): 1, ("q2", "d1"): -1}
    assert pool["rank_b"].to_dict() == {("q1", "d1"): -1, ("q1", "d3"): 0, ("q2", "d1"): 0}
    assert pool["query"].to_dict()["q1", "d1"] == "one thing"
    assert pool["length"].to_dict() == {("q1", "d1"): 3, ("q1", "d3"): 1, ("q2", "d1"): 3}
    assert set(manifest()["sources"]) == {"a.x.run", "b.run", "qrels.txt", "topics.tsv", "texts.tsv"}


@pytest.mark.filterwarnings("ignore:1 queries without labels")
def test_what_becomes_of_documents_without_a_label(trec, capsys):
    assert "1 retrieved documents have no label: ('q1', 'd2')" in complaint(capsys, "trec_to_pool", *trec)
    pool = run("trec_to_pool", *trec, "--unjudged", "nonrelevant").set_index(["qid", "docno"])
    assert pool["label"]["q1", "d2"] == 0
    assert pool["rank_a"]["q1", "d3"] == 2
    Path("pool.parquet").unlink()
    assert len(run("trec_to_pool", *trec, "--depth", "1")) == 3


def test_bad_trec_files(trec, capsys, folder):
    assert "say --run NAME=FILE" in complaint(capsys, "trec_to_pool", "--qrels", "qrels.txt")
    assert "two runs are called 'b'" in complaint(capsys, "trec_to_pool", *trec, "--run", "b=runs/b.run")
    (folder / "other.txt").write_text("q77 0 d1 1\n")
    wrong = ("--runs", "runs", "--qrels", "other.txt")
    assert "answers none of the 1 topics" in complaint(capsys, "trec_to_pool", *wrong)
    (folder / "runs" / "c.run").write_text("q1 Q0 d1 1 3\n")
    assert "c.run: line 1: expected 6 columns" in complaint(capsys, "trec_to_pool", *trec)
    (folder / "runs" / "c.run").unlink()
    (folder / "texts.tsv").write_text("d1\tsome words here\n")
    texts = ("--texts", "texts.tsv", "--unjudged", "drop")
    with pytest.warns(UserWarning, match="q9"):
        assert "no text for 1 documents of the pool: 'd3'" in complaint(capsys, "trec_to_pool", *trec, *texts)


class Collection:
    """What the script asks of a data set of `ir_datasets`."""

    def __init__(self, cached=True):
        self.cached = cached

    def has_qrels(self):
        return True

    has_queries = has_qrels

    def qrels_iter(self):
        if not self.cached:
            raise RuntimeError("All download sources failed")
        for qid, docno, label in (("q1", "d1", 1), ("q1", "d2", 0), ("q1", "d3", 2), ("q2", "d1", 0)):
            yield SimpleNamespace(query_id=qid, doc_id=docno, relevance=label)

    def queries_iter(self):
        for qid in ("q1", "q2"):
            yield SimpleNamespace(query_id=qid, default_text=lambda qid=qid: f"text of {qid}")

    def docs_store(self):
        text = {f"d{n}": SimpleNamespace(default_text=lambda n=n: "word " * n) for n in (1, 2, 3)}
        return SimpleNamespace(get_many=lambda wanted: {d: text[d] for d in wanted if d in text})


@pytest.mark.filterwarnings("ignore:1 queries without labels")
def test_a_data_set_of_ir_datasets(trec, capsys, monkeypatch):
    import ir_datasets

    known = {"here": Collection(), "elsewhere": Collection(cached=False)}
    monkeypatch.setattr(ir_datasets, "load", known.__getitem__)
    pool = run("irds_to_pool", "here", "--runs", "runs", "--text")
    assert pool["query"].unique().tolist() == ["text of q1", "text of q2"]
    assert pool.set_index(["qid", "docno"])["length"].to_dict()["q1", "d3"] == 3
    assert manifest()["arguments"]["dataset"] == "here"
    assert "ir_datasets knows no data set 'nowhere'" in complaint(capsys, "irds_to_pool", "nowhere", "--runs", "runs")
    missing = complaint(capsys, "irds_to_pool", "elsewhere", "--runs", "runs")
    assert "the qrels of elsewhere are not cached and could not be fetched: All download" in missing
