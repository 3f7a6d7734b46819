"""Plans whose documents come one after the other: from their making to the verdict, extended, cut and exported."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_order import ordered, small_pool

from pt_active import DCG, ERR, Draw, Plan, SamplingDistribution, UnitCost
from pt_active.frames.clocks import clocks
from pt_active.inference.drawn_documents import drawn_by, estimate_documents, pool_sizes
from pt_active.plans.making.documents import document_settings, graded_of
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import graded_pool
from pt_active.sampling.sample import Costs
from pt_active.sampling.successive import Succession, at

BUDGET = 250
PRICES = pytest.mark.parametrize("per_query", [0, 3])


def made(graded: pd.DataFrame, per_query: float) -> Plan:
    cost = UnitCost(per_query)
    return Plan.create(graded, None, DCG @ 10, cost, BUDGET, "successive", "document", seed=4)


def succession(plan: Plan) -> Succession:
    pool, sample = plan.tables.pool, plan.tables.documents.sample
    per_query = plan.tables.manifest.arguments.per_query
    return Succession(sample.design, sample.priority, Costs(pool.indptr, pool.document_cost, per_query))


def test_the_clocks_of_documents_come_from_their_ids(graded):
    """The priorities of the documents are clocks by the ids of documents over the rates."""
    plan = made(graded, 3)
    pool, sample = plan.tables.pool, plan.tables.documents.sample
    can = sample.design.inclusion > 0
    clock = clocks((4, pool.believed("document")), pool.qids[pool.query_of_document], pool.docno, stage=0)
    np.testing.assert_allclose(sample.priority[can], (clock / np.where(can, sample.design.rate, 1.0))[can])


@PRICES
def test_an_extended_plan_goes_on_in_its_order(per_query, graded, labels, tmp_path):
    plan = made(graded, per_query)
    more = plan.extend(100)
    asked = pd.concat([plan.assessments, more.assessments])
    assert not asked.duplicated(["qid", "docno"]).any()
    whole = succession(plan).drawn_to(BUDGET + 100)
    now = more.tables.documents.sample
    np.testing.assert_array_equal(now.drawn, whole.drawn)
    np.testing.assert_array_equal(now.design.inclusion, whole.design.inclusion)
    assert whole.drawn.sum() == len(asked)
    assert more.manifest["spent"] == whole.spent <= more.manifest["limit"] == BUDGET + 100
    assert more.manifest["expected_variance"] < plan.manifest["expected_variance"]
    judged = asked[["qid", "docno"]].merge(labels)
    assert Plan.load(more.save(tmp_path / "more").path).compare(judged) == more.compare(judged)
    twice = plan.extend(60).extend(40)
    np.testing.assert_array_equal(twice.tables.documents.sample.drawn, now.drawn)
    with pytest.raises(ValueError, match="the budget is so small that no document was drawn"):
        plan.extend(1e-6)


WAYS = {"successive": "DCG@3", "surprises": "nDCG@3", "depth": "DCG@3"}


def redrawn(tables: PlanTables, budget: float, seed: int) -> PlanTables:
    """The plan with the sample of another seed."""
    arguments, pool = replace(tables.manifest.arguments, seed=seed), tables.pool
    other = replace(tables, manifest=replace(tables.manifest, arguments=arguments))
    settings, rng = document_settings(arguments, pool.names), np.random.default_rng(seed)
    graded, clock = graded_of(other), clocks(seed, pool.qids[pool.query_of_document], pool.docno)
    return replace(other, documents=drawn_by(pool_sizes(graded, settings), graded, settings, budget, rng, clock))


@pytest.mark.filterwarnings("ignore:more labels after the parts")
@pytest.mark.parametrize("way", WAYS)
def test_extended_plans_are_unbiased(way):
    """The mean over seeds of estimates of DCG is the truth, for labels that the model did not make."""
    budget, queries, repetitions, contrast = 8, 8, 40, np.array([1.0, -1.0])
    frame, rng = small_pool(1)[: 4 * queries], np.random.default_rng(1)
    tables = Plan.create(frame, None, WAYS[way], budget=budget, seed=0, level="document", design=way).tables
    seen, label = graded_pool(tables.pool, DCG @ 3, 0.0).seen, rng.integers(0, 3, len(frame))
    truth = float(seen.weight @ seen.values(seen.form.values[label]) @ contrast)
    found = np.empty(repetitions)
    for seed in range(repetitions):
        before = redrawn(tables, budget, seed)
        drawn = Plan._of(before).extend(budget).tables.documents
        assert (drawn.sample.drawn >= before.documents.sample.drawn).all()
        assert before.documents.sample.spent < drawn.sample.spent <= 2 * budget
        known = np.where(drawn.sample.drawn, label, -1)
        found[seed] = estimate_documents(seen, drawn, known, contrast, "difference").value
    assert found.std() > 0
    assert abs(found.mean() - truth) < 3 * found.std(ddof=1) / np.sqrt(repetitions)


@PRICES
def test_a_plan_is_cut_to_the_first_gap(per_query, graded, labels, tmp_path):
    plan, gap = made(graded, per_query), 90
    come = ordered(plan, labels)
    some = come.drop(index=gap)
    part, all_of = plan.so_far(some), succession(plan)
    sample, query = part.tables.documents.sample, plan.tables.pool.query_of_document
    np.testing.assert_array_equal(np.sort(all_of.order[:gap]), np.flatnonzero(sample.drawn))
    threshold = all_of.priority[all_of.order[gap]]
    np.testing.assert_array_equal(sample.design.chance(query), at(all_of.design, threshold).chance(query))
    assert part.manifest["cut"] == {"unit": "documents", "of": len(come), "to": gap}
    assert len(part.assessments) == gap
    found = part.compare(some)
    assert "the plan was cut to what is judged" in found.note
    assert Plan.load(part.save(tmp_path / "part").path).compare(some) == found
    with pytest.raises(ValueError, match=r"plan\.so_far"):
        plan.compare(some)
    said = "nothing is judged so far without a gap: document .* and 29 more lack a label"
    with pytest.raises(ValueError, match=said):
        plan.so_far(come.iloc[30:])
    assert plan.so_far(come).tables is plan.tables


def test_documents_are_exported_in_the_order_in_which_they_come(graded, tmp_path):
    plan = made(graded, 0)
    more = plan.extend(100)
    files = [each.export(tmp_path / f"{each.id}.csv", "csv") for each in (plan, more)]
    listed = pd.concat([pd.read_csv(file, dtype=str) for file in files], ignore_index=True)
    order = succession(more).order
    expected = more.tables.pool.keys.iloc[order[more.tables.documents.sample.drawn[order]]].reset_index(drop=True)
    pd.testing.assert_frame_equal(listed[["qid", "docno"]], expected[["qid", "docno"]], check_dtype=False)


@PRICES
@pytest.mark.parametrize(
    ("measure", "design"), [("DCG@10", "successive"), ("AP", "surprises"), ("ERR(max_rel=3)@10", "depth")]
)
def test_transformers_draw_what_a_plan_draws_and_have_its_defaults(measure, design, per_query, graded):
    cost, keys = UnitCost(per_query), ["qid", "docno", "inclusion"]
    sizes = SamplingDistribution(measure, cost, level="document")(graded)
    assert set(sizes["q_drawing"]) == {design}
    plan = Plan.create(graded, None, measure, cost, BUDGET, level="document", seed=4)
    for rows in (sizes, sizes.sample(frac=1, random_state=1)):
        drawn = Draw(budget=BUDGET, seed=4)(rows).sort_values(keys, ignore_index=True)
        pd.testing.assert_frame_equal(drawn[keys], plan.assessments[keys], check_exact=False)
    with pytest.raises(ValueError, match="documents are drawn to a budget"):
        Draw(draws=3)(sizes)
    with pytest.raises(ValueError, match="of this measure are drawn by depth, not by successive"):
        SamplingDistribution(ERR @ 10, level="document", design="successive")(graded)
