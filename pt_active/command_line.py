"""What the commands of ``pt-active`` share: complaints in one line, checks, and answers as text or JSON."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import json
import shlex
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pandas as pd
import typer
from pyterrier.validate import InputValidationError
from typer.core import TyperGroup

from pt_active.exports import read_judgments
from pt_active.plan import Plan

_BAD_INPUT = (
    ValueError,
    InputValidationError,
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


@dataclass(frozen=True)
class Answer:
    """What a command says.

    Attributes:
        content: Everything, as one JSON object.
        text: The same for people.
        hint: What to type next; empty if there is nothing.
    """

    content: dict[str, Any]
    text: str
    hint: str = ""

    def show(self, as_json: bool, quiet: bool) -> None:
        """Print it."""
        if as_json:
            typer.echo(json.dumps(self.content, indent=2, ensure_ascii=False, allow_nan=False))
        else:
            typer.echo("\n\n".join([self.text, *([self.hint] if self.hint and not quiet else [])]))


class Commands(TyperGroup):
    """Runs a command with its complaints in one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with plain_complaints():
            return super().invoke(ctx)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, warnings and hints: results and errors only.")]


def printed(function: Callable[..., Answer]) -> Callable[..., None]:
    """A command that prints its answer: the function's options, ``--json`` and ``--quiet``."""

    @functools.wraps(function)
    def run(json_output: bool = False, quiet: bool = False, **arguments: Any) -> None:
        with contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext():
            answer = function(**arguments)
        answer.show(json_output, quiet)

    hints = get_type_hints(function, include_extras=True) | {"json_output": Json, "quiet": Quiet, "return": None}
    own = [each.replace(annotation=hints[name]) for name, each in inspect.signature(function).parameters.items()]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=hints[name])
        for name in ("json_output", "quiet")
    ]
    run.__annotations__ = hints
    run.__signature__ = inspect.Signature([*own, *added], return_annotation=None)  # type: ignore[attr-defined]
    return run


def check_names(names: Mapping[str, tuple[str | None, Collection[str]]]) -> None:
    """Refuse a name that is not among those known.

    Args:
        names: Option → the name that was given, if any, and those known.
    """
    for option, (name, known) in names.items():
        if name is not None and name not in known:
            raise ValueError(f"unknown {option} {name!r}; it is one of {', '.join(known)}")


def check_new(path: Path) -> None:
    """Refuse a path that exists, or whose folder does not."""
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another --out")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def command_line(*words: str | Path) -> str:
    """A command that can be pasted into a shell."""
    return shlex.join(["pt-active", *map(str, words)])


def read_labels(paths: Sequence[Path]) -> pd.DataFrame:
    """The labels of several files as one table.

    Raises:
        ValueError: If a file holds none.
    """
    read = {path: read_judgments(path) for path in paths}
    for path, labels in read.items():
        if labels.empty:
            raise ValueError(f"{path}: no label is filled in")
    return pd.concat([labels[["qid", "docno", "label"]] for labels in read.values()], ignore_index=True)


def next_answer(plan: Plan, folder: Path, worklist: Path) -> str:
    """The command that reads the judgments."""
    earlier = ["EARLIER-LABELS"] if len(plan.tables.rounds) > 1 else []
    return command_line("compare" if len(plan.rankers) > 1 else "estimate", folder, *earlier, worklist)


@contextlib.contextmanager
def plain_complaints() -> Iterator[None]:
    """Print each warning and a bad input as one line on stderr; bad input ends the command with exit code 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _warning_printer()
        try:
            yield
        except _BAD_INPUT as error:
            typer.echo(f"error: {_one_line(error)}", err=True)
            raise typer.Exit(2) from error


def _warning_printer() -> Callable[..., None]:
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown and not issubclass(category, DeprecationWarning):
            typer.echo(f"warning: {text}", err=True)
        shown.add(text)

    return show


def _one_line(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    return " ".join(text.split())
