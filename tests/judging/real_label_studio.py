"""A round trip through a real Label Studio, which is slow and not part of the test run.

    python tests/judging/real_label_studio.py LABEL-STUDIO CACHE

LABEL-STUDIO is the program, in an environment of its own (``pip install label-studio``); CACHE is a folder for its
database, whose migrations take minutes the first time. Prints a row of the table of judging.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "reproduce"))

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


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    raise SystemExit("Label Studio does not answer")


class Person:
    """Someone who has signed up, and works through the API."""

    def __init__(self, url: str, name: str) -> None:
        self.client = httpx.Client(base_url=url, follow_redirects=True, timeout=60)
        self.client.get("/user/signup/")
        form = {"email": ADDRESS.format(name), "password": PASSWORD, "allow_newsletters": "false"}
        form["csrfmiddlewaretoken"] = self.client.cookies["csrftoken"]
        self.client.post("/user/signup/", data=form, headers={"Referer": url}).raise_for_status()
        self.url = url
        self.number = str(self.client.get("/api/current-user/whoami").raise_for_status().json()["id"])

    def post(self, path: str, content: Any) -> Any:
        headers = {"X-CSRFToken": self.client.cookies["csrftoken"], "Referer": self.url}
        answer = self.client.post(path, json=content, headers=headers)
        answer.raise_for_status()
        return answer.json()

    def judge(self, task: int, row: Row) -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("cache", type=Path)
    parser.add_argument("--keep", type=Path, help="where to keep the export")
    given = parser.parse_args()
    migrated(given.program, given.cache)
    plan, judged = small_plan(), opinions()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        shutil.copytree(given.cache, data)
        path = write_worklist(Worklist(DOCUMENTS, 2, plan.id), Path(folder) / "work.json", "label-studio")[0]
        port, log = free_port(), (Path(folder) / "log").open("wb")
        start = [given.program, "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1"]
        server = subprocess.Popen(start, env=environment(data), stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, server)
            export = given.keep or Path(folder) / "export.json"
            people = exported(url, path, judged, export)
        finally:
            server.terminate()
            server.wait(30)
        records = import_records("label-studio", [export], plan)
    # The export that the browser offers has the numbers of users in place of their addresses.
    records["annotator"] = records["annotator"].map(people)
    kept = "kept" if (records["time"] != "").all() else "lost"
    print(f"| `label-studio` | {' | '.join(counts(records, judged))} | {kept} |")


if __name__ == "__main__":
    main()
