"""How is a loop compiled, and where is what was compiled kept?

Numba keeps it beside the package or in the home folder, from where the next process takes it. In a container both are
often read-only: then a folder of temporary files of the same user takes their place, or none.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

_SETTING = "NUMBA_CACHE_DIR"
"""The environment variable that says where compiled loops are kept; processes that this one starts have it too."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like ``numba.njit``, which keeps what it has compiled where that is possible."""

    def compile(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no locator available
            if os.environ.get(_SETTING) != (instead := _folder()):
                _tell(instead)
                os.environ[_SETTING] = instead
                config.reload_config()
                return compile(function)
            return numba.njit(**options)(function)

    return compile


def _tell(instead: str) -> None:
    locked = "neither the folder of pt_active nor the home folder can be written"
    kept = f"are kept in {instead}" if instead else "are compiled again by every command, which takes seconds"
    warnings.warn(f"{locked}, so compiled loops {kept}; {_SETTING} names another folder", stacklevel=4)


def _folder() -> str:
    """A folder of temporary files that only this user can write, since code is loaded from it; empty if none is."""
    try:
        folder = Path(tempfile.gettempdir(), f"numba-of-pt-active-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except (OSError, AttributeError):  # nothing can be written; Windows, whose users have folders of their own
        return ""
    own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022
    return str(folder) if own else ""
