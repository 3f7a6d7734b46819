"""Are the files of a saved artifact as they were written, and are their tables what they must be?"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown, some
from pt_active.frames.columns import check_grades, grade_columns, repeated_pairs
from pt_active.plans.making.artifact import Record

MANIFEST = "manifest.json"

DIGESTS = "sha256"
"""The key of the manifest that holds the SHA-256 of each file; artifacts of older versions lack it."""

_ROUNDING = 1e-6
"""How far sums of probabilities may be from 1."""

_EXCESS = 1e-9
"""How far above 1 rounding may have put a probability."""


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame], manifest: Record) -> None:
    """Write tables as Parquet files, and a manifest with the digest of each and of itself."""
    digests = {}
    for name, table in tables.items():
        content = table.to_parquet(index=False)
        (folder / f"{name}.parquet").write_bytes(content)
        digests[f"{name}.parquet"] = hashlib.sha256(content).hexdigest()
    values = manifest.to_json() | {DIGESTS: digests}
    values[DIGESTS] = digests | {MANIFEST: _digest_of(values)}
    (folder / MANIFEST).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _digest_of(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest whose own digest is left out, whatever its white space and the order of its keys."""
    digests = {name: digest for name, digest in manifest[DIGESTS].items() if name != MANIFEST}
    text = json.dumps({**manifest, DIGESTS: digests}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Stored:
    """A saved artifact, each of whose files is compared with its digest when it is read.

    Attributes:
        folder: Where it was saved.
        what: What it is, such as ``plan``, for messages.
        values: Its manifest.
    """

    folder: Path
    what: str
    values: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, what: str, formats: tuple[int, ...]) -> Stored:
        """Read the manifest of a saved artifact."""
        file = folder / MANIFEST
        if not file.is_file():
            raise FileNotFoundError(f"there is no {what} at {folder}: it has no {MANIFEST}")
        if (kind := _kind(folder)) not in ("", what):
            raise ValueError(f"{folder} holds {_article(kind)}, and {_article(what)} is needed")
        stored = cls(folder, what, {})
        with stored.checked():
            values = _json_object(file)
        version = values["format_version"]
        if type(version) is not int or version not in formats:
            raise ValueError(_other_format(folder, what, values, formats))
        stored = cls(folder, what, values)
        stored._check_manifest()
        return stored

    def damaged(self, how: object) -> ValueError:
        """The error that the artifact is damaged."""
        return ValueError(f"the {self.what} at {self.folder} is damaged: {how}")

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Errors of the block as one that names the artifact; those that no check foresaw name their kind too."""
        try:
            yield
        except ValueError as error:
            raise self.damaged(_one_line(error)) from error
        except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError) as error:
            raise self.damaged(f"its files do not fit together ({type(error).__name__}: {_one_line(error)})") from error

    def table(self, name: str) -> StoredTable:
        """Read a table."""
        file, content = f"{name}.parquet", b""
        try:
            content = (self.folder / file).read_bytes()
        except OSError as error:
            raise self.damaged(f"{file} cannot be read ({_one_line(error)}); {self._remedy}") from error
        digests = self.values.get(DIGESTS)
        if digests is not None and hashlib.sha256(content).hexdigest() != digests.get(file):
            raise self._changed(file)
        try:
            return StoredTable(file, pd.read_parquet(io.BytesIO(content)))
        except Exception as error:  # Arrow and pandas raise almost anything on damaged pages and metadata.
            raise self.damaged(f"{file} cannot be read ({_one_line(error)}); {self._remedy}") from error

    @property
    def _remedy(self) -> str:
        return f"restore the folder from a copy, or make the {self.what} again from the same inputs and seed"

    def _check_manifest(self) -> None:
        if DIGESTS not in self.values:
            return
        digests = self.values[DIGESTS]
        if not isinstance(digests, dict) or digests.get(MANIFEST) != _digest_of(self.values):
            raise self._changed(MANIFEST)

    def _changed(self, file: str) -> ValueError:
        return self.damaged(f"{file} is not as it was saved (its SHA-256 differs); {self._remedy}")


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
        said = json.loads((folder / "pt_meta.json").read_text(encoding="utf-8"))["type"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return _KINDS.get(said, "") if isinstance(said, str) else ""


_KINDS = {"active_plan": "plan", "active_audit": "audit", "active_test": "active test"}
"""Type of an artifact → what it is, in words."""


def _article(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"


def _other_format(folder: Path, what: str, values: Mapping[str, Any], formats: tuple[int, ...]) -> str:
    versions = values.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    by = versions.get("pt-active", versions.get("pyterrier-active", "of an unknown version"))
    readable = "format" if len(formats) == 1 else "formats"
    return (
        f"the {what} at {folder} was saved by pt-active {by} in format {shown(values['format_version'])}; this version "
        f"reads the {readable} {', '.join(map(str, formats))}"
    )


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:299]}…"


@dataclass(frozen=True)
class StoredTable:
    """A table that was read, whose columns are checked when they are taken from it.

    Attributes:
        file: Its file, for messages.
        frame: Its rows.
    """

    file: str
    frame: pd.DataFrame

    def column(self, name: str) -> pd.Series:
        """A column."""
        if name not in self.frame.columns:
            raise ValueError(f"{self.file} lacks the column {name!r}")
        column = self.frame[name]
        if isinstance(column, pd.DataFrame):
            raise ValueError(f"{self.file} has the column {name!r} more than once")
        return column

    def texts(self, name: str) -> None:
        """Raise if a column does not hold strings, or one is missing."""
        column = self.column(name)
        if pd.api.types.infer_dtype(column, skipna=False) not in ("string", "empty"):
            raise ValueError(f"{self.file}: the column {name!r} must hold text, without gaps")

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
        """float64[N], a column of finite numbers in a range.

        Shapes: where bool[N].
        """
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
        """Raise if a column breaks a rule.

        Shapes: right bool[N].
        """
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
        if names == ("qid", "docno"):
            twice = repeated_pairs(self.frame)
        else:
            twice = self.frame.duplicated(list(names)).to_numpy()
        if twice.any():
            ids = self.frame.loc[twice, list(names)].itertuples(index=False, name=None)
            raise ValueError(f"{self.file} holds {some(ids, 2)} more than once")


def _from(least: float, open: bool) -> str:
    return f"finite and {'more than' if open else 'at least'} {least:g}" if np.isfinite(least) else "finite"
