"""What does a command say when it fails, and with which exit code?"""

from __future__ import annotations

import csv
import os
import re
import signal
import sys
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from pt_active.frames.checks import HELP, MAX_SHOWN
from pt_active.frames.visible import visible, visible_field

FAILED, A_BUG, INTERRUPTED = 2, 70, 130  # Exit codes: what can be foreseen to fail, what cannot, and Ctrl-C

MAX_MESSAGE = 2000  # Characters of a message, at most

_OURS = ("pt_active", "pyterrier", "ir_measures")
"""Packages whose ValueErrors are messages to the user; those of numpy and the like are mistakes in this package."""

Usage, _CLICK = typer.BadParameter.__mro__[1:3]  # typer brings its own click, or imports one, and exports neither

_LONG = re.compile(rf"'[^'\n]{{{MAX_SHOWN - 1},}}'|\"[^\"\n]{{{MAX_SHOWN - 1},}}\"")


@contextmanager
def failures_told() -> Iterator[None]:
    """End the command with one line on stderr for whatever is raised."""
    try:
        yield
    except (typer.Exit, typer.Abort, SystemExit):
        raise
    except BaseException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        raise typer.Exit(_told(error)) from None


@contextmanager
def naming_stdout() -> Iterator[None]:
    """Let errors in printing name the standard output."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def _told(error: BaseException) -> int:
    """Print why the command ends, and return its exit code."""
    if _interrupted(error):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        text, code = "interrupted", INTERRUPTED
    elif (message := foreseen(error)) is not None:
        text, code = f"error: {in_one_line(message)}", FAILED
    else:
        text, code = visible("".join(traceback.format_exception(error))), A_BUG
        text += f"this is a bug in pt-active; please report it at {HELP}/issues with all of these lines"
    try:
        typer.echo(text, err=True)
    except OSError:
        _let_go(sys.stderr)
    if isinstance(error, OSError) and sys.stdout is not None:
        _let_go(sys.stdout)
    return code


def _let_go(stream: TextIO) -> None:
    """Let Python's own flush at the end go nowhere if a stream cannot be written any more."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error goes back to Ctrl-C, which compiled modules turn into other errors."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def foreseen(error: BaseException) -> str | None:
    """The message of a failure that can be foreseen; None for any other."""
    kind = type(error).__module__.partition(".")[0]
    if isinstance(error, _CLICK):
        said = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        if not isinstance(error, Usage):
            return said
        context = getattr(error, "ctx", None)
        _, _, command = context.command_path.partition(" ") if context else ("", "", "")
        return f"{said}; see {f'pt-active {command}'.strip()} --help"
    if isinstance(error, OSError):
        if error.strerror is None:
            return str(error) or type(error).__name__
        return error.strerror if error.filename is None else f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, MemoryError) or str(error) == "can't start new thread":
        return f"there is not enough memory{f': {error}' if str(error) else ''}"
    if isinstance(error, (EOFError, zlib.error)):
        return f"a compressed file is damaged: {error}"
    if isinstance(error, (RecursionError, Warning)):
        return f"{type(error).__name__}: {error}"
    # PyTerrier refuses a frame; if it was not imported, it did not.
    refused = getattr(sys.modules.get("pyterrier.validate"), "InputValidationError", ())
    if isinstance(error, (csv.Error, UnicodeError)) or kind == "pyarrow" or isinstance(error, refused):
        return str(error)
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return str(error) if isinstance(error, ValueError) and package in _OURS else None


def in_one_line(text: str) -> str:
    """A message as one line that can be printed: quoted texts are cut, and so is the whole."""
    line = re.sub(r"\s*[\r\n]\s*", " ", text.strip())
    line = visible_field(_LONG.sub(lambda quoted: f"{quoted.group()[: MAX_SHOWN - 1]}…", line))
    if len(line) <= MAX_MESSAGE:
        return line
    half = MAX_MESSAGE // 2
    return f"{line[:half]} … {line[-half:]}"
