"""A plan of documents from runs in files is the plan that the same runs give in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.logs import scan
from pt_active.plans.answers.status import Status
from pt_active.relevance.grades.models import ColdGrades

pytest.importorskip("polars")

BUDGET, DEPTH = 60.0, 15


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Small samples have cautions, of both plans alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def files(demo: DemoCollection, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Three runs in two files each, with shuffled rows."""
    folder = tmp_path_factory.mktemp("runs")
    runs = dict(demo.runs)
    first, second = list(runs)
    mixed = runs[second].assign(score=runs[second]["score"] + 3 * (runs[second]["docno"].str[-1] > "5"))
    for name, run in (runs | {"mixed": mixed}).items():
        rows = run[["qid", "docno", "score"]].sample(frac=1.0, random_state=1)
        for number in range(2):
            rows.iloc[number::2].to_parquet(folder / f"{name}-{number}.parquet", index=False)
    return {name: str(folder / f"{name}-*.parquet") for name in (first, second, "mixed")}


@pytest.fixture(scope="module")
def topics(demo: DemoCollection) -> pd.DataFrame:
    return demo.topics.assign(traffic=np.arange(len(demo.topics)) % 7 + 1.0)


def both(
    files: dict[str, str], grades: Any, topics: pd.DataFrame | None, rankers: int, **how: Any
) -> tuple[Plan, Plan]:
    """The plan out of core and the one in memory, of the first rankers."""
    some = dict(list(files.items())[:rankers])
    runs = {
        name: pd.concat(map(pd.read_parquet, sorted(Path(p).parent.glob(Path(p).name)))) for name, p in some.items()
    }
    about = {"measure": "DCG@10", "budget": BUDGET, "seed": 3} | how
    pool = (Runs(**runs, depth=DEPTH) >> grades)(pd.DataFrame({"qid": next(iter(runs.values()))["qid"].unique()}))
    streamed = scan(DEPTH, partitions=4, workers=1, **some).plan(grades, topics, **about)
    return streamed, Plan.create(pool, topics, **about)


def check_same(one: Plan, other: Plan) -> None:
    """The same documents with the same probabilities, of the same population."""
    own, its = one.assessments, other.assessments
    pd.testing.assert_frame_equal(own, its[own.columns], check_dtype=False, rtol=1e-9)
    for name in ("spent", "pool_cost", "census"):
        assert one.manifest[name] == pytest.approx(other.manifest[name], rel=1e-9)
    for name in ("counts", "arguments", "rankers"):
        assert one.manifest[name] == other.manifest[name]
    rounds = [{k: v for k, v in plan.manifest["rounds"][0].items() if v is not None} for plan in (one, other)]
    assert rounds[0] == pytest.approx(rounds[1], rel=1e-9)
    mine, its_own = (plan.sample.set_index("qid") for plan in (one, other))
    columns = [c for c in its_own.columns if c in mine.columns]
    pd.testing.assert_frame_equal(mine[columns], its_own[columns], check_dtype=False, rtol=1e-9)
    # Replays, which the plan in memory has, may add a caution.
    said = [[line for line in str(plan).splitlines() if "caution" not in line] for plan in (one, other)]
    assert said[0] == said[1]


def check_estimates(one: Plan, other: Plan, qrels: pd.DataFrame, estimator: str) -> None:
    asked = {"estimator": estimator, "reference": "effective"}
    for name, estimate in other.estimate(qrels, **asked).items():
        pd.testing.assert_frame_equal(one.estimate(qrels, **asked)[name].to_frame(), estimate.to_frame(), rtol=1e-9)
    for second in other.rankers[1:]:
        pair = {"first": second, "second": other.rankers[0]}
        mine, its = (plan.compare(qrels, **asked, **pair).to_frame() for plan in (one, other))
        pd.testing.assert_frame_equal(mine, its, rtol=1e-9)


def check_same_status(one: Status, other: Status) -> None:
    for name in ("value", "low", "high", "standard_error", "e_value", "spent", "budget", "everything"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12, nan_ok=True), name
    for name in ("judged", "drawn", "resolution", "resolved_at", "open", "left_out", "waiting", "n_judged"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize(
    ("rankers", "how"),
    [
        (2, {}),
        (2, {"measure": "P(rel=2)@5"}),
        (2, {"measure": "RBP(p=0.8)"}),
        (2, {"design": "spread"}),
        (2, {"design": "poisson", "defensive": 2.0}),
        (2, {"cost": UnitCost(per_query=2.0), "level": "document"}),
        (2, {"cost": UnitCost(per_query=0.5), "design": "successive"}),
        (1, {}),
        (3, {}),
        (3, {"pairs": "mixed", "budget": 200.0}),
    ],
)
def test_draws_and_estimates_are_those_of_the_plan_in_memory(
    files: dict[str, str],
    demo: DemoCollection,
    grades: OrderedLogitGrades,
    topics: pd.DataFrame,
    rankers: int,
    how: dict[str, Any],
) -> None:
    streamed, whole = both(files, grades, topics, rankers, **how)
    check_same(streamed, whole)
    for estimator in ("regression", "difference", "ht"):
        check_estimates(streamed, whole, demo.judge(whole.assessments), estimator)


@pytest.mark.parametrize("rankers", [1, 2, 3])
def test_looks_prove_what_the_plan_in_memory_proves(
    files: dict[str, str], demo: DemoCollection, grades: OrderedLogitGrades, topics: pd.DataFrame, rankers: int
) -> None:
    """What all documents that could still come can show is that of the population."""
    streamed, whole = both(files, grades, topics, rankers, design="successive")
    qrels, order = demo.judge(whole.assessments), whole.assessments.sample(frac=1.0, random_state=4)
    names = list(whole.rankers)
    sides = [{}] if rankers == 1 else [{"first": a, "second": b} for a in names for b in names if a != b]
    for judged in (0, 1, 20, len(order)):
        some = order.head(judged)[["qid", "docno"]].merge(qrels)
        for side in sides:
            check_same_status(*(plan.status(some, margin=0.4, **side) for plan in (streamed, whole)))
    if rankers == 3:
        tables = [plan.status(qrels).table() for plan in (streamed, whole)]
        pd.testing.assert_frame_equal(*tables, rtol=1e-9)
    if rankers == 2:
        follow = [plan.follow() for plan in (streamed, whole)]
        check_same_status(*(each.add(qrels.head(30)) for each in follow))
        gates = [plan.gate(qrels, margin=0.5, looks=looks) for plan in (streamed, whole) for looks in (None, "always")]
        assert [gate.outcome for gate in gates[:2]] == [gate.outcome for gate in gates[2:]]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cost": UnitCost(per_query=2.0), "level": "document"},
        {"cost": UnitCost(per_query=0.5), "design": "poisson"},
    ],
)
def test_one_look_at_the_end(
    files: dict[str, str], demo: DemoCollection, grades: OrderedLogitGrades, topics: pd.DataFrame, how: dict[str, Any]
) -> None:
    streamed, whole = both(files, grades, topics, 2, **how)
    qrels = demo.judge(whole.assessments)
    for looks in (None, "asymptotic"):
        for labels in (qrels, qrels.iloc[1:]):
            one, other = (plan.status(labels, looks=looks, missing="error") for plan in (streamed, whole))
            assert (one.judged, one.drawn, one.resolution) == (other.judged, other.drawn, other.resolution)
            assert one.value == pytest.approx(other.value, rel=1e-9, nan_ok=True)
            known = other.standard_error if np.isfinite(one.standard_error) else np.nan
            assert one.standard_error == pytest.approx(known, rel=1e-9, nan_ok=True)
            assert np.isfinite(one.standard_error) or labels is not qrels
            assert one.everything == pytest.approx(other.everything, rel=1e-9)


@pytest.mark.parametrize("missing", ["nonrelevant", "expected"])
def test_missing_labels(
    files: dict[str, str], demo: DemoCollection, grades: OrderedLogitGrades, topics: pd.DataFrame, missing: str
) -> None:
    streamed, whole = both(files, grades, topics, 2)
    qrels = demo.judge(whole.assessments).iloc[::2]
    one, other = (plan.compare(qrels, missing=missing, reference="effective").to_frame() for plan in (streamed, whole))
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)


@pytest.mark.parametrize("partitions", [1, 2, 5, 17, 200])
def test_the_partitioning_leaves_no_trace(
    files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame, partitions: int
) -> None:
    some = dict(list(files.items())[:2])
    plans = [
        scan(DEPTH, partitions=number, workers=1, **some).plan(grades, topics, "DCG@10", budget=BUDGET)
        for number in (partitions, 3)
    ]
    assert plans[0].manifest == plans[1].manifest
    for frame in ("assessments", "queries"):
        pd.testing.assert_frame_equal(*(getattr(plan, frame) for plan in plans))


def test_several_processes_and_blocks_change_nothing(
    files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = dict(list(files.items())[:2])
    whole = scan(DEPTH, partitions=5, workers=2, **some).plan(grades, topics, "DCG@10", budget=BUDGET)
    monkeypatch.setattr("pt_active.logs.documents.QUERIES_AT_ONCE", 7)
    blocks = scan(DEPTH, partitions=5, workers=1, **some).plan(grades, topics, "DCG@10", budget=BUDGET)
    check_same(blocks, whole)


@pytest.mark.parametrize(
    "how", [{}, {"cost": UnitCost(per_query=1.0)}, {"cost": UnitCost(per_query=30.0)}, {"draws": 12, "budget": None}]
)
def test_the_level_is_chosen_as_in_memory(
    files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame, how: dict[str, Any]
) -> None:
    streamed, whole = both(files, grades, topics, 2, **({"budget": 300.0} | how))
    assert streamed.manifest["arguments"] == whole.manifest["arguments"]
    one, other = (plan.manifest.get("choice") for plan in (streamed, whole))
    assert (one is None) == (other is None)
    if one is not None:
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert value == (pytest.approx(other[name], rel=1e-9) if isinstance(value, float) else other[name])


def test_a_cascade_is_planned_by_queries_unless_documents_are_asked_for(
    files: dict[str, str], grades: OrderedLogitGrades
) -> None:
    runs = scan(DEPTH, workers=1, **files)
    assert runs.plan(grades, None, "ERR@10", budget=300).manifest["arguments"]["level"] == "query"
    for measure in ("ERR@10", "nDCG@10"):
        with pytest.raises(ValueError, match=f"the documents of {measure} are drawn in memory only"):
            runs.plan(grades, None, measure, budget=BUDGET, level="document")
    with pytest.raises(ValueError, match="from the top in memory only"):
        runs.plan(grades, None, "DCG@10", budget=BUDGET, design="depth")
    with pytest.raises(ValueError, match="documents are drawn to a budget"):
        runs.plan(grades, None, "DCG@10", draws=5, level="document")


@pytest.fixture
def made(files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame) -> Plan:
    some = dict(list(files.items())[:2])
    return scan(DEPTH, partitions=4, workers=1, **some).plan(grades, topics, "DCG@10", budget=BUDGET, seed=3)


def test_a_saved_plan_keeps_the_queries_of_its_documents_alone(
    demo: DemoCollection, made: Plan, tmp_path: Path
) -> None:
    loaded = Plan.load(made.save(tmp_path / "plan").path)
    qrels = demo.judge(made.assessments)
    pd.testing.assert_frame_equal(loaded.compare(qrels).to_frame(), made.compare(qrels).to_frame())
    check_same_status(loaded.status(qrels.head(20)), made.status(qrels.head(20)))
    assert loaded.manifest == made.manifest
    kept, drawn = set(loaded.tables.pool.keys["qid"]), set(made.assessments["qid"])
    assert drawn <= kept
    assert len(kept) <= len(drawn) + 2
    assert len(loaded.queries) == len(kept) + 1
    assert loaded.queries["q_weight"].sum() == pytest.approx(1)


def test_the_worklist_comes_in_the_order_of_the_plan_in_memory(
    files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame, tmp_path: Path
) -> None:
    plans = both(files, grades, topics, 2)
    texts = [plan.export(tmp_path / f"{i}.csv", "csv").read_text() for i, plan in enumerate(plans)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("ask", "cannot"),
    [
        (lambda plan, qrels: plan.extend(50.0), "go on; plan again from the same logs with a larger budget"),
        (lambda plan, qrels: plan.so_far(qrels.iloc[1:]), "be cut to what is judged; its status says"),
        (lambda plan, qrels: plan.compare(qrels, measure="DCG@5"), "estimate DCG@5; plan for DCG@5"),
        (lambda plan, qrels: plan.report("page.html", qrels), "fill a report"),
        (lambda plan, qrels: plan.with_rankers(third=qrels.assign(score=1.0)), "take more rankers; plan again"),
        (lambda plan, qrels: plan.plot(), "foresee errors"),
    ],
)
def test_what_needs_other_documents_is_refused(demo: DemoCollection, made: Plan, ask: Any, cannot: str) -> None:
    with pytest.raises(ValueError, match="keeps only sums of") as error:
        ask(made, demo.judge(made.assessments))
    assert cannot in str(error.value)


def test_a_budget_for_everything_keeps_everything_that_matters(
    files: dict[str, str], demo: DemoCollection, grades: OrderedLogitGrades, topics: pd.DataFrame
) -> None:
    streamed, whole = both(files, grades, topics, 2, budget=1e6, level="document")
    check_same(streamed, whole)
    check_estimates(streamed, whole, demo.judge(whole.assessments), "regression")


def test_rankings_that_agree_leave_nothing_to_draw_and_a_model_without_variance_is_certain(tmp_path: Path) -> None:
    rows = [(f"q{x}", f"d{z}", -float(z)) for x in range(9) for z in range(4)]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    run.to_parquet(tmp_path / "one.parquet")
    run.assign(score=-run["score"]).to_parquet(tmp_path / "other.parquet")
    same, turned = {"a": "one", "b": "one"}, {"a": "one", "b": "other"}
    for names in (same, turned):
        found = scan(workers=1, **{name: tmp_path / f"{file}.parquet" for name, file in names.items()})
        runs = {name: pd.read_parquet(tmp_path / f"{file}.parquet") for name, file in names.items()}
        pool = (Runs(**runs) >> ColdGrades(1))(pd.DataFrame({"qid": run["qid"].unique()}))
        streamed = found.plan(ColdGrades(1), None, "DCG@3", budget=6, level="document")
        check_same(streamed, Plan.create(pool, None, "DCG@3", budget=6, level="document"))
