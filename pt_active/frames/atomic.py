"""How does a file or a folder appear whole or not at all?

All is written to a temporary name in the target's folder, flushed to disk, and then given its name, without replacing
what has that name. A process that is killed leaves the temporary name behind, from which the next one that writes to
the folder sees that its owner is dead, and removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_PREFIX = ".pt-active-"
_TEMPORARY = re.compile(rf"^{re.escape(_PREFIX)}([0-9a-f]{{8}})-([0-9a-f]{{8}})-(\d+)-(\d+)-[0-9a-f]{{8}}\.tmp")
"""A temporary name: the machine, its boot, the process, when that started, and a random number."""

_FOREIGN_SECONDS = 24 * 3600
"""After a day, what another machine began to write to a shared folder counts as left behind."""

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Errors of file systems without hard links."""

_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR}


def write_file(path: str | Path, content: str | bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    with new_file(path, replace=replace) as unfinished:
        unfinished.write_bytes(content)


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
    temporary = target.absolute().parent / _temporary_name(target.suffix)
    try:
        if os.path.lexists(target) and not replace:
            raise _taken(target)
        _remove_leftovers(temporary.parent)
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
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            # Only one writer can make an empty file of that name, which it then replaces.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
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


# --- what dead processes left -----------------------------------------------------------------------------------------


def _temporary_name(suffix: str) -> str:
    """A name that says who writes; it keeps the target's suffix, by which some writers choose their format."""
    host, boot = _machine()
    pid = os.getpid()
    return f"{_PREFIX}{host}-{boot}-{pid}-{_start(pid)}-{secrets.token_hex(4)}.tmp{suffix[:16]}"


@cache
def _machine() -> tuple[str, str]:
    """Digests of what tells machines and containers apart, and of the time since the machine was booted."""
    host, boot = platform.node(), ""
    with suppress(OSError):
        host += os.readlink("/proc/self/ns/pid")
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    digests = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8] for text in (host, boot)]
    return digests[0], digests[1]


def _start(pid: int) -> int:
    """When a process started, in ticks of the machine's clock; 0 if that cannot be told."""
    with suppress(OSError, ValueError, IndexError):
        # The name of the program stands in parentheses, and may hold any character.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(fields[19])
    return 0


def _runs(pid: int, start: int) -> bool:
    """Whether a process of this machine still runs; another may have its number by now."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return start == 0 or _start(pid) in (0, start)


def _remove_leftovers(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _is_left(entry):
                _remove(Path(entry.path))


def _is_left(entry: os.DirEntry[str]) -> bool:
    if (written_by := _TEMPORARY.match(entry.name)) is None:
        return False
    host, boot, pid, start = written_by.groups()
    if host != _machine()[0] or os.name == "nt":
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _FOREIGN_SECONDS
    return boot != _machine()[1] or not _runs(int(pid), int(start))
