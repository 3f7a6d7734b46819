"""Whoever opens connections, or sends half a request, keeps no judge waiting, and fills neither memory nor log."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from serving import in_thread, link, site_of

from pt_active import DCG, Plan
from pt_active.judging.server import security, serve
from pt_active.judging.server.app import Site


@pytest.fixture
def site(graded, tmp_path: Path) -> Site:
    return site_of(Plan.create(graded, None, DCG @ 10, budget=120, level="document", seed=5), tmp_path)


@pytest.fixture
def page(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page of a judge, of a site that is served by a thread of this process, which waits for no next request."""
    monkeypatch.setattr(serve.uvicorn, "Config", partial(serve.uvicorn.Config, timeout_keep_alive=0.1))
    with in_thread(site) as links:
        yield links["ann"]


@contextmanager
def connections(page: str, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent something, and wait."""
    address = "127.0.0.1", urlsplit(page).port
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(address, timeout=20)) for _ in range(number)]
        for each in opened:
            each.sendall(sent)
        yield opened


def half_a_body(site: Site, judge: str) -> bytes:
    head = f"POST {link(site, judge)}records HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: 900000\r\n\r\n[".encode()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost: a\r\n", b"GET /x HTTP/1.1\r\nhost: a\r\n\r\nGET"])
def test_a_connection_ends_whose_headers_do_not_come(page: str, monkeypatch, sent: bytes) -> None:
    monkeypatch.setattr(serve, "HEADER_SECONDS", 0.1)
    with connections(page, 1, sent) as (one,):
        while one.recv(1 << 16):
            pass


def test_half_requests_give_way_to_judges_with_one_line(page: str, site: Site, monkeypatch, capfd) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 8)
    with connections(page, 40, b"GET / HTTP/1.1\r\nhost: a\r\n") as waiting:
        assert httpx.get(f"{page}work", timeout=20).status_code == 200
        for each in waiting[:30]:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
    assert capfd.readouterr().err.count("\n") == 1


def test_the_files_that_a_process_may_open_bound_the_connections(monkeypatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    assert serve.most_connections() == 128
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert serve.most_connections() == serve.MOST_CONNECTIONS


def test_a_body_must_come_to_its_end_and_one_link_has_few_under_way(page: str, site: Site, monkeypatch) -> None:
    with connections(page, security.MOST_SENT, half_a_body(site, "ann")):
        with connections(page, 1, half_a_body(site, "ann")) as (one,):
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 429 ")
        assert httpx.get(f"{page}work", timeout=20).status_code == 200
        with connections(page, 1, half_a_body(site, "ben")) as (other,):
            other.sendall(b"x" * 899_999)
            assert other.recv(1 << 16).startswith(b"HTTP/1.1 400 ")
    monkeypatch.setattr(security, "BODY_SECONDS", 0.1)
    with connections(page, 1, half_a_body(site, "ben")) as (one,):
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 408 ")
