"""The command that begins: init looks at the files and writes the project file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pt_active.cli import options
from pt_active.cli.asking import Asked
from pt_active.cli.collection import OF_RUNS, PoolFiles
from pt_active.cli.command_line import Answer, check_new, command_line
from pt_active.cli.fits import Files, Finding, check_past, findings
from pt_active.cli.options import one_of
from pt_active.cli.pools import run_files
from pt_active.cli.project import FILE, project_text
from pt_active.frames.atomic import write_file
from pt_active.frames.checks import how_many, positive
from pt_active.frames.topics import dataset_id
from pt_active.frames.trec import read_run
from pt_active.frames.visible import visible

MEASURE = "DCG@10"
"""The measure that is proposed: its documents come one after the other, so that one may stop at any label."""

PLAN = Path("my-plan")

ROAD = (("plan",), ("judge",), ("status",), ("report", "--so-far"))
"""The commands that take everything from the project file, in the order in which they are used."""

COMMENTS = (
    "What pt-active plan, judge, status and report use. Options that are typed come first.",
    "Keys are called as the options are; names of files are relative to this file. Labels are looked for where",
    'pt-active judge keeps them; if they are elsewhere: labels = "judged.csv"',
)


def init(
    source: PoolFiles,
    measure: Annotated[str | None, one_of(options.MEASURES, f"What to estimate; default {MEASURE}.")] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="How many documents people can judge at most.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--plan", metavar="DIR", help="The folder that pt-active plan is to make.")
    ] = PLAN,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The project file to make.")] = FILE,
) -> Answer:
    """Say which files belong together, check that they do, and keep it in pt-active.toml. Asks if nothing is said."""
    check_new(out)
    asked = Asked(MEASURE) if source == PoolFiles() and measure is None and budget is None else None
    try:
        if asked is not None:
            asked.ask()
            source, measure, budget = asked.source, asked.measure, asked.budget
        measure = measure or MEASURE
        source.check()
        if budget is None:
            raise ValueError("say --budget, how many documents people can judge at most")
        if not (source.pool or source.train_qrels or source.judge or source.max_grade):
            raise ValueError(
                "say --train-qrels, past judgments, or --judge, labels of an LLM; without either, --max-grade N, the "
                "highest grade"
            )
        source, files = _with_past_runs(source, Files.read(source) if asked is None else asked.files)
        found = findings(files, source, measure, positive("budget", budget))
    except (typer.Abort, ValueError) as ended:
        if asked is None:
            raise
        if asked.source.run:
            typer.echo(f"\nThe answers so far, to go on from:\n  {visible(asked.command)}", err=True)
        if isinstance(ended.__context__, EOFError):
            raise ValueError("the answers end too early; say --run, --budget, … instead") from ended
        raise
    values = _values(source, measure, budget, folder, out)
    write_file(out, project_text(values, COMMENTS))
    content = {"file": str(out), **values, "findings": [vars(each) for each in found]}
    doubts = sum(each.wrong for each in found)
    first = f"First look at the {how_many('line', doubts)} with an exclamation mark.\n" if doubts else ""
    elsewhere: list[str | Path] = [] if out == FILE else ["--project", out]
    road = "\n".join(f"  {command_line(*each, *elsewhere)}" for each in ROAD)
    hint = (
        f"{first}Next, choose what to judge, let people judge it in their browsers, look whenever you like, and report:"
    )
    return Answer(content, f"{_told(found)}\n\nThis is kept in {out}.", f"{hint}\n{road}")


def _told(found: list[Finding]) -> str:
    wide = max(len(each.about) for each in found)
    return "\n".join(f"{'!' if each.wrong else ' '} {each.about:{wide}}  {each.said}" for each in found)


def _with_past_runs(source: PoolFiles, files: Files) -> tuple[PoolFiles, Files]:
    """The files, with the runs to compare as past runs too if no others are given and the judgments are of them."""
    if source.train_qrels is None or source.train_run or source.judge or not source.run:
        return source, files
    check_past(files, source)
    paths = [Path(file) for file in run_files(source.run).values()]
    lenient = "skip" if source.lenient else "raise"
    past = pd.concat([read_run(path, lenient) for path in paths], ignore_index=True)
    return replace(source, train_run=paths), replace(files, past=past)


def _values(source: PoolFiles, measure: str, budget: float, plan: Path, out: Path) -> dict[str, Any]:
    """The keys of the project file; names of files are relative to its folder."""
    report = plan.with_name(f"{plan.name}.html")
    values: dict[str, Any] = {
        "plan": _from(plan, out),
        "report": _from(report, out),
        "measure": measure,
        "budget": _plain(budget),
    }
    for name in ("topics", "texts", "pool", *OF_RUNS):
        value = getattr(source, name)
        if value not in (None, False, []):
            values[name.replace("_", "-")] = _in_file(name, value, out)
    runs = {name: _from(file, out) for name, file in run_files(source.run or []).items()}
    return values | ({"runs": runs} if runs else {})


def _in_file(name: str, value: Any, out: Path) -> Any:
    if name == "judge":
        return [_judge(each, out) for each in value]
    if isinstance(value, list):
        return [_from(each, out) for each in value]
    return _from(value, out) if isinstance(value, Path) else value


def _judge(given: str, out: Path) -> str:
    name, equals, file = given.partition("=")
    return f"{name}={_from(file, out)}" if equals and not Path(given).is_file() else _from(given, out)


def _from(file: str | Path, out: Path) -> str:
    """The name of a file as seen from the folder of the project file."""
    if dataset_id(file) is not None or os.path.isabs(file):
        return str(file)
    return str(file) if out.parent == Path() else os.path.relpath(file, out.parent)


def _plain(number: float) -> float | int:
    return int(number) if float(number).is_integer() else number
