"""The ``pt-active`` command: from runs to numbers, with files alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from pt_active.cli.answers import compare, estimate, report, status
from pt_active.cli.audit import audit_app
from pt_active.cli.budget import budget
from pt_active.cli.command_line import Answer, Commands, printed
from pt_active.cli.front import about, run
from pt_active.cli.gate import gate
from pt_active.cli.judge import judge
from pt_active.cli.judging import agreement, export, import_
from pt_active.cli.plans import extend, plan
from pt_active.cli.replays import demo, simulate

EXAMPLES: dict[Callable[..., Answer], str] = {
    budget: "pt-active budget --run a=a.run --run b=b.run --train-run old.run \\\n"
    "    --train-qrels old.qrels --measure DCG@10 --difference 0.3",
    plan: "pt-active plan --run a=a.run --run b=b.run --train-run old.run \\\n"
    "    --train-qrels old.qrels --measure DCG@10 --budget 300 --out my-plan",
    export: "pt-active export my-plan --out judge-me.csv --format csv",
    judge: "pt-active judge my-plan --judges ann,ben",
    import_: "pt-active import label-studio export.json --plan my-plan --out records.jsonl",
    status: "pt-active status my-plan judged-so-far.csv",
    agreement: "pt-active agreement my-plan records.jsonl",
    extend: "pt-active extend my-plan judged.csv --budget 200 --out my-plan-2",
    compare: "pt-active compare my-plan judged.csv",
    estimate: "pt-active estimate my-plan judged.csv",
    gate: "pt-active gate my-plan judged-so-far.csv --margin 0.02 --junit gate.xml",
    report: "pt-active report my-plan judged.csv --out report.html",
    simulate: "pt-active simulate labelled.parquet --measure DCG@10 --ranker a --ranker b --train-fold 1",
    demo: "pt-active demo --out demo-out",
}
"""The commands in the order in which they are used, each with an example for its help."""

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def main(interrupt: Any = None) -> None:
    """Run the ``pt-active`` command.

    Args:
        interrupt: What Ctrl-C does from here on, as ``signal.signal`` takes it; None leaves it as it is.
    """
    run(app, interrupt)


app.callback()(about)

for _command, _example in EXAMPLES.items():
    app.command(_command.__name__.removesuffix("_"), help=f"{inspect.getdoc(_command)}\n\nExample:\n\n\b\n{_example}")(
        printed(_command)
    )

app.add_typer(audit_app, name="audit")
