"""Commands that say what the labels tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pt_active.command_line import Answer, check_new, command_line, read_labels
from pt_active.commands import options
from pt_active.commands.options import one_of
from pt_active.plan import Plan
from pt_active.ranking import Ranking
from pt_active.results import Comparison
from pt_active.sequential import LOOKS
from pt_active.status import Status


def estimate(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    measure: options.Measure = None,
    estimator: options.Estimator = "regression",
    confidence: options.Confidence = 0.95,
    missing: options.Missing = "error",
) -> Answer:
    """Estimate how good each ranker is."""
    estimates = Plan.load(plan).estimate(read_labels(qrels), measure, estimator, confidence, missing)
    rows = {name: found.to_dict() for name, found in estimates.items()}
    return Answer({"estimates": rows}, "\n\n".join(map(str, estimates.values())), _report_next(plan, qrels))


def compare(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    first: Annotated[str | None, typer.Option(metavar="NAME", help="A ranker of the plan; default: its first.")] = None,
    second: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to compare it with; default: the second.")
    ] = None,
    measure: options.Measure = None,
    estimator: options.Estimator = "regression",
    confidence: options.Confidence = 0.95,
    missing: options.Missing = "error",
    correction: Annotated[
        str | None, typer.Option(metavar="NAME", help="For many rankers: holm (default), tukey, …")
    ] = None,
) -> Answer:
    """Say which of two rankers is better, by how much, and how sure that is; or rank many, if no two are named."""
    loaded, labels, how = Plan.load(plan), read_labels(qrels), (measure, estimator, confidence, missing)
    found: Comparison | Ranking
    if len(loaded.rankers) > 2 and first is None and second is None:
        found = loaded.rank(labels, *how, correction=correction or "holm")
    elif correction is not None:
        raise ValueError("--correction is for more than two rankers, with neither --first nor --second")
    else:
        found = loaded.compare(labels, *how, first=first, second=second)
    return Answer(found.to_dict(), str(found), _report_next(plan, qrels))


def status(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    looks: Annotated[
        str, one_of((*LOOKS, "end"), f"How often one may look: {', '.join(LOOKS)}; end: when all is judged.")
    ] = LOOKS[0],
    margin: Annotated[
        float | None, typer.Option(metavar="X", help="Differences up to this do not matter, or the precision wanted.")
    ] = None,
    first: Annotated[str | None, typer.Option(metavar="NAME", help="As for compare.")] = None,
    second: Annotated[str | None, typer.Option(metavar="NAME", help="As for compare.")] = None,
    confidence: options.Confidence = 0.95,
) -> Answer:
    """Say whether enough has been judged to stop, from the labels so far."""
    often = None if looks == "end" else looks
    loaded = Plan.load(plan)
    found = loaded.status(read_labels(qrels), often, margin, confidence, first=first, second=second)
    return Answer(found.to_dict(), str(found), _next_step(found, plan, qrels))


def report(
    plan: options.PlanFolder,
    qrels: options.Judgments,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The HTML file to make.")],
    slice: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Groups of queries by a column of the plan; repeat it.")
    ] = None,
    measure: options.Measure = None,
    estimator: options.Estimator = "regression",
    confidence: options.Confidence = 0.95,
    missing: options.Missing = "error",
) -> Answer:
    """Write all that a plan and its labels say into one HTML file."""
    from pt_active.report import Report

    check_new(out)
    how = (measure, estimator, confidence, missing)
    made = Report.of(Plan.load(plan), read_labels(qrels), *how, slices=slice or [])
    made.save(out)
    return Answer({"file": str(out), **made.to_dict()}, str(made), f"The report is {out}.")


def _next_step(found: Status, plan: Path, qrels: list[Path]) -> str:
    """What to do, or to type, once a status is known."""
    if found.resolved:
        return "There is nothing more to judge: the interval above is the result."
    if found.judged < found.drawn:
        order = ["--order", "drawn"] if found.unit == "queries" else []
        worklist = command_line("export", plan, "--out", plan.with_name(f"{plan.name}.csv"), "--format", "csv", *order)
        return f"Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"
    if found.unit == "rounds":
        out = plan.with_name(f"{plan.name}-more")
        more = command_line("extend", plan, *qrels, "--budget", "BUDGET", "--out", out)
        return f"Next, draw another round:\n  {more}"
    if found.looks == "always":
        return "Next, plan again with the same --seed and a larger --budget: that sample begins with these queries."
    return "The planned looks are over."


def _report_next(plan: Path, qrels: list[Path]) -> str:
    page = plan.with_name(f"{plan.name}.html")
    return f"All of it on one page:\n  {command_line('report', plan, *qrels, '--out', page)}"
