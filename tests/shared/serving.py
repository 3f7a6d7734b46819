"""What the tests of the judging server share: a plan with texts, a server in a process of its own, and judges."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any

import pandas as pd

from pt_active import DCG, Plan
from pt_active.judging.server.app import Site
from pt_active.judging.server.campaign import Campaign
from pt_active.judging.server.order import JudgingOrder
from pt_active.judging.server.organiser import Organiser
from pt_active.judging.server.security import ORGANISER
from pt_active.judging.server.serve import links, listening, root_of, server_of
from pt_active.judging.server.store import Store
from pt_active.judging.server.templates import guideline_html
from pt_active.judging.worklist import GradeNames

PAYLOAD = "</script><script>window.ran=1</script><img src=x onerror=alert(1)>\"'{{7*7}}\u202e\x1b"


def hostile_plan(graded: pd.DataFrame, documents: pd.DataFrame) -> tuple[Plan, pd.DataFrame]:
    """A plan all of whose ids and queries end in `PAYLOAD`, and texts that do."""
    frame = graded[graded["qid"].isin(graded["qid"].unique()[:6])]
    frame = frame.assign(**{name: frame[name] + PAYLOAD for name in ("qid", "docno", "query")})
    texts = documents.assign(docno=documents["docno"] + PAYLOAD, text=documents["text"] + PAYLOAD)
    return Plan.create(frame, None, DCG @ 10, budget=30, level="document", seed=1), texts


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def site_of(
    plan: Plan,
    folder: Path,
    judges: tuple[str, ...] = ("ann", "ben"),
    *,
    texts: pd.DataFrame | None = None,
    grade_names: str | None = None,
    guideline: Path | None = None,
    margin: float | None = None,
    **how: Any,
) -> Site:
    """A site on a plan whose clock stands still unless the test moves it; the rest is for `JudgingOrder.of`."""
    store = Store(folder / "plan.sqlite", plan.id)
    for name in (ORGANISER, *judges):
        store.token(name)
    work, names = JudgingOrder.of(plan, texts, **how), GradeNames.parsed(grade_names)
    campaign = Campaign(plan, work, store, names, clock=Clock())
    organiser = Organiser(campaign, {"margin": margin}, patience=600)
    return Site(campaign, organiser, "" if guideline is None else guideline_html(guideline))


def link(site: Site, name: str) -> str:
    """The path of somebody's page."""
    return f"/{'organise' if name == ORGANISER else 'judge'}/{site.campaign.store.token(name)}/"


def record(
    document: dict[str, Any], label: int | None, status: str = "judged", note: str = "", key: str = ""
) -> dict[str, Any]:
    """What a judge's browser sends about a document, under a new key unless one is given."""
    said = {"key": key or token_hex(8), "status": status, "label": label, "note": note}
    return {"qid": document["qid"], "docno": document["docno"], **said}


@contextmanager
def in_thread(site: Site, port: int = 0) -> Iterator[dict[str, str]]:
    """A site that a thread of this process serves: name → link."""
    opened = listening("127.0.0.1", port)
    server = server_of(site.application())
    thread = Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        yield links(site.campaign.store.people(), root_of(opened, "127.0.0.1", None))
    finally:
        server.should_exit = True
        thread.join()
        opened.close()
        site.campaign.store.close()


@contextmanager
def served(plan: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """``pt-active judge`` in a process of its own, and the links that it prints by name."""
    command = [sys.executable, "-m", "pt_active", "judge", str(plan), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            # It listens before it prints its links, the organiser's first.
            told: dict[str, str] = {}
            while len(told) < 2 + words[words.index("--judges") + 1].count(","):
                line = (run.stderr if "--json" in words else run.stdout).readline()
                assert line, "the server ended"
                if link := re.fullmatch(r"  (.*?) +(http\S+)\n", line):
                    told[link[1]] = link[2]
            yield run, told
        finally:
            run.send_signal(signal.SIGKILL)
