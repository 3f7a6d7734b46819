"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli.pools import DEFAULT_GRADES, GRADES
from pt_active.frames.qrels import MISSING_POLICIES
from pt_active.inference.estimators import ESTIMATORS
from pt_active.inference.stopping.looks import LOOKS
from pt_active.relevance.costs import Cost, LogLengthCost, TimeCost, UnitCost

COSTS: dict[str, Callable[..., Cost]] = {"unit": UnitCost, "log-length": LogLengthCost}
"""What ``--cost`` can be."""

MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "RBP", "RR", "AP")
"""What shells complete ``--measure`` with; any other name that PyTerrier knows will do."""


def one_of(names: Collection[str], help: str) -> Any:
    """An option whose values have names, which the shell completes."""

    def completed(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return typer.Option(metavar="NAME", help=help, autocompletion=completed)


PlanFolder = Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a plan.")]

Judgments = Annotated[
    list[Path], typer.Argument(metavar="QRELS", help="Qrels, or filled-in exports of any format; those of all rounds.")
]

Measure = Annotated[str | None, one_of(MEASURES, "Another measure than the plan's, on the same judgments.")]

Estimator = Annotated[str, one_of(ESTIMATORS, f"One of {', '.join(ESTIMATORS)}.")]

Confidence = Annotated[float, typer.Option(metavar="X", help="Level of the intervals.")]

Missing = Annotated[str, one_of(MISSING_POLICIES, f"What to do about missing labels: {', '.join(MISSING_POLICIES)}.")]

SoFar = Annotated[
    bool, typer.Option("--so-far", help="The labels are those so far: cut the plan to what is judged without a gap.")
]

Looks = Annotated[str, one_of((*LOOKS, "end"), f"How often one may look: {', '.join(LOOKS)}; end: when all is judged.")]

Margin = Annotated[
    float | None, typer.Option(metavar="X", help="Differences up to this do not matter, or the precision wanted.")
]

Seed = Annotated[int, typer.Option(metavar="N", help="Of everything random.")]

PerQuery = Annotated[float, typer.Option(metavar="X", help="Cost of opening a query.")]

CostName = Annotated[str, one_of(COSTS, f"Of a document: {', '.join(COSTS)}.")]

SecondsPerDocument = Annotated[
    float | None, typer.Option(metavar="X", help="To judge a document; costs and budgets are then hours.")
]

SecondsPerQuery = Annotated[
    float, typer.Option(metavar="X", help="To understand a query, with --seconds-per-document.")
]

Run = Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="A ranker's run; repeat it.")]

PoolFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A Parquet frame with grade columns, instead of runs.")
]

Topics = Annotated[Path | None, typer.Option(metavar="FILE", help="The queries; else those of the runs, without text.")]

Texts = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Document texts, for the judges and --cost log-length.")
]

TrainRun = Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A run that has been judged; repeat it.")]

TrainQrels = Annotated[Path | None, typer.Option(metavar="FILE", help="The judgments of the training runs.")]

Grades = Annotated[str | None, one_of(GRADES, f"{', '.join(GRADES)}; default {DEFAULT_GRADES}.")]

Judge = Annotated[Path | None, typer.Option(metavar="FILE", help="Another judge's qrels, to predict the grades from.")]

MaxGrade = Annotated[int | None, typer.Option(metavar="N", help="Default: the highest training label.")]

Depth = Annotated[int | None, typer.Option(metavar="N", help="Documents to keep of each ranking.")]

AllowMissingQueries = Annotated[
    bool, typer.Option("--allow-missing-queries", help="A ranker scores 0 on queries that it does not answer.")
]


def cost_of(name: str, per_query: float, seconds_per_document: float | None, seconds_per_query: float) -> Cost:
    """The cost that was asked for.

    Raises:
        ValueError: If seconds and another cost are both given, or seconds per query alone.
    """
    if seconds_per_document is None:
        if seconds_per_query:
            raise ValueError("--seconds-per-query goes with --seconds-per-document")
        return COSTS[name](per_query=per_query)
    if name != "unit" or per_query:
        raise ValueError("--seconds-per-document is a cost of its own; leave out --cost and --per-query")
    return TimeCost(seconds_per_document, seconds_per_query)


def cost_words(name: str, per_query: float, seconds_per_document: float | None, seconds_per_query: float) -> list[str]:
    """The options of a cost as they are typed."""
    given = {"--per-query": per_query, "--seconds-per-document": seconds_per_document}
    given |= {"--seconds-per-query": seconds_per_query}
    words = [word for option, value in given.items() if value for word in (option, f"{value:g}")]
    return words if name == "unit" else ["--cost", name, *words]
