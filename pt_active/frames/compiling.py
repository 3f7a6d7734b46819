"""How is a loop compiled?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like ``numba.njit``, which keeps what it has compiled where that is possible."""

    def compile(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no locator available, as in a container that is read-only
            warnings.warn(
                "neither the folder of pt_active nor the home folder can be written, so every command compiles its "
                "loops again, which takes seconds; let NUMBA_CACHE_DIR name a folder that only you can write",
                stacklevel=1,
            )
            return numba.njit(**options)(function)

    return compile
