"""Compiled loops over ids, which are the bytes of Arrow's strings."""

from __future__ import annotations

import numba
import numpy as np

from pt_active.frames.compiling import compiled

_FNV_BASIS = np.uint64(0xCBF29CE484222325)  # Where the hash of an id starts (Fowler, Noll and Vo, 64 bits)
_FNV_PRIME = np.uint64(0x100000001B3)  # By what it is multiplied at each byte


@compiled(nogil=True, inline="always")
def _same(one, other, offsets, content):  # type: ignore[no-untyped-def]
    begin, size = offsets[one], offsets[one + 1] - offsets[one]
    shift = offsets[other] - begin
    if offsets[other + 1] - offsets[other] != size:
        return False
    for i in range(begin, begin + size):  # noqa: SIM110, since Numba compiles no generator
        if content[i] != content[i + shift]:
            return False
    return True


@compiled(nogil=True, parallel=True)
def first_with_id(rows, start, offsets, content):  # type: ignore[no-untyped-def]
    """The first row of the same group that has the same id. Shapes: start int64[m+1], offsets int64[N+1]."""
    first = np.empty(len(offsets) - 1, dtype=rows.dtype)
    for g in numba.prange(len(start) - 1):
        size = 1
        while size < 2 * (start[g + 1] - start[g]):
            size *= 2
        table = np.full(size, -1, dtype=np.int64)
        for place in range(start[g], start[g + 1]):
            z = rows[place]
            code = _FNV_BASIS
            for i in range(offsets[z], offsets[z + 1]):
                code = (code ^ np.uint64(content[i])) * _FNV_PRIME
            # The last bits of the product depend on the last bits of each byte alone.
            slot = np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))
            while table[slot] >= 0 and not _same(z, table[slot], offsets, content):
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = z
            first[z] = table[slot]
    return first
