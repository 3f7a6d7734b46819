"""Two systems answered 198 questions five times each: is one better, for these questions, and for questions like them?

The script reads a table with the columns ``item_id, model_id, score, epoch``: a score of 0 or 1 for each run (epoch) of
a model on a question (item). Runs are repeats and no new questions, so they are averaged. Everything is judged: for
these questions the difference is exact, and for questions like them it has the paired t-test.

    python examples/repeated_runs.py gpqa_diamond_scores.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from pt_active import Comparison, Estimate
from pt_active.answers.comparison import Answers


def census(scores: pd.DataFrame) -> tuple[Comparison, dict[str, Estimate]]:
    """Compare two models on questions that were all judged.

    Args:
        scores: ``item_id, model_id, score, epoch``, equally many runs of each model on each question.

    Returns:
        The comparison, and the estimate of each model, for questions like these.
    """
    table = scores.rename(columns={"item_id": "item", "model_id": "system", "epoch": "run"})
    answers = Answers(table.drop(columns="score"))
    plan, labels = answers.plan(budget=len(table), unit="item"), answers.labels(table)
    return plan.compare(labels, queries="new"), plan.estimate(labels, queries="new")


def unpaired(estimates: dict[str, Estimate]) -> tuple[float, float]:
    """The 95 % interval of the difference if the two models had answered different questions, first minus second."""
    first, second = estimates.values()
    reach = stats.norm.ppf(0.975) * np.hypot(first.standard_error, second.standard_error)
    difference = first.value - second.value
    return float(difference - reach), float(difference + reach)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    comparison, estimates = census(pd.read_csv(parser.parse_args().scores))
    low, high = unpaired(estimates)
    print(comparison)
    print(f"If they had answered different questions: [{low:+.4f}, {high:+.4f}]")


if __name__ == "__main__":
    main()
