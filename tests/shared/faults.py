"""Everything that is saved, the faults that may befall it, and the promises that they must not break.

A kind of faults yields one after the other: what came of it, and the promises that it broke.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pandas as pd
from samples import forked, small_pool, wanted
from typer.testing import CliRunner

from pt_active import ActiveTest, Plan, Report
from pt_active.cli.app import app
from pt_active.demo.run import run_demo, write_demo
from pt_active.frames.atomic import write_file
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Store, stored_records
from pt_active.risk import Audit, ZeroOne

Artifact = Plan | Audit | ActiveTest
Broken = list[str]
Trials = Iterator[tuple[str, Broken]]
DEMO = cache(run_demo)


@cache
def artifacts() -> dict[str, tuple[Artifact, pd.DataFrame]]:
    """One of each kind, with the labels that it asks for."""
    pool = small_pool()
    created = partial(Plan.create, pool.drop(columns=["label", "judge"]), None, "DCG@4", seed=2)
    depth = created(budget=20, level="document", design="depth")
    test = ActiveTest.create(pool.drop(columns=["label", "judge"]), None, "DCG@4", seed=4).next_round(5)
    first = {"plan-rounds": wanted(depth, pool), "test": wanted(test, pool)}
    made = {
        "plan": created(budget=40, level="query"),
        "plan-replaced": created(budget=40, level="query", replace=True),
        "plan-documents": created(budget=20, level="document"),
        "plan-rounds": depth.extend(15),
        "audit": Audit.create(pool, {"judge": "judge"}, ZeroOne(), budget=30, seed=5),
        "test": test.next_round(4, first["test"], "rec"),
    }
    return {name: (each, pd.concat([first.get(name), wanted(each, pool)])) for name, each in made.items()}


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


@cache
def report() -> Report:
    """The report of the plan of queries, whose page is drawn once, so that faults hit the writing."""
    made = Report.of(*artifacts()["plan"])
    page = made.to_html()
    object.__setattr__(made, "to_html", lambda: page)
    return made


def _command(words: str, path: Path) -> None:
    """Run ``pt-active`` with ``--out``; what it complains of is raised."""
    result = CliRunner().invoke(app, [*words.split(), "--out", str(path)])
    if result.exit_code:
        raise OSError(result.stderr)


def writers(files: Path) -> dict[str, Callable[[Path], object]]:
    """Name → writer of everything that the package saves; the folder is for the inputs of commands."""
    plan, labels = artifacts()["plan"]
    plan.save(files / "plan")
    write_file(files / "labels.csv", labels.to_csv(index=False))
    found: dict[str, Callable[[Path], object]] = {name: made.save for name, (made, _) in artifacts().items()}
    found |= {f"export-{format}": partial(plan.export, format=format) for format in ("trec", "csv", "jsonl")}
    found |= {"report": report().save, "page": lambda path: write_file(path, "new\n" * 50_000, replace=True)}
    for words in (
        f"export {files}/plan --format csv",
        f"report {files}/plan {files}/labels.csv",
    ):
        found[f"pt-active {words.split()[0]}"] = partial(_command, words)
    return found | {"demo": lambda path: write_demo(DEMO(7), path)}


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
        given = [("q", f"d{number}", "ann", 0.0) for number in range(2000)]
        store._connection.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", given)
        shutil.copy(f"{store.path}-journal", f"{path}-journal")
    shutil.copy(store.path, path)
    store.close()
    return path


def content(path: Path) -> dict[str, bytes]:
    """Name → bytes of a file, or of all files of a folder."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return {str(each.relative_to(path)): each.read_bytes() for each in files}


class Writing:
    """What a writer writes when nothing happens, and how long that takes."""

    def __init__(self, name: str, write: Callable[[Path], object], folder: Path) -> None:
        self.name, self.write = name, write
        self.old = {".": b"old"} if name == "page" else {}  # what it replaces
        write(folder / f"{name}-first")
        began = time.perf_counter()
        write(folder / f"{name}-whole")
        self.seconds = time.perf_counter() - began
        self.content = content(folder / f"{name}-whole")

    def broken(self, target: Path) -> Broken:
        """What is wrong after a fault, and after writing again."""
        there = target.exists()
        wrong = ["left something else"] if there and content(target) not in (self.content, self.old) else []
        before = list(target.parent.iterdir())
        if self.old or not there:
            self.write(target)
        if content(target) != self.content:
            wrong.append("could not be written afterwards")
        return wrong + [f"left {each.name}" for each in [*before, *target.parent.iterdir()] if each != target]


def kill(one: Writing, target: Path, rng: random.Random) -> tuple[str, Broken]:
    """Kill a writer at a random moment, and remove what it leaves beside the target."""
    child = forked(partial(one.write, target))
    time.sleep(rng.uniform(0, 1.3 * one.seconds))
    child.kill()
    child.join()
    left = list(target.parent.glob(".pt-active-*"))
    for each in left:
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return "whole" if target.exists() and not one.old else "leftover" if left else "nothing", []


def fill(one: Writing, target: Path, rng: random.Random) -> tuple[str, Broken]:
    """Write with a limit on the size of files."""
    limit = rng.randrange(max(map(len, one.content.values())))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        one.write(target)

    child = forked(limited)
    child.join()
    code = child.exitcode
    broken = [] if code == 2 else [f"ended with {code}, limit {limit}"]
    return "refused" if code == 2 else "odd", broken + ["left a stump"] * (target.exists() and not one.old)


def race(one: Writing, target: Path, rng: random.Random) -> tuple[str, Broken]:
    """Two writers at once."""
    begin = time.time() + 0.01

    def wait_and_write(delay: float) -> None:
        time.sleep(max(0.0, begin + delay - time.time()))
        one.write(target)

    delays = [0.0, rng.uniform(0, one.seconds) * rng.choice([0, 0.2, 1])]
    children = [forked(partial(wait_and_write, delay)) for delay in delays]
    for child in children:
        child.join()
    codes = sorted(child.exitcode for child in children)
    return str(codes), [] if codes == [0, 0 if one.old else 2] else [f"ended with {codes}"]


def of_writers(fault: Callable[..., tuple[str, Broken]], folder: Path, seed: int, only: tuple[str, ...] = ()) -> Trials:
    """A fault of one writer after the other."""
    rng, known = random.Random(seed), writers(folder)
    writings = [Writing(name, known[name], folder) for name in only or known]
    for number, one in enumerate(cycle(writings)):
        target = folder / f"{fault.__name__}-{number}" / "target"
        target.parent.mkdir()
        if one.old:
            target.write_bytes(b"old")
        outcome, broken = fault(one, target, rng)
        yield outcome, [f"{one.name}, {fault.__name__}: {each}" for each in broken + one.broken(target)]
        shutil.rmtree(target.parent)


def _flip(path: Path, rng: random.Random) -> str:
    """Flip one bit of a file; says which."""
    damaged = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(damaged))
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    return f"{path.parent.name}/{path.name}, bit {bit}"


def flips(folder: Path, seed: int) -> Trials:
    """Load a saved artifact with one flipped bit: ``refused``, or ``equal`` answers."""
    rng = random.Random(seed)
    for name, (made, _) in artifacts().items():
        made.save(folder / name)
    for name, (made, labels) in cycle(artifacts().items()):
        file = rng.choice(sorted((folder / name).iterdir()))
        saved, where = file.read_bytes(), _flip(file, rng)
        try:
            same = answers(type(made).load(folder / name), labels) == known_answers(name)
            yield "equal" if same else "changed", [] if same else [f"{where}: a changed answer"]
        except ValueError as error:
            rightly = file.name in str(error) and "\n" not in str(error)
            yield "refused", [] if rightly else [f"{where}: {error}"]
        except Exception as error:
            yield "odd error", [f"{where}: {type(error).__name__} {error}"]
        file.write_bytes(saved)


def store_flips(folder: Path, seed: int) -> Trials:
    """Flip one bit of the copy of a store, or of its journal: ``refused`` or ``equal``."""
    rng, copy = random.Random(seed), folder / "flipped.sqlite"
    for store in cycle([kept_store(folder / "s.sqlite"), kept_store(folder / "killed.sqlite", killed=True)]):
        Path(f"{copy}-journal").unlink(missing_ok=True)
        endings = [ending for ending in ("", "-journal") if Path(f"{store}{ending}").exists()]
        where = _flip(rng.choice([Path(shutil.copy(f"{store}{ending}", f"{copy}{ending}")) for ending in endings]), rng)
        try:
            found = stored_records(copy)["docno"].tolist()
            yield "equal", [] if found == [f"d{number}" for number in range(200)] else [f"{where}: other records"]
        except ValueError as error:
            yield "refused", [] if "\n" not in str(error) and len(str(error)) < 1000 else [f"{where}: {error}"]


def kill_store(folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Kill whoever keeps judgments while the file alone is copied: what the copy says."""
    folder.mkdir()
    path, (told, tell) = folder / "s.sqlite", os.pipe()

    def keep() -> None:
        store = Store(path, judged(0).plan)
        for number in count():
            store.append([judged(number)])
            os.write(tell, b"%d\n" % number)

    child = forked(keep)
    os.close(tell)
    before = int(os.read(told, 1 << 16).split(b"\n")[-2])
    time.sleep(rng.uniform(0, 0.2))
    alone = Path(shutil.copy(path, folder / "alone.sqlite"))
    child.kill()
    child.join()
    with os.fdopen(told, "rb") as rest:
        acknowledged = int((rest.read() or b"%d\n" % before).split(b"\n")[-2])
    both, made = Path(shutil.copy(path, folder / "both.sqlite")), folder / "made.sqlite"
    if (journal := Path(f"{path}-journal")).exists():
        shutil.copy(journal, f"{both}-journal")
    store = Store(path, judged(0).plan)
    made.write_bytes(store.copy())
    store.close()
    broken = []
    for each in (path, both, made):
        found = stored_records(each)["docno"].tolist()
        if found != [f"d{number}" for number in range(len(found))] or len(found) <= acknowledged:
            broken.append(f"{each.name}: {len(found)} of {acknowledged + 1} acknowledged judgments")
    try:
        number = len(stored_records(alone))
    except ValueError:
        return "refused copy", broken
    if number <= before:
        broken.append(f"a copy of the file alone lacks judgments: {number} of {before + 1}")
    return "whole copy", broken


def store_kills(folder: Path, seed: int) -> Trials:
    """Kill one server after the other."""
    rng = random.Random(seed)
    yield from (kill_store(folder / str(trial), rng) for trial in count())


KINDS: dict[str, Callable[..., Trials]] = {
    "kills": partial(of_writers, kill),
    "disks": partial(of_writers, fill),
    "races": partial(of_writers, race),
    "flips": flips,
    "store-flips": store_flips,
    "store-kills": store_kills,
}
