"""Risk of a model by number of labels: active, passive and stratified sampling, with good and bad models [ARE].

The model under test supplies the label probabilities itself, as in the source. The script replays the source's active
risk estimation (``optimal``, `snis`), plain random sampling, strata of confidence, and the package's default
(``optimal``, `regression`), all without replacement. In the source, active sampling saves more labels the better the
model is, and may cost labels if the model is certain and wrong, such as naive Bayes.

    python examples/reproduce/risk_curves.py --out FOLDER [--quick]

writes ``risk_curves.csv`` (error, interval width and coverage over labels), ``risk_quality.csv`` (the ratio of active
to passive error for models of different quality) and one picture of both. The data are scikit-learn's digits and
diabetes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from audit_replays import (
    Problem,
    averaged_rows,
    curves_over_labels,
    print_ratios,
    ratios_over_quality,
    rows_of,
    with_ratios,
    with_worth,
)
from evidence import parser_with
from figures import legend_below, panels, write
from matplotlib.figure import Figure
from offline_data import classified, diabetes, digits, logistic, naive_bayes, regressed
from tqdm import tqdm

from pt_active.frames.atomic import write_file

LABELS = [20, 30, 50, 70, 100, 150, 200]
"""Numbers of labels of the curves; models of different quality are compared at `QUALITY_LABELS`."""

QUALITY_LABELS = 100

SIZES = [4, 6, 10, 15, 25, 50, 100, 170]
"""Numbers of training examples, for models of different quality."""

KINDS = ("digits, logistic", "digits, naive Bayes", "diabetes, ridge")
"""Kinds of models: data and learner."""


def problem_of(kind: str, size: int, seed: int) -> Problem:
    """A model of one kind.

    Args:
        kind: One of `KINDS`.
        size: Number of training examples.
        seed: Random seed of the split and of the choice of training examples.
    """
    rng = np.random.default_rng([seed, size])
    if kind == "diabetes, ridge":
        return regressed(diabetes(seed), size, rng)
    return classified(digits(seed), logistic() if kind == "digits, logistic" else naive_bayes(), size, rng)


def curves(repetitions: int, seeds: range) -> pd.DataFrame:
    """Means over splits at each number of labels, for each kind of model trained on 50 examples."""
    rows = [
        rows_of(problem_of(kind, 50, seed), LABELS, repetitions, seed).assign(kind=kind)
        for kind, seed in tqdm([(kind, seed) for kind in KINDS for seed in seeds], unit="model")
    ]
    return averaged_rows(rows, ["kind"])


def qualities(repetitions: int, seeds: range) -> pd.DataFrame:
    """The ratio of active to passive error at `QUALITY_LABELS` labels, one row per model and method."""
    jobs, rows = [(kind, size, seed) for kind in KINDS for size in SIZES for seed in seeds], []
    for kind, size, seed in tqdm(jobs, unit="model"):
        problem = problem_of(kind, size, seed)
        if problem.risk > 0:  # A model without errors has nothing to estimate.
            rows_of_model = rows_of(problem, [QUALITY_LABELS], repetitions, seed)
            rows.append(with_ratios(rows_of_model).assign(kind=kind, size=size))
    return pd.concat(rows, ignore_index=True)


def draw(over_labels: pd.DataFrame, over_quality: pd.DataFrame) -> Figure:
    """One row per kind of model: error, width and coverage by labels, and the ratio by likelihood."""
    figure, axes = panels(len(KINDS), 4)
    for line, kind in zip(axes, KINDS, strict=True):
        chosen = over_labels[over_labels["kind"] == kind]
        for axis, value in zip(line[:3], ("rmse", "width", "coverage"), strict=True):
            curves_over_labels(axis, chosen, value)
        line[0].set_title(f"{kind}, risk {chosen['risk'].mean():.2f}")
        ratios_over_quality(line[3], over_quality[over_quality["kind"] == kind])
    legend_below(figure, axes[0, 0])
    return figure


def print_table(over_labels: pd.DataFrame, over_quality: pd.DataFrame) -> None:
    """Print the numbers behind the picture."""
    at = with_worth(over_labels[over_labels["labels"] == QUALITY_LABELS], ["kind"]).set_index(["kind", "method"])
    print(f"\nAt {QUALITY_LABELS} labels; worth: labels of passive sampling that one label is worth")
    print(
        at[["risk", "likelihood", "rmse", "worth", "width", "coverage", "coverage_se", "no_interval"]]
        .round(3)
        .to_string()
    )
    print_ratios(over_quality, "kind")


def main() -> None:
    """Replay, print, and write the tables and the picture."""
    options = parser_with(__doc__, quick="fewer splits and repetitions", evidence=False)
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--repetitions", type=int, help="200 samples of each model, or 40 with --quick")
    arguments = options.parse_args()
    repetitions = arguments.repetitions or (40 if arguments.quick else 200)
    splits = range(1) if arguments.quick else range(10)
    over_labels, over_quality = curves(repetitions, splits), qualities(repetitions, splits[: len(splits) // 2 + 1])
    print_table(over_labels, over_quality)
    write(over_labels, draw(over_labels, over_quality), arguments.out, "risk_curves")
    write_file(arguments.out / "risk_quality.csv", over_quality.to_csv(index=False), replace=True)


if __name__ == "__main__":
    main()
