"""Where are judgments kept so that none is lost once it is acknowledged?

One SQLite file in WAL mode. Each commit waits until the disk has it, so what `Store.append` returned from survives a
killed process and a lost machine. Triggers refuse to change or delete a record.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import pandas as pd

from pt_active.frames.checks import shown
from pt_active.frames.records import SAID_COLUMNS
from pt_active.judging.server.order import judges_of

_FORMAT = "pt-active judging 1"
"""What the file says it is; another version of the tables gets another number."""

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS records (
  number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, qid TEXT NOT NULL, docno TEXT NOT NULL,
  label INTEGER, annotator TEXT NOT NULL, status TEXT NOT NULL, time TEXT NOT NULL, note TEXT NOT NULL,
  plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS given (qid TEXT NOT NULL, docno TEXT NOT NULL, annotator TEXT NOT NULL, time REAL NOT NULL);
CREATE TRIGGER IF NOT EXISTS no_change BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records stay'); END;
CREATE TRIGGER IF NOT EXISTS no_removal BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records stay'); END;
"""

DOUBLE_SHARE = "double"
"""The setting that holds the share of documents that two people judge."""

_COLUMNS = ", ".join(SAID_COLUMNS)

_SQLITE = b"SQLite format 3\0"
"""How a database begins."""

_WAIT_SECONDS = 10
"""How long to wait for another process that writes."""


@dataclass(frozen=True)
class Entry:
    """A record with the key that its sender gave it, so that what is sent twice is kept once.

    The other attributes are `SAID_COLUMNS`, in their order; ``label`` is None unless the status is ``judged``.
    """

    key: str
    qid: str
    docno: str
    label: int | None
    annotator: str
    status: str
    time: str
    note: str
    plan: str


class Store:
    """The file of a campaign: its judges, and every record since its beginning.

    Args:
        path: The file, which is made if it does not exist. Only its owner may read it, since it holds the tokens.
        plan: The id of the plan.

    Raises:
        ValueError: If the file is none of a judging server, or is of another plan.
    """

    def __init__(self, path: str | Path, plan: str) -> None:
        self.path, self.plan = Path(path), plan
        self._waiting: list[tuple[Sequence[Entry], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path}: expected the judgments of a judging server; {error}") from error

    def _open(self) -> None:
        # Two connections, so that a commit that waits for the disk in another thread holds up no question.
        self._records, self._connection = self._connected("FULL"), self._connected("NORMAL")
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "about" not in tables:
            raise sqlite3.DatabaseError("it is another database")
        self._connection.executescript(_TABLES)
        self._check("format", _FORMAT, "the judgments of this version's judging server")
        self._check("plan", self.plan, f"judgments of the plan {self.plan}")

    def _connected(self, synchronous: str) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        return connection

    def _check(self, name: str, value: str, expected: str) -> None:
        known = self.setting(name)
        if known is None:
            self.set(name, value)
        elif known != value:
            raise ValueError(f"{self.path}: expected {expected}; got {shown(known)}")

    def close(self) -> None:
        """Close the file; what was acknowledged is on disk already."""
        self._records.close()
        self._connection.close()

    def setting(self, name: str) -> str | None:
        """A value that `set` kept, or None."""
        row = self._connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set(self, name: str, value: str) -> None:
        """Keep a value under a name, instead of an earlier one."""
        with self._connection as change:
            change.execute("INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = ?2", (name, value))

    def token(self, name: str) -> str:
        """The secret of a judge's link, the same at every start of the server; who is not known becomes a judge."""
        with self._connection as change:
            change.execute("INSERT OR IGNORE INTO people VALUES (?, ?)", (name, secrets.token_urlsafe(18)))
        return str(self._connection.execute("SELECT token FROM people WHERE name = ?", (name,)).fetchone()[0])

    def people(self) -> dict[str, str]:
        """Name → token of everyone who has a link."""
        return dict(self._connection.execute("SELECT name, token FROM people ORDER BY rowid"))

    def append(self, entries: Sequence[Entry]) -> None:
        """Keep records. When this returns, the disk has them, or had those with the same keys already.

        It may be called from another thread, but not twice at the same time.

        Raises:
            sqlite3.Error: If they cannot be written, such as on a full disk; then none of them is kept.
        """
        with self._records as change:
            change.executemany(
                "INSERT OR IGNORE INTO records (key, qid, docno, label, annotator, status, time, note, plan) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                map(astuple, entries),
            )

    async def keep(self, entries: Sequence[Entry]) -> None:
        """Append records in another thread; one flush of the disk serves all who ask while it is busy."""
        if not entries:
            return
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((entries, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await written

    async def _write(self) -> None:
        while self._waiting:
            (batch, self._waiting), failed = (self._waiting, []), None
            try:
                await asyncio.to_thread(self.append, [entry for entries, _ in batch for entry in entries])
            except Exception as error:  # whoever waits is told, whatever it is
                failed = error
            for _, written in batch:
                if not written.done():
                    written.set_exception(failed) if failed else written.set_result(None)

    def has(self, key: str) -> bool:
        """Whether a record with this key is kept."""
        return self._connection.execute("SELECT 1 FROM records WHERE key = ?", (key,)).fetchone() is not None

    def give(self, given: Iterable[tuple[str, str, str, float]]) -> None:
        """Note which documents a judge was given: ``qid, docno, annotator``, and when, in seconds since 1970."""
        with self._connection as change:
            change.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", given)

    def given(self) -> list[tuple[str, str, str, float]]:
        """All that `give` noted."""
        return list(self._connection.execute("SELECT qid, docno, annotator, time FROM given ORDER BY rowid"))

    def entries(self) -> list[Entry]:
        """All records with their keys, in the order in which they came."""
        rows = self._connection.execute(f"SELECT key, {_COLUMNS} FROM records ORDER BY number")
        return [Entry(*row) for row in rows]

    def records(self) -> pd.DataFrame:
        """All records, in the order in which they came. It may be called from any thread."""
        return stored_records(self.path)


def is_store(path: str | Path) -> bool:
    """Whether a file is a database such as that of a judging server."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def stored_records(path: str | Path) -> pd.DataFrame:
    """The records in the file of a judging server, which may be running.

    Returns:
        `RECORD_COLUMNS`; ``label`` is Int64, and <NA> unless the status is ``judged``. ``judges`` follows from the
        share of documents that two people judge, which the server kept.

    Raises:
        ValueError: If the file is none of a judging server.
    """
    try:
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
        try:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM records ORDER BY number").fetchall()
            about = dict(connection.execute("SELECT name, value FROM about"))
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path}: expected the judgments of a judging server; {error}") from error
    frame = pd.DataFrame(rows, columns=SAID_COLUMNS).astype({"label": "Int64"})
    return frame.assign(judges=judges_of(about["plan"], frame, float(about.get(DOUBLE_SHARE, 0.0))))
