"""Which of many rankers are told apart, all pairs together, at any time [theory 14]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.basis import EXACT, TOO_FEW, UNTOLD
from pt_active.plans.answers.board import Board, board_lines, misses
from pt_active.plans.answers.gaps import read_labels
from pt_active.plans.answers.labelled import Contrast, contrasts_of
from pt_active.plans.answers.looks import Question
from pt_active.plans.answers.status import Status
from pt_active.plans.answers.status_of_plan import states
from pt_active.plans.making.kept import PlanTables
from pt_active.showing.printed import Facts, Printed, plain_rows, printed

_FEW = 3  # With more rankers, the table of all is shown rather than pairs
_ANY = 1e300  # A margin within which every value is known, so that nothing is foreseen for single rankers
_MAX_NAMED = 3  # If a remark is on more pairs, only so many are named


@dataclass(frozen=True)
class PairStatus(Printed):
    """What the labels so far say about all pairs of rankers together, and whether to go on judging.

    Attributes:
        pairs: The status of each pair. All verdicts hold together with probability ``confidence``, at all looks, and so
            do all intervals. The e-values are adjusted for the number of pairs.
        confidence: Level of all pairs together.
        alone: The status of each ranker, at a level of its own; none for three rankers.
    """

    pairs: tuple[Status, ...]
    confidence: float
    alone: tuple[Status, ...] = ()

    @property
    def boards(self) -> list[Board]:
        """The tables of all rankers for the queries that are meant and for the others; none of three rankers."""
        both = (self.alone, self.pairs), (_others(self.alone), _others(self.pairs))
        return [_board(alone, pairs) for alone, pairs in both if alone]

    @property
    def headline(self) -> str:
        """Which rankers may be the best, and what that promises, in one sentence; empty without a table."""
        if not self.boards:
            return ""
        promised = [each.guarantee for each in self.pairs]
        least = next((each for each in promised if each != EXACT), EXACT)
        return f"{self.boards[0].sentence(self.pairs[0].measure)}; {misses(least, 1 - self.confidence)}"

    @property
    def settled(self) -> int:
        """How many pairs have a verdict."""
        return sum(each.resolved for each in self.pairs)

    @property
    def resolved(self) -> bool:
        """Whether judging can stop, since all pairs have a verdict."""
        return self.settled == len(self.pairs)

    @property
    def slowest(self) -> Status:
        """A pair without a verdict; the first pair if all have one."""
        return next((each for each in self.pairs if not each.resolved), self.pairs[0])

    @property
    def answer(self) -> str:
        """The state, in one sentence."""
        if self.resolved:
            return f"stop: all {how_many('pair', len(self.pairs))} are settled"
        return f"{self.settled} of {how_many('pair', len(self.pairs))} are settled"

    @property
    def advice(self) -> str:
        """What to do next, in one sentence."""
        state = self.pairs[0]
        if self.resolved:
            return "stop judging"
        if state.refusal == TOO_FEW:
            return state.advice
        if state.judged < state.drawn:
            return f"keep judging, from {state.waiting}"
        refused = [each for each in self.pairs if each.refusal not in ("", TOO_FEW, UNTOLD)]
        if refused:
            return refused[0].advice
        return "extend the plan, or accept that the other pairs stay open"

    def table(self) -> pd.DataFrame:
        """One row per pair: ``first, second, difference, low, high, e_value, better``, the last one None if open."""
        names = ["first", "second", "value", "low", "high", "e_value"]
        rows = pd.DataFrame({name: [getattr(each, name) for each in self.pairs] for name in names})
        better = pd.Series([each.winner for each in self.pairs], dtype=object)
        return rows.rename(columns={"value": "difference"}).assign(better=better)

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON."""
        pairs = [each.to_dict() for each in self.pairs]
        said = {"pairs": pairs, "confidence": self.confidence, "answer": self.answer, "advice": self.advice}
        ranked = {"headline": self.headline, "rankers": plain_rows(self.boards[0].frame())} if self.boards else {}
        return said | ranked

    @property
    def _notes(self) -> list[str]:
        """Why estimates, verdicts and intervals seem to contradict each other; each reason once."""
        pairs_of: dict[str, list[str]] = {}
        for each in self.pairs:
            if each.remark:
                pairs_of.setdefault(each.remark, []).append(each.what)
        notes = []
        for remark, pairs in pairs_of.items():
            rest = f" and {how_many('more pair', len(pairs) - _MAX_NAMED)}" if len(pairs) > _MAX_NAMED else ""
            notes.append(f"{', '.join(pairs[:_MAX_NAMED])}{rest}: {remark}")
        if any(each.looks == ALWAYS and each.winner and each.low <= 0 <= each.high for each in self.pairs):
            notes.append(
                f"an interval may hold 0 where there is a winner: intervals are simultaneous, each at "
                f"{1 - self.confidence:.2g} over {how_many('pair', len(self.pairs))}; verdicts, by Holm, can be sharper"
            )
        return notes

    def __str__(self) -> str:
        state, boards, width = self.pairs[0], self.boards, max(len(each.what) for each in self.pairs)
        held = f"valid {state.valid}, for {state.population}"
        head = f"{state.measure}: all pairs together, {self.confidence:.0%}, {held}"
        facts: Facts = [("pair", f"{each.what:{width}}  {_in_words(each)}") for each in self.pairs if not self.alone]
        if boards:
            head = "\n  ".join([self.headline, *board_lines(boards)])
            facts.append(("valid", state.valid))
        facts.append(("judged", state.progress))
        facts += state.gap_facts
        if state.unknown.number:
            facts.append(("unknown", state.unknown.counted))
        refusals = (each.refusal for each in self.pairs)
        cautions = dict.fromkeys(filter(None, (*refusals, state.unknown.caution)))
        facts += [("note", note) for note in (*self._notes, *cautions)]
        facts += [("answer", self.answer), ("next", self.advice)]
        return printed(head, facts)


def _others(states: Sequence[Status]) -> list[Status]:
    """The states for the other queries, as far as they are known."""
    return [each.beside for each in states if each.beside is not None]


def _board(alone: Sequence[Status], pairs: Sequence[Status]) -> Board:
    """The table of rankers, best first, by the verdicts on all their pairs."""
    middle = [each.value if np.isfinite(each.value) else (each.low + each.high) / 2 for each in alone]
    ranked = [alone[s] for s in np.argsort(-np.array(middle), kind="stable")]
    rows = [(each.first, each.value, each.low, each.high) for each in ranked]
    return Board.of(rows, [(each.first, str(each.second), each.winner) for each in pairs], alone[0].population)


def _in_words(state: Status) -> str:
    if not np.isfinite(state.value):
        return "nothing is judged"
    verdict = f"{state.winner} is better" if state.winner else "equal" if state.resolved else "open"
    evidence = "certain  " if np.isinf(state.e_value) else f"e-value {state.e_value:.3g}  "
    others = "" if state.beside is None else f"{state.beside.population.name} {_ends(state.beside)}  "
    return f"{state.point} {_ends(state)}  {others}{'' if np.isnan(state.e_value) else evidence}{verdict}"


def _ends(state: Status) -> str:
    return f"[{state.low:.4f}, {state.high:.4f}]" if np.isfinite(state.low) else "no interval"


def pair_status(
    tables: PlanTables, qrels: pd.DataFrame, question: Question, records: pd.DataFrame | None = None
) -> PairStatus:
    """The state of all pairs of rankers of a plan, whatever pair the question names.

    For new queries, and after parts, each pair has its share of the level [theory 16]; else verdicts are by Holm.
    """
    if question.margin is not None:
        raise ValueError("margin= is for one pair: pass first= and second=")
    if question.looks is None:
        raise ValueError("a look at the end is for one pair: pass first= and second=, or let `rank` test all pairs")
    label, known = read_labels(tables, qrels, records)
    number = len(tables.pool.names)
    several = contrasts_of(number)
    questions = [replace(question, contrast=pair, pairs=len(several)) for pair in several]
    singles = [replace(question, contrast=Contrast(s), margin=_ANY) for s in range(number) if number > _FEW]
    both = [states(tables, label, each, records, known) if each else [] for each in (questions, singles)]
    pairs, alone = map(tuple, both)
    return PairStatus(pairs, question.confidence, alone)
