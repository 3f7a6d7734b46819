"""Is the file beside a store there, whole, in which its last judgments are?

A write-ahead log (WAL) is a header and frames, one for each page of the database that was written. Checksums run over
all frames from the first, and SQLite reads up to the first that is wrong, without a word.
"""

from __future__ import annotations

import struct
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

_SQLITE = b"SQLite format 3\0"  # How a database begins
MODE = slice(18, 20)
"""Where a database says whether its last changes may stand in a log beside it."""

ALONE, _WITH_LOG = b"\1\1", b"\2\2"
_WRITE_SECONDS = 0.2  # After which a server has ended what it was writing
_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")  # https://www.sqlite.org/fileformat2.html#walformat
_SUMMED = 24, 8  # Bytes of the header, and of that of a frame, which the checksums are of
_MODULUS = 2**32
_LITTLE = 0x377F0682
"""How a log begins whose checksums take numbers from their last byte on; those from the first begin with one more."""


def is_store(path: str | Path) -> bool:
    """Whether a file is a database such as that of a judging server."""
    return _start_of(Path(path)).startswith(_SQLITE)


def _start_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        return stream.read(MODE.stop)


def warn_of_lost(path: Path, original: Path) -> bool:
    """Whether a store is without its log, which is a reason for a warning, as a damaged one is."""
    log = path.with_name(f"{path.name}-wal")
    gone = not log.exists() and is_store(path) and _start_of(path)[MODE] == _WITH_LOG
    if gone:
        said = f"its server had not ended, or was of an earlier version, and {original.name}-wal is not beside it"
    elif _is_damaged(log):
        said = f"{original.name}-wal, which has the last of them, is not as it was written"
    else:
        return False
    warnings.warn(f"{original}: {said}, so the last judgments may be missing", stacklevel=5)
    return gone


def _is_damaged(log: Path) -> bool:
    """Whether a log is torn, if there is one, and not only because a server writes to it just now."""
    with suppress(FileNotFoundError):
        if is_torn(log.read_bytes()):
            time.sleep(_WRITE_SECONDS)
            return is_torn(log.read_bytes())
    return False


def is_torn(log: bytes) -> bool:
    """Whether a frame that belongs to a log is not as it was written; a frame without its end was never finished."""
    if len(log) < _HEADER.size:
        return False
    magic, _, size, _, *salts, first, second = _HEADER.unpack_from(log)
    order = "<u4" if magic == _LITTLE else ">u4"
    sums = _summed(log[: _SUMMED[0]], order, (0, 0))
    if sums != (first, second) or not size:
        return True
    for start in range(_HEADER.size, len(log) - _FRAME.size - size + 1, _FRAME.size + size):
        _, _, *own, first, second = _FRAME.unpack_from(log, start)
        page = log[start + _FRAME.size : start + _FRAME.size + size]
        sums = _summed(log[start : start + _SUMMED[1]] + page, order, sums)
        if own != salts or sums != (first, second):
            # Frames that an earlier log left have other salts, both of them.
            rest = range(start, len(log) - _FRAME.size + 1, _FRAME.size + size)
            return any(np.equal(_FRAME.unpack_from(log, at)[2:4], salts).any() for at in rest)
    return False


def _summed(content: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    """The last two of ``t_k = t_{k-1} + t_{k-2} + x_k`` modulo 2³², x being the numbers, after those in ``sums``."""
    numbers = np.frombuffer(content, dtype=order).astype(np.uint64)
    grown = _fibonacci(len(numbers) + 1)

    def after(end: int) -> int:
        terms = numbers[:end] * grown[end - 1 :: -1] % _MODULUS
        return (int(terms.sum()) + sums[0] * int(grown[end - 1]) + sums[1] * int(grown[end])) % _MODULUS

    return after(len(numbers) - 1), after(len(numbers))


@cache
def _fibonacci(number: int) -> np.ndarray:
    """uint64[number], 1, 1, 2, 3, … modulo 2³²."""
    grown = [1, 1]
    while len(grown) < number:
        grown.append((grown[-1] + grown[-2]) % _MODULUS)
    return np.array(grown, dtype=np.uint64)
