"""How does ``pt-active plan --out-of-core`` choose from runs that do not fit into memory?"""

from __future__ import annotations

import dataclasses

from pt_active.cli.collection import PoolFiles
from pt_active.cli.options import Prices
from pt_active.cli.pools import reads_texts, run_files
from pt_active.cli.texts import with_texts
from pt_active.frames.topics import read_topics
from pt_active.logs import ScannedRuns
from pt_active.logs.files import matching
from pt_active.logs.planning import Settings
from pt_active.plans.plan import Plan
from pt_active.sampling.drawings import OBJECTIVES


def check_out_of_core(source: PoolFiles, design: str | None, objective: str, rounds: int) -> None:
    """Raise if an option does not go with ``--out-of-core``, which is of runs as they are, in one round."""
    wrong = {
        "--pool": source.pool is not None,
        "--lenient": source.lenient,
        f"--design {design}": design == "depth",
        f"--objective {objective}": objective != OBJECTIVES[0],
        f"--rounds {rounds}": rounds > 1,
    }
    if given := [option for option, said in wrong.items() if said]:
        raise ValueError(f"--out-of-core plans one round from runs as they are; leave out {', '.join(given)}")


def plan_out_of_core(source: PoolFiles, prices: Prices, settings: Settings) -> tuple[Plan, str]:
    """A plan from the runs of a command, and where its grades come from."""
    price = prices.of_judging()
    if reads_texts(price):
        raise ValueError(f"--cost {prices.cost} needs the text of every document, which --out-of-core does not read")
    queries = None if source.topics is None else read_topics(source.topics)
    model, _, described = source.model(str(settings.measure))
    files = {name: tuple(matching(name, file)) for name, file in run_files(source.run or []).items()}
    runs = ScannedRuns(files, source.depth, source.allow_missing_queries)
    made = runs.plan(
        model,
        queries,
        settings.measure,
        price,
        settings.budget,
        settings.design,
        settings.seed,
        draws=settings.draws,
        replace=settings.replace,
        defensive=settings.defensive,
        level=settings.level,
    )
    if source.texts is not None:
        judged = with_texts(made.tables.assessments, source.texts)
        made = Plan._of(dataclasses.replace(made.tables, assessments=judged))
    return made, described
