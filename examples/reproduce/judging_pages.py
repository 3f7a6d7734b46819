"""Pictures of the pages of `pt-active judge`, on simulated documents that two simulated judges have begun to judge.

    python examples/reproduce/judging_pages.py --out pt_active/pt_docs

It drives Chromium through its driver (Debian's `chromium-driver`) with selenium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pt_active.demo.run import demo_plan

NAMES = "not relevant,related,highly relevant,perfectly relevant"
GUIDELINE = """# What to judge

Would the person who typed the query be **glad** to find this document?

| grade | meaning |
|---|---|
| 3 | exactly what was asked |
| 2 | most of what was asked |
| 1 | the right kind of thing |
| 0 | something else |
"""
LABELS = {"ann": "0110230012100", "ben": "2110132"}


def browser():
    """Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def picture(driver, url: str, path: Path, width: int, height: int, dark: bool = False) -> None:
    """Save what a page shows in a window of that size."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.get(url)
    time.sleep(1)
    driver.save_screenshot(str(path))


def links_of(server: subprocess.Popen[str]) -> dict[str, str]:
    """The links that the server prints, by name."""
    links: dict[str, str] = {}
    assert server.stdout is not None
    while len(links) < len(LABELS) + 1:
        if shown := re.fullmatch(r"  (\S+) +(http\S+)\n", server.stdout.readline()):
            links[shown[1]] = shown[2]
    return links


def main() -> None:
    """Judge a little, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        guideline, plan = Path(folder, "guideline.md"), Path(folder, "plan")
        guideline.write_text(GUIDELINE, encoding="utf-8")
        demo_plan()[0].save(plan)
        words = ["judge", str(plan), "--judges", ",".join(LABELS), "--port", "0", "--double", "0.5"]
        words += ["--guideline", str(guideline), "--grade-names", NAMES]
        server = subprocess.Popen([sys.executable, "-m", "pt_active", *words], stdout=subprocess.PIPE, text=True)
        driver = browser()
        try:
            links = links_of(server)
            for name, keys in LABELS.items():
                driver.get(links[name])
                for key in keys:
                    time.sleep(1.2)
                    driver.switch_to.active_element.send_keys(key)
                time.sleep(1)
            picture(driver, links["ann"], out / "judge.png", 1280, 600)
            picture(driver, links["ann"], out / "judge-phone.png", 390, 640, dark=True)
            driver.get(links["organiser"])
            while "The first estimate is being computed" in driver.page_source:
                time.sleep(1)
                driver.refresh()
            picture(driver, links["organiser"], out / "judge-organiser.png", 1280, 640)
        finally:
            driver.quit()
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
