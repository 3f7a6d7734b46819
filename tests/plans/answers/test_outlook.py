"""Foreseen errors are those that come, and a pilot corrects a model that is too sure; for these and for new queries."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from pt_active import DCG, ERR, Plan, UnitCost
from pt_active.inference.drawn_documents import estimate_documents
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.inference.stopping.bets import excluded
from pt_active.plans.answers.outlook import Outlook
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.answers.simulated_judging import simulated_effort
from pt_active.relevance.measures import rank_form
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS
from pt_active.studies.simulate import labelled_population, replays

DEPTH = Method("depth", "regression", False)


@pytest.fixture(scope="module")
def outlook(graded):
    return Outlook.of(graded, None, DCG @ 10)


@pytest.mark.parametrize(
    ("measure", "per_query"),
    [*(pytest.param(each, 0, marks=pytest.mark.slow) for each in (DCG @ 10, ERR(max_rel=3) @ 10)), (DCG @ 10, 3)],
)
def test_what_is_expected_is_what_comes_where_the_model_is_right(measure, per_query, graded, as_the_model_says):
    """3 standard errors of what 50 labellings show are 9 % for queries, 15 % for documents, and 28 % by depth.

    Each labelling is sampled a few times only, since the errors on one labelling are alike. A line that is fitted to
    few queries adds an error that is not foreseen.
    """
    cost = UnitCost(per_query=per_query)
    outlook = Outlook.of(graded, None, measure, cost)
    budget = 0.3 * next(iter(outlook.curves.values())).total
    squared: dict[Method, list[float]] = {method: [] for method in outlook.curves}
    for seed in range(50):
        population = labelled_population(as_the_model_says(seed), measure, cost)
        for method in outlook.curves:
            samples = 5 if method.design in DOCUMENT_DRAWINGS else 20
            (found,) = replays(population, [method], samples, budgets=[budget], seed=seed, progress=False).values()
            squared[method].append(float((found.error**2).mean()))
    for method, curve in outlook.curves.items():
        slack = {"passive": 0.1, "hedged": 0.12, "depth": 0.25}.get(method.design, 0.15)
        realised = np.sqrt(np.mean(squared[method]))
        assert curve.standard_error(budget) == pytest.approx(realised, rel=slack), method


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_pilot_tells_how_far_the_model_flatters_itself(level, demo, sharp):
    plan = Plan.create(sharp, None, DCG @ 10, budget=600, level=level)
    judged = demo.judge(plan.assessments)
    before = Outlook.of(sharp, None, DCG @ 10)
    after = Outlook.of_plan(plan, judged)
    method = list(after.curves)[1]
    assert after.optimism[method] > 1.5
    assert after.curves[method].variance(300) == pytest.approx(
        after.pilot.factor(after.optimism[method]) * before.curves[method].variance(300)
    )
    found = plan.compare(judged, first="production", second="candidate")
    assert after.curves[method].standard_error(plan.manifest["spent"]) == pytest.approx(found.standard_error, rel=0.2)


def test_the_table_and_its_inverse(outlook):
    table = outlook.table(difference=0.3)
    for _, rows in table.groupby(["level", "design"]):
        assert (rows["standard_error"].diff().dropna() < 0).all()
        assert (rows["power"].diff().dropna() > 0).all()
    wide = outlook.budget_for(width=0.4)
    assert (wide["half_width"] <= 0.4).all()
    again = pd.concat([outlook.table([b]).iloc[[i]] for i, b in enumerate(0.99 * wide["budget"])])
    assert (again["half_width"] > 0.4).all()
    found = outlook.budget_for(difference=0.5, power=0.9)
    assert (found["power"] >= 0.9).all()
    assert (outlook.budget_for(width=1e-9)["documents"].diff().dropna() <= 0).all()


REFUSED = [
    *((lambda look, _, power=p: look.table(power=power), "power must lie between") for p in (0.04, 1.0)),
    (lambda look, _: look.budget_for(width=0.1, confidence=1.0), "confidence must lie between 0 and 1"),
    (lambda look, _: look.table(confidence=None), "confidence must be a number, got None"),
    (lambda look, _: look.table(5), "budgets must be a list of numbers, got 5"),
    (lambda look, _: look.table(["20"]), "a budget must be a number, got '20'"),
    (lambda look, _: look.budget_for(), "either width= or difference="),
    (lambda look, _: look.budget_for(difference=[0.1]), r"difference must be a number, got \[0.1\]"),
    (lambda look, _: look.budget_for(width=0.4, query_cost=3), "query_cost= is for new queries"),
    (lambda _, of: of(cost=UnitCost(-1)), "per_query must be a finite number and not negative"),
    (lambda _, of: of(methods=[Method("passive", "snis")]), "only samples without replacement"),
    (lambda _, of: of(methods=["hedged"]), "a list of Method, got 'hedged' in it"),
    (lambda _, of: of(queries="new").until_known(0.5), 'only for queries="these"'),
    (lambda _, of: of(queries="new").budget_for(width=0.4, query_cost=-1), "query_cost must be a number from 0"),
    (lambda _, of: of(queries="new").budget_for(width=1e-6), "more than 10,000,000 queries"),
    (lambda _, of: of(queries="new", clusters="need").table(), "there is no column 'need'"),
    (
        lambda _, of: of(methods=[DEPTH]).until_known(1.0),
        'no method draws one unit after the other; add .* design="succ',
    ),
    (lambda look, _: look.until_known(0.0), "difference must be a number other than 0"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments_are_refused(call, message, outlook, graded):
    with pytest.raises(ValueError, match=message):
        call(outlook, partial(Outlook.of, graded, None, DCG @ 10))


@pytest.mark.filterwarnings("ignore:the model sees no variance")
def test_pools_without_a_difference_between_queries_are_refused(graded):
    one = graded[graded["qid"] == graded["qid"].iloc[0]]
    tied = graded.assign(rank_candidate=graded["rank_production"], score_candidate=graded["score_production"])
    for pool in (one, tied):
        with pytest.raises(ValueError, match="sees no difference between queries"):
            for_new(pool).table()


def test_small_budgets_and_pilots_come_with_a_warning(outlook, graded, demo):
    few, single = "fewer than 4 documents", "less than two queries, too few for an interval: query passive at 20"
    for budget, message in ((3, f"{few} .* query passive at 3, .* document successive at 3"), (20, single)):
        with pytest.warns(UserWarning, match=message):
            outlook.table([budget])
    with pytest.warns(UserWarning, match="document successive"):
        outlook.budget_for(width=60.0)
    with pytest.warns(UserWarning, match="'depth' draws nothing one by one: see budget_for"):
        Outlook.of(graded, None, DCG @ 10, methods=[YARDSTICK, DEPTH]).until_known(1.0, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outlook.table([100])
    for draws, counted in ((1, "1 query"), (3, "3 queries"), (30, "")):
        plan = Plan.create(graded, None, DCG @ 10, seed=2, draws=draws)
        of_pilot = Outlook.of_plan(plan, demo.judge(plan.assessments))
        said = " ".join(of_pilot.notes(of_pilot.table([300])))
        assert (f"The pilot has {counted}. Below 30, chance decides" in said) == (draws < 30)


def test_a_line_costs_two_degrees_of_freedom_and_a_mean_one(demo, graded):
    """The foreseen degrees of freedom are those of the estimate, on queries of equal weight and cost."""
    methods = [Method("passive", estimator, with_replacement=False) for estimator in ("snis", "regression")]
    shallow = graded[(graded["rank_production"] < 5) & (graded["rank_production"] >= 0)]
    alone = shallow.drop(columns=["rank_candidate", "score_candidate"])
    plan = Plan.create(alone, None, DCG @ 5, draws=40, design="passive", seed=1)
    qrels = demo.judge(plan.assessments)[["qid", "docno", "label"]]
    curves = Outlook.of(alone, None, DCG @ 5, methods=methods).curves
    for method, spent in ((methods[0], 1), (methods[1], 2)):
        found = plan.estimate(qrels, estimator=method.estimator)["production"].degrees_of_freedom
        foreseen = curves[method].degrees_of_freedom(40 * curves[method].total / 120)
        assert foreseen == pytest.approx(40 - spent)
        assert foreseen == pytest.approx(found)


def test_a_forecast_of_queries_has_the_law_by_which_they_come(graded):
    """``Π = 1 − exp(−T q)``, where the cost that is expected is the budget."""
    plan = Plan.create(graded, None, DCG @ 10, budget=900, level="query", seed=1)
    curve = list(Outlook.of_plan(plan).curves.values())[1]
    chance = curve.chance(900)
    time = -np.log1p(-chance) / plan.queries["q_prob"]
    assert np.ptp(time) < 1e-6 * time.mean()
    assert chance @ plan.queries["q_cost"] == pytest.approx(900)


def test_labels_of_queries_speak_of_documents_by_gain_and_inverse_chance(demo, graded):
    """``Σ (g/ψ) (κ − μ)²/v / Σ g/ψ`` by hand, document by document."""
    plan = Plan.create(graded, None, DCG @ 10, budget=600, seed=2, level="query")
    qrels = demo.judge(plan.assessments)[["qid", "docno", "label"]]
    pilot, pool = Pilot.of(plan, qrels), plan.tables.pool
    gain = np.random.default_rng(0).uniform(0.1, 2, len(pool.docno))
    worth = rank_form(DCG @ 10, 3, 10).values
    table = pool.keys.merge(qrels, how="left").merge(plan.queries[["qid", "q_inclusion"]])
    assert table["q_inclusion"].nunique() > 10
    mean = pool.grades @ worth
    variance = pool.grades @ worth**2 - mean**2
    known = table["label"].notna().to_numpy()
    share = (gain / table["q_inclusion"])[known]
    square = (worth[table.loc[known, "label"].astype(int)] - mean[known]) ** 2 / variance[known]
    expected = share @ square / share.sum()
    assert pilot.of_documents("successive", "regression", gain) == pytest.approx(expected, rel=1e-9)


def test_labels_of_documents_show_their_variance_over_the_promised_one(demo, graded: pd.DataFrame) -> None:
    """``Σ g (1/ψ − 1)`` by hand."""
    plan = Plan.create(graded, None, DCG @ 10, budget=300, design="depth", level="document", seed=2)
    qrels = demo.judge(plan.assessments)[["qid", "docno", "label"]]
    gain = np.random.default_rng(0).uniform(0.1, 2, len(plan.tables.pool.docno))
    design, judged = plan.tables.documents.sample.design, plan.judged(qrels)
    chance = design.opening[plan.tables.pool.query_of_document] * design.inclusion
    promised = (gain * (1 / chance - 1))[chance > 0].sum()
    found = estimate_documents(judged.pool, judged.drawn, judged.label, np.array([1.0, -1.0]), "regression")
    by_hand = (found.first + found.second) / promised
    assert Pilot.of(plan, qrels).of_documents("depth", "regression", gain) == pytest.approx(by_hand, rel=1e-9)


def test_a_pilot_without_any_variance_promises_no_certainty(graded):
    """All documents get the same label, so the rankers hardly differ; the error is not forecast to be 0."""
    plan = Plan.create(graded, None, DCG @ 10, draws=4, seed=2)
    outlook = Outlook.of_plan(plan, plan.assessments[["qid", "docno"]].assign(label=0))
    before = Outlook.of(graded, None, DCG @ 10).curves[YARDSTICK]
    assert outlook.optimism[YARDSTICK] == 0
    assert outlook.curves[YARDSTICK].variance(300) == pytest.approx(2 / (2 + 4 - 1) * before.variance(300))


# --- new queries ------------------------------------------------------------------------------------------------------


def for_new(graded: pd.DataFrame, **how: object) -> Outlook:
    return Outlook.of(graded, None, DCG @ 10, queries="new", **how)


def floor_of(outlook: Outlook) -> float:
    return float(outlook.table()["floor"].iloc[0])


def test_the_table_has_the_floor_and_its_errors_add_up(outlook, graded):
    these, new = outlook.table(), for_new(graded).table()
    assert list(new.columns) == [*these.columns, "topics", "floor"]
    assert (new["topics"] == 120).all()
    assert new["floor"].nunique() == 1
    np.testing.assert_allclose(new["standard_error"] ** 2, these["standard_error"] ** 2 + new["floor"] ** 2)


def test_the_floor_is_the_spread_that_labels_from_the_model_have(graded, as_the_model_says):
    """400 labellings by the model; the paired t-test's squared error of each, against the floor's square."""
    ranks = graded[["rank_production", "rank_candidate"]].to_numpy()
    discount = np.where((ranks >= 0) & (ranks < 10), 1 / np.log2(2.0 + ranks.clip(0)), 0)
    signed, query = discount[:, 0] - discount[:, 1], pd.factorize(graded["qid"])[0]
    labels = (as_the_model_says(seed)["label"].to_numpy() for seed in range(400))
    squares = [np.bincount(query, signed * (2.0**label - 1)).var(ddof=1) / 120 for label in labels]
    assert floor_of(for_new(graded)) ** 2 == pytest.approx(np.mean(squares), abs=3 * np.std(squares) / 20)


def test_budget_for_finds_queries_and_labels(graded):
    outlook = for_new(graded)
    free, dear = (outlook.budget_for(difference=0.4, power=0.9, query_cost=cost) for cost in (0, 20))
    for table in (free, dear):
        assert table["power"].between(0.9, 0.905).all()
    assert (free["floor"] / free["standard_error"]).to_numpy() == pytest.approx(0.5, rel=0.01)
    assert (dear["topics"] < free["topics"]).all()
    assert "cost" not in free.columns
    assert dear["cost"].to_numpy() == pytest.approx((dear["budget"] + 20 * dear["topics"]).to_numpy())
    few, wide = (outlook.budget_for(width=3.0, query_cost=cost) for cost in (20, 0))
    assert ((few["topics"] < 120) & (wide["topics"] == 120) & (wide["half_width"] <= 3)).all()
    assert not any("floor" in note for note in outlook.notes(few))  # which is not that of the pool's 120 queries
    floor = f"an error of {floor_of(outlook):.4g}, the floor of 120 queries: "
    added = f"Add queries, not only labels: the pool has 120, and this takes {free['topics'].iloc[0]:,} for"
    assert floor in outlook.described(outlook.table())
    assert added in outlook.described(free)


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_pilot_corrects_the_floor_that_a_useless_model_expects(level, demo, graded):
    """A model that is sure that every query is alike; the floor is that of all labels within a factor of 1.6."""
    sure = graded.assign(grade_0=0.97, grade_1=0.01, grade_2=0.01, grade_3=0.01)
    plan = Plan.create(sure, None, DCG @ 10, budget=600, level=level, seed=1)
    census = Plan.create(sure, None, DCG @ 10, budget=1e9, level="query")
    true = census.compare(demo.judge(graded), queries="new").standard_error
    after = Outlook.of_plan(plan, demo.judge(plan.assessments), queries="new")
    assert floor_of(for_new(sure)) < true / 2
    assert true / 1.6 < floor_of(after) < 1.6 * true
    assert (after.budget_for(difference=0.5)["power"] >= 0.8).all()


def test_a_census_of_a_past_track_is_a_pilot_whose_spread_is_that_of_its_paired_t_test(census, labels):
    methods = [Method("hedged", "regression", with_replacement=False)]
    outlook = Outlook.of_plan(census, labels, methods=methods, queries="new")
    shown = census.compare(labels, queries="new").standard_error
    assert floor_of(outlook) == pytest.approx(shown, rel=0.05)


def test_clusters_are_what_the_population_is_drawn_in(graded):
    """Twins of one need tell less of other needs than as many queries, and more than one of each."""
    twins = pd.concat([graded, graded.assign(qid=graded["qid"] + "-again")])
    twins["qneed"] = twins["qid"].str.removesuffix("-again")
    together = floor_of(for_new(twins, clusters="qneed"))
    assert floor_of(for_new(twins)) < together < floor_of(for_new(graded))


# --- how many labels until a difference is known ----------------------------------------------------------------------


DIFFERENCE = 1.0
QUERIES, DOCUMENTS = Method("hedged", "regression", False), Method("successive", "regression", False)


def labels_taken(script, plan: Plan, as_the_model_says, runs: int) -> np.ndarray:
    """Labels until the truth is told from a value that lies so far below it, if the model is right."""
    taken = []
    for seed in range(runs):
        labels = as_the_model_says(seed)[["qid", "docno", "label"]]
        for each in script("sequences").sequences(plan, labels, 1, seed):
            draws = each.proof.draws
            taken.append(each.labels(excluded(draws, each.proof.stakes, float(draws.base[-1]) - DIFFERENCE, 0.025)))
    return np.array(taken)


@pytest.mark.parametrize(("method", "level", "slack"), [(QUERIES, "query", 0.05), (DOCUMENTS, "document", 0.2)])
def test_what_is_foreseen_is_what_it_takes_where_the_model_is_right(
    method, level, slack, script, graded, as_the_model_says
):
    """70 real evaluations against 200 foreseen ones: finds a mean or an upper decile that is off by a fifth.

    3 standard errors of the upper decile are 4 % for queries and 32 % for documents.
    """
    row = Outlook.of(graded, None, DCG @ 10, methods=[method]).until_known(DIFFERENCE, progress=False).iloc[0]
    plan = Plan.create(graded, None, DCG @ 10, budget=row.budget, design=method.design, level=level, seed=0)
    taken = labels_taken(script, plan, as_the_model_says, 70)
    error = taken.std() * np.sqrt(1 / len(taken) + 1 / 200)
    assert abs(row.labels - taken.mean()) <= 3 * error
    assert row.labels_90 == pytest.approx(np.quantile(taken, 0.9), rel=slack)
    assert row.power == pytest.approx((taken <= row.budget).mean(), abs=0.2)
    assert (row.cost, row.cost_90) == (row.labels, row.labels_90)


def test_larger_differences_take_fewer_labels_and_larger_errors_more(demo, few, sharp):
    outlook = Outlook.of(few, None, DCG @ 10, UnitCost(per_query=2.0), methods=[DOCUMENTS])
    small, large, turned = (outlook.until_known(d, progress=False).iloc[0] for d in (0.5, 2.0, -2.0))
    assert small.cost > small.labels > 2 * large.labels == 2 * turned.labels
    pilot = Plan.create(sharp, None, DCG @ 10, budget=300, level="document", seed=1)
    alone = Outlook.of(sharp, None, DCG @ 10, methods=[DOCUMENTS])
    learned = Outlook.of_plan(pilot, demo.judge(pilot.assessments), methods=[DOCUMENTS])
    one, other = (each.until_known(DIFFERENCE, progress=False).labels[0] for each in (alone, learned))
    assert other > 1.3 * one


def test_one_ranker_and_measures_without_exact_moments(few):
    alone = few[few["rank_production"] >= 0].drop(columns=["rank_candidate", "score_candidate"])
    for pool, measure in ((alone, "DCG@10"), (few, "nDCG@5")):
        table = Outlook.of(pool, None, measure, methods=[QUERIES]).until_known(0.3, progress=False)
        assert 0 < table.labels[0] <= table.labels_90[0] <= len(pool)


def test_each_of_three_pairs_has_a_third_of_the_level(graded):
    """The replays of the two pairs that differ are those of two rankers at a third of the level."""
    three = graded.assign(rank_third=graded.rank_candidate, score_third=graded.score_candidate)
    efforts = []
    for pool, alpha in ((three, 0.05), (graded, 0.05 / 3)):
        forecast = Outlook.of(pool, None, DCG @ 10, methods=[YARDSTICK]).forecast
        efforts.append(simulated_effort(forecast, YARDSTICK, 1.0, 300, alpha, 1.0, False))
    all_pairs, one_pair = efforts
    differ = np.arange(len(one_pair.labels)) % 3 < 2
    assert all_pairs.labels[differ].tolist() == one_pair.labels[differ].tolist()
    assert len(set(one_pair.labels)) > 20
