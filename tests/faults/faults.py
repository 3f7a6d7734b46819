"""Kills, full disks, two writers and flipped bits, and the promises that they must not break."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path

from kept_things import Writer, answers, artifacts, child, content, ended, judged, known_answers

from pt_active.judging.server.store import Store, stored_records

Broken = list[str]
"""The promises that were broken, one line each."""


class Reference:
    """What a writer writes when nothing happens, and how long that takes."""

    def __init__(self, name: str, writer: Writer, folder: Path) -> None:
        self.name, self.writer = name, writer
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
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
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
    """Flip one bit of a saved artifact and load it; ``refused``, ``equal`` or ``changed``, and the broken promises.

    Args:
        name: The artifact.
        folder: A saved copy, which is left as it was.
        rng: Chooses the file and the bit.
    """
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
    for old in copy.parent.glob(f"{copy.name}*"):
        old.unlink()
    endings = [ending for ending in ("", "-journal") if Path(f"{store}{ending}").exists()]
    files = [Path(shutil.copy(f"{store}{ending}", f"{copy}{ending}")) for ending in endings]
    file = rng.choice(files)
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
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(told, "rb") as rest:
        acknowledged = int((rest.read() or b"%d\n" % before).split(b"\n")[-2])
    both = Path(shutil.copy(path, folder / "both.sqlite"))
    if (journal := Path(f"{path}-journal")).exists():
        shutil.copy(journal, f"{both}-journal")
    store = Store(path, judged(0).plan)
    made = folder / "made.sqlite"
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
