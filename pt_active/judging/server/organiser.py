"""What does the organiser see and decide: how far, how fast, and how sure?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from typing import Any

import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, SKIPPED, UNJUDGEABLE
from pt_active.judging.records import qrels_of
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.sharing import PATIENCE
from pt_active.plans.answers.board import board_table
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.status import Status
from pt_active.showing.page import Shown

_NOW_SECONDS = 60.0  # A judge who gave a sign of life in these seconds is there now
_NONE_YET: dict[str, Any] = {"records": 0, "stop": False, "what": "", "agreement": [], "facts": [], "board": None}
_NONE_YET["answer"] = "the first estimate is being computed"


@dataclass
class Organiser:
    """The organiser's side of a campaign."""

    campaign: Campaign
    asked: Mapping[str, Any] = field(default_factory=dict)  # what `Plan.status` is asked, such as the margin
    patience: float = 0.5  # seconds for which a page waits for an estimate before it shows the one before

    def __post_init__(self) -> None:
        self._estimate: dict[str, Any] = _NONE_YET
        self._records = -1  # of how many records it is
        self._looking: Future[None] | None = None
        self._aside = ThreadPoolExecutor(1)

    def qrels(self) -> pd.DataFrame:
        """``qid, docno, label``: the adjudicator's labels, elsewhere the majority of the judges, ties to the lower."""
        return qrels_of(self.campaign.store.records())

    async def overview(self) -> dict[str, Any]:
        """How far everything is, and what is known."""
        campaign, now = self.campaign, self.campaign.clock()
        judges = []
        pace = 0.0  # documents a second of the judges who are there
        for name in campaign.store.people():
            if name == ORGANISER:
                continue
            done, seconds = campaign.done_by(name), campaign.pace(name)
            ago = now - campaign.sharing.seen.get(name, -inf)
            if seconds and ago < PATIENCE:
                pace += 1 / seconds
            about = {"name": name, "pace": seconds, "seen": _since(ago), "done": done[JUDGED]}
            judges.append(about | {"skipped": done[SKIPPED], "unjudgeable": done[UNJUDGEABLE]})
        return {
            "settled": campaign.sharing.settled,
            "all": len(campaign.work.documents),
            "records": campaign.kept,
            "judges": judges,
            "left": _in_hours(campaign.sharing.left / pace) if pace else "",
            "estimate": await self.estimate(),
        }

    async def estimate(self) -> dict[str, Any]:
        """What `Plan.status` and `Plan.agreement` say so far; what they said before if that takes long."""
        if self._looking is None and self._records != self.campaign.kept:
            self._looking = self._aside.submit(self._look)
        if (look := self._looking) is not None:
            await asyncio.wait([asyncio.wrap_future(look)], timeout=self.patience)
            if look.done():
                self._looking = None
                look.result()
        return self._estimate

    def _look(self) -> None:
        campaign, plan = self.campaign, self.campaign.plan
        kept, records = campaign.kept, campaign.store.records()
        agreed = plan.agreement(records)
        found = _NONE_YET | {"records": kept, "agreement": agreed.facts() if agreed.twice else []}
        try:
            status = plan.status(records, **self.asked)
            found |= {"stop": status.resolved, "answer": status.answer} | _shown(status)
        except ValueError as error:
            found["answer"] = str(error)
        self._estimate, self._records = found, kept


def _shown(status: Status | PairStatus) -> dict[str, Any]:
    """What the page tells of a state, beside its answer."""
    if isinstance(status, Status):
        return {"what": status.what, "facts": [fact for fact in status.facts() if fact[0] != "answer"]}
    facts = [*status.pairs[0].gap_facts, ("next", status.advice)]
    if status.boards:
        table = Shown.of(board_table(status.boards, status.pairs[0].measure), most=None)
        return {"answer": status.headline, "board": table, "facts": [("pairs", status.answer), *facts]}
    pairs = () if status.alone else status.pairs
    return {"facts": [*((each.what, f"[{each.low:.4f}, {each.high:.4f}]: {each.answer}") for each in pairs), *facts]}


def _since(seconds: float) -> str:
    """When somebody was last seen, in words."""
    if seconds == inf:
        return "never"
    return "now" if seconds < _NOW_SECONDS else f"{_in_hours(seconds)} ago"


def _in_hours(seconds: float) -> str:
    """A time in words: ``12 minutes``, ``3.5 hours``."""
    return how_many("minute", round(seconds / 60)) if seconds < 5400 else f"{seconds / 3600:.1f} hours"
