"""A report: its first screen answers a question, its page loads nothing else and says all that is in its data."""

import base64
import html
import json
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered
from samples import wanted

from pt_active import DCG, Plan, Report
from pt_active.plans.answers.ranking import Ranking
from pt_active.showing.rounding import decimals, number, share, with_interval

VOID = {"meta", "br", "link", "img", "hr", "input"}
GRADES = [f"grade_{grade}" for grade in range(4)]
ONE, TWO = ("candidate",), ("production", "candidate")
THREE, FIVE = (*TWO, "random"), (*TWO, "twin", "worse", "random")
APART = ("production", "random")
"""Two rankers that labels tell apart early."""

PAGES = [(ONE, "query"), (TWO, "document"), (THREE, "document")]
"""Each number of rankers and both levels: the sections of a page depend on one or the other."""

HOLLOW = "fill: var(--ground)"
"""A mark of what is not told apart."""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def words_of(text: str) -> str:
    """What is to be read on a page."""
    shown = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def data_of(text: str) -> Any:
    (data,) = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
    return json.loads(data)


def verdict_of(text: str) -> str:
    """The chart of the first screen."""
    return text[text.index("<svg") : text.index("</svg>")]


def of_rankers(pool: pd.DataFrame, rankers: tuple[str, ...]) -> pd.DataFrame:
    frame = pool.drop(columns=[f"rank_{name}" for name in FIVE if name not in rankers])
    return frame[(frame[[f"rank_{name}" for name in rankers]] >= 0).any(axis=1)]


@pytest.fixture(scope="module")
def planned(five, demo):
    """Makes a plan of some rankers and its labels, once for the same arguments."""

    @cache
    def make(rankers, level, budget, seed):
        plan = Plan.create(of_rankers(five, rankers), None, DCG @ 10, budget=budget, level=level, seed=seed)
        return plan, demo.judge(plan.assessments)

    return make


@pytest.fixture(scope="module")
def reported(planned):
    """Makes the report of such a plan, once for the same arguments."""

    @cache
    def make(rankers=TWO, level="document", budget=400, slices=("qwords",), seed=1, lost=0, **more):
        plan, qrels = planned(rankers, level, budget, seed)
        return Report.of(plan, qrels.iloc[lost:], slices=slices, **more)

    return make


@pytest.fixture(scope="module")
def of_five(reported):
    return reported(FIVE, budget=1200, slices=("qnumber",))


@pytest.fixture(scope="module", params=PAGES, ids=str)
def report(request, reported):
    return reported(*request.param)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_is_well_formed_loads_nothing_and_its_charts_have_words(report):
    text, inside = report.to_html(), []
    assert text.startswith("<!DOCTYPE html>")
    markup = re.sub(r"(<(script|style)[^>]*>).*?(?=</\2>)", r"\1", text, flags=re.DOTALL)
    for end, tag, single in re.findall(r"<(/?)([a-z][\w-]*)[^>]*?(/?)>", markup, re.IGNORECASE):
        if end:
            assert inside.pop() == tag
        elif not single and tag not in VOID:
            inside.append(tag)
    assert not inside
    # Of all that has an address, there is the link to the glossary, which is not loaded.
    (address,) = re.findall(r"\w+://[^\s\"<]*", text)
    assert f'<a href="{address}"' in text
    assert not re.search(r"@import|url\((?!#)|\ssrc=|<(link|img|iframe|object|embed)\b", text)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    charts = re.findall(r"<svg[^>]*>", text)
    named = [re.findall(r'role="img" aria-labelledby="(\S+) (\S+)"', chart) for chart in charts]
    assert {name for ((title, described),) in named for name in (title, described)} <= set(ids)
    count = 6 if len(report.made.rankers) > 2 else 5
    assert [len(charts), text.count("<figure"), text.count("<desc")] == [count] * 3
    assert text.count("<figcaption") == count
    body = text[text.index("<body>") :]
    assert not re.search(r"(fill|stroke): ?(#|black|white)", body)
    for colour in set(re.findall(r"var\((--\w+)\)", body)):
        assert text.count(f"{colour}: #") == 3  # light, dark and in print


def test_every_number_is_in_the_data_and_to_be_seen(report):
    text, data = report.to_html(), report.to_dict()
    assert data["result"] == report.result.to_dict()
    assert data_of(text) == json.loads(json.dumps(data)) == json.loads(report.to_json())
    shown, many = words_of(text), isinstance(report.result, Ranking)
    cells = set(shown.split())
    queries, documents = report.contributions.queries, report.contributions.documents
    rounded = [] if many else [report.estimates]  # rounded in the table of all rankers
    for table in (*rounded, report.budget, report.check.bins, report.slices, queries.head(30)):
        assert {number(value) for value in table.select_dtypes("number").to_numpy().ravel()} <= cells
        assert len(table)
    for row in report.estimates.itertuples() if many else ():
        assert with_interval(row.estimate, row.low, row.high) in shown
    assert len(data["contributions"]["queries"]) == len(queries)
    assert shown.count(data["headline"]["answer"]) == 1
    folded = words_of(re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL))
    for row in documents.head(10).itertuples():
        effect = re.escape(number(row.effect))
        assert re.search(rf"\b{row.qid} .+? {row.docno} grade {row.label} {effect}(?!\d)", folded)


def test_it_can_be_saved_in_all_forms(of_five, reported, tmp_path):
    data = json.loads(of_five.save(tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(of_five.to_dict()))
    assert of_five.save(tmp_path / "odd.txt").read_text(encoding="utf-8") == of_five.to_html()
    with pytest.raises(FileExistsError, match="exists; choose another file for the report"):
        of_five.save(tmp_path / "report.json")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        of_five.save(tmp_path / "nowhere/report.html")
    with pytest.raises(ValueError, match=r'write slices=\["qwords"\]'):
        reported(slices="qwords")


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "seed", "state", "answer"),
    [
        (900, 1, "settled", "candidate is better than production on these 120 queries."),
        (60, 0, "not settled", "These labels do not show whether production or candidate is better on"),
    ],
)
def test_a_question_is_settled_or_says_how_many_labels_are_missing(budget, seed, state, answer, reported):
    found = reported(budget=budget, seed=seed)
    head, (pair,), next_step = found.headline, found.differences, dict(found.headline.facts)["next"]
    assert head.state == state
    assert head.answer.startswith(answer)
    assert (pair.low, pair.high) == found.result.confidence_interval()
    assert (pair.high < 0) == (pair.winner == "candidate") == (state == "settled")
    if state == "settled":
        assert re.search(f"^about −.*% of candidate's {pair.relative.base:.1f}$", head.relative)
        assert next_step == "Nothing: the question is settled."
    else:
        between = r"^With 95% confidence, the true value of \w+ − \w+ lies between −[\d.]+ and \+[\d.]+\.$"
        assert re.search(between, head.meaning)
        assert found.ahead.advice[1:] in next_step


def test_many_rankers_are_all_named_and_their_intervals_hold_at_once(of_five):
    found, head, ranking = of_five, of_five.headline, of_five.result
    assert all(name in head.question for name in FIVE)
    assert len(found.differences) == 10
    assert 0.95 < ranking.pair_confidence < 1 - 0.05 / 10  # sharper than Bonferroni's
    for pair, compared, winner in zip(found.differences, ranking.comparisons, ranking.winners, strict=True):
        assert (pair.low, pair.high, pair.winner) == (*compared.confidence_interval(ranking.pair_confidence), winner)
        alone = compared.confidence_interval()
        if set(pair.names) == {"candidate", "twin"}:
            assert (pair.low, pair.high, pair.relative.change) == (0, 0, 0)
        else:
            assert pair.low < alone.low < alone.high < pair.high
    best, page = ranking.names[0], found.to_html()
    (twin,) = {"candidate", "twin"} - {best}
    equal = f"{best} and {twin} are exactly equal, and the best of 5 rankers by DCG@10 for these 120 queries"
    assert head.answer == f"{equal}; wrong in at most 5% of campaigns, in large samples."
    assert (head.state, head.of) == ("settled", best)
    assert head.meaning.startswith(f"{sum(w is not None for w in ranking.winners)} of 10 pairs of rankers can be told")
    for row in ranking.to_frame().itertuples():
        ranks = f"{row.rank_low}–{row.rank_high}" if row.rank_low < row.rank_high else f"{row.rank_low}"
        cells = {"ranker": row.name, "rank": ranks, "best": "maybe" if row.best else "", "group": row.groups}
        cell = ".*".join(f'<td data-name="{name}">{text}</td>' for name, text in cells.items())
        assert re.search(cell, page)
    assert page.index("<table") < page.index("<svg")


@pytest.mark.parametrize(
    ("rankers", "level", "what"),
    [
        (ONE, "query", "Every query of the pool was judged"),
        (TWO, "document", "Everything that matters was judged"),
    ],
)
def test_a_census_is_exact_and_reassures(rankers, level, what, reported):
    found = reported(rankers, level, 1e6)
    words, head = words_of(found.to_html()), found.headline
    assert re.search(r"Everything that counts for .* was judged, so it is exact\.$", head.meaning)
    assert "±" not in head.number + head.relative
    assert not re.search("Before you trust this|not typical", words)
    assert f"{what}, so there is no sampling error." in words
    assert f"There is no budget curve: {found.budget_note}." in words
    with pytest.raises(ValueError, match="have no label"):
        reported(rankers, level, 1e6, lost=4)
    some = reported(rankers, level, 1e6, lost=4, missing="nonrelevant")
    words = words_of(some.to_html())
    assert "4 labels were missing and taken as nonrelevant." in words
    assert all(docno in words for _, docno in some.result.basis.missing)
    said = "Before you trust this: every query of the pool was judged, except for 4 labels"
    assert (said in words) == (level == "query")


@pytest.mark.parametrize(
    ("zeros", "turned", "said"),
    [
        (0.0, False, "Yes, as far as these labels can tell: it is right on average."),
        (0.1, False, "documents differ as much as it predicts. What it expects is too low by a"),
        (0.0, True, "No: it predicts the opposite of"),
        (0.4, False, "than it predicts. What it expects is too low by half."),
    ],
)
def test_a_report_says_whether_the_model_can_be_trusted(five, demo, zeros, turned, said):
    """A model that expects a grade of 0 too often, or the opposite."""
    frame = of_rankers(five, TWO)
    grades = (1 - zeros) * frame[GRADES].to_numpy() + zeros * np.eye(4)[0]
    frame[GRADES] = grades[:, ::-1] if turned else grades
    plan = Plan.create(frame, None, DCG @ 10, budget=600, level="document", seed=1)
    assert said in words_of(Report.of(plan, demo.judge(plan.assessments)).to_html())


@pytest.mark.parametrize(
    ("rankers", "budget", "queries"),
    [(ONE, 400, "new"), (TWO, 1e6, "these"), (APART, 1e6, "these"), (TWO, 1e6, "new")],
)
def test_the_first_screen_answers_for_both_kinds_of_queries(rankers, budget, queries, reported):
    found = reported(rankers, budget=budget, queries=queries)
    head, facts, text = found.headline, dict(found.headline.facts), found.to_html()
    if queries == "new":
        new, own, said = found.result, facts["these alone"], head.meaning
        assert facts["holds for"] == "queries like these 120"
        assert "was judged, so there is no sampling error" not in found.note
        assert own in words_of(text)
    else:
        new, own, said = found.result.beside, head.meaning, facts["new queries"]
        assert facts["holds for"] == "these 120 queries"
        assert said.startswith(f"{new.winner} is better." if new.winner else "Not settled. ")
        assert said in words_of(text)
    assert "exact" not in said
    assert "95% confidence" in said
    low, high = new.confidence_interval()
    assert low < high
    assert all(f"{abs(end):.{decimals(low, high)}f}" in said for end in (low, high))
    assert ("was judged, so it is exact." in own) == (budget == 1e6)
    assert all(f">{kind} queries<" in verdict_of(text) for kind in ("these", "new"))
    assert (head.question == "How good is candidate?") == (rankers == ONE)


def test_it_says_who_judged_how_much_and_when(five, planned, reported):
    (plan, qrels), second = planned(TWO, "document", 500, 1), np.arange(500) % 3 == 0
    days = np.where(second, "2026-03-02T09:00:00Z", "2026-03-01T09:00:00Z")
    records = qrels.assign(annotator=np.where(second, "bo", "ana"), status="judged", time=days)
    facts = dict(Report.of(plan, qrels, records=records).headline.facts)
    counting = int(five[["rank_production", "rank_candidate"]].isin(range(10)).any(axis=1).sum())
    pairs = f"500 of the {counting:,} query–document pairs that count for DCG@10"
    assert facts["judged"].startswith(f"{pairs} ({share(500, counting)}), in ")
    assert facts["judged by"] == "2 judges: ana, bo"
    assert facts["when"].startswith("2026-03-01 to 2026-03-02; report written on 20")
    assert dict(reported().headline.facts)["judged by"] == "not recorded in the labels"


# --- while judging goes on --------------------------------------------------------------------------------------------


def test_an_early_stop_has_one_interval_for_each_kind_of_queries(planned):
    plan, qrels = planned(APART, "document", 900, 1)
    status, new = plan.status(qrels), plan.status(qrels, queries="new")
    found = Report.of(plan, qrels, status=status)
    (pair,), shown = found.differences, found.estimates.iloc[0]
    own = (status.low, status.high, status.value)
    assert status.winner == "production"
    assert (pair.low, pair.high, pair.value) == (shown.low, shown.high, shown.estimate) == own
    assert found.headline.relative.startswith("about +")
    facts, chart = dict(found.headline.facts), verdict_of(found.to_html())
    assert facts["next"] == "Stop judging."
    assert found.headline.number in chart
    assert HOLLOW not in chart
    low, high = status.beside.low, status.beside.high
    assert (low, high) == (new.low, new.high)
    said = facts["new queries"]
    assert all(f"{abs(end):.{decimals(low, high)}f}" in said for end in (low, high))
    other = Report.of(plan, qrels, status=new, queries="new").headline
    assert "production is better" in dict(other.facts)["these alone"]
    assert other.answer.endswith("for queries like these 120.")
    with pytest.raises(ValueError, match="the status is of new queries, the report of these queries"):
        Report.of(plan, qrels, status=new)


def test_an_open_question_has_no_second_verdict(planned):
    plan, qrels = planned(APART, "document", 300, 1)
    qrels = ordered(plan, qrels).head(40)
    status = plan.status(qrels)
    found = Report.of(plan, qrels, status=status)
    text = found.to_html()
    assert not status.resolved
    assert HOLLOW in verdict_of(text)
    assert {"winner", "p-value"} <= {name for name, _ in found.result.facts()}
    assert not re.search("<dt>(winner|p-value|difference)</dt>", text)
    assert dict(found.headline.facts)["next"] == f"K{status.advice[1:]}."
    assert "the plan was cut" in plan.so_far(qrels).compare(qrels).note
    assert "the plan was cut" not in found.note + text


# --- differences of rankers that hardly differ -----------------------------------------------------------------------


def unlike(grades: list[np.ndarray], rng: np.random.Generator, skills: dict, chances: list, **how):
    """A plan of rankers that know the grades more or less, which the model does not, and its labels."""
    rows = []
    for query, grade in enumerate(grades):
        names = {"qid": f"q{query}", "docno": [f"d{d}" for d in range(len(grade))], "label": grade}
        noisy = {name: grade * skill + rng.normal(0, 1, len(grade)) for name, skill in skills.items()}
        ranks = {f"rank_{name}": np.argsort(np.argsort(-score)) for name, score in noisy.items()}
        rows.append(pd.DataFrame(names | ranks))
    frame = pd.concat(rows, ignore_index=True)
    frame[[f"grade_{g}" for g in range(3)]] = chances
    plan = Plan.create(frame.drop(columns="label"), None, "DCG@5", **how)
    return plan, wanted(plan, frame)


@pytest.mark.parametrize(("rankers", "seeds"), [("abc", (17, 20, 23)), ("abcd", (6, 8, 9))])
def test_the_first_screen_never_contradicts_its_interval(rankers, seeds):
    """An interval excludes 0 just where there is a winner, also where only a later step of the test finds one."""
    skills, later = dict(zip(rankers, (0.2, 0.4, 0.7, 0.6), strict=False)), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        grades = (rng.integers(0, 3, 10) for _ in range(40))
        how = {"level": "query", "draws": 18, "seed": seed}
        report = Report.of(*unlike(grades, rng, skills, [1 / 3] * 3, **how))
        head, ranking = report.headline, report.result
        best = ranking.names[0]
        for pair, compared in zip(report.differences, ranking.comparisons, strict=True):
            assert (pair.names, pair.value) == ((compared.first, compared.second), compared.difference)
            assert (pair.winner == pair.first) == (pair.low > 0)
            assert (pair.winner == pair.second) == (pair.high < 0)
            if pair.alone:
                assert compared.pvalue < 1 - pair.confidence < 0.05
                assert min(compared.confidence_interval(ranking.pair_confidence), key=abs) * compared.difference < 0
                assert f"except for {pair.what}" in words_of(report.to_html())
        later += sum(pair.alone for pair in report.differences)
        may_be, best_one = sum(ranking.best), ranking.estimates[0]
        assert (head.state == "settled") == (may_be == 1)
        several = f"{may_be} of {len(rankers)} rankers may be the best by DCG@5"
        assert head.answer.startswith(f"{best} is the best of" if may_be == 1 else several)
        assert head.number == with_interval(best_one.value, *best_one.confidence_interval())
        worse = {pair.second for pair in report.differences if pair.winner == pair.first}
        assert not worse & set(ranking.board.best_names)
    assert later


def test_a_share_of_what_may_be_nothing_is_not_shown():
    """The difference is sure, since documents were drawn for it, but the value of the worse ranker may be 0."""
    rng = np.random.default_rng(7)
    rare = ((rng.random(8) < rng.beta(0.5, 2)) * rng.integers(1, 3, 8) for _ in range(100))
    how = {"level": "document", "budget": 150, "seed": 23}
    plan, qrels = unlike(rare, rng, {"a": 0.3, "b": 1}, [0.6, 0.2, 0.2], **how)
    base = plan.estimate(qrels)["a"]
    assert base.confidence_interval().low < 0 < base.value
    for report in (Report.of(plan, qrels), Report.of(plan, qrels, status=plan.status(qrels))):
        assert {each.relative for each in report.differences} == {None}
        assert report.headline.relative == ""
        assert "% of" not in report.to_html()


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(browser, tmp_path):
    """Shows a page in the browser."""

    def show(text: str) -> Any:
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        browser.get((tmp_path / "page.html").as_uri())
        return browser

    return show


@pytest.mark.slow
def test_what_is_folded_is_printed(reported, shown):
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


def test_nothing_is_cut_off_on_a_phone_and_axe_finds_no_barrier(of_five, shown, accessible):
    browser = shown(of_five.to_html().replace("<details", "<details open"))
    phone = {"width": 390, "height": 3000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    seen = browser.execute_script(PROBE)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen == {"cut": [], "over": [], "out": 0, "seen": [True, 390], "width": 0}
    accessible(browser)
