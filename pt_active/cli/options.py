"""Options that several commands share, and the names that they accept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli.command_line import AT_THE_END, Labelled, check_names, read_judged
from pt_active.cli.pools import DEFAULT_GRADES
from pt_active.frames.checks import MAX_SEED, MAX_WHOLE, whole_number
from pt_active.frames.qrels import HIGHEST_LABEL, MISSING_POLICIES
from pt_active.inference.estimators import ESTIMATOR, ESTIMATORS
from pt_active.inference.several_judges import TIES
from pt_active.inference.stopping.looks import look_names
from pt_active.plans.making.judgments import RULES
from pt_active.relevance.costs import COSTS, Cost, TimeCost
from pt_active.relevance.grades.auto import GRADES
from pt_active.relevance.grades.guards import UNJUDGED_POLICIES
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS
from pt_active.showing.page import FORMATS as REPORT_FORMATS

COMPARED = "What to compare"
"""The title over the options of runs, in the help of commands that have many options."""

LEARNED = "Past judgments and grades"

PRICED = "What judging costs"

SAMPLED = "How to sample"

DEFAULT_COST = "unit"
"""The default of ``--cost``."""

MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "RBP", "RR", "AP")
"""The measures that shells offer for ``--measure``; any other name that PyTerrier knows is accepted too."""


def one_of(names: Collection[str] | Callable[[], Collection[str]], help: str, panel: str | None = None) -> Any:
    """An option whose values have names, which the shell completes."""

    def known() -> Collection[str]:
        return names() if callable(names) else names

    def completed(incomplete: str) -> list[str]:
        return [name for name in known() if name.startswith(incomplete)]

    return typer.Option(
        metavar="NAME", help=help.format(", ".join(known())), autocompletion=completed, rich_help_panel=panel
    )


def whole(option: str, least: int, most: int, help: str, panel: str | None = None) -> Any:
    """An option that takes a whole number within a range."""

    def check(value: int | None) -> int | None:
        return None if value is None else whole_number(option, value, least, most)

    return typer.Option(metavar="N", callback=check, help=help, rich_help_panel=panel)


def cost_names() -> list[str]:
    """The values of ``--cost``: the costs whose arguments include ``per_query``."""
    return [name for name, kind in COSTS.items() if "per_query" in inspect.signature(kind).parameters]


def design_choices() -> tuple[str, ...]:
    """The values of ``--design``: designs of queries, and ways to draw documents."""
    return *DESIGNS, *DOCUMENT_DRAWINGS


def look_choices() -> tuple[str, ...]:
    """The values of ``--looks``."""
    return *look_names(), AT_THE_END


PlanFolder = Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a plan.")]

Judgments = Annotated[
    list[Path], typer.Argument(metavar="QRELS", help="Qrels, records, or filled-in exports of any tool, of all rounds.")
]

GradeWords = Annotated[
    str | None,
    typer.Option("--grade-names", metavar="NAMES", help="Words for grades: bad,fair,good, or bad=0,good=2."),
]

Rule = Annotated[str, one_of(RULES, "How the labels of several judges become one: {}.")]

Ties = Annotated[str, one_of(TIES, "Where a tie of judges goes: {}.")]

Measure = Annotated[str | None, one_of(MEASURES, "The measure, if not the plan's; the judgments are the same.")]

Estimator = Annotated[str, one_of(ESTIMATORS, "One of {}.")]

Confidence = Annotated[float, typer.Option(metavar="X", help="Level of the intervals.")]

Missing = Annotated[str, one_of(MISSING_POLICIES, "What to do about missing labels: {}.")]

MissingSoFar = Annotated[
    str | None,
    one_of(MISSING_POLICIES, "What to do about documents without a label before others: {}; default: expected."),
]

ReportFormat = Annotated[
    str | None, one_of(REPORT_FORMATS, "The form of the report: {}; default: what the file's name ends with, or html.")
]

SoFar = Annotated[
    bool, typer.Option("--so-far", help="The labels are those so far: cut the plan to what is judged without a gap.")
]

First = Annotated[str | None, typer.Option(metavar="NAME", help="A ranker of the plan; default: the first of two.")]

Second = Annotated[
    str | None, typer.Option(metavar="NAME", help="The ranker to compare it with; default: the second of two.")
]

Looks = Annotated[
    str | None,
    one_of(
        look_choices,
        "How often one may look: {}; end is when all is judged. Default: always, or end if the plan has no order.",
    ),
]

Margin = Annotated[
    float | None,
    typer.Option(metavar="X", help="Differences up to this do not matter; of one ranker, the half-width wanted."),
]

Seed = Annotated[int, whole("--seed", 0, MAX_SEED, "The random seed.")]

PerQuery = Annotated[float, typer.Option(metavar="X", help="Cost of opening a query.", rich_help_panel=PRICED)]

CostName = Annotated[str, one_of(cost_names, "The cost of a document: {}.", panel=PRICED)]

SecondsPerDocument = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="Time to judge a document; costs and budgets are then in hours.", rich_help_panel=PRICED
    ),
]

SecondsPerQuery = Annotated[
    float,
    typer.Option(metavar="X", help="Time to understand a query, with --seconds-per-document.", rich_help_panel=PRICED),
]

Run = Annotated[
    list[str] | None, typer.Option(metavar="NAME=FILE", help="A ranker's run; repeat it.", rich_help_panel=COMPARED)
]

PoolFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A Parquet frame with grade columns, instead of runs.", rich_help_panel=COMPARED),
]

Topics = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The queries; default: those of the runs.", rich_help_panel=COMPARED)
]

Texts = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Document texts, for the judges and --cost log-length.", rich_help_panel=COMPARED
    ),
]

TrainRun = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="A run that has been judged; repeat it.", rich_help_panel=LEARNED),
]

TrainQrels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The judgments of the training runs.", rich_help_panel=LEARNED)
]

Grades = Annotated[str | None, one_of(GRADES, f"The grade model: {{}}; default {DEFAULT_GRADES}.", panel=LEARNED)]

Judge = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE",
        help="Labels, votes or probabilities of another judge, such as an LLM; repeat it.",
        rich_help_panel=LEARNED,
    ),
]

Unjudged = Annotated[
    str | None,
    one_of(
        UNJUDGED_POLICIES,
        "What training documents without a label are: {}; missing ones are not learned from.",
        panel=LEARNED,
    ),
]

MaxGrade = Annotated[
    int | None, whole("--max-grade", 1, HIGHEST_LABEL, "The highest grade; default: that in training.", panel=LEARNED)
]

Depth = Annotated[int | None, whole("--depth", 1, MAX_WHOLE, "Documents to keep of each ranking.", panel=COMPARED)]

AllowMissingQueries = Annotated[
    bool,
    typer.Option(
        "--allow-missing-queries",
        help="A ranker scores 0 on queries that it does not answer.",
        rich_help_panel=COMPARED,
    ),
]

Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient",
        help="Drop and count lines of runs that do not fit; keep the first of duplicates.",
        rich_help_panel=COMPARED,
    ),
]


class Typed:
    """Options that stand together, the fields of a dataclass."""

    def words(self) -> list[str]:
        """Those that are not at their defaults, as they are typed; arguments have no default and are left out."""
        words: list[str] = []
        for field in fields(self):  # type: ignore[arg-type]
            value, option = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if field.default is MISSING or value in (field.default, []):
                continue
            if value is True:
                words.append(option)
                continue
            for each in value if isinstance(value, list) else [value]:
                words += [option, str(int(each) if isinstance(each, float) and each.is_integer() else each)]
        return words


@dataclass(frozen=True)
class Labels(Typed):
    """A plan and the files with its labels."""

    plan: PlanFolder
    qrels: Judgments
    grade_names: GradeWords = None
    rule: Rule = RULES[0]
    ties: Ties = TIES[0]

    def read(self, so_far: bool = False) -> Labelled:
        """The plan, cut to what is judged if only that is asked for, and its labels."""
        return read_judged(self.plan, self.qrels, so_far, self.grade_names, self.rule, self.ties)


@dataclass(frozen=True)
class Estimated(Typed):
    """What is estimated from labels, and how."""

    measure: Measure = None
    estimator: Estimator = ESTIMATOR
    confidence: Confidence = 0.95
    missing: Missing = MISSING_POLICIES[0]
    so_far: SoFar = False

    @property
    def how(self) -> tuple[str | None, str, float, str]:
        """The arguments that `Plan.estimate`, `compare` and `rank` have in common."""
        return self.measure, self.estimator, self.confidence, self.missing


@dataclass(frozen=True)
class Pair(Typed):
    """Two rankers of a plan."""

    first: First = None
    second: Second = None


@dataclass(frozen=True)
class Prices(Typed):
    """What judging costs, as it is typed.

    Attributes:
        cost: One of `cost_names`.
        per_query: The cost of opening a query.
        seconds_per_document: The time to judge a document; None unless costs are in hours.
        seconds_per_query: The time to understand a query.
    """

    cost: CostName = DEFAULT_COST
    per_query: PerQuery = 0.0
    seconds_per_document: SecondsPerDocument = None
    seconds_per_query: SecondsPerQuery = 0.0

    def of_judging(self) -> Cost:
        """The cost that is asked for."""
        check_names({"--cost": (self.cost, cost_names())})
        if self.seconds_per_document is None:
            if self.seconds_per_query:
                raise ValueError("--seconds-per-query goes with --seconds-per-document")
            return COSTS[self.cost](per_query=self.per_query)
        if self.cost != DEFAULT_COST or self.per_query:
            raise ValueError("--seconds-per-document is a cost of its own; leave out --cost and --per-query")
        return TimeCost(self.seconds_per_document, self.seconds_per_query)
