"""Does the verdict hang on one judge [theory 12]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import ArgumentError, how_many
from pt_active.frames.qrels import known_labels
from pt_active.frames.records import ADJUDICATOR
from pt_active.inference.stopping.looks import ALWAYS, FIRST, SECOND
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.labelled_plan import labelled_plan
from pt_active.plans.answers.results import Estimate
from pt_active.plans.answers.sequence import sequence_of
from pt_active.plans.answers.status import VALID
from pt_active.plans.answers.verdict import verdict_of
from pt_active.plans.making.cut import cut_to_labels
from pt_active.plans.making.judgments import qrels_of, settled_labels
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import wanted_documents
from pt_active.showing.printed import Facts, Printed, plain_rows, printed

_MIN_JUDGES = 2
"""One judge cannot be left out."""


@dataclass(frozen=True)
class WithoutJudges(Printed):
    """The result without each judge in turn.

    Attributes:
        what: What is estimated: a ranker, or the difference of two.
        value: The estimate with all judges, from what is judged without a gap.
        winner: The better ranker with all judges; None if there is no verdict, or one ranker.
        standard_error: The jackknife's standard error over judges, ``√((J−1)/J Σ (θ_j − θ̄)²)``.
        table: ``annotator, labels, alone, value, winner``: for each judge the number of his labels, of documents that
            he alone judged, and the result without him. Those documents are then left to the grade model.
        looks: When the verdicts hold: None if all of the plan is judged, for one look at the end; ``"always"`` if not,
            since then only bets prove anything.
    """

    what: str
    value: float
    winner: str | None
    standard_error: float
    table: pd.DataFrame
    looks: str | None = None

    @property
    def decisive(self) -> tuple[str, ...]:
        """The judges without whom there is another winner, or none."""
        changed = [winner != self.winner for winner in self.table["winner"]]
        return tuple(self.table["annotator"][changed])

    def facts(self) -> Facts:
        """Names and values, as printed."""
        facts = [
            ("all", f"{self.value:+.4f}, {self.winner or 'unresolved'}"),
            ("jackknife", f"SE {self.standard_error:.4f} over {how_many('judge', len(self.table))}"),
        ]
        for name, alone, value, winner in zip(
            *(self.table[column] for column in ("annotator", "alone", "value", "winner")), strict=True
        ):
            left = f"; {how_many('document', alone)} left to the model" if alone else ""
            facts.append(("without", f"{name}: {value:+.4f}, {winner or 'unresolved'}{left}"))
        facts.append(("valid", VALID[self.looks]))
        hangs = f"the verdict hangs on {', '.join(self.decisive)}" if self.decisive else "it hangs on no single judge"
        return [*facts, ("verdict", hangs)]

    def __str__(self) -> str:
        return printed(f"{self.what}, without each judge", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON."""
        numbers = {"what": self.what, "value": self.value, "winner": self.winner}
        numbers |= {"standard_error": self.standard_error, "decisive": list(self.decisive)}
        numbers |= {"looks": self.looks}
        return numbers | {"judges": plain_rows(self.table)}


def without_judges(
    tables: PlanTables, records: pd.DataFrame, contrast: Contrast, how: How[irm.Measure]
) -> WithoutJudges:
    """The result of a plan without each judge in turn."""
    # Without a judge, the label of the other one counts.
    labels = settled_labels(records).assign(judges=1)
    names = sorted(set(labels["annotator"]) - {ADJUDICATOR})
    if len(names) < _MIN_JUDGES:
        raise ValueError(f"the labels are of {how_many('judge', len(names))}; none can be left out")
    alone = ~labels.duplicated(["qid", "docno"], keep=False)
    asked = _Asked.of(tables, labels, contrast, how)
    value, winner = asked.result(labels)
    rows = []
    for name in names:
        mine = labels["annotator"] == name
        rows.append((name, int(mine.sum()), int((mine & alone).sum()), *asked.result(labels[~mine], filled=True)))
    table = pd.DataFrame(rows, columns=["annotator", "labels", "alone", "value", "winner"])
    # A column that pandas infers would turn None into NaN.
    table["winner"] = pd.Series([row[-1] for row in rows], dtype=object)
    values = table["value"].to_numpy(dtype=np.float64)
    error = float(np.sqrt((len(names) - 1) / len(names) * ((values - values.mean()) ** 2).sum()))
    what, looks = contrast.named(tables.pool.names), ALWAYS if asked.partly else None
    return WithoutJudges(what, value, winner, error, table, looks)


@dataclass(frozen=True)
class _Asked:
    """What is asked of the labels of some judges.

    Attributes:
        tables: The plan's content.
        cut: The plan cut to what all judges together have judged.
        contrast: One ranker, or the difference of two.
        how: The measure, the estimator and the level.
    """

    tables: PlanTables
    cut: PlanTables
    contrast: Contrast
    how: How[irm.Measure]

    @classmethod
    def of(cls, tables: PlanTables, labels: pd.DataFrame, contrast: Contrast, how: How[irm.Measure]) -> _Asked:
        label = known_labels(tables.pool.keys, qrels_of(labels))
        lacking = wanted_documents(tables) & tables.pool.seen(tables.measure) & (label < 0)
        return cls(tables, cut_to_labels(tables, label) if lacking.any() else tables, contrast, how)

    @property
    def partly(self) -> bool:
        """Whether not all of the plan is judged, so that only a verdict at any time is one."""
        return self.cut is not self.tables

    def result(self, labels: pd.DataFrame, filled: bool = False) -> tuple[float, str | None]:
        """The estimate and the better ranker; if ``filled``, what has no label is as the model expects."""
        qrels = qrels_of(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = labelled_plan(self.cut, qrels).judged(self.how).result(self.contrast, self.how)
            if isinstance(found, Estimate):
                return float(found.value), None
            return float(found.difference), self._proved(qrels, filled) if self.partly else found.winner

    def _proved(self, qrels: pd.DataFrame, filled: bool) -> str | None:
        """The ranker that is proved to be better at any time; None if the plan has no order that proves anything."""
        tables, alpha = self.tables, 1 - self.how.confidence
        try:
            sequence = sequence_of(tables, known_labels(tables.pool.keys, qrels), self.how.measure)
        except ArgumentError:
            return None
        proof = sequence.proof(self.contrast, alpha)
        proof = replace(proof, draws=proof.draws.as_expected) if filled else proof
        resolution = verdict_of(proof, 0.0, True, alpha).resolution
        one, other = self.contrast.first, self.contrast.second or 0
        better = {FIRST: one, SECOND: other}.get(resolution)
        return None if better is None else tables.pool.names[better]
