"""What the tests of the judging server share: a plan with texts, a server in a process of its own, and judges."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from pt_active import Plan
from pt_active.judging.server.app import Site
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.organiser import Organiser
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.store import Store
from pt_active.judging.server.templates import guideline_html
from pt_active.judging.worklist import GradeNames


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def site_of(plan: Plan, folder: Path, judges: tuple[str, ...] = ("ann", "ben"), **how: Any) -> Site:
    """A site on a plan, with a clock that stands still unless the test moves it.

    Args:
        plan: The plan.
        folder: A folder for the store and for extended plans.
        judges: Their names.
        **how: ``texts, grade_names, guideline, margin``, and arguments of `JudgingOrder.of`.
    """
    texts, names, guideline = how.pop("texts", None), how.pop("grade_names", None), how.pop("guideline", None)
    margin = how.pop("margin", None)
    store = Store(folder / "plan.sqlite", plan.id)
    for name in (ORGANISER, *judges):
        store.token(name)
    work = JudgingOrder.of(plan, texts, **how)
    campaign = Campaign(plan, work, store, GradeNames.parsed(names), clock=Clock())
    organiser = Organiser(
        campaign, folder / "plan", partial(JudgingOrder.of, **how), texts, {"margin": margin}, patience=600
    )
    return Site(campaign, organiser, "" if guideline is None else guideline_html(guideline))


def link(site: Site, name: str) -> str:
    """The path of somebody's page."""
    return f"/{'organise' if name == ORGANISER else 'judge'}/{site.campaign.store.token(name)}/"


def record(document: dict[str, Any], label: int | None, key: str, status: str = "judged", note: str = "") -> dict:
    """What a judge's browser sends about a document."""
    return {"key": key, "qid": document["qid"], "docno": document["docno"]} | {
        "status": status,
        "label": label,
        "note": note,
    }


def command(plan: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "pt_active", "judge", str(plan), *words]


@contextmanager
def served(plan: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """``pt-active judge`` in a process of its own, and the links that it prints by name."""
    run = subprocess.Popen(
        command(plan, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        assert run.stderr is not None
        links: dict[str, str] = {}
        opening = ""
        for line in run.stderr:
            opening += line
            if line.startswith("Open your own link"):
                break
        else:
            raise AssertionError(opening)
        for line in run.stderr:
            name, url = re.fullmatch(r"  (.*?) +(http\S+)\n", line).groups()
            links[name] = url
            if len(links) == 1 + words[words.index("--judges") + 1].count(",") + 1:
                break
        wait_for(links["organiser"])
        yield run, links
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
        run.wait()
        for stream in (run.stdout, run.stderr):
            stream.close()


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    for _ in range(200):
        try:
            httpx.get(url, timeout=5)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")
