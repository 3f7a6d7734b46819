"""Two real submissions of the TREC 2021 Deep Learning track: which is better, from a third of the judgments?

The script reads a folder with ``runs/<name>.gz``, ``qrels.txt``, ``topics.tsv`` and ``judges/umbrela-gpt-4.qrels`` (the
track's own files and an LLM judge's labels, in TREC formats). Grade models are trained on half of the topics. The other
half is the pool, and the plan asks for the human labels of whole queries.

    python examples/trec_dl21.py FOLDER [--first p_bm25 --second NLE_P_v1 --budget 150]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import pandas as pd

from pt_active import DCG, Comparison, JudgeGrades, OrderedLogitGrades, Plan, Runs, measure_values
from pt_active.frames.topics import read_topics
from pt_active.frames.trec import read_qrels, read_run
from pt_active.relevance.grades.models import FittedGrades

MEASURE = DCG @ 10
MAX_GRADE = 3


def half(topics: pd.DataFrame, odd: bool) -> pd.DataFrame:
    """Every second topic, in the order of the qids."""
    return topics.sort_values("qid").iloc[int(odd) :: 2]


def grade_models(folder: Path) -> dict[str, FittedGrades]:
    """Name → grade model: one uses only the runs, the other the LLM judge's labels."""
    judge = read_qrels(folder / "judges" / "umbrela-gpt-4.qrels")
    return {
        "runs (ordered logit)": OrderedLogitGrades(max_grade=MAX_GRADE),
        "LLM judge": JudgeGrades(judge, max_grade=MAX_GRADE),
    }


def compare(
    folder: Path, first: str, second: str, budget: float, seed: int
) -> tuple[dict[str, tuple[Plan, Comparison]], float]:
    """Plan, collect and compare with each grade model.

    Args:
        folder: Folder of the track's files.
        first: Name of the first run.
        second: Name of the second run.
        budget: Number of documents to judge.
        seed: Random seed of the draws.

    Returns:
        Grade model → plan and comparison, and the true difference over all topics of the pool.
    """
    runs = {name: read_run(folder / "runs" / f"{name}.gz") for name in (first, second)}
    topics, qrels = read_topics(folder / "topics.tsv"), read_qrels(folder / "qrels.txt")
    topics = topics[topics.qid.isin(qrels.qid)]
    past, pool_topics = half(topics, odd=False), half(topics, odd=True)
    rankers = Runs(depth=10, **runs)
    results = {}
    for name, grades in grade_models(folder).items():
        grades.fit(rankers(past), qrels[qrels.qid.isin(past.qid)])
        plan = Plan.create(rankers >> grades, pool_topics, MEASURE, budget=budget, seed=seed)
        labels = plan.assessments[["qid", "docno"]].merge(qrels, on=["qid", "docno"])
        results[name] = plan, plan.compare(labels)
    judged = qrels[qrels.qid.isin(pool_topics.qid)]
    means = [measure_values(runs[name], judged, MEASURE).value.mean() for name in (first, second)]
    return results, means[0] - means[1]


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", default="p_bm25")
    parser.add_argument("--second", default="NLE_P_v1")
    parser.add_argument("--budget", type=float, default=150)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results, difference = compare(**vars(arguments))
    for name, (plan, comparison) in results.items():
        print(f"grades from the {name}\n{plan}\n{comparison}\n")
    print(f"true difference over all topics of the pool: {difference:+.4f}")


if __name__ == "__main__":
    main()
