"""The report of an audit as an HTML page, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.risk.judged import KnownZero
from pt_active.risk.report import KNOWN, AuditReport
from pt_active.sampling.designs import STRATIFIED
from pt_active.showing import plots
from pt_active.showing.page import MEASURED, OPEN, SETTLED, Headline, Page, Section, Shown
from pt_active.showing.rounding import from_to, minus, number, with_interval

_GROUPS = {
    "errors": (
        "How often is a judge wrong?",
        "An error is a grade that differs from people's. Precision is high if what a judge calls relevant is relevant "
        "to people, and recall is high if the judge finds what is relevant to them.",
        ("error", "precision", "recall", "f1"),
    ),
    "agreement": (
        "How well does a judge agree with people?",
        "Cohen's kappa with quadratic weights and Krippendorff's ordinal alpha are 1 if all grades agree, and 0 if "
        "they agree no more often than by chance.",
        ("kappa", "alpha"),
    ),
}
"""Name of a chart → title and words of its section, and its quantities."""


def page(report: AuditReport) -> str:
    """The page as text."""
    return page_of(report).html()


def page_of(report: AuditReport) -> Page:
    """The page of an audit."""
    table = report.table()
    named = table.assign(name=table["quantity"] + " of " + table["judge"])
    quantities = [
        _chart(name, title, _of_quantities(report, named, asked), [words])
        for name, (title, words, asked) in _GROUPS.items()
    ]
    rows = [
        [quantity, judge, with_interval(*ends) if np.isfinite(ends[0]) else "not defined"]
        for quantity, judge, *ends in table.drop(columns="note").itertuples(index=False)
    ]
    errors = _of_quantities(report, table, ("error",))
    axis = "share of pairs whose grade differs from people's"
    verdict = _chart("verdict", "Errors of the judges", errors.assign(name=errors["judge"], note=""), axis=axis)
    head = headline(report)
    return Page(
        title=f"Audit of {', '.join(report.judges)}",
        made="audit",
        head=head,
        data=report.to_dict() | {"headline": head.to_dict(), "manifest": report.manifest},
        verdict=[replace(verdict, title="")],
        sections=[*quantities, *_which(report), *_drift(report), *_by_grade(report)],
        tables=[Shown("", ["quantity", "judge", "estimate"], rows)],
        lines=[f"- {minus(note)}" for note in _notes(named)],
    )


def headline(report: AuditReport) -> Headline:
    """The first screen of an audit."""
    campaign, judges, answer = report.campaign, report.judges, report.answer
    facts = [
        ("judged", campaign.extent),
        ("judged by", campaign.people),
        ("when", campaign.days),
        ("next", _next(report)),
    ]
    if len(judges) == 1:
        one = report.estimates["error"][judges[0]]
        question = f"How often does the grade of {judges[0]} differ from people's?"
        shown, meaning = _percent(one, one.value, "%")
        return Headline(question, MEASURED, answer, "", shown, "of the pairs", "", meaning, facts)
    often = "less" if len(judges) == 2 else "least"
    question = f"Which judge errs {often} often: {', '.join(judges[:-1])} or {judges[-1]}?"
    ranking = report.ranking
    pair = ranking.comparisons[0] if isinstance(ranking, Ranking) else ranking
    assert pair is not None
    shown, meaning = _percent(pair, pair.difference, " points")
    of = f"error of {pair.first} minus error of {pair.second}, in percentage points"
    state = SETTLED if len(report.kept) == 1 else OPEN
    return Headline(question, state, answer, "", shown, of, "", meaning, facts)


def _percent(result: Estimate | Comparison, value: float, unit: str) -> tuple[str, str]:
    """A share of the pairs, or a difference of two, with its interval, and what that means in a sentence."""
    sign = isinstance(result, Comparison)
    value, low, high = (100 * each for each in (value, *result.confidence_interval()))
    shown = with_interval(value, low, high, unit, sign) if np.isfinite(value) else ""
    if not np.isfinite([low, high]).all():
        return shown, "These labels do not show how far off that is."
    if low == high:
        return shown, "That is known of all pairs." if sign else "Everything was judged, so this is exact."
    ends = from_to(low, high, sign=sign).replace(" to ", " and ")
    return shown, f"With {100 * result.confidence_level:g}% confidence, the true number lies between {ends}."


def _next(report: AuditReport) -> str:
    """What to do next, in a sentence."""
    further = report.further
    if report.estimates["error"][report.judges[0]].basis.census:
        return "Nothing: every pair is judged."
    if len(report.judges) == 1:
        more = further.advice if further and further.advice else "Halving the interval takes labels of most pairs."
        return f"Decide whether so many errors are acceptable. {more}{_how_to_go_on(report)}"
    if len(report.kept) == 1:
        return f"Keep {report.kept[0]}; this question needs no more labels."
    if isinstance(report.ranking, KnownZero):
        return "Choose by price: the judges give every pair the same grade, so no label can tell them apart."
    if further is None:
        return (
            "Choose by price, or judge more pairs. Nobody can say how many: it takes labels that show one judge wrong "
            "where another is right."
        )
    return f"{further.advice}{_how_to_go_on(report)}"


def _how_to_go_on(report: AuditReport) -> str:
    """How more pairs are judged without losing the labels, if that is the advice."""
    more, made = report.further, report.manifest["arguments"]
    if more is None or not more.within_reach or made["replace"] or made["design"] == STRATIFIED:
        return ""
    return " Make the audit again with a larger budget and the same seed: it keeps all pairs of this one."


def _of_quantities(report: AuditReport, rows: pd.DataFrame, asked: tuple[str, ...]) -> pd.DataFrame:
    measures = [each.basis.measure for name in asked for each in report.estimates[name].values()]
    return rows[rows["quantity"].isin(measures)]


def _notes(named: pd.DataFrame) -> list[str]:
    """What limits the trust in numbers, each once, with the numbers that it is on."""
    on: dict[str, list[str]] = {}
    for name, note in zip(named["name"], named["note"], strict=True):
        for part in filter(None, str(note).split("; ")):
            on.setdefault(part, []).append(str(name))
    every = [part for part, names in on.items() if len(names) == len(named) > 1]
    rest = [f"{', '.join(names)}: {part}." for part, names in on.items() if part not in every]
    return [*([f"All of these numbers: {'; '.join(every)}."] if every else []), *rest]


def _chart(
    name: str,
    title: str,
    named: pd.DataFrame,
    words: Sequence[str] = (),
    compared: bool = False,
    axis: str = "estimate",
) -> Section:
    """A section with a chart of estimates and their notes; a table alone if none has a value."""
    said = [*words, *_notes(named)]
    shown = [Shown.of(named[["name", "estimate", "low", "high"]], title)]
    drawn = named[named["estimate"].notna()]
    # By rounding, the end of an interval can lie on the wrong side of an estimate at its bound.
    drawn = drawn.assign(low=drawn[["low", "estimate"]].min(axis=1, skipna=False))
    drawn = drawn.assign(high=drawn[["high", "estimate"]].max(axis=1, skipna=False))
    if drawn.empty:
        return Section(title, said, tables=shown)
    chart = plots.estimates(drawn, axis, compared, most=len(drawn))
    rows = [row._replace(text=with_interval(*row[1:4])) for row in chart.rows]
    svg = replace(chart, rows=rows).svg(name, title)
    return Section(title, said, svg, "Points are estimates, bars their intervals.", shown)


def _which(report: AuditReport) -> list[Section]:
    if not isinstance(report.ranking, Ranking):
        return []
    words = [
        "The labels do not tell judges that share a letter apart by their errors, corrected for the number of tests.",
        *([f"{report.ranking.note}."] if report.ranking.note else []),
    ]
    every = Shown.of(report.ranking.pairs().drop(columns="note"), "All pairs of judges")
    tables = [Shown.of(report.ranking.to_frame(), "Judges by their errors, best first"), every]
    return [Section("Which judge errs least often?", words, tables=tables)]


def _drift(report: AuditReport) -> list[Section]:
    if report.drift.empty:
        return []
    first, second = report.judges
    known = report.drift["note"] == KNOWN
    words = [f"All differences are {first} minus {second}."]
    words += [
        f"{what.capitalize()}: {number(value)}, known of all pairs."
        for what, value in report.drift.loc[known, ["what", "estimate"]].itertuples(index=False)
    ]
    named = report.drift[~known].rename(columns={"what": "name"})
    return [_chart("drift", f"How do {first} and {second} differ?", named, words, True)]


def _by_grade(report: AuditReport) -> list[Section]:
    if report.by_grade.empty:
        return []
    words = [
        "Each row has the pairs to which a judge gave one grade, and how people grade them: the share of each grade, "
        "with its interval.",
        "The interval of a share of 0 is that of as many pairs drawn at random, none of which has that grade.",
    ]
    tables = [Shown.of(_wide(rows), f"{judge}") for judge, rows in report.by_grade.groupby("judge", sort=False)]
    return [Section("Agreement by grade", words, tables=tables)]


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each grade of a judge, one column for each grade of people."""
    cells = [_share(*ends) for ends in rows[["share", "low", "high"]].round(3).itertuples(index=False)]
    wide = rows.assign(cell=cells, label="people: " + rows["label"].astype(str))
    wide = wide.pivot(index=["said", "pairs", "labelled"], columns="label", values="cell").reset_index()
    return wide.rename(columns={"said": "judge"}).rename_axis(columns=None)


def _share(value: float, low: float, high: float) -> str:
    ends = f" [{number(low)}, {number(high)}]" if np.isfinite([low, high]).all() else ", no interval"
    return f"{number(value)}{ends}"
