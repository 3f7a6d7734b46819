"""How does a group list its commands, and load the one that is run?"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from pt_active.cli.failures import Usage, failures_told, in_one_line


class Listed(NamedTuple):
    """A command as the help of its group lists it.

    Attributes:
        title: The title that it stands under; None for a group without titles.
        file: The file of this folder with the function of its name, whose docstring is its own help.
        says: What it does.
        example: An example for its own help.
    """

    title: str | None
    file: str
    says: str
    example: str


def group(commands: Mapping[str, Listed], says: str | None = None) -> typer.Typer:
    """A group of commands, none of which is loaded before it is run."""
    made = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, help=says)
    for name, listed in commands.items():
        made.command(name, help=listed.says, rich_help_panel=listed.title)(_later(name, listed))
    return made


def _later(name: str, listed: Listed) -> Callable[[], None]:
    """What stands for the function of a command until it is loaded."""

    def run() -> None: ...

    run.load = lambda: _loaded(name, listed)  # type: ignore[attr-defined]
    return run


def _loaded(name: str, listed: Listed) -> Any:
    """The command that a file holds."""
    from pt_active.cli.commands import printed
    from pt_active.cli.project import COMMANDS

    module = import_module(f"pt_active.cli.{listed.file}")
    function = getattr(module, name, None) or getattr(module, f"{name}_")
    shown = f"{inspect.getdoc(function)}\n\nExample:\n\n\b\n{listed.example}"
    takes = COMMANDS.get(name, ()) if listed.title else ()
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, help=shown, rich_help_panel=listed.title, epilog=_EPILOG)(printed(function, takes))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """A group of commands, which prints errors and warnings in one line each."""

    def loaded(self, name: str) -> Any:
        """A command with its options; its file is imported if need be."""
        command = self.commands[name]
        if load := getattr(command.callback, "load", None):
            command = self.commands[name] = load()
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is typed, loaded."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.loaded(name), rest

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the options that go with every command, wherever they stand."""
        return super().parse_args(ctx, args if ctx.parent is not None else _shared_first(args, self.params))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options before the command, and keep all words for the message about a bug."""
        words = tuple(args)
        with failures_told(words):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta.setdefault(_WORDS, words)
        return context

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        words = ctx.meta.get(_WORDS, ())
        group = ["pt-active"] if ctx.parent is None else ["pt-active", str(ctx.info_name)]
        command = " ".join([*group, *(word for word in words if word in self.commands)][: len(group) + 1])
        with failures_told(words, command, ctx.params.get("traceback", False)), printed_warnings():
            return super().invoke(ctx)


def _shared_first(args: list[str], params: list[Any]) -> list[str]:
    """What was typed, with the options of the group before its command."""
    takes = {name: not each.is_flag for each in params for name in each.opts if not each.is_eager}
    first, rest, words = list[str](), list[str](), iter(args)
    for word in words:
        name, equals, _ = word.partition("=")
        if word == "--":
            rest.append(word)
            break
        if name not in takes:
            rest.append(word)
        elif takes[name] and not equals:
            value = next(words, None)
            if value is None:
                raise Usage(f"Option '{name}' requires an argument")
            first += [word, value]
        else:
            first.append(word)
    return [*first, *rest, *words]


_WORDS = "pt_active.words"
"""The key of what was typed in the metadata of a context."""

_EPILOG = "Every command takes --json, --quiet, --project FILE and --no-limit; see pt-active --help."


@contextlib.contextmanager
def printed_warnings() -> Iterator[None]:
    """Print each warning as one line on stderr."""
    with warnings.catch_warnings():
        warnings.showwarning = _warning_printer()
        yield


def _warning_printer() -> Callable[..., None]:
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: object) -> None:
        text = in_one_line(str(message))
        if text not in shown and not issubclass(category, DeprecationWarning):
            typer.echo(f"warning: {text}", err=True)
        shown.add(text)

    return show
