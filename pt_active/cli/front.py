"""What does ``pt-active --help`` say, before any command is loaded?"""

from __future__ import annotations

import ast
import io
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli.failures import DEBUG, failures_told

ROAD = "From runs to a verdict"
FURTHER = "Further answers"
MUCH = "How much to judge"
JUDGES = "Judges and other tools"

COMMANDS = {
    ROAD: {"init": "init", "plan": "plans", "judge": "judge", "status": "answers", "report": "answers"},
    FURTHER: {"compare": "answers", "estimate": "answers", "gate": "gate"},
    MUCH: {"budget": "budget", "extend": "plans", "simulate": "replays", "demo": "replays"},
    JUDGES: {"export": "judging", "import": "judging", "agreement": "judging"},
}
"""Title in the help → command → the file in this folder that holds its function."""

AUDIT = "How far does an LLM judge agree with people, and may it replace them?"
"""The help of the group ``audit``."""


def main(interrupt: Any = None) -> None:
    """Print the help of ``pt-active``.

    Args:
        interrupt: What Ctrl-C does from here on, as ``signal.signal`` takes it; None leaves it as it is.
    """
    run(front(), interrupt)


def front() -> typer.Typer:
    """The ``pt-active`` command with the names and the help of all its commands, and nothing behind them."""
    app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(about)
    for title, commands in COMMANDS.items():
        for name, file in commands.items():
            app.command(name, help=_docstring(file, name), rich_help_panel=title)(lambda: None)
    audit = typer.Typer(help=AUDIT)
    audit.command()(lambda: None)
    app.add_typer(audit, name="audit", rich_help_panel=JUDGES)
    return app


def _docstring(file: str, command: str) -> str:
    """The docstring of a command's function, read without importing its file."""
    tree = ast.parse((Path(__file__).parent / f"{file}.py").read_text(encoding="utf-8"))
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    return next(ast.get_docstring(each) or "" for each in functions if each.name.removesuffix("_") == command)


def run(app: typer.Typer, interrupt: Any = None) -> None:
    """Run a command with what was typed, and leave with its exit code.

    Args:
        app: The command.
        interrupt: What Ctrl-C does from here on, as ``signal.signal`` takes it; None leaves it as it is.
    """
    try:
        with failures_told(sys.argv[1:]):
            if interrupt is not None:
                signal.signal(signal.SIGINT, interrupt)
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")
            app(prog_name="pt-active")
    except typer.Exit as ended:
        sys.exit(ended.exit_code)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pt-active {version('pt-active')}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help=f"Print the traceback of an error, as {DEBUG}=1 does.")
    ] = False,
) -> None:
    """Which ranker is better, and by how much, from as few human judgments as possible.

    Begin with pt-active init, which asks for your files. To see everything on simulated data: pt-active demo
    """
