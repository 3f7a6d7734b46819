"""PyTerrier artifacts that are made in memory, and saved completely or not at all."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import file_path, shown
from pt_active.frames.ids import id_hashes
from pt_active.frames.progress import working
from pt_active.relevance.digits import GRADE_BITS, rounded
from pt_active.showing.printed import Printed

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class Record:
    """A dataclass that is stored as an object in ``manifest.json``.

    `PARTS` gives the types of the fields that are records themselves. The fields in `SOMETIMES` are not written if
    they are empty.
    """

    PARTS: ClassVar[dict[str, type[Record]]] = {}
    SOMETIMES: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """Make a record from the dictionary that `to_json` wrote; unknown keys are ignored."""
        values = values if isinstance(values, dict) else {}
        needed = {each.name for each in fields(cls) if MISSING is each.default is each.default_factory}
        if absent := needed - set(values):
            raise ValueError(f"manifest.json lacks {', '.join(sorted(absent))}")
        said = [name for name, value in values.items() if value is not None or name in needed]
        read = {each.name: cls._read(each.name, values[each.name]) for each in fields(cls) if each.name in said}
        for name, value in read.items():
            if not _fits(value, _types(cast(Any, cls))[name]):
                raise ValueError(f"manifest.json: {name} cannot be {shown(values[name])}")
        return cls(**read)

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(cls._read(name, each) for each in value)
        return cls.PARTS[name].from_json(value) if name in cls.PARTS else value

    def to_json(self) -> dict[str, Any]:
        """The record as dictionaries and lists, ready for JSON."""
        values = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in values.items() if value or name not in self.SOMETIMES}


@cache
def _types(record: type[Record]) -> dict[str, Any]:
    """The types of a record's fields by name."""
    return get_type_hints(record)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value from JSON is of a type; whole numbers are numbers too, and truth values are none."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(each, inner[1]) for each in value.values())
    if origin is not None:
        return isinstance(value, (list, tuple)) and all(_fits(each, inner[0]) for each in value)
    if wanted in (int, float):
        return isinstance(value, (int, wanted)) and not isinstance(value, bool)
    return isinstance(value, wanted)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_json()
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else deepcopy(value)


Tables = TypeVar("Tables")


class KeptArtifact(Printed, pt.Artifact, Generic[Tables]):
    """An artifact whose content is read on first use.

    A subclass gives its ``ARTIFACT_TYPE``, and reads and writes its content.

    Args:
        path: The folder of a saved artifact.
    """

    ARTIFACT_TYPE: str
    ARTIFACT_FORMAT = "parquet"
    ARTIFACT_PACKAGE_HINT = "pt-active"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._tables: Tables | None = None

    @staticmethod
    @abstractmethod
    def _read(folder: Path, /) -> Any:
        """Read the content of a folder."""

    @staticmethod
    @abstractmethod
    def _write(tables: Any, folder: Path, /) -> None:
        """Write the content into an empty folder."""

    @classmethod
    def _of(cls, tables: Tables) -> Self:
        """An artifact in memory that holds these tables."""
        made = cls(cast(Any, pt.Artifact.NO_PATH))
        made._tables = tables
        return made

    @property
    def tables(self) -> Tables:
        """The content."""
        if self._tables is None:
            self._tables = cast(Tables, self._read(Path(str(self.path))))
        return self._tables

    @classmethod
    def load(cls, path: str | Path, **kwargs: Any) -> Self:
        """Read a saved artifact.

        Raises:
            FileNotFoundError: If there is no artifact at the path.
            ValueError: If the path is invalid, or the artifact is damaged or in a format that this version cannot read.
        """
        folder = file_path("path", path)
        loaded = cls(path, **kwargs)
        with working(f"reading {path}"):
            loaded._tables = cls._read(folder)
        return loaded

    def save(self, path: str | Path) -> Self:
        """Write the artifact to a new folder; after a crash there is no folder.

        Returns:
            The artifact at its path.

        Raises:
            FileExistsError: If the path exists.
            FileNotFoundError: If its parent folder does not.
        """
        path = file_path("path", path).absolute()
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another folder for the {type(self).__name__.lower()}")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} does not exist")
        tables = self.tables
        with working(f"saving {path}"), new_folder(path) as folder:
            self._write(tables, folder)
            meta = {"type": self.ARTIFACT_TYPE, "format": self.ARTIFACT_FORMAT}
            meta["package_hint"] = self.ARTIFACT_PACKAGE_HINT
            (folder / "pt_meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
        saved = type(self)(path)
        saved._tables = tables
        return saved


def digest(source: str | Path | pd.DataFrame) -> str:
    """A fingerprint of a file or a frame, to recognise it again.

    Args:
        source: A file, of which every byte counts; or a frame, of whose numbers the first digits count, which are the
            same on every processor. The order of its rows and columns, its index and the type of its strings
            (``object`` or ``str``) do not count.

    Returns:
        A SHA-256 as 64 hexadecimal digits.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    return _digest_frame(source) if isinstance(source, pd.DataFrame) else _digest_file(Path(source))


def _digest_file(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


def _digest_frame(frame: pd.DataFrame) -> str:
    names = sorted(frame.columns, key=str)
    rows = _row_hashes([_hashes(frame[n]) for n in names])
    rows.sort()
    return hashlib.sha256(repr([str(n) for n in names]).encode() + rows.tobytes()).hexdigest()


def _row_hashes(columns: list[np.ndarray]) -> np.ndarray:
    """uint64[N], a hash of each row from those of its columns, the same as ``pd.util.hash_pandas_object`` gives."""
    if not columns:
        return np.empty(0, dtype=np.uint64)
    # The hash of a tuple in Python 3.7.
    rows, factor = np.full(len(columns[0]), 0x345678, dtype=np.uint64), 1000003
    for left, column in zip(range(len(columns), 0, -1), columns, strict=True):
        rows ^= column
        rows *= np.uint64(factor)
        factor += 82520 + 2 * left
    rows += np.uint64(97531)
    return rows


def _hashes(column: pd.Series) -> np.ndarray:
    """uint64[N], the hash of each value of a column."""
    if isinstance(column.dtype, pd.StringDtype) and not column.isna().any():
        return id_hashes(column)
    return pd.util.hash_pandas_object(_hashable(column), index=False).to_numpy()


def _hashable(column: pd.Series) -> pd.Series:
    """The column with rounded numbers, and with vectors, such as PyTerrier's ``features``, as their bytes."""
    if len(column) and isinstance(column.iloc[0], (np.ndarray, list)):
        return column.map(lambda vector: rounded(np.asarray(vector, dtype=np.float64), GRADE_BITS).tobytes())
    if not pd.api.types.is_float_dtype(column):
        return column
    # The sum turns -0.0 into 0.0.
    return pd.Series(rounded(column.to_numpy(dtype=np.float64, na_value=np.nan), GRADE_BITS) + 0.0)
