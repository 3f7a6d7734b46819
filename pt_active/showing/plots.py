"""How are the figures of a report drawn? Each function takes a table and returns a matplotlib figure.

The colours are those of Okabe and Ito; markers and lines differ too. The background is transparent, so that a notebook
can show the figures light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pt_active.showing.charts import cut_labels, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#323130"
"""Colour of text and axes."""

FIRST, SECOND = "#0072b2", "#d55e00"
"""Colours of the main series, and of the one it is compared with."""

MAX_CONTRIBUTIONS = 20
"""Bars shown at most."""

MAX_ESTIMATES = 30
"""Estimates shown at most."""


def plot_estimates(table: pd.DataFrame, xlabel: str = "estimate", null: float | None = None) -> Figure:
    """Estimates with their intervals.

    Args:
        table: ``name, estimate, low, high``; the first `MAX_ESTIMATES` rows are drawn. With a column ``sure``, the
            points of rows that are not sure are hollow.
        xlabel: What is estimated.
        null: A value to mark, such as 0 for differences.

    Raises:
        ValueError: If a column is missing.
    """
    _need(table, "name", "estimate", "low", "high")
    rows = table.head(MAX_ESTIMATES)
    with _figure((6.4, 0.9 + 0.32 * len(rows))) as (figure, axes):
        places, value = np.arange(len(rows)), rows["estimate"].to_numpy(float)
        arms = np.array([value - rows["low"].to_numpy(float), rows["high"].to_numpy(float) - value])
        axes.errorbar(value, places, xerr=np.where(np.isfinite(arms), arms, 0.0), fmt="o", color=FIRST, capsize=4, lw=2)
        if "sure" in rows.columns:
            open_ones = ~rows["sure"].to_numpy(bool)
            axes.plot(value[open_ones], places[open_ones], "o", color=FIRST, mfc="white")
        if null is not None:
            axes.axvline(null, color=INK, lw=1, ls=":")
        axes.set_yticks(places, _labels(rows["name"]))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(xlabel)
    return figure


def plot_budget(table: pd.DataFrame, spent: float | None = None, unit: str = "") -> Figure:
    """The half-width of the interval over the budget, one line per way to sample.

    Args:
        table: ``design, estimator, level, budget, half_width``, as `Outlook.table` returns it.
        spent: The cost of a plan; marked if given.
        unit: The unit of costs, such as hours.

    Raises:
        ValueError: If a column is missing.
    """
    _need(table, "level", "design", "budget", "half_width")
    with _figure((6.4, 3.6)) as (figure, axes):
        looks = zip((SECOND, FIRST, INK), ("--", "-", ":"), ("s", "o", "^"), strict=True)
        for (level, design), rows in table.groupby(["level", "design"], sort=False):
            rows = rows[np.isfinite(rows["half_width"]) & (rows["half_width"] > 0)]
            colour, line, marker = next(looks, (INK, "-.", "d"))
            label = f"{level}s, {design}" if level != "query" else f"queries, {design}"
            axes.loglog(rows["budget"], rows["half_width"], line, marker=marker, ms=4, color=colour, label=label)
        if spent is not None:
            axes.axvline(spent, color=INK, lw=1, ls=":")
            axes.annotate(
                "this plan",
                (spent, 1),
                xycoords=axes.get_xaxis_transform(),
                xytext=(4, -2),
                textcoords="offset points",
                va="top",
            )
        _plain_logs(axes)
        axes.set(xlabel=f"budget, {_short(unit, 34)}" if unit else "budget", ylabel="half-width of the interval")
        axes.legend(frameon=False)
    return figure


def plot_design(table: pd.DataFrame) -> Figure:
    """How the chance of being judged depends on what a query costs and on what the model expects of it.

    Args:
        table: ``axis, low, high, queries, drawn, chance, chance_of``, as in `Report.design`.

    Raises:
        ValueError: If a column is missing.
    """
    _need(table, "axis", "low", "high", "chance", "chance_of")
    names = list(dict.fromkeys(table["axis"]))
    with _figure((7.2, 3.2), columns=max(len(names), 1)) as (figure, axes):
        for panel, name in zip(np.atleast_1d(np.asarray(axes)), names, strict=True):
            rows = table[table["axis"] == name]
            places = np.arange(len(rows))
            panel.bar(places, rows["chance"], width=0.82, color=FIRST)
            labels = [_range(*ends) for ends in zip(rows["low"], rows["high"], strict=True)]
            panel.set_xticks(places, labels, rotation=40, ha="right", fontsize=8)
            panel.set(xlabel=name, ylabel=str(rows["chance_of"].iloc[0]), ylim=(0, None))
    return figure


def plot_contributions(table: pd.DataFrame, xlabel: str = "moved the estimate by") -> Figure:
    """How far the labels of single queries moved the estimate, the largest contribution first.

    Args:
        table: ``qid, contribution`` (+ ``query``), as in `contributions.Contributions.queries`. The first
            `MAX_CONTRIBUTIONS` rows are drawn, positive ones in the colour of the first ranker and negative ones in
            that of the second.
        xlabel: What the bars show.

    Raises:
        ValueError: If a column is missing.
    """
    _need(table, "qid", "contribution")
    rows = table.head(MAX_CONTRIBUTIONS)
    with _figure((6.4, 0.8 + 0.27 * max(len(rows), 4))) as (figure, axes):
        places, value = np.arange(len(rows)), rows["contribution"].to_numpy()
        axes.barh(places, value, color=[FIRST if v >= 0 else SECOND for v in value])
        axes.axvline(0, color=INK, lw=1)
        texts = rows["query"] if "query" in rows.columns else rows["qid"]
        axes.set_yticks(places, _labels(texts), fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel(xlabel)
    return figure


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
        ValueError: If a column is missing.
    """
    _need(table, "expected", "observed", "standard_error")
    with _figure((4.8, 4.0)) as (figure, axes):
        ends = np.array([0.0, max(table["expected"].max(), table["observed"].max()) * 1.05])
        axes.plot(ends, ends, ":", color=INK, lw=1.2, label="right on average")
        if slope is not None and np.isfinite(slope):
            along = np.array([table["expected"].min(), table["expected"].max()])
            axes.plot(along, intercept + slope * along, "--", color=SECOND, label=f"line of slope {slope:.2f}")
        error = table["standard_error"].fillna(0.0)
        axes.errorbar(table["expected"], table["observed"], yerr=error, fmt="o", color=FIRST, capsize=3, label="labels")
        axes.set(xlabel=f"{variable} that the model expects", ylabel=f"{variable} that labels show")
        axes.legend(frameon=False)
    return figure


@contextmanager
def _figure(size: tuple[float, float], columns: int = 1) -> Iterator[tuple[Figure, Axes]]:
    """A figure with text and axes in `INK`, and its panel, or an array of panels if there are several columns."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    look: Any = dict.fromkeys(inked, INK) | {"font.size": 10}
    with mpl.rc_context(look):
        figure = Figure(figsize=size, layout="constrained", facecolor="none")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, columns, squeeze=False)[0]
        for panel in axes:
            panel.spines[["top", "right"]].set_visible(False)
            panel.patch.set_alpha(0.0)
        yield figure, axes if columns > 1 else axes[0]


def _plain_logs(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())


def _range(low: float, high: float) -> str:
    text = f"{low:.3g}" if low == high else f"{low:.3g} … {high:.3g}"
    return text.replace("-", "−")


def toward(quantity: str, left: str, right: str) -> str:
    """The label of an axis on which small values favour the left ranker and large values the right one."""
    return f"{quantity}\n← for {_short(left, 14)} · for {_short(right, 14)} →"


def _labels(names: pd.Series) -> list[str]:
    """Short labels of the names; distinct names keep distinct labels if possible."""
    return [_plain(label) for label in cut_labels([str(name) for name in names])]


def _short(text: str, most: int) -> str:
    """A label, cut in its middle."""
    return _plain(short(text, most))


def _plain(label: str) -> str:
    """A label with dollar signs escaped: matplotlib takes them for mathematics."""
    return label.replace("$", r"\$")


def _need(table: pd.DataFrame, *columns: str) -> None:
    if absent := [name for name in columns if name not in table.columns]:
        raise ValueError(f"the table needs the columns {', '.join(columns)}; it lacks {', '.join(absent)}")
    if table.empty:
        raise ValueError("the table has no rows, so there is nothing to draw")
