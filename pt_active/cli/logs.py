"""The command that draws queries of a log: sample-queries."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path

from pt_active.cli.answer import Answer, check_new, command_line
from pt_active.cli.commands import option
from pt_active.cli.files import named_files
from pt_active.cli.options import random_seed
from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import MAX_WHOLE, how_many, shown
from pt_active.logs import sample_queries as drawn_from


def sample_queries(
    run: list[str] = option(
        MISSING, "A ranker's files or a pattern: Parquet, CSV or TREC; pass one for each ranker.", "NAME=FILES"
    ),
    size: int = option(MISSING, "The number of queries to draw.", "N", within=(1, MAX_WHOLE)),
    weight: str | None = option(
        None, "The traffic: a column of the runs, or a file with qid, traffic and perhaps query.", "COLUMN|FILE"
    ),
    seed: int = random_seed(),
    out: Path = option(MISSING, "The folder to create.", "DIR"),
) -> Answer:
    """Draw queries of a log, each at most once, by their traffic, and write their runs to plan from.

    The folder gets a run of each ranker, and topics.csv with the drawn queries and the weights that they stand for. A
    plan of these answers for the log with --queries new.
    """
    check_new(out)
    files = named_files(run, "--run")
    if wrong := [name for name in files if Path(name).name != name]:
        raise ValueError(f"--run: the name {shown(wrong[0])} cannot be that of a file")
    sample = drawn_from(files, size, weight=weight, seed=seed)
    with new_folder(out) as folder:
        topics = sample.topics if "query" in sample.topics else sample.topics.assign(query="")
        topics.to_csv(folder / "topics.csv", index=False)
        for name, rows in sample.runs.items():
            rows.to_parquet(folder / f"{name}.parquet", index=False)
    certain = f", {sample.certain} of them certain to be drawn" if sample.certain else ""
    said = f"{how_many('query', len(sample.topics))} of {sample.queries}{certain}"
    lengths = {name: len(each) for name, each in sample.runs.items()}
    runs = [word for name in files for word in ("--run", f"{name}={out / name}.parquet")]
    plan = command_line("plan", *runs, "--topics", out / "topics.csv", "--measure", "NAME", "--budget", "X")
    content = {"out": str(out), "queries": sample.queries, "drawn": len(sample.topics), "certain": sample.certain}
    hint = f"Next, plan from it, with your grades, and ask for --queries new:\n  {plan} --out DIR"
    return Answer(content | {"rows": lengths}, f"Drawn: {said}, and their runs, in {out}.", hint)
