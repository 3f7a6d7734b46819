"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli.pools import DEFAULT_GRADES
from pt_active.frames.qrels import MISSING_POLICIES
from pt_active.inference.estimators import ESTIMATORS
from pt_active.inference.stopping.looks import look_names
from pt_active.relevance.costs import COSTS, Cost, TimeCost
from pt_active.relevance.grades.learned import GRADES
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.documents import DOCUMENT_DRAWINGS

AT_THE_END = "end"
"""The name that ``--looks`` has for a look at the end alone, which is None in Python."""

DEFAULT_COST = "unit"
"""What ``--cost`` is if it is left out."""

MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "RBP", "RR", "AP")
"""What shells complete ``--measure`` with; any other name that PyTerrier knows will do."""


def one_of(names: Collection[str] | Callable[[], Collection[str]], help: str) -> Any:
    """An option whose values have names, which the shell completes.

    Args:
        names: The names, or what returns them.
        help: What the option is for; ``{}`` stands for the names.
    """

    def known() -> Collection[str]:
        return names() if callable(names) else names

    def completed(incomplete: str) -> list[str]:
        return [name for name in known() if name.startswith(incomplete)]

    return typer.Option(metavar="NAME", help=help.format(", ".join(known())), autocompletion=completed)


def cost_names() -> list[str]:
    """What ``--cost`` can be: the costs that can be made from ``per_query`` alone."""
    return [name for name, kind in COSTS.items() if "per_query" in inspect.signature(kind).parameters]


def design_choices() -> tuple[str, ...]:
    """What ``--design`` can be: designs of queries, and ways to draw documents."""
    return *DESIGNS, *DOCUMENT_DRAWINGS


def look_choices() -> tuple[str, ...]:
    """What ``--looks`` can be."""
    return *look_names(), AT_THE_END


PlanFolder = Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a plan.")]

Judgments = Annotated[
    list[Path], typer.Argument(metavar="QRELS", help="Qrels, or filled-in exports of any format; those of all rounds.")
]

Measure = Annotated[str | None, one_of(MEASURES, "Another measure than the plan's, on the same judgments.")]

Estimator = Annotated[str, one_of(ESTIMATORS, "One of {}.")]

Confidence = Annotated[float, typer.Option(metavar="X", help="Level of the intervals.")]

Missing = Annotated[str, one_of(MISSING_POLICIES, "What to do about missing labels: {}.")]

SoFar = Annotated[
    bool, typer.Option("--so-far", help="The labels are those so far: cut the plan to what is judged without a gap.")
]

Looks = Annotated[str, one_of(look_choices, "How often one may look: {}; end is when all is judged.")]

Margin = Annotated[
    float | None, typer.Option(metavar="X", help="Differences up to this do not matter, or the precision wanted.")
]

Seed = Annotated[int, typer.Option(metavar="N", help="Of all that is random.")]

PerQuery = Annotated[float, typer.Option(metavar="X", help="Cost of opening a query.")]

CostName = Annotated[str, one_of(cost_names, "Of a document: {}.")]

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

Grades = Annotated[str | None, one_of(GRADES, f"{{}}; default {DEFAULT_GRADES}.")]

Judge = Annotated[Path | None, typer.Option(metavar="FILE", help="Another judge's qrels, to predict the grades from.")]

MaxGrade = Annotated[int | None, typer.Option(metavar="N", help="Default: the highest training label.")]

Depth = Annotated[int | None, typer.Option(metavar="N", help="Documents to keep of each ranking.")]

AllowMissingQueries = Annotated[
    bool, typer.Option("--allow-missing-queries", help="A ranker scores 0 on queries that it does not answer.")
]


def cost_of(
    name: str, per_query: float, seconds_per_document: float | None = None, seconds_per_query: float = 0.0
) -> Cost:
    """The cost that was asked for.

    Raises:
        ValueError: If seconds and another cost are both given, or seconds per query alone.
    """
    if seconds_per_document is None:
        if seconds_per_query:
            raise ValueError("--seconds-per-query goes with --seconds-per-document")
        return COSTS[name](per_query=per_query)
    if name != DEFAULT_COST or per_query:
        raise ValueError("--seconds-per-document is a cost of its own; leave out --cost and --per-query")
    return TimeCost(seconds_per_document, seconds_per_query)


def cost_words(name: str, per_query: float, seconds_per_document: float | None, seconds_per_query: float) -> list[str]:
    """The options of a cost as they are typed."""
    given = {"--per-query": per_query, "--seconds-per-document": seconds_per_document}
    given |= {"--seconds-per-query": seconds_per_query}
    words = [word for option, value in given.items() if value for word in (option, f"{value:g}")]
    return words if name == DEFAULT_COST else ["--cost", name, *words]
