"""Judgments on disk, of which none is lost once it is acknowledged.

One SQLite file with a rollback journal: each commit waits until the disk has it, so what `Store.append` returned from
survives a killed process and a lost machine. Triggers refuse to change or delete a record, and checksums show whether a
disk did.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import sqlite3
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any

import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.records import SAID_COLUMNS
from pt_active.judging.server.order import judges_of

if sys.platform != "win32":
    import fcntl

_FORMAT = "pt-active judging 2"  # What the file says it is; another version of the tables gets another number

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER);
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS records (
  number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, qid TEXT NOT NULL, docno TEXT NOT NULL,
  label INTEGER, annotator TEXT NOT NULL, status TEXT NOT NULL, time TEXT NOT NULL, note TEXT NOT NULL,
  plan TEXT NOT NULL, sum INTEGER);
CREATE TABLE IF NOT EXISTS given (qid TEXT NOT NULL, docno TEXT NOT NULL, annotator TEXT NOT NULL, time REAL NOT NULL);
CREATE TRIGGER IF NOT EXISTS no_change BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records stay'); END;
CREATE TRIGGER IF NOT EXISTS no_removal BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records stay'); END;
"""

_RECORD = ", ".join(["key", *SAID_COLUMNS])
DOUBLE_SHARE = "double"  # The setting that holds the share of documents that two people judge
_WAIT_SECONDS = 5  # How long to wait for another process that writes
_SQLITE = b"SQLite format 3\0"  # How a database begins


_NO_LOCKS = "the file system has no locks, without which two servers could write at once; use a local disk"


@dataclass(frozen=True)
class Entry:
    """A record with its sender's key, so that what is sent twice is kept once; label is None unless ``judged``."""

    key: str
    qid: str
    docno: str
    label: int | None
    annotator: str
    status: str
    time: str
    note: str
    plan: str


Given = tuple[str, str, str, float]
"""The qid and docno of a document that somebody was given, the annotator, and when, in seconds since 1970."""


class Lock:
    """The right to a file or folder, kept by a file beside it until the process ends. Windows has no such locks."""

    def __init__(self, path: Path, taken: str = "keeps judgments in it; end that server first") -> None:
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
                raise ValueError(f"{path}: {owner} {taken}") from None
            except OSError as error:
                self._stream.close()
                raise OSError(error.errno, f"{error.strerror}; {_NO_LOCKS}", str(path)) from None
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
        self._turn = RLock()  # of the threads that write
        self._lock = Lock(self.path)
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                self.path.chmod(0o600)
            with _naming(self.path):
                self._open()
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> None:
        self._connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = DELETE")
        # The folder is flushed too when the journal is removed, which is what commits.
        self._connection.execute("PRAGMA synchronous = EXTRA")
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "about" not in tables:
            raise sqlite3.DatabaseError("it is another database")
        self._connection.executescript(_TABLES)
        self._about = _about(self._connection)
        for name, value, expected in (
            ("format", _FORMAT, "the judgments of this version's judging server"),
            ("plan", self.plan, f"judgments of the plan {self.plan}"),
        ):
            known = self.setting(name)
            if known is None:
                self.set(name, value)
            elif known != value:
                raise ValueError(f"{self.path}: expected {expected}; got {shown(known)}")
        # What is asked for is answered from memory: a commit that waits for another process holds up nobody.
        self._people = dict(self._connection.execute("SELECT name, token FROM people ORDER BY rowid"))
        self._kept = {entry.key: entry for entry in _entries(self._connection)}

    def close(self) -> None:
        """Close the file; what was acknowledged is on disk already."""
        with self._turn:
            self._connection.close()
        self._lock.release()

    def setting(self, name: str) -> str | None:
        """A value that `set` kept, or None."""
        return self._about.get(name)

    def set(self, name: str, value: str) -> None:
        """Keep a value under a name, instead of an earlier one."""
        with self._connection as change:
            change.execute("INSERT OR REPLACE INTO about VALUES (?, ?, ?)", (name, value, _sum((name, value))))
        self._about[name] = value

    def token(self, name: str) -> str:
        """The secret of a judge's link, the same at every start of the server; who is not known becomes a judge."""
        if name not in self._people:
            token = secrets.token_urlsafe(18)
            with self._connection as change:
                change.execute("INSERT INTO people VALUES (?, ?)", (name, token))
            self._people[name] = token
        return self._people[name]

    def people(self) -> dict[str, str]:
        """Name → token of everyone who has a link."""
        return dict(self._people)

    def append(self, entries: Sequence[Entry], given: Sequence[Given] = ()) -> None:
        """Keep records, and which documents were given to whom. When this returns, the disk has what is new of them.

        Any thread may ask for it.

        Raises:
            sqlite3.Error: If they cannot be written, such as on a full disk, or a key is that of a record of another
                document; then none of them is kept.
        """
        insert = f"INSERT INTO records ({_RECORD}, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        with self._turn:
            new: dict[str, Entry] = {}
            for entry in entries:
                known = self._kept.get(entry.key) or new.setdefault(entry.key, entry)
                if (known.qid, known.docno) != (entry.qid, entry.docno):
                    raise sqlite3.IntegrityError(f"the key {shown(entry.key)} is that of another document")
            with self._connection as change:
                change.executemany(insert, [(*row, _sum(row)) for row in map(astuple, new.values())])
                change.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", given)
            self._kept.update(new)

    async def keep(self, entries: Sequence[Entry], given: Sequence[Given] = ()) -> None:
        """Append in another thread, which goes on if nobody waits for it any more."""
        if entries or given:
            await asyncio.shield(asyncio.to_thread(self.append, entries, given))

    def kept(self, key: str) -> Entry | None:
        """The record with this key; None if there is none."""
        return self._kept.get(key)

    def given(self) -> list[Given]:
        """Which documents judges were given."""
        return list(self._connection.execute("SELECT qid, docno, annotator, time FROM given ORDER BY rowid"))

    def entries(self) -> list[Entry]:
        """All records with their keys, in the order in which they came."""
        return list(self._kept.values())

    def records(self) -> pd.DataFrame:
        """All records, in the order in which they came. It may be called from any thread."""
        return _frame(self.entries(), self._about)

    def copy(self) -> bytes:
        """A store with everything that is kept so far. It may be called from any thread."""
        with self._turn:
            return self.path.read_bytes()


def is_store(path: str | Path) -> bool:
    """Whether a file is a database such as that of a judging server."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def stored_records(path: str | Path) -> pd.DataFrame:
    """The records in the file of a judging server, which may be running.

    Returns:
        `RECORD_COLUMNS`; ``judges`` follows from the share of documents that two people judge, which the server kept.

    Raises:
        ValueError: If the file is none of a judging server, or is damaged.
    """
    with _reading(Path(path)) as connection:
        entries, about = _entries(connection), _about(connection)
        if "plan" not in about:
            raise sqlite3.DatabaseError("it does not say of which plan they are")
    return _frame(entries, about)


def is_of_plan(path: Path, plan: str) -> bool:
    """Whether a file keeps the judgments of a plan, which has this id, and of those that extend it."""
    try:
        with _reading(path) as connection:
            return _about(connection).get("plan") == plan
    except ValueError:
        return False


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a file that is there; it is not made if it is not."""
    there = f"{path.absolute().as_uri()}?mode=rw"
    with _naming(path), closing(sqlite3.connect(there, timeout=_WAIT_SECONDS, uri=True)) as connection:
        yield connection


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say which file SQLite cannot read, or holds something else."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = f"expected the judgments of a judging server; {' '.join(str(error).split())[:300]}"
        if is_busy(error):
            said = f"{BUSY}; end that process, or try again when it is done"
        raise ValueError(f"{path}: {said}") from error


def _frame(entries: Sequence[Entry], about: dict[str, str]) -> pd.DataFrame:
    rows = [astuple(entry)[1:] for entry in entries]
    frame = pd.DataFrame(rows, columns=SAID_COLUMNS).astype({"label": "Int64"})
    return frame.assign(judges=judges_of(about["plan"], frame, float(about.get(DOUBLE_SHARE, 0.0))))


def _about(connection: sqlite3.Connection) -> dict[str, str]:
    """The settings."""
    return dict(_rows(connection, "about", "name, value"))


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    connection.execute("BEGIN")
    (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise _damaged(said)
    rows = _rows(connection, "records", _RECORD)
    connection.rollback()
    return [Entry(*row) for row in rows]


def _rows(connection: sqlite3.Connection, table: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table, in their order, if they have their checksums."""
    found = connection.execute("SELECT type, rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    # A view or a virtual table, which has no page, may make rows without an end.
    if found is None or found[0] != "table" or not found[1]:
        raise sqlite3.DatabaseError(f"it has no table {table!r}")
    rows = connection.execute(f"SELECT {columns}, sum FROM {table} ORDER BY rowid").fetchall()
    if wrong := [row for row in rows if row[-1] != _sum(row[:-1])]:
        raise _damaged(f"{how_many('row', len(wrong), 'is')} not as written, the first of {shown(wrong[0][:3])}")
    return [row[:-1] for row in rows]


BUSY = "another process is writing to the file"


def is_busy(error: Exception) -> bool:
    """Whether another process has locked the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _damaged(said: str) -> sqlite3.DatabaseError:
    return sqlite3.DatabaseError(f"{said}: the file is damaged; restore it from a copy")


def _sum(values: Sequence[object]) -> int:
    """The checksum of a row, which any single change moves."""
    return zlib.crc32(repr(tuple(values)).encode("utf-8", "surrogatepass"))
