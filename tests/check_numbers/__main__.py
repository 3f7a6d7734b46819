"""Did a number of the package change? Run by hand before code is reorganised, and again after.

    python tests/check_numbers --write before.json        # what the package answers today
    python tests/check_numbers --check before.json        # ask again, and list all differences
    python tests/check_numbers --save-artifacts folder    # plans, audits and active tests, with their answers
    python tests/check_numbers --load-artifacts folder    # read them with the present code, and ask again

A case holds an answer or an error message, and the warnings. Numbers may differ by 1e-12, relative to the larger of
their size and 1; texts must be equal. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from of_data import grade_models, measures, sampling
from of_pairs import active_tests, audits
from of_plans import estimates, growth, outlooks, plans, reports, states
from of_studies import experiments, learners, simulations
from on_disk import load_artifacts, save_artifacts, saved
from told import Cases, answer
from tqdm import tqdm

TOLERANCE = 1e-12

PARTS: dict[str, Callable[[], Cases]] = {
    part.__name__: part
    for part in (
        *(grade_models, measures, sampling),
        *(plans, estimates, states, outlooks, growth, reports),
        *(audits, active_tests, simulations, learners, experiments, saved),
    )
}


def computed(parts: list[str]) -> dict[str, Any]:
    """Part → case → answer."""
    cases = [(part, name, ask) for part in parts for name, ask in PARTS[part]().items()]
    answers: dict[str, Any] = {part: {} for part in parts}
    for part, name, ask in (bar := tqdm(cases, unit="case")):
        bar.set_description(part)
        gc.freeze()  # statsmodels collects garbage at every correction of p-values
        answers[part][name] = answer(ask)
    return answers


def differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """One line for each number or text that changed."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key in before and key in after:
                yield from differences(before[key], after[key], f"{path} / {key}")
            else:
                yield f"{path} / {key}: {'is gone' if key in before else 'is new'}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{path} / {place}")
    elif not same(before, after):
        yield f"{path}: {before!r:.300} became {after!r:.300}"


def same(before: Any, after: Any) -> bool:
    """Whether two plain values are equal; NaN is equal to NaN."""
    if {type(before), type(after)} <= {int, float}:
        near = math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        return near or (math.isnan(before) and math.isnan(after))
    return type(before) is type(after) and before == after


def compared(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print all differences, and return the exit status."""
    lines = list(differences(before, json.loads(json.dumps(after)), ""))
    print(*lines, f"{len(lines)} differences", sep="\n")
    return int(bool(lines))


def main() -> int:
    """Run the requested task, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    for name, kind in (("write", "FILE"), ("check", "FILE"), ("save-artifacts", "DIR"), ("load-artifacts", "DIR")):
        task.add_argument(f"--{name}", metavar=kind, type=Path)
    parser.add_argument("--only", metavar="PART", nargs="+", choices=PARTS, help=f"some of {', '.join(PARTS)}")
    asked = parser.parse_args()
    parts = asked.only or list(PARTS)
    folder = asked.load_artifacts or asked.save_artifacts
    file = folder / "answers.json" if folder else asked.check or asked.write
    if asked.check or asked.load_artifacts:
        before = json.loads(file.read_text(encoding="utf-8"))
        before = {part: before.get(part, {}) for part in parts} if asked.only else before
        return compared(before, computed(parts) if asked.check else load_artifacts(folder))
    answers = save_artifacts(folder) if folder else computed(parts)
    file.write_text(json.dumps(answers, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
