"""Which releases have the gates of a project decided, and at which level is the next one tested?

A ledger has a line of JSON for each look of a gate at other labels. Of looks at the end, each is a release; of others,
all that ask the same of a plan. The number of a release is the place of its first line, and its level follows from it:
several processes may add lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pt_active.frames.atomic import append_line
from pt_active.frames.checks import shown
from pt_active.frames.sources import naming, read_source
from pt_active.frames.tables import read_json_lines
from pt_active.inference.stopping.looks import release_level
from pt_active.plans.answers.gate import OUTCOMES, PASS, Gate, Release

ASKED = ("plan", "first", "second", "rule", "margin", "queries", "clusters", "looks")
"""The keys of a line that say what was asked; ``plan`` is a digest."""

KEYS = (*ASKED, "labels", "confidence", "outcome")
"""All keys: ``labels`` is a digest, ``confidence`` that of all releases together, and ``outcome`` that of the gate."""

Line = Mapping[str, Any]


def read_ledger(file: Path) -> list[Line]:
    """The lines of a ledger; none if it is not there yet."""
    source = read_source(file) if file.exists() else None
    if source is None or not source.content.strip():
        return []
    with naming(file):
        if not source.content.endswith(b"\n"):
            raise ValueError("the last line has no end: delete it if it is cut off, since its gate has not answered")
        rows = read_json_lines(source, KEYS)
        for number, outcome in rows["outcome"].items():
            if outcome not in OUTCOMES:
                raise ValueError(f"line {number}: outcome must be one of {', '.join(OUTCOMES)}, got {shown(outcome)}")
    return [dict(zip(KEYS, row, strict=True)) for row in rows.to_numpy()]


def place_in(file: Path, lines: list[Line], asked: Line, confidence: float) -> Release:
    """The place of a release among those of a ledger; if it is not there yet, the next one."""
    if kept := [line["confidence"] for line in lines if line["confidence"] != confidence]:
        raise ValueError(f"{file}: its releases share confidence={shown(kept[0])}; keep that, or begin another ledger")
    outcomes = {_release(line): line["outcome"] for line in lines}
    own, places = _release(asked), list(outcomes)
    number = places.index(own) if own in outcomes else len(places)
    claims = [*outcomes.values()].count(PASS) - (outcomes.get(own) == PASS)
    alpha = (1 - confidence) / 2  # wrong passes and wrong fails have a half each
    return Release(file.name, number + 1, claims, release_level(number + 1, alpha), alpha)


def decided_in(file: Path, asked: Line, confidence: float, decide: Callable[[float], Gate]) -> Gate:
    """What a gate decides at the level of its release, once that stands in the ledger.

    ``asked`` has the values of `ASKED` and ``labels``, ``decide`` is the gate at a level of confidence.
    """
    release, gate, lines = None, None, read_ledger(file)
    while gate is None or release != gate.release:  # at first, and if another process came first
        release = place_in(file, lines, asked, confidence)
        gate = replace(decide(1 - 2 * release.level), release=release)
        line = {**asked, "confidence": confidence, "outcome": gate.outcome}
        if line not in lines:
            append_line(file, json.dumps(line))
            lines = read_ledger(file)
        release = place_in(file, lines, asked, confidence)
    return gate


def _release(line: Line) -> str:
    keys = ASKED if line["looks"] is not None else (*ASKED, "labels")
    return json.dumps([line[key] for key in keys])
