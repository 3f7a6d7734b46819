"""A plan from partitions of any engine: queries of any length, one at a time, and files that change meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pt_active import Plan, Runs
from pt_active.logs.planning import Settings, plan_by
from pt_active.relevance.grades.models import ColdGrades

# Small samples have cautions.
pytestmark = pytest.mark.filterwarnings("ignore")

QUERIES = 12


def rankings() -> pd.DataFrame:
    """Two rankers; later queries have more documents."""
    rng = np.random.default_rng(0)
    rows = [
        (run, f"q{x:02d}", f"d{z}", score)
        for run in ("a", "b")
        for x in range(QUERIES)
        for z, score in enumerate(rng.permutation(x + 2).astype(float))
    ]
    return pd.DataFrame(rows, columns=["run", "qid", "docno", "score"])


class OneByOne:
    """An engine whose partitions are single queries; between its passes the rows may change."""

    def __init__(self, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows) -> None:
        self.rows, self.change, self.by = rankings(), change, ["qid"]

    def each(self, function: Callable[..., Any], question: Any, what: str) -> Iterator[Any]:
        for _, part in self.rows.groupby(self.by, dropna=False):
            yield function(part, question)

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        return self.change(self.rows[self.rows["qid"].isin(qids)])


def planned(engine: OneByOne, level: str | None, topics: pd.DataFrame | None = None) -> Plan:
    settings = Settings("RBP(p=0.8)", budget=20.0, level=level)
    return plan_by(engine, settings.question(("a", "b"), ColdGrades(1), None, False), settings, topics)


def in_memory(level: str | None, topics: pd.DataFrame | None = None) -> Plan:
    runs = dict(iter(rankings().groupby("run")))
    pool = (Runs(**runs) >> ColdGrades(1))(pd.DataFrame({"qid": sorted(set(rankings()["qid"]))}))
    return Plan.create(pool, topics, "RBP(p=0.8)", budget=20.0, level=level)


@pytest.mark.parametrize("level", ["query", "document"])
def test_the_longest_ranking_may_come_last(level: str) -> None:
    found, whole = planned(OneByOne(), level).assessments, in_memory(level).assessments
    pd.testing.assert_frame_equal(found, whole[found.columns], check_dtype=False, rtol=1e-9)


def test_the_level_is_chosen_by_the_queries_in_the_topics() -> None:
    topics = pd.DataFrame({"qid": [f"q{x:02d}" for x in range(0, QUERIES, 2)], "traffic": np.arange(6) + 1.0})
    found, whole = (plan.manifest["choice"] for plan in (planned(OneByOne(), None, topics), in_memory(None, topics)))
    for name, value in whole.items():
        assert found[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value)
    assert found != planned(OneByOne(), None).manifest["choice"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(run="other"), "there are rows of 'other', and the rankers are 'a', 'b'"),
        (lambda rows: rows[(rows["run"] == "a") | (rows["qid"] > "q00")], "run 'b' has no documents for 1 query"),
        (lambda rows: rows.assign(qid=rows["qid"].where(rows["qid"] > "q00")), "2 rows have no qid"),
        (lambda rows: rows.iloc[:0], "the pool is empty"),
    ],
)
def test_rows_that_say_nothing_of_a_ranker_or_a_query_are_refused(change: Any, message: str) -> None:
    engine = OneByOne()
    engine.rows = change(engine.rows)
    with pytest.raises(ValueError, match=message):
        planned(engine, "query")


@pytest.mark.parametrize("level", ["query", "document", None])
def test_topics_that_no_run_answers_are_refused(level: str | None) -> None:
    with pytest.raises(ValueError, match="the runs answer none of the topics; do the qids match"):
        planned(OneByOne(), level, pd.DataFrame({"qid": ["other"]}))


@pytest.mark.parametrize("level", ["query", "document", None])
def test_a_query_that_is_split_over_partitions_is_refused(level: str | None) -> None:
    engine = OneByOne()
    second = (engine.rows["qid"] == "q05") & (engine.rows.groupby(["qid", "run"]).cumcount() % 2 > 0)
    engine.rows, engine.by = engine.rows.assign(part=second), ["qid", "part"]
    with pytest.raises(ValueError, match="query 'q05' is split over partitions, as 1 query is in all"):
        planned(engine, level)


@pytest.mark.parametrize(
    ("level", "change", "said"),
    [
        ("query", lambda rows: rows[rows["qid"] != rows["qid"].max()], "other queries than the first"),
        ("document", lambda rows: rows[rows["qid"] != rows["qid"].max()], "other queries than the first"),
        ("document", lambda rows: rows.assign(score=-rows["score"]), "other documents than the first"),
    ],
)
def test_files_that_change_between_the_passes_are_refused(
    level: str, change: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    with pytest.raises(ValueError, match=f"the second pass over the runs found {said}; did the files change"):
        planned(OneByOne(change), level)
