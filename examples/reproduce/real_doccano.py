"""A round trip through a real doccano.

    python examples/reproduce/real_doccano.py DOCCANO CACHE

DOCCANO is the program, in an environment of its own (``pip install doccano 'marshmallow<4' 'numpy<2'``); CACHE is a
folder for its database, whose migrations take a minute the first time. Prints a row of the table of judging.md.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
from judging_round_trips import Row, word
from real_label_studio import round_trip, until

PASSWORD = "a-password-of-17"
PEOPLE = ("ann", "bob")


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home)}


def migrated(program: str, cache: Path) -> None:
    """Make the database once, with two people."""
    if not (cache / "doccano" / "db.sqlite3").exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "init"], env=environment(cache), check=True)
        for name in PEOPLE:
            words = [program, "createuser", "--username", name, "--password", PASSWORD]
            subprocess.run(words, env=environment(cache), check=True)


class Person:
    """Someone who has logged in, and works through the API."""

    def __init__(self, url: str, name: str) -> None:
        self.client = httpx.Client(base_url=f"{url}/v1", timeout=60)
        said = {"username": name, "password": PASSWORD}
        until(lambda: self.client.get("/health").status_code < 500)
        answer = self.client.post("/auth/login/", json=said)
        self.client.headers["Authorization"] = f"Token {answer.raise_for_status().json()['key']}"
        self.client.cookies.clear()

    def get(self, path: str, **wanted: Any) -> Any:
        """The JSON at an address of the API."""
        return self.client.get(path, params=wanted).raise_for_status().json()

    def post(self, path: str, content: Any = None, **more: Any) -> Any:
        """The answer to JSON that is sent."""
        return self.client.post(path, json=content, **more).raise_for_status().json()

    def wait(self, task: str) -> None:
        """Until what the server does in the background is done."""
        until(lambda: self.get(f"/tasks/status/{task}")["ready"])
        if error := self.get(f"/tasks/status/{task}").get("error"):
            raise SystemExit(f"doccano: {error}")


def project_of(owner: Person, worklist: Path) -> str:
    """The address of a project with the documents and labels of a worklist, in which everybody labels apart."""
    about = {"name": "round trip", "description": "two people", "project_type": "DocumentClassification"}
    about |= {"resourcetype": "TextClassificationProject", "single_class_classification": True}
    about |= {"collaborative_annotation": False, "guideline": "", "tags": []}
    project = f"/projects/{owner.post('/projects', about)['id']}"
    labels = worklist.with_suffix(".labels.json")
    owner.client.post(f"{project}/category-type-upload", files={"file": labels.open("rb")}).raise_for_status()
    sent = owner.client.post("/fp/process/", files={"filepond": worklist.open("rb")}).raise_for_status().text
    about = {"uploadIds": [sent], "format": "JSONL", "task": "DocumentClassification"}
    owner.wait(owner.post(f"{project}/upload", about | {"column_data": "text", "column_label": "label"})["task_id"])
    user = next(each["id"] for each in owner.get("/users") if each["username"] == PEOPLE[1])
    role = next(each["id"] for each in owner.get("/roles") if each["name"] == "annotator")
    owner.post(f"{project}/members", {"user": user, "role": role})
    return project


def exported(url: str, worklist: Path, judged: list[Row], out: Path) -> dict[str, str]:
    """Write the export of a project that both people have worked through; it has their names."""
    people = {name: Person(url, name) for name in PEOPLE}
    owner = people[PEOPLE[0]]
    project = project_of(owner, worklist)
    label = {each["text"]: each["id"] for each in owner.get(f"{project}/category-types")}
    examples = owner.get(f"{project}/examples", limit=100)["results"]
    number = {(each["meta"]["qid"], each["meta"]["docno"]): each["id"] for each in examples}
    for row in judged:
        person, example = people[row[3]], number[row[:2]]
        person.post(f"{project}/examples/{example}/categories", {"label": label[word(row)]})
        if row[5]:
            person.post(f"{project}/comments", {"text": row[5]}, params={"example": example})
    task = owner.post(f"{project}/download", {"format": "JSONL", "exportApproved": False})["task_id"]
    owner.wait(task)
    out.write_bytes(owner.client.get(f"{project}/download", params={"taskId": task}).raise_for_status().content)
    return {}


def commands(program: str, port: str) -> list[list[str]]:
    # Imports and exports are made by a second process.
    return [[program, "webserver", "--port", port], [program, "task"]]


if __name__ == "__main__":
    round_trip("doccano", "work.jsonl", migrated, environment, commands, exported)
