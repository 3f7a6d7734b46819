"""The command that decides whether a ranker may be released."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pt_active.cli.answer import AT_THE_END, Answer
from pt_active.cli.answers import PASSED_OVER, holds_up, next_step
from pt_active.cli.commands import given_words, option
from pt_active.cli.files import named_file
from pt_active.cli.options import LabelFiles, Look, Meant, Pair, confidence_level, for_any_missing
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import some
from pt_active.frames.trec import read_run
from pt_active.frames.visible import visible
from pt_active.inference.stopping.looks import ALWAYS
from pt_active.plans.answers.gate import BETTER, FAIL, NON_INFERIOR, PASS, UNRESOLVED, Gate
from pt_active.plans.plan import Plan

CODES = {PASS: 0, FAIL: 1, UNRESOLVED: 3}
"""Outcome → exit code; 2 is bad input."""

_LEVELS = {PASS: "notice", FAIL: "error", UNRESOLVED: "warning"}
"""Outcome → the kind of annotation in a GitHub workflow."""


def gate(
    labels: LabelFiles,
    pair: Pair,
    meant: Meant,
    margin: float | None = option(None, "How much worse the first ranker may be; with --better, how much better."),
    better: bool = option(
        False, "Whether it has to be better, or not worse by the margin.", typed="--better/--non-inferior"
    ),
    looks: str | None = option(
        None,
        "How often one may ask: {}; end is once, when all is judged, and the default without an order.",
        "NAME",
        names=(ALWAYS, AT_THE_END),
    ),
    run: str | None = option(
        None, "A ranker that came after the plan, to decide on from the same labels.", "NAME=FILE"
    ),
    confidence: float = confidence_level(),
    missing: str | None = for_any_missing(),
    junit: Path | None = option(None, "A JUnit file to write.", "FILE"),
    github: bool = option(False, "Print an annotation of a GitHub workflow."),
) -> Answer:
    """Decide whether a ranker, the first, may replace the second. Exit code 0: it passes; 1: it fails; 3: not decided.

    Without --first and --second, it is the first of two that may replace the second. Pass
    --queries new for queries like those of the plan, as a release will answer, or --queries these: there is no default.
    """
    plan, qrels, records = labels.read()
    often, asked = Look(looks=looks).of(plan), BETTER if better else NON_INFERIOR
    if run is not None:
        if pair.first is not None or looks is not None or missing is not None:
            raise ValueError("--run is the first ranker, looked at once: leave out --first, --looks and --missing")
        name, file = named_file(run, "--run")
        baseline = _baseline(plan, pair.second)
        later = qrels, read_run(file), baseline, margin, asked, confidence
        decided, often = plan.gate_later(*later, **vars(meant), name=name), None
    else:
        about: dict[str, Any] = {**vars(meant), **vars(pair), "missing": missing, "records": records}
        decided = plan.gate(qrels, margin, asked, often, confidence, **about)
    if junit is not None:
        write_file(junit, in_junit(decided), replace=True)
    text = f"{in_github(decided)}\n{decided}" if github else str(decided)
    hint = ""
    if decided.outcome == UNRESOLVED and often is not None:
        hint = next_step(decided.status, plan, labels, extended=given_words(missing=missing))
    elif decided.outcome == UNRESOLVED and holds_up(decided.status):
        hint = PASSED_OVER
    return Answer(decided.to_dict(), text, hint, CODES[decided.outcome])


def _baseline(plan: Plan, second: str | None) -> str:
    """The ranker of the plan that a later one would replace."""
    if second is None and len(plan.rankers) > 1:
        raise ValueError(f"pass --second, the ranker that --run would replace: one of {some(plan.rankers, 20)}")
    return second or plan.rankers[0]


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


def in_github(gate: Gate) -> str:
    """The gate as an annotation of a GitHub workflow, one line."""
    state = gate.status
    interval = f"{state.what} {state.point} [{state.low:+.4f}, {state.high:+.4f}]" if np.isfinite(state.low) else ""
    said = "; ".join(filter(None, [gate.answer, interval, gate.advice]))
    title = _escaped(f"{state.measure}: {gate.question}").replace(":", "%3A").replace(",", "%2C")
    return f"::{_LEVELS[gate.outcome]} title={title}::{_escaped(said)}"


def _escaped(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
