"""Arguments of a wrong type, at every public entry: a ValueError that names the argument and the value."""

import json
import re
from datetime import date
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from samples import wanted

from pt_active import ActiveTest, ColumnCost, Draw, MixtureGrades, Plan, Runs, SamplingDistribution, UniformGrades
from pt_active.frames import checks
from pt_active.risk import Audit, GaussianSquared, ZeroOne
from pt_active.rounds import Accuracy

KEYS = pd.DataFrame({"docno": [f"d{i}" for i in range(50)]}).assign(qid=lambda t: "q" + t["docno"].str[-1])
GRADES = pd.DataFrame(np.random.default_rng(0).dirichlet([2.0, 1, 1], 50)).add_prefix("grade_")
LABELS = KEYS.assign(label=np.arange(50) % 3)
PAIRS = KEYS.join(GRADES)
FRAME = PAIRS.assign(a=np.arange(50) % 2, b=1)
BOTH = {"first": "a", "second": "b"}


@pytest.fixture(scope="module")
def pool(demo, grades) -> pd.DataFrame:
    turned = demo.runs["candidate"].drop(columns="rank").assign(score=lambda run: -run["score"])
    return (Runs(**demo.runs, turned=turned, depth=10) >> grades)(demo.topics.head(40))


@pytest.fixture(scope="module")
def made(demo, pool) -> SimpleNamespace:
    """A plan, an audit and a test of one round, and the labels of each."""
    plan = Plan.create(pool, None, "DCG@10", budget=300, level="query")
    audit = Audit.create(FRAME, BOTH, ZeroOne(), budget=20)
    test = ActiveTest.create(PAIRS, None, Accuracy()).next_round(20)
    samples = SimpleNamespace(plan=plan, audit=audit, test=test)
    samples.of_plan = demo.judge(plan.assessments)
    samples.of_audit, samples.of_test = wanted(audit, LABELS), wanted(test, LABELS)
    return samples


def refused(message, call, *given, **named):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(*given, **named)


TWICE = pd.DataFrame([[1, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (checks.whole_number, (True, 1), "x must be at least 1, got True"),
        (checks.whole_number, (np.float64(2.0), 1), "x must be a whole number, got 2.0"),
        (checks.number, ("5",), "x must be a number, got '5'"),
        (checks.number, (np.True_,), "x must be a number, got True"),
        (checks.number, (10**400,), "x must be a number, got one that no float can hold"),
        (checks.positive, (Fraction(-1, 2),), "x must be a positive number, got Fraction(-1, 2)"),
        (checks.level, (np.float64(95),), "x must lie between 0 and 1, got 95.0"),
        (checks.level, (np.nan,), "x must lie between 0 and 1, got nan"),
        (checks.truth_value, (1,), "x must be True or False, got 1"),
        (checks.data_frame, (pd.Series([1, 2]),), "x must be a pandas DataFrame, got 0 1 1 2"),
        (checks.data_frame, (LABELS, "a"), "it lacks 'a'"),
        (checks.data_frame, (TWICE, "a"), "'a' more than once"),
    ],
)
def test_checks_refuse(check, given, message):
    refused(message, check, "x", *given)
    assert len(checks.shown(list(range(1000)))) == 80


@pytest.mark.parametrize(
    ("check", "value", "plain"),
    [
        (lambda name, value: checks.whole_number(name, value, 0), np.int32(3), 3),
        (checks.number, np.float32(0.25), 0.25),
        (checks.positive, Fraction(120), 120),
        (checks.positive, np.uint64(2**63), 2.0**63),
        (checks.truth_value, np.False_, False),
    ],
)
def test_checks_make_good_values_plain(check, value, plain):
    found = check("x", value)
    assert json.loads(json.dumps(found)) == found == plain


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("qrels", None, "qrels must be a pandas DataFrame, got None"),
        ("confidence", "0.95", "confidence must be a number, got '0.95'"),
        ("confidence", None, "confidence must be a number, got None"),
        ("estimator", ["snis"], "unknown estimator ['snis']"),
        ("missing", None, "unknown missing None"),
    ],
)
def test_labels_and_options(made, option, value, message):
    for face in (made.audit.estimate, made.audit.compare, made.audit.rank, made.plan.rank):
        labels = made.of_plan if face == made.plan.rank else made.of_audit
        refused(message, face, **{"qrels": labels, option: value})


@pytest.mark.parametrize("value", [None, 3, b"audit", ["audit"]])
def test_paths(made, value):
    for call in (Audit.load, Plan.load, ActiveTest.load, made.audit.save, made.audit.export):
        refused(f"path must be a string or a Path, got {value!r}", call, value)


@pytest.mark.parametrize("column", ["grade_1", "rank_turned", "traffic"])
@pytest.mark.parametrize("value", [[1], {}, b"1", date(2026, 1, 1)])
def test_columns_of_numbers(pool, column, value):
    wrong = pool.assign(**{column: [value] * len(pool)})
    message = f"the column '{column}' must hold numbers, got {value!r}"
    refused(message, Plan.create, wrong, None, "DCG@10", budget=50)


@pytest.mark.parametrize("level", ["query", "document"])
def test_budgets(pool, level):
    made = partial(Plan.create, pool, None, "DCG@10", level=level)
    assert made(budget=120).id == made(budget=Fraction(120)).id
    assert made(budget=2**70).tables.manifest.census
    design = SamplingDistribution("DCG@10", level=level)(pool)
    assert_frame_equal(Draw(budget=Fraction(120))(design), Draw(budget=120)(design))
    assert len(Draw(budget=2**70)(design)) == len(design)
    for wrong in (np.inf, "120", True, 10**400):
        refused("budget must be a ", made, budget=wrong)
        refused("budget must be a ", Draw(budget=wrong).transform, design)


def audited(loss, cost=None, **columns):
    Audit.create(FRAME.assign(**columns), BOTH, loss, budget=20, cost=cost)


VARIANCES = {"a_variance": -1.0, "b_variance": 1.0}
LEARNS = 'model is for strategy="rf", and one that learns, such as ForestGrades; got'
NEGATIVE = "for document 'd0' of query 'q0'; got -1.0"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda _: audited(ZeroOne(), a=-1.0), NEGATIVE),
        (lambda _: audited(GaussianSquared(), **VARIANCES), NEGATIVE),
        (lambda _: audited(ZeroOne(slice="long"), long=2.5), "for document 'd0' of query 'q0'; got 2.5"),
        (lambda _: audited(ZeroOne(), ColumnCost(), doc_cost=-1.0), "must be positive; 50 costs"),
        (lambda its: its.audit.export("judge-me", format=["csv"]), "unknown format"),
        (lambda its: its.test.estimate(its.of_test).confidence_interval("high"), "level must be a number, got 'high'"),
        (lambda its: its.plan.with_rankers(late=3), "run 'late' must be a pandas DataFrame, got 3"),
        (lambda its: its.plan.rank(its.of_plan, correction=[]), "unknown correction []"),
        (lambda _: MixtureGrades([UniformGrades(2)]), "transformer, got [UniformGrades(2)]"),
        (lambda _: Runs(a=[["q", "d"]]), "transformer or a frame, got [['q', 'd']]"),
        (lambda _: Runs(10, a=LABELS) % None, "cutoff of Runs must be a whole number, got None"),
        (lambda _: Runs(0, a=LABELS), "depth must be at least 1, got 0"),
        (lambda _: ActiveTest.create(None, None, Accuracy()), "pool must be a pandas DataFrame"),
        (lambda its: its.test.next_round(5, its.of_test, "rf"), "and the pool lacks 'score'"),
        (lambda its: its.test.next_round(5, model="x"), LEARNS),
        (lambda its: its.test.estimate({}), "qrels must be a pandas DataFrame, got {}"),
        (lambda its: its.test.estimate(its.of_test, confidence=None), "must be a number"),
        (lambda its: its.test.estimate(its.of_test, bandwidth=[1]), "'cross_validated', got [1]"),
    ],
)
def test_entries_refuse(made, ask, message):
    refused(message, ask, made)
