# ruff: noqa: E402
"""The simulator answers in Chromium, without a network: its numbers are those of the table, and follow the sliders."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.common.by import By

PAGE = Path(__file__).parents[2] / "pt_active" / "pt_docs" / "simulator.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


def test_the_page_asks_for_nothing() -> None:
    assert not re.search(r"https?://|src=|@import|fetch\(", PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("there is no Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1000,900"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.get(PAGE.as_uri())
    yield driver
    driver.quit()


def shown(browser: webdriver.Chrome, **sliders: object) -> list[list[float]]:
    """The numbers of each row after sliders are moved: labels, and the half-width where there is one."""
    for name, value in sliders.items():
        browser.execute_script(
            "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            str(value),
        )
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    return [[float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*", " ".join(row))] for row in cells]


def test_the_numbers_of_a_cell_are_those_of_the_table(browser: webdriver.Chrome) -> None:
    rows = browser.execute_script("return tables.verdicts.filter(r => r.queries === 150 && r.difference === 0.4)")
    for place, model in enumerate(("useless", "fair", "good")):
        (row,) = (row for row in rows if row["model"] == model)
        documents, fixed, queries = shown(browser, queries=150, difference=0.4, model=place, budget=200)
        assert documents[:2] == [row["documents, any time"], row["documents, any time ()"]]
        assert (fixed[0], queries[0]) == (row["documents, fixed"], row["queries, fixed"])


def test_numbers_follow_the_sliders(browser: webdriver.Chrome) -> None:
    start = shown(browser, queries=150, difference=0.2, model=1, budget=200)
    assert all(b[0] < a[0] for a, b in zip(start, shown(browser, difference=0.5), strict=True))
    wide = shown(browser, difference=0.2)
    assert all(b[-1] < a[-1] for a, b in zip(wide, shown(browser, budget=600), strict=True))
    assert shown(browser, model=2)[1][0] < wide[1][0]
    assert "times as many" in browser.find_element(By.ID, "answer").text
    assert not browser.get_log("browser")
