"""TREC runs and qrels to a labelled pool.

    python data_scripts/trec_to_pool.py --run a=a.run --run b=b.run --qrels qrels.txt --depth 10 --out pool.parquet

``--runs FOLDER`` takes every file of a folder; a ranker's name is that of its file up to the first dot.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import pandas as pd
from pool_writer import BadInput, check_new, named, parser, ranked, run, write_pool
from tqdm import tqdm

from pt_active import Runs
from pt_active.files import read_qrels, read_run, read_texts, read_topics
from pt_active.frames import ranker_names, some

UNJUDGED = ("error", "drop", "nonrelevant")
"""What to do about retrieved documents without a label: refuse, take them out of the rankings, or take grade 0."""


def run_files(runs: list[str], folder: Path | None) -> dict[str, Path]:
    """The file of each ranker.

    Raises:
        BadInput: If there is none, or a name comes twice.
    """
    found = {name: Path(path) for name, path in named(runs, "--run").items()}
    for path in sorted(folder.iterdir()) if folder else []:
        name = path.name.partition(".")[0]
        if name in found:
            raise BadInput(f"two runs are called {name!r}")
        found[name] = path
    if not found:
        raise BadInput("say --run NAME=FILE, one for each ranker, or --runs FOLDER")
    return found


def pool_of(
    runs: dict[str, pd.DataFrame], qrels: pd.DataFrame, topics: pd.DataFrame | None, depth: int | None, unjudged: str
) -> pd.DataFrame:
    """Unite the runs over the judged topics and label their documents.

    Args:
        runs: Ranker → run.
        qrels: ``qid, docno, label``; -1 counts as no label.
        topics: ``qid, query``, or None.
        depth: Documents to keep of each ranking.
        unjudged: One of `UNJUDGED`.

    Raises:
        ValueError: If a run answers no judged query, or documents have no label and that is an error.
    """
    qrels = qrels[qrels["label"] >= 0]
    judged = pd.DataFrame({"qid": qrels["qid"].unique()})
    if topics is not None:
        judged = judged.merge(topics, how="left", on="qid")
    pool = Runs(depth, allow_missing_queries=True, **runs).transform(judged)
    left_out = set(pd.concat([run["qid"] for run in runs.values()])) - set(judged["qid"])
    if left_out:
        warnings.warn(f"{len(left_out)} queries without labels are left out: {some(sorted(left_out))}", stacklevel=2)
    pool = pool.merge(qrels[["qid", "docno", "label"]], how="left", on=["qid", "docno"])
    return _completed(pool, unjudged).astype({"label": "int64"}).sort_values("qid", kind="stable", ignore_index=True)


def _completed(pool: pd.DataFrame, unjudged: str) -> pd.DataFrame:
    absent = pool["label"].isna()
    if unjudged == "nonrelevant":
        return pool.assign(label=pool["label"].fillna(0))
    if absent.any() and unjudged == "error":
        pairs = list(pool.loc[absent, ["qid", "docno"]].itertuples(index=False, name=None))
        raise BadInput(
            f"{len(pairs)} retrieved documents have no label: {some(pairs)}; say --depth N down to which all are "
            "judged, or --unjudged drop or nonrelevant"
        )
    kept = pool[~absent].reset_index(drop=True)
    for name in ranker_names(kept.columns):
        kept[f"rank_{name}"] = ranked(
            kept["qid"], kept["docno"], -kept[f"rank_{name}"].where(kept[f"rank_{name}"] >= 0)
        )
    return kept


def with_texts(pool: pd.DataFrame, path: Path | None) -> pd.DataFrame:
    """Add the documents' texts and lengths in words."""
    if path is None:
        return pool
    text = pool["docno"].map(read_texts(path).set_index("docno")["text"])
    absent = pool["docno"][text.isna()]
    if len(absent):
        raise BadInput(f"{path}: no text for {absent.nunique()} documents of the pool: {some(absent.unique())}")
    return pool.assign(text=text, length=text.str.split().str.len())


def main(argv: list[str] | None = None) -> None:
    """Read, unite and write."""
    arguments = _arguments(argv)
    check_new(arguments.out)
    paths = run_files(arguments.run, arguments.runs)
    runs = {name: read_run(path) for name, path in tqdm(paths.items(), unit="run", leave=False)}
    topics = None if arguments.topics is None else read_topics(arguments.topics)
    pool = pool_of(runs, read_qrels(arguments.qrels), topics, arguments.depth, arguments.unjudged)
    extra = [path for path in (arguments.topics, arguments.texts) if path is not None]
    given = {k: v for k, v in vars(arguments).items() if k != "out"}
    write_pool(with_texts(pool, arguments.texts), arguments.out, [*paths.values(), arguments.qrels, *extra], given)


def add_run_options(found: argparse.ArgumentParser) -> None:
    """The options that say what is ranked and how deep."""
    found.add_argument("--run", action="append", default=[], metavar="NAME=FILE", help="a ranker's run; repeat it")
    found.add_argument("--runs", type=Path, metavar="FOLDER", help="a folder of runs")
    found.add_argument("--depth", type=int, metavar="N", help="documents to keep of each ranking")
    found.add_argument("--unjudged", choices=UNJUDGED, default="error", help="documents without a label (error)")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    found = parser(__doc__)
    add_run_options(found)
    found.add_argument("--qrels", type=Path, required=True)
    found.add_argument("--topics", type=Path, help="the queries' texts")
    found.add_argument("--texts", type=Path, help="the documents' texts, which also give their lengths")
    return found.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(run(main))
