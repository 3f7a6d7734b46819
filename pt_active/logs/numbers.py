"""Where are numbers of documents kept, if there are too many for memory?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

_AT_ONCE = 1 << 20  # DocumentNumbers that are read at a time where all are read
_FEW = 64  # Where less than one in so many documents is asked for, these alone are read


class DocumentNumbers:
    """DocumentNumbers of N documents, [..., N], which come piece by piece and go to files without names."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._files, self._length = folder, list[Any](), 0
        self._first = np.empty(0)  # [..., 1], the number of the first document

    def append(self, piece: np.ndarray) -> None:
        """Add the numbers of the next documents; while all are the same one, there is no file."""
        if not self._length:
            self._first = piece[..., :1].copy()
        if not self._files and piece.size and (piece.ndim > 1 or (piece != self._first).any()):
            self._files = [TemporaryFile(dir=self._folder) for _ in range(self._first.size)]  # noqa: SIM115
            for start in range(0, self._length, _AT_ONCE):
                self._write(np.repeat(self._first, min(_AT_ONCE, self._length - start)))
        if self._files:
            self._write(piece)
        self._length += piece.shape[-1]

    def _write(self, piece: np.ndarray) -> None:
        for file, row in zip(self._files, piece.reshape(len(self._files), -1), strict=True):
            file.seek(0, 2)
            file.write(np.ascontiguousarray(row).data)

    def __getitem__(self, documents: slice) -> np.ndarray:
        start, stop, _ = documents.indices(self._length)
        if not self._files:
            return np.broadcast_to(self._first, stop - start) if self._length else self._first
        found = np.empty((len(self._files), stop - start), self._first.dtype)
        for file, row in zip(self._files, found, strict=True):
            file.seek(start * found.itemsize)
            file.readinto(row.data)
        return found.reshape(*self._first.shape[:-1], -1)

    def pieces(self) -> Iterator[np.ndarray]:
        """All numbers, one-dimensional, of the first documents first, and row by row."""
        for row in range(max(1, len(self._files))):
            for start in range(0, self._length, _AT_ONCE):
                yield self[start : start + _AT_ONCE].reshape(max(1, len(self._files)), -1)[row]

    def taken(self, documents: np.ndarray) -> DocumentNumbers:
        """The numbers of some documents, int64[n]."""
        found = DocumentNumbers(self._folder)
        if len(documents) * _FEW > self._length:
            whole = self[:]
            for start in range(0, len(documents), _AT_ONCE):
                found.append(whole[..., documents[start : start + _AT_ONCE]])
            return found
        for run in np.split(documents, np.flatnonzero(np.diff(documents) != 1) + 1):
            found.append(self[slice(run[0], run[-1] + 1) if len(run) else slice(0)])
        return found
