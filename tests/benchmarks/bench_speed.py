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

from pt_active import ERR, Plan, Runs, SamplingDistribution
from pt_active.frames.trec import read_run
from pt_active.plans.making.queries import in_drawing_order

GRADES = 5


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


def run_frames(queries: int, documents: int) -> tuple[pd.DataFrame, list[pd.DataFrame], pd.DataFrame]:
    """Topics, two runs over the same documents, and qrels for a third of them."""
    rng = np.random.default_rng(2)
    qid = np.repeat(np.array([f"q{x}" for x in range(queries)], dtype=object), documents)
    docno = np.array(
        [f"doc{z}" for z in rng.integers(10**9, size=len(qid)) * 200 + np.arange(len(qid)) % 200], dtype=object
    )
    pairs = pd.DataFrame({"qid": qid, "docno": docno})
    runs = [pairs.assign(score=rng.normal(size=len(pairs))) for _ in range(2)]
    topics = pd.DataFrame({"qid": pairs["qid"].unique()})
    qrels = pairs.assign(label=rng.integers(GRADES, size=len(pairs))).sample(frac=1 / 3, random_state=3)
    return topics, runs, qrels


def import_seconds(module: str) -> float:
    """Import time in a fresh interpreter, the fastest of five; PyTerrier's entry points do not load ours."""
    code = (
        "import time, importlib.metadata as m; own = m.entry_points\n"
        "m.entry_points = lambda **k: [e for e in own(**k) if not e.value.startswith('pt_active')]\n"
        f"t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def judged_plan(queries: int, level: str) -> tuple[Plan, pd.DataFrame]:
    """A plan of two rankers of 12 documents a query, and the labels of all that it asks for, in its order."""
    rng, documents = np.random.default_rng(9), 12
    quality = rng.normal(size=(queries, documents))
    ranks = [np.argsort(np.argsort(rng.normal(size=quality.shape) - quality, axis=1), axis=1).ravel() for _ in range(2)]
    relevant = 1 / (1 + np.exp(-1.5 * (quality.ravel()[:, None] - np.array([0.8, 1.8]))))
    pool = pd.DataFrame(
        {
            "qid": np.repeat([f"q{x}" for x in range(queries)], documents),
            "docno": np.tile([f"d{z}" for z in range(documents)], queries),
            "rank_a": ranks[0],
            "rank_b": ranks[1],
            "grade_0": 1 - relevant[:, 0],
            "grade_1": relevant[:, 0] - relevant[:, 1],
            "grade_2": relevant[:, 1],
        }
    )
    qrels = pool[["qid", "docno"]].assign(label=(rng.random((len(pool), 1)) < relevant).sum(axis=1))
    plan = Plan.create(pool, None, "DCG@10", budget=0.9 * queries * 10 if level == "query" else 2000, level=level)
    order = in_drawing_order(plan.tables, "drawn")[["qid", "docno"]]
    return plan, order.merge(qrels, how="left")


def many_rankers(rankers: int, queries: int, depth: int) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Runs like those of a track, which share many of their documents, and qrels for a third of them."""
    rng = np.random.default_rng(10)
    documents = 4 * depth
    quality = rng.normal(size=(queries, documents))
    runs = {}
    for name in (f"system{s}" for s in range(rankers)):
        score = quality + rng.normal(size=quality.shape)
        best = np.argsort(-score, axis=1)[:, :depth]
        qid, docno = np.repeat(np.arange(queries), depth).astype(str), [f"d{z}" for z in best.ravel()]
        value = np.take_along_axis(score, best, axis=1).ravel()
        runs[name] = pd.DataFrame({"qid": qid, "docno": docno, "score": value})
    pairs = pd.concat(runs.values())[["qid", "docno"]].drop_duplicates()
    return runs, pairs.assign(label=rng.integers(GRADES, size=len(pairs))).sample(frac=1 / 3, random_state=3)


def run_file(folder: Path, queries: int) -> tuple[Path, Callable[[], object]]:
    """A run of 100 documents a query, and Arrow's reader of the file."""
    rng = np.random.default_rng(11)
    score = np.sort(rng.normal(20, 3, (queries, 100)))[:, ::-1].ravel()
    number = rng.integers(88_000, size=len(score)) * 100 + np.arange(len(score)) % 100
    path = folder / "a.run"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            f"{x // 100 * 7 + 10**6} Q0 passage_{number[x]} {x % 100 + 1} {score[x]:.6f} bm25\n"
            for x in range(len(score))
        )
    from pyarrow import csv

    columns = csv.ReadOptions(column_names=["qid", "Q0", "docno", "rank", "score", "tag"])
    return path, lambda: csv.read_csv(path, columns, csv.ParseOptions(delimiter=" ", quote_char=False))


def help_seconds() -> float:
    """Time of ``pt-active --help`` in a fresh interpreter, the fastest of five."""
    command = [sys.executable, "-m", "pt_active", "--help"]
    return timed(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True), 5, time.perf_counter)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=31_531)
    parser.add_argument("--documents", type=int, default=120)
    arguments = parser.parse_args()
    queries, documents = arguments.queries, arguments.documents
    rows = []
    topics, runs, qrels = run_frames(queries, documents)
    design = (
        Runs(first=runs[0], second=runs[1])
        >> ScoreGrades()
        >> SamplingDistribution(ERR(max_rel=GRADES - 1), level="query")
    )
    design(topics.head(300))
    ours = timed(lambda: design(topics))
    ready = (Runs(first=runs[0], second=runs[1]) >> ScoreGrades())(topics)
    of_ready = timed(lambda: SamplingDistribution(ERR(max_rel=GRADES - 1), level="query")(ready))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    irm = [frame.rename(columns=names) for frame in (qrels, runs[0])]
    theirs = timed(lambda: ir_measures.calc_aggregate([ir_measures.nDCG @ 10], *irm))
    rows.append(
        (f"two run frames to a design, {queries:,} × {documents}", "ir_measures nDCG@10 of one run", ours, theirs)
    )
    rows.append(("the same from a graded frame", "ir_measures nDCG@10 of one run", of_ready, theirs))
    pool = Runs(first=runs[0], second=runs[1]) >> ScoreGrades()
    for level in ("query", "document"):
        plan_of = partial(Plan.create, measure="ERR@10", budget=2000, level=level)
        plan_of(pool, topics.head(300))
        ours = timed(partial(plan_of, pool, topics))
        what = f"two run frames to a plan of {level} level, {queries:,} × {documents}"
        rows.append((what, "ir_measures nDCG@10 of one run", ours, theirs))
    track, qrels = many_rankers(63, 53, 100)
    graded = (Runs(**track) >> ScoreGrades())(pd.DataFrame({"qid": qrels["qid"].unique()}))
    ours = timed(lambda: Plan.create(graded, None, "DCG@10", budget=500, level="document"))
    irm = [frame.rename(columns=names) for frame in (qrels, *track.values())]
    theirs = timed(lambda: [ir_measures.calc_aggregate([ir_measures.nDCG @ 10], irm[0], each) for each in irm[1:]])
    rows.append(("plan of documents, 63 rankers × 53 topics", "ir_measures nDCG@10 of all runs", ours, theirs))
    plan = Plan.create(graded, None, "DCG@10", budget=1500, level="document")
    label = np.random.default_rng(12).integers(GRADES, size=len(plan.assessments))
    labels = plan.assessments[["qid", "docno"]].assign(label=label)
    plan.compare(labels, first="system0", second="system1")  # its loops are compiled now
    theirs = timed(lambda: [ir_measures.calc_aggregate([ir_measures.nDCG @ 10], irm[0], each) for each in irm[1:]])
    with tempfile.TemporaryDirectory() as folder:
        ours = timed(lambda: plan.rank(labels)), timed(lambda: plan.report(Path(folder) / "report.html", labels))
    for what, each in zip(("rank", "report"), ours, strict=True):
        rows.append((f"{what} of all pairs", "the same", each, theirs))
    with tempfile.TemporaryDirectory() as folder:
        path, other = run_file(Path(folder), max(queries // 2, 300))
        ours, theirs = timed(lambda: read_run(path), 3), timed(other, 3)
        rows.append((f"read_run, {path.stat().st_size / 1e6:.0f} MB, all its checks included", "Arrow", ours, theirs))
    plan, labels = judged_plan(queries, "query")
    plan.status(labels.head(1000))
    ours, theirs = timed(lambda: plan.status(labels)), timed(lambda: labels.merge(labels, on=["qid", "docno"]))
    rows.append(
        (f"status at any time, {queries:,} queries, {len(labels):,} labels", "merging the labels", ours, theirs)
    )
    imports = import_seconds("pt_active"), import_seconds("pyterrier")
    rows.append(("import pt_active, by the clock", "import pyterrier", *imports))
    rows.append(
        ("pt-active --help, interpreter included, by the clock", "import pyterrier", help_seconds(), imports[1])
    )
    print("| what | compared with | CPU seconds | those of the other | times faster |\n|---|---|---|---|---|")
    for what, against, ours, theirs in rows:
        print(f"| {what} | {against} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.2f} |")
    print(f"\nPeak memory up to the design: {peak:.2f} GB (two run frames included).")


if __name__ == "__main__":
    main()
