"""Hostile ids, texts, names and slices: nothing runs or breaks the layout, and no terminal obeys them."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lxml import etree, html

from pt_active import DCG, Audit, Comparison, Plan, Report
from pt_active.frames.visible import check_visible, json_text, visible
from pt_active.frames.worklists import write_assessments
from pt_active.judging.files import read_file
from pt_active.relevance.losses import ZeroOne
from pt_active.showing.page import GLOSSARY

PAYLOADS = (
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    '"><svg onload="window.ran = 1">',
    "<!-- <script> ",
    "]]><![CDATA[ <b>",
    "{{7*7}}{% if 1 %}${7*7}",
    "\u202eevil\u2066",
    "$\\frac{1}{0}$ $\\undefined$ \\$",
    "\x00\x1b[31m\x1b]0;t\x07\x9b31m",
    "=HYPERLINK('http://x')",
    "W" * 400,
    "</title></style></textarea><plaintext>",
    "&lt;script&gt;&amp;amp;",
    "javascript:window.ran=1",
    "_hidden\u200b\ufeff",
    "ع" * 30,
    "z\u0335\u0321\u0322" * 40,
)
NAMES = (f"a{PAYLOADS[0]}{PAYLOADS[7]}", f"b{PAYLOADS[5]}{PAYLOADS[10]}")


def text_of(number: int, hostile: bool = True) -> str:
    return f"{number:02d}{PAYLOADS[number % len(PAYLOADS)] if hostile else 'tame'}"


def reported(hostile: bool) -> Report:
    """The report of a plan of queries with hostile ids, which decide what is drawn; the rest is hostile or tame."""
    rng = np.random.default_rng(3)
    query, document = np.divmod(np.arange(34 * 8), 8)
    frame = pd.DataFrame(
        {
            "qid": [text_of(q).replace("\0", "") for q in query],
            "docno": [text_of(number, hostile).replace("\0", "") for number in query + document],
            "query": [text_of(q, hostile) for q in query],
            "qkind": [text_of(q % 17, hostile) for q in query],
        }
    )
    for name in NAMES if hostile else "ab":
        frame[f"rank_{name}"] = np.concatenate([rng.permutation(8) for _ in range(34)])
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet(np.ones(3), len(frame))
    labels = frame[["qid", "docno"]].assign(label=rng.integers(0, 3, len(frame)))
    plan = Plan.create(frame, None, DCG @ 5, budget=120, level="query", seed=2)
    with warnings.catch_warnings(action="ignore"):
        return Report.of(plan, labels.iloc[:-1], slices=["qkind"], missing="nonrelevant")


@pytest.fixture(scope="module")
def report() -> Report:
    return reported(hostile=True)


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return report.to_html()


def elements_of(root: html.HtmlElement) -> list[tuple[str, list[str]]]:
    """The elements of a page outside of its charts, and their attributes."""
    inside = {each for chart in root.iter("svg") for each in chart.iter()}
    return [(each.tag, each.keys()) for each in root.iter("*") if each not in inside]


def test_a_hostile_page_has_the_elements_of_a_tame_one_and_holds_text_only(page: str) -> None:
    assert visible(page) == page
    root, tame = (html.fromstring(text) for text in (page, reported(hostile=False).to_html()))
    assert elements_of(root) == elements_of(tame)
    assert len(list(root.iter("script"))) == 1
    assert not list(root.iter("img", "plaintext", "textarea", "iframe", "b"))
    given = [(name, value) for each in root.iter("*") for name, value in each.items()]
    assert not [name for name, _ in given if name.startswith("on")]
    links = [value for name, value in given if name.endswith("href") or name == "src"]
    assert [link for link in links if not link.startswith("#")] == [GLOSSARY]
    assert not [each.text for each in root.iter(etree.Comment) if "script" in each.text or "CDATA" in each.text]
    data = json.loads(root.find(".//script").text)
    assert any("\u202eevil" in str(row["query"]) for row in data["contributions"]["queries"])
    assert data["result"]["first"] == NAMES[0]
    root.find(".//script").drop_tree()
    words = root.text_content()
    assert all(shown in words for shown in ("{{7*7}}", "\\u202eevil\\u2066", "\\x00\\x1b[31m"))
    assert "49{%" not in words


SEEN = """
const wide = [...document.querySelectorAll("h1, h2, p, dl, dd, figure, figcaption, pre, .wide")]
  .filter(each => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1);
return {ran: window.ran || 0, scripts: document.scripts.length, headings: document.querySelectorAll("h2").length,
  width: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  wide: wide.map(each => each.tagName + " " + each.className), images: document.images.length};
"""
"""What a browser makes of the page."""


def test_a_browser_runs_nothing_and_keeps_the_layout(page: str, browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page.replace("<details>", "<details open>"), encoding="utf-8")
    size = {"width": 500, "height": 2000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    seen = browser.execute_script(SEEN)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen == {"ran": 0, "scripts": 1, "headings": 7, "width": 0, "wide": [], "images": 0}


def test_results_print_no_control_characters(report: Report) -> None:
    assert isinstance(report.result, Comparison)
    evil = replace(report.result, first="a\x1b[31m\u202e")
    for result in (report.result, evil, replace(report, result=evil), report.check):
        assert visible(str(result)) == str(result)
    assert "a\\x1b[31m\\u202e" in str(evil)


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "\u202ea", "a\x00"])
def test_names_that_do_not_print_are_refused(name: str) -> None:
    ranked = {"qid": ["q", "q"], "docno": ["x", "y"], f"rank_{name}": [0, 1]}
    frame = pd.DataFrame(ranked | {"grade_0": 0.5, "grade_1": 0.5})
    with pytest.raises(ValueError, match="characters that do not print"):
        Plan.create(frame, None, DCG @ 5, budget=1, level="query")
    with pytest.raises(ValueError, match="characters that do not print"):
        Audit.create(frame.assign(f=0), {name: "f"}, ZeroOne(), budget=1)
    with pytest.raises(ValueError, match="ranker .* characters that do not print"):
        check_visible("ranker", ["fine", name])


def test_json_loses_nothing() -> None:
    written = json_text({text: [text] for text in PAYLOADS})
    assert visible(written) == written
    assert json.loads(written) == {text: [text] for text in PAYLOADS}


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1", "＝1", "'=1", "''=1", "'''-x"]
HARMLESS = ["a=1", "'", "''", "'a", "1", "", "a'=1", " =1", "é"]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_hostile_worklists_come_back(format: str, tmp_path: Path) -> None:
    ids = [text for text in [*FORMULAS, *HARMLESS, *PAYLOADS] if text and not re.search("[\x00-\x1f\x7f-\x9f]", text)]
    pairs = pd.DataFrame({"qid": ids, "docno": ids[::-1], "query": PAYLOADS[0], "text": "=cmd|' /C calc'!A0\x1b[0m"})
    path = tmp_path / "list"
    write_assessments(pairs.assign(label=1.0), path, format)
    assert "\x1b" not in path.read_text(encoding="utf-8")
    read = read_file(path)
    assert read["qid"].tolist() == ids
    assert read["docno"].tolist() == ids[::-1]
    if format == "csv":
        cells = pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns="label")
        assert not cells.apply(lambda column: column.str.match(r"[=+\-@\t\r＝＋－＠]")).any(axis=None)
