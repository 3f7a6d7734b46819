"""Whatever happens while something is saved, it is there whole or not at all, and saving it again works.

By hand, with many more faults: ``python tests/faults kills``, ``disks`` and ``races``.
"""

from __future__ import annotations

import os
import random
import re
import resource
import sys
import tarfile
from itertools import islice
from pathlib import Path

import pyterrier as pt
import pytest
from lz4.frame import LZ4FrameFile

if not hasattr(os, "fork"):
    pytest.skip("faults are tried in forked processes", allow_module_level=True)

from faults import Reference, artifacts, child, ended, fill, kill, kill_store, race, trials, writers

from pt_active import Plan
from pt_active.cli.app import app

QUICK = ("plan", "plan-rounds", "audit", "test", "export-csv", "report", "page")


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> list[Reference]:
    known = writers(tmp_path_factory.mktemp("files"))
    return [Reference(name, known[name], tmp_path_factory.mktemp(name)) for name in QUICK]


@pytest.mark.parametrize(("fault", "number"), [(kill, 14), (fill, 7), (race, 7)])
def test_nothing_is_lost_or_left(references, tmp_path, fault, number) -> None:
    found = list(islice(trials(fault, references, tmp_path, seed=1), number))
    assert [broken for _, broken in found if broken] == []


def test_no_acknowledged_judgment_is_lost_by_a_kill_or_a_copy(tmp_path: Path) -> None:
    trials = [kill_store(tmp_path / str(seed), random.Random(seed)) for seed in range(4)]
    assert [broken for _, broken in trials if broken] == []


def command(capfd: pytest.CaptureFixture[str], *words: object, limit: int = -1) -> tuple[int, str]:
    """The exit status of a command whose files may not be larger than a limit, and its standard error."""

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            app([str(word) for word in words], prog_name="pt-active")
        except SystemExit as done:
            sys.stderr.flush()
            os._exit(int(done.code or 0))

    capfd.readouterr()
    return ended(child(work)), capfd.readouterr().err


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    plan, labels = artifacts()["plan"]
    plan.save(tmp_path / "plan")
    labels.to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("call", ["export plan --format csv", "plan --extend plan --budget 20"])
def test_a_full_disk_is_one_line_and_exit_2(saved: Path, capfd: pytest.CaptureFixture[str], call: str) -> None:
    words = [*call.replace(" plan", f" {saved / 'plan'}").split(), "--out", saved / "new"]
    code, said = command(capfd, *words, limit=1000)
    assert code == 2
    assert re.fullmatch(f"error: .*{saved / 'new'}.*File too large; nothing was written.*\n", said)
    assert sorted(each.name for each in saved.iterdir()) == ["labels.csv", "plan"]
    assert command(capfd, *words)[0] == 0


def test_a_folder_without_the_right_to_write_is_named(saved: Path) -> None:
    """In a process without rights, since root may write anywhere."""
    plan, report = artifacts()["plan"][0], writers(saved)["report"]
    writes = (plan.save, report.write, lambda path: plan.export(path, "csv"))
    closed = saved / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for each in (saved, *saved.parents):
        if each.stat().st_uid == os.geteuid() and not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o711)

    def refused() -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        for write in writes:
            with pytest.raises(PermissionError, match="nothing was written") as error:
                write(closed / "new")
            assert error.value.filename == str(closed / "new")

    # All that writing imports is imported here: without rights, a clone in a private folder cannot be read.
    for number, write in enumerate(writes):
        write(saved / f"written{number}")
    assert ended(child(refused)) == 0
    assert list(closed.iterdir()) == []


def test_packages_of_artifacts_can_be_published_and_read(tmp_path: Path) -> None:
    plan, labels = artifacts()["plan-rounds"]
    package = plan.save(tmp_path / "plan").build_package(str(tmp_path / "plan.tar.lz4"), verbose=False)
    with LZ4FrameFile(package) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extractall(tmp_path / "again")
    again = pt.Artifact.load(str(tmp_path / "again"))
    assert isinstance(again, Plan)
    assert again.compare(labels) == plan.compare(labels)
