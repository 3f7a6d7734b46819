"""How many connections may be open, how long may a request take, and how often is said that it took longer?

Whoever reaches the port can open connections, without a link. Headers that do not come in time end a connection, and
where there are too many, the one that has asked for nothing for the longest time gives way to a new one.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

from pt_active.frames.visible import visible_field

HEADER_SECONDS = 10.0  # How long the headers of a request may take

MOST_CONNECTIONS = 1000
"""Connections that may be open, at most; half of the files that the process may open, if that is less."""

LOG_SECONDS = 60.0  # Time between two lines about requests that went wrong, at least

_logger = logging.getLogger("uvicorn.error")


def most_connections() -> int:
    """How many connections may be open now."""
    try:
        import resource
    except ImportError:  # Windows
        return min(MOST_CONNECTIONS, 256)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_CONNECTIONS if files < 0 else max(1, min(MOST_CONNECTIONS, files // 2))


class ShortConnection(H11Protocol):
    """A connection that must send headers in time, and gives way to newer ones while it asks for nothing."""

    _until: asyncio.TimerHandle | None = None

    @property
    def _asks(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and end another if there are too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._wait()
        if len(self.connections) > most_connections():
            waiting = [each for each in self.connections if isinstance(each, ShortConnection) and not each._asks]
            min(waiting, key=lambda each: (each.cycle is not None, each._since))._end("too many connections are open")

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        if self._asks and self._until is not None:
            self._until.cancel()
            self._until = None
        elif not self._asks and self._until is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that a connection has ended."""
        if self._until is not None:
            self._until.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._until = self.loop.call_later(HEADER_SECONDS, self._end, "the headers of a request did not come in time")

    def _end(self, why: str) -> None:
        if not self._asks:
            self.connections.discard(self)
            _logger.warning("%s, so a connection was closed", why)
            self.transport.abort()


class Seldom(logging.Handler):
    """Prints one line a minute at most, and how many it left out."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._next, self._left_out = 0.0, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line, or count it."""
        now = time.monotonic()
        if now < self._next:
            self._left_out += 1
            return
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage().strip() + (f": {type(error).__name__}: {error}" if error is not None else "")
        more = f" ({self._left_out} more lines since the last one)" if self._left_out else ""
        self._next, self._left_out = now + LOG_SECONDS, 0
        print(f"warning: {visible_field(' '.join(said.split()))[:500]}{more}", file=sys.stderr, flush=True)


def log_seldom() -> None:
    """Let the server and its event loop print `Seldom`, instead of a traceback for each connection."""
    handler = Seldom()
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
