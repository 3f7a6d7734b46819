"""How does the server listen, how many connections may be open, and what do its links look like?

Anyone who reaches the port can open connections, without a link. Headers that do not come in time end a connection, and
where there are too many, the one that has asked for nothing for the longest time gives way to a new one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pt_active.judging.server.security import ORGANISER

HEADER_SECONDS = 10.0  # How long the headers of a request may take
MOST_CONNECTIONS = 1000
"""Connections that may be open, at most; half of the files that the process may open, if that is less."""

_SECONDS_TO_END = 5  # How long requests that are under way may take when the server is stopped
_BACKLOG = 32  # Connections that may wait until they are accepted; all of them are accepted at once
_SWITCH_SECONDS = 0.0005
"""How long the thread that computes an estimate keeps the interpreter until the one that answers judges gets it."""


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
            min(waiting, key=lambda each: (each.cycle is not None, each._since))._end()

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
        self._until = self.loop.call_later(HEADER_SECONDS, self._end)

    def _end(self) -> None:
        if not self._asks:
            self.connections.discard(self)
            self.transport.abort()


def listening(host: str, port: int) -> socket.socket:
    """A socket on an address of this machine."""
    try:
        # asyncio sends answers at once, rather than after the last is acknowledged, on sockets that say they are TCP.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}, port {port}") from error
    return opened


def links(people: Mapping[str, str], root: str) -> dict[str, str]:
    """Name → link of the organiser, under ``:organiser``, and of each judge."""
    return {name: f"{root}/{'organise' if name == ORGANISER else 'judge'}/{token}/" for name, token in people.items()}


def root_of(opened: socket.socket, host: str, address: str | None) -> str:
    """The beginning of all links; an address with a scheme is that of a proxy."""
    if address is not None and "://" in address:
        return address.rstrip("/")
    name = address or (socket.gethostname() if host in ("0.0.0.0", "::", "") else host)
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{opened.getsockname()[1]}"


def risk(host: str) -> str:
    """What is at risk if the server listens there; empty where only programs of this machine reach the address."""
    with suppress(ValueError):
        if host == "localhost" or ipaddress.ip_address(host).is_loopback:
            return ""
    who = "anyone on the network in between can read texts and labels, and can judge with the links that pass by"
    how = "keep 127.0.0.1 and let judges come through an SSH tunnel or a proxy with TLS"
    return f"listening on {host} without TLS: {who}; {how}"


def server_of(application: Any) -> uvicorn.Server:
    """A server that does not let those who only open connections keep judges out."""
    config = uvicorn.Config(
        application,
        http=ShortConnection,
        backlog=_BACKLOG,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    return uvicorn.Server(config)


def serve(application: Any, opened: socket.socket) -> None:
    """Answer requests until Ctrl-C."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server_of(application).run(sockets=[opened])
    except KeyboardInterrupt:
        # This is how a server is meant to end.
        pass
    finally:
        opened.close()
