"""What is an LLM judge worth, and to which method?

    python llm_judges.py FOLDER --cache llm-judges.jsonl --evidence FOLDER

The script joins the labels of LLM judges with a few of people, in the ways of `judge_ways`, on TREC 2021 Deep Learning.
FOLDER has ``qrels.txt``, ``runs/*.gz``, ``judges/umbrela-gpt-4.qrels`` and ``judges/votes-*.tsv.gz``. The script needs
the extra ``peers``. Each cell of the tables is kept in the cache as it is made, so an interrupted run goes on where it
stopped. The grade model is a random forest of all judges' votes, fitted to the other queries (five folds); every way
that can use expectations gets the same ones.

With ``--evidence`` the tables are kept as CSV files, and the figure beside their folder.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judge_ways import PASSIVE, WAYS, Case, Way, case_of
from judged_pools import read_judges
from revealed_saving import of_track

from pt_active import ForestGrades
from pt_active.frames.columns import ranker_names
from pt_active.inference.replay import share_error

MEASURES = {"DCG@10": "DCG@10", "nDCG@10": "nDCG(dcg='exp-log2')@10", "AP": "AP(rel=2)"}

LABELS = (50, 100, 200, 500, 1000)

FOLDS = 5

LEAF = 80
"""The smallest leaf of the forest that stacks the judges; of 10, 30 and 80 the one of the best likelihood in folds."""

TABLES = ("llm-judges", "llm-judges-worth")


def stacked(folder: Path) -> pd.DataFrame:
    """All judged documents: ``qid, docno, label, said``, ``rank_<name>`` of each run, and ``grade_0 … grade_G``."""
    frame = of_track(folder).frame
    columns = [frame["said"].to_numpy(float)]
    for judge in read_judges(folder / "judges").values():
        if "label" in judge.columns:
            continue
        votes = judge.filter(regex=r"^votes_\d+$")
        shares = votes.to_numpy(float) / votes.to_numpy(float).sum(axis=1, keepdims=True)
        mean = judge[["qid", "docno"]].assign(mean=shares @ np.arange(shares.shape[1]))
        merged = frame[["qid", "docno"]].merge(mean, how="left", on=["qid", "docno"])["mean"]
        columns.append(merged.fillna(merged.mean()).to_numpy())
    frame["features"] = list(np.column_stack(columns))
    fold = pd.factorize(frame["qid"])[0] % FOLDS
    highest = int(frame["label"].max())
    parts = []
    for number in range(FOLDS):
        past, rest = frame[fold != number], frame[fold == number]
        model = ForestGrades(highest, min_leaf=LEAF).fit(past.drop(columns="label"), past[["qid", "docno", "label"]])
        parts.append(model.transform(rest))
    return pd.concat(parts).sort_index().drop(columns="features")


def cell(case: Case, way: Way, labels: int, repetitions: int, seed: int = 0) -> dict[str, float] | None:
    """Root mean squared error, median width and coverage, with their Monte Carlo errors."""
    outcome = way(case, float(labels), repetitions, seed)
    if outcome is None:
        return None
    squared, known = outcome.error**2, np.isfinite(outcome.low) & np.isfinite(outcome.high)
    rmse = float(np.sqrt(squared.mean()))
    row = {"rmse": rmse, "rmse_se": float(squared.std() / np.sqrt(len(squared)) / 2 / rmse) if rmse > 0 else 0.0}
    if not known.any():
        return row | {"width": np.nan, "coverage": np.nan, "coverage_se": np.nan}
    inside = ((outcome.low <= case.truth) & (case.truth <= outcome.high))[known]
    share = float(inside.mean())
    row |= {"width": float(np.median((outcome.high - outcome.low)[known])), "coverage": share}
    return row | {"coverage_se": float(share_error(share, int(known.sum())))}


class Cache:
    """Cells that are made already, one JSON object a line."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.known = path, {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                self.known[json.dumps(stored["key"])] = stored["row"]

    def made(self, key: list[object], make: Callable[[], dict[str, float] | None]) -> dict[str, float] | None:
        """The row of a key, made if it is not known."""
        name = json.dumps(key)
        if name not in self.known:
            self.known[name] = make()
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"key": key, "row": self.known[name]}) + "\n")
        return self.known[name]


def near_tied(frame: pd.DataFrame) -> list[str]:
    """The best run by people's labels of the first half of the queries, and the next that is not its twin."""
    qids = sorted(frame["qid"].unique())
    past = frame[frame["qid"].isin(qids[::2])]
    names = ranker_names(frame.columns)
    values = dict(zip(names, _values(past, names), strict=True))
    order = sorted(names, key=lambda name: -values[name].mean())
    best = order[0]
    other = next(name for name in order[1:] if (values[name] != values[best]).mean() > 0.5)
    return [best, other]


def _values(frame: pd.DataFrame, names: list[str]) -> list[np.ndarray]:
    """DCG@10 of each query for each run, float64[m] each."""
    gain, query = 2.0 ** frame["label"].to_numpy(float) - 1, pd.factorize(frame["qid"])[0]
    found = []
    for name in names:
        rank = frame[f"rank_{name}"].to_numpy()
        counts = (rank >= 0) & (rank < 10)
        found.append(np.bincount(query[counts], gain[counts] / np.log2(rank[counts] + 2.0), query.max() + 1))
    return found


def study(frame: pd.DataFrame, cache: Cache, repetitions: int) -> pd.DataFrame:
    """One row per measure, task, number of labels and way."""
    pair, rows = near_tied(frame), []
    for name, measure in MEASURES.items():
        for task, rankers in (("near-tied pair", pair), ("one run", pair[:1])):
            case = case_of(frame, measure, rankers)
            number = repetitions if name == "DCG@10" else repetitions // 2
            for labels, way in product(LABELS, WAYS):
                make = partial(cell, case, WAYS[way], labels, number)
                row = cache.made([name, task, labels, way, number], make)
                if row is not None:
                    head = {"measure": name, "task": task, "labels": labels, "way": way}
                    rows.append(head | {"truth": case.truth, "repetitions": number} | row)
    return pd.DataFrame(rows)


def page(table: pd.DataFrame) -> str:
    """Both tables, with what is said of them."""
    parts = ["RMSE ± its Monte Carlo error / median width / coverage ± its Monte Carlo error of 95 % intervals."]
    for (measure, task), rows in table.groupby(["measure", "task"], sort=False):
        first = rows.iloc[0]
        head = f"**{measure}, {task}**: the truth is {first['truth']:.3f}; {first['repetitions']} samples a cell."
        parts.append(f"{head}\n\n{_wide(rows)}")
    return "\n\n".join([*parts, _equivalents(table)])


def _equivalents(table: pd.DataFrame) -> str:
    """How many labels of other ways one label of this package's documents is worth."""
    wide = table.pivot(index=["measure", "task", "labels"], columns="way", values="rmse")
    others = [way for way in (PASSIVE, "PPI", "PPI++", "PPI++, expected labels") if way in wide]
    ratio = (wide[others].div(wide["pt_active, documents"], axis=0) ** 2).dropna(how="all")
    said = "**Label-equivalents of documents**: the mean squared error of a way over that of `pt_active, documents`"
    table = table.assign(variance=(2 * table["rmse_se"] / table["rmse"]) ** 2)
    variance = table.pivot(index=wide.index.names, columns="way", values="variance")
    error = np.sqrt(variance[others].add(variance["pt_active, documents"], axis=0).max(axis=None))
    shown = ratio.round(2).astype(object).fillna("–").reset_index()
    return f"{said}. Monte Carlo errors are up to {error:.0%}.\n\n{markdown(shown)}"


def _wide(rows: pd.DataFrame) -> str:
    """RMSE, width and coverage by way and labels."""
    cells = [
        f"{row['rmse']:.3f} ± {row['rmse_se']:.3f}"
        + ("" if np.isnan(row["coverage"]) else f" / {row['width']:.2f} / {_share(row)}")
        for row in rows.to_dict("records")
    ]
    wide = rows.assign(cell=cells).pivot(index="way", columns="labels", values="cell")
    return markdown(wide.reindex([way for way in WAYS if way in wide.index]).fillna("–").reset_index())


def _share(row: dict[Any, Any]) -> str:
    return f"{row['coverage']:.3f} ± {row['coverage_se']:.3f}"


def figure(table: pd.DataFrame, path: Path) -> None:
    """Errors over labels for the near-tied pair by DCG@10."""
    rows = table[(table["measure"] == "DCG@10") & (table["task"] == "near-tied pair")]
    plt.rcParams["svg.hashsalt"] = "pt_active"
    chart, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    shown = (
        "LLM alone",
        PASSIVE,
        "PPI",
        "PPI++",
        "PPI++, expected labels",
        "pt_active, queries",
        "pt_active, documents",
    )
    for way, mark in zip(shown, "xosd^v*", strict=True):
        each = rows[rows["way"] == way]
        ours = way.startswith("pt_active")
        alone = way == "LLM alone"
        style = {"ls": "--", "color": "gray", "label": "LLM alone (the wrong winner)"} if alone else {"label": way}
        axes.plot(each["labels"], each["rmse"], marker=mark, lw=2.4 if ours else 1.2, **style)
    axes.set(xscale="log", yscale="log", xlabel="labels of people", ylabel="error of the difference in DCG@10")
    axes.set_xticks(LABELS, [f"{labels:,}" for labels in LABELS])
    axes.set_yticks((0.2, 0.5, 1, 2), ("0.2", "0.5", "1", "2"))
    axes.minorticks_off()
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    chart.savefig(path, dpi=130)
    plt.close(chart)


def main() -> None:
    """Run the study, and print it or put it into a page."""
    parser = parser_with(__doc__, repetitions=400)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, metavar="FILE.jsonl")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    frame, cache = stacked(arguments.folder), Cache(arguments.cache)
    table = study(frame, cache, arguments.repetitions)
    text = page(table)
    print(text)
    publish(text, arguments, *TABLES)
    if arguments.evidence:
        figure(table, arguments.evidence.parent / "llm-judges.png")


if __name__ == "__main__":
    main()
