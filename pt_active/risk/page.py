"""How does the report of an audit become one HTML page?"""

from __future__ import annotations

from typing import Any

import pandas as pd

from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.report import plots
from pt_active.plans.answers.report.page import Section, rendered, shown_table
from pt_active.plans.answers.report.svg import inline_svg
from pt_active.plans.answers.report.words import number
from pt_active.risk.report import KNOWN, AuditReport, labels_in_words

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
        title=f"Audit of {', '.join(report.judges)} by {labels_in_words(report)}",
        answer=report.answer,
        sections=sections,
        made="audit",
        manifest=report.manifest,
        data=report.to_dict(),
    )


def _quantities(report: AuditReport, title: str) -> Section:
    """One chart of all judges for related quantities."""
    measures = [each.basis.measure for name in _GROUPS[title] for each in report.estimates[name].values()]
    table = report.table()
    table = table[table["quantity"].isin(measures)]
    named = table.assign(name=table["quantity"] + " of " + table["judge"])
    words = [_WORDS[title], *(f"{row['name']}: {row['note']}." for row in _records(named) if row["note"])]
    return _chart(title, named, words, "agreement" if "kappa" in _GROUPS[title] else "errors")


def _chart(title: str, named: pd.DataFrame, words: list[str], name: str, null: float | None = None) -> Section:
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
    svg = inline_svg(plots.plot_estimates(drawn, "estimate", null), name, title, said)
    return Section(title, words, svg, "Points are estimates, arms their intervals.", shown)


def _which(report: AuditReport) -> list[Section]:
    """Which of many judges to keep."""
    if not isinstance(report.ranking, Ranking):
        return []
    table = report.ranking.to_frame().assign(groups=list(report.ranking.letters.values()))
    pairs = report.ranking.pairs().drop(columns="note")
    words = [
        "Judges that share a letter cannot be told apart by their errors, in view of the number of tests.",
        *([f"{report.ranking.note}."] if report.ranking.note else []),
    ]
    tables = [shown_table(table, "Judges by their errors, best first"), shown_table(pairs, "All pairs of judges")]
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
    words += [f"{row['name']}: {row['note']}." for row in _records(named) if row["note"]]
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
    cells = [
        f"{number(round(row['share'], 3))} [{number(round(row['low'], 3))}, {number(round(row['high'], 3))}]"
        for row in _records(rows)
    ]
    wide = rows.assign(cell=cells, label="people: " + rows["label"].astype(str))
    wide = wide.pivot(index=["said", "pairs", "labelled"], columns="label", values="cell").reset_index()
    return wide.rename(columns={"said": "judge"}).rename_axis(columns=None)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table by column."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
