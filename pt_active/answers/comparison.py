"""Answers of systems as a pool that plans sample: which system answers better, and is an answer drawn or an item?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pt_active.answers.scales import ScoreScale
from pt_active.answers.table import SCORE, Source, answer_table, judge_columns
from pt_active.frames.checks import data_frame, how_many, shown
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import ColumnCost
from pt_active.relevance.grades.judges import JudgeGrades
from pt_active.relevance.grades.models import UniformGrades

FIRST, SECOND = "First answer", "Second answer"
"""How judges see the two answers that they compare."""

LEVELS: Mapping[str, str] = {"answer": "document", "item": "query"}
"""Unit → level of the plan."""

_SHARED = 0.33
"""The difference, over the length of the scale and the correlation of the scores, up to which items are drawn;
fitted to pairs of the data set of `examples/reproduce/answers.py`, which measures it."""


class Answers:
    """The answers of systems to the same items [theory 18].

    An item is a query of the plan, and an answer a document; the value of a system is the mean score of its answers.
    Where systems gave an item the same text, it is judged once for all of them.

    Args:
        source: A table, or its file: CSV, JSON lines, Parquet or one of `formats.FORMATS`. Long: a row for each
            answer, with ``item, system`` and, as far as known, ``answer, question, reference, cluster, cost, run``, the
            ``weight`` of the item, and judges' scores, ``score`` or ``score_NAME``. Wide: a row for each item, with
            ``answer_NAME`` or ``score_NAME`` of each system. Or by the name of the system, such as PyTerrier's answer
            frames (``qid, query, qanswer``). Several answers of a system to an item are ``run``s: repeats, and no new
            items.
        scale: The scores that people give: ``0-1``, ``1-5``, ``0-1:0.25`` (points in steps), or ``preference``, where
            they say which of two answers is better.

    Attributes:
        table: ``item, system, run, docno`` and what else is known, a row for each answer.
        scale: The scale.
        systems: The names of the systems.
        runs: How many answers each system gave to an item.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the table is malformed, an answer is missing, or a score is not on the scale.
    """

    def __init__(self, source: Source, scale: str = "0-1") -> None:
        self.scale = ScoreScale.parsed(scale)
        self.table = answer_table(source)
        self.systems = tuple(dict.fromkeys(self.table["system"]))
        self.runs = int(self.table["run"].groupby([self.table["item"], self.table["system"]]).size().max())
        if self.scale.prefers and (len(self.systems) != 2 or self.runs > 1):
            raise ValueError(f"a preference is between two systems with one answer each, not {len(self.systems)}")

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
        frame = self._pairs() if self.scale.prefers else self._single()
        graded = self._model(frame).transform(frame)
        return graded.drop(columns=[name for name in graded.columns if name.startswith("judge ")])

    def plan(self, budget: float, unit: str | None = None, seed: int = 0, **how: Any) -> Plan:
        """Choose the answers to judge.

        Args:
            budget: How many answers people can judge at most, or what they may cost if there is a column ``cost``.
            unit: What is drawn: ``"answer"``, or ``"item"`` with all its answers. If left out, what judges' scores let
                expect to need fewer labels (`unit_of_choice`).
            seed: The seed of all random draws.
            **how: Further arguments of `Plan.create`.

        Returns:
            The plan, whose `status`, `compare`, `gate` and `report` take the labels.

        Raises:
            ValueError: If an argument is out of range.
        """
        if "cost" in self.pool.columns:
            how["cost"] = ColumnCost("cost")
        return Plan.create(self.pool, None, self.measure, budget=budget, level=self.level(unit), seed=seed, **how)

    def level(self, unit: str | None = None) -> str:
        """The level of a plan for a unit, or for the one that is chosen."""
        chosen = unit or unit_of_choice(self.table, self.scale)
        if chosen not in LEVELS:
            raise ValueError(f"a unit is an answer or an item, got {shown(unit)}")
        return LEVELS[chosen]

    def labels(self, scores: pd.DataFrame) -> pd.DataFrame:
        """The labels of people's scores.

        Args:
            scores: ``item, system, score`` (and ``run`` if there are several); rows without a score are left out. A
                preference has ``item, score``: 1 if the first of `systems` is better, −1 if the second is, else 0.

        Returns:
            ``qid, docno, label``.

        Raises:
            ValueError: If a score is not on the scale or no answer is meant, or an answer has two scores.
        """
        keys = ["item"] if self.scale.prefers else ["item", "system", *(["run"] if self.runs > 1 else [])]
        given = data_frame("scores", scores, *keys, SCORE).dropna(subset=SCORE)
        given = given.assign(**{name: given[name].map(lambda each: str(each).strip()) for name in keys})
        known = self._shown() if self.scale.prefers else self.table
        found = given.merge(known[[*keys, "docno", *(["sign"] if self.scale.prefers else [])]], how="left", on=keys)
        if (lost := found["docno"].isna()).any():
            row = found[lost].iloc[0]
            raise ValueError(f"there is no answer of {', '.join(f'{name} {shown(row[name])}' for name in keys)}")
        score = found[SCORE] * found["sign"] if self.scale.prefers else found[SCORE]
        labels = pd.DataFrame({"qid": found["item"], "docno": found["docno"], "label": self.scale.labels(score)})
        labels = labels.drop_duplicates(ignore_index=True)
        if (twice := labels.duplicated(["qid", "docno"])).any():
            raise ValueError(f"item {shown(labels['qid'][twice].iloc[0])}: the same answer has different scores")
        return labels

    def __repr__(self) -> str:
        items = how_many("item", self.table["item"].nunique())
        runs = f", {self.runs} runs each" if self.runs > 1 else ""
        return f"Answers of {', '.join(self.systems)} to {items}{runs}; scores {self.scale}"

    def _single(self) -> pd.DataFrame:
        """A row for each answer, with the ranks of the systems that gave it."""
        table = self.table
        frame = self._described(table).drop_duplicates(["qid", "docno"], ignore_index=True)
        place = table.groupby(["item", "system"]).cumcount()
        for name in self.systems:
            own = table["system"] == name
            rank = pd.Series(place[own].to_numpy(), pd.MultiIndex.from_frame(table.loc[own, ["item", "docno"]]))
            at = pd.MultiIndex.from_frame(frame[["qid", "docno"]])
            frame[f"rank_{name}"] = rank.reindex(at).fillna(-1).to_numpy(dtype=np.int64)
        return frame

    def _pairs(self) -> pd.DataFrame:
        """A row for each item, which stands for both answers: the system that is shown first ranks it."""
        shown_, both = self._shown(), self._described(self.table)
        frame = both.drop_duplicates("qid").set_index("qid").loc[shown_["item"]].reset_index()
        frame["docno"] = shown_["docno"].to_numpy()
        if "text" in both.columns:
            frame["text"] = shown_["text"].to_numpy()
        if "cost" in both.columns:
            frame["cost"] = both.groupby("qid")["cost"].sum().loc[frame["qid"]].to_numpy()
        for name, sign in zip(self.systems, (1, -1), strict=True):
            frame[f"rank_{name}"] = np.where(shown_["sign"] == sign, 0, -1)
        for name in judge_columns(self.table):
            by_system = self.table.pivot(index="item", columns="system", values=name).loc[shown_["item"]].astype(float)
            apart = by_system[self.systems[0]] - by_system[self.systems[1]]
            frame[f"judge {name}"] = np.sign(apart.to_numpy()) * shown_["sign"].to_numpy()
        return frame

    def _shown(self) -> pd.DataFrame:
        """``item, docno, sign, text`` of each pair; the sign is 1 where the first system's answer is shown first."""
        first, second = (self.table[self.table["system"] == name].set_index("item") for name in self.systems)
        items = first.index
        docno = first["docno"].to_numpy() + second.loc[items, "docno"].to_numpy()
        # A digit of a hash of the item and the texts decides which answer comes first.
        sign = np.array([1 if int(name[0], 16) % 2 else -1 for name in docno])
        frame = pd.DataFrame({"item": items, "docno": docno, "sign": sign})
        if "answer" in self.table.columns:
            texts = np.column_stack([first["answer"], second.loc[items, "answer"]]).astype(object)
            texts[sign < 0] = texts[sign < 0][:, ::-1]
            frame["text"] = [f"{FIRST}\n{one or ''}\n\n{SECOND}\n{other or ''}" for one, other in texts]
        return frame

    def _described(self, table: pd.DataFrame) -> pd.DataFrame:
        """``qid, docno`` of each answer with what judges read, clusters, costs and judges' scores."""
        frame = pd.DataFrame({"qid": table["item"], "docno": table["docno"]})
        question = table["question"] if "question" in table.columns else table["item"]
        if "reference" in table.columns:
            told = "\n\nReference answer: " + table["reference"].astype(str)
            question = question.astype(str) + told.where(table["reference"].notna(), "")
        frame["query"] = question
        for name, column in (("cluster", "qcluster"), ("answer", "text"), ("cost", "cost"), ("weight", "traffic")):
            if name in table.columns:
                frame[column] = pd.to_numeric(table[name]) if name in ("cost", "weight") else table[name]
        if self.scale.prefers:
            return frame
        for name in judge_columns(table):
            # Systems that share an answer may have different scores of it.
            score = pd.to_numeric(table[name])
            frame[f"judge {name}"] = score.groupby([frame["qid"], frame["docno"]]).transform("mean")
        return frame

    def _model(self, frame: pd.DataFrame) -> JudgeGrades | UniformGrades:
        """What judges' scores say, softened since no person has checked them; nothing if there are none."""
        judges: dict[str, Any] = {}
        for column in (str(name) for name in frame.columns if str(name).startswith("judge ")):
            known = frame[frame[column].notna()]
            if len(known):
                shares = self.scale.shares(known[column])
                votes = pd.DataFrame(shares, index=known.index).add_prefix("votes_")
                judges[column.removeprefix("judge ")] = known[["qid", "docno"]].join(votes)
        return JudgeGrades(max_grade=self.scale.max_grade, **judges) if judges else UniformGrades(self.scale.max_grade)


def unit_of_choice(table: pd.DataFrame, scale: ScoreScale) -> str:
    """``answer`` or ``item``, whichever probably needs fewer labels for a verdict.

    Two answers to an item share its difficulty, which cancels if both are judged: the more, the more their scores
    correlate. For a clear difference the number of draws counts, and an item takes a label for each answer. So items
    are drawn where the difference of the judges' scores is small against their correlation, or where there are no
    judges' scores. With more than two systems most of the pairs decide. Runs of a system repeat each other, so that
    an item with all of them is never worth its labels.
    """
    columns = judge_columns(table)
    if scale.prefers or table["system"].nunique() == 1 or table.duplicated(["item", "system"]).any():
        return "answer"
    if not columns:
        return "item"
    score = table[columns].apply(pd.to_numeric).mean(axis=1)
    by_item = score.groupby([table["item"], table["system"]]).mean().unstack().dropna()
    varies = by_item.std(ddof=0).to_numpy() > 0
    if len(by_item) < 2 or not varies.all():
        return "item"
    mean, correlation = by_item.mean().to_numpy(), np.corrcoef(by_item.to_numpy(), rowvar=False)
    near = [
        abs(mean[i] - mean[j]) < _SHARED * correlation[i, j] * (scale.high - scale.low)
        for i, j in combinations(range(len(mean)), 2)
    ]
    return "item" if np.mean(near) >= 0.5 else "answer"
