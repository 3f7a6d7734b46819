"""A plan that was made on Spark is the plan that the same runs give in memory. Needs PySpark and Java."""

from __future__ import annotations

import shutil
from typing import Any

import pandas as pd
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.logs import on_spark
from pt_active.logs.planning import Settings

pytestmark = [
    pytest.mark.slow,  # Spark takes half a minute to start.
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java"),
]

SETTINGS = Settings("DCG@10", budget=150.0, seed=3, level="query")


@pytest.fixture(scope="module")
def spark() -> Any:
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows(demo: DemoCollection) -> pd.DataFrame:
    runs = [run[["qid", "docno", "score"]].assign(run=name) for name, run in demo.runs.items()]
    return pd.concat(runs).sample(frac=1.0, random_state=2).reset_index(drop=True)


def planned(rows: Any, demo: DemoCollection, grades: Any) -> Plan:
    return on_spark.plan(rows, grades, demo.topics, SETTINGS, names=list(demo.runs), depth=15)


def test_any_partitioning_gives_the_plan_in_memory(
    spark: Any, rows: pd.DataFrame, demo: DemoCollection, grades: OrderedLogitGrades
) -> None:
    pool = Runs(**demo.runs, depth=15) >> grades
    whole = Plan.create(pool, demo.topics, "DCG@10", budget=150.0, level="query", seed=3)
    frame = spark.createDataFrame(list(rows.itertuples(index=False, name=None)), schema=list(rows.columns))
    for partitions in (1, 2, 5, 16, 60):
        made = planned(frame.repartition(partitions, "qid"), demo, grades)
        pd.testing.assert_frame_equal(made.sample, whole.sample[made.sample.columns], check_dtype=False, rtol=1e-12)
        pd.testing.assert_frame_equal(made.assessments, whole.assessments[made.assessments.columns], check_dtype=False)


def test_a_query_that_is_split_over_partitions_is_refused(
    spark: Any, rows: pd.DataFrame, demo: DemoCollection, grades: OrderedLogitGrades
) -> None:
    halves = pd.concat([rows.assign(half=rows.groupby(["qid", "run"]).cumcount() % 2)])
    frame = spark.createDataFrame(list(halves.itertuples(index=False, name=None)), schema=list(halves.columns))
    with pytest.raises(ValueError, match="is split over partitions"):
        planned(frame.repartitionByRange(2, "half"), demo, grades)
