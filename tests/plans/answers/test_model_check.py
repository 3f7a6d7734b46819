"""The check of the grade model: what it says about right and spoilt models, and where it is used."""

import ir_measures.measures as irm
import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, ERR, Outlook, Plan, UniformGrades
from pt_active.demo.collection import DemoCollection
from pt_active.inference.calibration import calibration
from pt_active.inference.replay import YARDSTICK
from pt_active.plans.answers.model_check import ModelCheck

GRADES = [f"grade_{g}" for g in range(4)]
SAID = "the grade model misleads"
BOTH = pytest.mark.parametrize("level", ["query", "document"])

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def spoilt(graded):
    """The pool with each document's grades replaced by those of another."""
    order = np.random.default_rng(0).permutation(len(graded))
    return graded.assign(**{c: graded[c].to_numpy()[order] for c in GRADES})


def judged(frame: pd.DataFrame, demo: DemoCollection, level="document", measure=DCG @ 10, budget=400, **more):
    if level == "document" and measure == DCG @ 10:
        more = {"design": "depth"} | more
    plan = Plan.create(frame, None, measure, budget=budget, level=level, **more)
    return plan, demo.judge(plan.assessments)[["qid", "docno", "label"]]


@pytest.mark.parametrize(
    ("level", "measure", "variable", "worth", "replace"),
    [
        ("query", DCG @ 10, "gain", [0, 1, 3, 7], False),
        ("query", DCG @ 10, "gain", [0, 1, 3, 7], True),
        ("query", irm.nDCG @ 5, "grade", [0, 1, 2, 3], False),
        ("document", ERR(max_rel=3) @ 10, "stopping probability", [0, 1 / 8, 3 / 8, 7 / 8], False),
    ],
)
def test_it_is_the_line_through_the_labels_by_hand(level, measure, variable, worth, replace, demo, graded):
    """Repeated draws weigh as often as they came."""
    plan, qrels = judged(graded, demo, level, measure, 900 if replace else 400, replace=replace)
    found, worth = ModelCheck.of(plan, qrels), np.array(worth)
    table = qrels.merge(graded, on=["qid", "docno"], suffixes=("", "_"))
    if level == "document":
        chance = table.merge(plan.assessments[["qid", "docno", "inclusion"]])["inclusion"].to_numpy()
    else:
        drawn = plan.queries.set_index("qid").loc[table["qid"]]
        chance = (drawn["q_prob"] / drawn["q_draws"] if replace else drawn["q_inclusion"]).to_numpy()
    if not replace:
        chance = np.maximum(chance, np.median(chance) / 4)
    mean = table[GRADES].to_numpy() @ worth
    by_hand = calibration(mean, worth[table["label"]], chance, pd.factorize(table["qid"])[0])
    assert found.variable == variable
    line = found.calibration
    expected = [by_hand.slope, by_hand.slope_error, by_hand.intercept]
    assert [line.slope, line.slope_error, line.intercept] == pytest.approx(expected, rel=1e-9)
    assert found.bins["documents"].sum() == len(qrels) == line.n_documents


@BOTH
def test_gains_are_those_of_the_outlook_which_is_that_of_the_pool(level, demo, graded):
    plan, qrels = judged(graded, demo, level)
    found, seen, before = ModelCheck.of(plan, qrels), Outlook.of_plan(plan, qrels), Outlook.of_plan(plan)
    assert found.optimism == list(seen.optimism.values())[1]
    shown = {method: curve.scaled(seen.optimism[method]) for method, curve in before.curves.items()}
    for curves, gain in ((before.curves, found.promised), (shown, found.realised)):
        passive, own = curves[YARDSTICK], list(curves.values())[1]
        error = own.standard_error(plan.manifest["spent"])
        assert passive.standard_error(gain * plan.manifest["spent"]) == pytest.approx(error, rel=2e-3)
        assert gain > 1
    plan, _ = judged(graded, demo, level, **({"design": "successive"} if level == "document" else {}))
    pool, own = Outlook.of(graded, None, DCG @ 10), Outlook.of_plan(plan)
    for method, curve in own.curves.items():
        assert curve.variance(200) == pytest.approx(pool.curves[method].variance(200), rel=1e-9)


@BOTH
def test_a_spoilt_model_is_found_out_and_said_and_a_fair_one_left_in_peace(level, demo, graded, spoilt, sharp):
    """Also one that is wrong about its errors alone: of a fair one, their variance is up to twice the promised one."""
    plan, qrels = judged(spoilt, demo, level, budget=600)
    assert ModelCheck.of(plan, qrels).calibration.misleads
    found = plan.compare(qrels)
    assert SAID in found.to_frame()["model_caution"].iloc[0]
    assert all(SAID in each.note for each in (found, *plan.estimate(qrels).values()))
    check = ModelCheck.of(*judged(sharp, demo, level, budget=600))
    assert (check.calibration.misleads, check.optimism > 4) == (False, True)
    for seed in range(4):
        plan, qrels = judged(graded, demo, level, seed=seed)
        assert plan.compare(qrels).basis.model_caution == ""
        assert not ModelCheck.of(plan, qrels).calibration.misleads


def test_what_says_nothing_of_the_model_is_left_out(demo, spoilt, graded):
    """A census, uniform grades, zeros that stand for labels, and the costs of documents of later rankers."""
    plan, qrels = judged(spoilt, demo, budget=1e6)
    assert SAID not in plan.compare(qrels).note
    assert np.isnan(ModelCheck.of(plan, qrels).optimism)
    check = ModelCheck.of(*judged(UniformGrades(max_grade=3).transform(graded.drop(columns=GRADES)), demo))
    assert np.isnan(check.calibration.slope)
    plan, qrels = judged(graded, demo)
    with pytest.raises(ValueError, match="have no label"):
        ModelCheck.of(plan, qrels.iloc[5:])
    more = plan.with_rankers(third=demo.runs["candidate"])
    check = ModelCheck.of(more, qrels)
    assert np.isnan(check.realised)
    assert np.isfinite(check.calibration.slope)
    with pytest.raises(ValueError, match="costs of the documents of later rankers are not known"):
        Outlook.of_plan(more)


@BOTH
def test_the_outlook_of_a_plan_knows_how_it_was_designed(level, demo, graded):
    """Its chances are proportional to those of the plan, which relies on the model as little as it was told to."""
    plan, _ = judged(graded, demo, level, defensive=0.9 if level == "query" else 9.0)
    curve = list(Outlook.of_plan(plan).curves.values())[1]
    if level == "query":
        own = plan.queries["q_prob"].to_numpy()
    else:
        design = plan.tables.documents.sample.design
        own = design.chance(plan.tables.pool.query_of_document)[design.order]
    free = own < 0.999
    ratio = own[free] / curve.size[free]
    assert np.ptp(ratio) < 1e-6 * ratio.mean()
