"""What are the options of commands, and what do flags and the project file say? A dataclass a group of options."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pandas as pd
import typer
from typer.models import OptionInfo

from pt_active.cli.answer import AT_THE_END, Answer
from pt_active.cli.failures import Usage
from pt_active.cli.project import FILE, Project, key_of
from pt_active.frames.checks import check_known
from pt_active.frames.qrels import checked_qrels, whole_labels
from pt_active.frames.visible import visible
from pt_active.inference.new_queries import THESE
from pt_active.inference.stopping.looks import ALWAYS, PLANNED
from pt_active.judging.files import read_labels
from pt_active.judging.worklist import GradeNames
from pt_active.plans.answers.looks import USUAL, looks_asked
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.sampled import wanted_documents
from pt_active.plans.plan import Plan

REQUIRED = MISSING  # The default of an option that has none
TYPED = "typed"  # The key of its metadata


def flag(help: str, metavar: str = "X", default: Any = None, also: str | None = None) -> Any:
    """The default of an argument of a command, or of a field of its dataclasses, that is typed by its name.

    It can have another name too. What has another default can be set by the project file alone.
    """
    names = () if also is None else (also,)
    return field(default=default, metadata={TYPED: typer.Option(..., *names, help=help, metavar=metavar)})


def word(help: str, metavar: str, default: Any = None) -> Any:
    """The default of one that is typed without its name."""
    return field(default=default, metadata={TYPED: typer.Argument(help=help, metavar=metavar)})


def as_command(
    function: Callable[..., Answer], takes: Collection[str], shared: Callable[..., None]
) -> Callable[..., None]:
    """A function as typer runs it: its dataclasses become flags, and its answer is printed.

    Args:
        function: Takes options, some of which `flag` and `word` let people type, and dataclasses of them.
        takes: The options that the project file may set.
        shared: Has the options of all commands, which may stand before or after their names.
    """
    options = options_of(function)
    needed = [name for name, (_, option) in options.items() if option.default is REQUIRED]

    def run(context: typer.Context, **flags: Any) -> None:
        typed = _typed(context.find_root().params) | _typed(flags)
        quiet = "quiet" in typed
        with contextlib.redirect_stderr(io.StringIO() if quiet else sys.stderr):
            used = {*options, "project"} if takes else options
            for name in ("project", "grade_names"):
                if name in typed and name not in used:
                    raise Usage(f"{context.info_name} does not use {spelled(name)}: leave it out", context)
            taken, source = _of_project(context, typed) if takes else ({}, "")
            settings = taken | typed
            _check_needed(context, settings, needed)
            answer = _called(function, settings)
            if taken:
                typer.echo(visible(source), err=True)
        answer.show("json_output" in typed, quiet)
        if answer.code:
            raise typer.Exit(answer.code)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context]
    for name, (kind, option) in options.items():
        if typed := option.metadata.get(TYPED):
            parameters.append(_parameter(name, kind, typed, name in needed and name not in takes))
    for name, hint in get_type_hints(shared, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, typed = get_args(hint)
            typed.hidden = True
            parameters.append(_parameter(name, kind, typed, False))
    # Typer reads options from both.
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Field[Any]]]:
    """Name → type and field of each option that a function takes, itself or in a dataclass."""
    found: dict[str, tuple[Any, Field[Any]]] = {}
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            inner = get_type_hints(hints[name])
            found |= {each.name: (inner[each.name], each) for each in fields(hints[name])}
        else:
            default = parameter.default
            found[name] = hints[name], default if isinstance(default, Field) else field(default=default)
    return found


def _called(function: Callable[..., Answer], settings: Mapping[str, Any]) -> Answer:
    """What a function answers to the options that it takes."""
    arguments: dict[str, Any] = {}
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            own = {each.name: settings[each.name] for each in fields(hints[name]) if each.name in settings}
            arguments[name] = hints[name](**own)
        elif name in settings:
            arguments[name] = settings[name]
        elif isinstance(parameter.default, Field):
            arguments[name] = parameter.default.default
    return function(**arguments)


def _typed(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The options that stand on the command line."""
    return {name: value for name, value in flags.items() if not (value is None or value is False or value == [])}


def spelled(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def _parameter(name: str, kind: Any, typed: Any, needed: bool) -> inspect.Parameter:
    """An option in the signature that typer reads, where one that is not typed is None or False."""
    if isinstance(typed, OptionInfo) and typed.default is ...:
        typed.param_decls = tuple(dict.fromkeys((spelled(name), *(typed.param_decls or ()))))
    default: Any = inspect.Parameter.empty if needed else None
    if kind is bool:
        typed.metavar, default = "", False
    elif not needed:
        kind = kind | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typed])


def _of_project(context: typer.Context, typed: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What a command takes from the project file, and a line that says so; nothing without a file."""
    command, file = str(context.command.name), Path(typed.get("project", FILE))
    if not file.is_file() and ("project" not in typed or command == "init"):
        return {}, ""
    taken = Project.read(file).options(command, typed)
    return taken, f"from {file}: {', '.join(key_of(command, name) for name in taken)}"


def _check_needed(context: typer.Context, settings: Collection[str], needed: Collection[str]) -> None:
    """Raise if an option without a default stands neither on the command line nor in the project file."""
    for each in context.command.params:
        if each.name in needed and each.name not in settings:
            shown = each.metavar if each.param_type_name == "argument" else each.opts[0]
            raise Usage(f"Missing {each.param_type_name} '{shown}'", context)


OUT_FOLDER = "The folder to create."
PLAN = "The folder of a plan."
TEXTS = "Document texts, if the plan has none."
MARGIN = "The largest difference that does not matter; for one ranker, the half-width that you want."
SEED = "The random seed."


@dataclass(frozen=True)
class LabelFiles:
    """A plan and the files with its labels."""

    plan: Path = word(PLAN, "PLAN", REQUIRED)
    qrels: list[Path] = word("Qrels, records, or filled-in tables; pass the earlier ones too.", "LABELS", REQUIRED)
    grade_names: str | None = None
    project: Path | None = None

    def of(self, plan: Plan | None) -> pd.DataFrame:
        """The labels of a plan, or of anything: qrels, or records if a file says who judged."""
        return read_labels(self.qrels, plan, GradeNames.parsed(self.grade_names))

    def read(self) -> tuple[Plan, pd.DataFrame]:
        """The plan and its labels."""
        plan = Plan.load(self.plan)
        return plan, self.of(plan)


def is_whole(plan: Plan, labels: pd.DataFrame) -> bool:
    """Whether all documents of a plan that count have a label."""
    tables = plan.tables
    known = whole_labels(tables.pool.keys, checked_qrels(as_qrels(labels), tables.pool.max_grade)) >= 0
    return bool(known[wanted_documents(tables) & tables.pool.seen(tables.measure)].all())


def judged_part(plan: Plan, labels: pd.DataFrame) -> Plan:
    """The plan, cut to what is judged without a gap if that is not all."""
    return plan if is_whole(plan, labels) else plan.so_far(labels)


@dataclass(frozen=True)
class Meant:
    """The queries that an answer holds for."""

    queries: str | None = flag("The queries to answer for: these of the plan, or new.", "NAME")
    clusters: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments of a plan's answers."""
        return {"queries": self.queries or THESE, "clusters": self.clusters}


@dataclass(frozen=True)
class Asked(Meant):
    """What is asked of labels: of which rankers and queries, how surely, and how documents without a label count."""

    first: str | None = flag("The first ranker of a pair; default: the plan's first, or all pairs.", "NAME")
    second: str | None = flag("The ranker to compare it with; default: the plan's second.", "NAME")
    confidence: float = 0.95
    missing: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments of a plan's answers, but for the pair and for what is missing."""
        return {**super().fields, "confidence": self.confidence}

    @property
    def pair(self) -> dict[str, Any]:
        """The two rankers."""
        return {"first": self.first, "second": self.second}


@dataclass(frozen=True)
class Look:
    """When one looks at the labels, and what matters then."""

    looks: str | None = flag(
        f"When you look at the labels: {ALWAYS} (at any time), {PLANNED} (after each fifth of plans in five parts, "
        f"as for nDCG, AP and ERR), {AT_THE_END} (once, when everything is judged). Default: the first that the "
        "plan allows.",
        "NAME",
    )
    margin: float | None = flag(MARGIN)

    def of(self, plan: Plan) -> str | None:
        """The value of ``looks`` in Python for a plan."""
        if self.looks is not None:
            check_known("looks", self.looks, (ALWAYS, PLANNED, AT_THE_END))
        return None if self.looks == AT_THE_END else looks_asked(plan.tables, self.looks or USUAL)
