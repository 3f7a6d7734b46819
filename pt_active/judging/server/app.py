"""Which page or answer belongs to which address?

A judge's pages are below ``/judge/TOKEN/``, the organiser's below ``/organise/TOKEN/``. A token is all that is needed,
so links must go to the right people only. There are no cookies that another site's page could use: without a token it
can neither judge nor decide.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from pt_active.frames.tables import json_value
from pt_active.frames.visible import json_text
from pt_active.frames.worklists import FORMAT, FORMATS
from pt_active.judging.server.campaign import Campaign, Refused
from pt_active.judging.server.organiser import Organiser
from pt_active.judging.server.security import (
    MOST_SENT,
    ORGANISER,
    body_of,
    hashed,
    with_safe_headers,
)
from pt_active.judging.server.store import BUSY, is_busy
from pt_active.judging.server.templates import FILES, PAGES, environment

_NOT_KEPT = "the server could not write to its disk, so nothing was kept"
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
Page = Callable[[Request], Awaitable[Response]]


@dataclass
class Site:
    """All pages of a campaign."""

    campaign: Campaign
    organiser: Organiser  # what the organiser sees and decides
    guideline: str = ""  # HTML of the guideline, made by `guideline_html`; empty if there is none

    def __post_init__(self) -> None:
        self._templates = environment(self.campaign.plan.measure)
        self._sent = Counter[str]()  # how many requests with a body each has under way
        # Looking up the hash takes a time that says nothing about the tokens.
        self._names = {hashed(token): name for name, token in self.campaign.store.people().items()}

    def application(self) -> Starlette:
        """The application."""
        judge, organise = "/judge/{token}/", "/organise/{token}/"
        pages = [
            (judge, "", self._judge_page, "GET"),
            (judge, "work", self._work, "GET"),
            (judge, "records", self._keep, "POST"),
            (organise, "", self._overview, "GET"),
            (organise, "state", self._state, "GET"),
            (organise, "adjudicate", self._queue, "GET"),
            (organise, "adjudicate", self._adjudicate, "POST"),
            (organise, "judgments.qrels", self._qrels, "GET"),
            (organise, "judgments.sqlite", self._copy, "GET"),
        ]
        routes = [Route(f"{who}{name}", self._for(page, who == organise), methods=[m]) for who, name, page, m in pages]
        failures = {HTTPException: self._failed, sqlite3.Error: self._disk_failed}
        common = [Route("/files/{name}", self._file), Route("/health", self._health)]
        return Starlette(
            routes=[*common, *routes], middleware=[Middleware(with_safe_headers)], exception_handlers=failures
        )

    def _for(self, page: Page, organiser: bool) -> Page:
        async def guarded(request: Request) -> Response:
            name = self._names.get(hashed(request.path_params["token"]))
            if name is None or (name == ORGANISER) != organiser:
                raise HTTPException(403, "This link is not valid. Ask the organiser for yours.")
            request.state.name = name
            if request.method != "POST":
                return await page(request)
            if self._sent[name] >= MOST_SENT:
                raise HTTPException(429, "Too many requests from this link at once. Try again.")
            self._sent[name] += 1
            try:
                return await page(request)
            finally:
                self._sent[name] -= 1

        return guarded

    async def _failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if request.url.path.endswith(("/work", "/records", "/state")):
            return _json({"error": error.detail}, error.status_code)
        said = error.detail if error.status_code != 404 else "There is nothing here. Open the link that you were given."
        return self._page("message.html.jinja", error.status_code, title=str(error.status_code), message=said)

    async def _disk_failed(self, request: Request, error: Exception) -> Response:
        busy = HTTPException(503, f"{BUSY}, so nothing was kept; the organiser can end that process")
        return await self._failed(request, busy if is_busy(error) else HTTPException(507, _NOT_KEPT))

    def _page(self, template: str, code: int = 200, **values: Any) -> Response:
        values |= {"campaign": self.campaign, "grades": self.campaign.grades, "guideline": Markup(self.guideline)}
        return HTMLResponse(self._templates.get_template(template).render(**values), code)

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            raise HTTPException(404)
        return Response((PAGES / name).read_bytes(), media_type=FILES[name])

    async def _health(self, request: Request) -> Response:
        """Whether the server answers."""
        return PlainTextResponse("ok\n")

    # --- judges -------------------------------------------------------------------------------------------------------

    async def _judge_page(self, request: Request) -> Response:
        name = request.state.name
        # Under this name the browser keeps what is not sent yet; it tells nothing about the judge's token.
        key = hashed(f"{self.campaign.store.plan} {name}").hex()[:16]
        return self._page("judge.html.jinja", judge=name, key=key)

    async def _work(self, request: Request) -> Response:
        return _json(await self.campaign.work_for(request.state.name))

    async def _keep(self, request: Request) -> Response:
        body = await body_of(request, _JSON)
        try:
            sent = json_value(body)
        except (ValueError, RecursionError):
            raise HTTPException(400, "Expected a JSON list of records.") from None
        try:
            return _json(await self.campaign.keep(request.state.name, sent))
        except Refused as reason:
            raise HTTPException(400, str(reason)) from None

    # --- the organiser ------------------------------------------------------------------------------------------------

    async def _overview(self, request: Request) -> Response:
        organiser = self.organiser
        return self._page("organiser.html.jinja", asked=organiser.asked, **await organiser.overview())

    async def _state(self, request: Request) -> Response:
        return _json(await self.organiser.overview())

    async def _queue(self, request: Request) -> Response:
        return self._page("adjudicate.html.jinja")

    async def _adjudicate(self, request: Request) -> Response:
        form = await _form(request)
        try:
            qid, docno = (json_value(form.get(name, "")) for name in ("qid", "docno"))
            await self.campaign.adjudicate(qid, docno, int(form.get("label", "")))
        except (ValueError, Refused) as reason:
            raise HTTPException(400, f"This was not kept: {reason}.") from None
        return RedirectResponse("adjudicate", 303)

    async def _qrels(self, request: Request) -> Response:
        try:
            return _download(FORMATS[FORMAT].write(self.organiser.qrels()), "judgments.qrels", "text/plain")
        except ValueError as reason:
            raise HTTPException(409, str(reason)) from None

    async def _copy(self, request: Request) -> Response:
        content = await run_in_threadpool(self.campaign.store.copy)
        return _download(content, "judgments.sqlite", "application/vnd.sqlite3")


def _json(content: Mapping[str, Any], code: int = 200) -> Response:
    return Response(json_text(content).encode("utf-8"), code, media_type=_JSON)


def _download(content: str | bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(content, headers=headers, media_type=kind)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    fields = parse_qs(await body_of(request, _FORM), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}
