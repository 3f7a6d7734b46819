"""Which documents are judged, and in which order judges see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pandas as pd

from pt_active.frames.checks import data_frame
from pt_active.frames.clocks import clocks
from pt_active.frames.columns import with_string_ids
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.queries import place_of
from pt_active.plans.making.sampled import wanted_documents
from pt_active.plans.plan import Plan

BLOCK = 50  # Documents of a block, unless another number is given
DOUBLE = 0.1  # The share of documents that two people judge, unless another share is given
_ABOUT_QUERIES = ("query", "description", "narrative")  # Columns of a plan's queries that judges read
_ORDER_STAGE, _DOUBLE_STAGE = 1_000_001, 1_000_002
"""Stages of `clocks`, which no round of a plan reaches: the order within a query, and who is judged twice."""


@dataclass(frozen=True)
class Document:
    """A document as judges see it: what is known of its query, its text, and by how many people it is judged."""

    qid: str
    docno: str
    about: dict[str, str]
    text: str
    judges: int = 1


@dataclass(frozen=True)
class JudgingOrder:
    """The documents of a plan in the order in which they are shown."""

    documents: list[Document]  # block by block; in a block those of a query are next to each other
    blocks: list[list[list[int]]]  # the places of documents by block and query; who is drawn earlier comes no later
    double: float = 0.0  # the share of documents that two people judge

    @cached_property
    def place(self) -> dict[tuple[str, str], int]:
        """(qid, docno) → the place of a document."""
        return {(each.qid, each.docno): at for at, each in enumerate(self.documents)}

    @classmethod
    def of(
        cls, plan: Plan, texts: pd.DataFrame | None = None, *, block: int = BLOCK, double: float = DOUBLE
    ) -> JudgingOrder:
        """The documents that a plan and its extensions ask for.

        Blocks follow the order in which the plan drew. In a block, the order of documents of a query is that of a hash
        of their ids, so it says nothing about any ranking. Another hash chooses those that two people judge
        (`judges_of`).

        Args:
            plan: The plan.
            texts: ``docno, text``; what the plan has is used where they have none.
            block: Documents of a block, at least; in a plan of queries a block ends with a query.
            double: The share of documents that two people judge.
        """
        table, origin = _asked_for(plan.tables), plan.tables.manifest.origin
        shuffled = clocks(_seed_of(origin), table["qid"], table["docno"], stage=_ORDER_STAGE)
        table = table.assign(shuffled=shuffled, judges=judges_of(origin, table, double), block=_blocks(table, block))
        table["first"] = table.groupby(["block", "qid"])["drawn"].transform("min")
        table = table.sort_values(["block", "first", "qid", "shuffled"], kind="stable", ignore_index=True)
        text, about = _texts_of(plan, texts), _about_queries(plan.tables.queries)
        keys = zip(table["qid"], table["docno"], table["judges"].tolist(), strict=True)
        documents = [Document(qid, docno, about.get(qid, {}), text.get(docno, ""), many) for qid, docno, many in keys]
        places = table.index.to_series().groupby([table["block"], table["first"], table["qid"]]).agg(list)
        return cls(documents, [block.tolist() for _, block in places.groupby("block")], double)


def judges_of(plan: str, documents: pd.DataFrame, double: float) -> np.ndarray:
    """int64[N], by how many people each document of a plan is judged; a hash of its ids chooses those for two."""
    share = min(double, np.nextafter(1, 0))
    chosen = clocks(_seed_of(plan), documents["qid"], documents["docno"], stage=_DOUBLE_STAGE) < -np.log1p(-share)
    return np.where(chosen, 2, 1)


def _seed_of(plan: str) -> int:
    """A seed that differs between the ids of plans."""
    return int.from_bytes(blake2b(plan.encode(), digest_size=7).digest(), "big")


def _asked_for(tables: PlanTables) -> pd.DataFrame:
    """``qid, docno, unit, drawn``: what was drawn, in that order; a ``unit`` is of no use in part."""
    place = place_of(tables)
    table = tables.pool.keys[["qid", "docno"]].assign(place=place)
    table = with_string_ids(table[wanted_documents(tables) & np.isfinite(place)])
    table = table.sort_values(["place", "qid", "docno"], kind="stable", ignore_index=True)
    unit = table.groupby(["place", "qid"], sort=False).ngroup()
    return table.assign(unit=unit, drawn=table.index)


def _blocks(table: pd.DataFrame, size: int) -> np.ndarray:
    """int64[N], the block of each document: it ends when it has enough, whole units."""
    units = table.groupby("unit", sort=False).size().to_numpy()
    block, inside, blocks = 0, 0, []
    for documents in units:
        if inside >= size:
            block, inside = block + 1, 0
        inside += documents
        blocks.append(block)
    return np.repeat(blocks, units)


def _texts_of(plan: Plan, texts: pd.DataFrame | None) -> dict[str, str]:
    frames = [plan.tables.assessments, *([] if texts is None else [data_frame("texts", texts, "docno", "text")])]
    known = [frame.dropna(subset="text") for frame in frames if "text" in frame.columns]
    return {str(docno): str(text) for frame in known for docno, text in zip(frame["docno"], frame["text"], strict=True)}


def _about_queries(queries: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Qid → what judges read of the query."""
    rows = queries.to_dict("records")
    known = [{name: str(row[name]) for name in _ABOUT_QUERIES if pd.notna(row.get(name)) and row[name]} for row in rows]
    return dict(zip(queries["qid"].map(str), known, strict=True))
