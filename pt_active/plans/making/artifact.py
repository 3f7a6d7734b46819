"""PyTerrier artifacts that are made in memory, and saved completely or not at all."""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_args, get_type_hints

import numpy as np
import pandas as pd
import pyterrier as pt
from pandas.core.util.hashing import combine_hash_arrays  # type: ignore[attr-defined]

from pt_active.frames.atomic import new_folder
from pt_active.frames.checks import file_path
from pt_active.frames.progress import working
from pt_active.frames.worklists import write_assessments
from pt_active.plans.making.stored import Form
from pt_active.relevance.digits import GRADE_BITS, rounded
from pt_active.showing.printed import Printed

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class Record:
    """A dataclass that is stored as an object in ``manifest.json``."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make a record from the dictionary that `to_json` wrote."""
        types = _types(cast(Any, cls))
        names = [each.name for each in fields(cls) if each.name in values]
        return cls(**{name: _read(values[name], _record_in(types[name])) for name in names})

    def to_json(self) -> dict[str, Any]:
        """The record as dictionaries and lists, ready for JSON."""
        return dict(json.loads(json.dumps(asdict(self))))


@dataclass(frozen=True, kw_only=True)
class Provenance(Record):
    """What the manifest of every artifact says."""

    format_version: int
    versions: dict[str, str] = field(default_factory=dict)  # package → version


@cache
def versions() -> dict[str, str]:
    """Of Python and the packages that numbers depend on; looking them up takes as long as a small plan."""
    packages = ("pt-active", "pyterrier", "ir_measures", "numpy", "pandas", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


_types = cache(get_type_hints)


def _record_in(wanted: Any) -> type[Record] | None:
    """The kind of record in a type such as ``Cut | None`` or ``tuple[RoundEntry, ...]``."""
    if isinstance(wanted, type) and issubclass(wanted, Record):
        return wanted
    return next((found for each in get_args(wanted) if (found := _record_in(each))), None)


def _read(value: Any, record: type[Record] | None) -> Any:
    """A value from JSON: its objects are records, and its lists tuples."""
    if isinstance(value, list):
        return tuple(_read(each, record) for each in value)
    return record.from_json(value) if record and isinstance(value, dict) else value


Tables = TypeVar("Tables")


class KeptArtifact(Printed, pt.Artifact, Generic[Tables]):
    """What is kept while people judge, in memory or in a folder, which is read on first use.

    Args:
        path: The folder of a saved artifact.
    """

    ARTIFACT_TYPE: str
    ARTIFACT_FORMAT = "parquet"
    ARTIFACT_PACKAGE_HINT = "pt-active"
    FORM: ClassVar[Form[Any]]

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._tables: Tables | None = None

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
            self._tables = cast(Tables, self.FORM.read(Path(str(self.path))))
        return self._tables

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, arguments with the seed, what was drawn and what it costs, and digests of the inputs."""
        return dict(cast(Any, self.tables).manifest.to_json())

    @property
    def assessments(self) -> pd.DataFrame:
        """The documents that people judge: ``qid, docno`` (+ ``query``, ``text``), ``inclusion``.

        They are sorted by qid and docno, so that the order reveals nothing about any ranking.
        """
        return cast(Any, self.tables).assessments.copy()

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
            loaded._tables = cls.FORM.read(folder)
        return loaded

    def save(self, path: str | Path) -> Self:
        """Write the artifact to a new folder, completely or not at all.

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
        saved = type(self)(path)
        saved._tables = self.tables
        with working(f"saving {path}"), new_folder(path) as folder:
            self.FORM.write(self.tables, folder)
            meta = {"type": self.ARTIFACT_TYPE, "format": self.ARTIFACT_FORMAT}
            meta["package_hint"] = self.ARTIFACT_PACKAGE_HINT
            (folder / "pt_meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
        return saved

    def export(self, path: str | Path, format: str = "trec") -> Path:
        """Write what people are to judge to a file.

        Args:
            path: A file that does not exist yet.
            format: A name in `worklists.FORMATS`.

        Returns:
            The path.

        Raises:
            FileExistsError: If the file exists.
            ValueError: If the format is unknown.
        """
        write_assessments(self.assessments, path, format)
        return Path(path)


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
    if not isinstance(source, pd.DataFrame):
        with Path(source).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    names = sorted(source.columns, key=str)
    rows = combine_hash_arrays((_hashes(source[name]) for name in names), len(names))
    rows.sort()
    return hashlib.sha256(repr([str(name) for name in names]).encode() + rows.tobytes()).hexdigest()


def _hashes(column: pd.Series) -> np.ndarray:
    """uint64[N], the hash of each value: of a rounded number, the bytes of a vector of them, or what others print."""
    if isinstance(column.dtype, pd.StringDtype) and not column.isna().any():
        return pd.util.hash_array(column.to_numpy(dtype=object))
    if len(column) and isinstance(column.iloc[0], (np.ndarray, list)):
        with suppress(TypeError, ValueError):  # of what is no vector of numbers
            column = column.map(lambda vector: rounded(np.asarray(vector, dtype=np.float64), GRADE_BITS).tobytes())
    elif pd.api.types.is_float_dtype(column):
        # The sum turns -0.0 into 0.0.
        column = pd.Series(rounded(column.to_numpy(dtype=np.float64, na_value=np.nan), GRADE_BITS) + 0.0)
    try:
        return pd.util.hash_pandas_object(column, index=False).to_numpy()
    except TypeError:  # such as of dictionaries
        return pd.util.hash_pandas_object(column.map(repr), index=False).to_numpy()
