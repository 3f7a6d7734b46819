"""Are the files of a saved artifact as they were written, and are their tables what they must be?"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown, some
from pt_active.frames.columns import check_grades, grade_columns, repeated_pairs
from pt_active.frames.sources import read_source

MANIFEST = "manifest.json"

DIGESTS = "sha256"
"""The key of the manifest that holds the SHA-256 of each file; artifacts of older versions lack it."""

_ROUNDING = 1e-6
"""How far sums of probabilities may be from 1."""

EQUAL = 1e-9
"""How far apart, relatively, two stored forms of one number may be."""

_EXCESS = 1e-9
"""How far above 1 rounding may have put a probability."""


_KINDS = {"active_plan": "plan", "active_audit": "audit", "active_test": "active test"}
"""Type of an artifact → what it is, in words."""

Content = TypeVar("Content")


@dataclass(frozen=True)
class Form(Generic[Content]):
    """The form of an artifact on disk: Parquet files, and a manifest with the digest of each and of itself."""

    what: str
    format_version: int  # that can be read
    manifest: Callable[[dict[str, Any]], Any]  # from the values in manifest.json
    names: Callable[[Any], Sequence[str]]  # of the tables, by the manifest
    content: Callable[[dict[str, StoredTable], Any], Content]  # from the tables and the manifest
    tables: Callable[[Content], Mapping[str, pd.DataFrame]]

    def write(self, content: Any, folder: Path) -> None:
        """Write the content, which has a ``manifest``, into an empty folder."""
        digests = {}
        for name, table in self.tables(content).items():
            file = table.to_parquet(index=False)
            (folder / f"{name}.parquet").write_bytes(file)
            digests[f"{name}.parquet"] = hashlib.sha256(file).hexdigest()
        values = content.manifest.to_json() | {DIGESTS: digests}
        values[DIGESTS] = digests | {MANIFEST: _digest_of(values)}
        (folder / MANIFEST).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    def read(self, folder: Path) -> Content:
        """Read what was saved in a folder, each of whose files is compared with its digest."""
        if not (folder / MANIFEST).is_file():
            raise FileNotFoundError(f"there is no {self.what} at {folder}: it has no {MANIFEST}")
        if (kind := _kind(folder)) not in ("", self.what):
            raise ValueError(f"{folder} holds {_article(kind)}, and {_article(self.what)} is needed")
        with self._checked(folder):
            values = _json_object(folder / MANIFEST)
        if type(values["format_version"]) is not int or values["format_version"] != self.format_version:
            raise ValueError(self._other_format(folder, values))
        digests = values.get(DIGESTS)
        if DIGESTS in values and (not isinstance(digests, dict) or digests.get(MANIFEST) != _digest_of(values)):
            raise self._changed(folder, MANIFEST)
        with self._checked(folder):
            manifest = self.manifest(values)
            names = self.names(manifest)
        tables = {name: self._table(folder, f"{name}.parquet", digests) for name in names}
        with self._checked(folder):
            return self.content(tables, manifest)

    def _table(self, folder: Path, file: str, digests: dict[str, str] | None) -> StoredTable:
        try:
            if (folder / file).exists() and not (folder / file).is_file():
                raise ValueError("it is a device or a stream, not a file")
            content = (folder / file).read_bytes()
            if digests is None or hashlib.sha256(content).hexdigest() == digests.get(file):
                return StoredTable(file, pd.read_parquet(io.BytesIO(content)))
        except Exception as error:  # Arrow and pandas raise almost anything on damaged pages and metadata.
            raise self._damaged(folder, f"{file} cannot be read ({_one_line(error)}); {self._remedy}") from error
        raise self._changed(folder, file)

    @contextmanager
    def _checked(self, folder: Path) -> Iterator[None]:
        """Errors of the block as one that names the artifact; those that no check foresaw name their kind too."""
        try:
            yield
        except ValueError as error:
            raise self._damaged(folder, _one_line(error)) from error
        except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError) as error:
            unforeseen = f"its files do not fit together ({type(error).__name__}: {_one_line(error)})"
            raise self._damaged(folder, unforeseen) from error

    def _damaged(self, folder: Path, how: str) -> ValueError:
        return ValueError(f"the {self.what} at {folder} is damaged: {how}")

    def _changed(self, folder: Path, file: str) -> ValueError:
        return self._damaged(folder, f"{file} is not as it was saved (its SHA-256 differs); {self._remedy}")

    def _other_format(self, folder: Path, values: Mapping[str, Any]) -> str:
        versions = said if isinstance(said := values.get("versions"), dict) else {}
        return (
            f"the {self.what} at {folder} was saved by pt-active {versions.get('pt-active', 'of an unknown version')} "
            f"in format {shown(values['format_version'])}; this version reads format {self.format_version}: make the "
            f"{self.what} again from the same inputs and seed"
        )

    @property
    def _remedy(self) -> str:
        return f"restore the folder from a copy, or make the {self.what} again from the same inputs and seed"


def _digest_of(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest whose own digest is left out, whatever its white space and the order of its keys."""
    digests = {name: digest for name, digest in manifest[DIGESTS].items() if name != MANIFEST}
    text = json.dumps({**manifest, DIGESTS: digests}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _json_object(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{MANIFEST} is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise ValueError(f"{MANIFEST} holds no object")
    if "format_version" not in values:
        raise ValueError(f"{MANIFEST} lacks format_version")
    return values


def _kind(folder: Path) -> str:
    """What was saved in a folder, such as ``plan``; empty if it does not say."""
    try:
        said = json.loads(read_source(folder / "pt_meta.json").text)["type"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return _KINDS.get(said, "") if isinstance(said, str) else ""


def _article(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:299]}…"


@dataclass(frozen=True)
class StoredTable:
    """A table that was read, whose columns are checked when they are taken from it."""

    file: str  # for messages
    frame: pd.DataFrame

    def column(self, name: str) -> pd.Series:
        """A column."""
        if name not in self.frame.columns:
            raise ValueError(f"{self.file} lacks the column {name!r}")
        column = self.frame[name]
        if isinstance(column, pd.DataFrame):
            raise ValueError(f"{self.file} has the column {name!r} more than once")
        return column

    def ids(self, *names: str, once: bool = True) -> pd.DataFrame:
        """Columns of text without gaps; if ``once``, no row has the same ids as another."""
        for name in names:
            column = self.column(name)
            if column.isna().any() or pd.api.types.infer_dtype(column) not in ("string", "empty"):
                raise ValueError(f"{self.file}: the column {name!r} must hold text, without gaps")
        if once:
            self.no_pair_twice(*names)
        return self.frame[list(names)]

    def numbers(self, name: str) -> np.ndarray:
        """float64[N], a column of numbers, which may be NaN."""
        column = self.column(name)
        if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iuf":
            raise ValueError(f"{self.file}: the column {name!r} must hold numbers, not {column.dtype}")
        return column.to_numpy(dtype=np.float64)

    def whole(self, name: str, least: int = 0) -> np.ndarray:
        """int64[N], a column of whole numbers."""
        values = self.numbers(name)
        with np.errstate(invalid="ignore"):
            right = (values >= least) & (values == np.floor(values)) & (values < 2**31)
        self.must(name, right, f"hold whole numbers from {least}")
        return values.astype(np.int64)

    def truths(self, name: str) -> np.ndarray:
        """bool[N], a column of truth values."""
        column = self.column(name)
        if column.dtype != np.bool_:
            raise ValueError(f"{self.file}: the column {name!r} must hold truth values, not {column.dtype}")
        return column.to_numpy()

    def within(
        self, name: str, least: float, most: float = np.inf, *, open: bool = False, where: np.ndarray | None = None
    ) -> np.ndarray:
        """float64[N], a column of finite numbers in a range; NaN where not ``where``, bool[N]."""
        values = self.numbers(name)
        where = np.ones(len(values), dtype=bool) if where is None else where
        with np.errstate(invalid="ignore"):
            high_enough = (values > least) if open else (values >= least)
            right = np.isfinite(values) & high_enough & (values <= most + _EXCESS)
        limits = f"in {'(' if open else '['}{least:g}, {most:g}]" if np.isfinite(most) else _from(least, open)
        elsewhere = "" if where.all() else " where drawn, and empty elsewhere"
        self.must(name, np.where(where, right, np.isnan(values)), f"be {limits}{elsewhere}")
        return values

    def grades(self, keys: pd.DataFrame) -> np.ndarray:
        """float64[N, G+1], the columns ``grade_0 … grade_G``, each row of which is a distribution."""
        with self.named():
            names = grade_columns(self.frame.columns)
            if not names:
                raise ValueError("it lacks the columns grade_0, grade_1, …")
        grades = np.column_stack([self.numbers(name) for name in names])
        with self.named():
            check_grades(keys, grades)
        return np.ascontiguousarray(grades)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors of the block with the file's name before them."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"{self.file}: {error}") from error

    def must(self, name: str, right: np.ndarray, rule: str) -> None:
        """Raise if a column breaks a rule in a row that is not ``right``, bool[N]."""
        if right.all():
            return
        row = int(np.argmin(right))
        number = how_many("row", int((~right).sum()))
        raise ValueError(
            f"{self.file}: the column {name!r} must {rule}; {number} of {len(right)} differ, such as row {row} with "
            f"{shown(self.frame[name].iloc[row])}"
        )

    def sums_to_one(self, name: str) -> None:
        """Raise if a column of probabilities or weights does not sum to 1."""
        total = float(self.numbers(name).sum())
        if not abs(total - 1) <= _ROUNDING:
            raise ValueError(f"{self.file}: the column {name!r} must sum to 1, and sums to {total:.6g}")

    def length(self, rows: int, noun: str) -> None:
        """Raise if the table does not have a row for each of a number of things."""
        if len(self.frame) != rows:
            raise ValueError(f"{self.file} has {how_many('row', len(self.frame))} for {how_many(noun, rows)}")

    def no_pair_twice(self, *names: str) -> None:
        """Raise if two rows have the same ids."""
        keys, by_document = self.frame[list(names)], names == ("qid", "docno")
        twice = repeated_pairs(keys) if by_document else keys.duplicated().to_numpy()
        if twice.any():
            ids = keys[twice].itertuples(index=False, name=None)
            raise ValueError(f"{self.file} holds {some(ids, 2)} more than once")

    def drawn(
        self, prefix: str, q: np.ndarray, weight: np.ndarray, rule: str, *, replace: bool, rounds: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """int64[N] and float64[N], how often each unit was drawn, and its inclusion probability (NaN: not drawn).

        With replacement there are no inclusion probabilities, except where all units are certain. In rounds of
        documents the queries are drawn for the sum, not for the mean of the draws.

        Shapes: q float64[N], weight float64[N].
        """
        draws = self.whole(f"{prefix}draws")
        drawn = draws > 0
        repeated = replace and bool(np.isnan(self.numbers(f"{prefix}inclusion")[drawn]).any())
        importance = self.within(f"{prefix}importance", 0, where=drawn)
        known = np.zeros_like(drawn) if repeated else drawn
        inclusion = self.within(f"{prefix}inclusion", 0, 1, open=True, where=known)
        times = 1 if rounds else draws.sum()
        expected = times * weight[drawn] / (times * q if repeated else inclusion)[drawn]
        agrees = ~drawn
        agrees[drawn] = np.isclose(importance[drawn], expected, rtol=EQUAL, atol=0)
        self.must(f"{prefix}importance", agrees, f"agree with {rule}")
        return draws, inclusion

    def judged(self, number: int, drawn: pd.DataFrame) -> None:
        """Raise if the table, of what is to be judged, does not hold what was drawn, or not its probability.

        ``drawn`` has the columns ``qid, docno, chance``; the chance is infinite where there is none.
        """
        keys = self.ids("qid", "docno")
        self.length(number, "assessment")
        chance = keys.merge(drawn, how="left", on=["qid", "docno"])["chance"].to_numpy()
        self.must("docno", ~np.isnan(chance), "be documents that were drawn")
        known = np.isfinite(chance)
        inclusion = self.within("inclusion", 0, 1, open=True, where=known)
        same = ~known | np.isclose(inclusion, chance, rtol=EQUAL, atol=0)
        self.must("inclusion", same, "be what its draw had")


def _from(least: float, open: bool) -> str:
    return f"finite and {'more than' if open else 'at least'} {least:g}" if np.isfinite(least) else "finite"
