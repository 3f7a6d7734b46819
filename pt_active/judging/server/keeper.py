"""How are records of many judges written without one waiting for the other's flush of the disk?"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from pt_active.judging.server.store import Entry, Store


@dataclass
class Keeper:
    """Writes the records of all requests that came while the disk was busy at once, since one flush serves them all.

    Attributes:
        store: Where records are kept.
    """

    store: Store
    _waiting: list[tuple[Sequence[Entry], asyncio.Future[None]]] = field(default_factory=list, init=False)
    _writing: asyncio.Task[None] | None = field(default=None, init=False)

    async def append(self, entries: Sequence[Entry]) -> None:
        """Keep records. When this returns, the disk has them."""
        if not entries:
            return
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((entries, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await written

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await run_in_threadpool(self.store.append, [entry for entries, _ in batch for entry in entries])
            except sqlite3.Error as error:
                for _, written in batch:
                    if not written.done():
                        written.set_exception(error)
            else:
                for _, written in batch:
                    if not written.done():
                        written.set_result(None)
