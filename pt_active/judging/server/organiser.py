"""What does the organiser see and decide: how far, how fast, how sure, and whether to go on?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
from starlette.concurrency import run_in_threadpool

from pt_active.frames.checks import how_many
from pt_active.frames.records import JUDGED, SKIPPED, UNJUDGEABLE
from pt_active.frames.visible import visible_field
from pt_active.judging.records import qrels_of
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import JudgingOrder, OrderOf, texts_together
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.sharing import PATIENCE
from pt_active.judging.server.templates import shown_document
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.status import Status
from pt_active.plans.plan import Plan
from pt_active.showing.printed import Facts, listed

_REST = 5.0  # So many times as long as it took an estimate is shown again; the server is left to the judges
_NOW_SECONDS = 60.0  # A judge who gave a sign of life in these seconds is there now
_MAX_LISTED = 100  # Documents of a list on the organiser's pages, at most
_MAX_PAIRS = 15  # Pairs of rankers on the organiser's page, at most; those that are not settled first


_UNTOLD: dict[str, Any] = {"records": 0, "stop": False, "what": "", "answer": "the first estimate is being computed"}
_UNTOLD |= {"agreement": [], "confusions": [], "facts": []}

_NEVER: tuple[float, int, dict[str, Any]] = 0.0, -1, _UNTOLD
"""Until when an estimate is shown again, of how many records it is, and what it says: before there is one."""


@dataclass
class Organiser:
    """The organiser's side of a campaign."""

    campaign: Campaign
    folder: Path  # the folder of its plan
    order_of: OrderOf  # puts the documents of the extended plan in order
    texts: pd.DataFrame | None = None  # ``docno, text``, for documents that an extension adds; None if there are none
    asked: Mapping[str, Any] = field(default_factory=dict)  # what `Plan.status` is asked, such as the margin
    extended: Callable[[Path, Path], None] = lambda before, after: None  # is told a plan's folder and the next one's
    patience: float = 0.5  # seconds for which a page waits for an estimate before it shows the one before
    _looked: tuple[float, int, dict[str, Any]] = field(default=_NEVER, init=False)
    _looking: Future[None] | None = field(default=None, init=False)
    _aside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1), init=False, repr=False)
    _extending: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    def qrels(self) -> pd.DataFrame:
        """``qid, docno, label``: the adjudicator's labels, elsewhere the majority of the judges, ties to the lower."""
        return qrels_of(self.campaign.store.records())

    def qrels_lines(self) -> str:
        """`qrels` as lines of TREC qrels."""
        qrels = self.qrels()
        if pd.concat([qrels["qid"], qrels["docno"]]).str.contains(r"\s", regex=True).any():
            raise ValueError("an id holds white space, which qrels cannot hold: download the records instead")
        return "".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label in qrels.itertuples(index=False, name=None))

    async def overview(self) -> dict[str, Any]:
        """Everything on the organiser's first page."""
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
            "measure": campaign.plan.tables.named(),
            "question": self.question,
            "settled": campaign.sharing.settled,
            "all": len(campaign.work.documents),
            "records": campaign.kept,
            "store": campaign.store.path.name,
            "judges": judges,
            "left": _in_hours(campaign.sharing.left / pace) if pace else "",
            "paused": campaign.paused,
            "disagreements": len(campaign.apart),
            "waiting": self.waiting(),
            "estimate": await self.estimate(),
        }

    @property
    def question(self) -> str:
        """What the plan asks of its rankers, in words."""
        plan, margin = self.campaign.plan, self.asked.get("margin")
        measure, names = plan.tables.named(), [visible_field(name) for name in plan.rankers]
        if len(names) == 1:
            return f"How good is {names[0]} by {measure}, within ±{margin:g}?"
        counts = f", by more than {margin:g}" if margin and len(names) == 2 else ""
        return f"Which is better by {measure}{counts}: {listed(names, ' or ')}?"

    async def estimate(self) -> dict[str, Any]:
        """What `Plan.status` and `Plan.agreement` say so far; what they said before if that takes long."""
        until, kept, _ = self._looked
        if self._looking is None and kept != self.campaign.kept and self.campaign.clock() >= until:
            self._looking = self._aside.submit(self._look)
        if (look := self._looking) is not None:
            await asyncio.wait([asyncio.wrap_future(look)], timeout=self.patience)
            if look.done():
                self._looking = None
                look.result()
        return self._looked[-1]

    def _look(self) -> None:
        campaign, plan = self.campaign, self.campaign.plan
        kept, begin, records = campaign.kept, campaign.clock(), campaign.store.records()
        agreed = plan.agreement(records)
        estimate: dict[str, Any] = {"records": kept, "agreement": agreed.facts() if agreed.twice else []}
        estimate["confusions"] = [(pair, table.tolist()) for pair, table in agreed.confusions.items()]
        try:
            status = plan.status(records, **self.asked)
            what = status.what if isinstance(status, Status) else ""
            estimate |= {"stop": status.resolved, "answer": status.answer, "facts": _facts(status), "what": what}
        except ValueError as error:
            estimate |= {"stop": False, "answer": str(error), "facts": [], "what": ""}
        if plan is campaign.plan:
            now = campaign.clock()
            self._looked = now + _REST * (now - begin), kept, estimate

    def waiting(self) -> list[dict[str, str]]:
        """The documents that somebody skipped, or could not judge, and that nobody has judged."""
        sharing, listed = self.campaign.sharing, []
        for place in sharing.passed[:_MAX_LISTED]:
            shown = shown_document(self.campaign.work.documents[place])
            who = ", ".join(f"{visible_field(judge)} ({status})" for judge, status in sharing.outcome[place].items())
            state = "waits for another judge" if sharing.wanted(place) else "left to the model"
            listed.append({"topic": shown["topic"], "name": shown["name"], "who": who, "state": state})
        return listed

    def queue(self) -> list[dict[str, Any]]:
        """The documents to adjudicate, with what each judge said."""
        listed = []
        for place in sorted(self.campaign.apart)[:_MAX_LISTED]:
            said = self.campaign.said[place].values()
            opinions = [(each.annotator, each.label, each.note) for each in said if each.status == JUDGED]
            listed.append(shown_document(self.campaign.work.documents[place]) | {"opinions": opinions})
        return listed

    async def extend(self, budget: float) -> str:
        """Draw the next round, keep the longer plan beside the first, and go on with it."""
        if self._extending.locked():
            raise ValueError("another extension is under way")
        async with self._extending:
            plan, work, folder = await run_in_threadpool(self._extended, budget)
        campaign = self.campaign
        new = how_many("document", len(work.documents) - len(campaign.work.documents))
        campaign.go_on_with(plan, work)
        self.extended(self.folder, folder)
        self.folder, self._looked = folder, _NEVER
        store = campaign.store.path.name
        return f"The next round has {new}. On the command line, continue with {folder.name} and {store}."

    def _extended(self, budget: float) -> tuple[Plan, JudgingOrder, Path]:
        before, store = self.campaign.plan, self.campaign.store
        texts = texts_together(self.campaign.work, self.texts)
        plan = before.extend(budget, texts=texts)
        names = (self.folder.with_name(f"{self.folder.name}-{number}") for number in count(2))
        folder = next(each for each in names if not each.exists())
        plan.save(folder)
        work = self.order_of(plan, texts)
        store.set("extended", f"{store.setting('extended') or ''} {before.id}")
        store.set("folder", str(folder.absolute()))
        return plan, work, folder


def _facts(status: Status | PairStatus) -> Facts:
    """What the page tells of a state, beside its answer."""
    if isinstance(status, Status):
        return [fact for fact in status.facts() if fact[0] != "answer"]
    pairs = [each for each in status.pairs if not each.resolved] or list(status.pairs)
    told = [(each.what, f"[{each.low:.4f}, {each.high:.4f}]: {each.answer}") for each in pairs[:_MAX_PAIRS]]
    return [*told, *status.pairs[0].gap_facts, ("next", status.advice)]


def _since(seconds: float) -> str:
    """When somebody was last seen, in words."""
    if seconds == inf:
        return "never"
    return "now" if seconds < _NOW_SECONDS else f"{_in_hours(seconds)} ago"


def _in_hours(seconds: float) -> str:
    """A time in words: ``12 minutes``, ``3.5 hours``."""
    return how_many("minute", round(seconds / 60)) if seconds < 5400 else f"{seconds / 3600:.1f} hours"
