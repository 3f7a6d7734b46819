"""Compiled loops work where nothing can be written, and are kept where only their user can write."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from numba.core import config

from pt_active.frames.compiling import compiled


@pytest.fixture(autouse=True)
def locked(tmp_path: Path) -> Iterator[None]:
    """Neither the package's folder nor the home folder can be written, as far as numba knows."""
    if not hasattr(config, "CACHE_LOCATOR_CLASSES"):
        pytest.skip("this version of numba cannot be told to look nowhere else")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
        patch.delenv("NUMBA_CACHE_DIR", raising=False)
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        config.reload_config()
        yield
        os.environ.pop("NUMBA_CACHE_DIR", None)
    config.reload_config()


def twice(x: float) -> float:
    return 2 * x


def half(x: float) -> float:
    return x / 2


def test_a_folder_of_temporary_files_takes_their_place(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="neither the folder of pt_active nor the home folder can be written") as told:
        function = compiled()(twice)
    assert function(2.0) == 4.0
    (folder,) = tmp_path.iterdir()
    assert str(folder) in str(told[0].message)
    assert list(folder.rglob("*.nbc"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled()(half)(4.0) == 2.0


def _open_to_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def _somebody_elses(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 65534, 65534)


def _a_link(folder: Path) -> None:
    folder.symlink_to(folder.parent)


@pytest.mark.parametrize("made", [_open_to_others, _somebody_elses, _a_link, Path.touch])
def test_no_code_is_loaded_that_others_can_write(tmp_path: Path, made: Callable[[Path], object]) -> None:
    if made is _somebody_elses and os.getuid():
        pytest.skip("only root can give a folder away")
    made(tmp_path / f"numba-of-pt-active-{os.getuid()}")
    with pytest.warns(UserWarning, match="compiled again by every command"):
        function = compiled()(twice)
    assert function(2.0) == 4.0
    assert not list(tmp_path.rglob("*.nbc"))
