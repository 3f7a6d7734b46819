"""How is an artifact kept on disk, and are its files as they were written?"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd

from pt_active.frames.checks import shown

MANIFEST = "manifest.json"

DIGESTS = "sha256"
"""The key of the manifest that holds the SHA-256 of each file."""

_CHANGED = "is not as it was saved (its SHA-256 differs)"

Content = TypeVar("Content")


@dataclass(frozen=True)
class Form(Generic[Content]):
    """The form of an artifact on disk: Parquet files, and a manifest with the digest of each and of itself."""

    what: str
    format_version: int  # the one that can be read
    manifest: Callable[[dict[str, Any]], Any]  # from the values in manifest.json
    content: Callable[[dict[str, pd.DataFrame], Any], Content]  # from the tables and the manifest
    tables: Callable[[Content], Mapping[str, pd.DataFrame]]

    def write(self, content: Any, folder: Path) -> None:
        """Write the content, which has a ``manifest``, into an empty folder."""
        digests = {}
        for name, table in self.tables(content).items():
            file = table.to_parquet(index=False)
            (folder / f"{name}.parquet").write_bytes(file)
            digests[f"{name}.parquet"] = hashlib.sha256(file).hexdigest()
        values = content.manifest.to_json() | {"kind": self.what, DIGESTS: digests}
        digests[MANIFEST] = digest_of(values)
        (folder / MANIFEST).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    def read(self, folder: Path) -> Content:
        """Read what was saved in a folder; raises if the digest of a file does not hold."""
        if not (folder / MANIFEST).is_file():
            raise FileNotFoundError(f"there is no {self.what} at {folder}: it has no {MANIFEST}")
        values = self._values(folder)
        tables = {}
        for file, digest in values[DIGESTS].items():
            try:
                content = (folder / file).read_bytes()
            except OSError as error:
                raise self._damaged(folder, f"{file} cannot be read ({error})") from error
            if hashlib.sha256(content).hexdigest() != digest:
                raise self._damaged(folder, f"{file} {_CHANGED}")
            tables[file.removesuffix(".parquet")] = pd.read_parquet(io.BytesIO(content))
        return self.content(tables, self.manifest(values))

    def _values(self, folder: Path) -> dict[str, Any]:
        """What the manifest holds; its digests are those of the tables."""
        try:
            values = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(folder, f"{MANIFEST} cannot be read ({error})") from error
        if not isinstance(values, dict) or "format_version" not in values:
            raise self._damaged(folder, f"{MANIFEST} lacks format_version")
        if (kind := values.get("kind", self.what)) != self.what:
            raise ValueError(f"what is kept at {folder} is of the kind {kind!r}; {self.what!r} is needed")
        if values["format_version"] != self.format_version:
            raise ValueError(
                f"the {self.what} at {folder} is in format {shown(values['format_version'])}, as its {MANIFEST} says; "
                f"this version reads format {self.format_version}: make the {self.what} again from the same inputs "
                "and seed"
            )
        digests = values.get(DIGESTS)
        if not isinstance(digests, dict) or digests.pop(MANIFEST, "") != digest_of(values):
            raise self._damaged(folder, f"{MANIFEST} {_CHANGED}")
        return values

    def _damaged(self, folder: Path, how: str) -> ValueError:
        return ValueError(
            f"the {self.what} at {folder} is damaged: {how}; restore the folder from a copy, or make the {self.what} "
            "again from the same inputs and seed"
        )


def digest_of(value: Any) -> str:
    """The SHA-256 of what JSON holds, whatever its white space and the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
