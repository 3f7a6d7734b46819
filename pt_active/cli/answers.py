"""Commands that turn labels into answers: estimate, compare, status and report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli import options
from pt_active.cli.command_line import (
    Answer,
    check_new,
    command_line,
    extended_from,
    given_words,
    least_round,
    looks_of,
    new_path,
    rounded_up,
)
from pt_active.cli.judge import kept_at
from pt_active.cli.options import look_choices, one_of
from pt_active.cli.texts import texts_for
from pt_active.frames.qrels import MISSING_POLICIES
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.inference.stopping.looks import ALWAYS, ASYMPTOTIC
from pt_active.judging.server.store import is_store
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison
from pt_active.plans.answers.status import Status
from pt_active.plans.plan import Plan
from pt_active.showing.page import format_of


def estimate(labels: options.Labels, asked: options.Estimated) -> Answer:
    """Estimate how good each ranker is."""
    plan, qrels, records = labels.read(asked.so_far)
    estimates = plan.estimate(qrels, *asked.how, records=records)
    rows = {name: estimate.to_dict() for name, estimate in estimates.items()}
    return Answer({"estimates": rows}, "\n\n".join(map(str, estimates.values())), _report_next(plan, labels, asked))


def compare(
    labels: options.Labels,
    pair: options.Pair,
    asked: options.Estimated,
    correction: Annotated[
        str | None, typer.Option(metavar="NAME", help="For many rankers: holm (default), tukey, …")
    ] = None,
) -> Answer:
    """Compare two rankers: which is better, by how much, and how sure that is. Without two names, rank all of many."""
    plan, qrels, records = labels.read(asked.so_far)
    result: Comparison | Ranking
    if len(plan.rankers) == 1:
        instead = command_line("estimate", labels.plan, *labels.qrels)
        raise ValueError(f"the plan has one ranker, {plan.rankers[0]}: use {instead}")
    if len(plan.rankers) > 2 and pair == options.Pair():
        result = plan.rank(qrels, *asked.how, correction=correction or "holm", records=records)
    elif correction is not None:
        raise ValueError("--correction is for more than two rankers, with neither --first nor --second")
    else:
        result = plan.compare(qrels, *asked.how, first=pair.first, second=pair.second, records=records)
    return Answer(result.to_dict(), str(result), _report_next(plan, labels, asked, pair))


@dataclass(frozen=True)
class Look(options.Typed):
    """When one looks at the labels so far, and what matters then."""

    looks: options.Looks = None
    margin: options.Margin = None
    confidence: options.Confidence = 0.95
    missing: options.MissingSoFar = None


def status(labels: options.Labels, look: Look, pair: options.Pair) -> Answer:
    """Say whether the labels so far are enough to stop judging."""
    plan, qrels, records = labels.read()
    how = looks_of(look.looks, plan), look.margin, look.confidence
    about: dict[str, Any] = {**vars(pair), "missing": look.missing}
    state = plan.status(qrels, *how, **about, records=records)
    one = state if isinstance(state, Status) else state.slowest
    if isinstance(state, PairStatus) and state.resolved:
        return Answer(state.to_dict(), str(state), _one_pair(one, labels))
    again = [*look.words(), *pair.words(), *labels.words()]
    hint = next_step(one, plan, labels, again, given_words(missing=look.missing))
    return Answer(state.to_dict(), str(state), hint)


def report(
    labels: options.Labels,
    asked: options.Estimated,
    pair: options.Pair,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: options.ReportFormat = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Document texts, to show; default: those that the plan keeps.")
    ] = None,
    slice: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Groups of queries by a column of the plan; repeat it.")
    ] = None,
    looks: Annotated[str | None, one_of(look_choices, "With --so-far, how often one may look: {}.")] = None,
    margin: Annotated[
        float | None, typer.Option(metavar="X", help="With --so-far, differences up to this do not matter.")
    ] = None,
) -> Answer:
    """Write everything that a plan and its labels say into one file: a page, Markdown or JSON."""
    from pt_active.plans.answers.report.report import Report

    check_new(out)
    kind = format_of(out, format)
    if not asked.so_far and (looks is not None or margin is not None):
        raise ValueError("--looks and --margin are for --so-far")
    plan, qrels, records = labels.read()
    if asked.so_far and len(plan.rankers) > 2 and None in (pair.first, pair.second):
        raise ValueError("a report of what is judged so far is on one pair: say --first and --second")
    about: dict[str, Any] = {**vars(pair), "records": records}
    state = None
    if asked.so_far:
        gaps = None if asked.missing == MISSING_POLICIES[0] else asked.missing
        found = plan.status(qrels, looks_of(looks, plan), margin, asked.confidence, **about, missing=gaps)
        state = found if isinstance(found, Status) else None
    shown = None if texts is None else texts_for(plan, texts)
    made = Report.of(plan, qrels, *asked.how, **about, slices=slice or [], status=state, texts=shown)
    made.save(out, kind)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


def next_step(
    state: Status, plan: Plan, labels: options.Labels, asked: Sequence[str] = (), extended: Sequence[str] = ()
) -> str:
    """The hint below a status: what to do or to type next."""
    hint = _next_step(state, plan, labels, asked, extended)
    return f"{hint}\n{PASSED_OVER}" if holds_up(state) else hint


def holds_up(state: Status) -> bool:
    """Whether documents without a label keep others from counting, or from counting as they are."""
    return not state.resolved and bool(state.blocked or (state.looks is None and state.left_out))


PASSED_OVER = "If nobody will judge what has no label, --missing nonrelevant takes it as not relevant."
"""The end of the hint where labels do not count since others are missing."""


def _next_step(state: Status, plan: Plan, labels: options.Labels, asked: Sequence[str], extended: Sequence[str]) -> str:
    manifest, folder, qrels = plan.tables.manifest, labels.plan, labels.qrels
    whole = manifest.rest is None
    if state.resolved and not whole:
        return "There is nothing more to judge: the interval above is the result."
    if state.resolved:
        shown = _page_of(labels, "--so-far", *asked)
        return f"There is nothing more to judge: the interval above is the result. All of it on one page:\n  {shown}"
    planned = state.unit == "query" and state.looks not in (ALWAYS, ASYMPTOTIC)
    if state.within_reach or (planned and state.judged < state.drawn):
        once = f"{_AT_THE_END}\n" if state.looks is None and state.judged < state.drawn else ""
        if kept := [file for file in qrels if is_store(file)]:
            return f"{once}Next, let people judge on, and ask again:\n  {_judge_on(folder, kept[-1], state)}"
        order = ["--order", "drawn"] if state.unit != "round" else []
        out = new_path(folder.with_name(f"{folder.name}.csv"))
        worklist = command_line("export", folder, "--out", out, "--format", TABLE_FORMAT, *order)
        return f"{once}Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"
    if planned:
        return "The planned looks are over."
    if not whole:
        return "All that was drawn is judged. To judge more, plan again from the same logs with a larger budget."
    out = new_path(folder.with_name(f"{folder.name}-more"))
    lacking = state.needed - extended_from(plan)
    budget = rounded_up(max(lacking, least_round(plan))) if lacking > 0 else "BUDGET"
    refit = ["--refit"] if any(each.refitted for each in manifest.rounds) else []
    more = command_line("extend", folder, *qrels, *refit, *extended, "--budget", budget, "--out", out)
    return f"Next, draw {'another round' if state.unit == 'round' else 'more'}:\n  {more}"


def _judge_on(plan: Path, kept: Path, state: Status) -> str:
    """The command that lets people judge on in their browsers, where they have begun."""
    store: list[str | Path] = [] if kept.absolute() == kept_at(plan).absolute() else ["--store", kept]
    return command_line("judge", plan, *store, *(given_words(margin=state.margin) if state.second is None else []))


def _one_pair(state: Status, labels: options.Labels) -> str:
    """The hint below the status of all pairs if all are settled."""
    shown = _page_of(labels, "--so-far", *given_words(first=state.first, second=state.second))
    return f"There is nothing more to judge. One pair on one page, at the level of this pair alone:\n  {shown}"


def _report_next(plan: Plan, labels: options.Labels, *asked: options.Typed) -> str:
    if plan.tables.manifest.rest is not None:
        return ""
    again = [word for each in (*asked, labels) for word in each.words()]
    return f"All of it on one page:\n  {_page_of(labels, *again)}"


def _page_of(labels: options.Labels, *words: str) -> str:
    """The command that puts the labels of a plan on one page."""
    page = new_path(labels.plan.with_name(f"{labels.plan.name}.html"))
    return command_line("report", labels.plan, *labels.qrels, *words, "--out", page)


_AT_THE_END = "There is one look, at the end: the labels so far are kept, and are estimated from when all are there."
