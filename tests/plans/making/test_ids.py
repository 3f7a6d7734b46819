"""What a plan's id stands for: its inputs and arguments but for rounding, and what was drawn."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pt_active import Plan


def plan_of(frame: pd.DataFrame, **how: object) -> Plan:
    return Plan.create(frame, None, **({"measure": "DCG@10", "budget": 150, "level": "document", "seed": 1} | how))


def test_rounding_changes_no_id_and_another_sample_does(graded):
    plan, columns = plan_of(graded), graded.select_dtypes("float").columns
    noise = 1 + np.random.default_rng(0).uniform(-1e-14, 1e-14, (len(graded), len(columns)))
    near = graded.assign(**dict(zip(columns, (graded[columns] * noise).to_numpy().T, strict=True)))
    assert plan_of(near).id == plan.id
    other = replace(plan.tables.manifest, drawn=plan_of(graded, budget=151).tables.manifest.drawn)
    assert other.id != plan.id
    assert plan_of(graded.iloc[::-1]).id == plan.id
