"""Replays audits on fully labelled pools, thousands of samples at once, with the functions that audits use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from figures import label_axis
from leagues import independent_error
from matplotlib.axes import Axes

from pt_active.inference.estimators import MeanEstimate
from pt_active.inference.intervals import score_interval
from pt_active.inference.ratios import Scores, domain_estimate, ratio_estimate, stratified_estimate
from pt_active.inference.replay import share_columns
from pt_active.relevance.introspection import Introspection, introspection, label_tables
from pt_active.relevance.losses import Loss
from pt_active.sampling.chances import UNIFORM
from pt_active.sampling.designs import GAP_DESIGNS, gap_distribution, sampling_distribution
from pt_active.sampling.draws import allocation, draw_strata, priorities, strata_by
from pt_active.sampling.sample import Sample

METHODS = {
    "passive": ("passive", "snis"),
    "stratified": ("stratified", "stratified"),
    "active": ("optimal", "snis"),
    "active + regression": ("optimal", "regression"),
}
"""Name → design and estimator."""

COLOURS = dict(zip(METHODS, ("black", "tab:orange", "tab:blue", "tab:red"), strict=True))

VALUES = {"rmse": "root mean squared error", "width": "width of 95 % intervals", "coverage": "coverage"}
"""Column of `rows_of` → its name in figures."""

MIN_PROBABILITY = 1e-12
"""Smaller probabilities are raised to this one in the likelihood."""


@dataclass(frozen=True)
class Problem:
    """A model under test on a pool.

    Attributes:
        view: Moments of the loss under the model itself.
        numerator: float64[N], u at the true labels.
        weight: float64[N], w at the true labels.
        fixed: Whether w does not depend on the labels.
        likelihood: Geometric mean of P(y), or of the density, of the pool's labels under the model.
        greatest: The largest possible loss of a pair; the smallest is 0.
    """

    view: Introspection
    numerator: np.ndarray
    weight: np.ndarray
    fixed: bool
    likelihood: float
    greatest: float

    @property
    def risk(self) -> float:
        """The true risk."""
        return float(self.numerator.sum() / self.weight.sum())


def graded_problem(loss: Loss, prediction: np.ndarray, grades: np.ndarray, label: np.ndarray) -> Problem:
    """A predictor of grades that supplies its own grade probabilities.

    Args:
        loss: The loss to estimate.
        prediction: float64[N], f.
        grades: float64[N, G+1], P(y).
        label: float64[N].

    Raises:
        ValueError: If the risk is 0/0 under all labels, such as precision if nothing is called relevant.
    """
    n = len(label)
    tables = label_tables(loss, prediction[:, None], grades.shape[1], np.ones(n, dtype=bool))
    view = introspection(tables, grades, np.full(n, 1 / n), loss.proportion)
    weight = tables[0][1]
    claimed, greatest = grades[np.arange(n), label.astype(int)], 1.0 if loss.proportion else np.inf
    fixed = bool((weight == weight[:, :1]).all())
    return Problem(view, *loss.terms(prediction, label), fixed, geometric(claimed), greatest)


def geometric(values: np.ndarray) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(np.maximum(values, MIN_PROBABILITY)).mean()))


def design_of(view: Introspection, design: str, predictions: np.ndarray | None = None) -> np.ndarray:
    """float64[N], q of a design with equal costs and weights."""
    n = len(view.numerator)
    cost, weight = np.ones(n), np.full(n, 1 / n)
    if design in GAP_DESIGNS and predictions is not None:
        return gap_distribution(design, predictions, cost, weight)
    return sampling_distribution(design, view.moments, cost, weight)


def drawn_samples(q: np.ndarray, labels: list[int], repetitions: int, seed: int) -> list[Sample]:
    """Repeated samples without replacement, as audits draw them, one batch for each number of labels."""
    return list(priorities(q, np.ones(len(q)), labels, repetitions, np.random.default_rng(seed), UNIFORM))


def estimates(problem: Problem, drawn: Sample, estimator: str) -> MeanEstimate:
    """Estimates of the model's risk from each sample."""
    weight, score = np.full(len(problem.weight), 1 / len(problem.weight)), _scores(problem, drawn.rows)
    if problem.fixed:
        return domain_estimate([score], drawn, weight, estimator)
    return ratio_estimate([score], drawn, weight, estimator)


def stratified_estimates(problem: Problem, labels: int, repetitions: int, seed: int) -> MeanEstimate:
    """Estimates of the model's risk from stratified samples."""
    rng, moments = np.random.default_rng(seed), problem.view.moments
    mean, variance = moments.mean[:, 0], moments.covariance[:, 0, 0]
    stratum = strata_by(mean)
    size, number = np.bincount(stratum), allocation(stratum, mean, variance, labels)
    inclusion, estimated = (number / size)[stratum], []
    for _ in range(repetitions):
        rows = np.flatnonzero(draw_strata(stratum, number, rng))
        drawn = Sample(rows, np.ones(len(rows), dtype=np.int64), inclusion[rows], stratum=stratum)
        estimated.append(stratified_estimate([_scores(problem, rows)], drawn))
    names = ("value", "standard_error", "degrees_of_freedom")
    return MeanEstimate(*(np.array([getattr(each, name) for each in estimated]) for name in names))


def _scores(problem: Problem, rows: np.ndarray) -> Scores:
    view = problem.view
    return Scores(problem.numerator[rows], problem.weight[rows], view.numerator[:, 0], view.weight[:, 0])


def replayed(
    problem: Problem, labels: list[int], repetitions: int, seed: int
) -> Iterator[tuple[str, int, MeanEstimate]]:
    """Method, number of labels and the estimates of all samples."""
    for design in ("passive", "optimal"):
        samples = drawn_samples(design_of(problem.view, design), labels, repetitions, seed)
        for name, (wanted, estimator) in METHODS.items():
            if wanted == design:
                for number, drawn in zip(labels, samples, strict=True):
                    yield name, number, estimates(problem, drawn, estimator)
    for number in labels:
        yield "stratified", number, stratified_estimates(problem, number, repetitions, seed)


def rows_of(problem: Problem, labels: list[int], repetitions: int, seed: int) -> pd.DataFrame:
    """One row per method and number of labels: ``mse``, and mean ``width`` and ``coverage`` of 95 % intervals.

    ``coverage_se`` is the Monte Carlo error of the coverage. Samples without a defined risk count in none of these.
    Samples with a standard error of 0 have no interval.
    """
    truth, rows = problem.risk, []
    for name, number, result in replayed(problem, labels, repetitions, seed):
        with np.errstate(invalid="ignore"):
            ends = (0.0, problem.greatest), number
            low, high = score_interval(result.value, result.standard_error, result.degrees_of_freedom, 0.95, *ends)
            usable = np.isfinite(high - low) & (result.standard_error > 0)
        rows.append(
            {
                "method": name,
                "labels": number,
                "mse": np.nanmean((result.value - truth) ** 2),
                "width": np.mean((high - low)[usable]),
                **share_columns("coverage", np.mean(((low <= truth) & (truth <= high))[usable]), usable.sum()),
                "no_interval": 1 - usable.mean(),
            }
        )
    return pd.DataFrame(rows).assign(likelihood=problem.likelihood, risk=truth)


def averaged_rows(rows: list[pd.DataFrame], keys: list[str]) -> pd.DataFrame:
    """Means over models of `rows_of`, with the root of the mean squared error as ``rmse``.

    The Monte Carlo error of a mean coverage is that of independent samples.

    Args:
        rows: One table per model, with the keys as columns.
        keys: Columns that are not averaged over.
    """
    groups = pd.concat(rows).groupby([*keys, "method", "labels"], sort=False)
    table = groups.mean(numeric_only=True).reset_index()
    error = groups["coverage_se"].agg(independent_error).to_numpy()
    return table.assign(rmse=np.sqrt(table["mse"]), coverage_se=error)


def with_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """`rows_of` one model at one number of labels, with ``ratio``: each method's error ÷ that of passive sampling."""
    passive = rows.loc[rows["method"] == "passive", "mse"].iloc[0]
    return rows.assign(ratio=np.sqrt(rows["mse"] / passive))


def with_worth(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """`averaged_rows` with ``worth``: the number of passive labels that one label is worth."""
    passive = table[table["method"] == "passive"].set_index([*keys, "labels"])["mse"]
    baseline = passive.loc[pd.MultiIndex.from_frame(table[[*keys, "labels"]])].to_numpy()
    return table.assign(worth=baseline / table["mse"])


def curves_over_labels(axis: Axes, table: pd.DataFrame, value: str) -> None:
    """Draw one curve per method.

    Args:
        axis: The axis to draw on.
        table: `averaged_rows` of one kind of model.
        value: A key of `VALUES`.
    """
    for name, colour in COLOURS.items():
        curve = table[table["method"] == name]
        axis.plot(curve["labels"], curve[value], color=colour, label=name, marker=".")
    if value == "coverage":
        axis.axhline(0.95, color="gray", linewidth=0.8)
    label_axis(axis, sorted(table["labels"].unique()))
    axis.set_ylabel(VALUES[value])
    axis.grid(alpha=0.3)


def ratios_over_quality(axis: Axes, table: pd.DataFrame) -> None:
    """Draw one dot per model and method.

    Args:
        axis: The axis to draw on.
        table: `with_ratios` of several models.
    """
    for name, colour in COLOURS.items():
        models = table[table["method"] == name]
        axis.scatter(models["likelihood"], models["ratio"], color=colour, s=12, alpha=0.7)
    axis.axhline(1, color="gray", linewidth=0.8)
    axis.set_xlabel("likelihood of the labels (quality of the model)")
    axis.set_ylabel("error ÷ passive's")
    axis.grid(alpha=0.3)


def print_ratios(over_quality: pd.DataFrame, key: str) -> None:
    """Print error ÷ passive's for the worse and the better half of the models of each kind.

    Args:
        over_quality: `with_ratios` of several models, with the key as a column.
        key: Column of the kind of model.
    """
    halves = over_quality.assign(good=over_quality.groupby(key)["likelihood"].rank(pct=True, method="dense") > 0.5)
    print("\nError ÷ passive's, geometric mean over models, for the worse and the better half by likelihood")
    mean = np.exp(np.log(halves["ratio"]).groupby([halves[key], halves["method"], halves["good"]]).mean())
    print(mean.unstack().rename(columns={False: "worse half", True: "better half"}).round(3).to_string())
