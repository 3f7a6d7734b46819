"""What the labels of an audit show of every judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from pt_active.frames.visible import visible
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.ranking import Ranking, rank_judged
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.relevance.losses import F1, Loss, Precision, Recall, ZeroOne, check_rel
from pt_active.risk.audit import Audit
from pt_active.risk.judged import JudgedAgreement, JudgedPairs, usual_estimator
from pt_active.showing.printed import Printed, plain

QUANTITIES: dict[str, Callable[[int], Loss] | str] = {
    "error": lambda rel: ZeroOne(),
    "precision": lambda rel: Precision(rel=rel),
    "recall": lambda rel: Recall(rel=rel),
    "f1": lambda rel: F1(rel=rel),
    "kappa": "Kappa",
    "alpha": "Alpha",
}
"""Quantity → the loss at the lowest relevant grade that estimates it, or the name of a coefficient of agreement."""


def asked_for(judged: JudgedPairs, quantity: str, rel: int) -> JudgedPairs:
    """The labels of an audit, asked for another quantity than its own loss."""
    kind = QUANTITIES[quantity]
    if isinstance(kind, str):
        return JudgedAgreement.of(judged, kind)
    loss = kind(rel)
    return replace(judged, pairs=replace(judged.pairs, loss=loss), basis=replace(judged.basis, measure=str(loss)))


@dataclass(frozen=True)
class AuditReport(Printed):
    """All that the labels of an audit say about its judges."""

    estimates: Mapping[str, Mapping[str, Estimate]]  # quantity in `QUANTITIES` → judge → estimate
    ranking: Comparison | Ranking | None  # of two judges' errors, or of more; None of one
    rel: int  # the lowest grade that counts as relevant

    @classmethod
    def of(
        cls,
        audit: Audit,
        qrels: pd.DataFrame,
        rel: int = 1,
        confidence: float = 0.95,
        missing: str = "error",
    ) -> AuditReport:
        """Ask the labels of an audit for all quantities.

        Args:
            audit: Of predictors that are grades.
            qrels: ``qid, docno, label``, the labels of its assessments.
            rel: The lowest grade that counts as relevant, for precision, recall and F1.
            confidence: Level of all intervals.
            missing: How to treat a drawn pair without a label: ``"error"`` or ``"nonrelevant"`` (grade 0).

        Raises:
            ValueError: If an argument is unknown, the labels do not fit the audit, or the sample leaves out pairs that
                a quantity needs.
        """
        check_rel(rel, audit.tables.pairs.max_grade)
        judged = audit.judged(qrels, missing)
        settings = Settings(usual_estimator(judged.sample), confidence)
        asked = {name: asked_for(judged, name, rel) for name in QUANTITIES}
        estimates = {
            name: {judge: of.estimate(s, settings) for s, judge in enumerate(judged.names)}
            for name, of in asked.items()
        }
        ranking: Comparison | Ranking | None = None
        if len(judged.names) == 2:
            ranking = asked["error"].compare(0, 1, settings)
        elif len(judged.names) > 2:
            ranking = rank_judged(asked["error"], settings)
        return cls(estimates, ranking, rel)

    def table(self) -> pd.DataFrame:
        """One row per quantity and judge: ``quantity, judge, estimate, low, high, note``."""
        each = [one for of_judges in self.estimates.values() for one in of_judges.values()]
        rows = [(one.basis.measure, one.name, one.point, *one.confidence_interval(), one.note) for one in each]
        return pd.DataFrame(rows, columns=["quantity", "judge", "estimate", "low", "high", "note"])

    def to_dict(self) -> dict[str, Any]:
        """Every number, ready for JSON: NaN and infinite numbers become None."""
        said = {
            "rel": self.rel,
            "estimates": {name: {judge: e.to_dict() for judge, e in of.items()} for name, of in self.estimates.items()},
            "ranking": None if self.ranking is None else self.ranking.to_dict(),
        }
        ready: dict[str, Any] = plain(said)
        return ready

    def __str__(self) -> str:
        table = self.table()
        numbers = table.drop(columns="note")
        shown = numbers.to_string(index=False, float_format=lambda value: f"{value:.4f}", na_rep="–")
        noted = table[table["note"] != ""]
        notes = dict.fromkeys(noted["quantity"] + " of " + noted["judge"] + ": " + noted["note"])
        first = next(iter(self.estimates["error"].values()))
        facts = [*first.basis.facts(), *(("note", note) for note in notes)]
        lines = "\n".join(f"{name:<10}{text}" for name, text in facts)
        return visible(f"{shown}\n\n{lines}")
