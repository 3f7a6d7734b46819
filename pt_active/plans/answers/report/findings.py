"""What does a report hold, as plain data?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from pt_active.frames.visible import visible
from pt_active.plans.answers.agreement import Agreement
from pt_active.plans.answers.contributions import Contributions
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.answers.ranking import Ranking, Result
from pt_active.plans.answers.report.differences import Difference
from pt_active.plans.answers.report.headline import Headline, headline
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.manifest import Manifest
from pt_active.showing.printed import Printed, plain

MAX_DECIDING_DOCUMENTS = 10  # Documents whose labels moved the estimate most that are listed


@dataclass(frozen=True)
class Findings(Printed):
    """Everything that a plan and its labels say.

    Attributes:
        result: An estimate of one ranker, a comparison of two, or a ranking of more.
        budget: `Outlook.table` of plain random queries and of the plan's way of sampling, with the plan's labels as the
            pilot; empty if there is no budget curve.
        budget_note: Why there is no budget curve; empty if there is one.
        contributions: The estimate of the one ranker, or of the difference of the two that are compared or stand first,
            taken apart.
        check: The check of the grade model, on the plan's measure.
        slices: One row per group of queries and result: a comparison, or each of more than two rankers.
        made: The manifest of the plan.
        status: The state of the judging if it goes on, whose verdict is then the answer; else None.
        campaign: Who judged how much, and when.
        agreement: How far the judges agree; None unless records of two judges or more are given.
        differences: All pairs, with intervals that agree with the test, best first; empty if one ranker is estimated.
        ahead: The state of the pair, or of the first of many that is open, by the plan's own looks, which says how many
            more labels it takes; None if there is a ``status``, or nobody can say.
        texts: The texts of documents by docno, as far as they are known.
    """

    result: Result
    budget: pd.DataFrame
    budget_note: str
    contributions: Contributions
    check: ModelCheck
    slices: pd.DataFrame
    made: Manifest
    status: Status | None = None
    campaign: dict[str, str] = field(default_factory=dict)
    agreement: Agreement | None = None
    differences: tuple[Difference, ...] = ()
    ahead: Status | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """``name, estimate, standard_error, low, high``: the difference, or each ranker; that of a status if given."""
        result, status = self.result, self.status
        each = result.estimates if isinstance(result, Ranking) else (result,)
        rows = [(one.what, one.point, one.standard_error, *one.confidence_interval()) for one in each]
        if status is not None:
            rows = [(status.what, status.value, status.standard_error, status.low, status.high)]
        return pd.DataFrame(rows, columns=["name", "estimate", "standard_error", "low", "high"])

    @property
    def contrast(self) -> str:
        """The name of what `contributions` takes apart."""
        return self.made.rankers[0] if self.pair is None else " − ".join(self.pair)

    @cached_property
    def headline(self) -> Headline:
        """The first screen: question, answer, number, and what to do next."""
        return headline(self.result, self.differences, self.status, self.campaign, self.ahead)

    @property
    def note(self) -> str:
        """What a reader must know before trusting the result; empty if there is nothing."""
        status, basis = self.status, self.result.basis
        if status is None:
            return self.result.note
        # Cautions on the interval of a fixed sample are of another question.
        sample = self.result.note if basis.census else "; ".join(filter(None, (basis.caution, basis.model_caution)))
        return "; ".join(filter(None, (status.remark, sample, "" if basis.census else basis.unknown.caution)))

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two rankers whose difference `contributions` takes apart, first minus second; None if there is one."""
        return compared(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the report, ready for JSON: NaN and infinite numbers become None."""
        basis, apart = self.result.basis, self.contributions
        said = {
            "headline": self.headline.to_dict(),
            "agreement": None if self.agreement is None else self.agreement.to_dict(),
            "differences": self.differences,
            "note": self.note,
            "status": None if self.status is None else self.status.to_dict(),
            "needed": None if self.ahead is None else self.ahead.needed,
            "result": self.result.to_dict() if self.status is None else None,
            "estimates": self.estimates,
            "budget": {"spent": self.made.spent, "note": self.budget_note, "rows": self.budget},
            "contributions": {"of": self.contrast, "base": apart.base, "queries": apart.queries},
            "deciding_documents": apart.documents.head(MAX_DECIDING_DOCUMENTS),
            "model_check": plain(self.check.to_frame())[0] | {"bins": self.check.bins},
            "slices": self.slices,
            "missing": {"policy": basis.missing_policy, "pairs": basis.missing},
            "manifest": self.made,
        }
        plained: dict[str, Any] = plain(said)
        return plained

    def __str__(self) -> str:
        parts: list[object] = [self.status or self.result, *filter(None, [self.agreement]), self.check]
        if not isinstance(self.result, Ranking):  # which begins with its answer
            parts.insert(0, self.headline.answer)
        return visible("\n\n".join(map(str, parts)))


def compared(result: Result) -> tuple[str, str] | None:
    """The names of the two rankers whose difference is taken apart; None if there is one ranker."""
    if isinstance(result, Estimate):
        return None
    if isinstance(result, Comparison):
        return result.first, result.second
    return result.names[0], result.names[1]
