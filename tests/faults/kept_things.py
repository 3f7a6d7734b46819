"""A small pool, everything that is saved of it, and what each saved thing answers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from pt_active import ActiveTest, Plan, Report
from pt_active.cli.app import app
from pt_active.frames.atomic import write_file
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Store
from pt_active.risk import Audit, ZeroOne

QUERIES, DOCUMENTS = 24, 6

Artifact = Plan | Audit | ActiveTest


@cache
def pool() -> pd.DataFrame:
    """Queries of six documents with two rankers, grades, and predictions of a judge."""
    rng = np.random.default_rng(0)
    qids = [f"q{number:02d}" for number in range(QUERIES)]
    frame = pd.DataFrame({"qid": np.repeat(qids, DOCUMENTS), "docno": [f"d{d}" for d in range(DOCUMENTS)] * QUERIES})
    for name in ("a", "b"):
        frame[f"rank_{name}"] = np.concatenate([rng.permutation(DOCUMENTS) for _ in qids])
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet([2, 1, 1], len(frame))
    frame["label"] = [rng.choice(3, p=row) for row in frame.filter(like="grade_").to_numpy()]
    return frame.assign(judge=rng.integers(0, 3, len(frame)), query="desk lamp", text="a lamp for a desk")


@cache
def qrels() -> pd.DataFrame:
    """Labels of the whole pool."""
    return pool()[["qid", "docno", "label"]]


def _labels(artifact: Artifact) -> pd.DataFrame:
    return artifact.assessments[["qid", "docno"]].merge(qrels(), on=["qid", "docno"])


@cache
def artifacts() -> dict[str, tuple[Artifact, pd.DataFrame]]:
    """One of each kind, with the labels that it asks for."""
    frame = pool().drop(columns=["label", "judge"])
    documents = Plan.create(frame, None, "DCG@4", budget=20, level="document", seed=2)
    first = _labels(documents)
    depth = Plan.create(frame, None, "DCG@4", budget=20, level="document", design="depth", seed=2)
    later = depth.extend(15)
    queries, again = (
        Plan.create(frame, None, "DCG@4", budget=40, level="query", seed=1, replace=r) for r in (False, True)
    )
    test = ActiveTest.create(frame, None, "DCG@4", seed=4).next_round(5)
    labels = _labels(test)
    test = test.next_round(4, labels, "rec")
    audit = Audit.create(pool(), {"judge": "judge"}, ZeroOne(), budget=30, seed=5)
    return {
        "plan": (queries, _labels(queries)),
        "plan-replaced": (again, _labels(again)),
        "plan-documents": (documents, first),
        "plan-rounds": (later, pd.concat([_labels(depth), _labels(later)])),
        "audit": (audit, _labels(audit)),
        "test": (test, pd.concat([labels, _labels(test)])),
    }


def answers(artifact: Artifact, labels: pd.DataFrame) -> str:
    """Everything that an artifact answers about some labels, and what it asks people to judge."""
    parts: list[Any] = [artifact, artifact.assessments.to_csv(), artifact.manifest, artifact.estimate(labels)]
    if isinstance(artifact, Plan):
        parts += [artifact.compare(labels).to_dict(), artifact.queries.to_csv()]
        parts.append(artifact.tables.pool.document_frame().to_csv())
    return "\n".join(map(str, parts))


@cache
def known_answers(name: str) -> str:
    """What an artifact answers about the labels that it asks for."""
    return answers(*artifacts()[name])


class Writer(NamedTuple):
    """Something that writes a file or a folder to a path, and whether the path may exist."""

    write: Callable[[Path], object]
    again: bool = False


def _command(*words: str) -> Callable[[Path], object]:
    """A command of ``pt-active`` with its ``--out``; what it complains of is raised."""

    def run(path: Path) -> None:
        result = CliRunner().invoke(app, [*words, "--out", str(path)])
        if result.exit_code:
            raise OSError(result.stderr)

    return run


def writers(files: Path) -> dict[str, Writer]:
    """Name → writer of everything that the package saves.

    Args:
        files: A folder for the inputs of commands.
    """
    found = {name: Writer(made.save) for name, (made, _) in artifacts().items()}
    plan, labels = artifacts()["plan"]
    for format in ("trec", "csv", "jsonl"):
        found[f"export-{format}"] = Writer(partial(plan.export, format=format))
    found["report"] = Writer(lambda path: report().save(path))
    found["page"] = Writer(lambda path: write_file(path, "new\n" * 50_000, replace=True), again=True)
    if not (files / "plan").exists():
        plan.save(files / "plan")
        write_file(files / "labels.csv", labels.to_csv(index=False))
        pool().to_parquet(files / "pool.parquet")
    simulation = "--measure DCG@4 --repetitions 3 --budget 40 --design passive --quiet"
    for words in (
        f"export {files}/plan --format csv",
        f"report {files}/plan {files}/labels.csv",
        f"simulate {files}/pool.parquet {simulation}",
    ):
        found[f"pt-active {words.split()[0]}"] = Writer(_command(*words.split()))
    return found


@cache
def report() -> Report:
    """The report of the plan of queries, whose page is drawn once, so that faults hit the writing."""
    made = Report.of(*artifacts()["plan"])
    page = made.to_html()
    object.__setattr__(made, "to_html", lambda: page)
    return made


def judged(number: int) -> Entry:
    """A record."""
    said = "ann", "judged", "2026-01-01T00:00:00Z", "a note" * (number % 5), "0123456789abcdef"
    return Entry(f"key-{number}", "q", f"d{number}", number % 4, *said)


def kept_store(path: Path, *, killed: bool = False) -> Path:
    """The judgments of a server that has ended, or was killed while it wrote more, which left a journal."""
    store = Store(path.with_name(f"served-{path.name}"), "0123456789abcdef")
    store.set(DOUBLE_SHARE, "0.1")
    for start in range(0, 200, 20):
        store.append([judged(number) for number in range(start, start + 20)])
    if killed:
        store._connection.execute("PRAGMA cache_size = 2")
        store._connection.execute("UPDATE people SET token = name")
        store._connection.executemany(
            "INSERT INTO given VALUES (?, ?, ?, ?)", [("q", f"d{number}", "ann", 0.0) for number in range(2000)]
        )
        shutil.copy(f"{store.path}-journal", f"{path}-journal")
    shutil.copy(store.path, path)
    store.close()
    return path


def content(path: Path) -> dict[str, bytes]:
    """Name → bytes of a file, or of all files of a folder."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return {str(each.relative_to(path)): each.read_bytes() for each in files}


def child(work: Callable[[], object]) -> int:
    """Run something in a forked process, which exits with 0, or with 2 if it raises an error of files; its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 3
    try:
        work()
        status = 0
    except OSError:
        status = 2
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """The exit code of a process, once it ends."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
