"""The first screen of a report: a question, its answer, the number that is known, and what to do next."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, Plan
from pt_active.demo.collection import DemoCollection
from pt_active.frames.columns import grade_columns
from pt_active.plans.answers.report.further import further
from pt_active.plans.answers.report.headline import in_percent
from pt_active.plans.answers.report.report import Report
from pt_active.plans.answers.report.sections import page_of, verdict_of
from pt_active.plans.making.queries import in_drawing_order
from pt_active.showing.charts import Intervals
from pt_active.showing.page import FORMATS
from pt_active.showing.rounding import decimals, fixed, from_to, minus, roughly, share, with_interval
from pt_active.showing.svg import Row, Scale


@pytest.fixture(scope="module")
def pool(graded: pd.DataFrame) -> pd.DataFrame:
    """Five rankers: production, candidate, its twin, and two that are worse."""
    frame, rng = graded.copy(), np.random.default_rng(0)
    frame["rank_twin"] = frame["rank_candidate"]
    for name, noise in (("worse", 8.0), ("random", 1e6)):
        score = frame["rank_candidate"].where(frame["rank_candidate"] >= 0, 20) + noise * rng.random(len(frame))
        frame[f"rank_{name}"] = frame.assign(o=score).groupby("qid")["o"].rank(method="first").astype(int) - 1
    return frame


@pytest.fixture(scope="module")
def reported(pool: pd.DataFrame, demo: DemoCollection) -> Callable[..., Report]:
    """Makes the report of some rankers, once for the same arguments."""

    @cache
    def make(
        rankers=("production", "candidate"), budget=500, measure="DCG@10", level="document", seed=1, **more
    ) -> Report:
        gone = [f"rank_{n}" for n in ("production", "candidate", "twin", "worse", "random") if n not in rankers]
        frame = pool.drop(columns=gone)
        frame = frame[(frame[[f"rank_{name}" for name in rankers]] >= 0).any(axis=1)]
        frame = frame.merge(demo.documents, on="docno") if more.pop("texts", False) else frame
        plan = Plan.create(frame, None, measure, budget=budget, level=level, seed=seed)
        qrels = demo.judge(plan.assessments)
        records = more.pop("records", None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return Report.of(plan, qrels, records=None if records is None else as_records(qrels), **more)

    return make


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FIVE = ("production", "candidate", "twin", "worse", "random")


def as_records(qrels: pd.DataFrame) -> pd.DataFrame:
    """Records of two judges on two days."""
    second = np.arange(len(qrels)) % 3 == 0
    who, day = np.where(second, "bo", "ana"), np.where(second, "2026-03-02", "2026-03-01")
    time = [f"{each}T09:00:00Z" for each in day]
    return qrels[["qid", "docno", "label"]].assign(annotator=who, status="judged", time=time)


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_numbers_have_the_digits_that_their_interval_supports() -> None:
    assert with_interval(4.23, 1.13, 7.33, " %", sign=True) == "+4.2 % ± 3.1"
    assert with_interval(0.27597, -0.14319, 0.71242) == "0.28 (−0.14 to +0.71)"
    assert with_interval(-0.001234, -0.0023, -0.0002) == "−0.0012 (−0.0023 to −0.0002)"
    assert with_interval(12.3, 2.3, 22.3) == "12 ± 10"
    assert with_interval(0.5, np.nan, np.nan) == "about 0.5"
    assert with_interval(2.0, 2.0, 2.0) == "2.0000"
    assert from_to(-0.0004, 0.31) == "0.00 to +0.31"
    assert [decimals(0, 2 * half) for half in (0.0031, 0.031, 0.31, 3.1, 31, 310)] == [4, 3, 2, 1, 0, 0]
    assert fixed(-0.0, 2) == fixed(-0.001, 2) == "0.00"
    assert [roughly(n) for n in (1, 7.2, 34.5, 181, 1234, 98765)] == ["1", "8", "35", "190", "1,300", "99,000"]
    assert [share(*each) for each in ((0, 5), (5, 5), (1, 15), (999, 1000), (1, 3))] == [
        *("0 %", "100 %", "6.7 %", "99.9 %", "33 %")
    ]


def test_there_is_one_minus_sign_and_ids_keep_their_hyphens() -> None:
    assert minus("[-0.7, -1] in doc-7, -x, GX-1-2 and 2026-03-01") == "[−0.7, −1] in doc-7, -x, GX-1-2 and 2026-03-01"


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_winner_settles_the_question(reported) -> None:
    found, head = reported(budget=900), reported(budget=900).headline
    (pair,) = found.differences
    assert head.question == "Which is better, production or candidate?"
    assert (head.state, head.answer) == ("settled", "candidate is better than production.")
    assert (pair.first, pair.second, pair.winner) == ("production", "candidate", "candidate")
    low, high = found.result.confidence_interval()
    assert (pair.value, pair.low, pair.high) == (found.result.difference, low, high)
    assert head.of == "production − candidate"
    assert head.number == with_interval(pair.value, pair.low, pair.high, sign=True)
    assert head.relative.endswith(f" of candidate's {pair.relative.base:.1f}")
    assert pair.relative.low < pair.value / pair.relative.base < pair.relative.high
    assert dict(head.facts)["next"] == "Nothing: the question is settled."


def test_an_open_question_says_how_many_labels_are_missing(reported) -> None:
    found = reported(budget=60, seed=0)
    head, (pair,) = found.headline, found.differences
    assert head.state == "not settled"
    assert head.answer == "These labels do not show which of production and candidate is better."
    assert pair.low < 0 < pair.high
    assert "with 95 % confidence the truth lies between" in head.meaning
    assert found.further.within_reach
    assert f"Judge about {roughly(found.further.labels)} more documents." in dict(head.facts)["next"]


def test_what_is_missing_is_where_the_error_has_fallen_far_enough(reported) -> None:
    found, (pair,) = reported(budget=60, seed=0), reported(budget=60, seed=0).differences
    curve, spent = found.curve, found.spent
    quantile = (pair.high - pair.low) / 2 / pair.standard_error
    wanted = abs(pair.value) / (quantile + 0.8416)
    then = pair.standard_error * curve.standard_error(spent + found.further.labels) / curve.standard_error(spent)
    assert then == pytest.approx(wanted, rel=0.01)
    hopeless = further(curve, spent, [replace(pair, value=1e-6)], np.nan)
    assert not hopeless.within_reach
    assert "decide on other grounds" in hopeless.advice
    half = (pair.high - pair.low) / 2
    doubled = half * curve.standard_error(2 * spent) / curve.standard_error(spent)
    assert hopeless.advice.endswith(f" As many labels again would narrow their interval to about ±{doubled:.2g}.")
    assert further(curve, spent, [replace(pair, winner="candidate")], np.nan) is None
    halved = further(curve, spent, (), 1.0)
    assert curve.standard_error(spent + halved.labels) == pytest.approx(curve.standard_error(spent) / 2, rel=0.01)


def test_one_ranker_is_measured(reported) -> None:
    found = reported(("candidate",))
    head = found.headline
    assert (head.question, head.state) == ("How good is candidate?", "measured")
    assert head.number == with_interval(found.result.value, *found.result.confidence_interval())
    assert head.number in head.answer
    assert (found.differences, found.beside, head.relative) == ((), (), "")


def test_many_rankers_are_all_named_and_their_intervals_hold_at_once(reported) -> None:
    found = reported(FIVE, 1200)
    head, ranking = found.headline, found.result
    assert all(name in head.question for name in FIVE)
    assert len(found.differences) == 10
    for pair, compared, winner in zip(found.differences, ranking.comparisons, ranking.winners, strict=True):
        low, high = compared.confidence_interval(1 - 0.05 / 10)
        assert (pair.low, pair.high, pair.winner) == (low, high, winner)
        alone = compared.confidence_interval()
        if set(pair.names) == {"candidate", "twin"}:
            assert (pair.low, pair.high, pair.relative.low) == (0, 0, 0)
            continue
        assert pair.low < alone.low
        assert pair.high > alone.high
    best = ranking.names[0]
    twins = [name for name in ("candidate", "twin") if name != best]
    assert best in ("candidate", "twin")
    assert head.answer == f"{best} and {twins[0]} are exactly equal, and the best of 5 rankers."
    assert head.state == "settled"
    assert set(found.decided) == {f"{each.first} − {each.second}" for each in ranking.comparisons}
    page = found.to_html()
    for pair in found.decided:
        assert f"<summary>What decided {pair}</summary>" in page
    for name, letters in ranking.letters.items():
        assert re.search(rf"<td data-name=\"ranker\">{name}</td>.*<td data-name=\"groups\">{letters}</td>", page)


def test_a_share_without_an_interval_has_no_decimals(reported) -> None:
    report = reported(budget=900)
    (pair,) = report.differences
    share = replace(pair.relative, low=np.nan, high=np.nan)
    assert in_percent(replace(share, change=1.0749)) == f"about +107 % of candidate's {share.base:.1f}"
    assert in_percent(replace(share, change=0.004)) == f"less than 1 % of candidate's {share.base:.1f}"
    assert in_percent(None) == ""


def test_a_census_is_exact(reported) -> None:
    head = reported(budget=1e6, level="query").headline
    assert (head.state, head.meaning) == ("settled", "Everything was judged, so this is exact.")
    assert "±" not in head.number + head.relative
    assert dict(head.facts)["next"] == "Nothing: all that can change the answer is judged."


def test_an_early_stop_has_one_interval(pool, demo) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "candidate")])
    plan = Plan.create(frame, None, DCG @ 10, budget=900, level="document", seed=1)
    qrels = demo.judge(plan.assessments)
    status = plan.status(qrels)
    assert status.winner == "production"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Report.of(plan, qrels, status=status)
    (pair,), shown = found.differences, found.estimates.iloc[0]
    assert (pair.low, pair.high, pair.value) == (status.low, status.high, status.value)
    assert (shown.low, shown.high, shown.estimate) == (status.low, status.high, status.value)
    assert not pair.relative.has_interval
    assert found.headline.relative.startswith("about +")
    assert dict(found.headline.facts)["next"] == "Nothing: judging can stop here."
    chart = re.search(r"<svg [^>]*aria-labelledby=\"estimates-title.*?</svg>", found.to_html(), re.DOTALL).group()
    assert found.headline.number in chart
    assert "fill: var(--ground)" not in chart
    header = found.to_html().partition("<main>")[0]
    assert "the plan was cut" not in header


def test_an_open_question_has_no_second_verdict(pool, demo, tmp_path) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "candidate")])
    plan = Plan.create(frame, None, DCG @ 10, budget=300, level="document", seed=1)
    listed = pd.read_csv(plan.export(tmp_path / "list.csv", "csv", order="drawn"), dtype=str)
    qrels = demo.judge(listed.head(40))
    status = plan.status(qrels)
    assert not status.resolved
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Report.of(plan, qrels, status=status)
    (full,) = [each for each in page_of(found).sections if each.title == "The result in full"]
    chart = verdict_of(found).svg
    assert "fill: var(--ground)" in chart  # a hollow mark: not told apart
    assert {"winner", "p-value"} <= {name for name, _ in found.result.facts()}
    assert not {"winner", "p-value", "difference"} & {name for name, _ in full.facts}
    said = dict(found.headline.facts)["next"]
    assert re.fullmatch(r"Judge on: about [\d,]+ more labels may do; those of the plan that are left .*\d+%\.", said)


def test_classes_of_queries_show_no_rounding_noise(pool, demo) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "random")])
    columns = grade_columns(frame.columns)
    frame = frame.assign(**dict.fromkeys(columns, 1 / len(columns)))  # all documents are alike to the model
    plan = Plan.create(frame, None, DCG @ 10, budget=300, level="document", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Report.of(plan, demo.judge(plan.assessments))
    ends = found.design.loc[found.design["axis"] == "expected difference", ["low", "high"]].abs().to_numpy()
    assert ((ends == 0) | (ends > 1e-9)).all()


def test_words_of_documents_are_not_explained(pool, demo) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "random")])
    texts = frame[["docno"]].drop_duplicates().assign(text="the AP wrote of recall and of evidence in groups")
    plan = Plan.create(frame, None, DCG @ 10, budget=300, level="document", seed=1)
    page = Report.of(plan, demo.judge(plan.assessments), texts=texts).to_html()
    assert "the AP wrote" in page
    assert "Discounted cumulative gain" in page
    assert "Average precision" not in page


def test_an_interval_without_0_does_not_seem_to_touch_it() -> None:
    assert with_interval(3.1, 0.02, 6.2, sign=True) == "+3.10 (+0.02 to +6.20)"
    assert with_interval(-3.1, -6.2, -0.004) == "−3.100 (−6.200 to −0.004)"
    assert with_interval(3.2, -0.02, 6.2, sign=True) == "+3.2 (0.0 to +6.2)"


def test_what_is_judged_so_far_has_no_note_on_another_interval(pool, demo) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "candidate")])
    plan = Plan.create(frame, None, DCG @ 10, budget=900, level="document", seed=1)
    qrels = demo.judge(in_drawing_order(plan.tables, "drawn").head(200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Report.of(plan, qrels, status=plan.status(qrels))
    assert "the plan was cut" in plan.so_far(qrels).compare(qrels).note
    assert "the plan was cut" not in found.note
    assert "the plan was cut" not in found.to_html()
    assert "the plan was cut" not in found.to_markdown()


# --- who, when, and of what -------------------------------------------------------------------------------------------


def test_it_says_who_judged_how_much_and_when(reported, pool) -> None:
    found = reported(records=True)
    facts, counts = dict(found.headline.facts), found.made.counts
    basis = found.result.basis
    ranks = pool[["rank_production", "rank_candidate"]]
    counting = int(((ranks >= 0) & (ranks < 10)).any(axis=1).sum())
    assert 500 < counting < counts.documents
    assert facts["judged"] == (
        f"500 of the {counting:,} query–document pairs that count for DCG@10 ({share(500, counting)}), in "
        f"{basis.n_queries} of 120 queries"
    )
    assert facts["holds for"] == "these 120 queries, not for others"
    assert facts["by"] == "2 judges: ana, bo"
    assert facts["when"].startswith("2026-03-01 to 2026-03-02; report of 20")
    unknown = dict(reported().headline.facts)
    assert unknown["by"] == "not recorded in the labels"
    assert "day not recorded" in unknown["when"]


def test_rankings_stand_side_by_side_with_grades_and_texts(reported, demo) -> None:
    found = reported(texts=True)
    assert found.beside
    label = {(row.qid, row.docno): row.label for row in demo.judge(found.contributions.documents).itertuples()}
    text = demo.documents.set_index("docno")["text"]
    sizes = [abs(each.values[0] - each.values[1]) for each in found.beside]
    assert sizes == sorted(sizes, reverse=True)
    for each in found.beside:
        run = demo.runs["production"].query("qid == @each.qid").sort_values("score", ascending=False)["docno"].tolist()
        assert [left.docno for left, _ in each.ranks] == run[:10]
        seen = [document for pair in each.ranks for document in pair if document.label is not None]
        assert {(each.qid, document.docno) for document in seen} <= set(label)
        assert all(document.label == label[each.qid, document.docno] for document in seen)
        assert all(document.text == text[document.docno] for document in seen)
        assert each.judged == len({document.docno for document in seen})
    shown = next(document for pair in found.beside[0].ranks for document in pair if document.text)
    assert html.escape(shown.text[:60]) in found.to_html()


# --- forms ------------------------------------------------------------------------------------------------------------


def test_it_can_be_markdown_or_json(reported, tmp_path) -> None:
    found = reported(FIVE, 1200)
    text = found.save(tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith(f"### {found.headline.question}\n\n**{found.headline.answer}**\n")
    assert text.count("\n| ") == 2 * 2 + 5 + 10
    data = json.loads(found.save(tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(found.to_dict()))
    assert data["headline"]["answer"] == found.headline.answer
    assert [each["low"] for each in data["differences"]] == [each.low for each in found.differences]
    assert found.save(tmp_path / "odd.txt").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert found.save(tmp_path / "odd", "md").read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match=f"one of {', '.join(FORMATS)}"):
        found.save(tmp_path / "no", "pdf")
    assert not (tmp_path / "no").exists()


def test_markdown_is_safe_from_names(pool, demo) -> None:
    evil = "a|b](http://x)<img src=x>`*@team"
    frame = pool[["qid", "docno", "query", "rank_production", "rank_random", *(f"grade_{g}" for g in range(4))]]
    plan = Plan.create(frame.rename(columns={"rank_random": f"rank_{evil}"}), None, DCG @ 10, budget=200, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        text = Report.of(plan, demo.judge(plan.assessments)).to_markdown()
    assert r"a\|b\](http://x)\<img src=x\>\`\*\@team" in text
    for sign in ("](", "<img", "a|b", "`*"):
        assert sign not in text.replace("\\" + sign[0], "")


PROBE = """<script>
const cut = [...document.querySelectorAll("p, dd, figcaption, .wide, summary, .seen")]
  .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.tagName + each.textContent.slice(0, 40));
const boxes = [...document.querySelectorAll("svg[role=img] > text")].map(each => [each, each.getBoundingClientRect()]);
const over = boxes.filter(([each, box], n) => boxes.some(([other, its], m) => n < m &&
  each.parentNode === other.parentNode && box.left < its.right - 1 && its.left < box.right - 1 &&
  box.top < its.bottom - 4 && its.top < box.bottom - 4)).map(([each]) => each.textContent);
const out = boxes.filter(([, box]) => box.right > document.documentElement.clientWidth || box.left < 0);
document.body.insertAdjacentHTML("beforeend", "<samp>" + JSON.stringify({cut, over, out: out.length,
  width: document.documentElement.scrollWidth - document.documentElement.clientWidth}) + "</samp>");
</script>
</body>"""
"""A script that writes down which parts are cut off, and which words of a chart lie upon each other."""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("rankers", [("production", "candidate"), FIVE], ids=["pair", "five"])
def test_nothing_is_cut_off_on_a_phone(rankers, reported, tmp_path: Path) -> None:
    text = reported(rankers, 1200 if rankers == FIVE else 500, texts=rankers != FIVE).to_html()
    (tmp_path / "page.html").write_text(text.replace("<details", "<details open").replace("</body>", PROBE), "utf-8")
    framed = '<iframe src="page.html" width="390" height="3000"></iframe>'
    (tmp_path / "frame.html").write_text(framed, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    inner = f"""{framed}<script>
const frame = document.querySelector("iframe");
frame.onload = () => document.body.append(frame.contentDocument.querySelector("samp").cloneNode(true));
</script>"""
    (tmp_path / "frame.html").write_text(inner, encoding="utf-8")
    command = [str(CHROMIUM), *options, (tmp_path / "frame.html").as_uri()]
    dom = subprocess.run(command, check=True, timeout=120, capture_output=True).stdout.decode("utf-8")
    seen = json.loads(html.unescape(re.findall(r"<samp>(.*)</samp>", dom)[-1]))
    assert seen == {"cut": [], "over": [], "out": 0, "width": 0}


# --- charts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(-0.71, 0.14), (0, 1), (0.643, 0.665), (-12345, 3), (1e-6, 3e-6), (50, 51)])
def test_ticks_are_round_few_and_apart(low: float, high: float) -> None:
    scale = Scale.over([low, high])
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 6
    assert len({label for _, label in ticks}) == len(ticks)
    for value, label in ticks:
        assert scale.low <= value <= scale.high
        assert float(label.replace("−", "-")) == pytest.approx(value, abs=1e-9 * (high - low) + 1e-12)
    assert sum(len(label) for _, label in ticks) <= 36


def test_places_in_a_chart_are_those_of_the_numbers() -> None:
    drawn = Intervals([Row("a", 1.0, 0.0, 2.0), Row("b", 4.0, strong=False)], "", True).svg("x", "t", "d")
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', drawn)]
    ends = [float(x) for x in re.search(r'<line x1="([\d.]+)%"[^>]*x2="([\d.]+)%"[^>]*stroke-width: 3', drawn).groups()]
    assert np.mean(ends) == pytest.approx(places[0], abs=0.01)
    assert (places[1] - places[0]) / (places[0] - ends[0]) == pytest.approx(3, abs=0.01)
    assert drawn.count("var(--ground)") == 1
    assert 'width="100%"' in drawn
    assert "viewBox" not in drawn


@pytest.mark.parametrize(
    ("turned", "said"),
    [(False, "Yes, as far as these labels can tell: it is right on average."), (True, "No: it says the opposite of")],
)
def test_a_report_says_whether_the_model_can_be_trusted(pool, demo, turned: bool, said: str) -> None:
    frame = pool.drop(columns=[f"rank_{name}" for name in ("twin", "worse", "random")])
    columns = grade_columns(frame.columns)
    if turned:
        frame = frame.assign(**dict(zip(columns, frame[columns[::-1]].to_numpy().T, strict=True)))
    plan = Plan.create(frame, None, DCG @ 10, budget=600, level="document", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Report.of(plan, demo.judge(plan.assessments))
    (trust,) = [each for each in page_of(found).sections if each.title == "Can the grade model be trusted?"]
    assert trust.words[0].startswith(said)
