"""What does the page of a plan say?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.calibration import Calibration
from pt_active.plans.answers.board import board_table
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report.differences import for_others, how_sure
from pt_active.plans.answers.report.findings import MAX_DECIDING_DOCUMENTS, Findings
from pt_active.plans.answers.report.headline import in_percent
from pt_active.plans.answers.results import DIRECTLY, Comparison, Estimate
from pt_active.showing import plots
from pt_active.showing.charts import ChartRow, Intervals, Sides
from pt_active.showing.page import Decided, Page, Section, Shown
from pt_active.showing.plots import MAX_CONTRIBUTIONS, MAX_ESTIMATES
from pt_active.showing.printed import capital, listed
from pt_active.showing.rounding import number, with_interval

_MAX_PAIRS = 28  # Pairs in the chart of all pairs: eight rankers have so many
_FAR_WIDER = 4.0  # Budgets whose interval is so many times wider than that of the plan are left out of the chart


def page_of(report: Findings) -> Page:
    """The page of a plan."""
    result, basis = report.result, report.result.basis
    verdict, sections = [verdict_of(report)], list[Section]()
    if isinstance(result, Ranking):
        verdict.insert(0, _board(result))
        sections.append(_pairs(report, result))
    else:
        sections.append(_in_full(report, result))
    sections += [*_slices(report), _contributions(report), _budget(report), *_agreement(report)]
    return Page(
        title=f"{basis.measure} of {listed(report.made.rankers)}",
        head=report.headline,
        data=report.to_dict(),
        verdict=verdict,
        sections=[*sections, _check(report), *_missing(report)],
        note=report.note,
        reassures=basis.census and not result.holds_for_new and not (basis.missing or basis.unknown.hint),
    )


def verdict_of(report: Findings) -> Section:
    """The picture that belongs to the answer."""
    result, shown = report.result, report.estimates
    if isinstance(result, Ranking):
        return _of_many(report, result)
    caption = "The point is the estimate, the bar its interval"
    if result.beside is not None:
        seen = None if report.status is None else report.status.beside
        low, high = result.beside.confidence_interval() if seen is None else (seen.low, seen.high)
        names = [each.population.label for each in (result, result.beside) if each.population is not None]
        shown = pd.concat([shown, shown.assign(low=low, high=high)], ignore_index=True).assign(name=names)
        caption += ", for these queries and for new ones like them"
    for pair in report.differences:
        both = pair, *for_others(result, report.status)
        shown = shown.assign(sure=[each.winner is not None or each.certain for each in both])
    chart = plots.estimates(shown, *_axis_of(report))
    return Section("", svg=chart.svg("estimates", "Estimates with intervals"), caption=f"{caption}.")


def _axis_of(report: Findings) -> tuple[str, bool, Sides | None]:
    """What a scale of estimates shows, whether 0 means no difference, and for whom its two sides are."""
    measure, compared = report.result.basis.measure, isinstance(report.result, Comparison)
    sides = None if report.pair is None else (f"{report.pair[1]} is better", f"{report.pair[0]} is better")
    return f"difference in {measure}" if compared else measure, compared, sides


def _board(ranking: Ranking) -> Section:
    """The table of all rankers."""
    measure = ranking.basis.measure
    said = (
        "Rank: the places that each ranker may have; those of all hold at once. Best: whether it may be the best. "
        "Group: rankers that share a letter cannot be told apart by these labels"
    )
    return Section("", open=Shown.of(board_table(ranking.boards, measure), said, [measure], None))


def _of_many(report: Findings, ranking: Ranking) -> Section:
    """The picture of all rankers."""
    sure = [ranking.settled or not best for best in ranking.best]
    chart = plots.estimates(report.estimates.assign(sure=sure), ranking.basis.measure)
    svg = chart.svg("estimates", "Values of the rankers with intervals")
    caption = (
        "The value of each ranker, with its own interval. Hollow points: it may be the best. Two rankers are compared "
        "by their difference, which is known better than their values, so ranks may be surer than these intervals look"
        f"{_left_out(len(sure), MAX_ESTIMATES)}"
    )
    return Section("", svg=svg, caption=caption)


def _pairs(report: Findings, ranking: Ranking) -> Section:
    """All pairs: a chart, and a table with the differences in percent and the tests."""
    pairs = report.differences
    rows = [ChartRow(each.what, each.value, each.low, each.high, each.winner is not None) for each in pairs]
    chart = Intervals(rows[:_MAX_PAIRS], f"difference in {ranking.basis.measure}", True)
    svg = chart.svg("pairs", "Differences of all pairs with intervals")
    table = pd.DataFrame(
        {
            "first": [each.first for each in pairs],
            "second": [each.second for each in pairs],
            "first − second": [with_interval(each.value, each.low, each.high, sign=True) for each in pairs],
            "change in %": [in_percent(each.relative) for each in pairs],
            "p-value, corrected": ranking.corrected,
            "verdict": [each.verdict for each in pairs],
        }
    )
    shown = Shown.of(table, "All pairs, with p-values corrected for their number", ["first − second"], None)
    more = "" if len(pairs) <= _MAX_PAIRS else f" The chart shows the first {_MAX_PAIRS} of {len(pairs)} pairs."
    caption = (
        f"Filled points: told apart, all pairs together; hollow points: not. {how_sure(pairs, 1 - ranking.alpha)} "
        f"{DIRECTLY}{more}"
    )
    return Section("All pairs", svg=svg, caption=caption, tables=[shown])


def _in_full(report: Findings, result: Estimate | Comparison) -> Section:
    facts = result.facts() if report.status is None else report.status.facts()
    return Section("The result in full", facts=facts, tables=[Shown.of(report.estimates, "Estimates and intervals")])


def _left_out(rows: int, shown: int) -> str:
    """The end of a caption: how many rows the chart shows, if it does not show all."""
    if rows <= shown:
        return "."
    return f". The chart shows the first {shown} of {rows}; the data at the end of this page hold all."


def _slices(report: Findings) -> list[Section]:
    if report.slices.empty:
        return []
    table, many = report.slices, len(report.estimates) > 1
    names = table["column"] + " = " + table["value"].astype(str) + (": " + table["name"] if many else "")
    drawn = table.assign(name=names)[table["estimate"].notna()]
    words = [
        "The intervals are not corrected for the number of groups, so some of many miss the true value. Groups with "
        "few labels have wide intervals."
    ]
    if report.result.holds_for_new:
        words.append("They hold for queries like those of a group.")
    if report.status is not None:
        words.append("They assume that the number of labels was fixed beforehand.")
    title, shown = "Groups of queries", [Shown.of(table, "Groups of queries")]
    if drawn.empty:
        return [Section(title, words, tables=shown)]
    svg = plots.estimates(drawn, *_axis_of(report)).svg("slices", "Estimates within groups of queries")
    caption = f"Estimates and intervals within each group{_left_out(len(drawn), MAX_ESTIMATES)}"
    return [Section(title, words, svg, caption, shown)]


def _budget(report: Findings) -> Section:
    title, table = "What more labels would bring", report.budget
    if report.budget_note:
        return Section(title, [f"There is no budget curve: {report.budget_note}."])
    what, here = ("This plan", "this plan") if report.status is None else ("The judging so far", "so far")
    spent, unit = report.made.spent, report.made.arguments.unit
    words = [
        f"{what} cost {number(spent)}{unit}. The curves show what to expect of one round without "
        f"replacement, for {report.check.measure}. They use the errors that the labels show, not those that the model "
        "promised. They are for a single difference, and a number of labels fixed beforehand.",
        *_floor(report),
    ]
    # Budgets so small that they would squeeze the rest are in the table alone.
    widest = table["half_width"][table["budget"] == spent].max()
    near = table[~(table["half_width"] > _FAR_WIDER * widest)]
    chart = plots.budgets(near, spent, unit, here)
    svg = chart.svg("budget", "Half-width of the interval at each budget")
    caption = (
        "Expected half-width of the interval at each budget, for this way of sampling and for plain random queries."
    )
    return Section(title, words, svg, caption, [Shown.of(table, "Expected errors at each budget")])


def _floor(report: Findings) -> list[str]:
    """What no number of labels brings."""
    result = report.result
    if isinstance(result, Ranking) or result.beside is None:
        return []
    new = result if result.holds_for_new else result.beside
    low, high = new.confidence_interval()
    if not np.isfinite(low):
        return []
    floor = (high - low) / 2 * result.floor / new.standard_error
    return [
        f"The curves are for these queries. For queries like them, the half-width stays above {number(floor)} however "
        "much is judged: that part comes from how queries differ, and only more queries reduce it."
    ]


def _contributions(report: Findings) -> Section:
    apart, pair = report.contributions, report.pair
    down, up = ("down", "up") if pair is None else (f"towards {pair[1]}", f"towards {pair[0]}")
    model = "corrected grade model" if report.result.basis.level == "document" else "grade model"
    words = [
        f"If each label were as the {model} expects, {report.contrast} would be {number(apart.base)}. The labels "
        "of each query moved this value by the query's contribution; the value and all contributions sum to the "
        "estimate. The interval does not rest on the model: where the model is wrong, contributions are larger.",
        f"Blue bars to the right moved it {up}; orange bars to the left moved it {down}.",
    ]
    chart = plots.contributions(apart.queries, sides=_axis_of(report)[2])
    svg = chart.svg("contributions", f"Largest contributions to {report.contrast}")
    tables = [Shown.of(apart.queries, "All contributions")]
    shown = _left_out(len(apart.queries), MAX_CONTRIBUTIONS)
    caption = f"The queries whose labels moved the estimate most{shown}"
    return Section("What decided the result", words, svg, caption, tables, decided=_decided(report))


def _decided(report: Findings) -> list[Decided]:
    """The documents with the largest effects, with the texts of their queries and their own."""
    apart = report.contributions
    queries = apart.queries.set_index("qid")["query"] if "query" in apart.queries.columns else pd.Series(dtype=object)
    columns = apart.documents.head(MAX_DECIDING_DOCUMENTS)[["qid", "docno", "label", "effect"]]
    return [
        Decided(qid, str(queries.get(qid, "")), docno, number(label), number(effect), report.texts.get(docno, ""))
        for qid, docno, label, effect in columns.astype(object).to_numpy().tolist()
    ]


def _agreement(report: Findings) -> list[Section]:
    """How far several judges agree, and what their disagreement costs."""
    if report.agreement is None:
        return []
    words = ["Alpha and kappa are 1 where judges agree on every document, and 0 where they agree as by chance."]
    words += [f"{capital(said)}." for name, said in report.result.basis.facts() if name == "judges"]
    tables = [Shown.of(report.agreement.judges, "What each judge gave")]
    return [Section("Do the judges agree?", words, tables=tables, facts=report.agreement.facts())]


def _check(report: Findings) -> Section:
    check, line = report.check, report.check.calibration
    chart = plots.calibration(check.bins, line.slope, line.intercept, check.variable)
    svg = chart.svg("calibration", f"Calibration of the grade model, {check.variable}")
    caption = "Weighted means of the labels against what the model expected; arms are one standard error."
    tables = [Shown.of(check.bins, "Bins of documents")]
    words = [f"{_trusted(line)} The result does not depend on it: a bad model only costs labels.", check.head]
    return Section("Can the grade model be trusted?", words, svg, caption, tables, check.facts())


def _trusted(line: Calibration) -> str:
    """What the line through the labels says about the slope and the level of the grade model, in words."""
    low, high = line.interval
    if not np.isfinite([low, high]).all() or low <= 0 <= high:
        said = "These labels do not show that it predicts anything."
    elif high < 0:
        said = "No: it predicts the opposite of what the labels show."
    elif not low <= 1 <= high:
        said = f"Partly: documents differ {'less' if high < 1 else 'more'} than it predicts."
    elif line.off:
        said = "Partly: documents differ as much as it predicts."
    else:
        said = "Yes, as far as these labels can tell: it is right on average."
    return f"{said} What it expects is {line.off}." if line.off else said


def _missing(report: Findings) -> list[Section]:
    basis = report.result.basis
    if not basis.missing:
        return []
    said = f"{how_many('label', len(basis.missing), 'was')} missing and taken as {basis.missing_policy}."
    table = Shown.of(pd.DataFrame(basis.missing, columns=["qid", "docno"]), "Documents without a label")
    return [Section("What was missing", [said], tables=[table])]
