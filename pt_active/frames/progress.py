"""What is being done, while somebody waits for it?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

PATIENCE = 2.0  # Seconds after which a step is shown


def bar(items: Any = None, what: str = "", *, shown: bool = True, **how: Any) -> Any:
    """A bar of tqdm, which also counts a loop; a file that takes what a terminal would show gets nothing of it."""
    from tqdm.auto import tqdm

    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    return tqdm(items, desc=what, disable=not (shown and watched), **how)


@contextmanager
def working(step: str) -> Iterator[None]:
    """Show a step and its time on a terminal's stderr if the block takes long, and wipe the line at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    ended = Event()
    clock = Thread(target=_show, args=(step, ended), daemon=True)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def _show(step: str, ended: Event) -> None:
    if ended.wait(PATIENCE):
        return
    from tqdm import tqdm

    # A bar of tqdm leaves room for the bars of loops inside the step.
    with tqdm(desc=step, bar_format="{desc} … {elapsed}", leave=False) as line:
        line.start_t -= PATIENCE
        while not ended.wait(1):
            line.refresh()
