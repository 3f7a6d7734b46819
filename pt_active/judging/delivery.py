"""What did a judging tool deliver: a table, JSON, lines of JSON, or an archive of files?"""

from __future__ import annotations

import codecs
import io
import os
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pt_active.frames.sources import ZIP, Source, beyond, naming, read_delivered, size_limit, source_of
from pt_active.frames.tables import json_value

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_INSIDE = " › "
"""Between the name of an archive and that of a file in it."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    UnicodeDecodeError,
)
"""What the library raises for archives that are damaged or encrypted."""

_MAX_MEMBERS = 10_000
"""Files of an archive, at most."""


@dataclass(frozen=True)
class Delivery:
    """A file of a judging tool, which was read once.

    Attributes:
        path: Where it came from.
        content: Its bytes, decompressed; text is UTF-8 unless it is damaged.
    """

    path: str
    content: bytes

    @classmethod
    def read(cls, path: str | Path) -> Delivery:
        """Read a file or a stream.

        UTF-16 with a byte order mark becomes UTF-8. A table that is neither is read as Windows-1252, and a warning says
        so.
        """
        content = read_delivered(path)
        with naming(path):
            return cls(os.fspath(path), content if content.startswith(ZIP) else _utf8(content, os.fspath(path)))

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip archive, as spreadsheets and the exports of some tools are."""
        return self.content.startswith(ZIP)

    @property
    def is_lines(self) -> bool:
        """Whether the first line is a whole JSON object and another line follows."""
        return bool(self.first_object) and b"\n" in self.content.strip()

    def is_object_with(self, key: str) -> bool:
        """Whether it is one JSON object that has a key. It is parsed only if it looks like that."""
        if self.is_archive or not self.content.lstrip().startswith(b"{") or f'"{key}"'.encode() not in self.content:
            return False
        return not self.is_lines and isinstance(self.json, dict) and key in self.json

    @property
    def is_json_list(self) -> bool:
        """Whether it begins like a JSON list of objects."""
        return re.match(rb"\s*\[\s*[{\]]", self.content) is not None

    @property
    def stem(self) -> str:
        """The file's name without folder and suffix."""
        return Path(self.path.rpartition(_INSIDE)[2]).stem

    @cached_property
    def source(self) -> Source:
        """Its text."""
        return source_of(self.path, self.content, long_lines=self.content.lstrip()[:1] in (b"{", b"["))

    @cached_property
    def first_line(self) -> str:
        """The first line that is not blank; empty if it is an archive."""
        return "" if self.is_archive else self.source.first_line()

    @cached_property
    def json(self) -> Any:
        """The value of the whole file."""
        with naming(self.path):
            return json_value(self.source.text)

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The JSON object in the first line of a file of JSON lines; empty if the file is anything else."""
        if not self.first_line.lstrip().startswith("{"):
            return {}
        try:
            value = json_value(self.first_line)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def members(self) -> list[Delivery]:
        """The files in an archive, without folders."""
        with naming(self.path):
            try:
                with zipfile.ZipFile(io.BytesIO(self.content)) as archive:
                    return list(self._files(archive))
            except _DAMAGED as error:
                raise ValueError(f"the archive is damaged or encrypted: {str(error)[:200]}") from error

    def _files(self, archive: zipfile.ZipFile) -> Iterator[Delivery]:
        files = [each for each in archive.infolist() if not each.is_dir()]
        if len(files) > _MAX_MEMBERS:
            raise beyond(f"the archive has {len(files)} files, more", _MAX_MEMBERS, "files")
        if sum(each.file_size for each in files) > size_limit():
            raise beyond("the archive's files are larger", size_limit(), "bytes")
        for each in files:
            with archive.open(each) as stream:
                content = stream.read(each.file_size + 1)
            path = f"{self.path}{_INSIDE}{each.filename}"
            yield Delivery(path, content if content.startswith(ZIP) else _utf8(content, path))


def _utf8(content: bytes, path: str) -> bytes:
    """The content of a text in another encoding as UTF-8."""
    if content.startswith(_UTF_16):
        try:
            return content.decode("utf-16").encode("utf-8")
        except UnicodeDecodeError:
            raise ValueError("the UTF-16 text is cut off or damaged") from None
    header = content[: content.find(b"\n")] if b"\n" in content else content
    if not re.search(rb"docno", header, re.IGNORECASE):
        return content
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        try:
            content = content.decode("cp1252").encode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"line {line}: bytes that are neither UTF-8 nor Windows-1252") from None
        warnings.warn(f"{path}: line {line} is not UTF-8, so the file was read as Windows-1252", stacklevel=3)
    return content
