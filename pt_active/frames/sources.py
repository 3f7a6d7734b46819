"""Files, compressed files and streams, each read once."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pt_active.frames.checks import file_path

_GZIP = b"\x1f\x8b"  # The first bytes of a compressed file


@dataclass(frozen=True)
class Source:
    """The content of a text file or stream, which was read once."""

    path: str  # where it came from
    content: bytes  # its bytes, decompressed, without a byte order mark and without NUL

    def __fspath__(self) -> str:
        return self.path

    @property
    def suffix(self) -> str:
        """The suffix of the file's name, without that of a compression."""
        return Path(self.path.removesuffix(".gz")).suffix

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
        """The first line that is not blank, from its first character; an empty string if there is none."""
        line, *_ = re.split(rb"[\r\n]", self.content.lstrip(), maxsplit=1)
        return line.decode("utf-8", "surrogateescape")


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
    with naming(path):
        content = file_path("path", path).read_bytes()
        if not content.startswith(_GZIP):
            return content
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
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
