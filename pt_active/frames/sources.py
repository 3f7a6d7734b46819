"""Files, compressed files and streams, each read once."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pt_active.frames.checks import file_path

_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {b"\x1f\x8b": gzip.decompress, b"\xfd7zXZ\x00": lzma.decompress}
_UNPACK |= {b"BZh%d1AY&SY" % level: bz2.decompress for level in range(1, 10)}
"""First bytes of a compressed file → a function that unpacks it."""


@dataclass(frozen=True)
class Source:
    """The content of a text file or stream, which was read once."""

    path: str  # where it came from
    content: bytes  # its bytes, decompressed, without a byte order mark and without NUL

    def __fspath__(self) -> str:
        return self.path

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of the file's name, without that of a compression."""
        suffixes = Path(self.path).suffixes
        return suffixes[:-1] if suffixes and suffixes[-1] in (".gz", ".bz2", ".xz") else suffixes

    @cached_property
    def ended(self) -> bytes:
        r"""The content with ``\n`` at the end of each line, for formats whose fields hold no line ends."""
        if b"\r" not in self.content:
            return self.content
        content = self.content.replace(b"\r\n", b"\n")
        if (at := content.find(b"\r")) < 0:
            return content
        if b"\n" in content:
            number = content.count(b"\n", 0, at) + 1
            raise ValueError(f"line {number}: a carriage return inside the line")
        return content.replace(b"\r", b"\n")

    @property
    def text(self) -> str:
        """The content as text."""
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise ValueError(f"line {line}: bytes that are not UTF-8") from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, from 1."""
        content = self.ended if self.text else b""
        for number, line in enumerate(io.BytesIO(content), start=1):
            yield number, line.decode("utf-8")

    def first_line(self) -> str:
        """The first line that is not blank; an empty string if there is none."""
        begin = re.search(rb"\S", self.content)
        if begin is None:
            return ""
        start = max(self.content.rfind(end, 0, begin.start()) for end in (b"\n", b"\r")) + 1
        line = re.compile(rb"[^\r\n]*").match(self.content, start)
        return line[0].decode("utf-8", "surrogateescape") if line else ""


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the file's name in front of the message of any error in reading it, unless it stands there already."""
    try:
        yield
    except (ValueError, EOFError, zlib.error) as error:
        if str(error).startswith(f"{os.fspath(path)}: "):
            raise
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def read_source(path: str | Path) -> Source:
    """Read a text file or a stream, such as a pipe, once."""
    return source_of(path, read_bytes(path))


def read_bytes(path: str | Path) -> bytes:
    """Read a file or a stream once; a compressed one is known by its first bytes."""
    with naming(path), file_path("path", path).open("rb") as stream:
        device = stat.S_ISCHR(os.fstat(stream.fileno()).st_mode)
        if device and not stream.isatty() and stream.read(1):
            raise ValueError("expected a file or a pipe; got a device, which has no end")
        content = stream.read()
        try:
            return next((unpack for magic, unpack in _UNPACK.items() if content.startswith(magic)), bytes)(content)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"the compressed data is damaged: {error}") from error


def source_of(path: str | Path, content: bytes) -> Source:
    """The source of a text that was read already."""
    with naming(path):
        if (at := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, at) + 1
            raise ValueError(f"line {line}: a NUL character, which text does not have; save the file as UTF-8 text")
    while (text := content.lstrip(b" \t")).startswith(codecs.BOM_UTF8):
        content = text[len(codecs.BOM_UTF8) :]
    return Source(os.fspath(path), content)
