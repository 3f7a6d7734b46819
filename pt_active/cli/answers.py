"""Commands that turn labels into answers: estimate, compare, status and report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

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
    read_judged,
    rounded_up,
)
from pt_active.cli.judge import kept_at
from pt_active.cli.options import look_choices, one_of
from pt_active.cli.texts import texts_for
from pt_active.frames.qrels import MISSING_POLICIES
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.several_judges import TIES
from pt_active.inference.stopping.looks import ALWAYS, ASYMPTOTIC
from pt_active.judging.server.store import is_store
from pt_active.plans.answers.pairwise import PairStatus
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.report import format_of
from pt_active.plans.answers.results import Comparison
from pt_active.plans.answers.status import Status
from pt_active.plans.making.judgments import RULES
from pt_active.plans.plan import Plan


def estimate(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    measure: options.Measure = None,
    estimator: options.Estimator = ESTIMATOR,
    confidence: options.Confidence = 0.95,
    missing: options.Missing = MISSING_POLICIES[0],
    so_far: options.SoFar = False,
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Estimate how good each ranker is."""
    loaded, labels, records = read_judged(plan, qrels, so_far, grade_names, rule, ties)
    estimates = loaded.estimate(labels, measure, estimator, confidence, missing, records=records)
    rows = {name: estimate.to_dict() for name, estimate in estimates.items()}
    kept = _kept(measure=measure, estimator=estimator, confidence=confidence, missing=missing, so_far=so_far)
    kept += _kept(grade_names=grade_names, rule=rule, ties=ties)
    return Answer(
        {"estimates": rows}, "\n\n".join(map(str, estimates.values())), _report_next(loaded, plan, qrels, kept)
    )


def compare(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    first: options.First = None,
    second: options.Second = None,
    measure: options.Measure = None,
    estimator: options.Estimator = ESTIMATOR,
    confidence: options.Confidence = 0.95,
    missing: options.Missing = MISSING_POLICIES[0],
    correction: Annotated[
        str | None, typer.Option(metavar="NAME", help="For many rankers: holm (default), tukey, …")
    ] = None,
    so_far: options.SoFar = False,
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Compare two rankers: which is better, by how much, and how sure that is. Without two names, rank all of many."""
    loaded, labels, records = read_judged(plan, qrels, so_far, grade_names, rule, ties)
    result: Comparison | Ranking
    if len(loaded.rankers) == 1:
        raise ValueError(f"the plan has one ranker, {loaded.rankers[0]}: use {command_line('estimate', plan, *qrels)}")
    if len(loaded.rankers) > 2 and first is None and second is None:
        result = loaded.rank(
            labels, measure, estimator, confidence, missing, correction=correction or "holm", records=records
        )
    elif correction is not None:
        raise ValueError("--correction is for more than two rankers, with neither --first nor --second")
    else:
        result = loaded.compare(
            labels, measure, estimator, confidence, missing, first=first, second=second, records=records
        )
    kept = _kept(measure=measure, estimator=estimator, confidence=confidence, missing=missing, so_far=so_far)
    kept += _kept(first=first, second=second, grade_names=grade_names, rule=rule, ties=ties)
    return Answer(result.to_dict(), str(result), _report_next(loaded, plan, qrels, kept))


def status(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    looks: options.Looks = None,
    margin: options.Margin = None,
    first: options.First = None,
    second: options.Second = None,
    confidence: options.Confidence = 0.95,
    missing: options.MissingSoFar = None,
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
) -> Answer:
    """Say whether the labels so far are enough to stop judging."""
    loaded, labels, records = read_judged(plan, qrels, False, grade_names, rule, ties)
    state = loaded.status(
        labels,
        looks_of(looks, loaded),
        margin,
        confidence,
        first=first,
        second=second,
        missing=missing,
        records=records,
    )
    asked = _kept(looks=looks, margin=margin, first=first, second=second, confidence=confidence, missing=missing)
    asked += _kept(grade_names=grade_names, rule=rule, ties=ties)
    one = state if isinstance(state, Status) else state.slowest
    if isinstance(state, PairStatus) and state.resolved:
        return Answer(state.to_dict(), str(state), _one_pair(one, plan, qrels))
    return Answer(state.to_dict(), str(state), next_step(one, loaded, plan, qrels, asked, given_words(missing=missing)))


def report(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to make.")],
    format: options.ReportFormat = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Document texts, to show; default: those that the plan keeps.")
    ] = None,
    slice: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Groups of queries by a column of the plan; repeat it.")
    ] = None,
    measure: options.Measure = None,
    estimator: options.Estimator = ESTIMATOR,
    confidence: options.Confidence = 0.95,
    missing: options.Missing = MISSING_POLICIES[0],
    so_far: options.SoFar = False,
    grade_names: options.GradeWords = None,
    rule: options.Rule = RULES[0],
    ties: options.Ties = TIES[0],
    looks: Annotated[str | None, one_of(look_choices, "With --so-far, how often one may look: {}.")] = None,
    margin: Annotated[
        float | None, typer.Option(metavar="X", help="With --so-far, differences up to this do not matter.")
    ] = None,
    first: options.First = None,
    second: options.Second = None,
) -> Answer:
    """Write everything that a plan and its labels say into one file: a page, Markdown or JSON."""
    from pt_active.plans.answers.report.report import Report

    check_new(out)
    kind = format_of(out, format)
    if not so_far and (looks is not None or margin is not None):
        raise ValueError("--looks and --margin are for --so-far")
    loaded, labels, records = read_judged(plan, qrels, False, grade_names, rule, ties)
    if so_far and len(loaded.rankers) > 2 and (first is None or second is None):
        raise ValueError("a report of what is judged so far is on one pair: say --first and --second")
    state = None
    if so_far:
        gaps = None if missing == MISSING_POLICIES[0] else missing
        looked = looks_of(looks, loaded), margin, confidence
        found = loaded.status(labels, *looked, first=first, second=second, missing=gaps, records=records)
        state = found if isinstance(found, Status) else None
    made = Report.of(
        loaded,
        labels,
        measure,
        estimator,
        confidence,
        missing,
        slices=slice or [],
        first=first,
        second=second,
        status=state,
        records=records,
        texts=None if texts is None else texts_for(loaded, texts),
    )
    made.save(out, kind)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


_DEFAULTS: dict[str, object] = {
    "estimator": ESTIMATOR,
    "confidence": 0.95,
    "missing": MISSING_POLICIES[0],
    "rule": RULES[0],
    "ties": TIES[0],
    "so_far": False,
}
"""Options of a report with the values that need not be typed."""


def _kept(**values: object) -> list[str]:
    """The options of an answer that a report of the same labels needs too, as they are typed."""
    given = {name: value for name, value in values.items() if value != _DEFAULTS.get(name)}
    flags = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is True]
    return [*flags, *given_words(**{name: value for name, value in given.items() if value is not True})]


def next_step(
    state: Status, loaded: Plan, plan: Path, qrels: list[Path], asked: list[str], extended: Sequence[str] = ()
) -> str:
    """The hint below a status: what to do or to type next."""
    hint = _next_step(state, loaded, plan, qrels, asked, extended)
    return f"{hint}\n{PASSED_OVER}" if holds_up(state) else hint


def holds_up(state: Status) -> bool:
    """Whether documents without a label keep others from counting, or from counting as they are."""
    return not state.resolved and bool(state.blocked or (state.looks is None and state.left_out))


PASSED_OVER = "If nobody will judge what has no label, --missing nonrelevant takes it as not relevant."
"""The end of the hint where labels do not count since others are missing."""


def _next_step(
    state: Status, loaded: Plan, plan: Path, qrels: list[Path], asked: list[str], extended: Sequence[str]
) -> str:
    whole = loaded.tables.manifest.rest is None
    if state.resolved and not whole:
        return "There is nothing more to judge: the interval above is the result."
    if state.resolved:
        page = new_path(plan.with_name(f"{plan.name}.html"))
        shown = command_line("report", plan, *qrels, "--so-far", *asked, "--out", page)
        return f"There is nothing more to judge: the interval above is the result. All of it on one page:\n  {shown}"
    planned = state.unit == "query" and state.looks not in (ALWAYS, ASYMPTOTIC)
    if state.within_reach or (planned and state.judged < state.drawn):
        once = f"{_AT_THE_END}\n" if state.looks is None and state.judged < state.drawn else ""
        if kept := [file for file in qrels if is_store(file)]:
            return f"{once}Next, let people judge on, and ask again:\n  {_judge_on(plan, kept[-1], state)}"
        order = ["--order", "drawn"] if state.unit != "round" else []
        out = new_path(plan.with_name(f"{plan.name}.csv"))
        worklist = command_line("export", plan, "--out", out, "--format", TABLE_FORMAT, *order)
        return f"{once}Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"
    if planned:
        return "The planned looks are over."
    if not whole:
        return "All that was drawn is judged. To judge more, plan again from the same logs with a larger budget."
    out = new_path(plan.with_name(f"{plan.name}-more"))
    lacking = state.needed - extended_from(loaded)
    budget = rounded_up(max(lacking, least_round(loaded))) if lacking > 0 else "BUDGET"
    refit = ["--refit"] if any(each.refitted for each in loaded.tables.manifest.rounds) else []
    more = command_line("extend", plan, *qrels, *refit, *extended, "--budget", budget, "--out", out)
    return f"Next, draw {'another round' if state.unit == 'round' else 'more'}:\n  {more}"


def _judge_on(plan: Path, kept: Path, state: Status) -> str:
    """The command that lets people judge on in their browsers, where they have begun."""
    store: list[str | Path] = [] if kept.absolute() == kept_at(plan).absolute() else ["--store", kept]
    return command_line("judge", plan, *store, *(given_words(margin=state.margin) if state.second is None else []))


def _one_pair(state: Status, plan: Path, qrels: list[Path]) -> str:
    """The hint below the status of all pairs if all are settled."""
    page, pair = new_path(plan.with_name(f"{plan.name}.html")), given_words(first=state.first, second=state.second)
    shown = command_line("report", plan, *qrels, "--so-far", *pair, "--out", page)
    return f"There is nothing more to judge. One pair on one page, at the level of this pair alone:\n  {shown}"


def _report_next(loaded: Plan, plan: Path, qrels: list[Path], kept: list[str]) -> str:
    if loaded.tables.manifest.rest is not None:
        return ""
    page = new_path(plan.with_name(f"{plan.name}.html"))
    return f"All of it on one page:\n  {command_line('report', plan, *qrels, *kept, '--out', page)}"


_AT_THE_END = "There is one look, at the end: the labels so far are kept, and are estimated from when all are there."
