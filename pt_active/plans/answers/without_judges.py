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
from pt_active.plans.making.judgments import qrels_of, settled_labels
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.sampled import sampled
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
        table: ``annotator, labels, alone, value, winner``: for each judge the number of their labels, of documents that
            they alone judged, and the result without them. Those documents are then left to the grade model.
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
        said = (
            f"the verdict depends on {', '.join(self.decisive)}" if self.decisive else "it depends on no single judge"
        )
        return [*facts, ("verdict", said)]

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
    known = known_labels(tables.pool.keys, qrels_of(labels))
    drawn = sampled(tables)
    lacking = drawn.wanted & tables.pool.seen(tables.measure) & (known < 0)
    cut = drawn.cut(known) if lacking.any() else tables

    def result(labels: pd.DataFrame, filled: bool) -> tuple[float, str | None]:
        """The estimate and the better ranker; if ``filled``, what has no label is as the model expects."""
        qrels = qrels_of(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = labelled_plan(cut, qrels).judged(how).result(contrast, how)
            if isinstance(found, Estimate):
                return float(found.value), None
            # Not all of the plan is judged, so that only a verdict at any time is one.
            winner = found.winner if cut is tables else _proved(tables, qrels, contrast, how, filled)
            return float(found.difference), winner

    value, winner = result(labels, False)
    rows = []
    for name in names:
        mine = labels["annotator"] == name
        rows.append((name, int(mine.sum()), int((mine & alone).sum()), *result(labels[~mine], True)))
    table = pd.DataFrame(rows, columns=["annotator", "labels", "alone", "value", "winner"])
    # A column that pandas infers would turn None into NaN.
    table["winner"] = pd.Series([row[-1] for row in rows], dtype=object)
    values = table["value"].to_numpy(dtype=np.float64)
    error = float(np.sqrt((len(names) - 1) / len(names) * ((values - values.mean()) ** 2).sum()))
    looks = None if cut is tables else ALWAYS
    return WithoutJudges(contrast.named(tables.pool.names), value, winner, error, table, looks)


def _proved(
    tables: PlanTables, qrels: pd.DataFrame, contrast: Contrast, how: How[irm.Measure], filled: bool
) -> str | None:
    """The ranker that is proved to be better at any time; None if the plan has no order that proves anything."""
    alpha = 1 - how.confidence
    try:
        proof = sequence_of(tables, known_labels(tables.pool.keys, qrels), how.measure).proof(contrast, alpha)
    except ArgumentError:
        return None
    proof = replace(proof, draws=proof.draws.as_expected) if filled else proof
    resolution = verdict_of(proof, 0.0, True, alpha).resolution
    better = {FIRST: contrast.first, SECOND: contrast.second}.get(resolution)
    return None if better is None else tables.pool.names[better]
