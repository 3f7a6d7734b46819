"""Do intervals cover the mean judge, with the judges' part of the error and without it? Prints a table in Markdown.

    python examples/reproduce/judges_error.py --repetitions 400

Five simulated judges, of whom one is strict, one lenient and one careless, judge the demo collection. The truth is the
mean of all judges' values of every document. Each repetition draws a plan anew, gives each document to one judge drawn
at random, and a share to two.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo import demo_collection
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.making.pool import seen_by
from pt_active.relevance.moments import discounts

MEASURE = "DCG@10"

JUDGES = {"ann": (0.05, 0.05), "bob": (0.1, 0.1), "eve": (0.45, 0.02), "kim": (0.02, 0.45), "joe": (0.3, 0.3)}
"""Judge → the probabilities of a grade one below the true grade, and one above."""

DESIGNS = {
    "queries": {"level": "query"},
    "documents, one after the other": {"level": "document", "design": "successive"},
    "documents, from the top": {"level": "document", "design": "depth"},
}


class Setting(NamedTuple):
    """How plans are made and judged.

    Attributes:
        design: The arguments of ``Plan.create`` that choose a design.
        budget: The number of labels that a plan pays for; documents that two people judge count once.
        twice: The share of the documents that two people judge.
    """

    design: dict[str, str]
    budget: float
    twice: float


@dataclass(frozen=True)
class Judging:
    """A pool with its true grades, and the judges who see them each in their own way.

    Attributes:
        pool: The graded frame of the pool.
        grade: int64[N], the true grade of each of its documents.
        opinions: float64[J, G+1, G+1], for each judge the probability of each grade that he gives (columns), given the
            true grade.
    """

    pool: pd.DataFrame
    grade: np.ndarray
    opinions: np.ndarray

    @classmethod
    def of_demo(cls, queries: int = 120) -> Judging:
        """The demo collection."""
        demo = demo_collection(seed=7, queries=queries)
        model = OrderedLogitGrades(max_grade=3).fit(demo.past_run, demo.past_qrels)
        pool = (Runs(**demo.runs, depth=15) >> model)(demo.topics)
        grade = pool.merge(demo.qrels, how="left", on=["qid", "docno"])["label"].fillna(0).to_numpy(np.int64)
        return cls(pool, grade, np.stack([_opinions(*how, 4) for how in JUDGES.values()]))

    def truth(self, plan: Plan) -> float:
        """The difference of the two rankers for the mean of all judges."""
        pool = plan.tables.pool
        form = seen_by(plan.measure, pool).form
        weight = pool.query_weight[pool.query_of_document] * (np.array([1.0, -1.0]) @ discounts(form, pool.ranks))
        mean = self.opinions.mean(axis=0) @ form.values
        return float(weight @ self._in_order(plan, mean[self.grade]))

    def _in_order(self, plan: Plan, values: np.ndarray) -> np.ndarray:
        keys = self.pool[["qid", "docno"]].astype(str).assign(value=values)
        return plan.tables.pool.keys[["qid", "docno"]].merge(keys, how="left")["value"].to_numpy()

    def records(self, plan: Plan, twice: float, rng: np.random.Generator) -> pd.DataFrame:
        """What is said about the documents of a plan."""
        keys = self.pool[["qid", "docno"]].astype(str).assign(grade=self.grade)
        asked = plan.assessments[["qid", "docno"]].merge(keys)
        pair = rng.random((len(asked), len(JUDGES))).argsort(axis=1)[:, :2]
        first = asked.assign(judge=pair[:, 0])
        both = pd.concat([first, asked.assign(judge=pair[:, 1])[rng.random(len(asked)) < twice]], ignore_index=True)
        chances = np.cumsum(self.opinions[both["judge"], both["grade"]], axis=1)
        label = (rng.random((len(both), 1)) > chances[:, :-1]).sum(axis=1)
        names = np.array(list(JUDGES))[both["judge"]]
        return both[["qid", "docno"]].assign(label=label, annotator=names, status="judged", plan=plan.id)


def _opinions(below: float, above: float, grades: int) -> np.ndarray:
    """float64[G+1, G+1], where what would be outside the scale is the grade at its end."""
    chance = np.zeros((grades, grades))
    for grade in range(grades):
        for given, share in ((grade - 1, below), (grade, 1 - below - above), (grade + 1, above)):
            chance[grade, min(max(given, 0), grades - 1)] += share
    return chance


def repeated(judging: Judging, setting: Setting, repetitions: int, ties: str = "down") -> pd.DataFrame:
    """Of each repetition the ``error`` of the estimate, and with and without the judges' part, SE and coverage.

    Returns:
        ``error, plain_se, se, plain_covers, covers``.
    """
    from pt_active.judging.records import qrels_of

    rows = []
    for seed in range(repetitions):
        plan = Plan.create(judging.pool, None, MEASURE, budget=setting.budget, seed=seed, **setting.design)
        records, truth = judging.records(plan, setting.twice, np.random.default_rng([seed, 5])), judging.truth(plan)
        qrels = qrels_of(records, ties=ties)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            settings = Settings(replays=False)
            plain, whole = (plan.judged(qrels, records=each).compare(0, 1, settings) for each in (None, records))
        intervals = [each.confidence_interval() for each in (plain, whole)]
        covered = [each.low <= truth <= each.high for each in intervals]
        rows.append((whole.difference - truth, plain.standard_error, whole.standard_error, *covered))
    return pd.DataFrame(rows, columns=["error", "plain_se", "se", "plain_covers", "covers"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--twice", type=float, default=0.2)
    asked = parser.parse_args()
    judging = Judging.of_demo()
    print("| design | labels | SD of the error | SE without judges | covers | SE with judges | covers |")
    print("|---|---|---|---|---|---|---|")
    for name, design in DESIGNS.items():
        for budget in (300, 900):
            table = repeated(judging, Setting(design, budget, asked.twice), asked.repetitions)
            spread, plain, error = table["error"].std(), table["plain_se"].mean(), table["se"].mean()
            print(
                f"| {name} | {budget} | {spread:.3f} | {plain:.3f} | {table['plain_covers'].mean():.3f} "
                f"| {error:.3f} | {table['covers'].mean():.3f} |"
            )


if __name__ == "__main__":
    main()
