"""How does the report of an audit become one HTML page, or Markdown?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.visible import json_text
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import Comparison
from pt_active.risk.judged import KnownZero
from pt_active.risk.report import KNOWN, AuditReport
from pt_active.sampling.designs import STRATIFIED
from pt_active.showing import charts
from pt_active.showing.charts import Row
from pt_active.showing.markdown import escaped, first_screen, table
from pt_active.showing.page import rendered
from pt_active.showing.rounding import from_to, minus, number, with_interval
from pt_active.showing.shown import MEASURED, OPEN, SETTLED, Headline, Section, shown_table

_GROUPS = {
    "How often is a judge wrong?": ("error", "precision", "recall", "f1"),
    "How far does a judge agree with people?": ("kappa", "alpha"),
}
"""Title of a section → its quantities."""

_WORDS = {
    "How often is a judge wrong?": "An error is a grade other than that of people. A judge has a good precision if "
    "what it calls relevant is relevant to people, and a good recall if it finds what is relevant to them.",
    "How far does a judge agree with people?": "Cohen's kappa with quadratic weights and Krippendorff's ordinal alpha "
    "are 1 if all grades agree, and 0 if they agree no more often than by chance.",
}


def page(report: AuditReport) -> str:
    """The page as text."""
    sections = [_quantities(report, title) for title in _GROUPS]
    sections += [*_which(report), *_drift(report), *_by_grade(report)]
    return rendered(
        title=f"Audit of {', '.join(report.judges)}",
        head=headline(report),
        verdict=[_verdict(report)],
        sections=sections,
        made="audit",
        data=content(report),
    )


def written(report: AuditReport, format: str) -> str:
    """The report as text."""
    return {"html": page, "md": markdown, "json": lambda told: json_text(content(told), indent=2) + "\n"}[format](
        report
    )


def content(report: AuditReport) -> dict[str, Any]:
    """Every number of the page, ready for JSON."""
    return report.to_dict() | {"headline": headline(report).to_dict(), "manifest": report.manifest}


def markdown(report: AuditReport) -> str:
    """The first screen and all quantities as Markdown, for a pull request."""
    rows = [
        (str(row["quantity"]), str(row["judge"]), with_interval(row["estimate"], row["low"], row["high"]))
        if np.isfinite(row["estimate"])
        else (str(row["quantity"]), str(row["judge"]), "not defined")
        for row in _records(report.table())
    ]
    lines = [*first_screen(headline(report)), *table(("quantity", "judge", "estimate"), rows)]
    lines += [f"- {escaped(minus(note))}" for note in _notes(report.table().assign(name=_named))]
    return "\n".join(lines) + "\n"


def headline(report: AuditReport) -> Headline:
    """The first screen of an audit."""
    campaign = report.campaign
    facts = [("judged", campaign.extent), ("by", campaign.people), ("when", campaign.days)]
    facts.append(("next", _next(report)))
    judges = report.judges
    if len(judges) == 1:
        one = report.estimates["error"][judges[0]]
        question = f"How often does {judges[0]} give another grade than people?"
        value, low, high = (100 * each for each in (one.value, *one.confidence_interval()))
        meaning = _range_in_words(low, high, one.confidence_level)
        shown = with_interval(value, low, high, " %")
        return Headline(question, MEASURED, report.answer, "", shown, "of the pairs", "", meaning, facts)
    question = f"Which judge errs least often: {', '.join(judges[:-1])} or {judges[-1]}?"
    state = SETTLED if len(report.kept) == 1 else OPEN
    pair = _first_pair(report)
    value, low, high = (100 * each for each in (pair.difference, *pair.confidence_interval()))
    shown = with_interval(value, low, high, " points", sign=True) if np.isfinite(value) else ""
    of = f"error of {pair.first} minus error of {pair.second}, in percentage points"
    meaning = _range_in_words(low, high, pair.confidence_level, sign=True)
    return Headline(question, state, report.answer, "", shown, of, "", meaning, facts)


def _first_pair(report: AuditReport) -> Comparison:
    if isinstance(report.ranking, Ranking):
        return report.ranking.comparisons[0]
    assert isinstance(report.ranking, Comparison)
    return report.ranking


def _range_in_words(low: float, high: float, level: float, sign: bool = False) -> str:
    if not np.isfinite([low, high]).all():
        return "How far off that is cannot be said from these labels."
    if low == high:
        return "That is known of all pairs." if sign else "Everything was judged, so this is exact."
    ends = from_to(low, high, sign=sign).replace(" to ", " and ")
    return f"The true number lies between {ends} with {100 * level:g} % confidence."


def _next(report: AuditReport) -> str:
    """What to do next, in a sentence."""
    basis = report.estimates["error"][report.judges[0]].basis
    if basis.census:
        return "Nothing: every pair is judged."
    if len(report.judges) == 1:
        wide = report.further
        more = wide.advice if wide and wide.advice else "To halve the interval takes labels of most pairs."
        return f"Decide whether so many errors are acceptable. {more}{_how_to_go_on(report)}"
    if len(report.kept) == 1:
        return f"Keep {report.kept[0]}; nothing more is to be judged for this question."
    if isinstance(report.ranking, KnownZero):
        return "Choose by their price: no label can tell judges apart that give every pair the same grade."
    if report.further is None:
        return (
            "Choose by their price, or judge more pairs. How many cannot be said: it takes labels that show a judge "
            "wrong where another is right."
        )
    return f"{report.further.advice}{_how_to_go_on(report)}"


def _how_to_go_on(report: AuditReport) -> str:
    """How more pairs are judged without losing the labels, if that is the advice."""
    more = report.further
    made = report.manifest["arguments"]
    if more is None or not more.within_reach or made["replace"] or made["design"] == STRATIFIED:
        return ""
    return " Make the audit again with a larger budget and the same seed: it holds all pairs of this one."


def _verdict(report: AuditReport) -> Section:
    """The errors of all judges."""
    named = report.table()
    errors = [each.basis.measure for each in report.estimates["error"].values()]
    named = named[named["quantity"].isin(errors)].assign(name=lambda rows: rows["judge"])
    section = _chart(
        "Errors of the judges", named, [], "verdict", axis="share of pairs with another grade than people's"
    )
    return Section("", svg=section.svg, caption=section.caption, tables=section.tables)


def _quantities(report: AuditReport, title: str) -> Section:
    """One chart of all judges for related quantities."""
    measures = [each.basis.measure for name in _GROUPS[title] for each in report.estimates[name].values()]
    rows = report.table()
    named = rows[rows["quantity"].isin(measures)].assign(name=_named)
    return _chart(title, named, [_WORDS[title], *_notes(named)], "agreement" if "kappa" in _GROUPS[title] else "errors")


def _named(rows: pd.DataFrame) -> pd.Series:
    return rows["quantity"] + " of " + rows["judge"]


def _notes(named: pd.DataFrame) -> list[str]:
    """What limits the trust in numbers, each once, with the numbers that it is on."""
    on: dict[str, list[str]] = {}
    for row in _records(named):
        for part in filter(None, str(row["note"]).split("; ")):
            on.setdefault(part, []).append(str(row["name"]))
    every = [part for part, names in on.items() if len(names) == len(named) > 1]
    rest = [f"{', '.join(names)}: {part}." for part, names in on.items() if part not in every]
    return [*([f"All of these numbers: {'; '.join(every)}."] if every else []), *rest]


def _chart(
    title: str, named: pd.DataFrame, words: list[str], name: str, null: float | None = None, axis: str = "estimate"
) -> Section:
    """A section with a chart of estimates; a table alone if none has a value."""
    shown = [shown_table(named[["name", "estimate", "low", "high"]], title)]
    drawn = named[named["estimate"].notna()]
    # By rounding, the end of an interval can lie on the wrong side of an estimate at its bound.
    drawn = drawn.assign(low=drawn[["low", "estimate"]].min(axis=1, skipna=False))
    drawn = drawn.assign(high=drawn[["high", "estimate"]].max(axis=1, skipna=False))
    if drawn.empty:
        return Section(title, words, tables=shown)
    said = "; ".join(
        f"{row['name']} {number(row['estimate'])}, interval {number(row['low'])} to {number(row['high'])}"
        for row in _records(drawn)
    )
    rows = [
        Row(str(row["name"]), row["estimate"], row["low"], row["high"], _in_numbers(row)) for row in _records(drawn)
    ]
    svg = charts.intervals(rows, null, axis).svg(name, title, said)
    return Section(title, words, svg, "Points are estimates, bars their intervals.", shown)


def _in_numbers(row: dict[str, Any]) -> str:
    return with_interval(row["estimate"], row["low"], row["high"])


def _which(report: AuditReport) -> list[Section]:
    """Which of many judges to keep."""
    if not isinstance(report.ranking, Ranking):
        return []
    rows = report.ranking.to_frame().assign(groups=list(report.ranking.letters.values()))
    pairs = report.ranking.pairs().drop(columns="note")
    words = [
        "Judges that share a letter cannot be told apart by their errors, in view of the number of tests.",
        *([f"{report.ranking.note}."] if report.ranking.note else []),
    ]
    tables = [shown_table(rows, "Judges by their errors, best first"), shown_table(pairs, "All pairs of judges")]
    return [Section("Which judge errs least often?", words, tables=tables)]


def _drift(report: AuditReport) -> list[Section]:
    """How two judges, or two versions of one, differ."""
    if report.drift.empty:
        return []
    known = report.drift["note"] == KNOWN
    words = [f"All differences are {report.judges[0]} minus {report.judges[1]}."]
    words += [
        f"{row['what'].capitalize()}: {number(row['estimate'])}, known of all pairs."
        for row in _records(report.drift[known])
    ]
    named = report.drift[~known].rename(columns={"what": "name"})
    words += _notes(named)
    return [_chart(f"How do {report.judges[0]} and {report.judges[1]} differ?", named, words, "drift", 0.0)]


def _by_grade(report: AuditReport) -> list[Section]:
    """What people say of the pairs to which a judge gave each grade."""
    if report.by_grade.empty:
        return []
    words = [
        "Each row has the pairs to which a judge gave a grade, and the shares of them to which people give each grade, "
        "with intervals.",
        "A share of 0 has the interval of as many pairs drawn at random of which none has that grade.",
    ]
    tables = [shown_table(_wide(rows), f"{judge}") for judge, rows in report.by_grade.groupby("judge", sort=False)]
    return [Section("Agreement by grade", words, tables=tables)]


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each grade of a judge, one column for each grade of people."""
    cells = [_share(*(round(row[name], 3) for name in ("share", "low", "high"))) for row in _records(rows)]
    wide = rows.assign(cell=cells, label="people: " + rows["label"].astype(str))
    wide = wide.pivot(index=["said", "pairs", "labelled"], columns="label", values="cell").reset_index()
    return wide.rename(columns={"said": "judge"}).rename_axis(columns=None)


def _share(value: float, low: float, high: float) -> str:
    ends = f" [{number(low)}, {number(high)}]" if np.isfinite([low, high]).all() else ", no interval"
    return f"{number(value)}{ends}"


def _records(rows: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """The rows of a table by column."""
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
