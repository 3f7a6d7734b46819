"""Whatever happens while something is saved, it is there whole or not at all, and damage is refused, not read.

By hand, with many more faults: ``python tests/faults --help``.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from lz4.frame import LZ4FrameFile

if not hasattr(os, "fork"):
    pytest.skip("faults are tried in forked processes", allow_module_level=True)

from faults import KINDS, artifacts, report
from samples import forked, small_pool

from pt_active import Plan
from pt_active.risk import Audit, ZeroOne

QUICK = ("plan", "plan-rounds", "audit", "test", "export-csv", "report", "page")
ARTIFACTS = ("plan", "plan-replaced", "plan-documents", "plan-rounds", "audit", "test")


@pytest.mark.parametrize(
    ("kind", "number", "refused", "only"),
    [
        ("kills", 14, 0, [QUICK]),
        ("disks", 7, 7, [QUICK]),
        ("races", 7, 0, [QUICK]),
        ("store-kills", 4, 0, []),
        ("flips", 60, 30, []),
        ("store-flips", 80, 16, []),
    ],
)
def test_nothing_is_lost_or_left_or_changed_in_silence(tmp_path: Path, kind, number, refused, only) -> None:
    found = list(islice(KINDS[kind](tmp_path, 1, *only), number))
    assert [broken for _, broken in found if broken] == []
    assert sum(outcome == "refused" for outcome, _ in found) >= refused


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("saved")
    return {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_every_file_is_named_with_what_to_do(saved: dict[str, Path], tmp_path: Path, name: str) -> None:
    load = type(artifacts()[name][0]).load
    for file in sorted(saved[name].glob("*.parquet")):
        folder = Path(shutil.copytree(saved[name], tmp_path / file.stem))
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        (folder / file.name).write_bytes(content)
        said = f"is damaged: .*{file.name} is not as it was saved.*restore the folder from a copy, or make the"
        with pytest.raises(ValueError, match=said):
            load(folder)
        (folder / file.name).unlink()
        with pytest.raises(ValueError, match=f"is damaged: .*{file.name} cannot be read"):
            load(folder)


@pytest.mark.parametrize("level", ["query", "document"])
@pytest.mark.parametrize("skewed", [False, True])
def test_a_plan_of_all_documents_can_be_read_however_traffic_is_spread(tmp_path, level: str, skewed: bool) -> None:
    frame = small_pool().drop(columns=["label", "judge"])
    if skewed:
        frame["traffic"] = np.where(frame["qid"] < "q03", 1e6, frame["qid"].str[1:].astype(int) % 2)
    plan = Plan.create(frame, None, "DCG@4", budget=10_000, level=level, seed=2).save(tmp_path / "plan")
    read = Plan.load(plan.path)
    pd.testing.assert_frame_equal(read.queries, plan.queries)
    pd.testing.assert_frame_equal(read.assessments, plan.assessments)
    assert (str(read), read.id) == (str(plan), plan.id)


PASSIVE = {"design": "passive", "draws": 40, "replace": True}


@pytest.mark.parametrize("words", [{"budget": 30}, {"budget": 10_000}, {"design": "stratified", "draws": 40}, PASSIVE])
def test_whatever_audit_can_be_made_can_be_read(tmp_path: Path, words: dict[str, Any]) -> None:
    audit = Audit.create(small_pool(), {"judge": "judge"}, ZeroOne(), seed=5, **words)
    pd.testing.assert_frame_equal(Audit.load(audit.save(tmp_path / "audit").path).pairs, audit.pairs)


def test_a_folder_without_the_right_to_write_is_named(tmp_path: Path) -> None:
    """In a process without rights, since root may write anywhere."""
    plan, closed = artifacts()["plan"][0], tmp_path / "closed"
    writes = (plan.save, report().save, lambda path: plan.export(path, "csv"))
    closed.mkdir()
    closed.chmod(0o555)
    for each in (tmp_path, *tmp_path.parents):
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
        write(tmp_path / f"written{number}")
    child = forked(refused)
    child.join()
    assert child.exitcode == 0
    assert list(closed.iterdir()) == []


def test_packages_of_artifacts_can_be_published_and_read(tmp_path: Path) -> None:
    plan, labels = artifacts()["plan-rounds"]
    package = plan.save(tmp_path / "plan").build_package(str(tmp_path / "plan.tar.lz4"), verbose=False)
    with LZ4FrameFile(package) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        archive.extractall(tmp_path / "again")
    again = pt.Artifact.load(str(tmp_path / "again"))
    assert isinstance(again, Plan)
    assert again.compare(labels) == plan.compare(labels)
