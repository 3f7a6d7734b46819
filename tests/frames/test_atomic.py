"""Files and folders that appear whole or not at all."""

import errno
import os
import re
from pathlib import Path

import pytest

from pt_active.frames.atomic import new_file, new_folder, write_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights and processes of POSIX")

NEW = pytest.mark.parametrize("new", [new_file, new_folder])


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def failing(code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("umask", [0o027, 0])
def test_rights_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with new_folder(tmp_path / "folder") as inside:
            (inside / "part").write_text("text")
        write_file(tmp_path / "file", "text")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("folder", "file", "folder/part")]
    assert modes == [0o777 & ~umask, 0o666 & ~umask, 0o666 & ~umask]


@NEW
def test_an_error_leaves_nothing(tmp_path, new):
    def interrupted(unfinished):
        (unfinished / "part" if unfinished.is_dir() else unfinished).write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), new(tmp_path / "new") as unfinished:
        interrupted(unfinished)
    assert names(tmp_path) == []


@NEW
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("x")])
def test_what_appears_in_the_meantime_is_not_replaced(tmp_path, new, make):
    target = tmp_path / "target"
    for meanwhile in (make, lambda _: None):
        with pytest.raises(FileExistsError, match="exists, and nothing is replaced"), new(target):
            meanwhile(target)
    assert names(tmp_path) == ["target"]


def test_a_file_can_be_replaced_on_request(tmp_path):
    for content in ("old", b"new"):
        write_file(tmp_path / "file", content, replace=True)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "file", "other")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_file_systems_without_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    write_file(tmp_path / "file", "text")
    with pytest.raises(FileExistsError), new_file(tmp_path / "other"):
        (tmp_path / "other").write_text("first")
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {"file": "text", "other": "first"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_an_error_of_the_disk_names_the_target(tmp_path, monkeypatch, code):
    monkeypatch.setattr(os, "fsync", failing(code))
    with pytest.raises(OSError, match=re.escape(f"{os.strerror(code)}; nothing was written: '{tmp_path / 'file'}'")):
        write_file(tmp_path / "file", "text")
    assert names(tmp_path) == []


@NEW
@pytest.mark.parametrize("name", ["x" * 300, "loop/file", "none/file", "file/below"])
def test_impossible_targets(tmp_path, new, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match=re.escape(str(tmp_path / name))), new(tmp_path / name):
        pass
    assert names(tmp_path) == ["file", "loop"]
