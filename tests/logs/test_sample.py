"""Samples of the queries of a log: exact probabilities, the same sample from every engine, and plans of them."""

from __future__ import annotations

import shutil
import sys
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pt_active import ColdGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.logs import QuerySample, drawn_in_order, sample_queries
from pt_active.logs.frames import places
from pt_active.sampling.chances import inclusion_probabilities

pytest.importorskip("duckdb")

NAMES = ["new", "old"]
SMALL = {
    "equal": [1.0, 1.0, 1.0, 1.0, 1.0],
    "different": [1.0, 2.0, 3.0, 1.5, 0.5],
    "one is certain": [1.0, 9.0, 1.0, 2.0, 1.5],
    "two are certain, one after the other": [10.0, 4.0, 1.0, 1.0, 0.5],
}


def exact(traffic: np.ndarray, n: int) -> np.ndarray:
    """The inclusion probabilities: n w/W, and 1 for those above, which are taken out until there are none."""
    certain = np.zeros(len(traffic), dtype=bool)
    while True:
        chance = np.where(certain, 1.0, (n - certain.sum()) * traffic / max(traffic[~certain].sum(), 1e-300))
        if not (chance > 1).any():
            return chance
        certain |= chance >= 1


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("traffic", SMALL.values(), ids=SMALL)
def test_inclusion_probabilities_and_means_are_exact_over_all_orders_and_starts(traffic, n):
    traffic, value = np.array(traffic), np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    chance = inclusion_probabilities(traffic, n)
    assert chance == pytest.approx(exact(traffic, n), rel=1e-12)
    for order in map(list, permutations(range(len(traffic)))):
        # Between these starts the sample is the same.
        ends = np.unique(np.r_[0.0, 1.0, -np.cumsum(np.where(chance < 1, chance, 0.0)[order]) % 1])
        came, mean = np.zeros(len(traffic)), 0.0
        for low, high in pairwise(ends):
            if high - low < 1e-12:
                continue
            rows = np.array(order)[drawn_in_order(chance[order], (low + high) / 2)]
            weight = traffic[rows] / chance[rows]
            assert len(rows) == n
            assert weight.sum() == pytest.approx(traffic.sum(), rel=1e-12)
            came[rows] += high - low
            mean += (high - low) * (weight @ value[rows]) / weight.sum()
        assert came == pytest.approx(chance, rel=1e-9)
        assert mean == pytest.approx(traffic @ value / traffic.sum(), rel=1e-9)


@pytest.mark.parametrize("start", [0.0, 1e-17, 0.5, 1 - 2**-53])
def test_rounding_neither_adds_nor_takes_a_query(start):
    traffic = np.random.default_rng(1).random(20_000) + 1e-3
    for n in (1, 7, 19_999, 20_000):
        assert drawn_in_order(inclusion_probabilities(traffic, n), start).sum() == n


def test_seeds_draw_queries_as_often_as_they_should():
    traffic, seeds = np.array(SMALL["one is certain"]), 2000
    came, chance = np.zeros(len(traffic)), exact(traffic, 2)
    for seed in range(seeds):
        *place, start = places([*"abcde", ""], seed)
        order = np.argsort(place)
        came[order[drawn_in_order(chance[order], start / 16**15)]] += 1
    assert (np.abs(came / seeds - chance) <= 4 * np.sqrt(chance * (1 - chance) / seeds)).all()


@pytest.fixture(scope="module")
def rows(demo: DemoCollection) -> pd.DataFrame:
    runs = zip(NAMES, demo.runs.values(), strict=True)
    rows = pd.concat([run[["qid", "docno", "score"]].assign(run=name) for name, run in runs])
    rows = rows[rows["qid"].isin(demo.topics["qid"].head(60))]
    rows = rows.assign(traffic=places(rows["qid"], 1) % 7 + 1.0)
    return rows.sample(frac=1.0, random_state=2).reset_index(drop=True)


def in_parquet(rows: pd.DataFrame, folder: Path) -> dict[str, Any]:
    for name, run in rows.groupby("run"):
        run.iloc[::2].to_parquet(folder / f"{name}-1.parquet")
        run.iloc[1::2][["traffic", "score", "docno", "qid"]].to_parquet(folder / f"{name}-2.parquet")
    return {"source": {name: str(folder / f"{name}-*.parquet") for name in NAMES}, "weight": "traffic"}


def in_csv(rows: pd.DataFrame, folder: Path) -> dict[str, Any]:
    for name, run in rows.groupby("run"):
        run.drop(columns="traffic").to_csv(folder / f"{name}.csv.gz", index=False)
    known = rows[["qid", "traffic"]].drop_duplicates()
    known.assign(query='say "' + known["qid"] + '", please').to_csv(folder / "log's queries.csv", index=False)
    return {"source": {name: [folder / f"{name}.csv.gz"] for name in NAMES}, "weight": folder / "log's queries.csv"}


def on_dask(rows: pd.DataFrame, folder: Path) -> dict[str, Any]:
    frames = pytest.importorskip("dask.dataframe")
    return {"source": frames.from_pandas(rows, npartitions=5), "weight": "traffic"}


def assert_same(one: QuerySample, other: QuerySample) -> None:
    about, columns = ["qid", "traffic", "inclusion"], ["qid", "docno", "score"]
    pd.testing.assert_frame_equal(one.topics[about], other.topics[about], check_dtype=False)
    assert list(one.runs) == list(other.runs) == NAMES
    for name in NAMES:
        run, again = (each.runs[name][columns].sort_values(columns, ignore_index=True) for each in (one, other))
        pd.testing.assert_frame_equal(run, again, check_dtype=False)


@pytest.mark.parametrize("kept", [in_csv, on_dask])
def test_every_engine_draws_the_same_sample(kept, rows, tmp_path):
    usual, other = in_parquet(rows, tmp_path), kept(rows, tmp_path)
    found, again = (sample_queries(**source, n=20, seed=3) for source in (usual, other))
    assert_same(found, again)
    assert len(found.topics) == 20
    assert found.queries == rows["qid"].nunique()
    assert found.topics["traffic"].sum() == pytest.approx(rows.drop_duplicates("qid")["traffic"].sum())
    if kept is in_csv:  # whose table of queries has their texts
        assert again.topics["query"].tolist() == [f'say "{qid}", please' for qid in again.topics["qid"]]
    assert_same(*(sample_queries(source["source"], 20, weight=None, seed=4) for source in (usual, other)))


@pytest.mark.slow  # Spark takes half a minute to start.
def test_spark_draws_the_same_sample(rows, tmp_path, monkeypatch):
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.createDataFrame(list(rows.itertuples(index=False, name=None)), list(rows.columns))
        for weight in ("traffic", None):
            usual = sample_queries(**in_parquet(rows, tmp_path) | {"weight": weight}, n=20, seed=3)
            assert_same(usual, sample_queries(frame, 20, weight=weight, seed=3))
        bad = frame.withColumn("traffic", sql.functions.lit(float("nan")))
        with pytest.raises(ValueError, match="expected one traffic from 0 on"):
            sample_queries(bad, 20, weight="traffic")
    finally:
        session.stop()


def test_a_sample_of_all_queries_is_the_log(demo, rows, tmp_path):
    whole = rows.drop_duplicates("qid")[["qid", "traffic"]]
    sample = sample_queries(**in_parquet(rows, tmp_path), n=len(whole))
    assert sample.certain == len(whole)
    runs = {name: rows[rows["run"] == name].drop(columns=["run", "traffic"]) for name in NAMES}
    found = []
    for each, topics in ((sample.runs, sample.topics), (runs, whole)):
        plan = Plan.create(Runs(10, **each) >> ColdGrades(3), topics, "DCG@10", budget=100, seed=1)
        compared = plan.compare(demo.judge(plan.assessments), queries="new")
        found.append((compared.difference, *compared.confidence_interval()))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_queries_without_traffic_never_come(rows, tmp_path):
    rows = rows.assign(traffic=rows["traffic"].where(rows["traffic"] > 3, 0.0))
    some = rows[rows["traffic"] > 0]["qid"].nunique()
    source = in_parquet(rows, tmp_path)
    sample = sample_queries(**source, n=some)
    assert (sample.queries, sample.topics["inclusion"].min()) == (some, 1)
    with pytest.raises(ValueError, match=f"^{some + 1} queries are too many: the log has {some} with traffic$"):
        sample_queries(**source, n=some + 1)


UNIFORM, TABLE = {"weight": None}, {"weight": "t.csv"}
LINES = "qid,docno,score\nx,d,2.0\ny,d,2.0\n"
ANOTHER = "expected one traffic from 0 on in all rows of a query; it is another in 1 query, as of query"
MALFORMED = [
    ({}, {}, "No such file"),
    ({"a.csv": "qid,docno\nx,d\n"}, UNIFORM, "'a' needs the columns qid, docno, score; it lacks 'score'"),
    ({"a.csv": "qid,docno,score,traffic\nx,d,1,\n"}, {}, f"{ANOTHER} 'x'"),
    ({"a.csv": "qid,docno,score,traffic\nx,d,1,2\nx,e,1,3\n"}, {}, f"{ANOTHER} 'x'"),
    ({"a.csv": "qid,docno,score,traffic\n,d,1,2\ny,e,1,3\n"}, {}, "a row of the log has no qid"),
    ({"a.run": "x Q0 d 1 2.0 t\n"}, UNIFORM, "'a' needs the columns qid, docno, score"),
    (
        {"a.csv": "qid,docno,score\nx,d,2\n", "b.csv": "qid,docno,score\n1,d,2\n"},
        UNIFORM,
        "'[ab]' answers none of .* do the qids match",
    ),
    ({"a.parquet": "hello"}, {}, "DuckDB cannot read the log"),
    ({"a.csv": LINES, "t.csv": "qid,traffic\nx,2\n"}, TABLE, f"{ANOTHER} 'y'"),
    (
        {"a.csv": LINES, "t.csv": "qid,traffic,query\nx,2,one\nx,2,two\ny,0,three\n"},
        TABLE,
        "different rows for query 'x'",
    ),
]


@pytest.mark.parametrize(("files", "asked", "message"), MALFORMED)
def test_what_cannot_be_drawn_from_is_refused(files, asked, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        Path(name).write_text(content)
    source = {Path(name).stem: name for name in files if name != "t.csv"} or {"a": "a.csv"}
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        sample_queries(source, **{"n": 1, "weight": "traffic"} | asked)


def test_sources_of_another_kind_are_refused(rows, tmp_path):
    with pytest.raises(TypeError, match="a log is files by ranker, or a frame of Dask or Spark"):
        sample_queries(rows, 1)
    pointed = rows.head(5).assign(qid=1.0)
    pointed.to_parquet(tmp_path / "a.parquet")
    frames = pytest.importorskip("dask.dataframe")
    for source in ({"a": tmp_path / "a.parquet"}, frames.from_pandas(pointed, npartitions=1)):
        with pytest.raises(ValueError, match="qids must be texts or whole numbers"):
            sample_queries(source, 1)
