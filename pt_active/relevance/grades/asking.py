"""What does a judge answer that is asked about one document at a time?"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import HELP, how_many, shown
from pt_active.frames.columns import with_string_ids
from pt_active.frames.progress import bar
from pt_active.frames.qrels import HIGHEST_LABEL
from pt_active.relevance.grades.judge_tables import SCORE, judge_table

MAX_FAILURES = 10  # After so many errors in a row, the judge is taken to be out of reach, and the run ends

TEXT_COLUMNS = ("query", "text", "title", "body")
"""Columns that a judge reads; an answer is used again only where they are the same."""

Parser = Callable[[str], "int | Sequence[float] | None"]
"""Turns a text answer into a label or the probabilities of the labels; None if it has none, as in a refusal."""


_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, qid TEXT NOT NULL, docno TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
  answer TEXT NOT NULL);
"""
_WAIT_SECONDS = 30  # How long to wait for another process that writes


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class AnswerStore:
    """Answers of a judge by their keys, in memory or in a SQLite file, each on disk before the next call."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.kept: dict[str, str] = {}
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The answers so far, ready for more."""
        if self.path is None:
            yield
            return
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(_TABLE)
                self.kept = dict(connection.execute("SELECT key, answer FROM answers"))
            except sqlite3.DatabaseError as error:
                raise ValueError(f"{self.path}: expected the answers of a judge; {error}") from error
            self._connection = connection
            yield
        finally:
            self._connection, self.kept = None, {}
            connection.close()

    def keep(self, key: str, pair: tuple[str, str], model: str, prompt: str, answer: str) -> None:
        """Keep an answer; it is on disk when this returns."""
        self.kept[key] = answer
        if self._connection is not None:
            with self._connection as change:
                change.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (key, *pair, model, prompt, answer)
                )


class AskedJudge(pt.Transformer):
    """Asks a judge, such as a language model, about one document at a time, and keeps each answer as it comes.

    A run that ends early, for whatever reason, continues where it stopped. Errors and refusals are "not seen": their
    documents have no votes. Refusals are kept, errors are not, so that the next run asks again.

    Args:
        judge: A transformer that adds to a row ``label``, ``votes_0 …``, ``prob_0 …``, ``prob_yes, prob_no``,
            ``probability`` or ``score``; or, with ``parse``, a text.
        parse: Turns the text into a label, or into the probabilities of the labels; None if it has neither.
        cache: The file in which answers are kept; if left out, they are kept in memory.
        model: The name of the model. Answers of another model are not used.
        prompt: The prompt. Its digest is kept, and answers to another prompt are not used.
        answer: The column of the text.
        progress: Whether to show a progress bar.

    Attributes:
        n_asked_: The number of calls of the last `transform`.
        n_refused_: The number of its documents without a label in the answer.
        n_failed_: The number of its calls that ended in an error.
    """

    schematic = {"label": "AskedJudge", "help_url": HELP}  # noqa: RUF012

    def __init__(
        self,
        judge: pt.Transformer,
        parse: Parser | None = None,
        *,
        cache: str | Path | None = None,
        model: str = "",
        prompt: str = "",
        answer: str = "answer",
        progress: bool = True,
    ) -> None:
        self.judge = judge
        self.parse = parse
        self.cache = AnswerStore(cache)
        self.model = model
        self.prompt = _digest(prompt)
        self.answer = answer
        self.progress = progress

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Ask about each pair of a frame once, and add ``votes_0 … votes_H`` or ``score``.

        Args:
            inp: ``qid, docno`` and what the judge reads.

        Returns:
            A new frame with the same rows; NaN for pairs that the judge has not seen.

        Warns:
            UserWarning: If answers have no label, or calls failed.

        Raises:
            RuntimeError: If the judge fails ten times in a row; the answers so far are kept.
        """
        pt.validate.columns(inp, includes=["qid", "docno"])
        frame = with_string_ids(inp)
        columns = ["qid", "docno", *(c for c in TEXT_COLUMNS if c in frame.columns)]
        rows = frame[columns].astype(str).itertuples(index=False, name=None)
        keys = [_digest(json.dumps([self.model, self.prompt, *row])) for row in rows]
        first = ~pd.Series(keys).duplicated().to_numpy()
        self.n_asked_ = self.n_refused_ = self.n_failed_ = 0
        with self.cache.opened():
            self._ask(frame, keys, [row for row in np.flatnonzero(first) if keys[row] not in self.cache.kept])
            given = [json.loads(self.cache.kept.get(key, "{}")) for key in keys]
        self.n_refused_ = sum(1 for row, each in enumerate(given) if first[row] and "refused" in each)
        if self.n_refused_:
            warnings.warn(f"{how_many('answer', self.n_refused_, 'has')} no label and counts as not seen", stacklevel=2)
        if self.n_failed_:
            failed = how_many("call", self.n_failed_)
            warnings.warn(f"{failed} failed, the last with {self._last_error}; the next run asks again", stacklevel=2)
        return _with_answers(frame, given)

    def _ask(self, frame: pd.DataFrame, keys: Sequence[str], rows: Sequence[np.intp]) -> None:
        in_a_row = 0
        for row in bar(rows, unit="call", shown=self.progress and len(rows) > 0):
            one = frame.iloc[[row]]
            self.n_asked_ += 1
            try:
                answer = self._answer(one)
            except Exception as error:
                self.n_failed_, in_a_row = self.n_failed_ + 1, in_a_row + 1
                self._last_error = f"{type(error).__name__}: {error}"
                if in_a_row == MAX_FAILURES:
                    raise RuntimeError(
                        f"the judge failed {in_a_row} times in a row, the last time with {self._last_error}; its "
                        f"{how_many('answer', self.n_asked_ - self.n_failed_)} of this run are kept"
                    ) from error
                continue
            in_a_row = 0
            pair = (str(one["qid"].iloc[0]), str(one["docno"].iloc[0]))
            self.cache.keep(keys[row], pair, self.model, self.prompt, json.dumps(answer))

    def _answer(self, one: pd.DataFrame) -> dict[str, Any]:
        """``votes`` or ``score`` of a frame of one row; ``refused`` if the judge gives none."""
        out = self.judge.transform(one)
        if len(out) != 1:
            raise ValueError(f"the judge must return the row that it is given, got {how_many('row', len(out))}")
        if self.parse is not None:
            return _parsed(self.parse(str(out[self.answer].iloc[0])))
        if "label" in out.columns and pd.isna(out["label"].iloc[0]):
            return {"refused": True}
        added = [c for c in out.columns if c not in one.columns or c in ("label", SCORE)]
        table = judge_table(out[["qid", "docno", *added]])
        if table.empty:
            return {"refused": True}
        values = table.iloc[0].drop(["qid", "docno"])
        return {"score": float(values[SCORE])} if SCORE in values else {"votes": [float(share) for share in values]}


def _parsed(value: Any) -> dict[str, Any]:
    if value is None:
        return {"refused": True}
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= value <= HIGHEST_LABEL:
        return {"votes": np.eye(int(value) + 1)[int(value)].tolist()}
    shares = np.asarray(value, dtype=np.float64)
    if shares.ndim != 1 or not (np.isfinite(shares) & (shares >= 0)).all() or shares.sum() <= 0:
        raise ValueError(f"parse must return a label, probabilities of the labels, or None, got {shown(value)}")
    return {"votes": shares.tolist()}


def _with_answers(frame: pd.DataFrame, given: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The frame with the columns of all answers; ``score`` only if no answer has votes."""
    highest = max((len(each["votes"]) for each in given if "votes" in each), default=0)
    if not highest:
        return frame.assign(score=[each.get("score", np.nan) for each in given])
    votes = np.full((len(given), highest), np.nan)
    for row, each in enumerate(given):
        if "votes" in each:
            votes[row] = 0.0
            votes[row, : len(each["votes"])] = each["votes"]
    return frame.assign(**{f"votes_{h}": column for h, column in enumerate(votes.T)})
