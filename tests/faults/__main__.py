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
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "shared"))

from faults import (
    Broken,
    Reference,
    Writer,
    artifacts,
    fill,
    flip,
    flip_store,
    kept_store,
    kill,
    kill_store,
    race,
    trials,
    writers,
)
from tqdm import tqdm

from pt_active.demo.run import run_demo, write_demo

OF_WRITERS = {"kills": kill, "disks": fill, "races": race}


def faults(kind: str, seed: int, folder: Path) -> Iterator[tuple[str, Broken]]:
    """Fault after fault of a kind: what came of each, and the promises that it broke."""
    if kind == "store-kills":
        yield from (kill_store(folder / str(trial), random.Random(f"{seed} {trial}")) for trial in count())
    elif kind == "store-flips":
        stores = kept_store(folder / "s.sqlite"), kept_store(folder / "killed.sqlite", killed=True)
        for trial in count():
            yield flip_store(stores[trial % 2], folder / "flipped.sqlite", random.Random(f"{seed} {trial}"))
    elif kind == "flips":
        rng = random.Random(seed)
        saved = {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}
        yield from (flip(name, saved[name], rng) for name in cycle(saved))
    else:
        (folder / "files").mkdir()
        found = writers(folder / "files") | {"demo": Writer(partial(write_demo, run_demo(7)))}
        references = [Reference(name, writer, folder / name) for name, writer in found.items()]
        yield from trials(OF_WRITERS[kind], references, folder, seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=(*OF_WRITERS, "flips", "store-flips", "store-kills"))
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        found = islice(faults(asked.kind, asked.seed, Path(place)), asked.number)
        outcomes, wrongs = zip(*tqdm(found, total=asked.number, unit=" faults"), strict=True)
    broken = [each for wrong in wrongs for each in wrong]
    print(*broken[:20], sep="\n", end="\n" if broken else "")
    counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(Counter(outcomes).items()))
    print(f"{asked.number} {asked.kind}: {counted}; {len(broken)} broken promises")
    sys.exit(bool(broken))
