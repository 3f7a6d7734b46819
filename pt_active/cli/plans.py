"""Commands that choose what people should judge: plan and extend."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from pt_active.cli.answer import Answer, beside, check_new, command_line, new_path
from pt_active.cli.commands import Typed, argument, option
from pt_active.cli.files import PoolFiles, reads_texts, texts_for, with_texts
from pt_active.cli.fits import whole_pools
from pt_active.cli.options import (
    MEASURES,
    JudgingCosts,
    design_choices,
    for_any_missing,
    plan_folder,
    random_seed,
)
from pt_active.frames.checks import MAX_DRAWS
from pt_active.frames.columns import grade_columns
from pt_active.frames.topics import read_topics
from pt_active.frames.worklists import TABLE_FORMAT
from pt_active.judging.files import read_labels
from pt_active.logs import ScannedRuns
from pt_active.logs.files import matching
from pt_active.plans.answers.forecast import LEVELS
from pt_active.plans.answers.model_check import ModelCheck
from pt_active.plans.making.extension import REFIT
from pt_active.plans.making.judgments import as_qrels
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.designs import DESIGNS
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS

MAX_ROUNDS = 100


@dataclass(frozen=True)
class Sampling(Typed):
    """How a plan samples."""

    measure: str = option(MISSING, "What to estimate, such as DCG@10 or nDCG@10.", "NAME", **MEASURES)
    budget: float | None = option(None, "The most to spend, in the unit of the cost.")
    draws: int | None = option(
        None, "The number of queries to draw, instead of a budget.", "N", within=(1, MAX_DRAWS), rare=True
    )
    level: str | None = option(
        None, "What to sample: {}; default: documents, unless queries are expected to be better.", "NAME", names=LEVELS
    )
    design: str | None = option(
        None,
        f"Queries: {', '.join(DESIGNS)}. Documents: {', '.join(DOCUMENT_DRAWINGS)}.",
        "NAME",
        names=design_choices,
    )
    rounds: int = option(
        1, "Rounds of documents; the first has its share of the budget.", "N", within=(1, MAX_ROUNDS), rare=True
    )
    seed: int = random_seed()

    def how(self) -> dict[str, Any]:
        """The arguments that plans from memory and from logs have in common; raises if options do not go together."""
        if self.budget is None and self.draws is None:
            raise ValueError("pass --budget, the most to spend, such as the number of documents that people can judge")
        if self.budget is not None and self.draws is not None:
            raise ValueError("pass either --budget or --draws, and not both")
        level, of_queries = self.level, self.design in DESIGNS
        if self.rounds > 1:
            remedies = ["pass --level document"] if level == "query" else []
            remedies += [f"leave out --design {self.design}"] if of_queries else []
            if remedies:
                raise ValueError(f"--rounds are of documents: {' and '.join(remedies)}")
            level = "document"
        elif self.design is not None and level not in (None, own := "query" if of_queries else "document"):
            raise ValueError(f"--design {self.design} is one of --level {own}, not of --level {level}")
        budget = self.budget if self.budget is None else self.budget / self.rounds
        return {"budget": budget, "design": self.design, "seed": self.seed, "draws": self.draws, "level": level}


def plan(
    sampling: Sampling,
    source: PoolFiles,
    prices: JudgingCosts,
    out: Path = option(MISSING, "The folder to make.", "DIR"),
    out_of_core: bool = option(False, "Runs do not fit into memory; FILE may be a pattern.", rare=True),
) -> Answer:
    """Choose the queries or documents to judge, and keep the choice in a folder."""
    check_new(out)
    cost, how = prices.of_judging(), sampling.how()
    source.check(patterns=out_of_core)
    if out_of_core:
        made, described = _out_of_core(source, prices, sampling)
        return _planned(made.save(out), out, described, unchecked=source.is_unchecked)
    frame, queries = source.read(prices, sampling.measure)
    highest = len(grade_columns(frame.columns)) - 1
    measure = parse_measure(sampling.measure, max(highest, 0) or None)
    if said := whole_pools(measure, len(frame), frame["qid"].nunique()):
        warnings.warn(said, stacklevel=2)
    made = Plan.create(frame, queries, sampling.measure, cost=cost, **how).save(out)
    return _planned(made, out, frame.attrs.get("grade_model", ""), sampling.rounds, source.is_unchecked)


def _out_of_core(source: PoolFiles, prices: JudgingCosts, sampling: Sampling) -> tuple[Plan, str]:
    """A plan from runs that do not fit into memory, and where its grades come from."""
    wrong = {
        "--pool": source.pool is not None,
        "--lenient": source.lenient,
        "--design depth": sampling.design == "depth",
        f"--rounds {sampling.rounds}": sampling.rounds > 1,
    }
    if given := [option for option, said in wrong.items() if said]:
        raise ValueError(f"--out-of-core plans one round from runs as they are; leave out {', '.join(given)}")
    price = prices.of_judging()
    if reads_texts(price):
        raise ValueError(f"--cost {prices.cost} needs the text of every document, which --out-of-core does not read")
    queries = None if source.topics is None else read_topics(source.topics)
    model, _, described = source.model(sampling.measure)
    files = {name: tuple(matching(name, file)) for name, file in source.files.items()}
    runs = ScannedRuns(files, source.depth, source.allow_missing_queries)
    made = runs.plan(model, queries, sampling.measure, price, **sampling.how())
    if source.texts is not None:
        judged = with_texts(made.tables.assessments, source.texts)
        made = Plan._of(dataclasses.replace(made.tables, assessments=judged))
    return made, described


def extend(
    plan: Path = plan_folder(),
    qrels: list[Path] | None = argument(None, "The labels so far, from which documents are chosen.", "QRELS"),
    out: Path = option(MISSING, "The folder to make.", "DIR"),
    budget: float = option(MISSING, "The most to spend on top, in the unit of the cost."),
    refit: bool = option(False, "Fit the grades of documents to the labels so far, for a new round."),
    texts: Path | None = option(None, "Document texts, for the judges.", "FILE"),
    missing: str | None = for_any_missing(),
) -> Answer:
    """Choose more to judge: the next queries, or a round of documents that learns from the labels so far."""
    check_new(out)
    loaded = Plan.load(plan)
    text = texts_for(loaded, texts, warned=False)
    labels, policy = as_qrels(read_labels(qrels, loaded)) if qrels else None, missing or "error"
    grades = REFIT if refit else None
    made = loaded.extend(budget, labels, grades, texts=text, missing=policy).save(out)
    if not refit or labels is None:
        return _planned(made, out)
    return _planned(made, out, f"By the labels so far:\n{ModelCheck.of(loaded, labels, policy)}", refitted=qrels)


def _planned(
    made: Plan,
    out: Path,
    grades: str = "",
    rounds: int = 1,
    unchecked: bool = False,
    refitted: list[Path] | None = None,
) -> Answer:
    tables, worklist = made.tables, beside(out, ".csv")
    order = ["--order", "drawn"] if has_order(tables) else []
    alone = len(made.rankers) == 1
    browsers = command_line("judge", out, *(["--margin", "X"] if alone else []))
    export = command_line("export", out, "--out", worklist, "--format", TABLE_FORMAT, *order)
    hint = (
        f"The plan is in {out}. Next, let people judge it in their browsers"
        f"{' (X is how far off the estimate may be)' if alone else ''}:\n  {browsers}\n"
        f"Or write what they are to judge to a file, for a spreadsheet:\n  {export}"
    )

    def further(budget: float | None, labels: list[Path], folder: Path) -> str:
        again = ["--refit", "--budget", f"{budget:g}", "--out", new_path(folder)]
        return command_line("extend", out, *labels, worklist, *again)

    after = out.with_name(f"{out.name}-2")
    if rounds > 1 or (unchecked and tables.rounds and tables.manifest.rest is None and not tables.manifest.census):
        trust = "When it is judged, a further round learns from the labels how far to trust the judge"
        first = f"It is the first of {rounds} rounds. When it is judged, draw the next"
        more = further(tables.manifest.arguments.budget, [], after)
        hint += f"\n{first if rounds > 1 else trust}:\n  {more}"
    if refitted is not None:
        stem, dash, number = out.name.rpartition("-")
        numbered = out.with_name(f"{stem}-{int(number) + 1}") if dash and number.isdecimal() else after
        more = further(tables.manifest.rounds[-1].budget, refitted, numbered)
        hint += f"\nWhen it is judged, the grades can be fitted once more, for another round:\n  {more}"
    content = {"plan": str(out), **made.manifest, "caution": made.caution} | ({"grades": grades} if grades else {})
    return Answer(content, f"{made}\n\n{grades}" if grades else str(made), hint)
