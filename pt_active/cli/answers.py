"""Commands that turn labels into answers: status, report and gate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.cli.answer import (
    AT_THE_END,
    Answer,
    beside,
    check_new,
    command_line,
    extension,
    given_words,
    rounded_up,
)
from pt_active.cli.audit import audit_shown, is_audit
from pt_active.cli.ledger import decided_in
from pt_active.cli.options import MARGIN, REQUIRED, Asked, LabelFiles, Look, flag, is_whole, judged_part
from pt_active.frames.checks import how_many, some
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import is_records
from pt_active.frames.sources import naming, read_source
from pt_active.frames.tables import read_spreadsheet
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.inference.new_queries import NEW
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.judging.server.store import is_store
from pt_active.plans.answers.gate import BETTER, FAIL, NON_INFERIOR, PASS, UNRESOLVED, Gate, Rule
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.results import DIRECTLY, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.manifest import digest
from pt_active.plans.making.rankers import named_pair
from pt_active.plans.plan import Plan

OUTCOMES = {PASS: 0, FAIL: 1, UNRESOLVED: 3}
"""Outcome → exit code, where 2 is bad input."""


def status(
    labels: LabelFiles,
    look: Look,
    asked: Asked,
    measure: str | None = flag("A measure other than the plan's, from the same labels.", "NAME"),
    details: bool = flag("Print all that it rests on too, for statisticians.", default=False),
    rel: int | None = flag("For an audit, the lowest grade that counts as relevant; default 1.", "N"),
    judge: Path | None = flag("An LLM's labels of all documents: does its order of the rankers hold?", "FILE"),
    families: Path | None = flag("Name and family of each ranker: which does --judge favour?", "FILE"),
) -> Answer:
    """Show what the labels so far say about the rankers, and whether you can stop judging.

    When everything is judged, --looks end prints the result of a single look at the end.
    For another measure, there is only that look. Of an audit, it shows error, precision, recall, F1 and agreement
    beyond chance of each judge, and how two judges differ, or the order of more. With --judge, it shows how far an
    LLM's order of the rankers is people's; --margin is then the half-width that you want for Kendall's tau.
    """
    if is_audit(labels.plan):
        others = measure, details or None, judge, families, asked.queries
        if any(each is not None for each in others) or look != Look() or asked.pair != Asked().pair:
            raise ValueError("an audit is answered at once, for all judges: leave out all options but --rel")
        return audit_shown(labels, asked, rel or 1)
    if rel is not None:
        raise ValueError("--rel is for audits; a plan has its measure, such as P(rel=2)@10")
    if measure is not None and look != Look() and judge is None:
        raise ValueError("--looks and --margin are for the plan's own measure")
    plan, given = labels.read()
    if judge is not None or families is not None:
        return _certified(plan, given, judge, families, look, asked, measure)
    looks = look.of(plan)
    words = given_words(**asked.pair, queries=asked.queries)
    ranked = looks is None and len(plan.rankers) > 2 and asked.pair == Asked().pair
    filled = looks is None and asked.missing is not None
    if measure is not None or ranked or filled or (len(plan.rankers) == 1 and look.margin is None):
        content, text = _at_the_end(plan, given, asked, measure)
        hint = "" if measure is not None else _page_of(labels, *words)
        return _with_agreement(Answer(content, text, hint), plan, given)
    state = plan.status(given, looks, look.margin, **asked.fields, **asked.pair)
    one = state.slowest if isinstance(state, PairStatus) else state
    if one is not state:  # a page so far is of one pair
        words = given_words(first=one.first, second=one.second, queries=asked.queries)
    hint = next_step(one, plan, labels, [*given_words(margin=look.margin), *words])
    text = state.details if details and isinstance(state, Status) else str(state)
    content = state.to_dict()
    if not (one.due or one.judged < one.drawn) and is_whole(plan, given):
        found, whole = _at_the_end(plan, given, asked)
        content |= found
        said = f"Everything is judged:\n{whole}"
        if looks is not None:
            said = "Everything is judged. If this is your first look, --looks end prints a single look at the end."
        text += f"\n\n{said}"
    return _with_agreement(Answer(content, text, hint), plan, given)


def _certified(
    plan: Plan, given: pd.DataFrame, judge: Path | None, families: Path | None, look: Look, asked: Asked, measure: Any
) -> Answer:
    """How far the leaderboard of a judge is that of people."""
    if judge is None or asked.first or asked.second or asked.queries == NEW or look.looks not in (None, AT_THE_END):
        raise ValueError("--judge, which --families needs, is for all rankers, --queries these and --looks end")
    how: dict[str, Any] = {"measure": measure, "confidence": asked.confidence, "missing": asked.missing or "error"}
    if families is not None:
        with naming(families):
            table = read_spreadsheet(read_source(families), ("name", "family"))
            if (twice := table["name"].duplicated()).any():
                raise ValueError(f"{some(table['name'][twice])} more than once; each ranker has one family")
        named = table[table["family"] != ""]
        how["families"] = dict(zip(named["name"], named["family"], strict=True))
    plan = plan if asked.missing else judged_part(plan, given)
    found = plan.certificate(given, judge, half_width=0.05 if look.margin is None else look.margin, **how)
    return Answer(found.to_dict(), str(found))


def _with_agreement(answer: Answer, plan: Plan, labels: pd.DataFrame) -> Answer:
    """An answer, with a line on how far judges agree if the labels are of several."""
    if not is_records(labels) or not (agree := plan.agreement(labels)).twice:
        return answer
    (_, alpha), (_, judged), *_ = agree.facts()
    line = f"Agreement of {how_many('judge', len(agree.judges))}: alpha {alpha}; {judged}. The report has each pair."
    content = answer.content | {"agreement": agree.to_dict()}
    return replace(answer, content=content, text=f"{answer.text}\n\n{line}")


def _at_the_end(
    plan: Plan, labels: pd.DataFrame, asked: Asked, measure: str | None = None
) -> tuple[dict[str, Any], str]:
    """A single look that was planned at what is judged: as JSON and as text."""
    if asked.missing is None:
        plan = judged_part(plan, labels)
    how: dict[str, Any] = {**asked.fields, "measure": measure, "missing": asked.missing or "error"}
    with warnings.catch_warnings():
        if len(plan.rankers) > 1:  # the answer is a difference, whose own warnings are shown
            warnings.simplefilter("ignore")
        estimates = plan.estimate(labels, **how)
    content: dict[str, Any] = {"estimates": {name: estimate.to_dict() for name, estimate in estimates.items()}}
    if len(plan.rankers) == 1:
        [estimate] = estimates.values()
        return content, str(estimate)
    if len(plan.rankers) > 2 and asked.pair == Asked().pair:
        ranking = plan.rank(labels, **how)
        return content | {"result": ranking.to_dict()}, str(ranking)
    result = plan.compare(labels, **how, **asked.pair)
    wide = max(map(len, estimates))
    lines = [str(result), *(f"  {name:{wide}}  {_in_short(each)}" for name, each in estimates.items())]
    if abs(estimates[result.first].value - estimates[result.second].value - result.difference) >= 5e-5:
        lines.append(f"  {DIRECTLY}")
    return content | {"result": result.to_dict()}, "\n".join(lines)


def _in_short(result: Estimate) -> str:
    low, high = result.confidence_interval()
    interval = f" [{low:.4f}, {high:.4f}]" if np.isfinite(low) else ""
    return f"{result.point:.4f}{interval}"


def report(
    labels: LabelFiles,
    asked: Asked,
    out: Path = flag("The file to create: HTML, or JSON if its name ends in .json.", "FILE", REQUIRED),
    slice: list[str] | None = flag("A column of the plan that groups queries; you may pass several.", "COLUMN"),
    so_far: bool = flag("Report before everything is judged, from the labels before the first gap.", default=False),
    margin: float | None = flag(MARGIN),
) -> Answer:
    """Write everything that a plan and its labels show into one file: HTML or JSON."""
    check_new(out)
    if not so_far and margin is not None:
        raise ValueError("--margin is for --so-far")
    plan, given = labels.read()
    if so_far and len(plan.rankers) > 2 and None in asked.pair.values():
        raise ValueError("a report of the labels so far is about one pair: pass --first and --second")
    about = {**asked.fields, **asked.pair}
    state: Any = plan.status(given, Look().of(plan), margin, **about) if so_far else None
    made = plan.report(out, given, missing=asked.missing or "error", slices=slice or [], status=state, **about)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


def next_step(state: Status, plan: Plan, labels: LabelFiles, asked: Sequence[str] = ()) -> str:
    """The hint below a status with what to type next; empty where its advice says all."""
    if state.resolved:
        # Without an estimate, since what comes first has no label, there is nothing to report.
        return _page_of(labels, "--so-far", *asked) if np.isfinite(state.value) else ""
    planned = state.unit in ("query", "part") and state.looks != ALWAYS
    if state.within_reach or (planned and state.judged < state.drawn):
        return _judge_on(state, labels)
    lacking = state.needed - plan.tables.manifest.limit
    if planned or not lacking > 0:
        return ""
    return f"Next, draw more:\n  {extension(labels.plan, rounded_up(lacking), labels.project)}"


def _judge_on(state: Status, labels: LabelFiles) -> str:
    """The hint to keep judging: in browsers where people have begun there, or in a worklist."""
    folder = labels.plan
    if kept := [file for file in labels.qrels if is_store(file)]:
        margin = state.margin if state.second is None else None
        asked = given_words(store=kept[-1], margin=margin, queries=NEW if state.holds_for_new else None)
        line = command_line("judge", folder, *asked, project=labels.project)
        return f"Next, let people keep judging, and ask again:\n  {line}"
    worklist = command_line("export", folder, "--out", beside(folder, ".csv"), "--format", TABLE_FORMAT)
    return f"Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"


def _page_of(labels: LabelFiles, *words: str) -> str:
    """The hint to put the labels of a plan on one page."""
    out = beside(labels.plan, ".html")
    line = command_line("report", labels.plan, *labels.qrels, *words, "--out", out, project=labels.project)
    return f"Next, put everything on one page:\n  {line}"


def gate(
    labels: LabelFiles,
    asked: Asked,
    look: Look,
    better: bool = flag("Whether it must be better, and not only no worse than by the margin.", default=False),
    ledger: Path | None = None,
) -> Answer:
    """Decide whether the first ranker may replace the second. Exit code 0: it may; 1: it may not; 3: not decided yet.

    The margin is how much worse the first ranker may be, or with --better how much better it must be. Pass --queries
    new to decide for queries like those of the plan, as for a release, or --queries these for its own queries alone;
    there is no default. With more than two rankers, pass --first and --second.
    """
    plan, given = labels.read()
    looks = look.of(plan)
    rule = BETTER if better else NON_INFERIOR
    about = {**asked.pair, "queries": asked.queries, "clusters": asked.clusters}

    def decide(confidence: float) -> Gate:
        return plan.gate(given, look.margin, rule, looks, confidence, **about)

    if ledger is None or (looks is None and not is_whole(plan, given)):  # which is no look
        decided = decide(asked.confidence)
    else:
        release = _release(plan, given, about, rule=rule, margin=Rule.of(rule, look.margin).margin, looks=looks)
        decided = decided_in(ledger, release, asked.confidence, decide)
    hint = ""
    if decided.outcome == UNRESOLVED and looks is not None:
        hint = next_step(decided.status, plan, labels)
    return Answer(decided.to_dict(), str(decided), hint, OUTCOMES[decided.outcome])


def _release(plan: Plan, labels: pd.DataFrame, about: Mapping[str, Any], **asked: Any) -> dict[str, Any]:
    """What a gate is asked, and of which labels, as a ledger knows it."""
    made = plan.tables.manifest
    first, second = (plan.rankers[each] for each in named_pair(plan.rankers, about["first"], about["second"]))
    seen = digest(checked_qrels(as_qrels(labels))[["qid", "docno", "label"]])[:16]
    of_plan = made.origin if asked["looks"] == ALWAYS else made.id  # whose order goes on in its extensions
    return {**about, **asked, "plan": of_plan, "first": first, "second": second, "labels": seen}
