"""Compiled loops over ids, which are the bytes of Arrow's strings, and over the ranks of their rows."""

from __future__ import annotations

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


@compiled(nogil=True)
def number_ids(begin, end, rows, offsets, content):  # type: ignore[no-untyped-def]
    """The first row of each id of each group, the number of the id of each place in ``rows``, and ids by group.

    The places of group x are those from ``begin[r, x]`` to ``end[r, x]`` for each r in turn. Shapes: begin, end
    int64[k, m], rows int[n], offsets int64[N+1].
    """
    most = 1
    for x in range(begin.shape[1]):
        number = 0
        for r in range(begin.shape[0]):
            number += end[r, x] - begin[r, x]
        most = max(most, number)
    table = np.empty(4 * most, dtype=np.int64)
    new, place, found = np.empty_like(rows), np.empty_like(rows), 0
    indptr = np.zeros(begin.shape[1] + 1, dtype=np.int64)
    for x in range(begin.shape[1]):
        number = 0
        for r in range(begin.shape[0]):
            number += end[r, x] - begin[r, x]
        size = 1
        while size < 2 * number:
            size *= 2
        table[:size] = -1
        for r in range(begin.shape[0]):
            for i in range(begin[r, x], end[r, x]):
                z = rows[i]
                code = _FNV_BASIS
                for c in range(offsets[z], offsets[z + 1]):
                    code = (code ^ np.uint64(content[c])) * _FNV_PRIME
                # The last bits of the product depend on the last bits of each byte alone.
                slot = np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))
                while table[slot] >= 0 and not _same(z, new[table[slot]], offsets, content):
                    slot = (slot + 1) & (size - 1)
                if table[slot] < 0:
                    table[slot] = found
                    new[found] = z
                    found += 1
                place[i] = table[slot]
        indptr[x + 1] = found
    return new[:found], place, indptr


@compiled(nogil=True)
def ranks_ascend(query, ranks):  # type: ignore[no-untyped-def]
    """Whether the rows of a query come by the first ranker's ranks, from 1 on, then by the next one's, each once."""
    k = len(ranks)
    held = np.full((k, ranks.max() + 1), -1, dtype=np.int64)
    for z in range(len(query)):
        first, before = k, k
        for r in range(k):
            rank = ranks[r, z]
            if rank > 0:
                first = min(first, r)
                if held[r, rank] == query[z]:
                    return False
                held[r, rank] = query[z]
        if z > 0 and query[z] == query[z - 1]:
            for r in range(k - 1, -1, -1):
                if ranks[r, z - 1] > 0:
                    before = r
            if first < before or (first == before < k and ranks[first, z] < ranks[first, z - 1]):
                return False
    return True
