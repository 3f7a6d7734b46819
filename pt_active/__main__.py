"""``python -m pt_active`` is the ``pt-active`` command."""

from __future__ import annotations

import os
from _signal import SIGINT, default_int_handler, getsignal, signal  # The module ``signal`` takes longer to import


def main() -> None:
    """Run the ``pt-active`` command, which Ctrl-C ends with one line even while modules are imported."""
    before = getsignal(SIGINT)
    if before is default_int_handler:
        signal(SIGINT, _leave)
    from pt_active.cli.app import main as run

    run(before)


def _leave(*signalled: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
