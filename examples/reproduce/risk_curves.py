"""Risk of a model over labels: active, passive and stratified sampling, and what a bad model does to it [ARE].

The model under test supplies the label probabilities itself, as in the source. Replayed are the source's active risk
estimation (``optimal``, `snis`), plain random sampling, strata of confidence, and the package's default (``optimal``,
`regression`), all without replacement. The source finds that active sampling saves labels where the model is good,
more so the better, and that it may cost labels where the model is certain and wrong, such as naive Bayes.

    python examples/reproduce/risk_curves.py --out FOLDER [--quick]

writes ``risk_curves.csv`` (error, interval width and coverage over labels), ``risk_quality.csv`` (the ratio of active
to passive error for models of many qualities) and one picture of both. Data are scikit-learn's digits and diabetes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from figures import label_axis, legend_below, panels, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from offline_data import (
    Problem,
    classified,
    design_of,
    diabetes,
    digits,
    drawn_samples,
    estimates,
    logistic,
    naive_bayes,
    regressed,
    stratified_estimates,
)
from tqdm import tqdm

from pt_active.estimators import MeanEstimate, interval

LABELS = [20, 30, 50, 70, 100, 150, 200]
"""At which errors are taken; `QUALITY_LABELS` of them where qualities are compared."""

QUALITY_LABELS = 100

SIZES = [4, 6, 10, 15, 25, 50, 100, 170]
"""Training examples: the models of many qualities."""

METHODS = {
    "passive": ("passive", "snis"),
    "stratified": ("stratified", "stratified"),
    "active": ("optimal", "snis"),
    "active + regression": ("optimal", "regression"),
}
"""Name → design and estimator."""

COLOURS = dict(zip(METHODS, ("black", "tab:orange", "tab:blue", "tab:red"), strict=True))

MARKERS = {"digits, logistic": "o", "digits, naive Bayes": "x", "diabetes, ridge": "^"}
"""Of a kind of model: data and learner."""


def problem_of(kind: str, size: int, seed: int) -> Problem:
    """A model of one kind.

    Args:
        kind: A key of `MARKERS`.
        size: Training examples.
        seed: Of split and training examples.
    """
    rng = np.random.default_rng([seed, size])
    if kind == "diabetes, ridge":
        return regressed(diabetes(seed), size, rng)
    return classified(digits(seed), logistic() if kind == "digits, logistic" else naive_bayes(), size, rng)


def replayed(
    problem: Problem, labels: list[int], repetitions: int, seed: int
) -> Iterator[tuple[str, int, MeanEstimate]]:
    """Method, labels and the estimates of all samples."""
    for design in ("passive", "optimal"):
        samples = drawn_samples(design_of(problem.view, design), labels, repetitions, seed)
        for name, (wanted, estimator) in METHODS.items():
            if wanted == design:
                for number, drawn in zip(labels, samples, strict=True):
                    yield name, number, estimates(problem, drawn, estimator)
    for number in labels:
        yield "stratified", number, stratified_estimates(problem, number, repetitions, seed)


def rows_of(problem: Problem, labels: list[int], repetitions: int, seed: int) -> pd.DataFrame:
    """One row a method and number of labels: ``rmse``, mean ``width`` and ``coverage`` of 95 % intervals."""
    truth, rows = problem.loss.mean(), []
    for name, number, found in replayed(problem, labels, repetitions, seed):
        low, high = interval(found.value, found.standard_error, found.degrees_of_freedom, 0.95)
        usable = np.isfinite(high - low) & (found.standard_error > 0)
        rows.append(
            {
                "method": name,
                "labels": number,
                "mse": np.mean((found.value - truth) ** 2),
                "width": np.mean((high - low)[usable]),
                "coverage": np.mean(((low <= truth) & (truth <= high))[usable]),
                "no_interval": 1 - usable.mean(),
            }
        )
    return pd.DataFrame(rows).assign(likelihood=problem.likelihood, risk=truth)


def curves(repetitions: int, seeds: range) -> pd.DataFrame:
    """Over labels, for each kind of model trained on 50 examples; means over splits."""
    jobs = [(kind, seed) for kind in MARKERS for seed in seeds]
    found = [
        rows_of(problem_of(kind, 50, seed), LABELS, repetitions, seed).assign(kind=kind)
        for kind, seed in tqdm(jobs, unit="model")
    ]
    table = pd.concat(found).groupby(["kind", "method", "labels"], sort=False).mean(numeric_only=True).reset_index()
    return table.assign(rmse=np.sqrt(table["mse"]))


def qualities(repetitions: int, seeds: range) -> pd.DataFrame:
    """The ratio of active to passive error at `QUALITY_LABELS` labels, a row a model and method."""
    jobs, rows = [(kind, size, seed) for kind in MARKERS for size in SIZES for seed in seeds], []
    for kind, size, seed in tqdm(jobs, unit="model"):
        problem = problem_of(kind, size, seed)
        if problem.loss.mean() == 0:
            continue  # A model without an error has nothing to estimate.
        found = rows_of(problem, [QUALITY_LABELS], repetitions, seed)
        passive = found.loc[found["method"] == "passive", "mse"].iloc[0]
        rows.append(found.assign(kind=kind, size=size, ratio=np.sqrt(found["mse"] / passive)))
    return pd.concat(rows, ignore_index=True)


def draw(over_labels: pd.DataFrame, over_quality: pd.DataFrame) -> Figure:
    """A row a kind of model: error, width and coverage over labels; the ratio over the likelihood."""
    figure, axes = panels(len(MARKERS), 4)
    for line, kind in zip(axes, MARKERS, strict=True):
        chosen = over_labels[over_labels["kind"] == kind]
        for axis, value in zip(line[:3], ("rmse", "width", "coverage"), strict=True):
            _lines(axis, chosen, value)
        line[2].axhline(0.95, color="gray", linewidth=0.8)
        line[0].set_title(f"{kind}, risk {chosen['risk'].mean():.2f}")
        _dots(line[3], over_quality[over_quality["kind"] == kind])
    legend_below(figure, axes[0, 0])
    return figure


def _lines(axis: Axes, table: pd.DataFrame, value: str) -> None:
    for name, colour in COLOURS.items():
        curve = table[table["method"] == name]
        axis.plot(curve["labels"], curve[value], color=colour, label=name, marker=".")
    label_axis(axis, LABELS)
    axis.set_ylabel({"rmse": "root mean squared error", "width": "width of 95 % intervals"}.get(value, value))
    axis.grid(alpha=0.3)


def _dots(axis: Axes, table: pd.DataFrame) -> None:
    for name, colour in COLOURS.items():
        models = table[table["method"] == name]
        axis.scatter(models["likelihood"], models["ratio"], color=colour, s=12, alpha=0.7)
    axis.axhline(1, color="gray", linewidth=0.8)
    axis.set_xlabel("likelihood of the labels (quality of the model)")
    axis.set_ylabel("error ÷ passive's")
    axis.grid(alpha=0.3)


def print_table(over_labels: pd.DataFrame, over_quality: pd.DataFrame) -> None:
    """What a page may say of the picture."""
    at = over_labels[over_labels["labels"] == QUALITY_LABELS].set_index(["kind", "method"])
    passive = at["mse"].xs("passive", level="method")
    at = at.assign(worth=at.index.get_level_values("kind").map(passive) / at["mse"])
    print(f"\nAt {QUALITY_LABELS} labels; worth: labels of passive sampling that one label is worth")
    print(at[["risk", "likelihood", "rmse", "worth", "width", "coverage", "no_interval"]].round(3).to_string())
    halves = over_quality.assign(good=over_quality.groupby("kind")["likelihood"].rank(pct=True) > 0.5)
    print("\nError ÷ passive's, geometric mean over models, for the worse and the better half by likelihood")
    mean = np.exp(np.log(halves["ratio"]).groupby([halves["kind"], halves["method"], halves["good"]]).mean())
    print(mean.unstack().rename(columns={False: "worse half", True: "better half"}).round(3).to_string())


def main() -> None:
    """Replay, print, and write the tables and the picture."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--quick", action="store_true", help="fewer splits and repetitions")
    options.add_argument("--repetitions", type=int, help="200 samples of each model, or 40 with --quick")
    arguments = options.parse_args()
    repetitions = arguments.repetitions or (40 if arguments.quick else 200)
    splits = range(1) if arguments.quick else range(10)
    over_labels, over_quality = curves(repetitions, splits), qualities(repetitions, splits[: len(splits) // 2 + 1])
    print_table(over_labels, over_quality)
    write(over_labels, draw(over_labels, over_quality), arguments.out, "risk_curves")
    over_quality.to_csv(arguments.out / "risk_quality.csv", index=False)


if __name__ == "__main__":
    main()
