"""How does a report become one HTML page, with the template `report.html.jinja`?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.strays import Strays
from pt_active.frames.trec import dropped_in_words
from pt_active.frames.visible import json_text, visible
from pt_active.plans.answers.contributions import Contributions
from pt_active.plans.answers.report import plots
from pt_active.plans.answers.report.findings import N_DECIDING_QUERIES, Findings
from pt_active.plans.answers.report.svg import inline_svg
from pt_active.plans.answers.report.words import (
    budget_in_words,
    calibration_in_words,
    contributions_in_words,
    design_in_words,
    estimates_in_words,
    number,
    reassures,
    slices_in_words,
)
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.artifact import Facts
from pt_active.sampling.designs import draws_by_weight

MAX_ROWS = 50
"""Rows of a table that are shown; all are in the page's data."""

MAX_DECIDING_DOCUMENTS = 10
"""Documents in the open table under "What decided"."""

MAX_RANKERS_IN_TITLE = 3
"""Rankers that the title names."""


@dataclass(frozen=True)
class Shown:
    """A table as the page shows it.

    Attributes:
        caption: What the table holds.
        columns: The heads of its columns.
        rows: Cells, each as text and whether it is a number.
        more: The number of rows that are not shown.
    """

    caption: str
    columns: list[str]
    rows: list[list[tuple[str, bool]]]
    more: int


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: Title of the section.
        words: Its paragraphs.
        svg: Its chart; empty if there is none.
        caption: Caption of the chart.
        tables: Tables below the chart; folded if there is a chart.
        facts: Names and values above the chart.
        open: A table below the chart that is never folded.
    """

    title: str
    words: Sequence[str] = ()
    svg: str = ""
    caption: str = ""
    tables: Sequence[Shown] = ()
    facts: Sequence[tuple[str, str]] = ()
    open: Shown | None = None


_FIXED_END = (
    "This section takes the number of labels as fixed beforehand. Its interval and test do not allow for stopping at a "
    "convenient moment; the verdict above does."
)
"""What is said of a result beside the state of the judging."""


def page(report: Findings) -> str:
    """The page of a plan as text."""
    return rendered(
        title=_title(report),
        answer=report.answer,
        status=None if report.status is None else report.status.facts(),
        note=report.note,
        reassures=reassures(report.result),
        sections=_sections(report),
        made="plan",
        manifest=report.manifest,
        data=report.to_dict(),
    )


def rendered(
    title: str,
    answer: str,
    sections: Sequence[Section],
    made: str,
    manifest: Mapping[str, Any],
    data: dict[str, Any],
    note: str = "",
    reassures: bool = False,
    status: Facts | None = None,
) -> str:
    """A page that loads no other file.

    Args:
        title: The title.
        answer: The result in a sentence.
        sections: The parts of the page.
        made: What the manifest is of, in a word.
        manifest: The manifest.
        data: All numbers, which the page holds as JSON.
        note: What a reader must know first; empty if there is nothing.
        reassures: Whether the note is good news.
        status: Names and values below the answer.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pt_active.plans.answers.report", ""),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(
        title=title,
        answer=answer,
        status=status,
        note=note,
        reassures=reassures,
        sections=sections,
        made=made,
        manifest=json_text(manifest, indent=2),
        data=_in_script(data),
    )


def _title(report: Findings) -> str:
    names = report.made.rankers
    rest = len(names) - MAX_RANKERS_IN_TITLE
    more = f" and {rest} more" if rest > 0 else ""
    return f"{report.result.basis.measure} of {', '.join(names[:MAX_RANKERS_IN_TITLE])}{more}"


def _in_script(data: dict[str, Any]) -> str:
    """JSON that is safe inside a ``<script>`` element, whatever text it contains."""
    return json_text(data).replace("<", "\\u003c")


def _visible(value: Any) -> Any:
    """What the template prints, without characters that a page would obey rather than show."""
    return visible(value) if type(value) is str else value


def shown_table(table: pd.DataFrame, caption: str) -> Shown:
    """A frame as a page shows it: numbers with four digits, and the first `MAX_ROWS` rows."""
    head = table.head(MAX_ROWS)
    kinds = [pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    rows = [
        [
            (number(v), True) if kind else ("" if pd.isna(v) else str(v), False)
            for v, kind in zip(row, kinds, strict=True)
        ]
        for row in head.astype(object).itertuples(index=False)
    ]
    return Shown(caption, [str(name).replace("_", " ") for name in table.columns], rows, len(table) - len(head))


def _sections(report: Findings) -> list[Section]:
    made = [_estimate(report), _budget(report), _design(report), _contributions(report), _check(report)]
    made += [_weights(report), _missing(report)]
    return [*made[:1], _slices(report), *made[1:]] if len(report.slices) else made


def _estimate(report: Findings) -> Section:
    result, null = report.result, 0.0 if isinstance(report.result, Comparison) else None
    facts = result.facts() if isinstance(result, (Comparison, Estimate)) else []
    figure = plots.plot_estimates(report.estimates, _quantity(report), null)
    said = estimates_in_words(report.estimates, report.answer)
    tables = [shown_table(report.estimates, "Estimates and intervals")]
    if not facts:
        tables.append(shown_table(_pairs(report), "All pairs, with p-values in view of all of them"))
    caption = "Points are estimates, arms their intervals"
    if isinstance(result, Comparison):
        caption += f"; right of the dotted line {result.first} is better, left of it {result.second}"
    caption += _left_out(len(report.estimates), plots.MAX_ESTIMATES)
    svg = inline_svg(figure, "estimates", "Estimates with intervals", said)
    words = [] if report.status is None or report.status.looks is None else [_FIXED_END]
    return Section("Estimate", words, svg=svg, caption=caption, tables=tables, facts=facts)


def _left_out(rows: int, shown: int) -> str:
    """The end of a caption: how many rows the chart shows, if it does not show all."""
    if rows <= shown:
        return "."
    return f". The chart shows the first {shown} of {rows}; the data at the end of this page hold all."


def _pairs(report: Findings) -> pd.DataFrame:
    return pd.DataFrame(report.to_dict()["result"]["pairs"])


def _quantity(report: Findings) -> str:
    result, measure = report.result, report.result.basis.measure
    if not isinstance(result, Comparison):
        return measure
    return plots.toward(f"difference in {measure}", result.second, result.first)


def _slices(report: Findings) -> Section:
    table = report.slices.assign(name=[_label(row, report) for row in report.slices.to_dict("records")])
    drawn = table[table["estimate"].notna()]
    words = [
        "The intervals are not corrected for the number of groups: of many, some miss. Groups with few labels have "
        "wide intervals."
    ]
    shown = [shown_table(report.slices, "Groups of queries")]
    if drawn.empty:
        return Section("Groups of queries", words, tables=shown)
    null = 0.0 if isinstance(report.result, Comparison) else None
    figure = plots.plot_estimates(drawn, _quantity(report), null)
    said = slices_in_words(drawn, null)
    svg = inline_svg(figure, "slices", "Estimates within groups of queries", said)
    caption = f"Estimates and intervals within each group{_left_out(len(drawn), plots.MAX_ESTIMATES)}"
    return Section("Groups of queries", words, svg, caption, shown)


def _label(row: Mapping[Any, Any], report: Findings) -> str:
    group = f"{row['column']} = {row['value']}"
    return group if len(report.estimates) == 1 else f"{group}: {row['name']}"


def _budget(report: Findings) -> Section:
    if report.budget_note:
        return Section("Budget", [f"There is no budget curve: {report.budget_note}."])
    table = report.budget
    words = [
        f"This plan cost {number(report.spent)}{report.cost_unit}. The curves show what to expect for "
        f"{report.check.measure} from one round without replacement. They use the errors that the labels show instead "
        "of those that the model promised."
    ]
    figure = plots.plot_budget(table, report.spent, report.cost_unit.strip())
    said = budget_in_words(table, report.spent)
    svg = inline_svg(figure, "budget", "Half-width of the interval over the budget", said)
    caption = "Expected half-width of the interval over the budget; both axes are logarithmic."
    return Section("Budget", words, svg, caption, [shown_table(table, "Expected errors over the budget")])


def _design(report: Findings) -> Section:
    title, table = "Sampling distribution", report.design
    shown = [shown_table(table, "Classes of queries")]
    if report.result.basis.census:
        return Section(title, ["Everything was to be judged, so there are no weights."], tables=shown)
    words = ["The sample is not typical of the pool; the weights correct for that."]
    if draws_by_weight(report.made.arguments.design):
        words = ["Queries were drawn as plain random sampling does, by their weights alone."]
    svg = inline_svg(
        plots.plot_design(table),
        "design",
        "How much was to be judged, by cost and expectation",
        design_in_words(table),
    )
    caption = "How much of a query was to be judged on average, in classes of about equally many queries."
    return Section(title, words, svg, caption, shown)


def _contributions(report: Findings) -> Section:
    apart, sides = report.contributions, _sides(report)
    words = [
        f"If all labels were as the grade model expects, {report.contrast} would be {number(apart.base)}. The labels "
        "of each query moved it by the query's contribution; this value and all contributions sum to the estimate.",
        f"Blue bars, to the right, moved it {sides[1]}; orange ones, to the left, moved it {sides[0]}.",
    ]
    label = "moved the estimate by"
    figure = plots.plot_contributions(
        apart.queries, label if report.pair is None else plots.toward(label, report.pair[1], report.pair[0])
    )
    said = contributions_in_words(apart.queries, sides)
    svg = inline_svg(figure, "contributions", f"Largest contributions to {report.contrast}", said)
    tables = [
        shown_table(apart.deciding(N_DECIDING_QUERIES), "The documents whose labels decided, query by query"),
        shown_table(apart.queries, "All contributions"),
    ]
    rest = _left_out(len(apart.queries), plots.MAX_CONTRIBUTIONS)
    caption = f"The queries whose labels moved the estimate most{rest}"
    return Section("What decided", words, svg, caption, tables, open=_decided(apart))


def _sides(report: Findings) -> tuple[str, str]:
    """The directions of negative and of positive contributions, in words."""
    return ("down", "up") if report.pair is None else (f"towards {report.pair[1]}", f"towards {report.pair[0]}")


def _decided(apart: Contributions) -> Shown:
    """The documents with the largest effects, with the texts of their queries."""
    table = apart.documents.head(MAX_DECIDING_DOCUMENTS)[["qid", "docno", "label", "effect"]]
    if "query" in apart.queries.columns:
        text = apart.queries.set_index("qid")["query"]
        table.insert(1, "query", table["qid"].map(text))
    return shown_table(table, "The documents whose labels moved the estimate most")


def _check(report: Findings) -> Section:
    check, line = report.check, report.check.calibration
    figure = plots.plot_calibration(check.bins, line.slope, line.intercept, check.variable)
    said = calibration_in_words(check.bins, line.slope)
    svg = inline_svg(figure, "calibration", f"Calibration of the grade model, {check.variable}", said)
    caption = "Weighted means of the labels, over what the model expected; arms are one standard error."
    tables = [shown_table(check.bins, "Bins of documents")]
    return Section("Can the grade model be trusted?", [f"{check.head}."], svg, caption, tables, check.facts())


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
