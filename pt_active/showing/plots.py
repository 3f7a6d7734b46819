"""Which chart does a table become? Each function takes a table and returns a chart, which has a ``figure()``."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.showing.charts import FIRST, INK, SECOND, Bars, ChartRow, Intervals, Lines, Series, Sides

MAX_CONTRIBUTIONS = 20  # Bars shown at most
MAX_ESTIMATES = 30  # Estimates shown at most

_LOOKS = ((SECOND, "--", "s"), (FIRST, "-", "o"), (INK, ":", "o"))
"""Colour, line and mark of the ways of sampling: plain random queries come first."""


def estimates(
    table: pd.DataFrame, axis: str = "estimate", compared: bool = False, sides: Sides | None = None
) -> Intervals:
    """Estimates with their intervals.

    Args:
        table: ``name, estimate, low, high``; the first `MAX_ESTIMATES` rows are drawn. With a column ``sure``, the
            points of rows that are not sure are hollow.
        axis: What is estimated.
        compared: Whether these are differences, so that 0 is marked.
        sides: What values left and right of 0 mean.
    """
    rows = table.head(MAX_ESTIMATES)
    sure = rows["sure"] if "sure" in rows.columns else [True] * len(rows)
    columns = (rows[name] for name in ("name", "estimate", "low", "high"))
    made = [
        ChartRow(str(name), float(value), float(low), float(high), bool(strong))
        for name, value, low, high, strong in zip(*columns, sure, strict=True)
    ]
    return Intervals(made, axis, compared, sides)


def budgets(table: pd.DataFrame, spent: float | None = None, unit: str = "", here: str = "this plan") -> Lines:
    """The half-width of the interval at each budget, one line per way of sampling.

    Args:
        table: ``level, design, budget, half_width``, as `Outlook.table` returns it.
        spent: The cost of a plan, which is marked.
        unit: The unit of costs, such as hours.
        here: The words at that mark.
    """
    known = table[np.isfinite(table["half_width"]) & (table["half_width"] > 0)]
    lines = []
    for number, ((level, design), rows) in enumerate(known.groupby(["level", "design"], sort=False)):
        x, y = (rows[column].to_numpy(float) for column in ("budget", "half_width"))
        name = f"{'documents' if level == 'document' else 'queries'}, {design}"
        lines.append(Series(name, x, y, *_LOOKS[min(number, len(_LOOKS) - 1)]))
    marked = None if spent is None else (spent, here)
    return Lines(lines, f"budget, {unit.strip() or 'in labels'}", "half-width of the interval (±)", marked)


def contributions(table: pd.DataFrame, sides: Sides | None = None) -> Bars:
    """How far the labels of single queries moved the estimate, the largest contribution first.

    Args:
        table: ``qid, contribution`` (+ ``query``), as in `contributions.Contributions.queries`. The first
            `MAX_CONTRIBUTIONS` rows are drawn, positive ones in the colour of the first ranker and negative ones in
            that of the second.
        sides: What values left and right of 0 mean.
    """
    rows = table.head(MAX_CONTRIBUTIONS)
    names = rows["query"].fillna(rows["qid"]) if "query" in rows.columns else rows["qid"]
    titles = (str(name).strip().partition("\n\n")[0] for name in names)  # a reference answer is below
    made = [ChartRow(name, float(value)) for name, value in zip(titles, rows["contribution"], strict=True)]
    return Bars(made, "moved the estimate by", sides)


def calibration(table: pd.DataFrame, slope: float, intercept: float, variable: str) -> Lines:
    """Bins of documents: what the labels show over what the model expected.

    Args:
        table: ``expected, observed, standard_error``, as in `ModelCheck.bins`.
        slope: Slope of the line through the labels, which is not drawn if NaN.
        intercept: Intercept of that line.
        variable: The variable that is checked, such as ``gain``, for the axes.
    """
    x, y, error = (table[name].to_numpy(float) for name in ("expected", "observed", "standard_error"))
    ends = np.array([min(0.0, x.min(), y.min()), max(x.max(), y.max())])
    series = [Series("right on average", ends, ends, INK, ":", "")]
    if np.isfinite(slope):
        along = np.array([x.min(), x.max()])
        name = f"line through the labels, slope {slope:.2f}"
        series.append(Series(name, along, intercept + slope * along, SECOND, "--", ""))
    series.append(Series("labels", x, y, FIRST, "", "o", error))
    return Lines(series, f"{variable} that the model expects", f"{variable} that labels show")
