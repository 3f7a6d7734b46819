"""Arguments of a wrong type, at every public entry: a ValueError that names the argument and the value."""

import json
import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from pandas.testing import assert_frame_equal
from samples import wanted

from pt_active import (
    ActiveTest,
    ColumnCost,
    Draw,
    MixtureGrades,
    Plan,
    Runs,
    SamplingDistribution,
    UniformGrades,
    compare_learners,
)
from pt_active.demo.collection import DemoCollection
from pt_active.frames import checks
from pt_active.risk import Audit, GaussianSquared, ZeroOne
from pt_active.rounds import Accuracy

BOTH = {"first": "a", "second": "b"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """50 documents of ten queries with labels, grades, and the predictions of two judges."""
    rng = np.random.default_rng(0)
    keys = {"qid": np.repeat([f"q{i}" for i in range(10)], 5), "docno": [f"d{i}" for i in range(50)]}
    grades = pd.DataFrame(rng.dirichlet([2.0, 1, 1], 50)).add_prefix("grade_")
    judges = {"a": rng.integers(0, 3, 50), "b": rng.integers(0, 3, 50), "label": np.arange(50) % 3}
    return pd.DataFrame(keys | judges).join(grades)


@pytest.fixture(scope="module")
def audit(frame: pd.DataFrame) -> Audit:
    return Audit.create(frame, BOTH, ZeroOne(), budget=20)


@pytest.fixture(scope="module")
def three(demo: DemoCollection, grades: pt.Transformer) -> pd.DataFrame:
    turned = demo.runs["candidate"].drop(columns="rank").assign(score=lambda run: -run["score"])
    return (Runs(**demo.runs, turned=turned, depth=10) >> grades)(demo.topics.head(40))


def refused(message: str, call: Callable[..., object], *given: object, **named: object) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call(*given, **named)


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (checks.whole_number, ("x", True, 1), "x must be at least 1, got True"),
        (checks.whole_number, ("x", np.float64(2.0), 1), "x must be a whole number, got 2.0"),
        (checks.number, ("x", "5"), "x must be a number, got '5'"),
        (checks.number, ("x", np.True_), "x must be a number, got True"),
        (checks.number, ("x", 10**400), "x must be a number, got one that no float can hold"),
        (checks.positive, ("x", Fraction(-1, 2)), "x must be a positive number, got Fraction(-1, 2)"),
        (checks.level, ("x", np.float64(95)), "x must lie between 0 and 1, got 95.0"),
        (checks.level, ("x", np.nan), "x must lie between 0 and 1, got nan"),
        (checks.truth_value, ("x", 1), "x must be True or False, got 1"),
        (checks.file_path, ("x", 3), "x must be a string or a Path, got 3"),
        (checks.data_frame, ("x", pd.Series([1, 2])), "x must be a pandas DataFrame, got 0 1 1 2 dtype"),
        (checks.data_frame, ("x", pd.DataFrame({"a": [1]}), "a", "b"), "it lacks 'b'"),
        (checks.data_frame, ("x", pd.DataFrame([[1, 2]], columns=["a", "a"]), "a"), "'a' more than once"),
    ],
)
def test_checks_refuse(check, given, message):
    refused(message, check, *given)


@pytest.mark.parametrize(
    ("check", "value", "plain"),
    [
        (lambda name, value: checks.whole_number(name, value, 0), np.int32(3), 3),
        (checks.number, np.float32(0.25), 0.25),
        (checks.positive, Fraction(120), 120),
        (checks.positive, 2**70, 2.0**70),
        (checks.positive, np.uint64(2**63), 2.0**63),
        (checks.truth_value, np.False_, False),
        (checks.file_path, "a", Path("a")),
    ],
)
def test_checks_make_good_values_plain(check, value, plain):
    found = check("x", value)
    assert found == plain
    assert isinstance(plain, Path) or json.loads(json.dumps(found)) == plain


def test_long_values_are_cut():
    assert len(checks.shown(list(range(1000)))) == 80
    assert checks.shown(np.float64(-1.0)) == "-1.0"


@pytest.mark.parametrize(
    ("columns", "loss", "message"),
    [
        ({"a": -1.0}, ZeroOne(), "for document 'd0' of query 'q0'; got -1.0"),
        ({"a_variance": -1.0, "b_variance": 1.0}, GaussianSquared(), "for document 'd0' of query 'q0'; got -1.0"),
        ({"long": 2.5}, ZeroOne(slice="long"), "got 2.5 for document 'd0'"),
        ({"doc_cost": -1.0}, ZeroOne(), "costs must be positive; 50 costs are not, such as that of 'd0'"),
    ],
)
def test_numbers_in_messages_are_plain(frame, columns, loss, message):
    cost = ColumnCost() if "doc_cost" in columns else None
    refused(message, Audit.create, frame.assign(**columns), BOTH, loss, budget=20, cost=cost)


OPTIONS = [
    *(("qrels", wrong, f"qrels must be a pandas DataFrame, got {wrong!r}") for wrong in (None, {}, "labels.txt")),
    *(("confidence", wrong, f"confidence must be a number, got {wrong!r}") for wrong in ("0.95", None)),
    *(("estimator", wrong, f"unknown estimator {wrong!r}") for wrong in (3, ["snis"], "")),
    ("missing", None, "unknown missing None"),
]


@pytest.mark.parametrize("face", ["estimate", "compare", "rank"])
def test_labels_and_options(audit, frame, three, demo, face):
    plan = Plan.create(three, None, "DCG@10", budget=300, level="query")
    corrections = [("correction", wrong, f"unknown correction {wrong!r}") for wrong in (None, ["holm"])]
    for option, wrong, message in OPTIONS + (corrections if face == "rank" else []):
        refused(message, getattr(audit, face), **{"qrels": wanted(audit, frame), option: wrong})
        refused(message, plan.rank, **{"qrels": demo.judge(plan.assessments), option: wrong})
    interval = audit.estimate(wanted(audit, frame))["first"].confidence_interval
    refused("confidence_level must be a number, got 'high'", interval, "high")
    refused("run 'late' must be a pandas DataFrame, got 3", plan.with_rankers, late=3)


@pytest.mark.parametrize("value", [None, 3, b"audit", ["audit"]])
def test_paths(audit, value):
    for call in (Audit.load, Plan.load, ActiveTest.load, audit.save, audit.export):
        refused(f"path must be a string or a Path, got {value!r}", call, value)
    refused("format must be one of", audit.export, "judge-me", format=["csv"])


@pytest.mark.parametrize("wrong", [[["q", "d"]], None, "a.run"])
def test_rankers_models_and_depths(wrong, three):
    refused(f"ranker 'a' must be a PyTerrier transformer or a frame, got {wrong!r}", Runs, a=wrong)
    message = "each model of MixtureGrades(first, second, …) must be a PyTerrier transformer, got "
    refused(f"{message}{wrong!r}", MixtureGrades, UniformGrades(2), wrong)
    refused(f"{message}[UniformGrades(2), UniformGrades(2)]", MixtureGrades, [UniformGrades(2), UniformGrades(2)])
    for runs in (Runs(a=three), Runs(10, a=three)):
        refused(f"the cutoff of Runs must be a whole number, got {wrong!r}", runs.__mod__, wrong)
    refused("depth must be a whole number, got 2.5", Runs, 2.5, a=three)
    refused("depth must be at least 1, got 0", Runs, 0, a=three)


@pytest.mark.parametrize("column", ["grade_1", "rank_turned", "traffic"])
@pytest.mark.parametrize("value", [[1], {}, b"1", date(2026, 1, 1)])
def test_columns_of_numbers(three, column, value):
    wrong = three.assign(**{column: [value] * len(three)})
    refused(f"the column '{column}' must hold numbers, got {value!r}", Plan.create, wrong, None, "DCG@10", budget=50)


@pytest.mark.parametrize("level", ["query", "document"])
def test_budgets(three, level):
    made = {budget: Plan.create(three, None, "DCG@10", budget=budget, level=level) for budget in (120, Fraction(120))}
    assert made[120].id == made[Fraction(120)].id
    assert Plan.create(three, None, "DCG@10", budget=2**70, level=level).tables.manifest.census
    design = SamplingDistribution("DCG@10", level=level)(three)
    assert_frame_equal(Draw(budget=Fraction(120))(design), Draw(budget=120)(design))
    assert len(Draw(budget=2**70)(design)) == len(design)
    for wrong in (np.inf, "120", True, 10**400):
        refused("budget must be a ", Plan.create, three, None, "DCG@10", budget=wrong, level=level)
        refused("budget must be a ", Draw(budget=wrong).transform, design)


class Learner(pt.Estimator):
    def __init__(self, sign: int = -1) -> None:
        super().__init__()
        self.sign = sign

    def fit(self, *data):
        return self

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return inp.assign(score=self.sign * np.arange(len(inp)))


def test_a_class_is_a_function_without_arguments(frame):
    keys = ["qid", "docno"]
    learners = {"x": Learner(1), "y": Learner}
    found = compare_learners(learners, frame[keys], frame[[*keys, "label"]], "nDCG@5", folds=3, progress=False)
    assert found.difference == pytest.approx(found.per_fold["difference"].mean())
    refused("confidence_level must be a number, got 'high'", found.confidence_interval, "high")


def test_active_tests_refuse(frame):
    pairs = frame[["qid", "docno", "grade_0", "grade_1", "grade_2"]]
    for wrong in (None, {}, [1]):
        refused(f"pool must be a pandas DataFrame, got {wrong!r}", ActiveTest.create, wrong, None, Accuracy())
    test = ActiveTest.create(pairs, None, Accuracy()).next_round(20)
    known = wanted(test, frame)
    message = "strategy=\"rf\" fits ForestGrades to features or scores of the documents, and the pool lacks 'score'"
    refused(message, test.next_round, 5, known, "rf")
    refused('model is for strategy="rf", and one that learns, such as ForestGrades; got', test.next_round, 5, model="x")
    refused("qrels must be a pandas DataFrame, got {}", test.estimate, {})
    refused("confidence must be a number, got None", test.estimate, known, confidence=None)
    refused("bandwidth must be a positive number or 'cross_validated', got [1]", test.estimate, known, bandwidth=[1])
