"""How does the server listen, and what do its links look like?"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn

from pt_active.judging.server.limits import ShortConnection, log_seldom
from pt_active.judging.server.security import ORGANISER

_SECONDS_TO_END = 5  # How long requests that are under way may take when the server is stopped

_SWITCH_SECONDS = 0.0005
"""How long the thread that computes an estimate keeps the interpreter until the one that answers judges gets it."""

_BACKLOG = 32  # Connections that may wait until they are accepted; all of them are accepted at once


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
    folder = {name: "organise" if name == ORGANISER else "judge" for name in people}
    return {name: f"{root}/{folder[name]}/{token}/" for name, token in people.items()}


def root_of(opened: socket.socket, host: str, address: str | None, secure: bool) -> str:
    """The beginning of all links."""
    name = address or (socket.gethostname() if host in ("0.0.0.0", "::", "") else host)
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if secure else 'http'}://{shown}:{opened.getsockname()[1]}"


def is_local(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def risk(host: str, secure: bool) -> str:
    """What is at risk if the server listens there; empty if nothing is."""
    if secure or is_local(host):
        return ""
    return (
        f"listening on {host} without TLS: whoever is on the network between can read texts and labels, and can judge "
        "with the links that pass by. Give --certificate and --key, or keep 127.0.0.1 and let judges come through an "
        "SSH tunnel or a proxy with TLS"
    )


def server_of(application: Any, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Server:
    """A server that does not let those who only open connections keep judges out."""
    config = uvicorn.Config(
        application,
        http=ShortConnection,
        backlog=_BACKLOG,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    log_seldom()
    return uvicorn.Server(config)


def serve(application: Any, opened: socket.socket, certificate: Path | None = None, key: Path | None = None) -> None:
    """Answer requests until Ctrl-C."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server_of(application, certificate, key).run(sockets=[opened])
    except KeyboardInterrupt:
        # This is how a server is meant to end.
        pass
    finally:
        opened.close()
