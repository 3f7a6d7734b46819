"""Numbers as they are rounded, charts as figures and as SVG: each holds its table, and its words fit."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from pt_active.showing import plots
from pt_active.showing.charts import Chart, ChartRow, Intervals
from pt_active.showing.page import MAX_ROWS, Shown
from pt_active.showing.printed import listed, plain
from pt_active.showing.rounding import amount, decimals, fixed, from_to, minus, number, share, with_interval


@pytest.mark.parametrize(
    ("numbers", "how", "text"),
    [
        ((4.23, 1.13, 7.33), {"sign": True}, "+4.2 ± 3.1"),
        ((0.27597, -0.14319, 0.71242), {}, "0.28 (−0.14 to +0.71)"),
        ((-0.001234, -0.0023, -0.0002), {}, "−0.0012 (−0.0023 to −0.0002)"),
        ((12.3, 2.3, 22.3), {}, "12 ± 10"),
        ((0.5, np.nan, np.nan), {}, "about 0.5"),
        ((2.0, 2.0, 2.0), {}, "2.0000"),
        # An interval without 0 does not seem to touch it.
        ((3.1, 0.02, 6.2), {"sign": True}, "+3.10 (+0.02 to +6.20)"),
        ((-3.1, -6.2, -0.004), {"sign": True}, "−3.100 (−6.200 to −0.004)"),
        ((3.2, -0.02, 6.2), {"sign": True}, "+3.2 (0.0 to +6.2)"),
        ((0.632561503897, 0.63256150389699, 0.63256150389701), {"sign": True}, "+0.6326"),  # as wide as rounding
    ],
)
def test_numbers_have_the_digits_that_their_interval_supports(numbers, how, text) -> None:
    assert with_interval(*numbers, **how) == text


def test_numbers_as_they_are_shown() -> None:
    shown = {0.123456: "0.1235", -1e-7: "−1e−07", 12345.6: "12346", 3: "3", np.nan: "–", np.inf: "–", True: "yes"}
    assert {value: number(value) for value in [*shown, None]} == shown | {None: "–"}
    assert number(np.int64(12345678)) == "12345678"
    assert from_to(-0.0004, 0.31) == "0.00 to +0.31"
    assert [decimals(0, 2 * half) for half in (0.0031, 0.031, 0.31, 3.1, 31, 310)] == [4, 3, 2, 1, 0, 0]
    assert fixed(-0.0, 2) == fixed(-0.001, 2) == "0.00"
    amounts = {15384.2: "15,384", 9999.6: "10,000", 9999.4: "9999", 853.01: "853", 0.25: "0.25"}
    assert {value: amount(value) for value in amounts} == amounts
    some = {1: "r1", 2: "r1 or r2", 5: "r1, r2, r3, r4 or r5", 63: "r1, r2, r3 or 60 others"}
    assert {most: listed([f"r{i}" for i in range(1, most + 1)], " or ") for most in some} == some
    shares = [share(*each) for each in ((0, 5), (5, 5), (1, 15), (999, 1000), (1, 3))]
    assert shares == ["0%", "100%", "6.7%", "99.9%", "33%"]
    assert minus("[-0.7, -1] in doc-7, -x, GX-1-2 and 2026-03-01") == "[−0.7, −1] in doc-7, -x, GX-1-2 and 2026-03-01"


def test_a_long_table_says_how_much_of_it_is_not_shown() -> None:
    table = pd.DataFrame({"ranker": ["a"] * 60, "the value": np.arange(60.0), "unsaid": ""})
    cut, whole = Shown.of(table), Shown.of(table, most=None)
    assert (len(cut.rows), cut.more, len(whole.rows), whole.more) == (MAX_ROWS, 60 - MAX_ROWS, 60, 0)
    assert (cut.columns, cut.aligned, cut.rows[2]) == (["ranker", "the value"], [False, True], ["a", "2"])


def test_what_is_ready_for_json_has_no_numbers_that_json_lacks() -> None:
    table = pd.DataFrame({"a": [1.0, np.inf], "b": ["x", None]})
    said = {"row": ChartRow("r", np.nan, 1), "table": table, "all": (np.float64(2), [np.int64(3)]), 4: None}
    row = {"label": "r", "value": None, "low": 1, "high": None, "strong": True}
    rows = [{"a": 1.0, "b": "x"}, {"a": None, "b": None}]
    assert plain(said) == {"row": row, "table": rows, "all": [2.0, [3]], "4": None}


def axes_of(chart: Chart) -> Axes:
    return chart.figure().axes[0]


def test_a_chart_is_the_same_each_time_and_has_the_colours_of_its_page() -> None:
    chart = Intervals([ChartRow("a $x$ 漢字", 1.0, 0.0, 2.0), ChartRow("<b>", 4.0, strong=False)], "", True)
    drawn = chart.svg("x", "<t>")
    assert drawn == chart.svg("x", "<t>")
    colours = set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", drawn)) - {"none"}
    assert colours == {f"var(--{colour})" for colour in ("first", "ink", "ground")}
    assert ">a $x$ 漢字</text>" in drawn
    assert "&lt;b&gt;" in drawn
    assert not re.search("<[bt]>", drawn)
    ids = re.findall(r' id="([^"]*)"', drawn + chart.svg("y", "t"))
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', drawn)) <= set(ids)


def test_budgets_are_lines_by_level_and_design_in_the_order_of_the_table() -> None:
    rows = {"level": ["query"] * 2 + ["document"] * 2, "design": ["passive"] * 2 + ["successive"] * 2}
    budget = pd.DataFrame(rows | {"budget": [10.0, 20.0] * 2, "half_width": [3.0, 2.0, 2.5, 1.0]})
    drawn = {each.get_label(): each.get_xydata() for each in axes_of(plots.budgets(budget, 15.0)).lines}
    assert [name for name in drawn if name != "this plan"] == ["queries, passive", "documents, successive"]
    np.testing.assert_allclose(drawn["queries, passive"], budget[["budget", "half_width"]].head(2))
    np.testing.assert_allclose(drawn["documents, successive"], budget[["budget", "half_width"]].tail(2))


def test_other_figures_hold_their_tables() -> None:
    moved = pd.DataFrame({"qid": [f"q{n}" for n in range(25)], "contribution": np.arange(25) - 9.5})
    bars = axes_of(plots.contributions(moved)).patches
    np.testing.assert_allclose([bar.get_width() for bar in bars], moved["contribution"].head(20))
    bins = pd.DataFrame({"expected": [1.0, 2.0], "observed": [1.5, 1.0], "standard_error": [0.1, np.nan]})
    lines = axes_of(plots.calibration(bins, 0.5, 0.2, "gain")).lines
    np.testing.assert_allclose(lines[1].get_xydata(), [[1.0, 0.7], [2.0, 1.2]])
    np.testing.assert_allclose(lines[2].get_xydata(), bins[["expected", "observed"]])
    many = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "estimate": np.arange(40.0), "low": -1.0, "high": 50.0})
    estimates = axes_of(plots.estimates(many, compared=True)).lines[0]
    np.testing.assert_allclose(estimates.get_xdata(), np.arange(plots.MAX_ESTIMATES))


def test_an_interval_is_drawn_where_it_is_even_if_the_value_lies_outside_of_it() -> None:
    """Bets on all labels may disagree with an estimate from those before the first gap."""
    rows = [ChartRow("a", 3.0, 0.0, 2.0), ChartRow("b", 1.0), ChartRow("c", 1.0, -np.inf, 2.0)]
    axes = axes_of(Intervals(rows))
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [3, 1, 1])
    np.testing.assert_allclose(axes.collections[0].get_segments(), [[[0, 0], [2, 0]]])


@pytest.mark.parametrize("values", [[0.0, 0.0], [-0.5, -0.2], [-0.5, 0.5]])
def test_lines_of_values_that_are_not_above_zero_are_drawn(values: list[float]) -> None:
    """Scores may be below 0, as preferences are."""
    table = pd.DataFrame({"expected": values, "observed": values[::-1], "standard_error": [0.1, np.inf]})
    chart = plots.calibration(table, np.nan, 0.0, "Score")
    (low, high), (bottom, top) = axes_of(chart).get_xlim(), axes_of(chart).get_ylim()
    assert min(low, bottom) < min(values) <= max(0.0, *values) < min(high, top)
    assert "nan" not in chart.svg("calibration", "Calibration")
