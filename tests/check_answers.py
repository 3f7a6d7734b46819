# ruff: noqa: E402
"""Did an answer of the package change? Run by hand before code is reorganised, and again after.

    python tests/check_answers.py --write before.json tests/plans    # what the package answers the tests today
    python tests/check_answers.py --check before.json tests/plans    # ask again, and list all differences

The tests ask: what public classes and functions return to a test is kept under its name, with what is printed of it
and with the errors. Numbers may differ by 1e-12, relative to the larger of their size and 1; texts must be equal.
Tests that ask in one run alone, or ask something else, are counted. The exit status is 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # The package of this checkout; not this folder, whose `coverage` is not the module

import numpy as np
import pandas as pd
import pytest

import pt_active
from pt_active.showing.printed import Printed

TOLERANCE = 1e-12
MOST = 200  # Numbers of an array that are kept; of longer ones three sums
LEFT_OUT = ("versions", "inputs", "query", "text")  # They depend on the machine, or are long and repeated
ARTIFACTS = ("assessments", "manifest", "queries", "pairs")  # What is told of a plan, an audit, or an active test


def told(value: Any) -> Any:
    """The numbers and texts in anything that the package returns."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return re.sub(r"\b0x[0-9a-f]+", "0x", value)  # Where an object lies in memory
    if isinstance(value, (pd.Series, np.ndarray, np.generic)):
        values = np.asarray(value)
        if values.dtype.kind in "fiu" and values.size > MOST:
            finite = np.where(np.isfinite(values), values, 0.5).ravel()
            place = np.arange(values.size) % 97 + 1.0
            values = np.array([*values.shape, finite.sum(), finite @ finite, finite @ place])
        return told(values.tolist())
    if isinstance(value, (pd.DataFrame, Mapping)):
        return {str(key): told(value[key]) for key in value if key not in LEFT_OUT}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [told(each) for each in value]
    parts = {name: getattr(value, name, None) for name in ARTIFACTS}
    parts = {name: each for name, each in parts.items() if isinstance(each, (pd.DataFrame, dict))}
    if not parts and hasattr(value, "to_dict"):
        parts = value.to_dict()
    elif not parts and is_dataclass(value):
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
    printed = {"printed": str(value)} if isinstance(value, Printed) else {}
    return told({"kind": type(value).__name__, "is": parts} | printed)


class Kept:
    """What the package answers each test, kept by pytest."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = {}
        self.asked: list[Any] | None = None  # The answers of the test that is running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Keep what a test is answered, but nothing that its fixtures are."""
        self.asked = self.answers[item.nodeid] = []
        try:
            return (yield)
        finally:
            self.asked = None

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose answers to a test are kept, but not those to the package itself."""

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            asked, self.asked = self.asked, None
            answer: Any = None
            try:
                answer = function(*given, **named)
                return answer
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
                raise
            finally:
                if asked is not None:
                    asked.append([function.__qualname__, told(answer)])
                self.asked = asked

        return call

    def watch(self) -> None:
        """Watch all public functions, and the public methods of all public classes."""
        for name in pt_active.__all__:
            public = getattr(pt_active, name)
            if isfunction(public):
                setattr(pt_active, name, self.watched(public))
            ours = [kind for kind in public.__mro__ if "pt_active." in kind.__module__] if isclass(public) else []
            for kind in ours:
                for method, known in list(vars(kind).items()):
                    if method.startswith("_") or getattr(known, "__wrapped__", None):
                        continue
                    if isinstance(known, classmethod):
                        setattr(kind, method, classmethod(self.watched(known.__func__)))
                    elif isfunction(known):
                        setattr(kind, method, self.watched(known))


def differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """One line for each number or text that changed."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from differences(before[key], after[key], f"{path} / {key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{path} / {place}")
    elif {type(before), type(after)} <= {int, float}:
        near = math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        if not (near or (math.isnan(before) and math.isnan(after))):
            yield f"{path}: {before!r} became {after!r}"
    elif type(before) is not type(after) or before != after:
        yield f"{path}: {before!r:.300} became {after!r:.300}"


def compared(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print all differences, and return the exit status."""
    both = [test for test in after if test in before]
    same = [test for test in both if [name for name, _ in before[test]] == [name for name, _ in after[test]]]
    lines = [line for test in same for line in differences(before[test], after[test], test)]
    number = sum(len(after[test]) for test in same)
    print(*lines, f"{len(lines)} differences in {number} answers to {len(same)} tests", sep="\n")
    new, gone = len(after) - len(both), len(before) - len(both)
    print(f"{len(both) - len(same)} tests ask something else, {new} are new, {gone} are gone")
    return int(bool(lines))


def main() -> int:
    """Run the tests, and write or compare what they are answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--write", metavar="FILE", type=Path)
    task.add_argument("--check", metavar="FILE", type=Path)
    asked, tests = parser.parse_known_args()
    kept = Kept()
    kept.watch()
    # A folder of temporary files with the same name each time, since messages have it.
    folder = Path(tempfile.gettempdir(), "pt-active-answers")
    usual = ("-n", "0", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", f"--basetemp={folder}")
    pytest.main([*usual, *tests], plugins=[kept])
    after = json.loads(json.dumps(kept.answers))
    if asked.check:
        return compared(json.loads(asked.check.read_text(encoding="utf-8")), after)
    asked.write.write_text(json.dumps(after), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
