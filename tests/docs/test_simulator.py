"""The simulator answers in Chromium, without a network: its numbers are those of the table, and follow the sliders."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "pt_active" / "pt_docs" / "simulator.html"


def test_the_page_asks_for_nothing():
    assert not re.search(r"https?://|src=|@import|fetch\(", PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser(browser: Any) -> Any:
    browser.get_log("browser")  # of other pages
    browser.get(PAGE.as_uri())
    return browser


def shown(browser: Any, **sliders: object) -> list[list[float]]:
    """The numbers of each row after sliders are moved: labels, and the half-width where there is one."""
    for name, value in sliders.items():
        browser.execute_script(
            "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            str(value),
        )
    rows = browser.find_elements("css selector", "#rows tr")
    cells = [[cell.text for cell in row.find_elements("tag name", "td")] for row in rows]
    return [[float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*", " ".join(row))] for row in cells]


def test_the_numbers_of_a_cell_are_those_of_the_table_and_no_barrier_is_found(browser, accessible):
    rows = browser.execute_script("return tables.verdicts.filter(r => r.queries === 150 && r.difference === 0.4)")
    for place, model in enumerate(("useless", "fair", "good")):
        (row,) = (row for row in rows if row["model"] == model)
        documents, fixed, queries = shown(browser, queries=150, difference=0.4, model=place, budget=200)
        assert documents[:2] == [row["documents, any time"], row["documents, any time ()"]]
        assert (fixed[0], queries[0]) == (row["documents, fixed"], row["queries, fixed"])
    accessible(browser)


def test_numbers_follow_the_sliders_and_fit_a_phone(browser):
    start = shown(browser, queries=150, difference=0.2, model=1, budget=200)
    assert all(b[0] < a[0] for a, b in zip(start, shown(browser, difference=0.5), strict=True))
    wide = shown(browser, difference=0.2)
    assert all(b[-1] < a[-1] for a, b in zip(wide, shown(browser, budget=600), strict=True))
    assert shown(browser, model=2)[1][0] < wide[1][0]
    assert "times as many" in browser.find_element("id", "answer").text
    assert not browser.get_log("browser")
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
