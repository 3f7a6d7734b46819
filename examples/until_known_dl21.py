"""Two real submissions of the TREC 2021 Deep Learning track, judged until it is known which is better.

The script reads a folder with ``runs/<name>.gz``, ``qrels.txt``, ``topics.tsv`` and ``judges/umbrela-gpt-4.qrels`` (the
track's own files and an LLM judge's labels, in TREC formats). The LLM judge is calibrated on half of the topics. The
other half is the pool: its documents come one after the other, each gets its official label, and the status is asked
after each of them.

    python examples/until_known_dl21.py FOLDER [--first ihsm_poly8q --second TUW_DR_Base --difference 1.5]
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pt_active import DCG, JudgeGrades, Outlook, Plan, Runs, measure_values
from pt_active.frames.topics import read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.plans.answers.status import Status

MEASURE = DCG @ 10
MAX_GRADE = 3


class Question(NamedTuple):
    """Two submissions with all that is known of them.

    Attributes:
        graded: The graded pool of both.
        topics: The topics of the pool.
        qrels: The official labels of these topics.
        runs: Name → run.
    """

    graded: pd.DataFrame
    topics: pd.DataFrame
    qrels: pd.DataFrame
    runs: dict[str, pd.DataFrame]

    @property
    def truth(self) -> float:
        """The difference if all documents of the pool are judged."""
        first, second = (measure_values(run, self.qrels, MEASURE).value.mean() for run in self.runs.values())
        return first - second


def read(folder: Path, first: str, second: str) -> Question:
    """Read two submissions, and grade their documents by the LLM judge.

    Args:
        folder: Folder of the track's files.
        first: Name of the first run.
        second: Name of the second run.
    """
    runs = {name: read_run(folder / "runs" / f"{name}.gz") for name in (first, second)}
    qrels = read_qrels(folder / "qrels.txt")
    topics = read_topics(folder / "topics.tsv").sort_values("qid")
    topics = topics[topics.qid.isin(qrels.qid)]
    past, pool = topics.iloc[::2], topics.iloc[1::2]
    rankers = Runs(depth=10, **runs)
    grades = JudgeGrades(read_qrels(folder / "judges" / "umbrela-gpt-4.qrels"), max_grade=MAX_GRADE)
    grades.fit(rankers(past), qrels[qrels.qid.isin(past.qid)])
    return Question((rankers >> grades)(pool), pool, qrels[qrels.qid.isin(pool.qid)], runs)


def judged(plan: Plan, qrels: pd.DataFrame) -> pd.DataFrame:
    """The worklist in the order drawn, with the official labels; documents without one count as 0, as in the track."""
    with tempfile.TemporaryDirectory() as folder:
        worklist = plan.export(Path(folder) / "judge-me.csv", format="csv", order="drawn")
        asked = pd.read_csv(worklist, dtype={"qid": str, "docno": str})[["qid", "docno"]]
    return asked.merge(qrels, how="left", on=["qid", "docno"]).fillna({"label": 0}).astype({"label": int})


def campaign(plan: Plan, qrels: pd.DataFrame) -> Iterator[Status]:
    """The status after each label, up to the one that settles the question.

    Args:
        plan: Of documents, in successive order.
        qrels: The official labels.
    """
    labels, following = judged(plan, qrels), plan.follow()
    for number in range(len(labels)):
        status = following.add(labels.iloc[[number]])
        yield status
        if status.resolved:
            return


def main() -> None:
    """Foresee, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", default="ihsm_poly8q")
    parser.add_argument("--second", default="TUW_DR_Base")
    parser.add_argument("--difference", type=float, default=1.5, help="the difference that the budget is made for")
    parser.add_argument("--every", type=int, default=25, help="print every so many labels")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    question = read(given.folder, given.first, given.second)
    expected = Outlook.of(question.graded, question.topics, MEASURE).until_known(given.difference, progress=False)
    print(expected.round(1).to_string(index=False), end="\n\n")
    budget = float(expected.loc[expected.level == "document", "cost_90"].iloc[0])
    plan = Plan.create(question.graded, question.topics, MEASURE, budget=budget, level="document", seed=given.seed)
    print(plan, end="\n\n")
    for status in campaign(plan, question.qrels):
        if status.n_judged % given.every == 0:
            ends = f"[{status.low:+.2f}, {status.high:+.2f}]"
            print(f"{status.n_judged:4} labels  {status.point}  {ends:17} e-value {status.e_value:.3g}")
    print(f"\n{status}\n\ntrue difference over all topics of the pool: {question.truth:+.4f}")


if __name__ == "__main__":
    main()
