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
        self.rows, self.change = rankings(), change

    def each(self, function: Callable[..., Any], question: Any, what: str) -> Iterator[Any]:
        for _, part in self.rows.groupby("qid"):
            yield function(part, question)

    def documents(self, qids: Sequence[str]) -> pd.DataFrame:
        return self.change(self.rows[self.rows["qid"].isin(qids)])


def planned(engine: OneByOne, level: str) -> Plan:
    settings = Settings("RBP(p=0.8)", budget=20.0, level=level)
    return plan_by(engine, settings.question(("a", "b"), ColdGrades(1), None, False), settings, None)


@pytest.mark.parametrize("level", ["query", "document"])
def test_the_longest_ranking_may_come_last(level: str) -> None:
    runs = dict(iter(rankings().groupby("run")))
    pool = (Runs(**runs) >> ColdGrades(1))(pd.DataFrame({"qid": sorted(set(rankings()["qid"]))}))
    whole = Plan.create(pool, None, "RBP(p=0.8)", budget=20.0, level=level).assessments
    found = planned(OneByOne(), level).assessments
    pd.testing.assert_frame_equal(found, whole[found.columns], check_dtype=False, rtol=1e-9)


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
