"""Graded-relevance models: features, fits, PyTerrier's conventions, and reports."""

import gzip
import warnings
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from scipy.optimize import check_grad
from scipy.special import expit

from pt_active import (
    ColdGrades,
    ForestGrades,
    GradeReport,
    JudgeGrades,
    MixtureGrades,
    OrderedLogitGrades,
    PriorGrades,
    UniformGrades,
)
from pt_active.demo.collection import demo_collection
from pt_active.relevance.digits import rounded_grades
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import best_rank, document_features, run_features
from pt_active.relevance.grades.judges import judge_table, mean_of_judges
from pt_active.relevance.grades.report import folds_of, out_of_fold

G = 3
COLUMNS = [f"grade_{g}" for g in range(G + 1)]


def proportional_odds(rng, n):
    """Two standard normal features, and labels whose log odds of being at most g are ``θ_g − w·x``."""
    features = rng.normal(size=(n, 2))
    below = expit([-1.0, 0.5, 2.0] - (features @ [1.5, -0.7])[:, None])
    return features, (rng.random(n)[:, None] > below).sum(axis=1)


def judged_run(seed=0, queries=12, documents=15):
    """A run whose scores depend on the labels, and qrels with four fifths of the labels."""
    rng, n = np.random.default_rng(seed), queries * documents
    features, label = proportional_odds(rng, n)
    run = pd.DataFrame({"qid": np.repeat([f"q{x:02d}" for x in range(queries)], documents)})
    run = run.assign(docno=[f"d{z:04d}" for z in range(n)], score=features @ [1.5, -0.7])
    qrels = run[["qid", "docno"]].assign(label=label)[rng.random(n) > 0.2]
    return run, qrels.reset_index(drop=True)


def union_of(run, seed=0):
    """The same documents in a union of two rankers, each of which misses some of them."""
    rng = np.random.default_rng(seed)
    united = run[["qid", "docno"]].copy()
    for name in ("a", "b"):
        score = (run["score"] + rng.normal(size=len(run))).where(rng.random(len(run)) > 0.3)
        rank = score.groupby(run["qid"]).rank(ascending=False, method="first") - 1
        united[f"rank_{name}"] = rank.fillna(-1).astype(int)
        united[f"score_{name}"] = score
    return united


RUN, QRELS = judged_run()
UNION = union_of(RUN)
VOTES = QRELS[["qid", "docno"]].assign(**{f"votes_{h}": (QRELS["label"] // 2 == h) * 2 + 1 for h in range(2)})

MODELS = {
    "uniform": lambda: UniformGrades(G),
    "prior": lambda: PriorGrades(G),
    "logit": lambda: OrderedLogitGrades(G),
    "forest": lambda: ForestGrades(G, trees=5, min_leaf=5),
    "labels of a judge": lambda: JudgeGrades(QRELS, G),
    "votes of a judge": lambda: JudgeGrades(VOTES, G),
    "mixture": lambda: MixtureGrades(UniformGrades(G), PriorGrades(G), OrderedLogitGrades(G)),
}


@cache
def fitted(name):
    return fitted_to(name, RUN, QRELS)


def fitted_to(name, run, qrels):
    model = MODELS[name]()
    return model if name == "uniform" else model.fit(run, qrels)


def test_the_gradient_of_the_ordered_logit():
    rng = np.random.default_rng(1)
    rest = *proportional_odds(rng, 200), 0.3
    for start in rng.normal(size=(4, 5)):
        value, gradient = (lambda p, part=part: fitting.ordered_logit_objective(p, *rest)[part] for part in (0, 1))
        assert check_grad(value, gradient, start) < 1e-6


def test_probabilities_of_the_ordered_logit_are_those_of_the_definition():
    """Also far from the data, where differences would cancel; half a document of each grade is added."""
    features, labels = proportional_odds(np.random.default_rng(3), 300)
    model = fitting.fit_ordered_logit(features, labels, 4, prior_scale=1.0)
    features = np.vstack([features, [[1e6, 0.0], [-1e6, 0.0]]])
    score = ((features - model.centre) / model.scale) @ model.weights
    below = np.column_stack([np.zeros(302), expit(model.thresholds - score[:, None]), np.ones(302)])
    wanted = (300 * np.c_[np.diff(below), np.zeros(302)] + 0.5) / 302.5
    assert_allclose(model.probabilities(features), wanted, atol=1e-12)
    narrow = fitting.fit_ordered_logit(features[:300], labels, 3, prior_scale=1e-6)
    assert_allclose(narrow.probabilities(features)[0], fitting.marginal(labels, 3), atol=1e-6)
    features = np.random.default_rng(0).normal(size=(1000, 46))
    separable = np.digitize(features[:, 0], [-0.5, 0, 1])
    with pytest.warns(UserWarning, match="the ordered logit fit stopped early"):
        fitting.fit_ordered_logit(features, separable, 3, prior_scale=1000.0)


def with_noise(queries, columns, seed):
    """Ten documents a query, with two features of `proportional_odds` and columns of noise, and their qrels."""
    rng, n = np.random.default_rng(seed), 10 * queries
    features, label = proportional_odds(rng, n)
    frame = pd.DataFrame({"qid": np.repeat([f"q{x:04d}" for x in range(queries)], 10)})
    frame = frame.assign(
        docno=[f"d{z}" for z in range(n)], features=list(np.c_[features, rng.normal(size=(n, columns))])
    )
    return frame, frame[["qid", "docno"]].assign(label=label)


def others_likelihood(scale, frame, label):
    """The log likelihood of labels of queries that a model with a prior of this scale has not learned from."""
    grades = out_of_fold(OrderedLogitGrades(G, prior_scale=scale), frame, label)
    return np.log(grades[np.arange(len(label)), label]).sum()


@pytest.mark.parametrize(
    ("queries", "columns", "tried", "narrow"),
    [(1, 30, 1, False), (8, 30, 8, True), (8, 0, 8, False), (130, 2, 100, False)],
    ids=["one query", "mostly noise", "no noise", "more queries than it takes"],
)
def test_the_prior_of_the_ordered_logit_is_the_likeliest_for_other_queries(queries, columns, tried, narrow):
    frame, qrels = with_noise(queries, columns, seed=1)
    model, best = OrderedLogitGrades(G).fit(frame, qrels), 1.0
    if queries > 1:
        part, label = frame[: 10 * tried], qrels["label"].to_numpy()[: 10 * tried]
        best = max((1.0, 0.3, 0.1, 0.03), key=lambda scale: others_likelihood(scale, part, label))
    assert model.prior_scale_ == best
    assert (best < 1) == narrow
    told = OrderedLogitGrades(G, prior_scale=best).fit(frame, qrels)
    assert_frame_equal(model.transform(frame), told.transform(frame))


def test_band_marginals_by_counting():
    """Documents without a label count in the ranks of the others, and a band without a label has all shares."""
    rng, n = np.random.default_rng(7), 400
    ranks, labels = rng.choice(np.r_[:30, 101:110], n), rng.integers(0, 3, n)
    known = np.where((ranks == 1) | (rng.random(n) < 0.2), -1, labels)
    frame = pd.DataFrame({"qid": "1", "docno": [f"d{z}" for z in range(n)], "rank_a": ranks - 1})
    model = PriorGrades(3).fit(frame, frame.assign(label=known))
    graded, overall = model.transform(frame)[COLUMNS], (np.bincount(known[known >= 0], minlength=4) + 0.5)
    overall /= (known >= 0).sum() + 2
    ranks = np.where(ranks == 0, 1000, ranks)
    ends = [0, 1, 3, 5, 10, 20, 50, 100, 1000]
    for band, (above, last) in enumerate(pairwise(ends)):
        inside = (above < ranks) & (ranks <= last)
        counts = np.bincount(labels[inside & (known >= 0)], minlength=4)
        assert_allclose(model.band_grades_[band], (counts + 5 * overall) / (counts.sum() + 5))
        assert_array_equal(graded[inside], rounded_grades(model.band_grades_[np.full(inside.sum(), band)]))


def test_forest_by_walking_to_the_leaves():
    features, labels = proportional_odds(np.random.default_rng(9), 120)
    model = fitting.fit_forest(features, labels, max_grade=4, trees=4, min_leaf=6, seed=3)
    new = np.random.default_rng(10).normal(size=(7, 2))
    total = np.zeros((7, 5))
    for tree in model.forest.estimators_:
        for row, leaf in enumerate(tree.apply(new)):
            inside = np.bincount(labels[tree.apply(features) == leaf], minlength=5)
            total[row] += (inside + fitting.marginal(labels, 4)) / (inside.sum() + 1)
    assert_allclose(model.probabilities(new), total / 4)


def test_features_by_hand():
    frame = pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": list("abca"), "rank_x": [0, 1, -1, 0]})
    frame = frame.assign(score_x=[5, 3, np.nan, 7], rank_y=[-1, 0, 3, -1], score_y=[np.nan, 2, 1, np.nan])
    want = [[1, 1, 1, 1, 0.5], [1, 0.75, 1, 0.5, 1], [0.25, 0.25, 0, 0, 0.5], [1, 1, 0.5, 0.5, 0.5]]
    assert_allclose(run_features(frame), want)
    assert_array_equal(best_rank(frame), [1, 1, 4, 1])
    nowhere = frame.assign(rank_x=-1, rank_y=-1)
    assert not run_features(nowhere).any() | best_rank(nowhere).any()


def test_given_features_need_no_scores():
    frame = RUN[["qid", "docno"]].assign(features=[np.array([s]) for s in RUN["score"]])
    assert len(OrderedLogitGrades(G).fit(frame, QRELS).transform(frame)) == len(frame)
    assert_array_equal(document_features(frame), RUN[["score"]])
    with pytest.raises(ValueError, match="OrderedLogitGrades was fitted on 5 features a document, got 1"):
        fitted("logit").transform(frame)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6), union=st.booleans())
def test_properties(name, seed, union):
    """Probabilities that the order of rows does not change, in place of former ones; all else stays."""
    run, qrels = judged_run(seed, queries=4, documents=8)
    model, pair = fitted_to(name, run, qrels), ["qid", "docno"]
    plain = (union_of(run, seed) if union else run).assign(text="x").set_index(np.arange(len(run))[::-1] * 3)
    frame = plain.assign(grade_0=0.5, grade_9=0.5)
    before = frame.copy(deep=True)
    graded = model.transform(frame)
    assert_frame_equal(frame, before)
    assert_frame_equal(graded.drop(columns=COLUMNS), plain)
    assert pt.inspect.transformer_outputs(MODELS[name](), list(plain.columns)) == list(graded.columns)
    probabilities = graded[COLUMNS].to_numpy()
    assert ((probabilities > 0) & (probabilities <= 1)).all()
    assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    order = np.random.default_rng(seed).permutation(len(run))
    again = fitted_to(name, run.iloc[order], qrels.iloc[::-1]).transform(plain.iloc[order])
    assert_array_equal(again.sort_values(pair)[COLUMNS], graded.sort_values(pair)[COLUMNS])


@pytest.mark.parametrize("name", list(MODELS)[1:])
def test_a_pipeline_fits_it_and_ends_in_it(name):
    """Its arguments are not changed, and it must be fitted."""
    topics = RUN[["qid"]].drop_duplicates().assign(query="words")
    model, fresh = MODELS[name](), MODELS[name]()
    pipeline = pt.Transformer.from_df(RUN) >> model
    if "judge" not in name:
        with pytest.raises(RuntimeError, match="has not been fitted: call fit"):
            pipeline(topics)
    pipeline.fit(topics, QRELS, topics, QRELS)
    assert_array_equal(pipeline(topics)[COLUMNS], fitted(name).transform(RUN)[COLUMNS])
    kept = {key: value for key, value in vars(fresh).items() if key not in ("judge", "models")}
    assert {key: vars(model)[key] for key in kept} == kept


OTHER, UNIFORM = QRELS.head(1).assign(qid="other"), UniformGrades(G).transform(RUN)
WIDTHS = RUN.assign(features=[np.ones(1 + z % 2) for z in range(len(RUN))])
REFUSED = {
    document_features: [
        (UNION.assign(rank_a=0.5), r"run 'a': document 'd0000' of query 'q00' has rank 0.5"),
        (UNION.assign(score_b=np.nan), "no finite score"),
        (RUN.assign(score=np.inf), "expected a score that is a finite number"),
        (WIDTHS, r"the same width, got 1, 2"),
        (RUN.assign(features=[np.array([np.nan])] * len(RUN)), "finite numbers; those of 180"),
        (pd.concat([RUN, RUN]), "occurs more than once"),
    ],
    lambda frames: OrderedLogitGrades(G).fit(*frames): [
        ((RUN, QRELS.assign(label=4)), "highest grade, 3"),
        ((RUN, OTHER), r"no document .* \(180 documents, .* do qid .* match\? .*'q00'.*'other'"),
        ((pd.concat([RUN, RUN]), QRELS), r"the training run: .* duplicate rows"),
        ((RUN.drop(columns="docno"), QRELS), "docno"),
    ],
    lambda model: model.fit(RUN, QRELS): [
        (OrderedLogitGrades(G, prior_scale=0), "prior_scale must be a positive number, got 0"),
        (PriorGrades(0), "max_grade must be at least 1, got 0"),
        (JudgeGrades(QRELS.assign(docno="x" + QRELS["docno"]), G), "is in the judge's frame; do qid and docno match"),
        (JudgeGrades(QRELS.assign(label=0.5), G), "the judge's labels: .* whole number"),
        (JudgeGrades(QRELS[["qid", "docno"]], G), "needs qid, docno and either label or votes_0"),
        (JudgeGrades(VOTES.drop(columns="votes_0"), G), "must run from votes_0 without a gap"),
        (JudgeGrades(VOTES.assign(votes_1=-1), G), "must be finite and not negative; those of"),
        (JudgeGrades(pd.concat([VOTES, VOTES]), G), "the judge's frame: .* duplicate rows"),
    ],
    lambda models: MixtureGrades(*models).transform(RUN): [
        ((), "at least one model"),
        ((UniformGrades(2), UniformGrades(3)), r"the same highest grade, got \[2, 3\]"),
        ((pt.Transformer.identity(),), "adds no columns grade_0"),
        ((pt.apply.generic(lambda run: run.iloc[1:]) >> UniformGrades(3),), "must keep all rows and their order"),
    ],
    lambda frames: GradeReport.of(*frames): [
        ((RUN, QRELS), "no columns grade_0"),
        ((UNIFORM, OTHER), r"no document of the graded frame has a label \(180 documents,"),
        ((UNIFORM.assign(grade_1=np.nan), QRELS), "sum to 1; those of 180 documents are not"),
        ((UNIFORM.assign(grade_1=-0.25, grade_2=0.75), QRELS), "sum to 1; those of 180 documents are not"),
    ],
}


@pytest.mark.parametrize(("ask", "what", "message"), [(ask, *row) for ask, rows in REFUSED.items() for row in rows])
def test_what_is_refused(ask, what, message):
    with pytest.raises(pt.validate.InputValidationError if message == "docno" else ValueError, match=message):
        ask(what)


@pytest.mark.parametrize("name", ["prior", "logit", "forest", "labels of a judge"])
def test_grades_that_never_occur_keep_some_probability(name):
    graded = fitted_to(name, RUN, QRELS.assign(label=2)).transform(RUN)
    assert graded[["grade_0", "grade_1", "grade_3"]].stack().between(0, 0.01, inclusive="neither").all()


def test_a_judge_by_hand():
    run = pd.DataFrame({"qid": "1", "docno": list("abcd")})
    qrels = pd.DataFrame({"qid": "1", "docno": list("abc"), "label": [1, 0, 1]})
    votes = pd.DataFrame({"qid": "1", "docno": list("abe"), "votes_0": [1, 3, 1], "votes_1": [3, 1, 1]})
    model = JudgeGrades(votes, max_grade=1).fit(run, qrels)
    marginal = np.array([1.5, 2.5]) / 4
    confusion = (np.array([[0.75, 0.25], [0.25, 0.75]]) + 5 * marginal) / 6
    assert_allclose(model.marginal_, marginal)
    assert_allclose(model.confusion_, confusion)
    assert model.described() == "Grade model: the judge, corrected by 3 human labels; it agrees with 75% of them"
    want = [[0.25, 0.75] @ confusion, [0.75, 0.25] @ confusion, marginal, marginal]
    assert_allclose(model.transform(run)[["grade_0", "grade_1"]], rounded_grades(np.array(want)))


def test_is_the_mean():
    """Of a mixture, of its models."""
    names = ("prior", "logit", "votes of a judge")
    mixture = MixtureGrades(*(MODELS[name]() for name in names)).fit(RUN, QRELS)
    parts = [fitted(name).transform(UNION)[COLUMNS].to_numpy() for name in names]
    assert_allclose(mixture.transform(UNION)[COLUMNS], rounded_grades(np.mean(parts, axis=0)))


TestUniformTransformer = pt.testing.transformer_test_class(MODELS["uniform"])
TestOrderedLogitTransformer = pt.testing.transformer_test_class(MODELS["logit"])
TestMixtureTransformer = pt.testing.transformer_test_class(MODELS["mixture"])


def test_cold_grades_fall_with_the_rank():
    graded = ColdGrades(3).transform(pd.DataFrame({"qid": "1", "docno": list("ab"), "score": [2.0, 1.0]}))
    above = [[1, *(1 / (1 + np.exp(g - 1.5 + 0.5 * np.log(rank))) for g in (1, 2, 3)), 0] for rank in (1, 2)]
    assert_allclose(graded[COLUMNS], rounded_grades(-np.diff(above)), rtol=1e-12)
    assert ColdGrades(3).described() == "Grade model: none, so grades are guessed from ranks alone"


def test_a_report_has_the_numbers_of_the_judged_documents():
    graded = fitted("logit").transform(RUN)
    report = GradeReport.of(graded, QRELS)
    both = graded.merge(QRELS, on=["qid", "docno"])
    grades, labels = both[COLUMNS].to_numpy(), both["label"].to_numpy()
    assert (report.n_judged, report.n_unjudged) == (len(QRELS), len(RUN) - len(QRELS))
    assert report.likelihood == pytest.approx(np.exp(np.log(grades[np.arange(len(labels)), labels]).mean()))
    cells = report.reliability.set_index(["grade", "low"])
    inside = (grades[:, 1] >= 0.2) & (grades[:, 1] < 0.3)
    found = cells.loc[(1, 0.2), ["high", "n", "predicted", "observed"]]
    assert_allclose(found, [0.3, inside.sum(), grades[inside, 1].mean(), (labels[inside] == 1).mean()])


# --- judges ---------------------------------------------------------------------------------------------------------

PAIRS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"]})
NEAR = np.array([[1, 0.4, 0.16], [0.4, 1, 0.4], [0.16, 0.4, 1]]) / np.array([[1.56], [1.8], [1.56]])


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("labels.csv", "qid,docno,label,model\n1,a,1,gpt\n1,b,0,gpt\n", [["1", "a", 0, 1], ["1", "b", 1, 0]]),
        ("votes.tsv.gz", "qid\tdocno\tvotes_0\tvotes_1\n1\ta\t1\t3\n", [["1", "a", 0.25, 0.75]]),
        ("llm.qrels", "1 0 a 1\n1 0 b 0\n", [["1", "a", 0, 1], ["1", "b", 1, 0]]),
    ],
)
def test_files(name, text, want, tmp_path):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert judge_table(str(tmp_path / name)).to_numpy().tolist() == want


def check(model, want):
    grades = model.transform(PAIRS)[["grade_0", "grade_1", "grade_2"]]
    assert_allclose(grades, rounded_grades(want), rtol=1e-9)


def test_grades_without_labels_of_people():
    """A judge may have fewer grades than people, or more; a pair that it left out is like those that it has."""
    one, other = PAIRS.assign(label=[0, 2, 1]), PAIRS.assign(label=[1, 1, 1])
    check(JudgeGrades(PAIRS.assign(label=[0, 3, 1]), 2), NEAR[[0, 2, 1]])
    check(mean_of_judges({"one": one, "other": other}, 2), (NEAR[[0, 2, 1]] + NEAR[[1, 1, 1]]) / 2)
    votes = PAIRS.assign(votes_0=[3, 0, 1], votes_1=[1, 4, 3])
    check(JudgeGrades(votes, 2), np.array([[3, 1], [0, 4], [1, 3]]) / 4 @ NEAR[:2])
    check(JudgeGrades(one.head(2), 2), np.vstack([NEAR[[0, 2]], NEAR[[0, 2]].mean(axis=0)]))
    with pytest.warns(UserWarning, match="the judge saw no document"):
        JudgeGrades(one.head(2).assign(qid="9"), 2).transform(PAIRS)


# --- few labels, and queries that a model has not seen --------------------------------------------------------------

PAST = demo_collection(queries=60)
JUDGED = PAST.past_run.merge(PAST.past_qrels, on=["qid", "docno"])
RELEVANT = PAST.past_qrels[PAST.past_qrels["label"] > 1]
TOP = JUDGED[JUDGED.groupby("qid")["score"].rank(ascending=False) <= 10][["qid", "docno", "label"]]


@pytest.mark.parametrize(("qrels", "unjudged"), [(TOP, None), (RELEVANT, "missing"), (RELEVANT, "nonrelevant")])
def test_labels_down_to_rank_10_and_a_policy_for_the_rest_say_nothing(qrels, unjudged):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OrderedLogitGrades(3).fit(PAST.past_run, qrels, unjudged=unjudged)
        JudgeGrades(PAST.past_qrels, 3).fit(PAST.past_qrels[["qid", "docno"]], PAST.past_qrels)


def test_few_labels_have_a_warning_and_positives_with_the_rest_nonrelevant_are_all_labels():
    wanted = r"only \d+ of 200 documents down to rank 10 of the training run are judged.* nonrelevant or missing"
    with pytest.warns(UserWarning, match=wanted):
        OrderedLogitGrades(3).fit(PAST.past_run, RELEVANT)
    with pytest.raises(ValueError, match="unknown unjudged 'no'; it is one of missing, nonrelevant"):
        OrderedLogitGrades(3).fit(PAST.past_run, PAST.past_qrels, unjudged="no")
    positive = PAST.past_qrels[PAST.past_qrels["label"] > 0]
    got = OrderedLogitGrades(3).fit(PAST.past_run, positive, unjudged="nonrelevant").transform(PAST.past_run)
    whole = OrderedLogitGrades(3).fit(PAST.past_run, PAST.past_qrels).transform(PAST.past_run)
    assert_frame_equal(got, whole)


def test_out_of_fold_by_hand():
    """All documents of a query are in one fold, and each is graded once."""
    labels, qid = JUDGED["label"].to_numpy(), JUDGED["qid"].to_numpy(dtype=object)
    got, tested = out_of_fold(PriorGrades(3), JUDGED, labels), np.zeros(len(qid), dtype=int)
    for train, test in folds_of(qid):
        assert not set(qid[train]) & set(qid[test])
        tested += test
        model = PriorGrades(3).fit(JUDGED[train], JUDGED[train][["qid", "docno", "label"]])
        assert_array_equal(got[test], model.transform(JUDGED[test]).filter(like="grade_"))
    assert (tested == 1).all()
    report = GradeReport.cross_validated(PriorGrades(3), PAST.past_run, PAST.past_qrels)
    assert report.likelihood == pytest.approx(np.exp(np.log(got[np.arange(len(labels)), labels]).mean()))
    assert report.n_unjudged == 0
