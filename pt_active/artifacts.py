"""What is kept while people judge: PyTerrier artifacts that are made in memory and saved whole or not at all."""

from __future__ import annotations

import json
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import pyterrier as pt

from pt_active.arguments import file_path
from pt_active.results import Printed

if TYPE_CHECKING:
    from typing_extensions import Self

Tables = TypeVar("Tables")

HELP = "https://github.com/pt-active/pt_active"
"""Where PyTerrier's schematics point; without it PyTerrier would ask the network."""


class KeptArtifact(Printed, pt.Artifact, Generic[Tables]):
    """An artifact whose content is read on first use.

    A kind of artifact says its ``ARTIFACT_TYPE`` and how its content is read and written.

    Args:
        path: The folder of a saved one.
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
        """One that is not on disk."""
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
        """Read a saved one.

        Raises:
            FileNotFoundError: If there is none at the path.
            ValueError: If the path is none, or what is there is damaged or of a format that this version does not read.
        """
        folder = file_path("path", path)
        loaded = cls(path, **kwargs)
        loaded._tables = cls._read(folder)
        return loaded

    def save(self, path: str | Path) -> Self:
        """Write it to a new folder; a crash leaves none behind.

        Returns:
            The same at its path.

        Raises:
            FileExistsError: If the path exists.
            FileNotFoundError: If its parent folder does not.
        """
        path = file_path("path", path).absolute()
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another folder for the {type(self).__name__.lower()}")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} does not exist")
        with pt.io.finalized_directory(str(path)) as folder:
            self._write(self.tables, Path(folder))
            meta = {"type": self.ARTIFACT_TYPE, "format": self.ARTIFACT_FORMAT}
            meta["package_hint"] = self.ARTIFACT_PACKAGE_HINT
            (Path(folder) / "pt_meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
        saved = type(self)(path)
        saved._tables = self.tables
        return saved
