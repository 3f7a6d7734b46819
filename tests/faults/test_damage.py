"""A damaged artifact is refused in one line that names the file, and no number changes in silence.

By hand, with many more bits: ``python tests/faults flips``.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from faults import artifacts, flip, flip_store, kept_store
from samples import small_pool

from pt_active import Plan
from pt_active.risk import Audit, ZeroOne

NAMES = ("plan", "plan-replaced", "plan-documents", "plan-rounds", "audit", "test")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("saved")
    return {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}


@pytest.mark.parametrize("name", NAMES)
def test_no_flipped_bit_changes_a_number_in_silence(saved: dict[str, Path], name: str) -> None:
    rng = random.Random(3)
    trials = [flip(name, saved[name], rng) for _ in range(15)]
    assert [broken for _, broken in trials if broken] == []
    assert sum(outcome == "refused" for outcome, _ in trials) > 7


def test_no_flipped_bit_changes_a_judgment_in_silence(tmp_path: Path) -> None:
    whole, killed = kept_store(tmp_path / "s.sqlite"), kept_store(tmp_path / "killed.sqlite", killed=True)
    copy, rng = tmp_path / "flipped.sqlite", random.Random(0)
    trials = [flip_store(store, copy, rng) for store in [*[whole] * 50, *[killed] * 30]]
    assert [broken for _, broken in trials if broken] == []
    assert sum(outcome == "refused" for outcome, _ in trials[:50]) > 10


@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.parametrize(
    "words",
    [
        {"budget": 30},
        {"budget": 10_000},
        {"design": "passive", "draws": 40, "replace": True},
        {"design": "stratified", "draws": 40},
    ],
)
def test_whatever_audit_can_be_made_can_be_read(tmp_path: Path, words: dict[str, object]) -> None:
    audit = Audit.create(small_pool(), {"judge": "judge"}, ZeroOne(), seed=5, **words)
    pd.testing.assert_frame_equal(Audit.load(audit.save(tmp_path / "audit").path).pairs, audit.pairs)
