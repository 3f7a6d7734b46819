"""Figures of the charts of a report. Each function takes a table and returns a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pt_active.showing.charts import Bars, Intervals, Lines
from pt_active.showing.rounding import number
from pt_active.showing.svg import FIRST, INK, SECOND, ChartRow, Series, Sides

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_CONTRIBUTIONS = 20  # Bars shown at most
MAX_ESTIMATES = 30  # Estimates shown at most

_LOOKS = ((SECOND, "6 4", "box"), (FIRST, "", "dot"), (INK, "2 4", "dot"))
"""Colour, line and mark of the ways of sampling: plain random queries come first."""


def plot_estimates(table: pd.DataFrame, xlabel: str = "estimate", null: float | None = None) -> Figure:
    """Estimates with their intervals.

    Args:
        table: ``name, estimate, low, high``; the first `MAX_ESTIMATES` rows are drawn. With a column ``sure``, the
            points of rows that are not sure are hollow.
        xlabel: What is estimated.
        null: 0 for differences, which is marked then.

    Raises:
        ValueError: If a column is missing, or there are no rows.
    """
    return estimates(table, xlabel, null is not None).figure()


def plot_budget(table: pd.DataFrame, spent: float | None = None, unit: str = "") -> Figure:
    """The half-width of the interval at each budget, one line per way of sampling.

    Args:
        table: ``design, estimator, level, budget, half_width``, as `Outlook.table` returns it.
        spent: The cost of a plan; marked if given.
        unit: The unit of costs, such as hours.

    Raises:
        ValueError: If a column is missing, or there are no rows.
    """
    marked = None if spent is None else (spent, "this plan")
    return budgets(table, f"budget, {unit}" if unit else "budget", marked).figure()


def plot_design(table: pd.DataFrame) -> Figure:
    """How the chance of being judged depends on what a query costs and on what the model expects of it.

    Args:
        table: ``axis, low, high, queries, drawn, chance, chance_of``, as in `Report.design`.

    Raises:
        ValueError: If a column is missing, or there are no rows.
    """
    return classes(table).figure()


def plot_contributions(table: pd.DataFrame, xlabel: str = "moved the estimate by") -> Figure:
    """How far the labels of single queries moved the estimate, the largest contribution first.

    Args:
        table: ``qid, contribution`` (+ ``query``), as in `contributions.Contributions.queries`. The first
            `MAX_CONTRIBUTIONS` rows are drawn, positive ones in the colour of the first ranker and negative ones in
            that of the second.
        xlabel: What the bars show.

    Raises:
        ValueError: If a column is missing, or there are no rows.
    """
    return contributions(table, xlabel).figure()


def plot_calibration(
    table: pd.DataFrame, slope: float | None = None, intercept: float = 0.0, variable: str = "value"
) -> Figure:
    """Bins of documents: what the labels show over what the model expected.

    Args:
        table: ``expected, observed, standard_error``, as in `ModelCheck.bins`.
        slope: Slope of the line through the labels, which is not drawn if left out or NaN.
        intercept: Intercept of that line.
        variable: The variable that is checked, such as ``gain``, for the axes.

    Raises:
        ValueError: If a column is missing, or there are no rows.
    """
    return calibration(table, slope, intercept, variable).figure()


def estimates(
    table: pd.DataFrame, axis: str, compared: bool = False, sides: Sides | None = None, most: int = MAX_ESTIMATES
) -> Intervals:
    """The chart of ``name, estimate, low, high`` (+ ``sure``)."""
    _need(table, "name", "estimate", "low", "high")
    rows = table.head(most)
    sure = rows["sure"] if "sure" in rows.columns else [True] * len(rows)
    columns = (rows[name] for name in ("name", "estimate", "low", "high"))
    made = [
        ChartRow(str(name), float(value), float(low), float(high), bool(strong))
        for name, value, low, high, strong in zip(*columns, sure, strict=True)
    ]
    return Intervals(made, axis, compared, sides)


def budgets(table: pd.DataFrame, axis: str, marked: tuple[float, str] | None = None) -> Lines:
    """The chart of ``level, design, budget, half_width``."""
    _need(table, "level", "design", "budget", "half_width")
    known = table[np.isfinite(table["half_width"]) & (table["half_width"] > 0)]
    looks = [*_LOOKS, *(_LOOKS[-1:] * len(known))]
    lines = []
    for look, ((level, design), rows) in zip(looks, known.groupby(["level", "design"], sort=False)):  # noqa: B905
        x, y = (rows[column].to_numpy(float) for column in ("budget", "half_width"))
        lines.append(Series(f"{'documents' if level == 'document' else 'queries'}, {design}", x, y, *look))
    return Lines(lines, axis, "half-width of the interval (±)", marked, logarithmic=True)


def classes(table: pd.DataFrame) -> Bars:
    """The chart of ``axis, low, high, chance, chance_of``."""
    _need(table, "axis", "low", "high", "chance", "chance_of")
    made = []
    for axis, rows in table.groupby("axis", sort=False):
        made.append(ChartRow(f"by {axis}:", np.nan))
        for low, high, chance in rows[["low", "high", "chance"]].to_numpy(float).tolist():
            ends = [number(float(f"{end:.3g}")) for end in (low, high)]
            made.append(ChartRow(" to ".join(dict.fromkeys(ends)), chance, text=number(chance)))
    return Bars(made, str(table["chance_of"].iloc[0]))


def contributions(table: pd.DataFrame, axis: str = "moved the estimate by", sides: Sides | None = None) -> Bars:
    """The chart of ``qid, contribution`` (+ ``query``)."""
    _need(table, "qid", "contribution")
    rows = table.head(MAX_CONTRIBUTIONS)
    names = rows["query"].fillna(rows["qid"]) if "query" in rows.columns else rows["qid"]
    titles = (str(name).strip().partition("\n\n")[0] for name in names)  # a reference answer is below
    made = [ChartRow(name, float(value)) for name, value in zip(titles, rows["contribution"], strict=True)]
    return Bars(made, axis, sides)


def calibration(table: pd.DataFrame, slope: float | None, intercept: float, variable: str) -> Lines:
    """The chart of ``expected, observed, standard_error``."""
    _need(table, "expected", "observed", "standard_error")
    x, y, error = (table[name].to_numpy(float) for name in ("expected", "observed", "standard_error"))
    ends = np.array([min(0.0, x.min(), y.min()), max(x.max(), y.max())])
    series = [Series("right on average", ends, ends, INK, "2 4", "")]
    if slope is not None and np.isfinite(slope):
        along = np.array([x.min(), x.max()])
        name = f"line through the labels, slope {slope:.2f}"
        series.append(Series(name, along, intercept + slope * along, SECOND, "6 4", ""))
    series.append(Series("labels", x, y, FIRST, None, "dot", error))
    return Lines(series, f"{variable} that the model expects", f"{variable} that labels show")


def _need(table: pd.DataFrame, *columns: str) -> None:
    if absent := [name for name in columns if name not in table.columns]:
        raise ValueError(f"the table needs the columns {', '.join(columns)}; it lacks {', '.join(absent)}")
    if table.empty:
        raise ValueError("the table has no rows, so there is nothing to draw")
