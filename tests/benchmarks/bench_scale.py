"""How time and memory grow from 10³ to 10⁶ queries, for plans of runs in files and for what one might do instead.

Run ``python tests/benchmarks/bench_scale.py --most 1e6`` (``--most 1e4`` for a quick look). Prints a table: CPU
seconds of all processes, seconds by the clock, peak memory of all processes together (looked at five times a second),
and the exponent of CPU seconds from the last size but one to the last. Each cell is one run in a process of its own,
with files in a temporary folder. Polars and DuckDB are needed beside the extras ``dask`` and ``spark``, with Java.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BUDGET, BLOCK, LOOK, RUNS = 2000, 50_000, 0.2, ["new", "old"]


def write_runs(folder: Path, queries: int, documents: int) -> None:
    """Two runs in Parquet, ``new`` and ``old``, each with its own ranking of the same candidates."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("qid", pa.string()), ("docno", pa.string()), ("score", pa.float64())])
    for seed, name in enumerate(("new", "old")):
        rng = np.random.default_rng(seed)
        with pq.ParquetWriter(folder / f"{name}.parquet", schema) as writer:
            for start in range(0, queries, BLOCK):
                number = min(BLOCK, queries - start)
                late = 0.02 * np.arange(2 * documents)
                order = np.argsort(rng.random((number, 2 * documents)) + late, axis=1)[:, :documents]
                query = np.repeat(np.arange(start, start + number), documents).tolist()
                qid = [f"q{x:08d}" for x in query]
                docno = [f"{q}-{d}" for q, d in zip(qid, order.ravel().tolist(), strict=True)]
                score = -np.sort(-rng.random((number, documents)), axis=1).ravel()
                writer.write_table(pa.table([qid, docno, score], schema=schema))


def plan_from_files(folder: Path, level: str = "query", measure: str = "DCG@10") -> None:
    from pt_active import ColdGrades
    from pt_active.logs import scan

    runs = scan(folder=folder, new=folder / "new.parquet", old=folder / "old.parquet")
    runs.plan(ColdGrades(4), None, measure, budget=BUDGET, level=level).save(folder / f"{level}-{measure}")


def plan_of_documents_from_files(folder: Path) -> None:
    plan_from_files(folder, "document")


def plan_of_ndcg_from_files(folder: Path) -> None:
    plan_from_files(folder, "document", "nDCG@10")


def bare_scan(folder: Path) -> None:
    import polars as pl

    scanned = pl.scan_parquet([folder / "new.parquet", folder / "old.parquet"])
    sizes = [pl.col(name).str.len_bytes().sum() for name in ("qid", "docno")]
    scanned.select(*sizes, pl.col("score").sum()).collect(engine="streaming")


def reservoir_sample(folder: Path) -> None:
    import duckdb

    both = f"read_parquet(['{folder}/new.parquet', '{folder}/old.parquet'])"
    drawn = f"SELECT qid FROM {both} GROUP BY qid ORDER BY -ln(random()) / sum(abs(score)) LIMIT 125"
    duckdb.sql(f"SELECT DISTINCT qid, docno FROM {both} SEMI JOIN ({drawn}) USING (qid)").fetchall()


def plan_in_memory(folder: Path, level: str = "query") -> None:
    import pandas as pd

    from pt_active import ColdGrades, Plan, Runs

    runs = {name: pd.read_parquet(folder / f"{name}.parquet") for name in ("new", "old")}
    topics = pd.DataFrame({"qid": runs["new"]["qid"].unique()})
    Plan.create(Runs(**runs) >> ColdGrades(4), topics, "DCG@10", budget=BUDGET, level=level)


def plan_of_documents_in_memory(folder: Path) -> None:
    plan_in_memory(folder, "document")


def measured_by_ir_measures(folder: Path) -> None:
    import ir_measures
    import pandas as pd

    run = pd.read_parquet(folder / "new.parquet").set_axis(["query_id", "doc_id", "score"], axis=1)
    qrels = run[["query_id", "doc_id"]].assign(relevance=np.arange(len(run)) % 3)
    ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)


def plan_on_dask(folder: Path) -> None:
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from pt_active import ColdGrades
    from pt_active.logs import on_dask
    from pt_active.logs.planning import Settings

    dask.config.set({"dataframe.shuffle.method": "p2p", "temporary-directory": str(folder)})
    options = {"n_workers": os.cpu_count(), "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        runs = [dd.read_parquet(folder / f"{name}.parquet").assign(run=name) for name in ("new", "old")]
        united = dd.concat(runs)
        number = max(2, len(united) >> 20)
        settings = Settings("DCG@10", budget=BUDGET, level="query")
        shuffled = united.shuffle("qid", npartitions=number)
        on_dask.plan(shuffled, ColdGrades(4), None, settings, names=["new", "old"]).save(folder / "dask")
        print(json.dumps(usage()), flush=True)


def plan_on_spark(folder: Path) -> None:
    from pyspark.sql import SparkSession, functions

    from pt_active import ColdGrades
    from pt_active.logs import on_spark
    from pt_active.logs.planning import Settings

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.local.dir": str(folder / "shuffled"),
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    runs = [session.read.parquet(str(folder / f"{n}.parquet")).withColumn("run", functions.lit(n)) for n in RUNS]
    united = runs[0].unionByName(runs[1])
    asked = Settings("DCG@10", budget=BUDGET, level="query")
    spread = united.repartition(max(2, united.count() >> 19), "qid")
    on_spark.plan(spread, ColdGrades(4), None, asked, names=RUNS).save(folder / "spark")
    print(json.dumps(usage()), flush=True)
    session.stop()


STEPS: dict[str, tuple[str, Callable[[Path], None], float]] = {
    "scan": ("bare Polars scan of both files (the limit)", bare_scan, math.inf),
    "plan": ("plan of queries from files", plan_from_files, math.inf),
    "documents": ("plan of documents from files", plan_of_documents_from_files, math.inf),
    "ndcg": ("plan of documents for nDCG@10 from files", plan_of_ndcg_from_files, 1e5),
    "reservoir": ("weighted reservoir sample, DuckDB SQL", reservoir_sample, math.inf),
    "memory": ("plan of queries in memory", plan_in_memory, 1e6),
    "documents_in_memory": ("plan of documents in memory", plan_of_documents_in_memory, 1e6),
    "ir_measures": ("`ir_measures` nDCG@10 of one run", measured_by_ir_measures, 1e5),
    "dask": ("plan of queries on a Dask LocalCluster", plan_on_dask, 1e5),
    "spark": ("plan of queries on Spark, local", plan_on_spark, 1e5),
}
"""Name → what it is, the work, and the most queries that it is tried with."""


def family(of: int) -> dict[int, list[str]]:
    """A process and all that it has started and that still run, by id, with the fields of their ``stat``."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
    found, before = {of}, set[int]()
    while found != before:
        before, found = found, found | {each for each, stat in parents.items() if int(stat[1]) in found}
    return {each: parents[each] for each in found if each in parents}


def usage() -> dict[str, float]:
    """CPU seconds of this process and of those that it has started."""
    stats = family(os.getpid()).values()
    return {"cpu": sum(sum(map(int, stat[11:15])) for stat in stats) / os.sysconf("SC_CLK_TCK")}


def memory(of: int) -> float:
    """Megabytes in memory of a process and all that it has started."""
    return sum(int(stat[21]) for stat in family(of).values()) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measured(step: str, folder: Path) -> dict[str, float]:
    """What a step takes in a process of its own: CPU seconds, seconds, and the largest memory at any moment."""
    begin, peak = time.perf_counter(), 0.0
    words = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, memory(process.pid))
            time.sleep(LOOK)
        assert process.stdout is not None
        said = process.stdout.read().splitlines()
    if process.returncode:
        raise SystemExit(f"{step} failed with {process.returncode}")
    return json.loads(said[0]) | {"peak": peak, "seconds": time.perf_counter() - begin}


def saved_plan(folder: Path) -> str:
    """How large a plan is, and how long it takes to load and to compare."""
    from pt_active import Plan

    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    begin = time.perf_counter()
    plan = Plan.load(folder)
    judged = plan.assessments
    loaded = time.perf_counter() - begin
    qrels = judged.assign(label=np.arange(len(judged)) % 5)
    begin = time.perf_counter()
    plan.compare(qrels)
    took = f"loads in {loaded:.2f} s, compares in {time.perf_counter() - begin:.2f} s"
    drawn = judged.sort_values(["qid", "docno"]).to_csv(index=False).encode()
    return f"saved {size:.2f} MB, {took}, what is drawn has the digest {hashlib.sha256(drawn).hexdigest()[:16]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=float, default=1e3, help="queries of the smallest size, a power of ten")
    parser.add_argument("--most", type=float, default=1e5, help="queries of the largest size, a power of ten")
    parser.add_argument("--documents", type=int, default=20, help="documents of a query in each run")
    parser.add_argument("--steps", nargs="*", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        STEPS[asked.step][1](asked.folder)
        print(json.dumps(usage()))
        return
    sizes = [10**power for power in range(round(math.log10(asked.least)), round(math.log10(asked.most)) + 1)]
    print(f"| CPU s / s / GB | {' | '.join(f'{size:,} queries' for size in sizes)} | exponent |")
    print(f"|---|{'---:|' * (len(sizes) + 1)}")
    cells: dict[str, list[dict[str, float]]] = {step: [] for step in asked.steps}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_runs(folder, size, asked.documents)
            for step in asked.steps:
                if size <= STEPS[step][2]:
                    cells[step].append(measured(step, folder))
                    print(f"{size:>9,} {step:<12} {cells[step][-1]}", file=sys.stderr, flush=True)
            plans = "query-DCG@10", "document-DCG@10", "document-nDCG@10", "dask", "spark"
            made = [name for name in plans if (folder / name).exists()]
            about = [f"{name}: {saved_plan(folder / name)}" for name in made]
    for step, row in cells.items():
        texts = [f"{c['cpu']:.1f} / {c['seconds']:.1f} / {c['peak'] / 1024:.1f}" for c in row]
        growth = f"{math.log10(row[-1]['cpu'] / row[-2]['cpu']):.2f}" if len(row) > 1 else ""
        print(f"| {STEPS[step][0]} | {' | '.join(texts + ['–'] * (len(sizes) - len(row)))} | {growth} |")
    print(f"\nPlans of {sizes[-1]:,} queries, by level or engine: {'; '.join(about)}.")


if __name__ == "__main__":
    main()
