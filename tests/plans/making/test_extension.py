"""Plans whose documents come one after the other: from their making to the verdict, extended, cut and exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, ERR, Draw, Plan, SamplingDistribution, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.frames.clocks import clocks
from pt_active.inference.rounds import draw_round, estimate_rounds, judged_before
from pt_active.plans.making.documents import clock_of, graded_of, round_settings
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.labelled import round_chance
from pt_active.plans.making.pool import graded_pool
from pt_active.relevance.costs import Cost
from pt_active.sampling.pools import DocumentPool
from pt_active.sampling.sample import Costs
from pt_active.sampling.successive import Succession, at

BUDGET = 250
KINDS = [(DCG @ 10, UnitCost()), (DCG @ 10, UnitCost(per_query=3))]
KEYS = ["qid", "docno", "inclusion"]


def made(graded: pd.DataFrame, kind: tuple[object, Cost], budget: float = BUDGET, seed: int = 4) -> Plan:
    measure, cost = kind
    return Plan.create(graded, None, measure, cost, budget=budget, level="document", design="successive", seed=seed)


def succession(plan: Plan) -> Succession:
    pool, sample = plan.tables.pool, plan.tables.rounds[-1].sample
    per_query = plan.tables.manifest.arguments.per_query
    return Succession(sample.design, sample.priority, Costs(pool.indptr, pool.document_cost, per_query))


def judged(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return demo.judge(plan.assessments)


def drawn_order(plan: Plan) -> pd.DataFrame:
    """``qid, docno`` in the order in which the documents come."""
    order = succession(plan).order
    keys = plan.tables.pool.keys.iloc[order[plan.tables.rounds[-1].sample.drawn[order]]]
    return keys[["qid", "docno"]].reset_index(drop=True)


def labels_in_order(plan: Plan, demo: DemoCollection) -> pd.DataFrame:
    return drawn_order(plan).merge(judged(plan, demo), on=["qid", "docno"], how="left")


def test_the_clocks_of_documents_come_from_their_ids(graded: pd.DataFrame) -> None:
    """The priorities of the documents are clocks by the ids of documents over the rates."""
    plan = made(graded, KINDS[1])
    pool, sample = plan.tables.pool, plan.tables.rounds[-1].sample
    can = sample.design.inclusion > 0
    clock = clocks((4, pool.believed("document")), pool.qids[pool.query_of_document], pool.docno, stage=0)
    np.testing.assert_allclose(sample.priority[can], (clock / np.where(can, sample.design.rate, 1.0))[can])


@pytest.mark.parametrize("kind", KINDS)
def test_an_extended_plan_goes_on_in_its_order(kind, graded: pd.DataFrame, demo: DemoCollection, tmp_path) -> None:
    plan = made(graded, kind)
    labels = judged(plan, demo)
    more = plan.extend(100)
    assert len(more.tables.rounds) == 1
    assert not set(more.assessments["docno"] + more.assessments["qid"]) & set(
        plan.assessments["docno"] + plan.assessments["qid"]
    )
    whole = succession(plan).drawn_to(BUDGET + 100)
    now = more.tables.rounds[0].sample
    for ours, wanted in ((now.drawn, whole.drawn), (now.design.inclusion, whole.design.inclusion)):
        np.testing.assert_array_equal(ours, wanted)
    (entry,) = more.manifest["rounds"]
    assert (entry["budget"], entry["spent"]) == (BUDGET + 100, whole.spent)
    assert entry["assessments"] == whole.drawn.sum() == len(plan.assessments) + len(more.assessments)
    assert more.manifest["spent"] == whole.spent <= BUDGET + 100
    assert entry["expected_variance"] < plan.manifest["rounds"][0]["expected_variance"]
    both = pd.concat([labels, judged(more, demo)])
    assert more.compare(both).basis.n_rounds == 1
    assert Plan.load(more.save(tmp_path / "more").path).compare(both) == more.compare(both)
    # In two steps or in one: the same plan.
    twice = plan.extend(60).extend(40)
    np.testing.assert_array_equal(twice.tables.rounds[0].sample.drawn, now.drawn)
    with pytest.raises(ValueError, match="the budget is so small that no document was drawn"):
        plan.extend(1e-6)


def test_all_that_is_left_makes_a_census(graded: pd.DataFrame, demo: DemoCollection) -> None:
    plan, kind = made(graded, KINDS[1]), KINDS[1]
    rest = plan.extend(1e5)
    assert rest.manifest["census"]
    labels = pd.concat([judged(plan, demo), judged(rest, demo)])
    once = made(graded, kind, 1e5)
    found = rest.compare(labels)
    assert found.standard_error == 0
    assert found.difference == pytest.approx(once.compare(judged(once, demo)).difference)
    with pytest.raises(ValueError, match="nothing is left that can change"):
        rest.extend(10)
    part = once.so_far(once_labels := labels_in_order(once, demo).head(300))
    assert part.compare(once_labels).standard_error > 0


WAYS = {
    "successive": ("DCG@3", {"level": "document", "design": "successive"}),
    "surprises": ("nDCG@3", {"level": "document", "design": "surprises"}),
    "depth": ("DCG@3", {"level": "document", "design": "depth"}),
}


def redrawn(tables: PlanTables, budget: float, seed: int) -> PlanTables:
    """The plan with the sample of another seed."""
    arguments, pool = replace(tables.manifest.arguments, seed=seed), tables.pool
    other = replace(tables, manifest=replace(tables.manifest, arguments=arguments))
    settings, rng = round_settings(arguments, pool.names), np.random.default_rng(seed)
    drawn = draw_round(graded_of(other), settings, budget, rng, clock=clock_of(pool, seed, 0))
    return replace(other, rounds=(drawn,))


def estimated(plan: Plan, seen: DocumentPool, label: np.ndarray) -> float:
    """The estimate of a difference that is linear in the labels, int64[N]."""
    known = np.where(judged_before(plan.tables.rounds), label, -1)
    return estimate_rounds(seen, plan.tables.rounds, known, np.array([1.0, -1.0]), "difference").value


@pytest.mark.filterwarnings("ignore:another sample after the parts")
@pytest.mark.parametrize("way", WAYS)
def test_extended_plans_are_unbiased(way: str) -> None:
    """The mean over seeds of estimates of DCG is the truth, for labels that the model did not make."""
    (measure, how), budget, queries, repetitions = WAYS[way], 8, 8, 40
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"qid": np.repeat([f"q{q}" for q in range(queries)], 4), "docno": list("wxyz") * queries})
    for name in ("a", "b"):
        frame[f"rank_{name}"] = np.concatenate([rng.permutation(4) for _ in range(queries)])
    frame[["grade_0", "grade_1", "grade_2"]] = rng.dirichlet([1, 1, 1], len(frame))
    tables = Plan.create(frame, None, measure, budget=budget, seed=0, **how).tables
    seen, label = graded_pool(tables.pool, DCG @ 3, 0.0).seen, rng.integers(0, 3, len(frame))
    truth = float(seen.weight @ seen.values(seen.form.values[label]) @ [1.0, -1.0])
    found = np.empty(repetitions)
    for seed in range(repetitions):
        longer = Plan._of(redrawn(tables, budget, seed)).extend(budget)
        found[seed] = estimated(longer, seen, label)
    assert found.std() > 0
    assert abs(found.mean() - truth) < 3 * found.std(ddof=1) / np.sqrt(repetitions)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_cut_to_the_first_gap(kind, graded: pd.DataFrame, demo: DemoCollection, tmp_path: Path) -> None:
    plan = made(graded, kind)
    ordered = labels_in_order(plan, demo)
    gap = 90
    some = pd.concat([ordered.iloc[:gap], ordered.iloc[gap + 1 :]])
    part = plan.so_far(some)
    all_of = succession(plan)
    threshold = all_of.priority[all_of.order[gap]]
    sample = part.tables.rounds[0].sample
    np.testing.assert_array_equal(np.sort(all_of.order[:gap]), np.flatnonzero(sample.drawn))
    design = at(all_of.design, threshold)
    np.testing.assert_array_equal(
        sample.design.chance(plan.tables.pool.query_of_document), design.chance(plan.tables.pool.query_of_document)
    )
    assert part.manifest["cut"] == {"unit": "documents", "of": len(ordered), "to": gap}
    assert f"to the first {gap} of {len(ordered)} documents, which are judged" in str(part)
    assert len(part.assessments) == gap
    found = part.compare(some)
    assert "the plan was cut to what is judged" in found.note
    assert Plan.load(part.save(tmp_path / "part").path).compare(some) == found
    with pytest.raises(ValueError, match=r"plan\.so_far"):
        plan.compare(some)
    with pytest.raises(
        ValueError, match="nothing is judged so far without a gap: document .* and 29 more lack a label"
    ):
        plan.so_far(ordered.iloc[30:])
    assert plan.so_far(ordered).tables is plan.tables


def test_documents_are_exported_in_the_order_in_which_they_come(graded, demo: DemoCollection, tmp_path) -> None:
    plan = made(graded, KINDS[0])

    def listed(plan: Plan, name: str) -> pd.DataFrame:
        return pd.read_csv(plan.export(tmp_path / name, "csv", order="drawn"), dtype=str)[["qid", "docno"]]

    first = listed(plan, "list.csv")
    pd.testing.assert_frame_equal(first, drawn_order(plan), check_dtype=False)
    more = plan.extend(100)
    both = pd.concat([first, listed(more, "more.csv")], ignore_index=True)
    pd.testing.assert_frame_equal(both, drawn_order(more), check_dtype=False)


@pytest.mark.parametrize("per_query", [0, 2])
def test_transformers_draw_what_a_plan_draws(per_query: int, graded: pd.DataFrame) -> None:
    cost = UnitCost(per_query=per_query)
    sizes = SamplingDistribution(DCG @ 10, cost=cost, level="document", design="successive")(graded)
    drawn = Draw(budget=BUDGET, seed=4)(sizes)
    plan = made(graded, (DCG @ 10, cost))
    pd.testing.assert_frame_equal(
        drawn[KEYS].sort_values(["qid", "docno"]).reset_index(drop=True), plan.assessments[KEYS], check_exact=False
    )
    with pytest.raises(ValueError, match="of this measure are drawn by depth, not by successive"):
        SamplingDistribution(ERR @ 10, level="document", design="successive")(graded)


@pytest.mark.parametrize(("measure", "drawing"), [(DCG @ 10, "successive"), (ERR @ 10, "depth"), ("nDCG@10", None)])
def test_transformers_have_the_default_of_plans(measure: object, drawing: str | None, graded: pd.DataFrame) -> None:
    sizes = SamplingDistribution(measure, level="document")
    if drawing:
        assert sizes(graded)["q_drawing"].unique().tolist() == [drawing]
        return
    message = 'pass level="query", or design="depth", or draw with Plan.create'
    for refused in (sizes, SamplingDistribution(measure, design="surprises")):
        with pytest.raises(ValueError, match=message):
            refused(graded)


@pytest.mark.filterwarnings("ignore:another sample after the parts")
def test_the_chance_of_a_document_is_that_of_any_of_the_samples(graded: pd.DataFrame) -> None:
    plan = Plan.create(graded, None, DCG @ 10, budget=200, level="document", design="depth", seed=4)
    chances = []
    for each in (plan, plan.extend(150), plan.extend(1e6)):
        drawn = judged_before(each.tables.rounds)
        chance = round_chance(each.tables.pool, each.tables.rounds)
        assert (chance[~drawn] == 0).all()
        chances.append(chance)
    first, more, every = chances
    asked = plan.tables.pool.keys.assign(chance=first).merge(plan.assessments)
    np.testing.assert_allclose(asked["chance"], asked["inclusion"])
    uncertain = (first > 0) & (first < 1)
    assert (more[uncertain] > first[uncertain]).all()
    assert (more <= 1).all()
    np.testing.assert_allclose(every[every > 0], 1)
