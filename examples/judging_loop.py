"""Judge a plan with three simulated judges over HTTP, stop when the organiser's page says so, and write the report.

    python examples/judging_loop.py --out judging-loop

The server is `pt-active judge`, as people use it. Its judges here are threads that know the truth of the simulated
collection, each with errors of its own: ann and ben are off by a grade now and then, and carl is generous.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from pt_active.demo.collection import MAX_GRADE
from pt_active.demo.run import demo_plan

ERRORS = {"ann": (0.05, 0.05), "ben": (0.08, 0.02), "carl": (0.0, 0.25)}
"""Judge → the probabilities of a grade too low and of a grade too high."""

DOUBLE = 0.1
"""The share of documents that two judges see."""

SECONDS = 0.05
"""How long a judge takes for a document."""


def asked(url: str, content: object = None) -> Any:
    """The JSON at an address, to which some may be sent."""
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def judge(name: str, link: str, truth: dict[tuple[str, str], int], over: threading.Event) -> None:
    """Judge whatever comes, until it is over."""
    rng, (low, high) = np.random.default_rng(sum(name.encode())), ERRORS[name]
    while not over.is_set():
        documents = asked(f"{link}work")["documents"]
        for each in documents:
            time.sleep(SECONDS)
            wrong = rng.choice([-1, 0, 1], p=[low, 1 - low - high, high])
            label = int(np.clip(truth[each["qid"], each["docno"]] + wrong, 0, MAX_GRADE))
            record = {key: each[key] for key in ("qid", "docno")} | {"status": "judged", "label": label, "note": ""}
            asked(f"{link}records", [record | {"key": secrets.token_hex(16)}])
            if over.is_set():
                return
        if not documents:
            time.sleep(0.2)


def served(plan: Path) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """The server, and the links that it prints."""
    words = ["judge", str(plan), "--judges", ",".join(ERRORS), "--port", "0", "--double", str(DOUBLE)]
    server = subprocess.Popen([sys.executable, "-m", "pt_active", *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    links: dict[str, str] = {}
    for line in server.stdout:
        if shown := re.fullmatch(r"  (\S+) +(http\S+)\n", line):
            links[shown[1]] = shown[2]
        if len(links) == len(ERRORS) + 1:
            return server, links
    raise SystemExit("the server did not start")


def wait_until_it_can_stop(organiser: str) -> dict[str, Any]:
    """Look at the organiser's page until it says that judging can stop, or that everything is judged."""
    while True:
        time.sleep(0.5)
        state: dict[str, Any] = asked(f"{organiser}state")
        estimate = state["estimate"]
        if estimate["stop"] or (state["settled"] == state["all"] and estimate["records"] == state["records"]):
            return state


def main() -> None:
    """Plan, judge, stop and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("judging-loop"))
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--budget", type=float, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    given.out.mkdir()
    folder = given.out / "plan"
    plan, collection = demo_plan(given.seed, given.queries, given.budget)
    plan.save(folder)
    labels = collection.judge(plan.assessments)
    truth = {(row.qid, row.docno): int(row.label) for row in labels.itertuples()}
    server, links = served(folder)
    over = threading.Event()
    judges = [threading.Thread(target=judge, args=(name, links[name], truth, over)) for name in ERRORS]
    try:
        for each in judges:
            each.start()
        state = wait_until_it_can_stop(links["organiser"])
    finally:
        over.set()
        for each in judges:
            each.join()
        server.send_signal(signal.SIGINT)
        server.wait()
    print(f"\n{state['settled']} of {state['all']} documents are done: {state['estimate']['answer']}")
    for each in state["judges"]:
        print(f"  {each['name']} judged {each['done']}")
    store, page = folder.with_name("plan.sqlite"), given.out / "report.html"
    words = ["report", str(folder), str(store), "--so-far", "--out", str(page)]
    subprocess.run([sys.executable, "-m", "pt_active", *words], check=True)


if __name__ == "__main__":
    main()
