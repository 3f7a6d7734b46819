"""What does it take to sample the queries of a large log, beside looking at its rows at all?

Run ``python tests/benchmarks/bench_logs.py`` (``--queries 1e6`` for a quick look). It writes the runs of two rankers
for 10,000,000 queries into a temporary folder, 100,000,000 rows in Parquet, of a traffic that few queries have most of,
and draws 100,000 queries. Each line is a process of its own: its CPU seconds, seconds by the clock, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

DOCUMENTS, SHARE, RUNS = 5, 0.01, ("new", "old")


def write_runs(folder: Path, queries: int) -> None:
    """The runs, with ids of eleven letters, and the traffic of its query in each row."""
    import duckdb

    for name in RUNS:
        traffic = "ceil(1e6 / (1 + hash(q) % 1000000))"
        row = "format('q{:010d}', q) AS qid, format('d{:010d}', hash(q + 7 * d) % 10000000000) AS docno"
        score = f"1.0 - d / {DOCUMENTS} + hash(q, d, '{name}') % 1000 / 1e4 AS score"
        rows = f"SELECT {row}, {score}, {traffic} AS traffic FROM range({queries}) a(q), range({DOCUMENTS}) b(d)"
        duckdb.sql("SET memory_limit = '1GB'")
        duckdb.sql(f"COPY ({rows}) TO '{folder / name}.parquet' (FORMAT parquet)")


def asked(folder: Path, what: str) -> None:
    """One number of all rows, by DuckDB."""
    import duckdb

    print(duckdb.sql(f"SELECT {what} FROM read_parquet('{folder}/*.parquet')").fetchall(), file=sys.stderr)


def sampled(folder: Path, queries: int) -> None:
    """Draw queries, and read their runs."""
    from pt_active.logs import sample_queries

    files = {name: folder / f"{name}.parquet" for name in RUNS}
    sample = sample_queries(files, round(SHARE * queries), weight="traffic", seed=1)
    rows = sum(map(len, sample.runs.values()))
    print(f"{len(sample.topics)} queries, {sample.certain} certain, {rows} rows", file=sys.stderr)


STEPS: dict[str, Callable[[Path, int], None]] = {
    "SELECT count(*), from metadata alone": lambda folder, _: asked(folder, "count(*)"),
    "SELECT count(*) WHERE length(qid) > 0": lambda folder, _: asked(folder, "count(*) FILTER (length(qid) > 0)"),
    "SELECT count(DISTINCT qid)": lambda folder, _: asked(folder, "count(DISTINCT qid)"),
    "sample_queries": sampled,
}


def measured(step: str, folder: Path, queries: int) -> dict[str, float]:
    """What a step takes in a process of its own."""
    begin = time.perf_counter()
    words = [sys.executable, __file__, "--queries", str(queries), "--step", step, "--folder", str(folder)]
    said = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said) | {"seconds": time.perf_counter() - begin}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=float, default=1e7)
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    queries = round(arguments.queries)
    if arguments.step:
        STEPS[arguments.step](arguments.folder, queries)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 2**20}))
        return
    with tempfile.TemporaryDirectory() as name:
        write_runs(Path(name), queries)
        size = sum(file.stat().st_size for file in Path(name).iterdir()) / 1e9
        print(f"{queries:,} queries, {queries * DOCUMENTS * len(RUNS):,} rows, {size:.2f} GB\n")
        print("| what | CPU seconds | seconds | peak GB |\n| --- | --- | --- | --- |")
        for step in STEPS:
            took = measured(step, Path(name), queries)
            print(f"| {step} | {took['cpu']:.1f} | {took['seconds']:.1f} | {took['peak']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
