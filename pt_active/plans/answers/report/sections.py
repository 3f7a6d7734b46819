"""What does a report say below its first screen?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.strays import Strays
from pt_active.frames.trec import dropped_in_words
from pt_active.inference.calibration import Calibration
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report import verdict
from pt_active.plans.answers.report.findings import N_DECIDING_QUERIES, Findings
from pt_active.plans.answers.report.words import (
    budget_in_words,
    calibration_in_words,
    contributions_in_words,
    design_in_words,
    slices_in_words,
)
from pt_active.plans.answers.results import Comparison
from pt_active.sampling.designs import draws_by_weight
from pt_active.showing import charts
from pt_active.showing.charts import Row, Series
from pt_active.showing.plots import MAX_CONTRIBUTIONS, MAX_ESTIMATES
from pt_active.showing.rounding import number, with_interval
from pt_active.showing.shown import Decided, Section, Shown, shown_table

MAX_DECIDING_DOCUMENTS = 10
"""Documents in the open list under "What decided"."""

_FAR_WIDER = 4.0
"""Budgets whose interval is so many times wider than that of the plan are left out of the chart."""


def sections_of(report: Findings) -> list[Section]:
    """The details of the page of a plan."""
    made = [
        _estimate(report),
        *verdict.many_pairs(report),
        *([_slices(report)] if len(report.slices) else []),
        *_beside(report),
    ]
    made += [_contributions(report), _budget(report), _check(report), _design(report), _weights(report)]
    return [*made, _missing(report)]


def _estimate(report: Findings) -> Section:
    result = report.result
    words = [report.answer]
    if isinstance(result, Ranking):
        alone = shown_table(report.estimates, "Each ranker alone; compare the pairs, not these intervals")
        return Section("The result in full", words, tables=[_pairs(report), alone])
    tables = [shown_table(report.estimates, "Estimates and intervals")]
    if isinstance(result, Comparison):
        behind = f"Differences are {result.first} − {result.second}: they are negative where {result.second} is better."
        words.append(behind)
    # The state of the judging has the interval and the verdict already.
    facts = result.facts() if report.status is None else [*result.basis.facts(), ("estimator", result.basis.estimator)]
    return Section("The result in full", words, facts=facts, tables=tables)


def _pairs(report: Findings) -> Shown:
    pairs = pd.DataFrame(report.to_dict()["result"]["pairs"])
    pairs = pairs.loc[:, (pairs.notna() & (pairs != "")).any()]
    pairs = pairs.rename(columns={"pvalue": "p-value", "pvalue_corrected": "p-value, corrected"})
    return shown_table(pairs, "All pairs, with p-values in view of all of them")


def left_out(rows: int, shown: int) -> str:
    """The end of a caption: how many rows the chart shows, if it does not show all."""
    if rows <= shown:
        return "."
    return f". The chart shows the first {shown} of {rows}; the data at the end of this page hold all."


def _slices(report: Findings) -> Section:
    table = report.slices.assign(name=[_label(row, report) for row in report.slices.to_dict("records")])
    drawn = table[table["estimate"].notna()]
    words = [
        "The intervals are not corrected for the number of groups: of many, some miss. Groups with few labels have "
        "wide intervals."
    ]
    if report.status is not None:
        words.append("They are those of a number of labels that is fixed beforehand.")
    shown = [shown_table(report.slices, "Groups of queries")]
    if drawn.empty:
        return Section("Groups of queries", words, tables=shown)
    null = 0.0 if isinstance(report.result, Comparison) else None
    said = slices_in_words(drawn, null)
    rows = rows_of(drawn.head(MAX_ESTIMATES), sign=null is not None)
    chart = charts.intervals(rows, null, *verdict.axis_of(report))
    svg = chart.svg("slices", "Estimates within groups of queries", said)
    caption = f"Estimates and intervals within each group{left_out(len(drawn), MAX_ESTIMATES)}"
    return Section("Groups of queries", words, svg, caption, shown)


def rows_of(table: pd.DataFrame, sign: bool = False) -> list[Row]:
    """Rows of a chart from ``name, estimate, low, high``."""
    rows = []
    for name, *ends in zip(*(table[column] for column in ("name", "estimate", "low", "high")), strict=True):
        value, low, high = map(float, ends)
        rows.append(Row(str(name), value, low, high, with_interval(value, low, high, sign=sign)))
    return rows


def _label(row: Mapping[Any, Any], report: Findings) -> str:
    group = f"{row['column']} = {row['value']}"
    return group if len(report.estimates) == 1 else f"{group}: {row['name']}"


def _beside(report: Findings) -> list[Section]:
    if not report.beside or report.pair is None:
        return []
    first, second = report.pair
    words = [
        f"The judged queries in which {first} and {second} differ most, with the documents that both return at each "
        "rank and their grades. Documents that were not judged count in the values as the grade model expects."
    ]
    return [Section("Where the rankers differ", words, beside=report.beside, sides=report.pair)]


def _budget(report: Findings) -> Section:
    title = "What more labels would bring"
    if report.budget_note:
        return Section(title, [f"There is no budget curve: {report.budget_note}."])
    table, unit = report.budget, report.cost_unit
    what = "This plan" if report.status is None else "What is judged so far"
    words = [
        f"{what} cost {number(report.spent)}{unit}. The curves show what to expect for "
        f"{report.check.measure} from one round without replacement. They use the errors that the labels show instead "
        "of those that the model promised. Each interval is of one difference alone, for a number of labels that is "
        "fixed beforehand."
    ]
    said = budget_in_words(table, report.spent)
    chart = charts.plot(
        _curves(table, report.spent),
        f"budget,{unit}" if unit else "budget, in labels",
        "± of the interval (half its width)",
        (report.spent, "this plan" if report.status is None else "so far"),
    )
    svg = chart.svg("budget", "Half-width of the interval over the budget", said)
    caption = (
        "Expected half-width of the interval over the budget, for this way to sample and for plain random queries."
    )
    return Section(title, words, svg, caption, [shown_table(table, "Expected errors over the budget")])


def _curves(table: pd.DataFrame, spent: float) -> list[Series]:
    """One line per way to sample, without budgets so small that they would squeeze the rest."""
    known = table[np.isfinite(table["half_width"]) & (table["half_width"] > 0)]
    here = known.loc[known["budget"] == spent, "half_width"].max()
    near = known[~(known["half_width"] > _FAR_WIDER * here)]
    looks = {"passive": (charts.SECOND, "6 4", "box")}
    lines = []
    for (level, design), rows in near.groupby(["level", "design"], sort=False):
        colour, dash, mark = looks.get(str(design), (charts.FIRST, "", "dot"))
        name = f"{'documents' if level == 'document' else 'queries'}, {design}"
        x, y = (rows[column].to_numpy(float) for column in ("budget", "half_width"))
        lines.append(Series(name, x, y, colour, dash, mark))
    return lines


def _design(report: Findings) -> Section:
    title, table = "What was sampled", report.design
    shown = [shown_table(table, "Classes of queries")]
    if report.result.basis.census:
        return Section(title, ["Everything was to be judged, so there are no weights."], tables=shown)
    words = ["The sample is not typical of the pool; the weights correct for that."]
    if draws_by_weight(report.made.arguments.design):
        words = ["Queries were drawn as plain random sampling does, by their weights alone."]
    rows = []
    for axis, classes in table.groupby("axis", sort=False):
        rows.append(Row(f"by {axis}:", float("nan")))
        rows += [_class(*each) for each in zip(*(classes[name] for name in ("low", "high", "chance")), strict=True)]
    what = str(table["chance_of"].iloc[0])
    svg = charts.bars(rows, what).svg("design", "How much was to be judged", design_in_words(table))
    caption = "How much of a query was to be judged on average, in classes of about equally many queries."
    return Section(title, words, svg, caption, shown)


def _class(low: float, high: float, chance: float) -> Row:
    """The bar of a class of queries."""
    ends = [number(float(f"{end:.3g}")) for end in (low, high)]
    return Row(" to ".join(dict.fromkeys(ends)), float(chance), text=number(chance))


def _contributions(report: Findings) -> Section:
    apart, sides = report.contributions, verdict.sides_of(report)
    model = "grade model"
    if report.result.basis.level == "document":
        model += ", once corrected by the labels,"
    words = [
        f"If each label were as the {model} expects, {report.contrast} would be {number(apart.base)}. The labels "
        "of each query moved it by the query's contribution; this value and all contributions sum to the estimate. "
        "The interval does not rest on the model: where it is wrong, the contributions are larger.",
        f"Blue bars, to the right, moved it {sides[1]}; orange ones, to the left, moved it {sides[0]}.",
    ]
    table = apart.queries.head(MAX_CONTRIBUTIONS)
    names = table["query"].where(table["query"].notna(), table["qid"]) if "query" in table.columns else table["qid"]
    rows = [Row(str(name), float(value)) for name, value in zip(names, table["contribution"], strict=True)]
    chart = charts.bars(rows, "moved the estimate by", None if report.pair is None else verdict.axis_of(report)[1])
    said = contributions_in_words(apart.queries, sides)
    svg = chart.svg("contributions", f"Largest contributions to {report.contrast}", said)
    tables = [
        shown_table(apart.deciding(N_DECIDING_QUERIES), "The documents whose labels decided, query by query"),
        shown_table(apart.queries, "All contributions"),
    ]
    rest = left_out(len(apart.queries), MAX_CONTRIBUTIONS)
    caption = f"The queries whose labels moved the estimate most{rest}"
    folded = [
        shown_table(each.drop(columns=[c for c in ("expected", "value") if c in each.columns]), f"What decided {what}")
        for what, each in report.decided.items()
    ]
    return Section("What decided", words, svg, caption, tables, decided=_decided(report), folded=folded)


def _decided(report: Findings) -> list[Decided]:
    """The documents with the largest effects, with the texts of their queries and their own."""
    apart = report.contributions
    table = apart.documents.head(MAX_DECIDING_DOCUMENTS)
    queries = apart.queries.set_index("qid")["query"] if "query" in apart.queries.columns else pd.Series(dtype=object)
    columns = ("qid", "docno", "label", "effect")
    return [
        Decided(qid, str(queries.get(qid, "")), docno, number(label), number(effect), report.texts.get(docno, ""))
        for qid, docno, label, effect in zip(*(table[name] for name in columns), strict=True)
    ]


def _check(report: Findings) -> Section:
    check, line = report.check, report.check.calibration
    bins = check.bins
    x, y, error = (bins[name].to_numpy(float) for name in ("expected", "observed", "standard_error"))
    top = np.array([0.0, max(x.max(), y.max())])
    series = [Series("right on average", top, top, charts.INK, "2 4", "")]
    if np.isfinite(line.slope):
        along = np.array([x.min(), x.max()])
        fitted = line.intercept + line.slope * along
        series.append(
            Series(f"line through the labels, slope {line.slope:.2f}", along, fitted, charts.SECOND, "6 4", "")
        )
    series.append(Series("labels", x, y, charts.FIRST, None, "dot", error))
    chart = charts.plot(series, f"{check.variable} that the model expects", f"{check.variable} that labels show")
    said = calibration_in_words(bins, line.slope)
    svg = chart.svg("calibration", f"Calibration of the grade model, {check.variable}", said)
    caption = "Weighted means of the labels, over what the model expected; arms are one standard error."
    tables = [shown_table(bins, "Bins of documents")]
    words = [f"{_trusted(line)} The result does not depend on it: a bad model costs labels.", check.head]
    return Section("Can the grade model be trusted?", words, svg, caption, tables, check.facts())


def _trusted(line: Calibration) -> str:
    """What the line through the labels says of the grade model, in a sentence."""
    low, high = line.interval
    if not np.isfinite([low, high]).all():
        return "These labels do not say."
    if low <= 0 <= high:
        return "These labels do not show that it knows anything." if high < 1 else "These labels are too few to say."
    if high < 0:
        return "No: it says the opposite of the truth."
    if low <= 1 <= high:
        return "Yes, as far as these labels can tell: it is right on average."
    few, more = "Partly: documents differ less than it says.", "Partly: documents differ more than it says."
    return few if high < 1 else more


def _weights(report: Findings) -> Section:
    basis, unit = report.result.basis, "documents" if report.result.basis.level == "document" else "draws"
    words = [
        f"{number(basis.n_effective)} equally weighted {unit} would say as much as the {basis.n_draws} of the plan."
    ]
    return Section("Weights", words, tables=[shown_table(report.heaviest, "The largest shares of the weight")])


def _missing(report: Findings) -> Section:
    basis = report.result.basis
    ignored = f" Ignored: {how_many('label', basis.ignored)} of what was not sampled." if basis.ignored else ""
    unknown = f" Not used: {Strays(basis.unknown).counted}." if basis.unknown else ""
    dropped = [f"Run {each.ranker}: {dropped_in_words(each.to_json())}." for each in report.made.dropped]
    if not report.missing:
        return Section("What was missing", [f"No label was missing.{ignored}{unknown}", *dropped])
    said = f"{how_many('label', len(report.missing), 'was')} missing and taken as {basis.missing_policy}"
    words = [f"{said}.{ignored}{unknown}", *dropped]
    table = pd.DataFrame(report.missing, columns=["qid", "docno"])
    return Section("What was missing", words, tables=[shown_table(table, "Documents without a label")])
