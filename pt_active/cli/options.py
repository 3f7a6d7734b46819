"""Options that several commands share."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pt_active.cli.answer import AT_THE_END
from pt_active.cli.commands import argument, of_every_command, option
from pt_active.frames.checks import MAX_SEED, shown
from pt_active.frames.qrels import MISSING_POLICIES, checked_qrels
from pt_active.frames.records import is_records
from pt_active.inference.new_queries import POPULATIONS, THESE
from pt_active.inference.stopping.looks import ALWAYS, PLANNED
from pt_active.judging.files import read_labels
from pt_active.judging.worklist import GradeNames
from pt_active.plans.answers.gaps import labels_so_far
from pt_active.plans.answers.looks import USUAL, looks_asked
from pt_active.plans.making.judgments import qrels_of
from pt_active.plans.making.sampled import wanted_documents
from pt_active.plans.plan import Plan
from pt_active.relevance.costs import COSTS, Cost
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS


def cost_names() -> list[str]:
    """The values of ``--cost``: the costs whose arguments include ``per_query``."""
    return [name for name, kind in COSTS.items() if "per_query" in inspect.signature(kind).parameters]


def design_choices() -> tuple[str, ...]:
    """The values of ``--design``: designs of queries, and ways to draw documents."""
    return *DESIGNS, *DOCUMENT_DRAWINGS


def plan_folder() -> Path:
    """The argument for a plan."""
    return argument(MISSING, "The folder of a plan.", "PLAN")


def label_files(default: object = MISSING) -> list[Path]:
    """The argument for files with labels."""
    return argument(default, "Qrels, records, or filled-in tables; pass those of all rounds.", "LABELS")


def confidence_level() -> float:
    """The option for the level of intervals."""
    return of_every_command(0.95)


def random_seed() -> int:
    """The option for the random seed."""
    return option(0, "The random seed.", "N", within=(0, MAX_SEED), rare=True)


def for_any_missing() -> str | None:
    """The option for documents without a label."""
    help = "How documents without a label count: {}. Default: error; status assumes the worst case."
    return option(None, help, "NAME", names=MISSING_POLICIES)


def largest_margin() -> float | None:
    """The option for the margin of a status."""
    return option(None, "The largest difference that does not matter; for one ranker, the half-width that you want.")


class Labelled(NamedTuple):
    """A plan or what else was judged, its labels, and the records that they follow from; None if no file says who."""

    plan: Plan
    qrels: pd.DataFrame
    records: pd.DataFrame | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all documents of the plan that count have a label."""
        tables = self.plan.tables
        known = labels_so_far(tables, checked_qrels(self.qrels, tables.pool.max_grade)) >= 0
        return bool(known[wanted_documents(tables) & tables.pool.seen(tables.measure)].all())

    @property
    def judged(self) -> Plan:
        """The plan, cut to what is judged without a gap if that is not all."""
        return self.plan if self.is_whole else self.plan.so_far(self.qrels)


@dataclass(frozen=True)
class LabelFiles:
    """A plan and the files with its labels."""

    plan: Path = plan_folder()
    qrels: list[Path] = label_files()
    grade_names: str | None = of_every_command(None)

    def read(self) -> Labelled:
        """The plan and its labels."""
        plan = Plan.load(self.plan)
        labels = read_labels(self.qrels, plan, GradeNames.parsed(self.grade_names))
        return Labelled(plan, qrels_of(labels), labels) if is_records(labels) else Labelled(plan, labels)


@dataclass(frozen=True)
class Meant:
    """The queries that an answer holds for."""

    queries: str | None = of_every_command(None)
    clusters: str | None = of_every_command(None)

    def __post_init__(self) -> None:
        if self.queries not in (None, *POPULATIONS):
            raise ValueError(f"unknown --queries {shown(self.queries)}; it is one of {', '.join(POPULATIONS)}")

    @property
    def fields(self) -> dict[str, Any]:
        """The arguments of a plan's answers."""
        return {"queries": self.queries or THESE, "clusters": self.clusters}


@dataclass(frozen=True)
class Pair:
    """Two rankers of a plan."""

    first: str | None = option(None, "The first ranker of a pair; default: the plan's first, or all pairs.", "NAME")
    second: str | None = option(None, "The ranker to compare it with; default: the plan's second.", "NAME")


@dataclass(frozen=True)
class Look:
    """When one looks at the labels, and what matters then."""

    looks: str | None = option(
        None,
        "When you look at the labels: always (at any time), obrien-fleming (after each fifth of plans in five parts, "
        "as for nDCG, AP and ERR), end (once, when everything is judged). Default: the first that the plan allows.",
        "NAME",
        names=(ALWAYS, PLANNED, AT_THE_END),
    )
    margin: float | None = largest_margin()

    def of(self, plan: Plan) -> str | None:
        """The value of ``looks`` in Python for a plan."""
        return None if self.looks == AT_THE_END else looks_asked(plan.tables, self.looks or USUAL)


@dataclass(frozen=True)
class JudgingCosts:
    """What judging costs."""

    cost: str = option("unit", "The cost of a document: {}.", "NAME", names=cost_names, rare=True)
    per_query: float = option(0.0, "The cost of opening a query.", rare=True)

    def of_judging(self) -> Cost:
        """The cost that is asked for."""
        return COSTS[self.cost](per_query=self.per_query)
