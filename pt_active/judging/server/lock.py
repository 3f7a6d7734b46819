"""Which process has a file to itself?"""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class Lock:
    """The right to write to a file, kept by a file beside it until the process ends. Windows has no such locks."""

    def __init__(self, path: Path) -> None:
        real = path.resolve()
        self._path = real.with_name(f"{real.name}-lock")
        while True:
            self._stream = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")
            try:
                if sys.platform != "win32":
                    fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = self._stream.read() or "another process"
                self._stream.close()
                raise ValueError(f"{path}: {owner} keeps judgments in it; end that server first") from None
            # Who had it before may have removed the file in between, and then somebody else has the next one.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._stream.fileno()), self._path.stat()):
                    break
            self._stream.close()
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        self._stream.truncate()
        self._stream.write(f"the process {os.getpid()} on {platform.node()}, since {since} UTC,")
        self._stream.flush()

    def release(self) -> None:
        """Let others have the file."""
        if not self._stream.closed:
            self._path.unlink(missing_ok=True)
            self._stream.close()
