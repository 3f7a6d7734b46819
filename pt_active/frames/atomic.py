"""How does a file or a folder appear whole or not at all?

All is written to a temporary name in the target's folder, flushed to disk, and then given its name, without replacing
what has that name.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR}


def write_file(path: str | Path, content: str | bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    with new_file(path, replace=replace) as unfinished:
        unfinished.write_bytes(content)


def append_line(path: str | Path, line: str) -> None:
    """Add a line to a file, which may be new, in one piece: lines of several processes do not mix."""
    with open(path, "ab", buffering=0) as stream:
        stream.write(f"{line}\n".encode())
        os.fsync(stream.fileno())


@contextmanager
def new_file(path: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """A path to write to, which becomes the file when the block ends without an error."""
    target = Path(path)
    with _unfinished(target, replace) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield temporary
        _flush(temporary)
        if replace:
            os.replace(temporary, target)
        else:
            _name_file(temporary, target)


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when the block ends without an error."""
    target = Path(path)
    with _unfinished(target, replace=False) as temporary:
        temporary.mkdir()
        yield temporary
        for folder, _, files in os.walk(temporary, topdown=False):
            for name in files:
                _flush(Path(folder, name))
            _flush_folder(Path(folder))
        if os.path.lexists(target):
            raise _taken(target)
        try:
            # POSIX replaces an empty folder, in which nothing can be lost, and no other.
            os.rename(temporary, target)
        except OSError as error:
            if error.errno in _TAKEN:
                raise _taken(target) from None
            raise


@contextmanager
def _unfinished(target: Path, replace: bool) -> Iterator[Path]:
    """The temporary path of a target, which is removed if the block fails; errors name the target instead."""
    # The suffix stays, by which some writers choose their format.
    temporary = target.absolute().parent / f".pt-active-{secrets.token_hex(8)}.tmp{target.suffix[:16]}"
    try:
        if os.path.lexists(target) and not replace:
            raise _taken(target)
        yield temporary
        _flush_folder(temporary.parent)
    except BaseException as error:
        _remove(temporary)
        about = getattr(error, "filename", None)
        inside = isinstance(about, (str, os.PathLike)) and temporary.name in Path(about).parts
        if not isinstance(error, OSError) or error.errno is None or (about and not inside):
            raise
        raise OSError(error.errno, f"{os.strerror(error.errno)}; nothing was written", str(target)) from error


def _taken(target: Path) -> FileExistsError:
    return FileExistsError(f"{target} exists, and nothing is replaced; choose another name")


def _name_file(temporary: Path, target: Path) -> None:
    """Give a file its name, unless another has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # of a file system without hard links
        if os.path.lexists(target):
            raise _taken(target) from None
        os.replace(temporary, target)
    else:
        temporary.unlink()


def _flush(path: Path, flags: int = os.O_RDWR) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: Path) -> None:
    with suppress(OSError):  # some systems cannot do that
        _flush(path, os.O_RDONLY)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
