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


@compiled(nogil=True, inline="always")
def _turned(word, bits):  # type: ignore[no-untyped-def]
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@compiled(nogil=True)
def siphashes(key, offsets, content, more_offsets, more_content):  # type: ignore[no-untyped-def]
    """uint64[n], what ``pd.util.hash_array`` gives ``id<tab>other id``, or the ids if ``more_offsets`` is empty.

    Shapes: key uint64[2], offsets and more_offsets int64[n+1], content and more_content uint8.
    """
    hashes, two = np.empty(len(offsets) - 1, dtype=np.uint64), len(more_offsets) > 0
    for z in range(len(hashes)):
        v0, v1 = key[0] ^ np.uint64(0x736F6D6570736575), key[1] ^ np.uint64(0x646F72616E646F6D)
        v2, v3 = key[0] ^ np.uint64(0x6C7967656E657261), key[1] ^ np.uint64(0x7465646279746573)
        first = offsets[z + 1] - offsets[z]
        size = first + (1 + more_offsets[z + 1] - more_offsets[z] if two else 0)
        for start in range(0, size + 8 - size % 8 + 1, 8):
            last = start > size
            word = np.uint64(0)
            for i in range(start, min(start + 8, size)):
                if i < first:
                    byte = content[offsets[z] + i]
                elif i == first:
                    byte = np.uint8(9)
                else:
                    byte = more_content[more_offsets[z] + i - first - 1]
                word |= np.uint64(byte) << np.uint64(8 * (i - start))
            if start + 8 > size and not last:
                word |= np.uint64(size & 0xFF) << np.uint64(56)
            if last:
                v2 ^= np.uint64(0xFF)
            else:
                v3 ^= word
            for _ in range(4 if last else 2):
                v0, v2 = v0 + v1, v2 + v3
                v1, v3 = _turned(v1, 13) ^ v0, _turned(v3, 16) ^ v2
                v0 = _turned(v0, 32)
                v2, v0 = v2 + v1, v0 + v3
                v1, v3 = _turned(v1, 17) ^ v2, _turned(v3, 21) ^ v0
                v2 = _turned(v2, 32)
            if not last:
                v0 ^= word
        # So far it is SipHash; pandas mixes its bits once more.
        code = v0 ^ v1 ^ v2 ^ v3
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[z] = code ^ (code >> np.uint64(31))
    return hashes
