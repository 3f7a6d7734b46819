"""The ``pt-active`` command: from runs to numbers, with files alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from pt_active.cli.answers import compare, estimate, report, status
from pt_active.cli.audit import audit_app
from pt_active.cli.budget import budget
from pt_active.cli.command_line import Answer, Commands
from pt_active.cli.commands import printed
from pt_active.cli.front import FURTHER, JUDGES, MUCH, ROAD, about, run
from pt_active.cli.gate import gate
from pt_active.cli.init import init
from pt_active.cli.judge import judge
from pt_active.cli.judging import agreement, export, import_
from pt_active.cli.plans import extend, plan
from pt_active.cli.project import COMMANDS
from pt_active.cli.replays import demo, simulate

EXAMPLES: dict[str, dict[Callable[..., Answer], str]] = {
    ROAD: {
        init: "pt-active init --run a=a.run --run b=b.run --topics topics.tsv --texts texts.tsv \\\n"
        "    --train-run old.run --train-qrels old.qrels --budget 300",
        plan: "pt-active plan --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --budget 300 --out my-plan",
        judge: "pt-active judge my-plan --judges ann,ben",
        status: "pt-active status my-plan judged-so-far.csv",
        report: "pt-active report my-plan judged.csv --out report.html",
    },
    FURTHER: {
        compare: "pt-active compare my-plan judged.csv",
        estimate: "pt-active estimate my-plan judged.csv",
        gate: "pt-active gate my-plan judged-so-far.csv --margin 0.02 --junit gate.xml",
    },
    MUCH: {
        budget: "pt-active budget --run a=a.run --run b=b.run --train-run old.run \\\n"
        "    --train-qrels old.qrels --measure DCG@10 --difference 0.3",
        extend: "pt-active extend my-plan judged.csv --budget 200 --out my-plan-2",
        simulate: "pt-active simulate --run a=a.run --run b=b.run --qrels judged.qrels --measure DCG@10",
        demo: "pt-active demo --out demo-out",
    },
    JUDGES: {
        export: "pt-active export my-plan --out judge-me.csv --format csv",
        import_: "pt-active import label-studio export.json --plan my-plan --out records.jsonl",
        agreement: "pt-active agreement my-plan records.jsonl",
    },
}
"""Title → the commands below it in the help, most wanted first, each with an example for its own help."""

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def main(interrupt: Any = None) -> None:
    """Run the ``pt-active`` command.

    Args:
        interrupt: What Ctrl-C does from here on, as ``signal.signal`` takes it; None leaves it as it is.
    """
    run(app, interrupt)


app.callback()(about)


for _title, _commands in EXAMPLES.items():
    for _command, _example in _commands.items():
        _name = _command.__name__.removesuffix("_")
        app.command(_name, help=f"{inspect.getdoc(_command)}\n\nExample:\n\n\b\n{_example}", rich_help_panel=_title)(
            printed(_command, COMMANDS.get(_name, ()))
        )

app.add_typer(audit_app, name="audit", rich_help_panel=JUDGES)
