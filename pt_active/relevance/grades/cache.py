"""Where are the answers of a judge kept as they come, so that no call is paid for twice?

One SQLite file in WAL mode. Each answer is on disk before the next call, so a process that is killed loses none.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, qid TEXT NOT NULL, docno TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
  answer TEXT NOT NULL);
"""

_WAIT_SECONDS = 30
"""How long to wait for another process that writes."""


def digest(text: str) -> str:
    """16 hexadecimal digits that name a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def answer_key(model: str, prompt: str, texts: Sequence[str]) -> str:
    """The name of an answer: of the same model, the same prompt, and the same query and document, ids and texts."""
    return digest(json.dumps([model, prompt, *texts]))


class AnswerCache:
    """Answers by their keys, as JSON texts, in a file or in memory.

    Args:
        path: The file, which is made if it does not exist; None keeps the answers in memory.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._answers: dict[str, str] = {}

    @contextmanager
    def opened(self) -> Iterator[Answers]:
        """The answers so far, ready for more."""
        if self.path is None:
            yield Answers(self._answers, None)
            return
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_TABLE)
            answers = dict(connection.execute("SELECT key, answer FROM answers"))
        except sqlite3.DatabaseError as error:
            if connection is not None:
                connection.close()
            raise ValueError(f"{self.path}: expected the answers of a judge; {error}") from error
        try:
            yield Answers(answers, connection)
        finally:
            connection.close()


class Answers:
    """The answers of an open cache.

    Args:
        answers: Key → answer, as a JSON text.
        connection: The file in which further answers are kept; None if they are kept in memory.
    """

    def __init__(self, answers: dict[str, str], connection: sqlite3.Connection | None) -> None:
        self._answers = answers
        self._connection = connection

    def get(self, key: str) -> str | None:
        """The answer of a key, or None."""
        return self._answers.get(key)

    def keep(self, key: str, pair: tuple[str, str], model: str, prompt: str, answer: str) -> None:
        """Keep an answer; it is on disk when this returns."""
        self._answers[key] = answer
        if self._connection is not None:
            with self._connection as change:
                change.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (key, *pair, model, prompt, answer)
                )
