"""What judges see of answers: the question with its reference, one answer without its system, and the scale."""

import re

import pytest
from made_answers import made
from serving import in_thread, link, site_of
from starlette.testclient import TestClient

from pt_active import Answers


def site_for(table, scale, folder):
    answers = Answers(table.drop(columns="score"), scale)
    return site_of(answers.plan(10), folder, ("ann",), double=0.0, grade_names=answers.scale.names() or None)


def page_of(table, scale, folder):
    """The page of a judge, and what it is filled with."""
    site = site_for(table, scale, folder)
    client = TestClient(site.application())
    page, work = (client.get(f"{link(site, 'ann')}{name}").text for name in ("", "work"))
    site.campaign.store.close()
    return page, work


@pytest.mark.parametrize("scale", ["1-5", "0-1"])
def test_judges_give_the_scores_of_the_scale_and_no_other(scale, tmp_path):
    page, _ = page_of(made(10), scale, tmp_path)
    first, last = map(int, scale.split("-"))
    assert re.findall(r'data-grade="(\d)"', page) == [str(score) for score in range(first, last + 1)]
    assert f'data-grades="{last + 1}"' in page


def test_judges_see_texts_as_they_are_and_not_the_system_and_pages_speak_of_answers(tmp_path):
    table = made(10).assign(reference="the truth", question="Which query finds the document?")
    page, work = page_of(table.assign(system="secret-" + table["system"]), "0-1", tmp_path)
    assert "Reference answer: the truth" in work
    assert "Which query finds the document?" in work
    assert "secret-" not in page + work
    words = re.sub(r'(?:id|href|class|aria-labelledby|data-grades?)="[^"]*"', "", page.partition("<body")[2])
    assert not re.search(r"\b([Dd]ocuments?|quer(y|ies)|[Gg]rades?)\b", words)


@pytest.mark.parametrize("width", [1280, 390])
def test_two_answers_stand_side_by_side_and_a_key_says_which_is_better(browser, width, tmp_path):
    table = made(20).assign(reference="4 is right", answer="It is 4 or 5.")
    site = site_for(table, "preference", tmp_path)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    with in_thread(site) as links:
        browser.get(links["ann"])
        until(browser, lambda: browser.find_elements("css selector", "#text mark"))
        assert [each.text for each in browser.find_elements("css selector", "#text mark")] == ["4", "4"]
        assert not browser.find_element("id", "name").is_displayed()  # a hash
        first, second = (each.rect for each in browser.find_elements("css selector", "#text section"))
        assert (second["x"] > first["x"]) == (width > 500)
        buttons = browser.find_elements("css selector", ".grade")
        right = {each.get_attribute("data-grade"): each.rect["x"] for each in buttons}
        assert right["2"] < right["1"] < right["0"]
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        for key in ("\ue012", "\ue014", "\ue0151", "2"):  # arrows to the left and right; down scrolls, 1 is neither
            browser.find_element("tag name", "body").send_keys(key)
        until(browser, lambda: browser.find_element("id", "kept").text == "All labels are saved")
        assert [each.label for each in site.campaign.store.entries()] == [2, 0, 1, 2]


def until(browser, holds) -> None:
    """Wait until the page has what it asks its server for."""
    pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(browser, 15, 0.05).until(lambda _: holds())
