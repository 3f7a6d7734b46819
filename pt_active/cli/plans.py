"""Commands that choose what people should judge: plan and extend."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pt_active.cli import options
from pt_active.cli.collection import PoolFiles
from pt_active.cli.command_line import (
    Answer,
    check_names,
    check_new,
    command_line,
    new_path,
)
from pt_active.cli.fits import whole_pools
from pt_active.cli.logs import check_out_of_core, plan_out_of_core
from pt_active.cli.options import SAMPLED, design_choices, one_of, whole
from pt_active.cli.pools import read_pool
from pt_active.cli.texts import texts_for
from pt_active.frames.checks import MAX_DRAWS, MAX_SEED
from pt_active.frames.columns import grade_columns
from pt_active.frames.qrels import MISSING_POLICIES
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.judging.files import read_labels
from pt_active.logs.planning import Settings
from pt_active.plans.answers.forecast import LEVELS
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.making.extension import REFIT
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS, OBJECTIVES

MAX_ROUNDS = 100

IN_SAMPLED: dict[str, Any] = {"rich_help_panel": SAMPLED}


@dataclass(frozen=True)
class Sampling:
    """How a plan samples, as it is typed.

    Attributes:
        level: One of `LEVELS`; None to choose.
        design: A design of queries, or a way to draw documents; None to choose.
        defensive: How much to guard against a wrong grade model; None for the default.
        replace: Whether queries are drawn with replacement.
        rounds: The number of rounds of documents.
        objective: One of `OBJECTIVES`.
    """

    level: Annotated[
        str | None,
        one_of(
            LEVELS,
            f"What to sample: {' or '.join(LEVELS)}; default: documents, unless queries are expected to be better.",
            SAMPLED,
        ),
    ] = None
    design: Annotated[
        str | None,
        one_of(design_choices, f"Queries: {', '.join(DESIGNS)}. Documents: {', '.join(DOCUMENT_DRAWINGS)}.", SAMPLED),
    ] = None
    defensive: Annotated[
        float | None,
        typer.Option(metavar="X", help="How much to guard against a wrong grade model; 0 trusts it.", **IN_SAMPLED),
    ] = None
    replace: Annotated[
        bool, typer.Option("--replace", help="Draw with replacement: queries may come more than once.", **IN_SAMPLED)
    ] = False
    rounds: Annotated[
        int, whole("--rounds", 1, MAX_ROUNDS, "Rounds of documents; the first has its share of the budget.", SAMPLED)
    ] = 1
    objective: Annotated[
        str, one_of(OBJECTIVES, f"For documents of many rankers: {' or '.join(OBJECTIVES)} variance.", SAMPLED)
    ] = OBJECTIVES[0]

    def for_a_plan(self) -> dict[str, Any]:
        """The arguments of `Plan.create`."""
        check_names({"--level": (self.level, LEVELS)})
        _check_level(self.level, self.design)
        level = self.level if self.rounds == 1 else _level_of_rounds(self.level, self.design)
        return {
            "level": level,
            "design": self.design,
            "defensive": self.defensive,
            "replace": self.replace,
            "objective": self.objective,
        }


def plan(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    measure: Annotated[str, one_of(options.MEASURES, "What to estimate, such as DCG@10 or nDCG@10.")],
    source: PoolFiles,
    prices: options.Prices,
    sampling: Sampling,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="The most to spend, in the unit of the cost.")
    ] = None,
    draws: Annotated[
        int | None, whole("--draws", 1, MAX_DRAWS, "The number of queries to draw, instead of a budget.", SAMPLED)
    ] = None,
    seed: options.Seed = 0,
    out_of_core: Annotated[
        bool,
        typer.Option("--out-of-core", help="Runs do not fit into memory; FILE may be a pattern.", **IN_SAMPLED),
    ] = False,
) -> Answer:
    """Choose the queries or documents to judge, and keep the choice in a folder."""
    check_new(out)
    if budget is None and draws is None:
        raise ValueError("say --budget, the most to spend, such as the number of documents that people can judge")
    if budget is not None and draws is not None:
        raise ValueError("say either --budget or --draws, and not both")
    cost, how = prices.of_judging(), sampling.for_a_plan()
    source.check(patterns=out_of_core)
    if out_of_core:
        check_out_of_core(source, sampling.design, sampling.objective, sampling.rounds)
        asked = {"replace": sampling.replace, "defensive": sampling.defensive, "level": how["level"]}
        settings = Settings(measure, cost, budget, draws, sampling.design, seed, **asked)
        streamed, described = plan_out_of_core(source, prices, settings)
        return _planned(streamed.save(out), out, described, unchecked=source.is_unchecked)
    frame, queries = source.read(prices, measure)
    highest = len(grade_columns(frame.columns)) - 1
    if said := whole_pools(parse_measure(measure, max(highest, 0) or None), len(frame), frame["qid"].nunique()):
        warnings.warn(said, stacklevel=2)
    share = budget if budget is None else budget / sampling.rounds
    made = Plan.create(frame, queries, measure, cost=cost, budget=share, draws=draws, seed=seed, **how).save(out)
    return _planned(made, out, frame.attrs.get("grade_model", ""), sampling.rounds, source.is_unchecked)


def extend(
    plan: options.PlanFolder,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    budget: Annotated[float, typer.Option(metavar="X", help="The most to spend on top, in the unit of the cost.")],
    qrels: Annotated[
        list[Path] | None, typer.Argument(metavar="QRELS", help="The labels so far, from which documents are chosen.")
    ] = None,
    grades: Annotated[
        Path | None,
        typer.Option("--pool", metavar="FILE", help="A Parquet frame with the grades of a refitted model."),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the grades of documents to the labels so far, for a new round.")
    ] = False,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Document texts, for the judges.")] = None,
    seed: Annotated[
        int | None,
        whole("--seed", 0, MAX_SEED, "The random seed of a round; default: the plan's own."),
    ] = None,
    missing: options.Missing = MISSING_POLICIES[0],
) -> Answer:
    """Choose more to judge: the next queries, or a round of documents that learns from the labels so far."""
    check_new(out)
    if refit and grades is not None:
        raise ValueError("say either --refit or --pool, and not both")
    loaded, refitted = Plan.load(plan), None if grades is None else read_pool(grades)
    text = None if texts is None else texts_for(loaded, texts, warned=False)
    labels = as_qrels(read_labels(qrels, loaded)) if qrels else None
    made = loaded.extend(budget, labels, REFIT if refit else refitted, texts=text, seed=seed, missing=missing).save(out)
    if not refit or labels is None:
        return _planned(made, out)
    return _planned(made, out, f"By the labels so far:\n{ModelCheck.of(loaded, labels, missing)}", refitted=qrels)


def _check_level(level: str | None, design: str | None) -> None:
    """Raise if a design is for the other level."""
    levels = [each for each, designs in (("query", DESIGNS), ("document", DOCUMENT_DRAWINGS)) if design in designs]
    if levels and level is not None and level not in levels:
        raise ValueError(f"--design {design} is one of --level {levels[0]}, not of --level {level}")


def _level_of_rounds(level: str | None, design: str | None) -> str:
    """The level of a plan in several rounds, which are of documents."""
    remedies = ["say --level document"] if level == "query" else []
    remedies += [f"leave out --design {design}"] if design in DESIGNS else []
    if remedies:
        raise ValueError(f"--rounds are of documents: {' and '.join(remedies)}")
    return "document"


def _planned(
    made: Plan,
    out: Path,
    grades: str = "",
    rounds: int = 1,
    unchecked: bool = False,
    refitted: list[Path] | None = None,
) -> Answer:
    """The answer that a plan was made."""
    worklist = new_path(out.with_name(f"{out.name}.csv"))
    hint = f"The plan is in {out}. {_to_judge(made, out, worklist)}"
    further = unchecked and made.tables.rounds and made.tables.manifest.rest is None and not made.tables.manifest.census
    if rounds > 1 or further:
        again = ["--refit", "--budget", f"{made.tables.manifest.arguments.budget:g}"]
        more = command_line("extend", out, worklist, *again, "--out", new_path(out.with_name(f"{out.name}-2")))
        trust = "When it is judged, a further round learns from the labels how far to trust the judge"
        first = f"It is the first of {rounds} rounds. When it is judged, draw the next"
        hint += f"\n{first if rounds > 1 else trust}:\n  {more}"
    if refitted is not None:
        again = ["--refit", "--budget", f"{made.tables.manifest.rounds[-1].budget:g}"]
        more = command_line("extend", out, *refitted, worklist, *again, "--out", new_path(_numbered(out)))
        hint += f"\nWhen it is judged, the grades can be fitted once more, for another round:\n  {more}"
    content = {"plan": str(out), **made.manifest, "caution": made.caution} | ({"grades": grades} if grades else {})
    return Answer(content, f"{made}\n\n{grades}" if grades else str(made), hint)


def _to_judge(made: Plan, out: Path, worklist: Path) -> str:
    """The two ways to let people judge a plan: in their browsers, or in a file."""
    order = ["--order", "drawn"] if has_order(made.tables) else []
    alone = len(made.rankers) == 1
    browsers = command_line("judge", out, *(["--margin", "X"] if alone else []))
    export = command_line("export", out, "--out", worklist, "--format", TABLE_FORMAT, *order)
    what = " (X is how far off the estimate may be)" if alone else ""
    return (
        f"Next, let people judge it in their browsers{what}:\n  {browsers}\n"
        f"Or write what they are to judge to a file, for a spreadsheet:\n  {export}"
    )


def _numbered(folder: Path) -> Path:
    """The folder of the next round: ``plan-2`` after ``plan``, ``plan-3`` after ``plan-2``."""
    stem, dash, number = folder.name.rpartition("-")
    return folder.with_name(f"{stem}-{int(number) + 1}" if dash and number.isdecimal() else f"{folder.name}-2")
