"""What a plan's id stands for: its inputs and arguments but for rounding, and what was drawn."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import as_of_old

from pt_active import Plan
from pt_active.demo.collection import DemoCollection
from pt_active.frames.clocks import clocks, keys
from pt_active.plans.making.pool import seen_by


def plan_of(frame: pd.DataFrame, **how: object) -> Plan:
    return Plan.create(frame, None, **({"measure": "nDCG@10", "budget": 150, "level": "document", "seed": 1} | how))


def test_rounding_changes_no_id_and_another_sample_does(graded: pd.DataFrame) -> None:
    plan, columns = plan_of(graded), graded.select_dtypes("float").columns
    noise = 1 + np.random.default_rng(0).uniform(-1e-14, 1e-14, (len(graded), len(columns)))
    near = graded.assign(**dict(zip(columns, (graded[columns] * noise).to_numpy().T, strict=True)))
    assert plan_of(near).id == plan.id
    other = replace(plan.tables.manifest, drawn=plan_of(graded, budget=151).tables.manifest.drawn)
    assert other.id != plan.id
    assert plan_of(graded.iloc[::-1]).id == plan.id


@pytest.mark.parametrize("again", [False, True])
def test_plans_in_format_5_keep_their_ids_and_their_label_vectors(
    again: bool, graded: pd.DataFrame, demo: DemoCollection, tmp_path: Path
) -> None:
    plan = plan_of(graded)
    old = Plan.load(as_of_old(plan.save(tmp_path / "old").path, format_version=5, drawn=None))
    old = Plan.load(old.save(tmp_path / "again").path) if again else old
    made_from = {name: old.manifest[name] for name in ("inputs", "arguments")}
    text = json.dumps(made_from, sort_keys=True, separators=(",", ":"))
    assert old.id == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert old.id != plan.id
    pool, qrels = old.tables.pool, demo.judge(plan.assessments)
    units = 0, pool.qids[pool.query_of_document], pool.docno
    np.testing.assert_array_equal(seen_by(old.measure, pool).key, clocks(*units).view(np.uint64))
    np.testing.assert_array_equal(seen_by(plan.measure, plan.tables.pool).key, keys(*units))
    np.testing.assert_array_equal(
        seen_by(old.measure, pool.select(np.arange(3))).key, seen_by(old.measure, pool).key[: pool.indptr[3]]
    )
    assert old.compare(qrels).difference != plan.compare(qrels).difference
    assert old.compare(qrels).difference == pytest.approx(plan.compare(qrels).difference, abs=0.05)
