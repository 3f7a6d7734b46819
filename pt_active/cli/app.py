"""The ``pt-active`` command: what it can do, which file of this folder does it, and how that is loaded."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from pt_active.cli.failures import failures_told, in_one_line


class Listed(NamedTuple):
    """A command as the help lists it."""

    title: str  # that it stands under
    place: str  # file of this folder, and its function, whose docstring is the command's own help
    says: str
    example: str


ROAD = "From runs to a verdict"
FURTHER = "Judge more, decide, try out"
JUDGES = "Judges and other tools"

COMMANDS: Mapping[str, Listed] = {
    "init": Listed(
        ROAD,
        "init:init",
        "Check that your files fit together, and record them in pt-active.toml.",
        "pt-active init --run a=a.run --run b=b.run --topics topics.tsv \\\n"
        "    --texts texts.tsv --train-run old.run --train-qrels old.qrels --budget 300",
    ),
    "budget": Listed(
        ROAD,
        "plans:budget",
        "Forecast how many judgments an answer takes.",
        "pt-active budget --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --difference 0.3",
    ),
    "plan": Listed(
        ROAD,
        "plans:plan",
        "Choose the queries or documents to judge, or the labels of an LLM to check.",
        "pt-active plan --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --budget 300 --out my-plan",
    ),
    "judge": Listed(
        ROAD,
        "judging:judge",
        "Let people judge a plan in their browsers, and watch what the labels show.",
        "pt-active judge my-plan --judges ann,ben",
    ),
    "status": Listed(
        ROAD,
        "answers:status",
        "Show what the labels say about the rankers, and whether you can stop judging.",
        "pt-active status my-plan judged-so-far.csv",
    ),
    "report": Listed(
        ROAD,
        "answers:report",
        "Write everything that a plan and its labels show into one file.",
        "pt-active report my-plan judged.csv --out report.html",
    ),
    "gate": Listed(
        FURTHER,
        "answers:gate",
        "Decide whether a ranker may replace another; the exit code gives the answer.",
        "pt-active gate my-plan judged-so-far.csv --queries new --margin 0.02",
    ),
    "sample-queries": Listed(
        FURTHER,
        "plans:sample_queries",
        "Draw queries of a log that is larger than memory by their traffic, to plan from their runs.",
        "pt-active sample-queries --run a='a-*.parquet' --weight traffic --size 10000 --out sampled",
    ),
    "simulate": Listed(
        FURTHER,
        "replays:simulate",
        "Replay designs on judged data, to see what they would have saved.",
        "pt-active simulate --run a=a.run --run b=b.run --qrels judged.qrels --measure DCG@10",
    ),
    "demo": Listed(
        FURTHER,
        "replays:demo",
        "Plan, judge and compare on a simulated collection, where the truth is known.",
        "pt-active demo",
    ),
    "export": Listed(
        JUDGES,
        "judging:export",
        "Write the documents of a plan to a file for people or for a judging tool.",
        "pt-active export my-plan --out judge-me.csv --format csv",
    ),
    "import": Listed(
        JUDGES,
        "judging:import_",
        "Turn the export of a judging tool into records of who gave which grade, and when.",
        "pt-active import label-studio export.json --plan my-plan --out records.jsonl",
    ),
}
"""The commands in the order of the help, most wanted first."""


class Commands(TyperGroup):
    """The commands, each loaded when it is run; errors and warnings are printed in one line each."""

    def loaded(self, name: str) -> Any:
        """A command with its options; its file is imported."""
        from pt_active.cli.options import as_command
        from pt_active.cli.project import COMMANDS as TAKEN
        from pt_active.cli.project import key_of

        listed = COMMANDS[name]
        takes = TAKEN.get(name, ())
        function = resolve_name(f"pt_active.cli.{listed.place}")
        paragraphs = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(function.__doc__))
        shown = f"{paragraphs}\n\n\b\nExample:\n{listed.example}"
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name, help=shown)(as_command(function, takes, about))
        command = typer.main.get_command(single)
        command.epilog = "Options of all commands, such as --json and --quiet: pt-active --help."
        if takes:
            flags = {each.name for each in command.params}
            keys = ", ".join(key_of(name, option) for option in takes if option not in flags)
            alone = f"; that file alone sets {keys}" if keys else ""
            command.epilog += f" What you leave out is taken from pt-active.toml{alone}."
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is typed, loaded."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.loaded(args[0]), rest

    def make_context(self, *words: Any, **extra: Any) -> Any:
        """Read the options before the command."""
        with failures_told():
            return super().make_context(*words, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with failures_told(), printed_warnings():
            return super().invoke(ctx)


@contextlib.contextmanager
def printed_warnings() -> Iterator[None]:
    """Print each warning once, as one line on stderr."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: object) -> None:
        text = in_one_line(str(message))
        if text not in printed and not issubclass(category, DeprecationWarning):
            typer.echo(f"warning: {text}", err=True)
        printed.add(text)

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def main(interrupt: Any = None) -> None:
    """Run the ``pt-active`` command with what was typed, and leave with its exit code."""
    try:
        with failures_told():
            if interrupt is not None:
                signal.signal(signal.SIGINT, interrupt)
            if not os.environ.get("COLUMNS", "").strip("0"):
                os.environ.pop("COLUMNS", None)  # 0 says that the width is not known, and rich prints nothing
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
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print results and errors only: no progress, warnings or hints.")
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file with the options that you leave out; default: pt-active.toml."),
    ] = None,
    grade_names: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Words for grades in labels: bad,fair,good, or bad=0,good=2.")
    ] = None,
) -> None:
    """Find out which ranker is better, and by how much, from few human judgments.

    Begin with pt-active init, which checks your files. To see everything on simulated data, run pt-active demo.

    The options below may stand before or after the name of a command.
    """


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.callback()(about)
for _name, _listed in COMMANDS.items():
    app.command(_name, help=_listed.says, rich_help_panel=_listed.title)(lambda: None)
