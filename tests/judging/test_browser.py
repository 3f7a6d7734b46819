# ruff: noqa: E402
"""Real Chromium judges with keys, undoes, skips, loses the connection and comes back; an organiser adjudicates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pt_active import DCG, Plan
from pt_active.judging.server.app import Site
from pt_active.judging.server.security import ORGANISER

selenium = pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from serving import in_thread, site_of

HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>\u202e"


@pytest.fixture(scope="module")
def plan(graded, demo) -> Plan:
    texts = demo.documents.assign(text=demo.documents["text"] + HOSTILE)[["docno", "text"]]
    frame = graded.drop(columns="text", errors="ignore").merge(texts, on="docno")
    return Plan.create(frame, None, DCG @ 10, budget=60, level="document", seed=3)


def until(browser: webdriver.Chrome, holds: Callable[[], object]) -> None:
    WebDriverWait(browser, 15, poll_frequency=0.05).until(lambda _: holds())


class Page:
    """A judge's page in the browser."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        driver.get(url)
        until(driver, lambda: any(driver.find_element(By.ID, name).is_displayed() for name in ("document", "idle")))

    def text(self, name: str) -> str:
        return self.driver.find_element(By.ID, name).text

    def answer(self, *keys: str, here: str = "") -> str:
        """Press keys, the last of which leads to another document, or to this one; returns the one before."""
        before = self.here
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
        until(self.driver, lambda: self.here == here if here else self.here != before)
        return before

    def kept(self) -> None:
        until(self.driver, lambda: self.text("kept") == "All labels are saved")

    @property
    def here(self) -> str:
        return f"{self.text('query')} {self.text('name')}"


def kept_in(site: Site) -> list[tuple[str, int | None, str, str, str]]:
    return [(one.docno, one.label, one.annotator, one.status, one.note) for one in site.campaign.store.entries()]


def test_a_judge_works_with_the_keyboard_alone(plan: Plan, browser, tmp_path: Path) -> None:
    site = site_of(plan, tmp_path)
    with in_thread(site) as links:
        page = Page(browser, links["ann"])
        assert browser.title == "Judging as ann"
        assert "<script>window.ran" in page.text("text")
        assert "\\u202e" in page.text("text")
        marks = [mark.text.lower() for mark in browser.find_elements(By.CSS_SELECTOR, "#text mark")]
        assert all(word.rstrip("s")[:4] in page.text("query").lower() for word in marks)
        first, _, third = page.answer("2"), page.answer("s"), page.answer("n", "cut off at the end", Keys.ESCAPE, "x")
        fourth = page.here
        page.kept()
        said = kept_in(site)
        assert [each[1:] for each in said] == [
            (2, "ann", "judged", ""),
            (None, "ann", "skipped", ""),
            (None, "ann", "unjudgeable", "cut off at the end"),
        ]
        # Undo takes the answer back at once, and shows the document again.
        page.answer("u", here=third)
        page.kept()
        assert kept_in(site)[-1] == (said[2][0], None, "ann", "skipped", "taken back")
        page.answer("0", here=fourth)
        # Back shows the last one as it was judged, and changes nothing unless it is judged again.
        page.answer("b", here=third)
        assert "you gave it 0" in page.text("earlier")
        pressed = browser.find_elements(By.CSS_SELECTOR, ".grade[aria-pressed=true]")
        assert [each.get_attribute("data-grade") for each in pressed] == ["0"]
        page.answer("f", here=fourth)
        page.answer("b", "b", "b", "3", here=fourth)
        page.kept()
        assert kept_in(site)[-2:] == [(said[2][0], 0, "ann", "judged", ""), (said[0][0], 3, "ann", "judged", "")]
        # A page that is loaded again goes on where it was, and knows the last answers.
        page = Page(browser, links["ann"])
        assert page.here == fourth
        page.answer("b", here=first)
        assert browser.execute_script("return window.ran") is None
        assert not [each["message"] for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_labels_survive_a_lost_connection(plan: Plan, browser, tmp_path: Path) -> None:
    with in_thread(site_of(plan, tmp_path)) as links:
        page = Page(browser, links["ben"])
    for grade in ("1", "2", "0"):
        page.answer(grade)
    until(browser, lambda: "3 labels kept in this browser" in page.text("kept"))
    # The page is closed and opened again: what was not sent is still in the browser.
    browser.execute_script("window.onbeforeunload = null")
    stored = "return Object.keys(localStorage).filter(name => name !== 'pt-active theme').length"
    assert browser.execute_script(stored) == 3
    site = site_of(plan, tmp_path)
    assert kept_in(site) == []
    with in_thread(site, int(links["ben"].split(":")[2].split("/")[0])):
        page.kept()
        assert [each[1] for each in kept_in(site)] == [1, 2, 0]
        assert browser.execute_script(stored) == 0


def test_an_organiser_adjudicates_by_keys_or_clicks_beside_the_guideline(
    plan: Plan, browser, accessible, tmp_path: Path
) -> None:
    guideline = tmp_path / "guideline.md"
    guideline.write_text("# What counts\n\nRelated is not relevant.\n", encoding="utf-8")
    site = site_of(plan, tmp_path, double=1, guideline=guideline)
    with in_thread(site) as links:
        for name, grade in (("ann", "0"), ("ben", "3")):
            page = Page(browser, links[name])
            for _ in range(3):
                page.answer(grade)
            page.kept()
        browser.get(links[ORGANISER])
        browser.find_element(By.PARTIAL_LINK_TEXT, "Adjudicate (3)").click()
        assert "What counts\nRelated is not relevant." in browser.find_element(By.TAG_NAME, "aside").text
        accessible(browser)
        said = re.findall(r"(ann|ben): (\d)", browser.find_element(By.CSS_SELECTOR, ".dispute ul").text)
        assert said == [("ann", "0"), ("ben", "3")]

        def names(of: str = "") -> list[str]:
            return [each.text for each in browser.find_elements(By.CSS_SELECTOR, f".dispute{of} .faint")]

        def press(*keys: str, left: int) -> None:
            for key in keys:
                browser.find_element(By.TAG_NAME, "body").send_keys(key)
            until(browser, lambda: len(names()) == left)

        first, second, third = names()
        assert names(".now") == [first]
        press("s", left=3)
        assert names(".now") == [second]
        press("9", "2", left=2)
        assert names(".now") == [first]
        press("1", left=1)
        browser.find_elements(By.CSS_SELECTOR, ".dispute .grade")[2].click()
        until(browser, lambda: "There are none right now" in browser.page_source)
        decided = site.campaign.store.records().tail(3)
        assert decided["annotator"].tolist() == ["adjudicator"] * 3
        assert list(zip(decided["docno"], decided["label"], strict=True)) == [(second, 2), (first, 1), (third, 2)]
        assert browser.execute_script("return window.ran") is None


def test_the_organisers_page_follows_the_judges_in_place(plan: Plan, browser, tmp_path: Path) -> None:
    """It is not loaded again, which would take a reader back to its top; here it looks every .1 s, not every 20."""
    hasten = "const wait = setInterval; window.setInterval = (look, time) => wait(look, time / 200)"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hasten})
    here = browser.current_window_handle
    try:
        with in_thread(site_of(plan, tmp_path, ("ann",), double=0)) as links:
            browser.get(links[ORGANISER])
            assert browser.title == "0 of 60 judged"
            browser.execute_script("window.first = true")
            browser.switch_to.new_window("tab")
            page = Page(browser, links["ann"])
            page.answer("1")
            page.kept()
            browser.close()
            browser.switch_to.window(here)
            until(browser, lambda: browser.title == "1 of 60 judged")
            assert "1 of 60 documents are done" in browser.find_element(By.TAG_NAME, "main").text
            assert browser.execute_script("return window.first")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(plan: Plan, browser, accessible, tmp_path: Path, width: int) -> None:
    """The pages of a judge and the organiser fit the window, and so do the buttons of a judge; axe finds no barrier."""
    names = "not relevant,related,highly relevant,perfectly relevant"
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    below = "return innerHeight - document.querySelector('.answer').getBoundingClientRect().bottom"
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        with in_thread(site_of(plan, tmp_path, ("ann",), grade_names=names)) as links:
            for name in (ORGANISER, "ann"):
                Page(browser, links[name]) if name == "ann" else browser.get(links[name])
                assert browser.execute_script(wide) <= 0
                if (name == "ann") == (width > 500):  # as wide, the organiser's test asks axe
                    accessible(browser)
            buttons = browser.find_elements(By.CSS_SELECTOR, ".answer button")
            heights = [each.rect["height"] for each in buttons if each.is_displayed()]
            assert (len(heights), min(heights) >= 40) == (8, True)
            assert browser.execute_script(below) >= 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
