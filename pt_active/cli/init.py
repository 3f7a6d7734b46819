"""The command that begins: init looks at the files and writes the project file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pt_active.answers.comparison import Answers
from pt_active.cli.answer import Answer, beside, check_new, command_line
from pt_active.cli.files import PoolFiles, name_and_file, named_files
from pt_active.cli.options import flag
from pt_active.cli.project import COMMANDS, FILE, Project, key_of, project_text
from pt_active.frames.atomic import new_file, write_file
from pt_active.frames.checks import how_many, positive
from pt_active.frames.columns import grade_columns
from pt_active.frames.topics import dataset_id
from pt_active.plans.making.pool import Pool, graded_frame
from pt_active.relevance.measures import parse_measure

MEASURE = "DCG@10"
"""The measure that is proposed: its documents come one after the other, so that one may stop at any label."""

COMMENTS = (
    "Options of pt-active plan, judge, status and report. Those that you type take precedence.",
    "Keys have the names of the options; names of files are relative to this file. Labels are looked for where",
    'pt-active judge keeps them; if they are elsewhere: labels = "judged.csv"',
)


@dataclass(frozen=True)
class FirstFiles(PoolFiles):
    """The files that a project begins with."""

    train_qrels: Path | None = flag(
        "Judgments of the training runs: qrels or a filled-in CSV; with --answers, people's scores of other systems.",
        "FILE",
        also="--history",
    )
    depth: int | None = flag("The number of documents to keep of each ranking.", "N")


def init(
    source: FirstFiles,
    given: AnswerFiles,
    measure: str | None = flag(f"The measure to estimate; default {MEASURE}.", "NAME"),
    budget: float | None = flag("The most documents that people can judge; left out, budget advises."),
    plan: Path = Path("my-plan"),
    project: Path | None = None,
) -> Answer:
    """Check that your files fit together, and record them in pt-active.toml."""
    out = project or FILE
    budget = None if budget is None else positive("budget", budget)
    before = _before(out, bool(given.answers))
    if given.answers:
        if replace(source, train_qrels=None) != FirstFiles() or measure is not None:
            raise ValueError("--answers takes the place of runs, and its measure is the mean score: leave out --run, …")
        answers = given.read(source.train_qrels)
        frame, topics, measure = answers.pool, None, answers.measure
        own = project_of_answers(answers, plan, out.parent / before.get("pool", ""))
    else:
        if source.train_qrels and not (source.train_run or source.judge):  # then they are of the runs to compare
            source = replace(source, train_run=[Path(file) for file in source.files.values()])
        measure = measure or MEASURE
        frame, topics, _ = source.read(measure)
        own = {key_of("init", name): value for name, value in vars(source).items() if value and name != "run"}
        own = {"measure": measure, **own, "runs": {name: Path(file) for name, file in source.files.items()}}
    parsed = parse_measure(measure, len(grade_columns(frame.columns)) - 1)
    pool = Pool.from_frame(graded_frame(frame, topics), parsed)
    values = {"plan": plan, "report": beside(plan, ".html"), **own}
    if budget is not None:
        values["budget"] = int(budget) if float(budget).is_integer() else budget
    values = {key: _from(value, out) for key, value in values.items()}
    kept = {key: value for key, value in before.items() if key not in values}
    write_file(out, project_text(values | kept, COMMENTS), replace=out.exists())
    sizes = {"queries": len(pool.queries), "documents": int(pool.seen(parsed).sum())}
    counted = f"{how_many('query', sizes['queries'])}, {how_many('document', sizes['documents'])}"
    text = f"{', '.join(pool.names)}: {counted} that count for {parsed}.\n\nThis is kept in {out}."
    other = None if out == FILE else out
    if "budget" in kept | values:
        hint = f"Next, choose what to judge:\n  {command_line('plan', project=other)}"
    else:
        line = command_line("budget", "--difference", "X", project=other)
        hint = f"Next, ask how many judgments it takes to find a difference of X:\n  {line}"
    return Answer({"file": str(out), **values, **sizes}, text, hint)


def _before(out: Path, of_answers: bool) -> dict[str, Any]:
    """What stands in the project file already, without what `init` writes; empty if there is no file yet."""
    if not out.exists():
        check_new(out)
        return {}
    values = Project.read(out).values
    if ("pool" in values) != of_answers:
        raise FileExistsError(f"{out} is a project of {'runs' if of_answers else 'a pool'}; choose another --project")
    own = {key_of("init", name) for name in COMMANDS["init"]}
    return {key: value for key, value in values.items() if key not in own}


def _from(value: Any, out: Path) -> Any:
    """A value of the project file, where files, also with NAME= before them, are named as seen from its folder."""
    if isinstance(value, dict):
        return {name: _from(file, out) for name, file in value.items()}
    if isinstance(value, list):
        pairs = [name_and_file(str(each)) for each in value]
        return [f"{name}={_from(Path(file), out)}" if name else _from(Path(file), out) for name, file in pairs]
    if not isinstance(value, Path):
        return value
    if dataset_id(value) is not None or value.is_absolute() or out.parent == Path():
        return str(value)
    return os.path.relpath(value, out.parent)


@dataclass(frozen=True)
class AnswerFiles:
    """Answers of systems to the same items."""

    answers: list[str] | None = flag("Answers of systems, in place of runs: one table, or NAME=FILE for each.", "FILE")
    scale: str = flag("How people score answers: 0-1, 1-5 or 0-1:0.25.", "SCALE", "0-1")

    def read(self, history: Path | None) -> Answers:
        """The answers."""
        files = self.answers or []
        if len(files) == 1 and (Path(files[0]).exists() or "=" not in files[0]):
            return Answers(files[0], self.scale, history)
        return Answers(named_files(files, "--answers"), self.scale, history)


def project_of_answers(answers: Answers, folder: Path, own: Path) -> dict[str, Any]:
    """The keys of the project file; the pool is kept beside the plan, in place of its ``own``."""
    pool = folder.with_name(f"{folder.name}-answers.parquet")
    if pool.exists() and pool != own:
        raise FileExistsError(f"{pool} exists; remove it, or change the key plan")
    with new_file(pool, replace=pool == own) as unfinished:
        answers.pool.to_parquet(unfinished, index=False)
    values = {"measure": answers.measure, "pool": pool, **answers.drawn()}
    columns = answers.table.columns
    if "answer" in columns:
        values["texts"] = pool
    if "cost" in columns:
        values["cost"] = "column"
    if "cluster" in columns:
        values["clusters"] = "qcluster"
    if names := answers.scale.names():
        values["grade-names"] = names
    return values
