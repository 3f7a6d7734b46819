"""How are the options of a command declared, and how does a function become a command?"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

import typer

from pt_active.cli.answer import AT_THE_END, Answer
from pt_active.cli.failures import Usage
from pt_active.cli.project import FILE, Project, key_of
from pt_active.frames.checks import shown, whole_number
from pt_active.frames.visible import visible

_DECLARED = "declared"


@dataclass(frozen=True)
class Declared:
    """What the help and the checks know of an option or argument."""

    help: str = ""  # ``{}`` stands for the names
    metavar: str = "X"
    names: Collection[str] | Callable[[], Collection[str]] = ()  # the values
    within: tuple[int, int] | None = None  # the range of a whole number
    rare: bool = False  # whether the help shows it below the others
    argument: bool = False  # whether it is typed without its name

    def option(self, name: str, flag: bool) -> Any:
        """The option or argument as typer takes it."""
        typed = f"--{name.replace('_', '-')}"

        def names() -> Collection[str]:
            return self.names() if callable(self.names) else self.names

        def check(value: Any) -> Any:
            if self.within and value is not None:
                whole_number(typed, value, *self.within)
            for each in value if isinstance(value, (list, tuple)) else [value]:
                if each is not None and names() and each not in names():
                    what = self.metavar if self.argument else typed
                    raise ValueError(f"unknown {what} {shown(each)}; it is one of {', '.join(names())}")
            return value

        about: dict[str, Any] = {"help": self.help.format(", ".join(names())), "callback": check}
        about |= {"metavar": "" if flag else self.metavar}
        panel = "Further options" if self.rare else None
        return typer.Argument(**about) if self.argument else typer.Option(typed, **about, rich_help_panel=panel)


def option(default: Any, help: str, metavar: str = "X", **declared: Any) -> Any:
    """An option: the field of a dataclass, or the default of an argument of a command's function."""
    return field(default=default, metadata={_DECLARED: Declared(help, metavar, **declared)}, kw_only=True)


def argument(default: Any, help: str, metavar: str, **declared: Any) -> Any:
    """An argument that is typed without a name, declared as `option` declares options."""
    return option(default, help, metavar, argument=True, **declared)


def of_every_command(default: Any) -> Any:
    """An option of ``pt-active`` itself that a command takes, or a key that only the project file has."""
    return field(default=default, kw_only=True)


def words_of(options: Any) -> list[str]:
    """The options of a dataclass that are not at their defaults, as they are typed; arguments are left out."""
    named = {each.name: each.default for each in fields(options) if each.default is not MISSING}
    given = {name: getattr(options, name) for name in named}
    return given_words(**{name: value for name, value in given.items() if value not in (named[name], [])})


def given_words(**values: object) -> list[str]:
    """Options as they are typed: ``margin=0.1`` becomes ``--margin 0.1``; None and False are left out."""
    words: list[str] = []
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            plain = int(each) if isinstance(each, float) and each.is_integer() else each
            words += [] if each in (None, False) else [f"--{name.replace('_', '-')}"]
            words += [] if each in (None, False, True) else [str(plain)]
    return words


def _declared(function: Callable[..., Answer]) -> Iterator[tuple[str, Any, Field[Any]]]:
    """The name, type and field of each option that a function takes, itself or in a dataclass."""
    for name, each in inspect.signature(function, eval_str=True).parameters.items():
        if is_dataclass(each.annotation):
            kinds = get_type_hints(each.annotation)
            yield from ((own.name, kinds[own.name], own) for own in fields(each.annotation))
        elif isinstance(each.default, Field):
            yield name, each.annotation, each.default


def _parameter(name: str, kind: Any, declared: Field[Any], taken: bool) -> inspect.Parameter:
    """An option as typer reads it from a signature; what the project file may have need not be typed."""
    default = declared.default
    if default is MISSING:
        kind, default = (kind | None, None) if taken else (kind, inspect.Parameter.empty)
    noted: Any = Annotated[kind, declared.metadata[_DECLARED].option(name, default is False)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=noted)


def printed(function: Callable[..., Answer], takes: Collection[str] = ()) -> Callable[..., None]:
    """A command that prints an answer; a dataclass as an argument stands for options."""
    every = inspect.signature(function, eval_str=True).parameters
    bundles: dict[str, Any] = {name: each.annotation for name, each in every.items() if is_dataclass(each.annotation)}
    declared = {name: (kind, own) for name, kind, own in _declared(function)}
    shared = {name: own.default for name, (_, own) in declared.items() if _DECLARED not in own.metadata}
    options = [_parameter(name, *each, name in takes) for name, each in declared.items() if name not in shared]
    required = [name for name, (_, own) in declared.items() if name in takes and own.default is MISSING]

    @functools.wraps(function)
    def run(context: typer.Context, **arguments: Any) -> None:
        told, root = "", context.find_root()
        silent = contextlib.redirect_stderr(io.StringIO()) if root.params["quiet"] else contextlib.nullcontext()
        with silent, options_named(context):
            _check_taken(context, {*shared, *(["project"] if takes else [])})
            given = {name: value for name, value in root.params.items() if name in shared and _is_typed(root, name)}
            arguments |= shared | given
            if takes:
                typed = given | {name: value for name, value in arguments.items() if _is_typed(context, name)}
                taken, told = _from_project(context, typed, root.params["project"])
                arguments |= taken
                _check_given(context, arguments, required)
            for name, kind in bundles.items():
                arguments[name] = kind(**{each.name: arguments.pop(each.name) for each in fields(kind)})
            answer = function(**arguments)
            if told:
                typer.echo(told, err=True)
        answer.show(root.params["json_output"], root.params["quiet"])
        if answer.code:
            raise typer.Exit(answer.code)

    # Typer reads options from signatures and annotations, which `wraps` copies with the dataclasses.
    given = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    signature = inspect.Signature([given, *options], return_annotation=None)
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


_OF_SOME = ("project", "grade_names", "confidence", "queries", "clusters")
"""The options of ``pt-active`` itself that are of use to some commands alone."""


def _check_taken(context: typer.Context, takes: Collection[str]) -> None:
    """Raise if an option that stands before or after every command is of no use to this one."""
    for name in _OF_SOME:
        if name not in takes and _is_typed(context.find_root(), name):
            option = f"--{name.replace('_', '-')}"
            what = "takes nothing from a project file" if name == "project" else "reads nothing to which it applies"
            raise Usage(f"{context.info_name} {what}: leave out {option}", context)


def _from_project(context: typer.Context, typed: Mapping[str, Any], file: Path | None) -> tuple[dict[str, Any], str]:
    """What a command takes from the project file, argument → value, and a line that says so; nothing without a file."""
    if not (file or FILE).is_file() and (file is None or context.info_name == "init"):
        return {}, ""
    project = Project.read(file or FILE)
    named = {str(each.name): each for each in context.command.params}
    command = str(context.command.name)
    taken = project.options(command, typed)
    told = visible(f"from {project.file}: {', '.join(key_of(command, name) for name in taken)}") if taken else ""
    # Values that are no files are checked as if they had been typed; typer itself makes files of texts.
    checked = {
        name: value
        if isinstance(value, (Path, list)) or name not in named
        else named[name].process_value(context, value)
        for name, value in taken.items()
    }
    return checked, told


def _is_typed(context: Any, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _check_given(context: typer.Context, arguments: Mapping[str, Any], required: Collection[str]) -> None:
    for each in context.command.params:
        if each.name in required and arguments[each.name] is None:
            what = f"option '{each.opts[0]}'" if each.param_type_name == "option" else f"argument '{each.metavar}'"
            raise Usage(f"Missing {what}", context)


@contextlib.contextmanager
def options_named(context: typer.Context) -> Iterator[None]:
    """Let error messages about arguments of functions name the options of the running command."""
    try:
        yield
    except ValueError as error:
        if type(error) is ValueError:
            error.args = (spelled(str(error), context),)
        raise


_IN_PYTHON = re.compile(
    r"""(?<!\w)'(?:[^'\\]|\\.)*' | --\S+\ \S+ | ^\S+:(?=\ )  # what a user typed stays, and the file that is wrong
    | plan\.(?P<method>\w+)\(\w+\)
    | ^(?P<first>\w+)(?=\ must\ |\ is\ needed)
    | \b(?P<name>\w+)=(?P<value>"[^"]*"|\w[\w.]*\w|\w)?""",
    re.VERBOSE,
)
"""How messages name what has another name on the command line: methods of plans, and arguments with their values."""


def spelled(message: str, context: typer.Context) -> str:
    """A message with the options and commands of the running group in place of the arguments and methods of Python."""
    root, group = context.find_root().command, cast(Any, context.parent).command
    commands = {name: group.loaded(name) for name in group.commands}
    own = _options(root) | _options(context.command)
    options = {name: option for each in commands.values() for name, option in _options(each).items()} | own

    def in_words(found: re.Match[str]) -> str:
        if method := found["method"]:
            return own.get(method) or (f"pt-active {method}" if method in commands else found[0])
        option = options.get(found["first"] or found["name"])
        if option is None:
            return found[0]
        if found[0] == "looks=None":
            return f"{option} {AT_THE_END}"
        value = (found["value"] or "").strip('"')
        if value == "False":
            return f"no {option}"
        return option if value in ("", "True") else f"{option} {value}"

    return _IN_PYTHON.sub(in_words, message)


def _options(command: Any) -> dict[str, str]:
    return {each.name: each.opts[0] for each in command.params if each.opts[0].startswith("--")}
