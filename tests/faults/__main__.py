"""Does a fault lose something or change a number? Run by hand, with many more faults than the tests try.

    python tests/faults kills --number 300      # SIGKILL at random moments, over all writers
    python tests/faults disks --number 200      # files that must not grow, as on a full disk
    python tests/faults full --on DIR           # a disk that is nearly full: a tmpfs of a few megabytes
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
from pathlib import Path

from faults import Reference, fill, fill_up, flip, flip_store, kill, kill_store, many, race
from kept_things import Writer, artifacts, kept_store, writers
from tqdm import tqdm

FAULTS = {"kills": kill, "disks": fill, "full": fill_up, "races": race}

OF_STORES = ("store-flips", "store-kills")
KINDS = (*FAULTS, "flips", *OF_STORES)


def demonstration() -> Writer:
    """The demo's folder with a plan and tables."""
    from pt_active.demo.run import run_demo, write_demo

    demo = run_demo(7)
    return Writer(lambda path: write_demo(demo, path))


def of_writers(
    kind: str, number: int, seed: int, folder: Path, place: Path, only: str | None
) -> tuple[Counter, list[str]]:
    """Faults of writers, in rounds of one of each, so that a bar can be shown."""
    (folder / "files").mkdir()
    files = folder / "files"
    all_writers = writers(files) | {"demo": demonstration()}
    references = []
    for name, writer in all_writers.items() if only is None else [(only, all_writers[only])]:
        (folder / name).mkdir()
        references.append(Reference(name, writer, folder / name))
        print(f"{name}: {1000 * references[-1].seconds:.0f} ms")
    outcomes, broken = Counter[str](), []
    for begin in tqdm(range(0, number, len(references)), unit=" rounds"):
        some = min(len(references), number - begin)
        found, wrong = many(FAULTS[kind], references[:some], some, place, seed + begin)
        outcomes += found
        broken += wrong
    return outcomes, broken


def of_artifacts(number: int, seed: int, folder: Path) -> tuple[Counter, list[str]]:
    """Flipped bits of every artifact in turn."""
    rng, outcomes, broken = random.Random(seed), Counter[str](), []
    saved = {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}
    for trial in tqdm(range(number), unit=" bits"):
        name = list(saved)[trial % len(saved)]
        outcome, wrong = flip(name, saved[name], rng)
        outcomes[outcome] += 1
        broken += wrong
    return outcomes, broken


def of_store(kind: str, number: int, seed: int, folder: Path) -> tuple[Counter, list[str]]:
    """Kills of whoever keeps judgments; or flipped bits of a store, and of one with a journal beside it."""
    stores = kept_store(folder / "s.sqlite"), kept_store(folder / "killed.sqlite", killed=True)
    outcomes, broken = Counter[str](), []
    for trial in tqdm(range(number), unit=" faults"):
        rng, wrong = random.Random(f"{seed} {trial}"), []
        if kind == "store-kills":
            outcome, wrong = kill_store(folder / str(trial), rng)
        else:
            outcome = flip_store(stores[trial % 2], folder / "flipped.sqlite", rng)
        outcomes[outcome] += 1
        broken += wrong
    known = ("refused", "equal", "refused copy", "whole copy")
    return outcomes, broken + [outcome for outcome in outcomes if outcome not in known]


def main() -> int:
    """Try the faults, print how often each outcome came, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="NAME", help="one writer, such as demo")
    parser.add_argument("--on", type=Path, metavar="DIR", help="where faults happen; default: a temporary folder")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        if arguments.kind in OF_STORES:
            outcomes, broken = of_store(arguments.kind, arguments.number, arguments.seed, Path(name))
        elif arguments.kind in FAULTS:
            place = arguments.on or Path(name)
            asked = arguments.kind, arguments.number, arguments.seed
            outcomes, broken = of_writers(*asked, Path(name), place, arguments.only)
        else:
            outcomes, broken = of_artifacts(arguments.number, arguments.seed, Path(name))
    print(*broken[:20], sep="\n", end="\n" if broken else "")
    counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(f"{outcomes.total()} {arguments.kind}: {counted}; {len(broken)} broken promises")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
