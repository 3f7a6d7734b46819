"""How do Dask and Spark read a log from their frames, and what has every log in common?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import some

DIGITS = 15  # Hexadecimal digits of a hash that make the place of a query: as many as fit into int64
WRONG = -1.0  # What stands for the traffic of a query whose rows do not have one number from 0 on


def places(qids: Iterable[str], seed: int) -> np.ndarray:
    """int64[n], by which the queries of a log are ordered; DuckDB and Spark compute the same."""
    return np.array([place_of(seed, qid) for qid in qids], dtype=np.int64)


def place_of(seed: int, qid: str) -> int:
    """The place of one query."""
    return int(hashlib.md5(f"{seed}:{qid}".encode(), usedforsecurity=False).hexdigest()[:DIGITS], 16)


def check_columns(what: str, columns: Iterable[object], wanted: Sequence[str]) -> None:
    """Raise if a frame or a file lacks columns."""
    if absent := [name for name in wanted if name not in set(columns)]:
        raise ValueError(f"{what} needs the columns {', '.join(wanted)}; it lacks {some(absent)}")


def check_ids(what: str, kind: str) -> None:
    """Raise if qids have a type whose texts depend on who writes them."""
    if kind.lower().startswith(("double", "float", "decimal")):
        raise ValueError(f"{what}: qids must be texts or whole numbers, and the column has the type {kind}")


class FrameLog:
    """A log in a frame with the columns ``run, qid, docno, score``, and the weight if it is one of them."""

    names = None  # The rows name the rankers.

    def __init__(self, frame: Any, weight: str | None, seed: int) -> None:
        columns = ["run", "qid", "docno", "score", *([] if weight is None else [weight])]
        check_columns("the frame", frame.columns, columns)
        check_ids("the frame", str(dict(frame.dtypes)["qid"]))
        self.frame, self.weight, self.seed = frame, weight, seed


class DaskLog(FrameLog):
    """A frame of Dask."""

    def queries(self) -> tuple[np.ndarray, np.ndarray]:
        """The place, int64[N], and the traffic, float64[N], of each query, in any order."""
        traffic = self.frame["qid"].notnull().astype("float64")
        if self.weight is not None:
            traffic = self.frame[self.weight].astype("float64")
            traffic = traffic.where((traffic >= 0) & (traffic < np.inf), WRONG)
        rows = self.frame[["qid"]].assign(w=traffic)
        found = rows.groupby("qid", dropna=False)["w"].agg(["min", "max"], split_out=self.frame.npartitions)
        found = found.reset_index().compute()
        if found["qid"].isna().any():
            raise ValueError("a row of the log has no qid")
        low, high = found["min"].to_numpy(), found["max"].to_numpy()
        return places(found["qid"].astype(str), self.seed), np.where(low == high, low, WRONG)

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, None]:
        """``run, qid, docno, score`` of the queries at some places, int64[n]."""
        frame, seed = self.frame[["run", "qid", "docno", "score"]], self.seed

        def among(part: pd.DataFrame) -> pd.DataFrame:
            code, qids = pd.factorize(part["qid"].astype(str))
            return part[np.isin(places(qids, seed), drawn)[code]]

        rows = frame.map_partitions(among, meta=frame._meta).compute()
        return rows.astype({"qid": str, "docno": str, "score": "float64"}).reset_index(drop=True), None


class SparkLog(FrameLog):
    """A frame of Spark."""

    def __init__(self, frame: Any, weight: str | None, seed: int) -> None:
        from pyspark.sql import functions

        super().__init__(frame, weight, seed)
        text = functions.concat(functions.lit(f"{seed}:"), functions.col("qid").cast("string"))
        digits = functions.substring(functions.md5(text), 1, DIGITS)
        self.place = functions.conv(digits, 16, 10).cast("long").alias("place")

    def queries(self) -> tuple[np.ndarray, np.ndarray]:
        """The place, int64[N], and the traffic, float64[N], of each query, in any order."""
        from pyspark.sql import functions

        traffic = functions.lit(1.0)
        if self.weight is not None:
            given = functions.col(self.weight).cast("double")
            right = (given >= 0) & (given < float("inf"))
            traffic = functions.when(right, given).otherwise(functions.lit(WRONG))
        low, high = functions.min("w"), functions.max("w")
        same = functions.when(low == high, low).otherwise(WRONG)
        by_query = self.frame.select("qid", traffic.alias("w")).groupBy("qid").agg(same.alias("traffic"))
        found = by_query.select(self.place, "traffic").toPandas()
        if found["place"].isna().any():
            raise ValueError("a row of the log has no qid")
        return found["place"].to_numpy(np.int64), found["traffic"].to_numpy()

    def rows(self, drawn: np.ndarray) -> tuple[pd.DataFrame, None]:
        """``run, qid, docno, score`` of the queries at some places, int64[n]."""
        from pyspark.sql import functions

        texts = [functions.col(name).cast("string").alias(name) for name in ("run", "qid", "docno")]
        rows = self.frame.select(*texts, functions.col("score").cast("double").alias("score"))
        wanted = self.frame.sparkSession.createDataFrame([(int(each),) for each in drawn], "place long")
        rows = rows.select("*", self.place).join(functions.broadcast(wanted), "place", "left_semi")
        return rows.drop("place").toPandas(), None
