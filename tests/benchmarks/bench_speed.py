"""Speed of the road from frames to a plan and its status, as ratios inside one run.

Run ``python tests/benchmarks/bench_speed.py`` (``--queries 2000`` for a quick look). Prints a Markdown table of CPU
seconds, and of seconds by the clock for what starts Python.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
from pyarrow import csv

from pt_active import ERR, Plan, Runs, SamplingDistribution
from pt_active.frames.trec import read_run
from pt_active.plans.making.queries import in_drawing_order

GRADES = 5
ONE_RUN = "ir_measures nDCG@10 of one run"


class ScoreGrades(pt.Transformer):
    """Grade probabilities from the mean score: stands in for a fitted model, whose own time is not measured."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        score = inp.filter(like="score_").mean(axis=1).to_numpy()
        weight = np.exp(np.outer(score - 1, np.arange(GRADES)))
        weight /= weight.sum(axis=1, keepdims=True)
        return inp.assign(**{f"grade_{g}": weight[:, g] for g in range(GRADES)})


def timed(work: Callable[[], object], repeat: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """Fastest of some runs, in CPU seconds of this process, all its threads included."""
    times = []
    for _ in range(repeat):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def track(rankers: int, queries: int, documents: int, depth: int) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Runs of some depth over the same documents, and labels of all that they find."""
    rng = np.random.default_rng(10)
    quality = rng.normal(size=(queries, documents))
    qid = np.repeat(np.array([f"q{q}" for q in range(queries)], dtype=object), depth)
    runs = {}
    for number in range(rankers):
        score = quality + rng.normal(size=quality.shape)
        best = np.argsort(-score, axis=1)[:, :depth]
        docno = np.array([f"doc{z * 200 + 10**9}" for z in range(documents)], dtype=object)[best.ravel()]
        value = np.take_along_axis(score, best, axis=1).ravel()
        runs[f"system{number}"] = pd.DataFrame({"qid": qid, "docno": docno, "score": value})
    pairs = pd.concat(runs.values())[["qid", "docno"]].drop_duplicates(ignore_index=True)
    return runs, pairs.assign(label=rng.integers(GRADES, size=len(pairs)))


def ndcg_seconds(qrels: pd.DataFrame, *runs: pd.DataFrame) -> float:
    """What ir_measures takes for nDCG@10 of each run, a third of whose documents are judged."""
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    judged, *theirs = (frame.rename(columns=names) for frame in (qrels.sample(frac=1 / 3, random_state=3), *runs))
    return timed(lambda: [ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, run) for run in theirs])


def import_seconds(module: str) -> float:
    """Import time in a fresh interpreter, the fastest of five; PyTerrier's entry points do not load ours."""
    code = (
        "import time, importlib.metadata as m; own = m.entry_points\n"
        "m.entry_points = lambda **k: [e for e in own(**k) if not e.value.startswith('pt_active')]\n"
        f"t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def run_file(folder: Path, queries: int) -> tuple[Path, Callable[[], object]]:
    """A run of 100 documents a query, and Arrow's reader of the file."""
    rng = np.random.default_rng(11)
    score = np.sort(rng.normal(20, 3, (queries, 100)))[:, ::-1].ravel()
    number = rng.integers(88_000, size=len(score)) * 100 + np.arange(len(score)) % 100
    path = folder / "a.run"
    lines = (
        f"{x // 100 * 7 + 10**6} Q0 passage_{number[x]} {x % 100 + 1} {score[x]:.6f} bm25\n" for x in range(len(score))
    )
    path.write_text("".join(lines), encoding="utf-8")
    columns = csv.ReadOptions(column_names=["qid", "Q0", "docno", "rank", "score", "tag"])
    return path, lambda: csv.read_csv(path, columns, csv.ParseOptions(delimiter=" ", quote_char=False))


def of_two_runs(queries: int, documents: int) -> list[tuple[str, str, float, float]]:
    """Designs and plans of two runs."""
    runs, qrels = track(2, queries, documents, documents)
    pool = Runs(**runs) >> ScoreGrades()
    topics = pd.DataFrame({"qid": qrels["qid"].unique()})
    measured = SamplingDistribution(ERR(max_rel=GRADES - 1), level="query")
    design = pool >> measured
    design(topics.head(300))
    theirs = ndcg_seconds(qrels, runs["system0"])
    size = f"{queries:,} × {documents}"
    rows = [(f"two run frames to a design, {size}", ONE_RUN, timed(lambda: design(topics)), theirs)]
    graded = pool(topics)
    rows.append(("the same from a graded frame", ONE_RUN, timed(lambda: measured(graded)), theirs))
    for level in ("query", "document"):
        plan_of = partial(Plan.create, pool, measure="ERR@10", budget=2000, level=level)
        plan_of(topics.head(300))
        ours = timed(lambda plan_of=plan_of: plan_of(topics))
        rows.append((f"two run frames to a plan of {level} level, {size}", ONE_RUN, ours, theirs))
    return rows


def of_many_rankers(folder: Path) -> list[tuple[str, str, float, float]]:
    """The plan of a track, and its answers."""
    runs, qrels = track(63, 53, 400, 100)
    graded = (Runs(**runs) >> ScoreGrades())(pd.DataFrame({"qid": qrels["qid"].unique()}))
    theirs = ndcg_seconds(qrels, *runs.values())
    what = "plan of documents, 63 rankers × 53 topics", "ir_measures nDCG@10 of all runs"
    rows = [(*what, timed(lambda: Plan.create(graded, None, "DCG@10", budget=500, level="document")), theirs)]
    plan = Plan.create(graded, None, "DCG@10", budget=1500, level="document")
    labels = plan.assessments[["qid", "docno"]].merge(qrels)
    plan.compare(labels, first="system0", second="system1")  # its loops are compiled now
    rows.append(("rank of all pairs", "the same", timed(lambda: plan.rank(labels)), theirs))
    report = timed(lambda: plan.report(folder / "report.html", labels))
    return [*rows, ("report of all pairs", "the same", report, theirs)]


def of_status(queries: int) -> tuple[str, str, float, float]:
    """The status of a plan of queries all of whose labels are there."""
    runs, qrels = track(2, queries, 12, 12)
    graded = (Runs(**runs) >> ScoreGrades())(pd.DataFrame({"qid": qrels["qid"].unique()}))
    plan = Plan.create(graded, None, "DCG@10", budget=0.9 * queries * 10, level="query")
    labels = in_drawing_order(plan.tables)[["qid", "docno"]].merge(qrels, how="left")
    plan.status(labels.head(1000))
    ours, theirs = timed(lambda: plan.status(labels)), timed(lambda: labels.merge(labels, on=["qid", "docno"]))
    return f"status at any time, {queries:,} queries, {len(labels):,} labels", "merging the labels", ours, theirs


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=31_531)
    parser.add_argument("--documents", type=int, default=120)
    arguments = parser.parse_args()
    rows = of_two_runs(arguments.queries, arguments.documents)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    with tempfile.TemporaryDirectory() as folder:
        rows += of_many_rankers(Path(folder))
        path, other = run_file(Path(folder), max(arguments.queries // 2, 300))
        ours, theirs = timed(lambda: read_run(path), 3), timed(other, 3)
        rows.append((f"read_run, {path.stat().st_size / 1e6:.0f} MB, all its checks included", "Arrow", ours, theirs))
    rows.append(of_status(arguments.queries))
    pyterrier = import_seconds("pyterrier")
    rows.append(("import pt_active, by the clock", "import pyterrier", import_seconds("pt_active"), pyterrier))
    command = partial(subprocess.run, [sys.executable, "-m", "pt_active", "--help"], stdout=subprocess.DEVNULL)
    ours = timed(command, 5, time.perf_counter)
    rows.append(("pt-active --help, interpreter included, by the clock", "import pyterrier", ours, pyterrier))
    print("| what | compared with | CPU seconds | those of the other | times faster |\n|---|---|---|---|---|")
    for what, against, ours, theirs in rows:
        print(f"| {what} | {against} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.2f} |")
    print(f"\nPeak memory up to the plans: {peak:.2f} GB (two run frames included).")


if __name__ == "__main__":
    main()
