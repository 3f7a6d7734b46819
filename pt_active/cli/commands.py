"""How does a function become a command?"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from pt_active.cli.command_line import Answer, options_named
from pt_active.cli.failures import Usage
from pt_active.cli.project import FILE, Project, key_of
from pt_active.frames.sources import limits_lifted
from pt_active.frames.visible import visible


def printed(function: Callable[..., Answer], takes: Collection[str] = ()) -> Callable[..., None]:
    """A command that prints the answer of a function.

    It has the function's options. An argument of the function whose type is a dataclass stands for the options that
    are the dataclass's fields. An argument ``project`` is the project file.
    """
    every = inspect.signature(function, eval_str=True).parameters
    own = [each for each in every.values() if each.name != "project"]
    bundles: dict[str, Any] = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own for option in _options_of(each)]
    required = [option.name for option in options if option.name in takes and option.default is option.empty]

    @functools.wraps(function)
    def run(context: typer.Context, **arguments: Any) -> None:
        told, shared = "", context.find_root().params
        silent = contextlib.redirect_stderr(io.StringIO()) if shared["quiet"] else contextlib.nullcontext()
        lifted = limits_lifted() if shared["no_limit"] else contextlib.nullcontext()
        with silent, lifted, options_named(context):
            if shared["project"] is not None and not takes:
                raise Usage(f"{context.info_name} takes nothing from a project file: leave out --project")
            if takes:
                taken, told = _from_project(context, arguments, shared["project"])
                arguments |= taken
                _check_given(context, arguments, required)
            if "project" in every:
                arguments["project"] = shared["project"] or FILE
            answer = function(**_bundled(arguments, bundles))
            if told:
                typer.echo(told, err=True)
        answer.show(shared["json_output"], shared["quiet"])
        if answer.code:
            raise typer.Exit(answer.code)

    # Typer reads options from signatures and annotations, which `wraps` copies with the dataclasses.
    given = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    options = [_optional(option) if option.name in required else option for option in options]
    signature = inspect.Signature([given, *options], return_annotation=None)
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _options_of(parameter: inspect.Parameter) -> Iterable[inspect.Parameter]:
    """The options for a parameter of a function: itself, or the fields of its dataclass."""
    kind: Any = parameter.annotation
    bundled = is_dataclass(kind)
    return inspect.signature(kind, eval_str=True).parameters.values() if bundled else [parameter]


def _optional(option: inspect.Parameter) -> inspect.Parameter:
    """An option that need not be typed, since the project file may have it."""
    kind, *notes = get_args(option.annotation)
    return option.replace(default=None, annotation=Annotated[(kind | None, *notes)])


def _bundled(arguments: dict[str, Any], bundles: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function, with options put together into dataclasses."""
    made = {}
    for name, kind in bundles.items():
        made[name] = kind(**{field: arguments.pop(field) for field in inspect.signature(kind).parameters})
    return arguments | made


def _from_project(
    context: typer.Context, arguments: Mapping[str, Any], file: Path | None
) -> tuple[dict[str, Any], str]:
    """What a command takes from the project file, argument → value, and a line that says so; nothing without a file."""
    if file is None and not FILE.is_file():
        return {}, ""
    project = Project.read(file or FILE)
    named = {str(each.name): each for each in context.command.params}
    typed = {name: value for name, value in arguments.items() if _is_typed(context, name)}
    command = str(context.info_name)
    taken = project.options(command, typed)
    told = visible(f"from {project.file}: {', '.join(key_of(command, name) for name in taken)}") if taken else ""
    # Values that are no files are checked as if they had been typed; typer itself makes files of texts.
    checked = {
        name: value if isinstance(value, (Path, list)) else named[name].process_value(context, value)
        for name, value in taken.items()
    }
    return checked, told


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _check_given(context: typer.Context, arguments: Mapping[str, Any], required: Collection[str]) -> None:
    """Raise if neither the command line nor the project file has an argument that is needed."""
    for each in context.command.params:
        if each.name in required and arguments[each.name] is None:
            what = f"option '{each.opts[0]}'" if each.param_type_name == "option" else f"argument '{each.metavar}'"
            raise Usage(f"Missing {what}")
