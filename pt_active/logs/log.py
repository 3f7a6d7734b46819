"""What do all that read a log have in common: the places of its queries, and checks of its columns?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from pt_active.frames.checks import some

DIGITS = 15  # Hexadecimal digits of a hash that make the place of a query: as many as fit into int64
NO_NUMBER, SEVERAL = -1.0, -2.0  # What stands for the traffic of a query that has none, or several different ones


def places(qids: Iterable[str], seed: int) -> np.ndarray:
    """int64[n], by which the queries of a log are ordered; DuckDB and Spark compute the same."""
    return np.array([place_of(seed, qid) for qid in qids], dtype=np.int64)


def place_of(seed: int, qid: str) -> int:
    """The place of one query."""
    return int(hashlib.md5(f"{seed}:{qid}".encode(), usedforsecurity=False).hexdigest()[:DIGITS], 16)


def check_columns(what: str, columns: Iterable[object], wanted: Sequence[str]) -> None:
    """Raise if a frame or a file lacks columns."""
    if absent := [name for name in wanted if name not in set(columns)]:
        raise ValueError(f"{what} needs the columns {', '.join(wanted)}; it lacks {some(absent)}")


def check_ids(what: str, kind: str) -> None:
    """Raise if qids have a type whose texts depend on who writes them."""
    if kind.lower().startswith(("double", "float", "decimal")):
        raise ValueError(f"{what}: qids must be texts or whole numbers, and the column has the type {kind}")
