"""A plan that was made on a Dask cluster is the plan that the same runs give in memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.logs.planning import Settings

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.dataframe as dd
from distributed import Client, LocalCluster

from pt_active.logs import on_dask

pytestmark = pytest.mark.slow  # A cluster takes seconds to start, and a shuffle takes one.

SETTINGS = Settings("DCG@10", budget=150.0, seed=3, level="query")


@pytest.fixture(scope="module")
def client() -> Any:
    """A cluster of two processes, whose workers come again if they are killed."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def rows(demo: DemoCollection) -> pd.DataFrame:
    runs = [run[["qid", "docno", "score"]].assign(run=name) for name, run in demo.runs.items()]
    return pd.concat(runs).sample(frac=1.0, random_state=2).reset_index(drop=True)


@pytest.fixture(scope="module")
def in_memory(demo: DemoCollection, grades: OrderedLogitGrades) -> Plan:
    pool = Runs(**demo.runs, depth=15) >> grades
    return Plan.create(pool, demo.topics, "DCG@10", budget=150.0, level="query", seed=3)


def planned(rows: Any, demo: DemoCollection, grades: Any) -> Plan:
    return on_dask.plan(rows, grades, demo.topics, SETTINGS, names=list(demo.runs), depth=15)


def check_same(one: Plan, other: Plan) -> None:
    pd.testing.assert_frame_equal(one.sample, other.sample[one.sample.columns], check_dtype=False, rtol=1e-12)
    pd.testing.assert_frame_equal(one.assessments, other.assessments[one.assessments.columns], check_dtype=False)


@pytest.mark.parametrize("partitions", [1, 2, 5, 16, 60])
def test_any_partitioning_gives_the_plan_in_memory(
    client: Any, rows: pd.DataFrame, demo: DemoCollection, grades: OrderedLogitGrades, in_memory: Plan, partitions: int
) -> None:
    spread = dd.from_pandas(rows, npartitions=7).shuffle("qid", npartitions=partitions)
    check_same(planned(spread, demo, grades), in_memory)


@pytest.fixture(scope="module")
def documents_in_memory(demo: DemoCollection, grades: OrderedLogitGrades) -> Plan:
    return Plan.create(Runs(**demo.runs, depth=15) >> grades, demo.topics, "DCG@10", budget=60.0, seed=3)


@pytest.mark.parametrize("partitions", [1, 2, 5, 16, 60])
def test_any_partitioning_gives_the_documents_of_the_plan_in_memory(
    client: Any,
    rows: pd.DataFrame,
    demo: DemoCollection,
    grades: OrderedLogitGrades,
    documents_in_memory: Plan,
    partitions: int,
) -> None:
    spread = dd.from_pandas(rows, npartitions=7).shuffle("qid", npartitions=partitions)
    settings = Settings("DCG@10", budget=60.0, seed=3)
    made, whole = (
        on_dask.plan(spread, grades, demo.topics, settings, names=list(demo.runs), depth=15),
        documents_in_memory,
    )
    pd.testing.assert_frame_equal(made.assessments, whole.assessments[made.assessments.columns], check_dtype=False)
    qrels = demo.judge(whole.assessments)
    one, other = (plan.compare(qrels, reference="effective").difference for plan in (made, whole))
    assert one == pytest.approx(other, rel=1e-9)
    assert made.manifest["arguments"] == whole.manifest["arguments"]


def test_a_query_that_is_split_over_partitions_is_refused(
    client: Any, rows: pd.DataFrame, demo: DemoCollection, grades: OrderedLogitGrades
) -> None:
    rows = rows.sort_values(["qid", "run", "docno"], ignore_index=True)
    half = [rows[rows["qid"] != rows["qid"].iloc[-1]], rows[rows["qid"] == rows["qid"].iloc[-1]]]
    split = pd.concat([half[0], half[1].iloc[::2]]), half[1].iloc[1::2]
    frame = dd.from_delayed([_delayed(part) for part in split], meta=rows.iloc[:0])
    with pytest.raises(ValueError, match=f"query '{rows['qid'].iloc[-1]}' is split over partitions"):
        planned(frame, demo, grades)


def _delayed(part: pd.DataFrame) -> Any:
    import dask

    return dask.delayed(part)


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


def test_a_worker_that_is_killed_changes_nothing(
    client: Any, rows: pd.DataFrame, demo: DemoCollection, grades: Any, in_memory: Plan, tmp_path: Path
) -> None:
    spread = dd.from_pandas(rows, npartitions=3).shuffle("qid", npartitions=8)
    marker = tmp_path / "killed"
    made = planned(spread, demo, KillsItsWorker(grades, marker, os.getpid()))
    assert marker.exists()
    check_same(made, in_memory)


def test_rows_of_another_ranker_and_without_ids_are_refused(
    client: Any, rows: pd.DataFrame, demo: DemoCollection, grades: Any
) -> None:
    with pytest.raises(ValueError, match="there are rows of 'other', and the rankers are"):
        planned(dd.from_pandas(rows.replace({"run": {next(iter(demo.runs)): "other"}}), npartitions=1), demo, grades)
    with pytest.raises(ValueError, match="1 row has no qid"):
        planned(dd.from_pandas(rows.assign(qid=rows["qid"].where(rows.index > 0)), npartitions=1), demo, grades)


def test_a_column_that_is_missing_is_named(client: Any, rows: pd.DataFrame, demo: DemoCollection, grades: Any) -> None:
    with pytest.raises(ValueError, match="it lacks 'run'"):
        planned(dd.from_pandas(rows.drop(columns="run"), npartitions=2), demo, grades)
