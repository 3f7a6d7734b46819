"""Files, compressed files and streams, each read once, within limits."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pt_active.frames.checks import Argument, ArgumentError, file_path

_BLOCK = 1 << 20
"""Bytes that are read at a time; no more than `Limits.line`, so that a block has room for one long line at most."""

_ALWAYS_EXPANDED = 1 << 26  # Bytes to which a compressed file may expand whatever its size
NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""A lone surrogate, which stands in the lines of a source for a byte that is not UTF-8."""

_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
"""What the decompressors raise for damaged data, beside plain OSError and RuntimeError."""


class Limits(NamedTuple):
    """How much a file may hold. What goes beyond is refused, with a message that says how to lift the limits."""

    size: int = 1 << 30  # bytes of the whole file, after decompression
    line: int = 1 << 24
    columns: int = 1000
    cell: int = 1 << 24  # characters of a cell of a table
    expansion: int = 250  # of a file over 64 MiB to its compressed form; runs have 3 to 50, bombs 1,000
    elements: int = 1_000_000  # of a spreadsheet's XML, such as of nine columns of 35,000 rows

    def check_expansion(self, what: str, size: int, packed: int) -> None:
        """Raise if too many bytes come from a few that are packed."""
        if size > max(_ALWAYS_EXPANDED, packed * self.expansion):
            raise beyond(f"{what} expands to at least {size:,} bytes, more", self.expansion, "times its size")


LIMITS = Limits()  # Unless they are lifted
NO_LIMITS = Limits(*[sys.maxsize] * len(LIMITS))  # But those of the memory
_LIFTED: ContextVar[bool] = ContextVar("limits_lifted", default=False)


@contextmanager
def limits_lifted() -> Iterator[None]:
    """Read files without `LIMITS` inside this block."""
    token = _LIFTED.set(True)
    try:
        yield
    finally:
        _LIFTED.reset(token)


def beyond(what: str, limit: int, unit: str) -> ArgumentError:
    """The error about a file that goes beyond a limit; the message says how to lift it."""
    lift = Argument("no_limit", True)
    return ArgumentError(f"{what} than {limit:,} {unit}, the limit; if it is meant to be, ", lift, " lifts the limit")


@dataclass(frozen=True)
class Source:
    """The content of a text file or stream, which was read once."""

    path: str  # where it came from
    content: bytes  # its bytes, decompressed, without a byte order mark and without NUL
    limits: Limits = LIMITS  # how much it may hold

    def __fspath__(self) -> str:
        return self.path

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of the file's name, without that of a compression."""
        suffixes = Path(self.path).suffixes
        return suffixes[:-1] if suffixes and suffixes[-1] in _OPEN else suffixes

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
        """The lines with their numbers, from 1. Bytes that are not UTF-8 become lone surrogates."""
        for number, line in enumerate(io.BytesIO(self.ended), start=1):
            yield number, line.decode("utf-8", "surrogateescape")

    def first_line(self) -> str:
        """The first line that is not blank; an empty string if there is none."""
        if not (begin := re.search(rb"\S", self.content)):
            return ""
        end = b"\n" if b"\n" in self.content else b"\r"
        start, stop = self.content.rfind(end, 0, begin.start()) + 1, self.content.find(end, begin.start())
        return self.content[start : stop if stop >= 0 else None].decode("utf-8", "surrogateescape").rstrip("\r")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the file's name in front of the message of any error in reading it, unless it stands there already."""
    try:
        yield
    except (ValueError, *_DAMAGED) as error:
        if str(error).startswith(f"{os.fspath(path)}: "):
            raise
        if isinstance(error, ArgumentError):
            raise ArgumentError(f"{os.fspath(path)}: ", *error.parts) from error
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def limits_now(no_limit: bool = False) -> Limits:
    """How much a file may hold that is read now."""
    return NO_LIMITS if no_limit or _LIFTED.get() else LIMITS


def read_source(path: str | Path, no_limit: bool = False) -> Source:
    """Read a text file or a stream, such as a pipe, once; compressed ones are known by name or first bytes."""
    limits = limits_now(no_limit)
    with naming(path), opened(path) as (stream, packed):
        return _source(path, _blocks(stream, limits, packed), limits, limits.line)


def read_bytes(path: str | Path, no_limit: bool = False) -> bytes:
    """Read what another program wrote, once: a text in any encoding, or a binary file. It is decompressed."""
    parquet = (_PARQUET,) if Path(path).suffix == ".parquet" else ()
    with naming(path), opened(path, (ZIP, *UTF_16, *parquet)) as (stream, packed):
        return b"".join(_blocks(stream, limits_now(no_limit), packed))


def source_of(path: str | Path, content: bytes, long_lines: bool = False) -> Source:
    """The source of a text that was read already."""
    limits = limits_now()
    blocks = (content[start : start + _BLOCK] for start in range(0, len(content), _BLOCK))
    with naming(path):
        return _source(path, blocks, limits, sys.maxsize if long_lines else limits.line)


def _source(path: str | Path, blocks: Iterator[bytes], limits: Limits, longest: int) -> Source:
    content = b"".join(_text_blocks(blocks, longest))
    while (text := content.lstrip(b" \t")).startswith(codecs.BOM_UTF8):
        content = text[len(codecs.BOM_UTF8) :]
    return Source(os.fspath(path), content, limits)


@contextmanager
def opened(path: str | Path, allowed: tuple[bytes, ...] = ()) -> Iterator[tuple[IO[bytes], IO[bytes] | None]]:
    """Open a file or a stream to read its bytes, decompressed; and the compressed stream, None if there is none."""
    with file_path("path", path).open("rb") as stream:
        start = stream.peek(16)[:16]
        for magic, name in _ARCHIVES.items():
            if start.startswith(magic) and magic not in allowed:
                raise ValueError(f"this is {name}, and not UTF-8 text; unpack it or save it as UTF-8 text first")
        packed = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), Path(path).suffix)
        if packed in _OPEN:
            with _OPEN[packed](stream) as unpacked:
                yield unpacked, stream
        else:
            yield stream, None


def _lz4(stream: IO[bytes]) -> Any:
    try:
        import lz4.frame
    except ImportError:
        raise ValueError("this is compressed by lz4; unpack it, or install the package lz4") from None
    return lz4.frame.open(stream)


_OPEN: dict[str, Callable[[IO[bytes]], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lz4": _lz4}
"""Suffix of a compressed file → a function that opens its stream."""

_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x04\x22\x4d\x18": ".lz4"}
_MAGIC |= {b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)}
"""First bytes of a compressed stream → its suffix."""

ZIP = b"PK\x03\x04"  # First bytes of a zip archive
_PARQUET = b"PAR1"
UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE

_ARCHIVES = {
    ZIP: "a zip archive or a spreadsheet file",
    b"\x28\xb5\x2f\xfd": "a file compressed by Zstandard",
    _PARQUET: "a Parquet file without the suffix .parquet",
    **dict.fromkeys(UTF_16, "UTF-16 text"),
}
"""First bytes of what is not read → its name."""


def _blocks(stream: IO[bytes], limits: Limits, packed: IO[bytes] | None = None) -> Iterator[bytes]:
    """The content in blocks, at most as much as the limits allow; ``packed`` is the compressed stream behind it."""
    size, too_large = 0, beyond("the file is larger", limits.size, "bytes")
    if packed is None:
        about = os.fstat(stream.fileno())
        if stat.S_ISREG(about.st_mode) and about.st_size > limits.size:
            raise too_large
    while block := read_unpacked(stream, _BLOCK):
        size += len(block)
        if size > limits.size:
            raise too_large
        if packed is not None and packed.seekable():
            limits.check_expansion("the file", size, packed.tell())
        yield block


def read_unpacked(stream: IO[bytes], size: int) -> bytes:
    """The next bytes of a stream, which may have been compressed."""
    try:
        return stream.read(size)
    except (OSError, RuntimeError, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"the compressed data is damaged: {error}") from error


def _text_blocks(blocks: Iterator[bytes], longest: int) -> Iterator[bytes]:
    """The blocks of a text, each checked when it is read, so that a stream without an end is refused soon."""
    before, waiting = list[bytes](), 0
    for block in blocks:
        first = block.find(b"\n")
        if waiting + (len(block) if first < 0 else first) > longest:
            raise beyond(f"line {_line_ends(before) + 1} is longer", longest, "bytes")
        if (at := block.find(b"\0")) >= 0:
            line = _line_ends([*before, block[:at]]) + 1
            raise ValueError(f"line {line}: a NUL character, which text does not have")
        waiting = waiting + len(block) if first < 0 else len(block) - block.rfind(b"\n") - 1
        # Line ends are only counted if there is something to say about a line.
        before.append(block)
        yield block


def _line_ends(blocks: list[bytes]) -> int:
    # bytes.count is ten times as slow on a block of nothing but line ends.
    return sum(int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n"))) for block in blocks)
