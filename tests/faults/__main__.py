"""Does a fault lose something or change a number? Run by hand, with many more faults than the tests try.

    python tests/faults kills --number 300      # SIGKILL at random moments, over all writers
    python tests/faults disks --number 200      # files that must not grow, as on a full disk
    python tests/faults races --number 200      # two writers of one target
    python tests/faults flips --number 2000     # single bits of saved artifacts
    python tests/faults store-flips --number 2000  # single bits of the judgments of a server, and of their journal
    python tests/faults store-kills --number 200  # SIGKILL while judgments are kept and the file is copied

The exit status is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path

from faults import Broken, Reference, fill, flip, flip_store, kill, kill_store, race, trials
from kept_things import Writer, artifacts, kept_store, writers
from tqdm import tqdm

OF_WRITERS = {"kills": kill, "disks": fill, "races": race}


def faults(kind: str, seed: int, folder: Path, only: str | None) -> Iterator[tuple[str, Broken]]:
    """Fault after fault of a kind: what came of each, and the promises that it broke."""
    if kind == "store-kills":
        for trial in count():
            yield kill_store(folder / str(trial), random.Random(f"{seed} {trial}"))
    elif kind == "store-flips":
        stores = kept_store(folder / "s.sqlite"), kept_store(folder / "killed.sqlite", killed=True)
        for trial in count():
            yield flip_store(stores[trial % 2], folder / "flipped.sqlite", random.Random(f"{seed} {trial}"))
    elif kind == "flips":
        rng = random.Random(seed)
        saved = {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}
        for name in cycle(saved):
            yield flip(name, saved[name], rng)
    else:
        from pt_active.demo.run import run_demo, write_demo

        (folder / "files").mkdir()
        demo, references = run_demo(7), []
        for name, writer in (writers(folder / "files") | {"demo": Writer(lambda path: write_demo(demo, path))}).items():
            if only in (None, name):
                (folder / name).mkdir()
                references.append(Reference(name, writer, folder / name))
        yield from trials(OF_WRITERS[kind], references, folder, seed)


def main() -> int:
    """Try the faults, print how often each outcome came, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=(*OF_WRITERS, "flips", "store-flips", "store-kills"))
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NAME", help="one writer, such as demo")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes, broken = Counter[str](), Broken()
    with tempfile.TemporaryDirectory() as name:
        found = faults(asked.kind, asked.seed, Path(name), asked.only)
        for outcome, wrong in tqdm(islice(found, asked.number), total=asked.number, unit=" faults"):
            outcomes[outcome] += 1
            broken += wrong
    print(*broken[:20], sep="\n", end="\n" if broken else "")
    counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(f"{outcomes.total()} {asked.kind}: {counted}; {len(broken)} broken promises")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
