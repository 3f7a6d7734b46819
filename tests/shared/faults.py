"""Everything that is saved, the faults that may befall it, and the promises that they must not break."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from samples import small_pool, wanted
from typer.testing import CliRunner

from pt_active import ActiveTest, Plan, Report
from pt_active.cli.app import app
from pt_active.frames.atomic import write_file
from pt_active.judging.server.store import DOUBLE_SHARE, Entry, Store, stored_records
from pt_active.risk import Audit, ZeroOne

Artifact = Plan | Audit | ActiveTest


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


class Writer(NamedTuple):
    """Something that writes a file or a folder to a path, and whether the path may exist."""

    write: Callable[[Path], object]
    again: bool = False


def _command(words: str, path: Path) -> None:
    """Run ``pt-active`` with ``--out``; what it complains of is raised."""
    result = CliRunner().invoke(app, [*words.split(), "--out", str(path)])
    if result.exit_code:
        raise OSError(result.stderr)


def writers(files: Path) -> dict[str, Writer]:
    """Name → writer of everything that the package saves; the folder is for the inputs of commands."""
    found = {name: Writer(made.save) for name, (made, _) in artifacts().items()}
    plan, labels = artifacts()["plan"]
    for format in ("trec", "csv", "jsonl"):
        found[f"export-{format}"] = Writer(partial(plan.export, format=format))
    # Its page is drawn once, so that faults hit the writing.
    report = Report.of(plan, labels)
    page = report.to_html()
    object.__setattr__(report, "to_html", lambda: page)
    found["report"] = Writer(report.save)
    found["page"] = Writer(lambda path: write_file(path, "new\n" * 50_000, replace=True), again=True)
    if not (files / "plan").exists():
        plan.save(files / "plan")
        write_file(files / "labels.csv", labels.to_csv(index=False))
        small_pool().to_parquet(files / "pool.parquet")
    for words in (
        f"export {files}/plan --format csv",
        f"report {files}/plan {files}/labels.csv",
        f"simulate {files}/pool.parquet --measure DCG@4 --repetitions 3 --budget 40 --design passive --quiet",
    ):
        found[f"pt-active {words.split()[0]}"] = Writer(partial(_command, words))
    return found


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


def killed(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


Broken = list[str]
"""The promises that were broken, one line each."""


class Reference:
    """What a writer writes when nothing happens, and how long that takes."""

    def __init__(self, name: str, writer: Writer, folder: Path) -> None:
        self.name, self.writer = name, writer
        folder.mkdir(exist_ok=True)
        writer.write(folder / "first")
        began = time.perf_counter()
        writer.write(folder / "whole")
        self.seconds = time.perf_counter() - began
        self.content = content(folder / "whole")

    def place(self, folder: Path) -> Path:
        """A new folder with the target in it; the old content if the writer replaces it."""
        folder.mkdir()
        if self.writer.again:
            (folder / "target").write_bytes(b"old")
        return folder / "target"

    def broken(self, target: Path, what: str, leftovers: bool = False) -> Broken:
        """What is wrong after a fault, which may have left files that are nobody's target, and after writing again."""
        wrong = []
        if not leftovers:
            wrong += self._left(target, what)
        for each in target.parent.glob(".pt-active-*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        there = target.exists()
        if there and content(target) not in (self.content, {".": b"old"} if self.writer.again else self.content):
            wrong.append(f"{self.name}: {what} left something else at the target")
        if self.writer.again or not there:
            self.writer.write(target)
        if content(target) != self.content:
            wrong.append(f"{self.name}: after {what} the target could not be written")
        return wrong + self._left(target, what)

    def _left(self, target: Path, what: str) -> Broken:
        return [f"{self.name}: {what} left {each.name}" for each in target.parent.iterdir() if each != target]


def kill(reference: Reference, folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Kill a writer at a random moment; what was there afterwards, and the broken promises."""
    target = reference.place(folder)
    pid = child(lambda: reference.writer.write(target))
    time.sleep(rng.uniform(0, 1.3 * reference.seconds))
    killed(pid)
    left = any(each != target for each in folder.iterdir())
    state = "whole" if target.exists() and not reference.writer.again else "leftover" if left else "nothing"
    return state, reference.broken(target, "a kill", leftovers=True)


def fill(reference: Reference, folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Write with a limit on the size of files; whether it failed, and the broken promises."""
    target = reference.place(folder)
    limit = rng.randrange(max(map(len, reference.content.values())))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        reference.writer.write(target)

    code = ended(child(limited))
    broken = [] if code == 2 else [f"{reference.name}: a full disk (limit {limit}) ended with {code}"]
    if target.exists() and not reference.writer.again:
        broken.append(f"{reference.name}: a full disk left a stump")
    return "refused" if code == 2 else "odd", broken + reference.broken(target, "a full disk")


def race(reference: Reference, folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Two writers at once; how they ended, and the broken promises."""
    target = reference.place(folder)
    begin = time.time() + 0.01

    def wait_and_write(delay: float) -> None:
        time.sleep(max(0.0, begin + delay - time.time()))
        reference.writer.write(target)

    delays = [0.0, rng.uniform(0, reference.seconds) * rng.choice([0, 0.2, 1])]
    codes = sorted(map(ended, [child(lambda delay=delay: wait_and_write(delay)) for delay in delays]))
    wanted = [0, 0] if reference.writer.again else [0, 2]
    broken = [] if codes == wanted else [f"{reference.name}: two writers ended with {codes}"]
    return str(codes), broken + reference.broken(target, "two writers")


def _flip(path: Path, rng: random.Random) -> int:
    """Flip one bit of a file; which."""
    damaged = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(damaged))
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    return bit


def flip(name: str, folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Flip one bit of a saved artifact and load it; ``refused``, ``equal`` or ``changed``, and the broken promises."""
    file = rng.choice(sorted(folder.iterdir()))
    saved = file.read_bytes()
    where = f"{name}: {file.name}, bit {_flip(file, rng)}"
    made, labels = artifacts()[name]
    try:
        said = answers(type(made).load(folder), labels)
    except ValueError as error:
        rightly = file.name in str(error) and "\n" not in str(error)
        return "refused", [] if rightly else [f"{where}: {error}"]
    except Exception as error:
        return "odd error", [f"{where}: {type(error).__name__} {error}"]
    finally:
        file.write_bytes(saved)
    if said == known_answers(name):
        return "equal", []
    return "changed", [f"{where}: a changed answer"]


def flip_store(store: Path, copy: Path, rng: random.Random) -> tuple[str, Broken]:
    """Flip one bit of the copy of a store, or of its journal: ``refused`` or ``equal``, and the broken promises."""
    Path(f"{copy}-journal").unlink(missing_ok=True)
    endings = [ending for ending in ("", "-journal") if Path(f"{store}{ending}").exists()]
    file = rng.choice([Path(shutil.copy(f"{store}{ending}", f"{copy}{ending}")) for ending in endings])
    where = f"{file.name}, bit {_flip(file, rng)}"
    try:
        found = stored_records(copy)["docno"].tolist()
    except ValueError as error:
        return "refused", [] if "\n" not in str(error) and len(str(error)) < 1000 else [f"{where}: {error}"]
    return "equal", [] if found == [f"d{number}" for number in range(200)] else [f"{where}: other records"]


def kill_store(folder: Path, rng: random.Random) -> tuple[str, Broken]:
    """Kill whoever keeps judgments while the file alone is copied: what the copy says, and the broken promises."""
    folder.mkdir()
    path, (told, tell) = folder / "s.sqlite", os.pipe()

    def keep() -> None:
        store = Store(path, judged(0).plan)
        for number in count():
            store.append([judged(number)])
            os.write(tell, b"%d\n" % number)

    pid = child(keep)
    os.close(tell)
    before = int(os.read(told, 1 << 16).split(b"\n")[-2])
    time.sleep(rng.uniform(0, 0.2))
    alone = Path(shutil.copy(path, folder / "alone.sqlite"))
    killed(pid)
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


def trials(
    fault: Callable[..., tuple[str, Broken]], references: list[Reference], folder: Path, seed: int
) -> Iterator[tuple[str, Broken]]:
    """A fault of one writer after the other: what came of each, and the broken promises."""
    rng = random.Random(seed)
    for number, reference in enumerate(cycle(references)):
        place = folder / f"{fault.__name__}-{number}"
        yield fault(reference, place, rng)
        shutil.rmtree(place)
