"""Makes a labelled pool from TREC runs and qrels.

    python data_scripts/trec_to_pool.py --run a=a.run --run b=b.run --qrels qrels.txt --depth 10 --out pool.parquet

``--runs FOLDER`` takes every file of a folder; a ranker's name is its file name up to the first dot. Queries without
any label are left out. ``--depth`` cuts the rankings before ``--unjudged`` applies.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from pool_writer import BadInput, Documents, check_new, digests, named, parser, progress, ranked, run, write_pool

from pt_active import Runs
from pt_active.frames.checks import some
from pt_active.frames.columns import ranker_names
from pt_active.frames.topics import read_texts, read_topics
from pt_active.frames.trec import read_qrels, read_run

UNJUDGED = ("error", "drop", "nonrelevant")
"""How to treat retrieved documents without a label: an error, dropped from the rankings, or grade 0."""


def run_files(runs: list[str], folder: Path | None) -> dict[str, Path]:
    """The file of each ranker.

    Raises:
        BadInput: If there is no run, or a name is repeated or not allowed by `Runs`.
    """
    entries = [(name, Path(path)) for name, path in named(runs, "--run").items()]
    for path in sorted(folder.iterdir()) if folder else []:
        if path.is_file() and not path.name.startswith("."):
            entries.append((path.name.partition(".")[0], path))
    if not entries:
        raise BadInput("pass --run NAME=FILE, one for each ranker, or --runs FOLDER with files in it")
    paths: dict[str, Path] = {}
    for name, path in entries:
        if name in paths or name in inspect.signature(Runs.__init__).parameters:
            raise BadInput(f"{path}: the name {name!r} is taken; pass --run NAME=FILE with another")
        paths[name] = path
    return paths


def read_runs(paths: Mapping[str, Path]) -> dict[str, pd.DataFrame]:
    """Ranker → run."""
    return {name: read_run(path) for name, path in progress("runs", iterable=paths.items(), unit="run")}


def pool_of(
    runs: dict[str, pd.DataFrame], qrels: pd.DataFrame, topics: pd.DataFrame | None, depth: int | None, unjudged: str
) -> pd.DataFrame:
    """Unite the runs over the judged topics and label their documents.

    Args:
        runs: Ranker → run.
        qrels: ``qid, docno, label``, from `qrels.checked_qrels`.
        topics: ``qid, query``, or None.
        depth: Documents to keep of each ranking.
        unjudged: One of `UNJUDGED`.

    Raises:
        ValueError: If a run answers no judged query, or documents have no label under ``unjudged="error"``.
    """
    judged = pd.DataFrame({"qid": qrels["qid"].unique()})
    _warn(runs, judged)
    if topics is not None:
        judged = judged.merge(topics, how="left", on="qid")
    pool = Runs(depth, allow_missing_queries=True, **runs).transform(judged)
    pool = _completed(pool.merge(qrels, how="left", on=["qid", "docno"]), unjudged)
    return pool.astype({"label": "int64"}).sort_values("qid", kind="stable", ignore_index=True)


def _warn(runs: dict[str, pd.DataFrame], judged: pd.DataFrame) -> None:
    """Warn of queries with runs but no labels, and of queries with labels but in no run."""
    answered, labelled = set[str]().union(*(run["qid"] for run in runs.values())), set(judged["qid"])
    for left_out, what in (
        (answered - labelled, "have no labels"),
        (labelled - answered, "have labels, but are in no run"),
    ):
        if left_out:
            warnings.warn(f"{len(left_out)} queries are left out, which {what}: {some(sorted(left_out))}", stacklevel=3)


def _completed(pool: pd.DataFrame, unjudged: str) -> pd.DataFrame:
    absent = pool["label"].isna()
    if unjudged == "error" and absent.any():
        pairs = list(pool.loc[absent, ["qid", "docno"]].itertuples(index=False, name=None))
        raise BadInput(
            f"{len(pairs)} retrieved documents have no label: {some(pairs, 2)}; pass --depth N down to which all are "
            "judged, or --unjudged drop or nonrelevant"
        )
    return _condensed(pool[~absent]) if unjudged == "drop" else pool.assign(label=pool["label"].fillna(0))


def _condensed(pool: pd.DataFrame) -> pd.DataFrame:
    """The pool with the ranks of each ranker renumbered without gaps."""
    pool = pool.reset_index(drop=True)
    columns = dict(pool.items())
    for name in ranker_names(pool.columns):
        rank = pool[f"rank_{name}"]
        columns[f"rank_{name}"] = ranked(pool, -rank.where(rank >= 0).to_numpy(dtype=float))
    return pd.DataFrame(columns)


def with_texts(pool: pd.DataFrame, texts: Mapping[str, str], source: str) -> pd.DataFrame:
    """Add the documents' texts and lengths in words.

    Args:
        pool: A pool with ``docno``.
        texts: Document → text.
        source: Source of the texts, for messages.

    Raises:
        BadInput: If a text is missing.
    """
    text = pool["docno"].map(texts)
    absent = pool["docno"][text.isna()].unique()
    if len(absent):
        raise BadInput(f"{source}: no text for {len(absent)} documents of the pool: {some(absent.tolist())}")
    added = pd.DataFrame({"text": text, "length": text.str.split().str.len()})
    return pd.concat([pool.drop(columns=list(added.columns), errors="ignore"), added], axis=1)


def main(argv: list[str] | None = None) -> None:
    """Read, unite and write."""
    arguments = _arguments(argv)
    check_new(arguments.out)
    paths = run_files(arguments.run, arguments.runs)
    topics = None if arguments.topics is None else read_topics(arguments.topics)
    pool = pool_of(read_runs(paths), read_qrels(arguments.qrels), topics, arguments.depth, arguments.unjudged)
    if arguments.texts is not None:
        texts = read_texts(arguments.texts).set_index("docno")["text"].to_dict()
        pool = with_texts(pool, texts, f"{arguments.texts}")
    others = [path for path in (arguments.qrels, arguments.topics, arguments.texts) if path is not None]
    write(pool, arguments, paths, Path(__file__).name, digests([*paths.values(), *others]))


def write(
    pool: pd.DataFrame, arguments: argparse.Namespace, paths: dict[str, Path], script: str, sources: dict[str, str]
) -> None:
    """Write a pool of runs.

    Args:
        pool: The pool from `pool_of`.
        arguments: The script's arguments.
        paths: The file of each ranker, for the manifest.
        script: Name of the script.
        sources: Name → digest of each source.
    """
    write_pool([Documents(pool)], arguments.out, script, vars(arguments) | {"run": paths}, sources)


def add_run_options(options: argparse.ArgumentParser) -> None:
    """Add the options for runs and their depth."""
    options.add_argument("--run", action="append", default=[], metavar="NAME=FILE", help="a ranker's run; repeatable")
    options.add_argument("--runs", type=Path, metavar="FOLDER", help="a folder of runs")
    options.add_argument("--depth", type=int, metavar="N", help="documents to keep of each ranking")
    options.add_argument("--unjudged", choices=UNJUDGED, default="error", help="documents without a label (error)")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    options = parser(__doc__)
    add_run_options(options)
    options.add_argument("--qrels", type=Path, required=True)
    options.add_argument("--topics", type=Path, help="the queries' texts")
    options.add_argument("--texts", type=Path, help="the documents' texts, which also give their lengths")
    return options.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(run(main))
