"""Rankings of many rankers, at both levels: their content, and that names and orders change nothing."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from pt_active import DCG, Plan, Runs, UnitCost
from pt_active.inference.drawn_documents import estimate_documents
from pt_active.inference.reference import rescaled_grades
from pt_active.inference.replayed_documents import DocumentReplays, Redraws
from pt_active.inference.significance import corrected_pvalues, studentized_range_tail
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import REPLAY_SEED, Contrast, Settings
from pt_active.plans.answers.ranking import rank_judged
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.showing.charts import GROUND

BUDGET = {"query": 700, "document": 500}


@pytest.fixture(scope="module")
def four(five):
    return five.drop(columns=["rank_twin", "text"])


@pytest.fixture(scope="module")
def plans(four, demo):
    """A plan of each level, its labels, and its ranking."""
    found = {}
    for level, budget in BUDGET.items():
        plan = Plan.create(four, None, DCG @ 10, budget=budget, level=level, seed=3)
        qrels = demo.judge(plan.assessments)
        found[level] = plan, qrels, plan.rank(qrels)
    return found


LEVELS = pytest.mark.parametrize("level", BUDGET)


@LEVELS
def test_it_holds_the_estimates_and_comparisons_of_the_plan(plans, level):
    plan, qrels, ranking = plans[level]
    estimates = plan.estimate(qrels)
    assert {found.name: found for found in ranking.estimates} == estimates
    values = [estimates[name].value for name in ranking.names]
    assert values == sorted(values, reverse=True)
    assert len(ranking.comparisons) == 6
    for (a, b), found in zip(itertools.combinations(ranking.names, 2), ranking.comparisons, strict=True):
        assert found == plan.compare(qrels, first=a, second=b)


@LEVELS
def test_corrections_are_over_all_pairs(plans, level):
    plan, qrels, ranking = plans[level]
    alone = np.array([found.pvalue for found in ranking.comparisons])
    assert (alone <= ranking.corrected).all()
    assert (ranking.corrected <= np.minimum(6 * alone, 1)).all()
    holm = plan.rank(qrels, correction="holm")
    np.testing.assert_allclose(holm.corrected, corrected_pvalues(alone, 0.05, "holm")[1], rtol=0, atol=1e-15)
    tukey = plan.rank(qrels, correction="tukey")
    statistic = np.array([abs(found.difference) / found.test_error for found in tukey.comparisons])
    degrees = np.array([found.test_degrees for found in tukey.comparisons])
    expected = np.maximum(alone, studentized_range_tail(np.sqrt(2) * statistic, 4, degrees))
    np.testing.assert_allclose(tukey.corrected, expected, rtol=0, atol=1e-15)


@LEVELS
def test_winners_groups_and_letters_agree(plans, level):
    ranking = plans[level][2]
    assert 0 < sum(winner is not None for winner in ranking.winners) < 6
    pairs = itertools.combinations(ranking.names, 2)
    for (a, b), winner, p in zip(pairs, ranking.winners, ranking.corrected, strict=True):
        assert (winner is None) == (p >= 0.05) == bool(set(ranking.letters[a]) & set(ranking.letters[b]))
        assert winner in (a, None)
    assert ranking.letters[ranking.names[0]].startswith("a")


def test_the_frames(plans):
    plan, qrels, _ = plans["query"]
    ranking = plan.rank(qrels, confidence=0.9)
    frame, pairs = ranking.to_frame(), ranking.pairs()
    assert frame.name.tolist() == list(ranking.names)
    assert frame.low.tolist() == [found.confidence_interval(0.9).low for found in ranking.estimates]
    assert pairs.winner.tolist() == list(ranking.winners)
    assert (pairs.pvalue_corrected >= pairs.pvalue).all()
    said = json.loads(json.dumps(ranking.to_dict(), allow_nan=False))
    assert [row["best"] for row in said["rankers"]] == list(ranking.best)
    assert [row["winner"] for row in said["pairs"]] == list(ranking.winners)
    assert said["groups"] == [list(group) for group in ranking.groups]
    won = pairs.winner.value_counts().reindex(frame.name, fill_value=0)
    lost = pairs.second[pairs.winner.notna()].value_counts().reindex(frame.name, fill_value=0)  # nobody won from below
    assert frame.rank_low.tolist() == (1 + lost).tolist()
    assert frame.rank_high.tolist() == (4 - won).tolist()
    assert said["headline"] == ranking.headline
    assert ranking.headline in str(ranking)


@pytest.mark.parametrize(("measure", "design"), [("DCG@5", "successive"), ("DCG@5", "depth"), ("ERR@5", "depth")])
def test_a_pair_takes_nothing_from_documents_that_neither_of_it_has(four, demo, measure, design):
    plan = Plan.create(four, None, measure, UnitCost(2), budget=300, level="document", design=design, seed=3)
    whole, settings = plan.judged(demo.judge(plan.assessments)), Settings()
    redraws = Redraws(
        *(whole.pool.query, whole.drawn.sample.design),
        rescaled_grades(whole.drawn.grades, whole.label, 1 / np.where(whole.label >= 0, whole.chance, 1.0)),
        plan.tables.pool.by_name,
    )
    for contrast in (Contrast(0), Contrast(1, 3), Contrast(3, 1), Contrast(2, 0)):
        weights, found = contrast.weights(4), whole.measured(contrast, settings)
        of_all = estimate_documents(whole.pool, whole.drawn, whole.label, weights, settings.estimator)
        values = [found.value, found.degrees, found.basis.n_effective]
        expected = [of_all.value, of_all.degrees_of_freedom, of_all.n_effective]
        np.testing.assert_allclose(values, expected, rtol=1e-9)
        np.testing.assert_allclose(found.by_query.value, of_all.of_query, rtol=1e-9, atol=1e-12)
        assert found.standard_error**2 == pytest.approx(
            of_all.variance + found.basis.error_of_model**2 - of_all.cautious
        )
        replays = DocumentReplays(whole.pool, weights, redraws, redraws.grades @ whole.pool.form.values)
        of_all = replays.replayed(400, REPLAY_SEED)
        np.testing.assert_allclose(found.replayed(400).errors, of_all.errors, rtol=1e-9)
        assert found.replayed(400).degrees == pytest.approx(of_all.degrees)


def test_equal_rankings_differ_in_nothing_so_no_caution_is_due(demo, grades):
    one, other = demo.runs["candidate"], demo.runs["production"]
    graded = (Runs(one=one, same=one, other=other, depth=10) >> grades)(demo.topics)
    graded = graded[graded["qid"].isin(demo.topics["qid"].head(30))]
    for budget, differ in ((150, set()), (10, {"one", "same"})):
        plan = Plan.create(graded, None, "nDCG@10", budget=budget, level="document", seed=1)
        noted = [each for each in plan.rank(demo.judge(plan.assessments)).comparisons if each.basis.caution]
        assert all("rests on" in each.basis.caution and "other" in (each.first, each.second) for each in noted)
        assert {name for each in noted for name in (each.first, each.second)} - {"other"} == differ


@pytest.mark.parametrize(
    ("level", "order", "prefix"), [("query", (2, 0, 3, 1), "a ranker "), ("document", (3, 1, 0, 2), "Ω")]
)
def test_the_order_and_names_of_rankers_change_nothing(four, plans, order, prefix, level):
    first, qrels, _ = plans[level]
    expected = first.rank(qrels, correction="tukey")
    old = {f"{prefix}{place}": first.rankers[ranker] for place, ranker in enumerate(order)}
    rest = four[[column for column in four.columns if not column.startswith(("rank_", "score_"))]]
    pool = rest.assign(**{f"rank_{new}": four[f"rank_{name}"] for new, name in old.items()})
    plan = Plan.create(pool, None, DCG @ 10, budget=BUDGET[level], level=level, seed=3)
    found = plan.rank(qrels, correction="tukey")
    assert tuple(old[name] for name in found.names) == expected.names
    assert [tuple(old[name] for name in group) for group in found.groups] == list(expected.groups)
    np.testing.assert_allclose(found.corrected, expected.corrected, rtol=0, atol=1e-9)


HOW = Settings("snis")


def judged_of(values: np.ndarray, errors: float, sign: int = 1) -> object:
    """A sample for `rank_judged` in which each difference has the same standard error."""
    basis = Basis(measure="DCG@10", n_draws=50, n_queries=50, n_judged=500, census=False, missing_policy="error")
    names = tuple(f"<r{s}>" for s in range(len(values)))
    common = {"basis": basis, "standard_error": errors, "degrees_of_freedom": 48.0, "confidence_level": 0.95}

    class Judged:
        def __init__(self) -> None:
            self.names, self.basis, self.lower_is_better, self.unasked = names, basis, False, {}

        def estimate(self, ranker, how):
            return Estimate(name=names[ranker], value=float(values[ranker]), degenerate=False, **common)

        def compare(self, first, second, how):
            difference = sign * float(values[first] - values[second])
            return Comparison.tested(names[first], names[second], difference, common | {"degenerate": False})

    return Judged()


def test_what_is_resolved_alone_may_not_be_among_all():
    ranking = rank_judged(judged_of(np.array([0.0, 2.1, 4.2]), 1.0), HOW, "holm")
    assert ranking.pairs().pvalue.max() < 0.05
    assert ranking.winners == (None, "<r2>", None)
    assert ranking.groups == (("<r2>", "<r1>"), ("<r1>", "<r0>"))
    assert ranking.letters == {"<r2>": "a", "<r1>": "ab", "<r0>": "b"}
    assert ranking.board.frame()[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize(("level", "queries", "correction"), [("document", "these", "holm"), ("query", "new", "tukey")])
def test_a_ranking_answers_for_both_kinds_of_queries(plans, level, queries, correction):
    plan, qrels, _ = plans[level]
    ranking = plan.rank(qrels, queries=queries, correction=correction)
    other = {"these": "new", "new": "these"}[queries]
    alone = replace(plan.rank(qrels, queries=other, correction=correction), beside=None)
    assert ranking.beside.to_dict() == alone.to_dict()
    assert [ranking.to_dict()["queries"], ranking.to_dict()["beside"]["queries"]] == [queries, other]
    words = {"these": "these 120 queries", "new": "queries like them"}
    assert re.search(rf"told apart  \d of 6 pairs for {words[queries]}, \d for {words[other]} \(", str(ranking))


@pytest.mark.parametrize(("correction", "seed"), [("joint", 0), ("holm", 0), ("tukey", 1)])
def test_what_is_drawn_agrees_with_the_verdicts(correction, seed):
    """An interval in the figure excludes 0 just where the corrected test finds a winner."""
    values = np.random.default_rng(seed).normal(0, 2.2, size=6)
    ranking = rank_judged(judged_of(values, 1.0), HOW, correction)
    (axes,) = ranking.plot().axes
    ends = np.array([each[:, 0] for each in axes.collections[0].get_segments()])
    apart = np.array([winner is not None for winner in ranking.winners])
    np.testing.assert_array_equal((ends[:, 0] > 0) | (ends[:, 1] < 0), apart)
    hollow = next(each for each in axes.lines if each.get_markerfacecolor() == GROUND)
    differences = np.array([each.difference for each in ranking.comparisons])
    np.testing.assert_allclose(hollow.get_xdata(), differences[~apart])


def test_a_pair_that_stands_the_wrong_way_round_is_pointed_out():
    ranking = rank_judged(judged_of(np.array([0.0, 4.2]), 1.0, sign=-1), HOW)
    assert "<r1> stands above <r0>, but their comparison finds <r0> better" in ranking.note


def test_long_tables_end_after_twenty_rankers_and_the_first_line_says_who_may_be_best() -> None:
    values = np.r_[np.full(3, 9.0), np.zeros(22)] + np.arange(25) / 1000
    ranking = rank_judged(judged_of(values, 1.0), HOW)
    text = str(ranking)
    assert text.startswith("3 of 25 rankers may be the best by DCG@10: <r2>, <r1>, <r0>; wrong in at most 5% of")
    assert re.search(r"  <r24> +0\.0240 .* 4–25 +b\n", text)
    assert "  … and 5 more, all in the report\n" in text
    assert ("<r0>  " in text, "<r3>" in text) == (True, False)
    alone = rank_judged(judged_of(values + 9 * (np.arange(25) == 1), 1.0), HOW)
    assert alone.headline.startswith("<r1> is the best of 25 rankers by DCG@10; ")
    assert 0 < ranking.luck < 1.5
