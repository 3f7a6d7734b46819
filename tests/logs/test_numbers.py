"""DocumentNumbers that come in pieces and stand in files are read as if they were one array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pt_active.logs import numbers
from pt_active.logs.numbers import DocumentNumbers


@pytest.mark.parametrize("few", [1, 1000])
@pytest.mark.parametrize(
    "pieces",
    [
        [np.arange(5.0), np.arange(7.0), np.empty(0)],
        [np.empty(0), np.ones(3), np.ones(4)],
        [np.ones(30), np.array([1.0, np.nan, 2.0])],
        [
            np.arange(12, dtype=np.int16).reshape(2, 6),
            np.empty((2, 0), dtype=np.int16),
            np.ones((2, 3), dtype=np.int16),
        ],
        [np.empty((2, 0), dtype=np.int16)],
    ],
    ids=["numbers", "one number", "one number at first", "rows", "nothing"],
)
def test_pieces_are_one_array(
    pieces: list[np.ndarray], few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers, "_AT_ONCE", 4)
    monkeypatch.setattr(numbers, "_FEW", few)
    kept, whole = DocumentNumbers(tmp_path), np.concatenate(pieces, axis=-1)
    for piece in pieces:
        kept.append(piece)
    some = np.array([0, 1, 2, 5]) if whole.shape[-1] > 5 else np.empty(0, dtype=np.int64)
    for found, true in ((kept[:], whole), (kept[2:6], whole[..., 2:6]), (kept.taken(some)[:], whole[..., some])):
        assert found.dtype == true.dtype
        np.testing.assert_array_equal(found, true)
    np.testing.assert_array_equal(np.concatenate([*kept.pieces(), np.empty(0)]), whole.ravel())
    assert not list(tmp_path.iterdir())


def test_one_number_that_repeats_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(numbers, "TemporaryFile")
    kept = DocumentNumbers()
    kept.append(np.ones(10**6))
    kept.append(np.ones(10**6))
    assert kept[10 : 2 * 10**6].strides == (0,)
