"""Does the verdict hang on one judge [theory 12]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import ADJUDICATOR
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.labelled_plan import labelled_plan
from pt_active.plans.answers.results import Comparison
from pt_active.plans.making.artifact import Facts, Printed, plain_rows, printed
from pt_active.plans.making.judgments import qrels_of, settled_labels
from pt_active.plans.making.kept import PlanTables

_MIN_JUDGES = 2
"""One judge cannot be left out."""


@dataclass(frozen=True)
class WithoutJudges(Printed):
    """The result without each judge in turn.

    Attributes:
        what: What is estimated: a ranker, or the difference of two.
        value: The estimate with all judges.
        winner: The better ranker with all judges; None if the difference is not significant, or there is one ranker.
        standard_error: The jackknife's standard error over judges, ``√((J−1)/J Σ (θ_j − θ̄)²)``.
        table: ``annotator, labels, alone, value, winner``: for each judge the number of his labels, of documents that
            he alone judged, and the result without him. Those documents are then left to the grade model.
    """

    what: str
    value: float
    winner: str | None
    standard_error: float
    table: pd.DataFrame

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
        hangs = f"the verdict hangs on {', '.join(self.decisive)}" if self.decisive else "it hangs on no single judge"
        return [*facts, ("verdict", hangs)]

    def __str__(self) -> str:
        return printed(f"{self.what}, without each judge", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON."""
        numbers = {"what": self.what, "value": self.value, "winner": self.winner}
        numbers |= {"standard_error": self.standard_error, "decisive": list(self.decisive)}
        return numbers | {"judges": plain_rows(self.table)}


def without_judges(
    tables: PlanTables, records: pd.DataFrame, contrast: Contrast, how: How[irm.Measure]
) -> WithoutJudges:
    """The result of a plan without each judge in turn.

    Args:
        tables: The plan's content.
        records: As `records.checked_records` returns them.
        contrast: One ranker, or the difference of two.
        how: The measure, the estimator and the level; missing labels are those that the judge left.

    Raises:
        ValueError: If there is one judge, or labels are missing with all judges.
    """
    # Without a judge, the label of the other one counts.
    labels = settled_labels(records).assign(judges=1)
    names = sorted(set(labels["annotator"]) - {ADJUDICATOR})
    if len(names) < _MIN_JUDGES:
        raise ValueError(f"the labels are of {how_many('judge', len(names))}; none can be left out")
    alone = ~labels.duplicated(["qid", "docno"], keep=False)
    value, winner = _result(tables, labels, contrast, how)
    rows = []
    for name in names:
        mine = labels["annotator"] == name
        rows.append((name, int(mine.sum()), int((mine & alone).sum()), *_result(tables, labels[~mine], contrast, how)))
    table = pd.DataFrame(rows, columns=["annotator", "labels", "alone", "value", "winner"])
    # A column that pandas infers would turn None into NaN.
    table["winner"] = pd.Series([row[-1] for row in rows], dtype=object)
    values = table["value"].to_numpy(dtype=np.float64)
    error = float(np.sqrt((len(names) - 1) / len(names) * ((values - values.mean()) ** 2).sum()))
    return WithoutJudges(contrast.named(tables.pool.names), value, winner, error, table)


def _result(
    tables: PlanTables, records: pd.DataFrame, contrast: Contrast, how: How[irm.Measure]
) -> tuple[float, str | None]:
    """The estimate and the better ranker; documents that the records leave without a label are taken from the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        judged = labelled_plan(tables, qrels_of(records)).judged(how)
        if contrast.second is None:
            return float(judged.estimate(contrast.first, how).value), None
        result: Comparison = judged.compare(contrast.first, contrast.second, how)
        return float(result.difference), result.winner
