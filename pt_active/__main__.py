"""``python -m pt_active`` is the ``pt-active`` command."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the ``pt-active`` command, which Ctrl-C ends with one line even while modules are imported."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from pt_active.cli.app import main as run

    run(before)


def _leave(*signalled: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
