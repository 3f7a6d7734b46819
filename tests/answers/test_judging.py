"""What judges see of answers: the question with its reference, one answer without its system, and the scale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from made_answers import made

from pt_active import Answers
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.templates import offline_page
from pt_active.judging.worklist import GradeNames


def page_of(table: pd.DataFrame, scale: str) -> str:
    answers = Answers(table.drop(columns="score"), scale)
    plan, said = answers.plan(10), answers.scale.names()
    names = GradeNames.parsed(said) if said else None
    return offline_page(plan, JudgingOrder.of(plan, double=0.0), "ann", ["ann"], names)


def test_judges_give_the_scores_of_the_scale_and_no_other() -> None:
    page = page_of(made(10), "1-5")
    assert re.findall(r'data-grade="(\d)"', page) == ["1", "2", "3", "4", "5"]
    assert 'data-grades="6"' in page
    assert re.findall(r'data-grade="(\d)"', page_of(made(10), "0-1")) == ["0", "1"]


def test_judges_see_question_and_reference_and_not_the_system() -> None:
    table = made(10).assign(reference="the truth", system=lambda t: "secret-" + t["system"])
    page = page_of(table, "0-1")
    assert "Reference answer: the truth" in page
    assert "secret-" not in page


def test_pages_speak_of_answers_and_a_users_own_texts_stay() -> None:
    html = page_of(made(10).assign(question="Which query finds the document?"), "0-1")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html.partition("<body")[2], flags=re.DOTALL)
    assert not re.search(
        r"\b([Dd]ocuments?|quer(y|ies)|[Gg]rades?)\b",
        re.sub(r'(?:id|href|class|aria-labelledby|data-grades?)="[^"]*"', "", body),
    )
    assert "<b>0</b> is the worst, <b>1</b> the best." in body
    assert "Which query finds the document?" in html


@pytest.mark.parametrize("width", [1280, 390])
def test_two_answers_stand_side_by_side_and_a_key_says_which_is_better(browser, width: int, tmp_path: Path) -> None:
    page = tmp_path / "judge.html"
    # A plan of its own for each width: the browser may still have the labels that the other was given.
    table = made(20 + (width < 500)).assign(reference="4 is right")
    page.write_text(page_of(table.assign(answer="It is 4 or 5."), "preference"), encoding="utf-8")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    assert [each.text for each in browser.find_elements("css selector", "#text mark")] == ["4", "4"]
    assert not browser.find_element("id", "name").is_displayed()  # a hash
    first, second = (each.rect for each in browser.find_elements("css selector", "#text section"))
    assert (second["x"] > first["x"]) == (width > 500)
    buttons = {
        each.get_attribute("data-grade"): each.rect["x"] for each in browser.find_elements("css selector", ".grade")
    }
    assert buttons["2"] < buttons["1"] < buttons["0"]
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    for key in ("\ue012", "\ue014", "\ue0151", "2"):  # arrows to the left and right; down scrolls, 1 is neither
        browser.find_element("tag name", "body").send_keys(key)
    kept = browser.execute_script("return Object.values(localStorage).filter((each) => each.startsWith('{'))")
    said = sorted(map(json.loads, kept), key=lambda each: each["at"])
    assert [each["label"] for each in said[-4:]] == [2, 0, 1, 2]
    assert browser.find_element("id", "guideline").get_attribute("textContent").split()[:3] == [
        "Guideline",
        "Choose",
        "the",
    ]
