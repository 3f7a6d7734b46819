"""A round trip through a real Label Studio.

    python examples/reproduce/real_label_studio.py LABEL-STUDIO CACHE

LABEL-STUDIO is the program, in an environment of its own (``pip install label-studio``); CACHE is a folder for its
database, whose migrations take minutes the first time. Prints a row of the table of judging.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from judging_round_trips import DOCUMENTS, Row, counts, opinions, small_plan, word

from pt_active.judging.files import import_records, write_worklist
from pt_active.judging.worklist import Worklist

PASSWORD = "a-password-of-17"
ADDRESS = "{}@example.org"
QUIET = {"COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false"}


def environment(data: Path) -> dict[str, str]:
    return os.environ | QUIET | {"LABEL_STUDIO_BASE_DATA_DIR": str(data)}


def migrated(program: str, cache: Path) -> None:
    """Make the database once."""
    if not (cache / "label_studio.sqlite3").exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "init", "--no-browser"], env=environment(cache), check=True)


def until(ready: Callable[[], bool], seconds: float = 180.0) -> None:
    """Wait for a server."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if ready():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise SystemExit("the tool does not answer")


class Person:
    """Someone who has signed up, and works through the API."""

    def __init__(self, url: str, name: str) -> None:
        self.client = httpx.Client(base_url=url, follow_redirects=True, timeout=60)
        until(lambda: self.client.get("/health").status_code == 200)
        self.client.get("/user/signup/")
        form = {"email": ADDRESS.format(name), "password": PASSWORD, "allow_newsletters": "false"}
        form["csrfmiddlewaretoken"] = self.client.cookies["csrftoken"]
        self.client.post("/user/signup/", data=form, headers={"Referer": url}).raise_for_status()
        self.url = url
        self.number = str(self.client.get("/api/current-user/whoami").raise_for_status().json()["id"])

    def post(self, path: str, content: Any) -> Any:
        """The answer to JSON that is sent."""
        headers = {"X-CSRFToken": self.client.cookies["csrftoken"], "Referer": self.url}
        answer = self.client.post(path, json=content, headers=headers)
        answer.raise_for_status()
        return answer.json()

    def judge(self, task: int, row: Row) -> None:
        """Annotate a task."""
        result = []
        if row[4] != "skipped":
            choices = {"choices": [word(row)]}
            result.append({"from_name": "label", "to_name": "text", "type": "choices", "value": choices})
        if row[5]:
            text = {"text": [row[5]]}
            result.append({"from_name": "note", "to_name": "text", "type": "textarea", "value": text})
        said = {"result": result, "was_cancelled": row[4] == "skipped", "lead_time": 2.5}
        self.post(f"/api/tasks/{task}/annotations/", said)


def exported(url: str, worklist: Path, judged: list[Row], out: Path) -> dict[str, str]:
    """Write the full export of a project that both people have worked through; returns their names by number."""
    people = {name: Person(url, name) for name in ("ann", "bob")}
    owner = people["ann"]
    configuration = worklist.with_suffix(".config.xml").read_text(encoding="utf-8")
    about = {"title": "round trip", "label_config": configuration, "maximum_annotations": 2}
    project = owner.post("/api/projects", about)["id"]
    owner.post(f"/api/projects/{project}/import", json.loads(worklist.read_text(encoding="utf-8")))
    tasks = owner.client.get("/api/tasks", params={"project": project, "page_size": 100}).json()["tasks"]
    number = {(task["data"]["qid"], task["data"]["docno"]): task["id"] for task in tasks}
    for row in judged:
        people[row[3]].judge(number[row[:2]], row)
    wanted = {"exportType": "JSON", "download_all_tasks": "true"}
    answer = owner.client.get(f"/api/projects/{project}/export", params=wanted)
    answer.raise_for_status()
    out.write_bytes(answer.content)
    return {person.number: name for name, person in people.items()}


def round_trip(
    tool: str,
    work: str,
    migrated: Callable[[str, Path], None],
    environment: Callable[[Path], dict[str, str]],
    commands: Callable[[str, str], list[list[str]]],
    exported: Callable[[str, Path, list[Row], Path], dict[str, str]],
) -> None:
    """Serve a copy of the database, have two people judge in it, and print what comes back."""
    parser = argparse.ArgumentParser(description=f"A round trip through a real {tool}.")
    parser.add_argument("program")
    parser.add_argument("cache", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep the export")
    given = parser.parse_args()
    migrated(given.program, given.cache)
    plan, judged = small_plan(), opinions()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        home = Path(folder) / "home"
        shutil.copytree(given.cache, home)
        path = write_worklist(Worklist(DOCUMENTS, 2, plan.id), Path(folder) / work, tool)[0]
        listener.bind(("127.0.0.1", 0))
        port, log = listener.getsockname()[1], (Path(folder) / "log").open("wb")
        listener.close()
        how = {"env": environment(home), "stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
        running = [subprocess.Popen(each, **how) for each in commands(given.program, str(port))]
        try:
            export = given.keep or Path(folder) / "export"
            people = exported(f"http://127.0.0.1:{port}", path, judged, export)
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)
        records = import_records(tool, [export], plan)
    records["annotator"] = records["annotator"].replace(people)
    kept = "kept" if (records["time"] != "").all() else "the tool exports none"
    print(f"| `{tool}` | {' | '.join(counts(records, judged))} | {kept} |")


def commands(program: str, port: str) -> list[list[str]]:
    return [[program, "start", "--no-browser", "--port", port, "--internal-host", "127.0.0.1"]]


if __name__ == "__main__":
    # The export that the browser offers has the numbers of users in place of their addresses.
    round_trip("label-studio", "work.json", migrated, environment, commands, exported)
