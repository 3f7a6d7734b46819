"""The report is one page that loads nothing else, and it says everything that is in its data."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, ERR, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.plans.answers.judged_documents import DocumentPlan
from pt_active.plans.answers.judged_queries import QueryPlan
from pt_active.plans.answers.report.findings import N_DECIDING_QUERIES
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.report.sections import MAX_DECIDING_DOCUMENTS
from pt_active.plans.making.queries import draw
from pt_active.showing import plots
from pt_active.showing.charts import Bars
from pt_active.showing.rounding import number
from pt_active.showing.shown import MAX_ROWS
from pt_active.showing.svg import Row

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "link", "img", "hr", "input"}
RANKERS = {"one": ("candidate",), "two": ("production", "candidate"), "three": ("production", "candidate", "noisy")}


class Page(HTMLParser):
    """The content of a page; fails if tags are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            self.data += text
        elif inside != "style":
            self.words.append(text)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def pool(graded: pd.DataFrame, demo: DemoCollection, rankers: tuple[str, ...]) -> pd.DataFrame:
    frame = graded.assign(qwords=graded["query"].str.split().str.len().clip(upper=5).astype(str))
    if "noisy" in rankers:
        order = np.random.default_rng(0).random(len(frame))
        frame["rank_noisy"] = frame.assign(o=order).groupby("qid")["o"].rank(method="first").astype(int) - 1
    gone = [f"rank_{name}" for name in ("production", "candidate", "noisy") if name not in rankers]
    frame = frame.drop(columns=[c for c in gone if c in frame.columns])
    return frame[(frame[[f"rank_{name}" for name in rankers]] >= 0).any(axis=1)]


@pytest.fixture(scope="module")
def reported(graded, demo) -> Callable[..., Report]:
    """Makes the report of a plan, once for the same arguments."""

    @cache
    def make(rankers="two", level="query", budget=400, **more) -> Report:
        plan = Plan.create(pool(graded, demo, RANKERS[rankers]), None, DCG @ 10, budget=budget, level=level)
        return quiet_report(plan, demo.judge(plan.assessments), **({"slices": ("qwords",)} | more))

    return make


@pytest.fixture(scope="module")
def html_of(reported) -> Callable[..., str]:
    """Makes the page of such a report, once for the same arguments."""
    return cache(lambda *arguments, **more: reported(*arguments, **more).to_html())


def quiet_report(plan: Plan, qrels: pd.DataFrame, **more) -> Report:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Report.of(plan, qrels, **more)


PAGES = [("one", "query"), ("two", "query"), ("two", "document"), ("three", "document")]
"""Each number of rankers and both levels: the sections of a page depend on one or the other."""


@pytest.fixture(scope="module", params=PAGES, ids="-".join)
def page_of(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(scope="module")
def report(page_of: tuple[str, str], reported) -> Report:
    return reported(*page_of)


@pytest.fixture(scope="module")
def text(page_of: tuple[str, str], html_of) -> str:
    return html_of(*page_of)


def test_the_page_is_well_formed_and_asks_for_nothing(text: str) -> None:
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    names = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    assert "://" not in names
    assert "@import" not in text
    for tag, attributes in page.attributes:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            assert attributes.get(name) is None or attributes[name].startswith("#")
    for target in re.findall(r"url\(([^)]*)\)", text):
        assert target.startswith("#")


def test_ids_are_unique_and_references_lead_to_them(text: str) -> None:
    page = Page(text)
    ids = [a["id"] for _, a in page.attributes if "id" in a]
    assert len(ids) == len(set(ids))
    wanted = [a["xlink:href"][1:] for _, a in page.attributes if "xlink:href" in a]
    wanted += [each for _, a in page.attributes for each in (a.get("aria-labelledby") or "").split()]
    wanted += re.findall(r"url\(#([^)]*)\)", text)
    assert set(wanted) <= set(ids)


def test_each_chart_has_words(page_of: tuple[str, str], text: str) -> None:
    page = Page(text)
    charts = [a for tag, a in page.attributes if tag == "svg" and "preserveaspectratio" not in a]
    tags = [tag for tag, _ in page.attributes]
    number = 7 if page_of[0] == "three" else 6  # many rankers have a chart of all pairs
    assert len(charts) == number
    assert all(chart["role"] == "img" for chart in charts)
    assert tags.count("figure") == tags.count("figcaption") == tags.count("desc") == number
    assert all(len(chart["aria-labelledby"].split()) == 2 for chart in charts)


def test_light_dark_and_print(text: str) -> None:
    assert "@media (prefers-color-scheme: dark)" in text
    assert "@media print" in text
    body = text[text.index("<body>") :]
    assert not re.search(r"(fill|stroke): ?#", body)
    assert not re.search(r"(fill|stroke): ?(black|white)", body)
    for text_style in re.findall(r'<text style="([^"]*)"', body):
        assert "fill: var(--ink)" in text_style
    for colour in set(re.findall(r"var\((--\w+)\)", body)):
        assert text.count(f"{colour}: #") == 3


def test_every_number_is_in_the_data_and_to_be_seen(report: Report, text: str) -> None:
    page, data = Page(text), report.to_dict()
    assert json.loads(page.data) == json.loads(json.dumps(data))
    tables = [report.estimates, report.budget, report.design, report.check.bins, report.slices, report.heaviest]
    tables += [report.contributions.queries.head(MAX_ROWS), report.contributions.deciding(N_DECIDING_QUERIES)]
    cells = set(page.text.split())
    for table in tables:
        for value in table.select_dtypes("number").to_numpy().ravel():
            assert number(value) in cells
    for key in ("budget", "design", "slices", "estimates", "deciding_documents"):
        rows = data[key]["rows"] if key == "budget" else data[key]
        assert len(rows) > 0
    assert len(data["contributions"]["queries"]) == len(report.contributions.queries)
    assert page.text.count(data["answer"]) == 2  # at the top, and as the words of the first chart


def test_the_data_are_those_of_the_result(report: Report, graded, demo) -> None:
    data = report.to_dict()
    assert data["result"] == report.result.to_dict()
    parts = sum(row["contribution"] for row in data["contributions"]["queries"])
    estimates = {row["name"]: row["estimate"] for row in data["estimates"]}
    if len(data["manifest"]["rankers"]) < 3:
        (value,) = estimates.values()
        assert data["contributions"]["base"] + parts == pytest.approx(value, abs=1e-9)
    spent = [row for row in data["budget"]["rows"] if row["budget"] == data["budget"]["spent"]]
    assert {row["design"] for row in spent} == {"passive", data["manifest"]["arguments"]["design"]}
    for axis in {row["axis"] for row in data["design"]}:
        rows = [row for row in data["design"] if row["axis"] == axis]
        assert sum(row["queries"] for row in rows) == 120
        assert sum(row["drawn"] for row in rows) == data["manifest"]["counts"]["sampled_queries"]
        total = sum(row["queries"] * row["chance"] for row in rows)
        drawn = "assessments" if report.result.basis.level == "document" else "draws"
        assert total == pytest.approx(data["manifest"]["counts"][drawn], rel=0.05)
    assert sum(row["share"] for row in data["slices"]) == pytest.approx(1 if len(estimates) == 1 else len(estimates))


def draws_of_queries(plan: Plan, seeds: range) -> np.ndarray:
    """int64[seeds, m], the number of draws of each query."""
    how = plan.manifest["arguments"]
    weight = plan.queries["q_weight"].to_numpy()
    drawn = (draw(plan.queries, how["budget"], how["draws"], seed, how["replace"]) for seed in seeds)
    return np.array([sample.columns(weight)["draws"] for sample in drawn])


def draws_of_documents(graded: pd.DataFrame, seeds: range, how: dict) -> np.ndarray:
    """int64[seeds, m], the number of drawn documents of each query."""
    plans = [Plan.create(graded, None, DCG @ 10, seed=seed, **how) for seed in seeds]
    drawn = [plan.queries["qid"].map(plan.assessments["qid"].value_counts()).fillna(0) for plan in plans]
    return np.array(drawn)


@pytest.mark.parametrize(
    "how",
    [
        {"draws": 20, "replace": True},
        {"draws": 20},
        {"budget": 300, "level": "query"},
        {"budget": 300, "level": "document", "design": "spread"},
    ],
    ids=str,
)
def test_the_chance_of_draws_is_what_happens(how, graded, demo) -> None:
    """Mean draws over 30 seeds against the table, for queries with and without replacement, and for documents."""
    plan = Plan.create(graded, None, DCG @ 10, seed=0, **how)
    counts = (
        draws_of_documents(graded, range(30), how)
        if how.get("level") == "document"
        else draws_of_queries(plan, range(30))
    )
    design = quiet_report(plan, demo.judge(plan.assessments)).design
    rows = design[design["axis"] == "cost of a query"]
    costs = plan.queries["q_cost"].to_numpy()
    for row in rows.itertuples():
        each = counts[:, (costs >= row.low) & (costs <= row.high)].mean(axis=1)
        assert abs(each.mean() - row.chance) <= 3.5 * each.std(ddof=1) / np.sqrt(30) + 0.02 * row.chance


@pytest.mark.parametrize(
    ("rankers", "level", "budget", "said"),
    [
        ("one", "query", 400, r"^candidate has DCG@10 \d+\.\d{4} \(95% interval .* to .*\)\.$"),
        ("one", "query", 1e6, r"^candidate has DCG@10 [\d.]+, from judging everything\.$"),
        ("two", "query", 1e6, r"^Everything was judged: candidate is better, by [\d.]+ in DCG@10\.$"),
        (
            "two",
            "document",
            500,
            r"^candidate is better than production, by 0\.\d{4} in DCG@10 \(95% interval 0.* p = ",
        ),
        (
            "three",
            "query",
            1200,
            r"^Of 3 rankers candidate stands first in DCG@10 and is told apart from all others; 3 of 3 pairs",
        ),
    ],
)
def test_answers(rankers, level, budget, said, reported) -> None:
    found = reported(rankers, level, budget=budget)
    assert re.search(said, found.answer), found.answer


def test_who_cannot_be_told_apart_is_named(reported) -> None:
    found = reported("three", budget=200)
    joined = {name for group in found.result.groups if found.result.names[0] in group for name in group}
    rest = [name for name in found.result.names[1:] if name in joined]
    assert rest
    assert f"but cannot be told apart from {', '.join(rest)}; " in found.answer


def test_the_interval_of_the_answer_is_that_of_the_winner(reported) -> None:
    found = reported(level="document", budget=500)
    low, high = found.result.confidence_interval()
    assert found.result.difference < 0
    assert f"interval {-high:.4f} to {-low:.4f}" in found.answer


def test_two_of_many(reported) -> None:
    found = reported("three", first="noisy", second="candidate")
    assert found.contrast == "noisy − candidate"
    assert found.estimates["name"].tolist() == ["noisy − candidate"]
    whole = found.contributions.base + found.contributions.queries["contribution"].sum()
    assert whole == pytest.approx(found.result.difference, abs=1e-10)


def test_censuses_and_later_rankers_have_no_budget_curve(graded, demo, reported) -> None:
    for level in ("query", "document"):
        found = reported(level=level, budget=1e6)
        assert found.budget.empty
        assert "everything was judged" in found.budget_note
        assert found.budget_note in Page(found.to_html()).text
    plan = Plan.create(graded, None, DCG @ 10, budget=400, level="query")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        more = plan.with_rankers(third=demo.runs["candidate"])
        found = Report.of(more, demo.judge(plan.assessments))
    assert "rankers were added later" in found.budget_note
    assert found.design["queries"].sum() == 240


def test_rounds_and_other_measures(graded, demo) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=200, level="document")
    longer = plan.extend(200, demo.judge(plan.assessments))
    every = pd.concat([demo.judge(each.assessments) for each in (plan, longer)])
    found = Report.of(longer, every, measure="DCG@5", slices=[])
    assert found.result.basis.measure == "DCG@5"
    assert found.check.measure == "DCG@10"
    assert found.spent == longer.manifest["spent"]
    assert "in DCG@10" in Page(found.to_html()).text
    whole = found.contributions.base + found.contributions.queries["contribution"].sum()
    assert whole == pytest.approx(longer.compare(every, measure="DCG@5").difference, abs=1e-10)


@pytest.mark.parametrize("level", ["query", "document"])
def test_what_is_missing_is_listed(level, graded, demo, reported) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=400, level=level)
    qrels = demo.judge(plan.assessments)
    with pytest.raises(ValueError, match="have no label"):
        Report.of(plan, qrels.iloc[4:])
    found = quiet_report(plan, qrels.iloc[4:], missing="expected")
    words = Page(found.to_html()).text
    assert "4 labels were missing and taken as expected." in words
    assert len(found.to_dict()["missing"]["pairs"]) == 4
    assert all(docno in words for _, docno in found.missing)
    assert "No label was missing." in Page(reported(level=level).to_html()).text


def test_a_model_that_misleads_is_said_at_the_top(graded, demo) -> None:
    grades = [f"grade_{g}" for g in range(4)]
    order = np.random.default_rng(0).permutation(len(graded))
    spoilt = graded.assign(**{c: graded[c].to_numpy()[order] for c in grades})
    plan = Plan.create(spoilt, None, DCG @ 10, budget=600, level="document")
    found = quiet_report(plan, demo.judge(plan.assessments))
    words = Page(found.to_html()).text
    assert "Before you trust this: the grade model misleads" in words
    assert found.check.advice in words


def test_names_cannot_break_out_of_the_page(graded, demo) -> None:
    evil = "</script><b>&amp;$x_1$"
    frame = graded.assign(query=graded["query"] + evil).rename(columns={"rank_candidate": f"rank_{evil}"})
    plan = Plan.create(frame, None, ERR @ 10, budget=300, level="query")
    text = Report.of(plan, demo.judge(plan.assessments)).to_html()
    page = Page(text)
    assert text.count("</script>") == 1
    assert "<b>" not in text
    assert evil in page.text
    assert json.loads(page.data)["manifest"]["rankers"] == ["production", evil]


def test_saving(reported, tmp_path: Path) -> None:
    found = reported()
    path = found.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == found.to_html()
    with pytest.raises(FileExistsError, match="exists; choose another file for the report"):
        found.save(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        found.save(tmp_path / "nowhere" / "report.html")
    with pytest.raises(ValueError, match=r'write slices=\["qwords"\]'):
        reported(slices="qwords")


def test_numbers_as_they_are_shown() -> None:
    shown = {0.123456: "0.1235", -1e-7: "−1e−07", 12345.6: "12346", 3: "3", np.nan: "–", np.inf: "–", True: "yes"}
    assert {value: number(value) for value in shown} == shown
    assert number(None) == "–"
    assert number(np.int64(12345678)) == "12345678"


# --- what is said of charts and of whole pages ------------------------------------------------------------------------


def described(page: str) -> dict[str, str]:
    """The text alternative of each chart."""
    found = re.findall(r'<desc id="(\w+)-desc">(.*?)</desc>', page, flags=re.DOTALL)
    return {name: html.unescape(words) for name, words in found}


def test_charts_are_told_with_a_message_first(reported, html_of) -> None:
    found = reported(level="document")
    said, apart = described(html_of(level="document")), found.contributions.queries
    assert said["estimates"].startswith(f"{found.answer} production − candidate ")
    outside = ((found.slices["low"] > 0) | (found.slices["high"] < 0)).sum()
    assert said["slices"].startswith(f"0 lies outside {outside} of {len(found.slices)} intervals. qwords = ")
    for row in found.slices.itertuples():
        assert (
            f"qwords = {row.value} {number(row.estimate)} from {number(row.low)} to {number(row.high)}"
            in said["slices"]
        )
    here = found.budget[found.budget["budget"] == found.spent].set_index("level")["half_width"]
    assert (
        f"± {number(here['query'])} with queries, passive and ± {number(here['document'])} with documents"
        in (said["budget"])
    )
    up, down = (apart["contribution"] > 0).sum(), (apart["contribution"] < 0).sum()
    message = f"Of {len(apart)} queries {up} moved the estimate towards production and {down} towards candidate. "
    assert said["contributions"].startswith(message)
    for row in apart.head(10).itertuples():
        assert f"{row.query}: {number(row.contribution)}" in said["contributions"]
    assert said["calibration"].startswith(f"The line through the labels has slope {found.check.calibration.slope:.2f}")
    assert said["design"].startswith("Documents to be judged: over the cost of a query it goes from ")


def test_sides_are_named(reported, html_of) -> None:
    pair, one, page = reported(), reported("one"), html_of()
    words = Page(page).text
    said = "Blue bars, to the right, moved it towards production; orange ones, to the left, moved it towards candidate."
    assert said in words
    assert words.count("← for candidate · for production →") == 3
    assert "right of the dotted line production is better, left of it candidate" in words
    (axes,) = plots.plot_contributions(pair.contributions.queries).axes
    for bar in axes.patches:
        assert (bar.get_facecolor()[2] > 0.5) == (bar.get_width() >= 0)
    words = Page(html_of("one")).text
    assert "Blue bars, to the right, moved it up; orange ones, to the left, moved it down." in words
    assert "→" not in words
    least = one.slices.loc[one.slices["estimate"].idxmin()]
    assert f"The lowest is qwords = {least['value']} with {number(least['estimate'])}, the highest" in words


def test_documents_that_decided_stand_open(report: Report, text: str) -> None:
    folded = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    words = Page(folded).text
    for row in report.contributions.documents.head(MAX_DECIDING_DOCUMENTS).itertuples():
        assert re.search(rf"\b{row.qid} .+? {row.docno} grade {row.label} {re.escape(number(row.effect))}(?!\d)", words)


@pytest.mark.parametrize(
    ("rankers", "level"), [("one", "query"), ("two", "query"), ("two", "document"), ("three", "document")]
)
def test_a_census_reassures(rankers, level, reported) -> None:
    words = Page(reported(rankers, level, budget=1e6).to_html()).text
    what = {"query": "Every query of the pool", "document": "Everything that matters"}[level]
    assert "Before you trust this" not in words
    assert f"{what} was judged, so there is no sampling error." in words
    assert "not typical" not in words
    assert "Everything was to be judged, so there are no weights." in words


def test_a_census_with_labels_missing_does_not_reassure(graded, demo) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=1e6, level="query")
    found = quiet_report(plan, demo.judge(plan.assessments).iloc[4:], missing="nonrelevant")
    assert "Before you trust this: every query of the pool was judged, but for 4 labels" in Page(found.to_html()).text


def test_plain_random_queries_are_typical(graded, demo) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=400, design="passive")
    words = Page(quiet_report(plan, demo.judge(plan.assessments)).to_html()).text
    assert "not typical" not in words
    assert "as plain random sampling does" in words


def test_titles_and_charts_say_what_they_leave_out(graded, demo) -> None:
    frame = pool(graded, demo, RANKERS["three"])
    for name in ("fourth", "fifth"):
        frame[f"rank_{name}"] = frame["rank_noisy"]
    frame["qnumber"] = (frame["qid"].str[1:].astype(int) % 7).astype(str)
    plan = Plan.create(frame, None, DCG @ 10, budget=900, level="query")
    found = quiet_report(plan, demo.judge(plan.assessments), slices=["qnumber"])
    words = Page(found.to_html()).text
    assert len(found.slices) == 35
    assert words.startswith("DCG@10 of production, candidate, noisy, fourth, fifth Which of 5 rankers is best: ")
    assert "within each group. The chart shows the first 30 of 35; the data at the end of this page hold all." in words
    (axes,) = plots.plot_estimates(found.slices).axes
    assert len(axes.get_yticks()) == plots.MAX_ESTIMATES
    queries = len(found.contributions.queries)
    assert queries > plots.MAX_CONTRIBUTIONS
    assert f"moved the estimate most. The chart shows the first {plots.MAX_CONTRIBUTIONS} of {queries};" in words


def test_long_names_stay_distinct() -> None:
    names = [f"qkind = {'very ' * 8}long value {end}" for end in "ab"]
    names += [f"{'x' * 20}{middle}{'y' * 25}" for middle in "cd"]
    table = pd.DataFrame({"name": names, "estimate": 0.0, "low": -1.0, "high": 1.0})
    (axes,) = plots.plot_estimates(table).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(labels)) == 4
    assert labels[0].startswith("qkind = very")
    assert labels[0].endswith("long value a")
    assert max(map(len, labels)) <= 60


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_what_is_folded_is_printed(html_of, tmp_path: Path) -> None:
    text, pages = html_of(), {}
    rule = "  details:not(.text, .beside, .pair)::details-content {"
    assert rule in text
    for name, content in {"whole": text, "folded": text.replace(rule, "  .nothing {")}.items():
        page, printed = tmp_path / f"{name}.html", tmp_path / f"{name}.pdf"
        page.write_text(content, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={printed}"]
        subprocess.run([str(CHROMIUM), *options, page.as_uri()], check=True, timeout=60, capture_output=True)
        pages[name] = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
    assert pages["whole"] > pages["folded"] > 0


# --- figures --------------------------------------------------------------------------------------------------------


def test_figures_hold_the_tables(reported) -> None:
    found = reported(level="document")
    line = found.check.calibration
    (axes,) = plots.plot_budget(found.budget, found.spent).axes
    drawn = {each.get_label(): each.get_xydata() for each in axes.lines}
    for design, label in (("passive", "queries, passive"), ("successive", "documents, successive")):
        rows = found.budget[found.budget["design"] == design]
        np.testing.assert_allclose(drawn[label], rows[["budget", "half_width"]])
    (axes,) = plots.plot_design(found.design).axes
    widths = [bar.get_width() for bar in axes.patches if np.isfinite(bar.get_width())]
    np.testing.assert_allclose(widths, found.design["chance"])
    (axes,) = plots.plot_contributions(found.contributions.queries).axes
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, found.contributions.queries["contribution"].head(20))
    (axes,) = plots.plot_calibration(found.check.bins, line.slope, line.intercept, "gain").axes
    fitted = axes.lines[1].get_xydata()
    np.testing.assert_allclose(fitted[:, 1], line.intercept + line.slope * fitted[:, 0])
    np.testing.assert_allclose(axes.lines[2].get_xydata(), found.check.bins[["expected", "observed"]])
    (axes,) = plots.plot_estimates(found.slices, null=0.0).axes
    np.testing.assert_allclose(axes.lines[0].get_xdata(), found.slices["estimate"])


def test_figures_refuse_tables_that_they_cannot_draw() -> None:
    with pytest.raises(ValueError, match="it lacks half_width"):
        plots.plot_budget(pd.DataFrame({"level": ["query"], "design": ["passive"], "budget": [1.0]}))
    with pytest.raises(ValueError, match="no rows"):
        plots.plot_contributions(pd.DataFrame({"qid": [], "contribution": []}))


def test_figures_of_the_same_data_are_the_same_text(graded, demo) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=300, level="query")
    qrels = demo.judge(plan.assessments)
    one, two = (quiet_report(plan, qrels).to_html() for _ in range(2))
    assert one == two
    rows = [Row("<b>", 1.0), Row("c", -1.0)]
    drawn = Bars(rows).svg("c", "<t>", "<d>")
    assert "<b>" not in drawn
    assert {"&lt;b&gt;", "&lt;t&gt;", "&lt;d&gt;"} <= set(re.findall(r"&lt;.&gt;", drawn))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_are_readable(scheme, html_of, tmp_path: Path) -> None:
    """The background of the page has the colour of the scheme, and there is text on it."""
    from matplotlib.image import imread

    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(html_of(), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--screenshot={picture}", "--window-size=900,4000"]
    options += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    subprocess.run([str(CHROMIUM), *options, page.as_uri()], check=True, timeout=60, capture_output=True)
    light = imread(picture)[..., :3].mean(axis=2)
    ground = np.median(light)
    assert ground > 0.95 if scheme == "light" else ground < 0.2
    assert 0.005 < (np.abs(light - ground) > 0.3).mean() < 0.4


@pytest.mark.parametrize("level", ["query", "document"])
@pytest.mark.parametrize("measure", ["DCG@10", "ERR@5"])
def test_a_report_joins_its_labels_once(
    demo: DemoCollection, graded: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level, measure
) -> None:
    """Labels are checked once; the sample is measured once, and for another measure once more for the pilot."""
    calls: Counter[str] = Counter()

    def counted(where: object, name: str) -> None:
        call = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *given: calls.update([name]) or call(*given))

    plan = Plan.create(graded.assign(qhalf=graded["qid"] < "q06"), None, DCG @ 10, budget=300, level=level, seed=2)
    qrels = demo.judge(plan.assessments)
    for name, module in list(sys.modules.items()):
        if name.startswith("pt_active") and hasattr(module, "checked_qrels"):
            counted(module, "checked_qrels")
    counted(QueryPlan, "_made")
    counted(DocumentPlan, "_made")
    plan.report(tmp_path / "report.html", qrels, measure, slices=["qhalf"])
    assert calls["checked_qrels"] == 1
    assert calls["_made"] == (1 if measure == "DCG@10" else 2)
