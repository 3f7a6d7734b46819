"""Compare two real rankers, without Java, on the texts of the simulated demo collection.

Both are BM25 (https://pypi.org/project/bm25s); the candidate gives more weight to titles. The judges are simulated, so
the script can print the truth beside the estimates from a few judgments.

    pip install . bm25s
    python retrieve_with_bm25s.py
"""

from functools import cached_property

import bm25s
import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active import DCG, OrderedLogitGrades, Plan, Runs, measure_values
from pt_active.demo.collection import MAX_GRADE, demo_collection

MEASURE = DCG @ 10
BUDGET = 3000  # documents to judge


class BM25(pt.Transformer):
    """BM25 over texts in memory: topics in, results out."""

    schematic = {"label": "BM25", "help_url": "https://bm25s.github.io"}  # noqa: RUF012

    def __init__(self, documents: pd.DataFrame, title_copies: int = 0, num_results: int = 20):
        self.documents = documents
        self.title_copies = title_copies
        self.num_results = num_results

    @cached_property
    def index(self) -> bm25s.BM25:
        """The index, built on first use."""
        text = self.documents["text"]
        title = text.str.partition(".")[0] + " "
        index = bm25s.BM25()
        index.index(_tokens((title * self.title_copies + text).tolist()), show_progress=False)
        return index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Retrieve for each query."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        if inp.empty:
            return inp.assign(docno="", text="", score=0.0, rank=0)
        rows, score = self.index.retrieve(_tokens(inp["query"].tolist()), k=self.num_results, show_progress=False)
        results = inp.loc[inp.index.repeat(self.num_results)].reset_index(drop=True)
        documents = self.documents.iloc[rows.ravel()].reset_index(drop=True)
        results = results.assign(docno=documents["docno"], text=documents["text"], score=score.ravel())
        # trec_eval orders equal scores by docno, descending
        return pt.model.add_ranks(results[results["score"] > 0].sort_values("docno", ascending=False))


def _tokens(texts: list[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(texts, stopwords="en", show_progress=False)


def true_means(runs: dict[str, pt.Transformer], topics: pd.DataFrame, judge) -> dict[str, float]:
    """The rankers' means if all documents were judged."""
    results = {name: ranker(topics) for name, ranker in runs.items()}
    return {name: measure_values(run, judge(run), MEASURE)["value"].mean() for name, run in results.items()}


def main() -> None:
    collection = demo_collection(seed=7)
    print(collection)
    production = BM25(collection.documents, title_copies=1)
    candidate = BM25(collection.documents, title_copies=2)

    # The grade model learns from the judged past release.
    past_run = production(collection.past_topics)
    grades = OrderedLogitGrades(max_grade=MAX_GRADE).fit(past_run, collection.judge(past_run))

    # Choose what to judge.
    pool = Runs(production=production, candidate=candidate) >> grades
    plan = Plan.create(pool, collection.topics, MEASURE, budget=BUDGET, seed=1)
    print(plan, plan.assessments.head(3), sep="\n\n")

    # People judge; here, the simulated judges.
    qrels = collection.judge(plan.assessments)

    # The estimates from the judgments, and the truth.
    print("", plan.compare(qrels), *plan.estimate(qrels).values(), sep="\n")
    truth = true_means({"production": production, "candidate": candidate}, collection.topics, collection.judge)
    means = ", ".join(f"{name} {mean:.3f}" for name, mean in truth.items())
    print(f"\nTrue means (simulated): {means}; difference {np.subtract(*truth.values()):+.3f}")


if __name__ == "__main__":
    main()
