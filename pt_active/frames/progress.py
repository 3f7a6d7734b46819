"""What is being done, while somebody waits for it?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def bar(items: Any = None, what: str = "", *, shown: bool = True, **how: Any) -> Any:
    """A bar of tqdm, which also counts a loop; a file that takes what a terminal would show gets nothing of it."""
    from tqdm.auto import tqdm

    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    return tqdm(items, desc=what, disable=not (shown and watched), **how)


@contextmanager
def working(step: str) -> Iterator[None]:
    """Show a step on a terminal's stderr while the block runs, and wipe the line at the end."""
    # A bar of tqdm leaves room for the bars of loops inside the step.
    with bar(what=step, shown="ipykernel" not in sys.modules, bar_format="{desc} …", leave=False):
        yield
