"""Commands that turn labels into answers: status, report and gate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import MISSING, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pt_active.cli.answer import (
    Answer,
    beside,
    check_new,
    command_line,
    extended_from,
    kept_at,
    rounded_up,
)
from pt_active.cli.commands import given_words, option, words_of
from pt_active.cli.options import (
    LabelFiles,
    Labelled,
    Look,
    Meant,
    Pair,
    confidence_level,
    for_any_missing,
    largest_margin,
)
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import how_many
from pt_active.frames.visible import visible
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.new_queries import NEW
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.judging.server.store import is_store
from pt_active.plans.answers.gate import BETTER, FAIL, NON_INFERIOR, PASS, UNRESOLVED, Gate
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import DIRECTLY, Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan

OUTCOMES = {PASS: 0, FAIL: 1, UNRESOLVED: 3}
"""Outcome → exit code, where 2 is bad input."""


def status(
    labels: LabelFiles,
    look: Look,
    pair: Pair,
    meant: Meant,
    measure: str | None = option(None, "A measure other than the plan's, from the same labels.", "NAME"),
    confidence: float = confidence_level(),
    missing: str | None = for_any_missing(),
    details: bool = option(False, "Print all that it rests on too, for statisticians."),
) -> Answer:
    """Show what the labels so far say about the rankers, and whether you can stop judging.

    When everything is judged, one more line has the result of a single look at the end; --looks end prints it in full.
    For another measure, there is only that look.
    """
    if measure is not None and look != Look():
        raise ValueError("--looks and --margin are for the plan's own measure")
    labelled = labels.read()
    plan, looks = labelled.plan, look.of(labelled.plan)
    level = None if confidence == 0.95 else confidence
    words = [*words_of(pair), *words_of(meant), *given_words(confidence=level, missing=missing), *words_of(labels)]

    def at_the_end() -> tuple[Comparison | Ranking | None, dict[str, Estimate]]:
        return _at_the_end(labelled, pair, measure, meant, confidence, missing)

    alone = len(plan.rankers) == 1 and look.margin is None
    if measure is not None or alone or (looks is None and len(plan.rankers) > 2 and pair == Pair()):
        hint = "" if measure is not None else f"All of it on one page:\n  {_page_of(labels, *words)}"
        return _with_agreement(_of_results(*at_the_end(), hint), labelled)
    about: dict[str, Any] = {**vars(pair), **meant.fields, "missing": missing, "records": labelled.records}
    state = plan.status(labelled.qrels, looks, look.margin, confidence, **about)
    one = state if isinstance(state, Status) else state.slowest
    if isinstance(state, PairStatus) and state.resolved:
        shown = _page_of(labels, "--so-far", *given_words(first=one.first, second=one.second))
        hint = f"There is nothing more to judge. One pair on one page, at the level of this pair alone:\n  {shown}"
    else:
        hint = next_step(one, plan, labels, [*given_words(margin=look.margin), *words])
    answer = Answer(state.to_dict(), state.details if details and isinstance(state, Status) else str(state), hint)
    if not (one.due or one.judged < one.drawn or (missing is None and not labelled.is_whole)):
        result, estimates = at_the_end()
        end = _of_results(result, estimates, "")
        said = f"Everything is judged:\n{end.text}" if looks is None else _one_look(result, estimates)
        answer = replace(answer, content=answer.content | end.content, text=f"{answer.text}\n\n{said}")
    return _with_agreement(answer, labelled)


def _with_agreement(answer: Answer, labelled: Labelled) -> Answer:
    """An answer, with a line on how far judges agree if the labels are of several."""
    if labelled.records is None:
        return answer
    agree = labelled.plan.agreement(labelled.records)
    if not agree.twice:
        return answer
    alpha, judged = (said for _, said in agree.facts()[:2])
    told = f"Agreement of {how_many('judge', len(agree.judges))}: alpha {alpha}; {judged}. The report has each pair."
    return replace(answer, content=answer.content | {"agreement": agree.to_dict()}, text=f"{answer.text}\n\n{told}")


def _one_look(result: Comparison | Ranking | None, estimates: dict[str, Estimate]) -> str:
    if isinstance(result, Ranking):
        apart = sum(winner is not None for winner in result.winners)
        said = f"tells {apart} of {how_many('pair', len(result.comparisons))} apart"
    else:
        p_value = f", p = {result.pvalue:.3g}" if result and np.isfinite(result.pvalue) else ""
        said = f"says {_in_short(result or next(iter(estimates.values())))}{p_value}"
    return f"If this is your first look, a single look at the end {said}; --looks end prints it in full."


def _at_the_end(
    labelled: Labelled, pair: Pair, measure: str | None, meant: Meant, confidence: float, missing: str | None
) -> tuple[Comparison | Ranking | None, dict[str, Estimate]]:
    """What one look says that was planned at what is judged: of two rankers or all, and of each."""
    plan = labelled.judged if missing is None else labelled.plan
    how = labelled.qrels, measure, ESTIMATOR, confidence, missing or "error"
    about: dict[str, Any] = meant.fields | {"records": labelled.records}
    with warnings.catch_warnings():
        if len(plan.rankers) > 1:  # what is asked for is a difference, whose own warnings are told
            warnings.simplefilter("ignore")
        estimates = plan.estimate(*how, **about)
    if len(plan.rankers) == 1:
        return None, estimates
    if len(plan.rankers) > 2 and pair == Pair():
        return plan.rank(*how, **about), estimates
    return plan.compare(*how, **about | vars(pair)), estimates


def _of_results(result: Comparison | Ranking | None, estimates: dict[str, Estimate], hint: str) -> Answer:
    """The answer of a look at the end."""
    rows = {name: each.to_dict() for name, each in estimates.items()}
    each = "\n\n".join(map(str, estimates.values()))
    if result is None:
        return Answer({"estimates": rows}, each, hint)
    text = str(result)
    if isinstance(result, Comparison):
        wide = max(map(len, estimates))
        text += "".join(f"\n  {name:{wide}}  {_in_short(each)}" for name, each in estimates.items())
        apart = estimates[result.first].value - estimates[result.second].value - result.difference
        text += f"\n  {DIRECTLY}" if abs(apart) >= 5e-5 else ""
    return Answer({"result": result.to_dict(), "estimates": rows}, text, hint)


def _in_short(result: Estimate | Comparison) -> str:
    low, high = result.confidence_interval()
    interval = f" [{low:.4f}, {high:.4f}]" if np.isfinite(low) else ""
    return f"{result.point:{'+' if isinstance(result, Comparison) else ''}.4f}{interval}"


def report(
    labels: LabelFiles,
    pair: Pair,
    meant: Meant,
    out: Path = option(MISSING, "The file to create: HTML, or JSON if its name ends in .json.", "FILE"),
    so_far: bool = option(False, "Report before everything is judged, from the labels before the first gap."),
    margin: float | None = largest_margin(),
    slice: list[str] | None = option(None, "A column of the plan that groups queries; you may pass several.", "COLUMN"),
    confidence: float = confidence_level(),
    missing: str | None = for_any_missing(),
) -> Answer:
    """Write everything that a plan and its labels show into one file: HTML or JSON."""
    from pt_active.plans.answers.report.report import Report

    check_new(out)
    if not so_far and margin is not None:
        raise ValueError("--margin is for --so-far")
    plan, qrels, records = labels.read()
    if so_far and len(plan.rankers) > 2 and None in (pair.first, pair.second):
        raise ValueError("a report of the labels so far is about one pair: pass --first and --second")
    about: dict[str, Any] = vars(pair) | meant.fields | {"records": records}
    state = None
    if so_far:
        found = plan.status(qrels, Look().of(plan), margin, confidence, **about, missing=missing)
        state = found if isinstance(found, Status) else None
    about |= {"confidence": confidence, "missing": missing or "error"}
    about |= {"slices": slice or [], "status": state}
    made = Report.of(plan, qrels, **about)
    made.save(out)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


def next_step(state: Status, plan: Plan, labels: LabelFiles, asked: Sequence[str] = ()) -> str:
    """The hint below a status: what to do or to type next."""
    if state.resolved and not np.isfinite(state.value):  # what comes first has no label
        return "The verdict stands. For an estimate and a report, judge what was passed over first."
    if state.resolved:
        page = _page_of(labels, "--so-far", *asked)
        return f"You can stop judging: the interval at the top is the result. To put everything on one page:\n  {page}"
    planned = state.unit in ("query", "part") and state.looks != ALWAYS
    if state.within_reach or (planned and state.judged < state.drawn):
        return _judge_on(state, labels)
    if planned:
        return "That was the last planned look."
    if state.holds_for_new and not np.isfinite(state.needed):
        return "Plan again with more queries."
    lacking, least = state.needed - extended_from(plan), 0.0
    if plan.tables.rounds and not has_order(plan.tables):
        least = float(np.nanmax(plan.tables.pool.query_cost))  # all documents of a query are drawn at once
    budget = rounded_up(max(lacking, least)) if lacking > 0 else "BUDGET"
    more = command_line("plan", "--extend", labels.plan, "--budget", budget, "--out", beside(labels.plan, "-more"))
    return f"Next, draw more:\n  {more}"


def _judge_on(state: Status, labels: LabelFiles) -> str:
    """The hint to keep judging: in browsers where people have begun there, or in a worklist."""
    once = state.looks is None and state.judged < state.drawn
    at_the_end = "There is one look, at the end: the labels so far are kept until all are there.\n"
    hint, folder = at_the_end if once else "", labels.plan
    if kept := [file for file in labels.qrels if is_store(file)]:
        store = [] if kept[-1].absolute() == kept_at(folder).absolute() else ["--store", str(kept[-1])]
        asked = given_words(
            margin=state.margin if state.second is None else None, queries=NEW if state.holds_for_new else None
        )
        return f"{hint}Next, let people keep judging, and ask again:\n  {command_line('judge', folder, *store, *asked)}"
    worklist = command_line("export", folder, "--out", beside(folder, ".csv"), "--format", TABLE_FORMAT)
    return f"{hint}Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"


def _page_of(labels: LabelFiles, *words: str) -> str:
    """The command that puts the labels of a plan on one page."""
    return command_line("report", labels.plan, *labels.qrels, *words, "--out", beside(labels.plan, ".html"))


def gate(
    labels: LabelFiles,
    pair: Pair,
    meant: Meant,
    look: Look,
    better: bool = option(False, "Whether it must be better, and not only no worse than by the margin."),
    confidence: float = confidence_level(),
    junit: Path | None = option(None, "A JUnit file to create.", "FILE"),
) -> Answer:
    """Decide whether the first ranker may replace the second. Exit code 0: it may; 1: it may not; 3: not decided yet.

    The margin is how much worse the first ranker may be, or with --better how much better it must be. Pass --queries
    new to decide for queries like those of the plan, as for a release, or --queries these for its own queries alone;
    there is no default. With more than two rankers, pass --first and --second.
    """
    plan, qrels, records = labels.read()
    often, asked = look.of(plan), BETTER if better else NON_INFERIOR
    about: dict[str, Any] = {**vars(meant), **vars(pair), "records": records}
    decided = plan.gate(qrels, look.margin, asked, often, confidence, **about)
    if junit is not None:
        write_file(junit, in_junit(decided), replace=True)
    hint = ""
    if decided.outcome == UNRESOLVED and often is not None:
        hint = next_step(decided.status, plan, labels)
    return Answer(decided.to_dict(), str(decided), hint, OUTCOMES[decided.outcome])


def in_junit(gate: Gate) -> str:
    """The gate as a JUnit file with one test case; an undecided gate is an error, which fails a build as well."""
    failed, errors = (str(int(gate.outcome == outcome)) for outcome in (FAIL, UNRESOLVED))
    suite = ElementTree.Element("testsuite", name="pt-active gate", tests="1", failures=failed, errors=errors)
    case = ElementTree.SubElement(suite, "testcase", classname=gate.status.measure, name=visible(gate.question))
    if gate.outcome != PASS:
        kind = "failure" if gate.outcome == FAIL else "error"
        wrong = ElementTree.SubElement(case, kind, type=gate.outcome, message=visible(gate.answer))
        wrong.text = str(gate)
    else:
        ElementTree.SubElement(case, "system-out").text = str(gate)
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'
