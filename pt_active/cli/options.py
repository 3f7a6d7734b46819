"""What are the options of commands, and what do flags and the project file say? A dataclass a group of options."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import pandas as pd
import typer
from typer.models import OptionInfo

from pt_active.cli.answer import AT_THE_END, Answer
from pt_active.cli.failures import Usage
from pt_active.cli.project import FILE, Project, key_of
from pt_active.frames.checks import shown
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.records import is_records
from pt_active.frames.visible import visible
from pt_active.inference.new_queries import THESE
from pt_active.inference.stopping.looks import ALWAYS, PLANNED
from pt_active.judging.files import read_labels
from pt_active.judging.worklist import GradeNames
from pt_active.plans.answers.gaps import labels_so_far
from pt_active.plans.answers.looks import USUAL, looks_asked
from pt_active.plans.making.judgments import as_qrels, qrels_of
from pt_active.plans.making.sampled import wanted_documents
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import COSTS, Cost


def flag(help: str, metavar: str = "X") -> Any:
    """How an argument of a command, or a field of its dataclasses, is typed: by its name after two dashes.

    A field without it can be set by the project file alone.
    """
    return typer.Option(help=help, metavar=metavar)


def word(help: str, metavar: str) -> Any:
    """How an argument of a command is typed without its name."""
    return typer.Argument(help=help, metavar=metavar)


def as_command(function: Callable[..., Answer], takes: Collection[str] = ()) -> Callable[..., None]:
    """A function as typer runs it: its dataclasses become flags, and its answer is printed.

    Args:
        function: Takes options, each annotated by `flag` or `word`, and dataclasses of them.
        takes: The options that the project file may set.
    """
    options = options_of(function)
    required = [name for name, (_, default) in options.items() if _is_needed(default)]

    @functools.wraps(function)
    def run(context: typer.Context, **flags: Any) -> None:
        root = context.find_root().params
        silent = contextlib.redirect_stderr(io.StringIO()) if root["quiet"] else contextlib.nullcontext()
        with silent, options_named(context):
            typed = {name: value for name, value in {**root, **flags}.items() if _is_typed(value)}
            used = {*options, "project"} if takes else options
            for name in ("project", "grade_names"):  # which stand before or after every command
                if name in typed and name not in used:
                    raise Usage(f"{context.info_name} does not use --{name.replace('_', '-')}: leave it out", context)
            taken, told = _of_project(context, typed) if takes else ({}, "")
            settings = taken | {name: typed[name] for name in options if name in typed}
            _check_needed(context, settings, required)
            answer = function(**_arguments(function, settings))
            if taken:
                typer.echo(visible(told), err=True)
        answer.show(root["json_output"], root["quiet"])
        if answer.code:
            raise typer.Exit(answer.code)

    flags = [
        _parameter(name, hint, name not in takes and _is_needed(default))
        for name, (hint, default) in options.items()
        if get_origin(hint) is Annotated
    ]
    # Typer reads flags from signatures and annotations, which `wraps` copies with the dataclasses.
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    run.__annotations__ = {each.name: each.annotation for each in [context, *flags]}
    run.__signature__ = inspect.Signature([context, *flags])  # type: ignore[attr-defined]
    return run


def options_of(function: Callable[..., Answer]) -> dict[str, tuple[Any, Any]]:
    """Name → annotation and default of each option that a function takes, itself or in a dataclass."""
    found: dict[str, tuple[Any, Any]] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            inner = get_type_hints(hints[name], include_extras=True)
            found |= {each.name: (inner[each.name], each.default) for each in fields(hints[name])}
        else:
            found[name] = hints[name], parameter.default
    return found


def _is_needed(default: Any) -> bool:
    return default in (MISSING, inspect.Parameter.empty)


def _is_typed(value: Any) -> bool:
    return value is not None and value is not False and value != []


def _parameter(name: str, hint: Any, needed: bool) -> inspect.Parameter:
    """An option in the signature that typer reads, where one that is not typed is None or False."""
    kind, typed = get_args(hint)
    if isinstance(typed, OptionInfo):
        typed.param_decls = (f"--{name.replace('_', '-')}",)
    default: Any = inspect.Parameter.empty if needed else None
    if kind is bool:
        typed.metavar, default = "", False
    elif not needed:
        kind = kind | None
    annotation = Annotated[kind, typed]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _arguments(function: Callable[..., Answer], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function, with its dataclasses."""
    arguments: dict[str, Any] = {}
    hints = get_type_hints(function)
    for name in inspect.signature(function).parameters:
        if is_dataclass(hints[name]):
            own = {each.name: settings[each.name] for each in fields(hints[name]) if each.name in settings}
            arguments[name] = hints[name](**own)
        elif name in settings:
            arguments[name] = settings[name]
    return arguments


def _of_project(context: typer.Context, typed: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What a command takes from the project file, and a line that says so; nothing without a file."""
    command, file = str(context.command.name), typed.get("project", FILE)
    if not file.is_file() and ("project" not in typed or command == "init"):
        return {}, ""
    taken = Project.read(file).options(command, typed)
    return taken, f"from {file}: {', '.join(key_of(command, name) for name in taken)}"


def _check_needed(context: typer.Context, settings: Collection[str], required: Iterable[str]) -> None:
    for name in required:
        if name not in settings:
            [each] = [each for each in context.command.params if each.name == name]
            what = f"argument '{each.metavar}'" if each.param_type_name == "argument" else f"option '{each.opts[0]}'"
            raise Usage(f"Missing {what}", context)


@contextlib.contextmanager
def options_named(context: typer.Context) -> Iterator[None]:
    """Let error messages about arguments of functions name the options of the running command."""
    try:
        yield
    except ValueError as error:
        if type(error) is ValueError:
            known = [*context.find_root().command.params, *context.command.params]
            error.args = (spelled(str(error), {str(each.name): each.opts[0] for each in known}),)
        raise


_IN_PYTHON = re.compile(
    r"""(?<!\w)'(?:[^'\\]|\\.)*' | --\S+\ \S+ | ^\S+:(?=\ )  # what a user typed stays, and the file that is wrong
    | plan\.(?P<method>\w+)\(\w+\)
    | ^(?P<first>\w+)(?=\ must\ |\ is\ needed)
    | \b(?P<name>\w+)=(?P<value>"[^"]*"|\w[\w.]*\w|\w)?""",
    re.VERBOSE,
)
"""How messages name what has another name on the command line: methods of plans, and arguments with their values."""


def spelled(message: str, options: Mapping[str, str]) -> str:
    """A message with options and commands in place of arguments and methods of Python; keys of files stay."""

    def in_words(found: re.Match[str]) -> str:
        if method := found["method"]:
            return options.get(method, f"pt-active {method}")
        option = options.get(found["first"] or found["name"], "")
        if not option.startswith("--"):
            return found[0]
        value = (found["value"] or "").strip('"')
        if found[0] == "looks=None":
            value = AT_THE_END
        return option if value in ("", "True") else f"{option} {value}"

    return _IN_PYTHON.sub(in_words, message)


def check_known(name: str, value: str | None, names: Iterable[str]) -> None:
    """Raise if a value is not one of the names that an option has."""
    if value is not None and value not in (known := list(names)):
        raise ValueError(f"unknown {name} {shown(value)}; it is one of {', '.join(known)}")


def cost_names() -> list[str]:
    """The values of the key ``cost``: the costs whose arguments include ``per_query``."""
    return [name for name, kind in COSTS.items() if "per_query" in inspect.signature(kind).parameters]


@dataclass(frozen=True)
class JudgingCosts:
    """What judging costs."""

    cost: str = "unit"
    per_query: float = 0.0

    def of_judging(self) -> Cost:
        """The cost that is asked for."""
        check_known("cost", self.cost, cost_names())
        return COSTS[self.cost](per_query=self.per_query)


PlanFolder = Annotated[Path, word("The folder of a plan.", "PLAN")]
LabelledFiles = Annotated[list[Path], word("Qrels, records, or filled-in tables; pass the earlier ones too.", "LABELS")]
OutFile = Annotated[Path, flag("The file to create.", "FILE")]
OutFolder = Annotated[Path, flag("The folder to create.", "DIR")]
Texts = Annotated[Path | None, flag("Document texts, if the plan has none.", "FILE")]
Margin = Annotated[
    float | None, flag("The largest difference that does not matter; for one ranker, the half-width that you want.")
]
Seed = Annotated[int, flag("The random seed.", "N")]


class Labelled(NamedTuple):
    """A plan, its labels, and the records that they follow from; None if no file says who judged."""

    plan: Plan
    qrels: pd.DataFrame
    records: pd.DataFrame | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all documents of the plan that count have a label."""
        tables = self.plan.tables
        known = labels_so_far(tables, checked_qrels(self.qrels, tables.pool.max_grade)) >= 0
        return bool(known[wanted_documents(tables) & tables.pool.seen(tables.measure)].all())

    @property
    def judged(self) -> Plan:
        """The plan, cut to what is judged without a gap if that is not all."""
        return self.plan if self.is_whole else self.plan.so_far(self.qrels)


@dataclass(frozen=True)
class LabelFiles:
    """A plan and the files with its labels."""

    plan: PlanFolder
    qrels: LabelledFiles
    grade_names: str | None = None
    project: Path | None = None

    def read(self) -> Labelled:
        """The plan and its labels."""
        plan = Plan.load(self.plan)
        labels = read_labels(self.qrels, plan, GradeNames.parsed(self.grade_names))
        return Labelled(plan, qrels_of(labels), labels) if is_records(labels) else Labelled(plan, labels)

    def qrels_alone(self) -> pd.DataFrame:
        """The labels as qrels, of no plan."""
        return as_qrels(read_labels(self.qrels, names=GradeNames.parsed(self.grade_names)))


@dataclass(frozen=True)
class Meant:
    """The queries that an answer holds for."""

    queries: Annotated[str | None, flag("The queries to answer for: these of the plan, or new.", "NAME")] = None
    clusters: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments of a plan's answers."""
        return {"queries": self.queries or THESE, "clusters": self.clusters}


@dataclass(frozen=True)
class Asked(Meant):
    """What is asked of labels: of which rankers and queries, how surely, and how documents without a label count."""

    first: Annotated[
        str | None, flag("The first ranker of a pair; default: the plan's first, or all pairs.", "NAME")
    ] = None
    second: Annotated[str | None, flag("The ranker to compare it with; default: the plan's second.", "NAME")] = None
    confidence: float = 0.95
    missing: str | None = None

    @property
    def pair(self) -> dict[str, Any]:
        """The two rankers."""
        return {"first": self.first, "second": self.second}


@dataclass(frozen=True)
class Look:
    """When one looks at the labels, and what matters then."""

    looks: Annotated[
        str | None,
        flag(
            f"When you look at the labels: {ALWAYS} (at any time), {PLANNED} (after each fifth of plans in five parts, "
            f"as for nDCG, AP and ERR), {AT_THE_END} (once, when everything is judged). Default: the first that the "
            "plan allows.",
            "NAME",
        ),
    ] = None
    margin: Margin = None

    def of(self, plan: Plan) -> str | None:
        """The value of ``looks`` in Python for a plan."""
        check_known("looks", self.looks, (ALWAYS, PLANNED, AT_THE_END))
        return None if self.looks == AT_THE_END else looks_asked(plan.tables, self.looks or USUAL)
