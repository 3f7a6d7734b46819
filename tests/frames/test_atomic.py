"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import signal
from pathlib import Path

import pytest

from pt_active.frames.atomic import new_file, new_folder, write_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights and processes of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize(("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o027, 0o750, 0o640), (0, 0o777, 0o666)])
def test_rights_follow_the_umask(tmp_path: Path, umask: int, folder: int, file: int) -> None:
    before = os.umask(umask)
    try:
        write_file(tmp_path / "file", "text")
        with new_folder(tmp_path / "folder") as inside:
            (inside / "part").write_text("text")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "folder", tmp_path / "file", tmp_path / "folder/part")]
    assert modes == [folder, file, file]


def interrupted(unfinished: Path) -> None:
    (unfinished / "part" if unfinished.is_dir() else unfinished).write_text("half")
    raise KeyboardInterrupt


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    for new in (new_file, new_folder):
        with pytest.raises(KeyboardInterrupt), new(tmp_path / "new") as unfinished:
            interrupted(unfinished)
    assert names(tmp_path) == []


def test_what_appears_in_the_meantime_is_not_replaced(tmp_path: Path) -> None:
    def link(path: Path) -> None:
        path.symlink_to("x")

    for number, new in enumerate((new_file, new_folder)):
        for make in (Path.touch, Path.mkdir, link):
            target = tmp_path / f"{number}"
            with pytest.raises(FileExistsError, match="exists, and nothing is replaced"), new(target):
                make(target)
            assert names(tmp_path) == [str(number)]
            with pytest.raises(FileExistsError, match="exists, and nothing is replaced"), new(target):
                pass
            target.rmdir() if target.is_dir() else target.unlink()


def test_a_file_can_be_replaced_on_request(tmp_path: Path) -> None:
    for content in ("old", b"new"):
        write_file(tmp_path / "file", content, replace=True)
    assert (tmp_path / "file").read_bytes() == b"new"
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", "other")
    assert names(tmp_path) == ["file"]


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_file(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    with pytest.raises(FileExistsError), new_file(tmp_path / "other"):
        (tmp_path / "other").write_text("first")
    assert (tmp_path / "other").read_text() == "first"
    assert names(tmp_path) == ["file", "other"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_an_error_of_the_disk_names_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=re.escape(f"{os.strerror(code)}; nothing was written: '{tmp_path / 'file'}'")):
        write_file(tmp_path / "file", "text")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 300, "loop/file", "none/file", "file/below"])
def test_impossible_targets(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("text")
    for new in (new_file, new_folder):
        with pytest.raises(OSError, match=re.escape(str(tmp_path / name))), new(tmp_path / name):
            pass
    assert names(tmp_path) == ["file", "loop"]


def test_a_killed_writer_leaves_nothing_at_the_target(tmp_path: Path) -> None:
    for new in (new_file, new_folder):
        if not (pid := os.fork()):
            with new(tmp_path / "target"):
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        assert not (tmp_path / "target").exists()
        assert all(name.startswith(".pt-active-") for name in names(tmp_path))
        write_file(tmp_path / "target", "text")
        assert (tmp_path / "target").read_text() == "text"
        (tmp_path / "target").unlink()
