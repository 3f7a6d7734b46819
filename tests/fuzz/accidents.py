"""What may happen to the bytes of a small file."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

PIECES = [  # What is put into files
    *(b" ", b"\t", b",", b";", b'"', b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xc2\xa0"),
    *b"nan inf True 1e5 -1 9 0.5 1_0 0x1 ' =1+1 \x1b[31m 007 XFD1048576 { } [ ] : null NaN \\u0000 \\".split(),
    *(b"", b"  ", b"9" * 400, b'"label": 3,', b'"qid": ["a"],', b"\x0b", b"\x85"),
]


def damaged(content: bytes, rng: np.random.Generator, pieces: Sequence[bytes] = PIECES) -> bytes:
    """A file after one to three random accidents."""
    for _ in range(rng.integers(1, 4)):
        accident = ACCIDENTS[rng.integers(len(ACCIDENTS))]
        content = accident(content, rng, pieces[rng.integers(len(pieces))])
    return content


def flipped(content: bytes, rng: np.random.Generator, piece: bytes = b"") -> bytes:
    """Flip one bit."""
    if not content:
        return content
    changed = bytearray(content)
    changed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cut(content: bytes, rng: np.random.Generator, piece: bytes = b"") -> bytes:
    """Keep the beginning alone."""
    return content[: rng.integers(len(content) + 1)]


def _inserted(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    at = rng.integers(len(content) + 1)
    return content[:at] + piece + content[at:]


def _cut_out(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    at = rng.integers(len(content) + 1)
    return content[:at] + content[at + rng.integers(1, 9) :]


def _doubled(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    """Say one key of a JSON object twice."""
    found = list(re.finditer(rb'"\w+": ("[^"]*"|[0-9.]+),?', content))
    if not found:
        return content
    one = found[rng.integers(len(found))]
    return content[: one.start()] + one[0].rstrip(b",") + b", " + content[one.start() :]


def _overwritten(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    """Put a page of a disk, or of zeros, in the place of another one."""
    size = 512 if len(content) > 2048 else 16
    to, start = rng.integers(max(len(content) // size, 1), size=2) * size
    page = content[start : start + size] if rng.random() < 0.5 else bytes(size)
    return content[:to] + page + content[to + size :]


def _lines(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    """Double, swap or remove lines, or change a cell of one."""
    lines = content.splitlines(keepends=True) or [b""]
    i, j = rng.integers(len(lines), size=2)
    match rng.integers(6):
        case 0:
            lines.insert(j, lines[i])
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            del lines[i]
        case _:
            parts = re.split(rb"([ \t,])", lines[i].rstrip(b"\n"))
            j, k = 2 * rng.integers((len(parts) + 1) // 2, size=2)
            match rng.integers(4):
                case 0:
                    parts[j:j] = [piece, *(parts[1:2] or [b","])]
                case 1:
                    del parts[j : j + 2]
                case 2:
                    parts[j] = piece
                case _:
                    parts[j], parts[k] = parts[k], parts[j]
            lines[i] = b"".join(parts) + b"\n"
    return b"".join(lines)


def _other_ends(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    return content.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\n\r")[rng.integers(4)])


def _other_encoding(content: bytes, rng: np.random.Generator, piece: bytes) -> bytes:
    name = ("utf-16", "utf-8-sig", "latin-1", "utf-16-le")[rng.integers(4)]
    return content.decode("utf-8", "replace").encode(name, "replace")


ACCIDENTS = (
    *(flipped, flipped, _inserted, _inserted, cut, _cut_out, _doubled, _overwritten),
    *(_lines, _lines, _lines, _lines, _lines, _lines, _other_ends, _other_encoding),
)
