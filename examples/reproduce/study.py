"""A study on submissions to the TREC 2021 Deep Learning track: how many human labels tell two of them apart?

The script reads a folder with ``runs/<name>.gz``, ``qrels.txt``, ``topics.tsv`` and ``judges/umbrela-gpt-4.qrels`` (the
track's own files and an LLM judge's labels, in TREC formats). The LLM judge is calibrated on half of the topics. The
other half is the pool, whose official labels are uncovered as if people gave them now. It prints two tables and draws
them as a figure.

    python examples/reproduce/study.py FOLDER [--pairs 30 --samples 4 --out study.png]
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from tqdm import tqdm

from pt_active import DCG, JudgeGrades, Plan, Runs, measure_values
from pt_active.frames.topics import read_topics
from pt_active.frames.trec import read_qrels, read_run

MEASURE, MAX_GRADE = DCG @ 10, 3
BUDGETS, MOST = (50, 100, 200), 300
"""Documents to judge: at fixed budgets, and at most until a winner is known."""

WAYS = {
    "random topics": ({"level": "query", "design": "passive"}, {"estimator": "snis"}),
    "drawn documents": ({"level": "document"}, {}),
}
"""Way → how the sample is drawn, and how the difference is estimated from it."""


class Pair(NamedTuple):
    """Two submissions with all that is known of them.

    Attributes:
        graded: The graded pool of both.
        topics: The topics of the pool.
        qrels: The official labels of these topics.
        truth: The difference if all documents of the pool are judged.
        by_judge: The same if the LLM judge's labels are taken for the truth.
    """

    graded: pd.DataFrame
    topics: pd.DataFrame
    qrels: pd.DataFrame
    truth: float
    by_judge: float

    def labels(self, asked: pd.DataFrame) -> pd.DataFrame:
        """The official labels of documents; one without counts as 0, as in the track."""
        found = asked[["qid", "docno"]].merge(self.qrels, how="left", on=["qid", "docno"])
        return found.fillna({"label": 0}).astype({"label": int})


class Track:
    """The files of the track, split into topics of the past and of the pool."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "runs"
        self.qrels = read_qrels(folder / "qrels.txt")
        self.judge = read_qrels(folder / "judges" / "umbrela-gpt-4.qrels")
        topics = read_topics(folder / "topics.tsv").sort_values("qid")
        topics = topics[topics["qid"].isin(self.qrels["qid"])]
        self.past, self.pool = topics.iloc[::2], topics.iloc[1::2]

    def pair(self, first: str, second: str) -> Pair:
        """Two submissions, whose documents are graded by the LLM judge."""
        runs = {name: read_run(self.runs / f"{name}.gz") for name in (first, second)}
        rankers = Runs(depth=10, **runs)
        grades = JudgeGrades(self.judge, max_grade=MAX_GRADE)
        grades.fit(rankers(self.past), self.qrels[self.qrels["qid"].isin(self.past["qid"])])
        qrels, judged = (each[each["qid"].isin(self.pool["qid"])] for each in (self.qrels, self.judge))

        def difference(labels: pd.DataFrame) -> float:
            values = [measure_values(run, labels, MEASURE)["value"].mean() for run in runs.values()]
            return values[0] - values[1]

        return Pair((rankers >> grades)(self.pool), self.pool, qrels, difference(qrels), difference(judged))


def at_budgets(pair: Pair, samples: int) -> list[dict[str, object]]:
    """The error of each way at each budget, and whether its 95 % interval has the truth."""
    rows: list[dict[str, object]] = []
    for way, (drawn, estimated) in WAYS.items():
        for budget in BUDGETS:
            for seed in range(samples):
                plan = Plan.create(pair.graded, pair.topics, MEASURE, budget=budget, seed=seed, **drawn)
                found = plan.compare(pair.labels(plan.assessments), **estimated)
                low, high = found.confidence_interval()
                error, holds = found.difference - pair.truth, low <= pair.truth <= high
                rows.append({"way": way, "labels": budget, "error": error, "covered": holds})
    return rows


def until_known(pair: Pair, seed: int) -> dict[str, object]:
    """Judge one document after the other, with a look after each, until a winner is proved or the budget is spent."""
    plan = Plan.create(pair.graded, pair.topics, MEASURE, budget=MOST, level="document", seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        worklist = plan.export(Path(folder) / "judge-me.csv", format="csv")
        labels = pair.labels(pd.read_csv(worklist, dtype={"qid": str, "docno": str}))
    state = plan.status(labels)  # a verdict stays, so the state of all labels knows at which of them it fell
    judged = len(labels) if state.resolved_at is None else int(state.resolved_at)
    right = state.resolved and (state.resolution == "first") == (pair.truth > 0)
    return {"truth": pair.truth, "labels": judged, "resolved": state.resolved, "right": right}


def study(folder: Path, pairs: int, samples: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs of submissions, drawn at random before anything is looked at.

    Args:
        folder: Folder of the track's files.
        pairs: How many.
        samples: How many samples of each pair, way and budget.
        seed: Random seed of the pairs.

    Returns:
        The errors at fixed budgets, one row a sample, and the verdicts, one row a pair.
    """
    track = Track(folder)
    every = list(combinations(sorted(path.stem for path in track.runs.glob("*.gz")), 2))
    errors: list[dict[str, object]] = []
    verdicts: list[dict[str, object]] = []
    for number in tqdm(np.random.default_rng(seed).choice(len(every), pairs, replace=False), unit="pair"):
        pair = track.pair(*every[number])
        errors += at_budgets(pair, samples)
        by_judge = {"by_judge": pair.by_judge, "documents": len(pair.graded)}
        verdicts.append(until_known(pair, seed) | by_judge)
    return pd.DataFrame(errors), pd.DataFrame(verdicts)


def summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Way and budget → root mean squared error and coverage."""
    grouped = errors.groupby(["way", "labels"])
    root = grouped["error"].apply(lambda error: np.sqrt(np.mean(error**2)))
    return pd.DataFrame({"RMSE": root, "coverage": grouped["covered"].mean()}).round(3)


def error_of_judge(verdicts: pd.DataFrame) -> float:
    """The root mean squared error of the differences that the LLM judge alone gives."""
    return float(np.sqrt(np.mean((verdicts["by_judge"] - verdicts["truth"]) ** 2)))


def figure(errors: pd.DataFrame, verdicts: pd.DataFrame) -> plt.Figure:
    """Left: error over labels. Right: labels to a verdict over the size of the difference."""
    drawn, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for way, table in summary(errors)["RMSE"].unstack().T.items():
        left.plot(table.index, table, marker="o", label=way)
    left.axhline(error_of_judge(verdicts), color="gray", linestyle="--", label="LLM judge alone")
    left.set(xlabel="documents judged", ylabel="RMSE of the difference in DCG@10", ylim=(0, None))
    left.legend()
    for resolved, table in verdicts.groupby("resolved"):
        how = {"label": "winner proved"} if resolved else {"label": "open", "facecolors": "none", "edgecolors": "C1"}
        right.scatter(table["truth"].abs(), table["labels"], **how)
    right.set(xlabel="true difference in DCG@10", ylabel="documents judged until known", ylim=(0, None))
    right.legend()
    return drawn


def main() -> None:
    """Run the study, print its tables and draw its figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a new PNG, SVG or PDF file for the figure")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    errors, verdicts = study(given.folder, given.pairs, given.samples, given.seed)
    print(summary(errors), verdicts.sort_values("truth", key=abs).round(2).to_string(index=False), sep="\n\n")
    known, wrong = verdicts["resolved"], verdicts["by_judge"] * verdicts["truth"] < 0
    half, documents = verdicts["labels"][known].median(), verdicts["documents"].median()
    print(f"\npairs that are known: {known.sum()} of {len(known)}, of which {verdicts['right'].sum()} are right")
    print(f"documents judged for half of them: {half:.0f} of {documents:.0f}")
    print(f"LLM judge alone: {wrong.sum()} pairs the wrong way round, RMSE {error_of_judge(verdicts):.3f}")
    if given.out:
        figure(errors, verdicts).savefig(given.out, dpi=150)


if __name__ == "__main__":
    main()
