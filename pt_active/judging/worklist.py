"""What does a judging tool get to show?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.judging.grade_names import SKIP_LABEL, UNJUDGEABLE_LABEL, GradeNames


class Item(NamedTuple):
    """A document that is to be judged; ``query`` and ``text`` are empty if they are not known."""

    qid: str
    docno: str
    query: str
    text: str


@dataclass(frozen=True)
class Worklist:
    """Documents to be judged, with what a tool must know of the grades.

    Attributes:
        documents: ``qid, docno`` (+ ``query``, ``text``), each pair once, in the order in which they are judged.

    Raises:
        ValueError: If there is no document, or one occurs twice.
    """

    documents: pd.DataFrame
    max_grade: int
    plan: str = ""
    names: GradeNames = field(default_factory=GradeNames)  # the words for grades
    annotator: str = ""  # who judges, for tables; empty if that is open

    def __post_init__(self) -> None:
        if self.documents.empty:
            raise ValueError("there is nothing to judge")
        checked = with_string_ids(self.documents)
        check_pairs(checked, "worklist")
        object.__setattr__(self, "documents", checked)

    @property
    def has_texts(self) -> bool:
        """Whether there is a text to read for any document."""
        return "text" in self.documents.columns and bool(self.documents["text"].notna().any())

    def __iter__(self) -> Iterator[Item]:
        columns = self.documents.reindex(columns=list(Item._fields)).astype(object)
        for row in columns.where(columns.notna(), "").itertuples(index=False, name=None):
            yield Item(*map(str, row))

    @property
    def grades(self) -> range:
        """All grades, from 0."""
        return range(self.max_grade + 1)

    @property
    def labels(self) -> list[str]:
        """The labels of a tool that has no button to skip: the grades by number, and two that give no grade."""
        return [*map(str, self.grades), SKIP_LABEL, UNJUDGEABLE_LABEL]
