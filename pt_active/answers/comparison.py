"""Answers of systems as a pool that plans sample: which system answers better, and is an answer drawn or an item?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.answers.history import History
from pt_active.answers.scales import ScoreScale
from pt_active.answers.table import SCORE, Source, answer_table, as_text, judge_columns
from pt_active.frames.checks import data_frame, shown
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import ColumnCost
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades.fitting import assumed_confusion
from pt_active.relevance.grades.models import UniformGrades

UNITS = ("answer", "item")

ALIKE, APART = 0.02, 0.2
"""How probable each further score is beside the next nearer one to a judge's: where the judge gives all answers to an
item the same, and where they differ by the whole scale. Who misjudges an item errs with all of its answers alike, so
that their difference is surer than their scores. A judge that errs more than so costs little, since the regression
shrinks what it says, but it does not stretch it (``examples/reproduce/answers.py``)."""

ITEMS_BY_SCORES: Mapping[str, Any] = {"design": "optimal", "defensive": 0.2}
"""The design of items if there are judges' scores: most of q is for those whose answers seem to differ, and a fifth for
all alike, so that a judge that says nothing costs little (``examples/reproduce/answers.py``)."""


class Answers:
    """The answers of systems to the same items [theory 18].

    An item is a query of the plan, an answer a document and a system a ranker, and plans, results and reports call them
    so. The value of a system is the mean score of its answers.
    Where systems gave an item the same text, it is judged once for all of them.

    Args:
        source: A table, or its file: CSV, JSON lines, Parquet or one of `formats.FORMATS`. Long: a row for each
            answer, with ``item, system`` and, as far as known, ``answer, question, reference, cluster, cost, run``, the
            ``weight`` of the item, and judges' scores, ``score`` or ``score_NAME``. Wide: a row for each item, with
            ``answer_NAME`` or ``score_NAME`` of each system. Or by the name of the system, such as PyTerrier's answer
            frames (``qid, query, qanswer``). Without an ``item``, the question is the item. Several answers of a system
            to an item are ``run``s: repeats, and no new items.
        scale: The scores that people give: ``0-1``, ``1-5`` or ``0-1:0.25`` (points in steps).
        history: People's scores of other systems' answers, as a table or its file: ``item, system, label`` and, as far
            as known, what the same judges say, ``score`` or ``score_NAME``; or a row for each item, with ``label_NAME``
            and ``score_NAME`` of each past system. It may have gaps and other items.

    Attributes:
        table: ``item, system, run, docno`` and what else is known, a row for each answer.
        scale: The scale.
        systems: The names of the systems.
        runs: How many answers each system gave to an item.
        history: What is known of past answers, if any.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a table is malformed, an answer is missing, a score is not on the scale, or a history has neither
            an item nor a judge of the answers.

    Warns:
        UserWarning: If the history has labels of a system that is compared, which are left out, or shares no item or no
            judge with the answers.
    """

    def __init__(self, source: Source, scale: str = "0-1", history: pd.DataFrame | str | Path | None = None) -> None:
        self.scale = ScoreScale.parsed(scale)
        self.table = answer_table(source)
        self.systems = tuple(dict.fromkeys(self.table["system"]))
        self.runs = int(self.table["run"].groupby([self.table["item"], self.table["system"]]).size().max())
        for name in self.judges:
            self._check(name)
        self.history = None if history is None else History.of(history, self.scale, self.table)

    @property
    def judges(self) -> list[str]:
        """The columns of judges' scores."""
        return judge_columns(self.table)

    @property
    def measure(self) -> str:
        """The measure whose value is the mean score, for plans and estimates."""
        return self.scale.measure(self.runs)

    @cached_property
    def pool(self) -> pd.DataFrame:
        """The answers as a graded pool: ``qid, query, docno, text, rank_NAME …, grade_0 …``."""
        frame = self._ranked()
        columns = [str(name) for name in frame.columns if str(name).startswith("judge ")]
        said = [self._grades(frame["qid"], frame[name]) for name in columns if frame[name].notna().any()]
        if self.history is not None:
            said = [self._by_history(self.history, frame, said)]
        if not said:
            return UniformGrades(self.scale.max_grade).transform(frame.drop(columns=columns))
        grades = pd.DataFrame(rounded_grades(np.mean(said, axis=0)), index=frame.index).add_prefix("grade_")
        return frame.drop(columns=columns).join(grades)

    def plan(self, budget: float, unit: str | None = None, seed: int = 0, **how: Any) -> Plan:
        """Choose the answers to judge.

        Args:
            budget: How many answers people can judge at most, or what they may cost if there is a column ``cost``.
            unit: What is drawn: ``"answer"``, or ``"item"`` with all its answers. If left out, items, since the answers
                to one share its difficulty, which cancels in their difference; but answers of a single system, those
                with several runs, which repeat each other, and those that a history tells enough of.
            seed: The seed of all random draws.
            **how: Further arguments of `Plan.create`.

        Returns:
            The plan, whose `status`, `compare`, `gate` and `report` take the labels.

        Raises:
            ValueError: If an argument is out of range.
        """
        priced = {"cost": ColumnCost()} if "cost" in self.table.columns else {}
        how = {**priced, **self.drawn(unit), **how}
        return Plan.create(self.pool, None, self.measure, budget=budget, seed=seed, **how)

    def drawn(self, unit: str | None = None) -> dict[str, Any]:
        """How a unit is drawn, or the one of choice: arguments of `Plan.create`."""
        single = self.runs > 1 or len(self.systems) == 1
        by_bets, once = self._trusted
        chosen = unit or ("answer" if single or by_bets is None else "item")
        if chosen not in UNITS:
            raise ValueError(f"a unit is an answer or an item, got {shown(unit)}")
        if chosen == "item":
            known = self.history is not None or self.table[self.judges].notna().to_numpy().any()
            how = once if by_bets is None or unit else by_bets
            return {"level": "query", **(how if known else {})}
        # Those of a single system would be drawn at once, and could only be looked at when all are judged.
        return {"level": "document", **({"design": "successive"} if len(self.systems) == 1 else {})}

    def labels(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Turn people's scores into labels.

        Args:
            scores: ``item, system, score`` (and ``run`` if there are several); rows without a score are left out.

        Returns:
            ``qid, docno, label``.

        Raises:
            ValueError: If a score is not on the scale or no answer is meant, or an answer has two scores.
        """
        keys = ["item", "system", *(["run"] if self.runs > 1 else [])]
        given = data_frame("scores", scores, *keys, SCORE).dropna(subset=SCORE)
        given = given.assign(**{name: given[name].map(as_text) for name in keys})
        found = given.merge(self.table[[*keys, "docno"]], how="left", on=keys)
        if (lost := found["docno"].isna()).any():
            row = found[lost].iloc[0]
            raise ValueError(f"there is no answer of {', '.join(f'{name} {shown(row[name])}' for name in keys)}")
        label = self.scale.labels(found[SCORE])
        labels = pd.DataFrame({"qid": found["item"], "docno": found["docno"], "label": label})
        labels = labels.drop_duplicates(ignore_index=True)
        if (twice := labels.duplicated(["qid", "docno"])).any():
            raise ValueError(f"item {shown(labels['qid'][twice].iloc[0])}: the same answer has different scores")
        return labels

    @cached_property
    def _trusted(self) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
        """As `History.trusted`, or the design of items by judges' scores."""
        found = None if self.history is None else self.history.trusted()
        return found or (ITEMS_BY_SCORES, ITEMS_BY_SCORES)

    def _by_history(self, history: History, frame: pd.DataFrame, said: list[np.ndarray]) -> np.ndarray:
        """float64[N, G+1], what the history lets expect; times what judges say, if it does not have what they said."""
        names = {f"judge {name}": name for name in history.judges}
        grades = np.zeros((len(frame), self.scale.max_grade + 1))
        grades[:, self.scale.first :] = history.grades(frame.rename(columns={"qid": "item", **names}))
        if said and not names:
            grades *= np.mean(said, axis=0)
        return grades / grades.sum(axis=1, keepdims=True)

    def _check(self, judge: str) -> None:
        low, high = self.scale.low, self.scale.high
        outside = self.table[(self.table[judge] < low - 1e-9) | (self.table[judge] > high + 1e-9)]
        if len(outside):
            item, system, score = outside[["item", "system", judge]].iloc[0]
            raise ValueError(
                f"item {shown(item)}, system {shown(system)}: {judge} is {score:g}, outside {low:g} to {high:g}; "
                "judges and people score on one scale, pass scale="
            )

    def _ranked(self) -> pd.DataFrame:
        """A row for each answer, with the ranks of the systems that gave it."""
        table = self.table.rename(columns={"item": "qid"})
        table["place"] = table.groupby(["qid", "system"]).cumcount()
        ranks = table.pivot(index=["qid", "docno"], columns="system", values="place").fillna(-1).astype(np.int64)
        frame = self._described().drop_duplicates(["qid", "docno"], ignore_index=True)
        return frame.join(ranks[list(self.systems)].add_prefix("rank_"), on=["qid", "docno"])

    def _described(self) -> pd.DataFrame:
        """``qid, docno`` of each answer with what judges read, clusters, costs and judges' scores."""
        table = self.table
        frame = pd.DataFrame({"qid": table["item"], "docno": table["docno"]})
        question = table["question"] if "question" in table.columns else table["item"]
        if "reference" in table.columns:
            told = "\n\nReference answer: " + table["reference"].astype(str)
            question = question.astype(str) + told.where(table["reference"].notna(), "")
        frame["query"] = question
        for name, column in (("cluster", "qcluster"), ("answer", "text"), ("weight", "traffic")):
            if name in table.columns:
                frame[column] = table[name]
        # Systems that share an answer may have different costs and scores of it.
        answer = [frame["qid"], frame["docno"]]
        if "cost" in table.columns:
            frame["doc_cost"] = table["cost"].groupby(answer).transform("mean")
        for name in self.judges:
            frame[f"judge {name}"] = table[name].groupby(answer).transform("mean")
        return frame

    def _grades(self, item: pd.Series, score: pd.Series) -> np.ndarray:
        """float64[N, G+1], what a judge's scores let expect, softened since no person has checked them.

        The nearer an answer's score to the mean of the others to its item, the less. An answer without a score has the
        mean of the others.
        """
        known, first, top = score.notna().to_numpy(), self.scale.first, self.scale.max_grade
        own, by_item = score[known].astype(float), score[known].astype(float).groupby(item[known])
        others = by_item.transform("size") - 1
        mean = (by_item.transform("sum") - own) / others.where(others > 0)
        alike = (1 - (own - mean).abs() / (self.scale.high - self.scale.low)).fillna(0.0).to_numpy()[:, None]
        shares = self.scale.shares(own)[:, first:]
        sure, vague = (shares @ assumed_confusion(top - first, top - first, near) for near in (ALIKE, APART))
        expected = alike * sure + (1 - alike) * vague
        grades = np.zeros((len(score), top + 1))
        grades[known, first:], grades[~known, first:] = expected, expected.mean(axis=0)
        return grades
