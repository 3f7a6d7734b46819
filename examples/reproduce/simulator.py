"""The tables behind ``pt_docs/simulator.html``: labels to a verdict and widths of intervals on simulated collections.

    python examples/reproduce/simulator.py [--repetitions 20] [--evidence FOLDER]

The collections are those of the demo, with 50, 150 and 500 queries and about 13 documents each that matter for DCG@10.
The grade model knows nothing (*useless*), has learned from a past release (*fair*), or also knows half of the grades
(*good*). Differences and half-widths are in standard deviations of the difference per query. A fixed sample has 80 %
power at a difference that was known beforehand. *Any time* are verdicts and intervals that hold at every look, planned
for the labels of that sample. Numbers of labels are medians, in brackets the 90th percentile; half-widths are means.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from tqdm import tqdm
from verdicts import ALPHA, CRITICAL, Contest, by_bets

from pt_active import OrderedLogitGrades, Runs, UniformGrades
from pt_active.demo.collection import DemoCollection, demo_collection
from pt_active.frames.columns import grade_columns
from pt_active.inference.stopping.bets import interval
from pt_active.relevance.grades.models import GradeModel

TABLES = ("simulator-verdicts", "simulator-intervals")
QUERIES = (50, 150, 500)
DIFFERENCES = (0.1, 0.2, 0.4, 0.8)
SHARES = (0.05, 0.1, 0.2, 0.4, 0.7)
"""Budgets, as shares of all labels that matter."""

MAX_GRADE = 3
MODELS = {
    "useless": UniformGrades(MAX_GRADE),
    "fair": OrderedLogitGrades(MAX_GRADE),
    "good": OrderedLogitGrades(MAX_GRADE),
}


def graded_pool(collection: DemoCollection, name: str, model: GradeModel) -> pd.DataFrame:
    """The pool of a collection with labels, and with the grades that a model expects."""
    fitted = model.fit(collection.past_run, collection.past_qrels) if name != "useless" else model
    graded = (Runs(**collection.runs, depth=15) >> fitted)(collection.topics)
    graded = graded.merge(collection.judge(graded), on=["qid", "docno"])
    if name == "good":
        columns = grade_columns(graded)
        known = np.random.default_rng(0).random(len(graded)) < 0.5
        certain = 0.9 * np.eye(MAX_GRADE + 1)[graded["label"]] + 0.1 / (MAX_GRADE + 1)
        graded[columns] = np.where(known[:, None], certain, graded[columns].to_numpy())
    return graded


def verdict_rows(contest: Contest, head: dict[str, object], repetitions: int) -> Iterator[dict[str, object]]:
    """Labels to a verdict, at each difference."""
    for deviations in DIFFERENCES:
        difference = deviations * contest.deviation
        fixed = contest.fixed("document", difference)
        ends = [
            by_bets(each, contest.truth - difference, contest.truth).labels
            for each in contest.sequences("document", fixed, repetitions, seed=int(100 * deviations))
        ]
        yield head | {
            "difference": deviations,
            "documents, fixed": round(fixed),
            "documents, any time": f"{np.median(ends):.0f} ({np.quantile(ends, 0.9):.0f})",
            "queries, fixed": round(contest.fixed("query", difference)),
        }


def interval_rows(contest: Contest, head: dict[str, object], repetitions: int) -> Iterator[dict[str, object]]:
    """Half-widths of 95 % intervals, at each budget."""
    size, documents = contest.size("document"), contest.population.documents
    for share in SHARES:
        budget, widths = round(share * size), []
        for each in contest.sequences("document", budget, max(5, repetitions // 6), seed=int(100 * share)):
            at = int(np.searchsorted(np.cumsum(each.progress.documents), budget))
            low, high = interval(each.proof.draws.first(at), each.proof.stakes, ALPHA)
            widths.append((high - low) / 2)
        judged = budget / documents.mean()
        left = max(0.0, 1 - judged / len(documents))
        yield head | {
            "labels": budget,
            "documents, fixed": f"{CRITICAL * contest.error(budget) / contest.deviation:.3f}",
            "documents, any time": f"{np.nanmean(widths) / contest.deviation:.3f}",
            "queries, fixed": f"{CRITICAL * np.sqrt(left / judged):.3f}",
        }


def main() -> None:
    """Make both tables."""
    parser = parser_with(__doc__, repetitions=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    verdicts, intervals = [], []
    for queries in tqdm(QUERIES, unit="collection"):
        collection = demo_collection(queries=queries)
        for name, model in MODELS.items():
            contest = Contest.of(graded_pool(collection, name, model), list(collection.runs))
            head: dict[str, object] = {"queries": queries, "model": name}
            verdicts += verdict_rows(contest, head, arguments.repetitions)
            intervals += interval_rows(contest, head, arguments.repetitions)
    text = "\n\n".join(markdown(pd.DataFrame(rows, dtype=object)) for rows in (verdicts, intervals))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
