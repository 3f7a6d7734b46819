"""A plan that was made on a Dask or Spark cluster is the plan that the same runs give in memory."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.logs import on_dask, on_spark
from pt_active.logs.planning import Settings

pytestmark = pytest.mark.slow  # A cluster takes seconds to start, Spark half a minute, and a shuffle takes one.

LEVELS: dict[str, dict[str, Any]] = {
    "query": {"budget": 150.0, "level": "query"},
    "document": {"budget": 60.0},
    "nested": {"budget": 120.0, "measure": "nDCG@10", "design": "depth"},
}
ASKED = {"measure": "DCG@10", "seed": 3}


@pytest.fixture(scope="module")
def client() -> Any:
    """A cluster of two processes, whose workers come again if they are killed."""
    pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=True, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def spark() -> Any:
    """Needs PySpark and Java."""
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    sql = pytest.importorskip("pyspark.sql")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def rows(demo: DemoCollection) -> pd.DataFrame:
    runs = [run[["qid", "docno", "score"]].assign(run=name) for name, run in demo.runs.items()]
    return pd.concat(runs).sample(frac=1.0, random_state=2).reset_index(drop=True)


@pytest.fixture(scope="module")
def in_memory(demo: DemoCollection, grades: OrderedLogitGrades) -> dict[str, Plan]:
    pool = (Runs(**demo.runs, depth=15) >> grades)(demo.topics)
    return {level: Plan.create(pool, demo.topics, **ASKED | how) for level, how in LEVELS.items()}


@pytest.fixture(scope="module")
def planned(demo: DemoCollection, grades: OrderedLogitGrades) -> Callable[..., Plan]:
    def plan(cluster: Any, rows: Any, level: str = "query", model: Any = grades) -> Plan:
        settings = Settings(**ASKED | LEVELS[level])
        return cluster.plan(rows, model, demo.topics, settings, names=list(demo.runs), depth=15)

    return plan


def check_same(one: Plan, other: Plan) -> None:
    pd.testing.assert_frame_equal(one.assessments, other.assessments[one.assessments.columns], check_dtype=False)
    assert one.manifest["arguments"] == other.manifest["arguments"]
    if one.manifest["arguments"]["level"] == "query":
        pd.testing.assert_frame_equal(one.sample, other.sample[one.sample.columns], check_dtype=False, rtol=1e-12)


def on_partitions(rows: pd.DataFrame, number: int) -> Any:
    import dask.dataframe

    return dask.dataframe.from_pandas(rows, npartitions=7).shuffle("qid", npartitions=number)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("partitions", [1, 5, 60])
def test_any_partitioning_gives_the_plan_in_memory(
    planned: Any, rows: pd.DataFrame, in_memory: dict[str, Plan], demo: DemoCollection, level: str, partitions: int
) -> None:
    made, whole = planned(on_dask, on_partitions(rows, partitions), level), in_memory[level]
    check_same(made, whole)
    qrels = demo.judge(whole.assessments)
    one, other = (plan.compare(qrels, reference="effective").difference for plan in (made, whole))
    assert one == pytest.approx(other, rel=1e-9)


def test_any_partitioning_on_spark_gives_the_plan_in_memory(
    spark: Any, planned: Any, rows: pd.DataFrame, in_memory: dict[str, Plan]
) -> None:
    frame = spark.createDataFrame(list(rows.itertuples(index=False, name=None)), schema=list(rows.columns))
    for partitions, level in zip((1, 5, 60), LEVELS, strict=True):
        check_same(planned(on_spark, frame.repartition(partitions, "qid"), level), in_memory[level])


class KillsItsWorker:
    """A grade model that kills the process that runs it, once; a worker of the cluster, not the test itself."""

    def __init__(self, grades: Any, marker: Path, own: int) -> None:
        self.grades, self.marker, self.own = grades, marker, own

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        if os.getpid() != self.own:
            try:
                self.marker.touch(exist_ok=False)
            except FileExistsError:
                return self.grades.transform(frame)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.grades.transform(frame)


@pytest.mark.usefixtures("client")
def test_a_worker_that_is_killed_changes_nothing(
    planned: Any, rows: pd.DataFrame, grades: Any, in_memory: dict[str, Plan], tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    made = planned(on_dask, on_partitions(rows, 8), model=KillsItsWorker(grades, marker, os.getpid()))
    assert marker.exists()
    check_same(made, in_memory["query"])


@pytest.mark.usefixtures("client")
def test_a_column_that_is_missing_is_named(planned: Any, rows: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="it lacks 'run'"):
        planned(on_dask, on_partitions(rows.drop(columns="run"), 1))
