"""What may happen to the bytes of a small file, and seed after seed of it by hand."""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

PIECES = [  # What is put into files
    *(b" ", b"\t", b",", b";", b'"', b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xc2\xa0"),
    *b"nan inf True 1e5 -1 9 0.5 1_0 0x1 ' =1+1 \x1b[31m 007 XFD1048576 { } [ ] : null NaN \\u0000 \\".split(),
    *(b"", b"  ", b"9" * 400, b'"label": 3,', b'"qid": ["a"],', b"\x0b", b"\x85", bytes(512)),
]
MARKS = (rb"", rb"[ \t,]", rb"[ \t,]", rb"\n", rb"\n")
"""Where accidents begin and end: anywhere, at cells or at lines."""

ENDS = (b"\r\n", b"\r", b"\n\n", b"\n\r")
ENCODINGS = ("utf-16", "utf-8-sig", "latin-1", "utf-16-le")


def damaged(content: bytes, rng: np.random.Generator, pieces: Sequence[bytes] = PIECES) -> bytes:
    """A file after one to three random accidents."""
    for _ in range(rng.integers(1, 4)):
        content = _accident(content, rng, pieces)
    return content


def _accident(content: bytes, rng: np.random.Generator, pieces: Sequence[bytes]) -> bytes:
    match rng.integers(16):
        case 0 | 1:
            return flipped(content, rng)
        case 2:
            return content.replace(b"\n", ENDS[rng.integers(4)])
        case 3:
            return content.decode("utf-8", "replace").encode(ENCODINGS[rng.integers(4)], "replace")
        case 4:
            return content[: rng.integers(len(content) + 1)]
    pattern = MARKS[rng.integers(len(MARKS))]
    marks = [0, *(found.end() for found in re.finditer(pattern, content)), len(content)]

    def piece() -> tuple[int, int]:
        """From a mark to one that is near."""
        start = rng.integers(len(marks) - 1)
        return marks[start], marks[min(start + rng.integers(1, 9 if pattern == b"" else 2), len(marks) - 1)]

    # A piece is inserted, or takes the place of another: one of the given, or one of the file itself.
    to, end = piece()
    start, stop = piece()
    new = content[start:stop] if rng.random() < 0.4 else pieces[rng.integers(len(pieces))]
    return content[:to] + new + content[to if rng.random() < 0.5 else end :]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip one bit."""
    changed = bytearray(content or b"\0")
    changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def by_hand(about: str, complaints: Callable[[int], list[str]]) -> bool:
    """Try seed after seed until the time is over, and print what is wrong: whether anything is."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--first", "--seed", type=int, default=1_000_000, help="the first seed")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong, end = 0, time.monotonic() + 60 * given.minutes + given.seconds
    for seed in count(given.first):
        found = complaints(seed)
        wrong += len(found)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
        if time.monotonic() > end:
            print(f"{seed + 1 - given.first} seeds tried, {wrong} with complaints")
            return wrong > 0
