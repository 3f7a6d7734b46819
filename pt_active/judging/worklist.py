"""What does a judging tool get to show, and which grade does a word or a number in it stand for?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from pt_active.frames.checks import shown, some
from pt_active.frames.columns import check_pairs, with_string_ids
from pt_active.frames.qrels import HIGHEST_LABEL, SPAM, UNJUDGED
from pt_active.frames.records import JUDGED, SKIPPED, UNJUDGEABLE

_NOT_GRADES = {"skip": SKIPPED, SKIPPED: SKIPPED, UNJUDGEABLE: UNJUDGEABLE}
"""Label → the status that it stands for, where a tool has no button of its own for it."""

_NUMBER = re.compile(r"([+-]?\d{1,15})(?:\.0*)?")  # A whole number, also as spreadsheets write it


@dataclass(frozen=True)
class GradeNames:
    """Words that stand for grades in a judging tool."""

    grades: Mapping[str, int] = field(default_factory=dict)  # word, in any case → grade; empty if grades are numbers

    @classmethod
    def parsed(cls, text: str | None) -> GradeNames:
        """The names in a text such as ``bad,fair,good``, from grade 0 on, or ``bad=0,good=2``."""
        grades: dict[str, int] = {}
        for place, part in enumerate([] if text is None else text.split(",")):
            name, equals, number = (piece.strip() for piece in part.partition("="))
            grade = number if equals else str(place)
            taken = name.casefold() in (*map(str.casefold, grades), *_NOT_GRADES)
            sound = re.fullmatch("[0-9]{1,9}", grade) and int(grade) <= HIGHEST_LABEL
            if not name or taken or not sound or _NUMBER.fullmatch(name):
                wanted = f"different words, such as bad,fair,good or bad=0,good=2, of grades to {HIGHEST_LABEL}"
                raise ValueError(f"grade_names must be {wanted}; got {shown(part)}")
            grades[name] = int(grade)
        return cls(grades)

    def of(self, grade: int) -> str:
        """The first name of a grade; its number if it has none."""
        return next((name for name, number in self.grades.items() if number == grade), str(grade))

    def listed(self, max_grade: int, least: int = 0) -> list[tuple[int, str]]:
        """Each grade from the least one with its first name, which is empty if it has none."""
        names = ((grade, self.of(grade)) for grade in range(least, max_grade + 1))
        return [(grade, "" if name == str(grade) else name) for grade, name in names]

    def judgment(self, label: object) -> tuple[int | None, str]:
        """The grade and the status that a label stands for."""
        text = "" if label is None else str(label).strip()
        known = {name.casefold(): grade for name, grade in self.grades.items()}
        match = None if isinstance(label, bool) else _NUMBER.fullmatch(text)
        grade = int(match[1]) if match else known.get(text.casefold())
        if not text or grade == UNJUDGED:
            return None, ""
        if status := _NOT_GRADES.get(text.casefold()):
            return None, status
        if grade is not None and SPAM <= grade <= HIGHEST_LABEL:
            return max(grade, 0), JUDGED
        also = f", or one of {some(self.grades)}" if self.grades else ""
        hint = "" if self.grades or match else "; words for grades need grade_names="
        raise ValueError(f"expected a label that is a whole grade from 0{also}; got {shown(label)}{hint}")


class Item(NamedTuple):
    """A document that is to be judged; ``query`` and ``text`` are empty if they are not known."""

    qid: str
    docno: str
    query: str
    text: str


@dataclass(frozen=True)
class Worklist:
    """Documents to be judged, with what a tool must know of the grades."""

    documents: pd.DataFrame  # ``qid, docno`` (+ ``query``, ``text``), each pair once, in the order of judging
    max_grade: int
    plan: str = ""
    names: GradeNames = field(default_factory=GradeNames)  # the words for grades

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
