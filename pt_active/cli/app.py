"""The ``pt-active`` command: what it can do, and which file of this folder does it."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli.failures import DEBUG, failures_told
from pt_active.cli.groups import Listed, group

ROAD = "From runs to a verdict"
FURTHER = "Further answers"
MUCH = "How much to judge"
JUDGES = "Judges and other tools"

COMMANDS: Mapping[str, Listed] = {
    "init": Listed(
        ROAD,
        "init",
        "Check which files fit together, and keep them in pt-active.toml. Asks if nothing is said.",
        "pt-active init --run a=a.run --run b=b.run --topics topics.tsv --texts texts.tsv \\\n"
        "    --train-run old.run --train-qrels old.qrels --budget 300",
    ),
    "plan": Listed(
        ROAD,
        "plans",
        "Choose the queries or documents to judge.",
        "pt-active plan --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --budget 300 --out my-plan",
    ),
    "judge": Listed(
        ROAD,
        "judge",
        "Let people judge a plan in their browsers, and see all the while what is known.",
        "pt-active judge my-plan --judges ann,ben",
    ),
    "status": Listed(
        ROAD,
        "answers",
        "Say whether the labels so far are enough to stop judging.",
        "pt-active status my-plan judged-so-far.csv",
    ),
    "report": Listed(
        ROAD,
        "answers",
        "Write everything that a plan and its labels say into one file.",
        "pt-active report my-plan judged.csv --out report.html",
    ),
    "compare": Listed(
        FURTHER,
        "answers",
        "Compare two rankers, or rank many.",
        "pt-active compare my-plan judged.csv",
    ),
    "estimate": Listed(
        FURTHER, "answers", "Estimate how good each ranker is.", "pt-active estimate my-plan judged.csv"
    ),
    "gate": Listed(
        FURTHER,
        "gate",
        "Decide whether a ranker may replace another, by the exit code too.",
        "pt-active gate my-plan judged-so-far.csv --margin 0.02 --junit gate.xml",
    ),
    "budget": Listed(
        MUCH,
        "budget",
        "Say how many judgments or hours an answer takes.",
        "pt-active budget --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --difference 0.3",
    ),
    "extend": Listed(
        MUCH,
        "plans",
        "Choose more to judge: the next queries, or a further round of documents.",
        "pt-active extend my-plan judged.csv --budget 200 --out my-plan-2",
    ),
    "simulate": Listed(
        MUCH,
        "replays",
        "Replay designs on judged data, to see what they would have saved.",
        "pt-active simulate --run a=a.run --run b=b.run --qrels judged.qrels --measure DCG@10",
    ),
    "demo": Listed(
        MUCH,
        "replays",
        "Plan, judge and compare on a simulated collection, where the truth is known.",
        "pt-active demo --out demo-out",
    ),
    "export": Listed(
        JUDGES,
        "judging",
        "Write the documents of a plan to a file for people, or for a tool in which they judge.",
        "pt-active export my-plan --out judge-me.csv --format csv",
    ),
    "import": Listed(
        JUDGES,
        "judging",
        "Read what a judging tool exported: who said what of which document, and when.",
        "pt-active import label-studio export.json --plan my-plan --out records.jsonl",
    ),
    "agreement": Listed(
        JUDGES,
        "judging",
        "Say how far the judges agree, and whether the verdict hangs on one of them.",
        "pt-active agreement my-plan records.jsonl",
    ),
}
"""The commands in the order of the help, most wanted first."""

AUDIT: Mapping[str, Listed] = {
    "plan": Listed(
        None,
        "audit",
        "Choose the pairs whose labels tell how far judges, such as language models, agree with people.",
        "pt-active audit plan --judge gpt=gpt.qrels --judge llama=llama.qrels \\\n    --budget 200 --out my-audit",
    ),
    "export": Listed(
        None,
        "audit",
        "Write the pairs of an audit to a file for people, or for a tool in which they judge.",
        "pt-active audit export my-audit --out label-me.csv",
    ),
    "estimate": Listed(
        None,
        "audit",
        "Estimate how often each judge is wrong, and its agreement beyond chance.",
        "pt-active audit estimate my-audit labelled.csv --rel 2",
    ),
    "compare": Listed(
        None,
        "audit",
        "Compare two judges, or rank many.",
        "pt-active audit compare my-audit labelled.csv",
    ),
    "report": Listed(
        None,
        "audit",
        "Write all that an audit and its labels say into one file.",
        "pt-active audit report my-audit labelled.csv --rel 2 --out audit.html",
    ),
    "replace": Listed(
        None,
        "audit",
        "Say whether a judge may replace people for a comparison of rankers.",
        "pt-active audit replace my-plan judged.csv --judge gpt=gpt.qrels",
    ),
}
"""The commands of the group ``audit``, in the order in which they are used."""


def main(interrupt: Any = None) -> None:
    """Run the ``pt-active`` command with what was typed, and leave with its exit code."""
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
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print results and errors only: no progress, warnings or hints.")
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where options that are left out stand; default: pt-active.toml, if here."),
    ] = None,
    no_limit: Annotated[
        bool, typer.Option("--no-limit", help="Read files of any size, however long their lines are.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help=f"Print the traceback of an error, as {DEBUG}=1 does.")
    ] = False,
) -> None:
    """Which ranker is better, and by how much, from as few human judgments as possible.

    Begin with pt-active init, which asks for your files. To see everything on simulated data: pt-active demo

    The options below go with every command, before it or after it.
    """


app = group(COMMANDS)
app.callback(help=about.__doc__)(about)
app.add_typer(
    group(AUDIT, "How far does an LLM judge agree with people, and may it replace them?"),
    name="audit",
    rich_help_panel=JUDGES,
)
