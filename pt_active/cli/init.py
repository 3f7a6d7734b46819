"""The command that begins: init looks at the files and writes the project file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pt_active.answers.comparison import Answers
from pt_active.answers.table import EMPTY
from pt_active.cli.answer import Answer, check_new, command_line
from pt_active.cli.files import RunFiles, named_files
from pt_active.cli.fits import Finding, findings
from pt_active.cli.options import flag
from pt_active.cli.project import COMMANDS, FILE, Project, key_of, project_text
from pt_active.frames.atomic import new_file, write_file
from pt_active.frames.checks import how_many, positive
from pt_active.frames.topics import dataset_id
from pt_active.plans.making.pool import query_weights, traffic_told
from pt_active.showing.rounding import amount

MEASURE = "DCG@10"
"""The measure that is proposed: its documents come one after the other, so that one may stop at any label."""

COMMENTS = (
    "Options of pt-active plan, judge, status and report. Those that you type take precedence.",
    "Keys have the names of the options; names of files are relative to this file. Labels are looked for where",
    'pt-active judge keeps them; if they are elsewhere: labels = "judged.csv"',
)


@dataclass(frozen=True)
class FirstFiles(RunFiles):
    """The files that a project begins with."""

    depth: Annotated[int | None, flag("The number of documents to keep of each ranking.", "N")] = None


def init(
    source: FirstFiles,
    given: AnswerFiles,
    measure: Annotated[str | None, flag(f"The measure to estimate; default {MEASURE}.", "NAME")] = None,
    budget: Annotated[float | None, flag("The most documents that people can judge; left out, budget advises.")] = None,
    plan: Path = Path("my-plan"),
    project: Path | None = None,
) -> Answer:
    """Check that your files fit together, and record them in pt-active.toml."""
    out = project or FILE
    budget = None if budget is None else positive("budget", budget)
    before = _before(out, bool(given.answers))
    if given.answers:
        if source != FirstFiles() or measure is not None:
            raise ValueError("--answers takes the place of runs, and its measure is the mean score: leave out --run, …")
        found, own = project_of_answers(given, budget, plan, out.parent / before.get("pool", ""))
        named = {name: _from(own[name], out) for name in ("pool", "texts") if name in own}
        values = _of_plan(plan, out) | own | named
    else:
        source, measure = _said(source), measure or MEASURE
        found = findings(source, measure, budget)
        values = _of_plan(plan, out) | {"measure": measure} | _of_source(source, out)
    values |= {} if budget is None else {"budget": int(budget) if float(budget).is_integer() else budget}
    kept = {key: value for key, value in before.items() if key not in values}
    write_file(out, project_text(values | kept, COMMENTS), replace=out.exists())
    wide = max(len(each.about) for each in found)
    told = "\n".join(f"{'!' if each.wrong else ' '} {each.about:{wide}}  {each.said}" for each in found)
    doubts = sum(each.wrong for each in found)
    hint = f"First look at the {how_many('line', doubts)} with an exclamation mark.\n" if doubts else ""
    other = None if out == FILE else out
    if "budget" in kept | values:
        hint += f"Next, choose what to judge:\n  {command_line('plan', project=other)}"
    else:
        asked = command_line("budget", "--difference", "X", project=other)
        hint += f"Next, ask how many judgments it takes to find a difference of X:\n  {asked}"
    content = {"file": str(out), **values, "findings": [each._asdict() for each in found]}
    return Answer(content, f"{told}\n\nThis is kept in {out}.", hint)


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


def _said(source: FirstFiles) -> FirstFiles:
    """The files that were typed; raises if what every project needs is missing."""
    lacking = [] if source.run else ["--run NAME=FILE, once for each ranker (or --answers)"]
    if not (source.train_qrels or source.judge or source.max_grade):
        lacking.append(
            "--train-qrels, past judgments, or --judge, labels of an LLM, or without either --max-grade N, the highest "
            "grade"
        )
    if lacking:
        raise ValueError(f"pass {'; and '.join(lacking)}")
    if source.train_qrels and not (source.train_run or source.judge):  # then the judgments are of the runs to compare
        source = replace(source, train_run=[Path(file) for file in source.files.values()])
    return source


def _of_source(source: RunFiles, out: Path) -> dict[str, Any]:
    """The keys of files in the project file; their names are relative to its folder."""
    given = {name.replace("_", "-"): value for name, value in vars(source).items() if value and name != "run"}
    values: dict[str, Any] = {
        key: [_from(each, out) for each in value] for key, value in given.items() if isinstance(value, list)
    }
    values |= {key: _from(value, out) for key, value in given.items() if isinstance(value, Path)}
    runs = {name: _from(file, out) for name, file in source.files.items()}
    return given | values | {"runs": runs}


def _of_plan(plan: Path, out: Path) -> dict[str, Any]:
    return {"plan": _from(plan, out), "report": _from(plan.with_name(f"{plan.name}.html"), out)}


def _from(file: str | Path, out: Path) -> str:
    """The name of a file, or NAME=FILE, as seen from the folder of the project file."""
    if isinstance(file, str) and "=" in file and not Path(file).is_file():
        name, _, named = file.partition("=")
        return f"{name}={_from(named, out)}"
    if dataset_id(file) is not None or os.path.isabs(file):
        return str(file)
    return str(file) if out.parent == Path() else os.path.relpath(file, out.parent)


@dataclass(frozen=True)
class AnswerFiles:
    """Answers of systems to the same items."""

    answers: Annotated[
        list[str] | None, flag("Answers of systems, in place of runs: one table, or NAME=FILE for each.", "FILE")
    ] = None
    scale: Annotated[str, flag("How people score answers: 0-1, 1-5, 0-1:0.25 or preference.", "SCALE")] = "0-1"

    def read(self) -> Answers:
        """The answers."""
        files = self.answers or []
        if len(files) == 1 and (Path(files[0]).exists() or "=" not in files[0]):
            return Answers(files[0], self.scale)
        return Answers(named_files(files, "--answers"), self.scale)


def project_of_answers(
    given: AnswerFiles, budget: float | None, folder: Path, own: Path
) -> tuple[list[Finding], dict[str, Any]]:
    """What was found, and the keys of the project file; the pool is kept beside the plan, in place of its ``own``."""
    pool, answers = folder.with_name(f"{folder.name}-answers.parquet"), given.read()
    if pool.exists() and pool != own:
        raise FileExistsError(f"{pool} exists; remove it, or change the key plan")
    found = _findings(answers, budget)
    with new_file(pool, replace=pool == own) as unfinished:
        answers.pool.to_parquet(unfinished, index=False)
    values = {
        "measure": answers.measure,
        "pool": pool,
        **({"texts": pool} if "answer" in answers.table.columns else {}),
        **answers.drawn(),
        **({"cost": "column"} if "cost" in answers.table.columns else {}),
        **({"clusters": "qcluster"} if "cluster" in answers.table.columns else {}),
    }
    return found, values | ({"grade-names": names} if (names := answers.scale.names()) else {})


def _findings(answers: Answers, budget: float | None) -> list[Finding]:
    table, pool = answers.table, answers.pool
    items = how_many("item", table["item"].nunique())
    runs = f", {answers.runs} runs each" if answers.runs > 1 else ""
    found = [Finding(name, f"an answer to each of {items}{runs}") for name in answers.systems]
    if len(answers.systems) == 1:
        found.append(Finding("systems", "there is only one, so nothing is compared: its mean score is estimated", True))
    if "answer" not in table.columns:
        found.append(Finding("answers", "there are no texts, so judges see ids alone", True))
    elif empty := int((table["answer"] == EMPTY).sum()):
        found.append(Finding("answers", f"{how_many('answer', empty, 'is')} empty", True))
    if "cluster" in table.columns:
        found.append(Finding("clusters", f"{how_many('cluster', table['cluster'].nunique())}, for new items"))
    each = pool.drop_duplicates("qid")
    if told := traffic_told(each, query_weights(each)):
        found.append(Finding("weights", f"items count{told}"))
    judges = [name for name in answers.judges if table[name].notna().any()]
    said = f"{', '.join(judges)}: decides which answers people score, and nothing else" if judges else "no scores"
    whole, of = float(len(pool)), f"{how_many('answer', len(pool))} to judge"
    if "doc_cost" in pool.columns:
        whole = float(pool["doc_cost"].sum())
        of = f"{amount(whole)}, the sum of the column cost"
    share = f"{amount(min(budget, whole))} of {of}" if budget else f"none yet, of {of}"
    if budget:
        share += f" ({budget / whole:.0%})" if budget < whole else ": all, if no verdict comes before"
    return [*found, Finding("LLM judge", said), Finding("budget", share)]
