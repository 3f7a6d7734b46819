"""Plans for nDCG and AP that are looked at after each part: what a look says, what it costs, and its level."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import by_t

from pt_active import Plan
from pt_active.inference.rounds import Round, drawn_by, estimate_rounds, pool_sizes
from pt_active.inference.stopping.boundaries import half_widths, spending_boundary
from pt_active.plans.answers.looks import PLANNED
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.manifest import PlanArguments
from pt_active.plans.making.parts import part_of, rounds_of_parts
from pt_active.plans.making.pool import graded_pool
from pt_active.plans.making.queries import in_drawing_order
from pt_active.sampling.drawings import RoundSettings
from pt_active.sampling.pools import DocumentPool

DESIGNS = {"depth": "nDCG@10", "surprises": "AP"}
BOTH = pytest.mark.parametrize("design", DESIGNS)


@pytest.fixture(scope="module")
def plans(graded: pd.DataFrame) -> dict[str, Plan]:
    return {
        design: Plan.create(graded, None, measure, budget=400, level="document", design=design, seed=4)
        for design, measure in DESIGNS.items()
    }


def first(plan: Plan, labels: pd.DataFrame, parts: int) -> pd.DataFrame:
    """The labels of the first parts."""
    inside = (part_of(plan.tables) > 0) & (part_of(plan.tables) <= parts)
    return labels.merge(plan.tables.pool.keys.loc[inside, ["qid", "docno"]])


@BOTH
def test_three_rankers_are_looked_at_in_parts(design: str, few: pd.DataFrame, labels: pd.DataFrame) -> None:
    """All pairs share the level; a named pair has it alone."""
    third = few.assign(rank_third=few.groupby("qid").cumcount())
    plan = Plan.create(third, None, DESIGNS[design], budget=150, level="document", seed=4)
    names = {"first": plan.rankers[2], "second": plan.rankers[0]}
    state = plan.status(first(plan, labels, 2), **names)
    assert (state.looks, state.judged, state.drawn) == (PLANNED, 2, 5)
    assert plan.gate(first(plan, labels, 2), 0.5, queries="these", **names).status.judged == 2
    for parts in (2, 5):
        every = plan.status(first(plan, labels, parts))
        alone = plan.status(first(plan, labels, parts), confidence=1 - 0.05 / 3, **names)
        (found,) = (each for each in every.pairs if {each.first, each.second} == set(names.values()))
        assert (found.low, found.high) == pytest.approx((-alone.high, -alone.low), rel=1e-9)
        assert (found.looks, found.judged, found.winner) == (PLANNED, parts, alone.winner)
        assert len(every.table()) == 3
        assert "after each fifth of the plan" in str(every)
        assert "Holm" not in str(every)
    with pytest.raises(ValueError, match="is for one pair"):
        plan.status(first(plan, labels, 2), None)


@BOTH
def test_a_look_after_each_part_is_the_plan_cut_there(design: str, plans: dict[str, Plan], labels: pd.DataFrame):
    plan, widths = plans[design], []
    for parts in range(1, 6):
        so_far = first(plan, labels, parts)
        state = plan.status(so_far)
        assert (state.looks, state.unit, state.judged, state.drawn) == (PLANNED, "part", parts, 5)
        assert state.n_judged == state.spent == len(so_far)
        assert state.next_look == (parts + 1 if parts < 5 else None)
        found = plan.so_far(so_far).compare(so_far)
        assert state.value == pytest.approx(found.difference, rel=1e-12)
        assert state.standard_error == pytest.approx(found.standard_error, rel=1e-12)
        widths.append(state.high - state.low)
    low, high = by_t(plan.compare, so_far).confidence_interval()
    assert all(np.diff(widths) < 0)
    assert 1 <= widths[-1] / (high - low) < 1.1  # all that planned looks cost at the end
    assert state.standard_error == plan.compare(wanted_of(plan, labels)).standard_error


def wanted_of(plan: Plan, labels: pd.DataFrame) -> pd.DataFrame:
    return labels.merge(plan.assessments[["qid", "docno"]])


@BOTH
def test_labels_of_a_part_that_is_not_whole_wait(design: str, plans: dict[str, Plan], labels: pd.DataFrame) -> None:
    plan = plans[design]
    ordered = in_drawing_order(plan.tables)[["qid", "docno"]].merge(labels, on=["qid", "docno"])
    part = ordered[["qid", "docno"]].merge(plan.tables.pool.keys.assign(part=part_of(plan.tables)))["part"]
    assert part.is_monotonic_increasing
    state, two = plan.status(ordered.head(int((part <= 2).sum()) + 5)), plan.status(first(plan, labels, 2))
    assert (state.judged, state.left_out) == (2, 5)
    assert (state.value, state.low, state.high) == (two.value, two.low, two.high)
    nothing = plan.status(labels.head(0))
    assert math.isnan(nothing.value)
    assert nothing.judged == 0


@BOTH
def test_parts_stay_when_a_plan_is_saved(design: str, plans: dict[str, Plan], labels: pd.DataFrame, tmp_path: Path):
    plan = plans[design]
    plan.save(tmp_path / "plan")
    again, so_far = Plan(tmp_path / "plan"), first(plan, labels, 3)
    assert again.status(so_far) == plan.status(so_far)
    cut = plan.so_far(so_far)
    cut.save(tmp_path / "cut")
    assert Plan(tmp_path / "cut").compare(so_far).difference == cut.compare(so_far).difference


@pytest.mark.parametrize(("budget", "looks"), [(60, [3, 4, 5]), (25, [5])])
def test_looks_before_the_last_one_need_thirty_labels(
    budget: int, looks: list[int], few: pd.DataFrame, labels: pd.DataFrame
) -> None:
    plan = Plan.create(few, None, "nDCG@10", budget=budget, level="document", design="surprises", seed=1)
    states = {parts: plan.status(first(plan, labels, parts)) for parts in range(1, 6)}
    assert [parts for parts, state in states.items() if np.isfinite(state.low)] == looks
    assert all(state.resolution is None for parts, state in states.items() if parts not in looks)
    assert "interval    none   for these 40 queries: a look needs 30 labels" in str(states[1])


def test_one_ranker_is_known_within_a_margin(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    alone = graded.drop(columns=["rank_candidate"])
    plan = Plan.create(alone[alone["rank_production"] >= 0], None, "AP", budget=400, design="surprises", seed=4)
    assert plan.status(first(plan, labels, 3), margin=10.0).resolved
    with pytest.raises(ValueError, match="margin"):
        plan.status(first(plan, labels, 3))


def test_the_first_look_that_decides_a_gate_decides_it(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, "AP", budget=400, level="document", design="surprises", seed=15)
    asked = {"margin": 0.08, "queries": "these"}
    states = [plan.status(first(plan, labels, parts)) for parts in range(1, 6)]
    gates = [plan.gate(first(plan, labels, parts), **asked) for parts in range(1, 6)]
    passed = [state.low > -0.08 for state in states]
    at = passed.index(True)
    assert 0 < at < 4
    assert [gate.outcome for gate in gates] == ["unresolved"] * at + ["pass"] * (5 - at)
    assert {gate.decided_at for gate in gates[at:]} == {states[at].spent}
    assert plan.gate(first(plan, labels, 5), looks=None, **asked).outcome == "pass"


@pytest.mark.slow
def test_all_looks_together_keep_their_level(graded: pd.DataFrame, labels: pd.DataFrame) -> None:
    """Rankers are traded at random in 25 queries; an interval that misses the truth at any look is an error."""
    few = graded[graded["qid"].isin(sorted(graded["qid"].unique())[:25])].reset_index(drop=True)
    number, missed, rng = 100, 0, np.random.default_rng(6)
    swap = few["qid"].isin(rng.permutation(few["qid"].unique())[:12])
    traded = few.assign(
        rank_production=few["rank_candidate"].where(swap, few["rank_production"]),
        rank_candidate=few["rank_production"].where(swap, few["rank_candidate"]),
    )
    tables = Plan.create(traded, None, "AP", budget=120, level="document", design="surprises", seed=1).tables
    label, contrast = tables.pool.keys.merge(labels)["label"].to_numpy(), np.array([1.0, -1.0])
    graded_documents = graded_pool(tables.pool, tables.measure, 0.0)
    seen, settings = graded_documents.seen, RoundSettings("surprises", 0.2)
    sizes = pool_sizes(graded_documents, settings)
    truth = float(seen.weight @ seen.values(seen.form.values[label]) @ contrast)
    for _ in range(number):
        drawn = drawn_by(sizes, graded_documents, settings, 120.0, rng)
        redrawn = replace(tables, rounds=(drawn,), manifest=replace(tables.manifest, arguments=seeded(tables, rng)))
        redrawn.gain.append(sizes.gain)
        parts = rounds_of_parts(redrawn)
        value, error, degrees = np.array([estimated(seen, each, label, contrast) for each in parts]).T
        time = 1 / np.array([each.expected for each in parts])
        wide = half_widths(spending_boundary(np.arange(1, 6) / 5, time, 0.05), error, degrees)
        missed += bool((np.abs(value - truth) > wide).any())
    assert missed <= 0.06 * number + 3 * np.sqrt(0.06 * 0.94 * number)


def seeded(tables: PlanTables, rng: np.random.Generator) -> PlanArguments:
    return replace(tables.manifest.arguments, seed=int(rng.integers(1 << 30)))


def estimated(seen: DocumentPool, part: Round, label: np.ndarray, contrast: np.ndarray) -> tuple[float, float, float]:
    known = np.where(part.sample.drawn, label, -1)
    found = estimate_rounds(seen, [part], known, contrast, "regression")
    return found.value, found.standard_error, found.degrees_of_freedom
