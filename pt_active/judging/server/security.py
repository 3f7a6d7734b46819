"""Who may ask for what, and what may an answer make a browser do?"""

from __future__ import annotations

import asyncio
import hashlib

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ORGANISER = ":organiser"
"""The name under which the organiser's token is kept; no judge can have it, since names hold no colon."""

MAX_BODY = 1_000_000  # Bytes of a request, at most
BODY_SECONDS = 30.0  # How long the body of a request may take; a browser gives up after 20 seconds
MOST_SENT = 8
"""Requests with a body that one link may have under way, so that no link fills the memory; a browser has one."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""What every answer says to the browser: run nothing but this server's own files, and tell nobody where you are."""


def with_safe_headers(app: ASGIApp) -> ASGIApp:
    """The application, with `HEADERS` on every answer, also on those about errors."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await app(scope, receive, send_safely if scope["type"] == "http" else send)

    return answer


def hashed(token: str) -> bytes:
    """What is looked up in place of the secret of a link."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


async def body_of(request: Request, kind: str) -> str:
    """The text that a request of a type sends."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    break
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, "The request took too long.") from None
    if len(body) > MAX_BODY or request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise HTTPException(415, f"Expected {kind} of at most a megabyte.")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise HTTPException(400, "Expected UTF-8.") from None
