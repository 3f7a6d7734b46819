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
import sys
import tempfile
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path

from tqdm import tqdm

sys.path.append(str(Path(__file__).parents[1] / "shared"))

from faults import KINDS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        found = islice(KINDS[asked.kind](Path(place), asked.seed), asked.number)
        outcomes, wrongs = zip(*tqdm(found, total=asked.number, unit=" faults"), strict=True)
    broken = [each for wrong in wrongs for each in wrong]
    print(*broken[:20], sep="\n", end="\n" if broken else "")
    counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(Counter(outcomes).items()))
    print(f"{asked.number} {asked.kind}: {counted}; {len(broken)} broken promises")
    sys.exit(bool(broken))
