"""A report: its first screen answers a question, its page loads nothing else and says all that is in its data."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from samples import wanted

from pt_active import DCG, ERR, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.frames.columns import grade_columns
from pt_active.plans.answers.report.findings import MAX_DECIDING_DOCUMENTS
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.report.sections import page_of, verdict_of
from pt_active.plans.making.queries import in_drawing_order
from pt_active.showing.page import MAX_ROWS
from pt_active.showing.plots import MAX_CONTRIBUTIONS
from pt_active.showing.rounding import decimals, number, share, with_interval

VOID = {"meta", "br", "link", "img", "hr", "input"}
ONE, TWO = ("candidate",), ("production", "candidate")
THREE, FIVE = (*TWO, "random"), (*TWO, "twin", "worse", "random")
APART = ("production", "random")
"""Two rankers that labels tell apart early."""


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


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def of_rankers(pool: pd.DataFrame, rankers: tuple[str, ...]) -> pd.DataFrame:
    frame = pool.drop(columns=[f"rank_{name}" for name in FIVE if name not in rankers])
    return frame[(frame[[f"rank_{name}" for name in rankers]] >= 0).any(axis=1)]


@pytest.fixture(scope="module")
def reported(five: pd.DataFrame, demo: DemoCollection) -> Callable[..., Report]:
    """Makes the report of some rankers, once for the same arguments."""

    @cache
    def make(rankers=TWO, level="document", budget=400, slices=("qwords",), seed=1, lost=0, **more):
        plan = Plan.create(of_rankers(five, rankers), None, DCG @ 10, budget=budget, level=level, seed=seed)
        return Report.of(plan, demo.judge(plan.assessments).iloc[lost:], slices=slices, **more)

    return make


@pytest.fixture(scope="module")
def of_five(reported) -> Report:
    return reported(FIVE, budget=1200, slices=("qnumber",))


@pytest.fixture(scope="module")
def so_far(five: pd.DataFrame, demo: DemoCollection) -> Callable[..., tuple[Report, Plan, pd.DataFrame]]:
    """Makes a report of the first labels with their status."""

    @cache
    def make(labels: int, budget: float = 900):
        plan = Plan.create(of_rankers(five, APART), None, DCG @ 10, budget=budget, level="document", seed=1)
        qrels = demo.judge(in_drawing_order(plan.tables, "drawn").head(labels))
        return Report.of(plan, qrels, status=plan.status(qrels)), plan, qrels

    return make


PAGES = [(ONE, "query"), (TWO, "document"), (THREE, "document")]
"""Each number of rankers and both levels: the sections of a page depend on one or the other."""


@pytest.fixture(scope="module", params=PAGES, ids=str)
def report(request: pytest.FixtureRequest, reported) -> Report:
    return reported(*request.param)


@pytest.fixture(scope="module")
def text(report: Report) -> str:
    return report.to_html()


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_asks_for_nothing(text: str) -> None:
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert re.findall(r'href="(\w+://[^"]*)"', text) == re.findall(r"\w+://[^\s\"<]*", text)
    assert re.findall(r"://", text) == ["://"]  # the link to the glossary, which is not loaded
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert not {tag for tag, _ in page.attributes} & {"link", "img", "iframe", "object", "embed"}
    assert not [tag for tag, a in page.attributes if "src" in a or ("href" in a and tag != "a")]
    ids = [a["id"] for _, a in page.attributes if "id" in a]
    assert len(ids) == len(set(ids))
    assert {each for _, a in page.attributes for each in (a.get("aria-labelledby") or "").split()} <= set(ids)


def test_each_chart_has_words_and_the_colours_of_the_page(report: Report, text: str) -> None:
    page = Page(text)
    charts = [a for tag, a in page.attributes if tag == "svg"]
    tags, count = Counter(tag for tag, _ in page.attributes), 6 if len(report.made.rankers) > 2 else 5
    assert len(charts) == tags["figure"] == tags["figcaption"] == tags["desc"] == count
    assert all(chart["role"] == "img" and len(chart["aria-labelledby"].split()) == 2 for chart in charts)
    body = text[text.index("<body>") :]
    assert not re.search(r"(fill|stroke): ?(#|black|white)", body)
    for colour in set(re.findall(r"var\((--\w+)\)", body)):
        assert text.count(f"{colour}: #") == 3  # light, dark and in print


def test_every_number_is_in_the_data_and_to_be_seen(report: Report, text: str) -> None:
    page, data = Page(text), report.to_dict()
    assert data["result"] == report.result.to_dict()
    assert json.loads(page.data) == json.loads(json.dumps(data)) == json.loads(report.to_json())
    tables = [report.estimates, report.budget, report.check.bins, report.slices]
    tables.append(report.contributions.queries.head(MAX_ROWS))
    cells = set(page.text.split())
    for table in tables:
        assert {number(value) for value in table.select_dtypes("number").to_numpy().ravel()} <= cells
        assert len(table)
    assert len(data["contributions"]["queries"]) == len(report.contributions.queries)
    assert page.text.count(data["headline"]["answer"]) == 1
    folded = Page(re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)).text
    for row in report.contributions.documents.head(MAX_DECIDING_DOCUMENTS).itertuples():
        assert re.search(
            rf"\b{row.qid} .+? {row.docno} grade {row.label} {re.escape(number(row.effect))}(?!\d)", folded
        )


def test_names_cannot_break_out_of_the_page(five, demo) -> None:
    evil = "</script><b>&amp;$x_1$a|b](http://x)`*@team"
    frame = five[["qid", "docno", "query", "rank_production", "rank_random", *(f"grade_{g}" for g in range(4))]]
    frame = frame.assign(query=frame["query"] + evil).rename(columns={"rank_random": f"rank_{evil}"})
    plan = Plan.create(frame, None, ERR @ 10, budget=300, level="query", seed=1)
    found = Report.of(plan, demo.judge(plan.assessments))
    text, page = found.to_html(), Page(found.to_html())
    assert text.count("</script>") == 1
    assert "<b>" not in text
    assert evil in page.text
    assert json.loads(page.data)["manifest"]["rankers"] == ["production", evil]


def test_it_can_be_saved_in_all_forms(of_five: Report, reported, tmp_path: Path) -> None:
    data = json.loads(of_five.save(tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(of_five.to_dict()))
    assert [each["low"] for each in data["differences"]] == [each.low for each in of_five.differences]
    assert of_five.save(tmp_path / "odd.txt").read_text(encoding="utf-8") == of_five.to_html()
    with pytest.raises(FileExistsError, match="exists; choose another file for the report"):
        of_five.save(tmp_path / "report.json")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        of_five.save(tmp_path / "nowhere/report.html")
    with pytest.raises(ValueError, match=r'write slices=\["qwords"\]'):
        reported(slices="qwords")


# --- what it says -----------------------------------------------------------------------------------------------------


def test_a_winner_settles_the_question(reported) -> None:
    found = reported(budget=900)
    head, (pair,) = found.headline, found.differences
    assert (head.state, head.answer) == ("settled", "candidate is better than production on these 120 queries.")
    assert (pair.first, pair.second, pair.winner) == ("production", "candidate", "candidate")
    assert (pair.value, pair.low, pair.high) == (found.result.difference, *found.result.confidence_interval())
    assert (head.of, head.number) == (pair.what, with_interval(pair.value, pair.low, pair.high, sign=True))
    assert re.search(f"^about −.*% of candidate's {pair.relative.base:.1f}$", head.relative)
    assert pair.relative.change == pair.value / pair.relative.base
    assert dict(head.facts)["next"] == "Nothing: the question is settled."


def test_an_open_question_says_how_many_labels_are_missing(reported) -> None:
    found = reported(budget=60, seed=0)
    head, (pair,) = found.headline, found.differences
    assert head.state == "not settled"
    assert head.answer == "These labels do not show whether production or candidate is better on these 120 queries."
    assert pair.low < 0 < pair.high
    assert re.search(r"with 95% confidence, it is between [\d.]+ worse and [\d.]+ better\.$", head.meaning)
    assert found.ahead.looks == "always"
    assert found.ahead.advice[1:] in dict(head.facts)["next"][1:]


def test_many_rankers_are_all_named_and_their_intervals_hold_at_once(of_five: Report) -> None:
    found, head, ranking = of_five, of_five.headline, of_five.result
    assert all(name in head.question for name in FIVE)
    assert len(found.differences) == 10
    for pair, compared, winner in zip(found.differences, ranking.comparisons, ranking.winners, strict=True):
        assert (pair.low, pair.high, pair.winner) == (*compared.confidence_interval(1 - 0.05 / 10), winner)
        alone = compared.confidence_interval()
        if set(pair.names) == {"candidate", "twin"}:
            assert (pair.low, pair.high, pair.relative.change) == (0, 0, 0)
        else:
            assert pair.low < alone.low < alone.high < pair.high
    best, page = ranking.names[0], found.to_html()
    (twin,) = {"candidate", "twin"} - {best}
    assert head.answer == f"{best} and {twin} are exactly equal, and the best of 5 rankers on these 120 queries."
    assert head.state == "settled"
    third = next(name for name in ranking.names if name not in {"candidate", "twin"})
    assert head.of == f"{best} − {third}"  # not the difference of two that cannot differ
    assert "exact" not in head.meaning
    for name, letters in ranking.letters.items():
        assert re.search(rf"<td data-name=\"ranker\">{name}</td>.*<td data-name=\"groups\">{letters}</td>", page)
    words, queries = Page(page).text, len(found.contributions.queries)
    assert "The chart shows the first 30 of 35; the data at the end of this page hold all." in words
    assert f"The chart shows the first {MAX_CONTRIBUTIONS} of {queries};" in words


@pytest.mark.parametrize(("rankers", "level"), PAGES[:2])
def test_a_census_is_exact_and_reassures(rankers, level, reported) -> None:
    found = reported(rankers, level, 1e6)
    words, head = Page(found.to_html()).text, found.headline
    what = {"query": "Every query of the pool", "document": "Everything that matters"}[level]
    assert re.search(r"Everything that counts for .* was judged, so it is exact\.$", head.meaning)
    assert "±" not in head.number + head.relative
    assert dict(head.facts)["next"] == "Nothing: everything that can change the answer is judged."
    assert "Before you trust this" not in words
    assert f"{what} was judged, so there is no sampling error." in words
    assert "not typical" not in words
    assert found.budget.empty
    assert f"There is no budget curve: {found.budget_note}." in words
    assert "everything was judged" in found.budget_note
    lost = Page(reported(rankers, level, 1e6, lost=4, missing="nonrelevant").to_html()).text
    said = "Before you trust this: every query of the pool was judged, except for 4 labels"
    assert (said in lost) == (level == "query")


def test_what_is_missing_is_listed(reported) -> None:
    with pytest.raises(ValueError, match="have no label"):
        reported(lost=4)
    found = reported(lost=4, missing="nonrelevant")
    words = Page(found.to_html()).text
    assert "4 labels were missing and taken as nonrelevant." in words
    assert len(found.to_dict()["missing"]["pairs"]) == 4
    assert all(docno in words for _, docno in found.missing)


def mixed(grades: np.ndarray, share: float, grade: int) -> np.ndarray:
    """A model of which a share always expects one grade."""
    return (1 - share) * grades + share * np.eye(grades.shape[1])[grade]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda grades: grades, "Yes, as far as these labels can tell: it is right on average."),
        (
            lambda grades: mixed(grades, 0.1, 0),
            "Partly: documents differ as much as it predicts, but what it expects is too low by a quarter.",
        ),
        (lambda grades: grades[:, ::-1], "No: it predicts the opposite of"),
        (lambda grades: mixed(grades, 0.4, 0), "than it predicts. What it expects is too low by half."),
    ],
    ids=["good", "low", "turned", "too low"],
)
def test_a_report_says_whether_the_model_can_be_trusted(five, demo, change, said: str) -> None:
    frame = of_rankers(five, TWO)
    columns = grade_columns(frame.columns)
    frame = frame.assign(**dict(zip(columns, change(frame[columns].to_numpy()).T, strict=True)))
    plan = Plan.create(frame, None, DCG @ 10, budget=600, level="document", seed=1)
    assert said in Page(Report.of(plan, demo.judge(plan.assessments)).to_html()).text


@pytest.mark.parametrize(
    ("rankers", "budget", "queries"),
    [(ONE, 400, "new"), (TWO, 400, "these"), (TWO, 1e6, "these"), (APART, 1e6, "these"), (TWO, 1e6, "new")],
)
def test_the_first_screen_answers_for_both_kinds_of_queries(rankers, budget, queries, reported) -> None:
    found = reported(rankers, budget=budget, queries=queries)
    head, facts = found.headline, dict(found.headline.facts)
    new = found.result if queries == "new" else found.result.beside
    assert facts["holds for"] == {"these": "these 120 queries", "new": "queries like these 120"}[queries]
    own, said = head.meaning, facts.get("new queries", "")
    if queries == "new":
        own, said = facts["these alone"], head.meaning
        assert "queries like these 120" in head.answer or rankers == ONE
        assert "was judged, so there is no sampling error" not in found.note
    assert "exact" not in said
    words = Page(found.to_html()).text
    assert facts["these alone" if queries == "new" else "new queries"] in words
    low, high = new.confidence_interval()
    assert low < high
    assert "95% confidence" in said
    assert all(f"{abs(end):.{decimals(low, high)}f}" in said for end in (low, high))
    assert ("was judged, so it is exact." in own) == (budget == 1e6)
    assert all(f">{kind} queries<" in verdict_of(found).svg for kind in ("these", "new"))
    assert (head.question == "How good is candidate?") == (rankers == ONE)
    if budget == 1e6 and queries == "these":
        assert said.startswith(f"{new.winner} is better." if new.winner else "Not settled. ")
        assert ("for these queries" in facts["next"]) == (new.winner is None)


def test_labels_cannot_lower_the_spread_of_queries(reported) -> None:
    found = reported(budget=500, queries="new")
    errors = found.result.standard_error, found.result.beside.standard_error
    assert found.result.floor == pytest.approx(np.sqrt(errors[0] ** 2 - errors[1] ** 2))
    low, high = found.result.confidence_interval()
    floor = (high - low) / 2 * found.result.floor / errors[0]
    assert f"stays above {number(floor)}" in Page(found.to_html()).text


def test_it_says_who_judged_how_much_and_when(five, demo, reported) -> None:
    plan = Plan.create(of_rankers(five, TWO), None, DCG @ 10, budget=500, level="document", seed=1)
    qrels, second = demo.judge(plan.assessments), np.arange(500) % 3 == 0
    days = pd.Series(np.where(second, "2026-03-02", "2026-03-01"), index=qrels.index) + "T09:00:00Z"
    records = qrels.assign(annotator=np.where(second, "bo", "ana"), status="judged", time=days)
    found = Report.of(plan, qrels, records=records)
    facts, ranks = dict(found.headline.facts), five[["rank_production", "rank_candidate"]]
    counting = int(((ranks >= 0) & (ranks < 10)).any(axis=1).sum())
    assert 500 < counting < found.made.counts.documents
    pairs = f"500 of the {counting:,} query–document pairs that count for DCG@10 ({share(500, counting)})"
    assert facts["judged"] == f"{pairs}, in {found.result.basis.n_queries} of 120 queries"
    assert facts["judged by"] == "2 judges: ana, bo"
    assert facts["when"].startswith("2026-03-01 to 2026-03-02; report written on 20")
    unknown = dict(reported().headline.facts)
    assert unknown["judged by"] == "not recorded in the labels"
    assert "not recorded" in unknown["when"]


# --- while judging goes on --------------------------------------------------------------------------------------------


def test_an_early_stop_has_one_interval_for_each_kind_of_queries(so_far) -> None:
    found, plan, qrels = so_far(900)
    status, (pair,), shown = found.status, found.differences, found.estimates.iloc[0]
    assert status.winner == "production"
    assert (pair.low, pair.high, pair.value) == (status.low, status.high, status.value)
    assert (shown.low, shown.high, shown.estimate) == (status.low, status.high, status.value)
    assert found.headline.relative.startswith("about +")
    facts, chart = dict(found.headline.facts), verdict_of(found).svg
    assert facts["next"] == "Stop judging."
    assert found.headline.number in chart
    assert "fill: var(--ground)" not in chart
    new = plan.status(qrels, queries="new")
    low, high = status.beside.low, status.beside.high
    assert (low, high) == (new.low, new.high)
    assert all(f"{abs(end):.{decimals(low, high)}f}" in facts["new queries"] for end in (low, high))
    other = Report.of(plan, qrels, status=new, queries="new").headline
    assert "production is better" in dict(other.facts)["these alone"]
    assert other.answer.endswith("for queries like these 120.")
    with pytest.raises(ValueError, match="the status is of new queries, the report of these queries"):
        Report.of(plan, qrels, status=new)


def test_an_open_question_has_no_second_verdict(so_far) -> None:
    found, plan, qrels = so_far(40, 300)
    assert not found.status.resolved
    (full,) = [each for each in page_of(found).sections if each.title == "The result in full"]
    assert "fill: var(--ground)" in verdict_of(found).svg  # a hollow mark: not told apart
    assert {"winner", "p-value"} <= {name for name, _ in found.result.facts()}
    assert not {"winner", "p-value", "difference"} & {name for name, _ in full.facts}
    assert dict(found.headline.facts)["next"] == f"K{found.status.advice[1:]}."
    assert "the plan was cut" in plan.so_far(qrels).compare(qrels).note
    assert not [said for said in (found.note, found.to_html()) if "the plan was cut" in said]


# --- differences of rankers that hardly differ -----------------------------------------------------------------------


def unlike(grades: Iterator[np.ndarray], rng: np.random.Generator, skills: dict[str, float], chances, **how):
    """A plan of rankers that know the grades more or less, which the model does not, and its labels."""
    rows = []
    for query, grade in enumerate(grades):
        names = {"qid": f"q{query}", "docno": [f"d{d}" for d in range(len(grade))], "label": grade}
        noisy = {name: grade * skill + rng.normal(0, 1, len(grade)) for name, skill in skills.items()}
        ranks = {f"rank_{name}": np.argsort(np.argsort(-score)) for name, score in noisy.items()}
        rows.append(pd.DataFrame(names | ranks))
    frame = pd.concat(rows, ignore_index=True)
    pool = frame.drop(columns="label").assign(**{f"grade_{g}": chance for g, chance in enumerate(chances)})
    plan = Plan.create(pool, None, "DCG@5", **how)
    return plan, wanted(plan, frame)


@pytest.mark.parametrize(("rankers", "seeds"), [("abc", (17, 20, 23)), ("abcd", (6, 8, 9))])
def test_the_first_screen_never_contradicts_its_interval(rankers: str, seeds: tuple[int, ...]) -> None:
    """An interval excludes 0 just where there is a winner, also where only a later step of Holm's test finds one."""
    skills, later = dict(zip(rankers, (0.2, 0.4, 0.7, 0.6), strict=False)), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        grades = (rng.integers(0, 3, 10) for _ in range(40))
        report = Report.of(*unlike(grades, rng, skills, [1 / 3] * 3, level="query", draws=18, seed=seed))
        head, ranking = report.headline, report.result
        best, m = ranking.names[0], len(report.differences)
        ordered = sorted(each.pvalue for each in ranking.comparisons)
        for pair, compared in zip(report.differences, ranking.comparisons, strict=True):
            assert (pair.names, pair.value) == ((compared.first, compared.second), compared.difference)
            told = pair.first if pair.low > 0 else pair.second if pair.high < 0 else None
            assert pair.winner == told
            if pair.alone:
                step = m - ordered.index(compared.pvalue)
                assert pair.confidence == pytest.approx(1 - 0.05 / step)
                assert min(compared.confidence_interval(1 - 0.05 / m), key=abs) * compared.difference < 0
                assert f"except for {pair.what}" in report.to_html().replace("&#39;", "'")
        later += sum(pair.alone for pair in report.differences)
        first = next(pair for pair in report.differences if {best, ranking.names[1]} == set(pair.names))
        if head.state == "settled":
            assert head.answer == f"{best} is the best of {len(rankers)} rankers on these 40 queries."
            assert f"{best} is better by" in head.meaning
            assert ("for the pair alone" in head.meaning) == first.alone
        else:
            assert "these labels do not show which" in head.answer
            assert any(best in pair.names and pair.winner != best for pair in report.differences)
        assert ("worse and" in head.meaning) == (first.winner is None)
    assert later


def test_a_share_of_what_may_be_nothing_is_not_shown() -> None:
    """The difference is sure, since documents were drawn for it, but the value of the worse ranker may be 0."""
    rng = np.random.default_rng(7)
    rare = ((rng.random(8) < rng.beta(0.5, 2)) * rng.integers(1, 3, 8) for _ in range(100))
    plan, qrels = unlike(rare, rng, {"a": 0.3, "b": 1}, [0.6, 0.2, 0.2], level="document", budget=150, seed=23)
    base = plan.estimate(qrels)["a"]
    assert base.confidence_interval().low < 0 < base.value
    for report in (Report.of(plan, qrels), Report.of(plan, qrels, status=plan.status(qrels))):
        assert {each.relative for each in report.differences} == {None}
        assert report.headline.relative == ""
        assert report.headline.number
        assert "% of" not in report.to_html()


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Callable[[str], Any]:
    """Shows a page in the browser."""

    def show(text: str) -> Any:
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        browser.get((tmp_path / "page.html").as_uri())
        return browser

    return show


@pytest.mark.slow
def test_what_is_folded_is_printed(reported, shown) -> None:
    text, pages = reported().to_html(), []
    rule = "  details:not(.text)::details-content {"
    assert rule in text
    for content in (text.replace(rule, "  .nothing {"), text):
        printed = shown(content).execute_cdp_cmd("Page.printToPDF", {})["data"]
        pages.append(len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed))))
    assert 0 < pages[0] < pages[1]


PROBE = """
const cut = [...document.querySelectorAll("p, dd, figcaption, .wide, summary, .seen")]
  .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.tagName + each.textContent.slice(0, 40));
const boxes = [...document.querySelectorAll("svg[role=img] text")].map(each => [each, each.getBoundingClientRect()]);
const over = boxes.filter(([each, box], n) => boxes.some(([other, its], m) => n < m &&
  each.closest("svg") === other.closest("svg") && box.left < its.right - 1 && its.left < box.right - 1 &&
  box.top < its.bottom - 4 && its.top < box.bottom - 4)).map(([each]) => each.textContent);
const out = boxes.filter(([, box]) => box.right > document.documentElement.clientWidth || box.left < 0);
return {cut, over, out: out.length, seen: [boxes.length > 0, window.innerWidth],
  width: document.documentElement.scrollWidth - document.documentElement.clientWidth}
"""
"""Which parts are cut off, and which words of a chart lie upon each other."""


def test_nothing_is_cut_off_on_a_phone(of_five: Report, shown) -> None:
    browser = shown(of_five.to_html().replace("<details", "<details open"))
    phone = {"width": 390, "height": 3000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    seen = browser.execute_script(PROBE)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen == {"cut": [], "over": [], "out": 0, "seen": [True, 390], "width": 0}


def test_axe_finds_no_barrier(reported, shown, accessible) -> None:
    accessible(shown(reported().to_html().replace("<details", "<details open")))
