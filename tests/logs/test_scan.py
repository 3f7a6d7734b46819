"""A plan from runs in files is the plan that the same runs give in memory, however they are partitioned."""

from __future__ import annotations

import bz2
import gzip
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyterrier as pt
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.frames.columns import with_string_ids
from pt_active.frames.trec import read_run
from pt_active.logs import scan
from pt_active.logs.files import partitioned
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.relevance.grades.models import ColdGrades

# Small samples have cautions, of both plans alike.
pytestmark = pytest.mark.filterwarnings("ignore")

BUDGET, DEPTH = 150.0, 15

MOMENTS = "q_mean", "q_var", "q_cov", "q_mc_error"

QUERIES, DOCUMENTS = {"level": "query"}, {"budget": 60.0, "level": "document"}

# Documents of few queries, judged from the top, since label vectors take time.
NESTED = {"measure": "nDCG@10", "budget": 120.0, "design": "depth", "queries": 60}

# Here documents that matter to single rankers alone are never drawn.
OPENED = {"cost": UnitCost(per_query=0.5), "design": "successive"}


@pytest.fixture(scope="module")
def runs(demo: DemoCollection) -> dict[str, pd.DataFrame]:
    scored = list(demo.runs.values())[1]
    mixed = scored.assign(score=scored["score"] + 3 * (scored["docno"].str[-1] > "5"))
    return {name: run[["qid", "docno", "score"]] for name, run in (demo.runs | {"mixed": mixed}).items()}


@pytest.fixture(scope="module")
def files(runs: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Three runs in three files each, with shuffled rows, so that queries are spread over the files."""
    folder = tmp_path_factory.mktemp("runs")
    for name, run in runs.items():
        rows = run.sample(frac=1.0, random_state=1)
        for number in range(3):
            rows.iloc[number::3].to_parquet(folder / f"{name}-{number}.parquet", index=False)
    return {name: str(folder / f"{name}-*.parquet") for name in runs}


@pytest.fixture(scope="module")
def about(demo: DemoCollection) -> dict[str, Any]:
    topics = demo.topics.assign(traffic=np.arange(len(demo.topics)) % 7 + 1.0)
    return {"topics": topics, "measure": "DCG@10", "seed": 8, "budget": BUDGET}


@pytest.fixture(scope="module")
def streamed(files: dict[str, str], grades: OrderedLogitGrades, about: dict[str, Any]) -> Callable[..., Plan]:
    """The plan out of core of the first rankers."""

    def plan(rankers: int = 2, partitions: int = 4, workers: int = 1, **how: Any) -> Plan:
        found = scan(DEPTH, partitions=partitions, workers=workers, **dict(list(files.items())[:rankers]))
        return found.plan(grades, **about | how)

    return plan


@pytest.fixture(scope="module")
def both(streamed: Any, runs: dict[str, pd.DataFrame], grades: OrderedLogitGrades, about: dict[str, Any]) -> Any:
    """The plan out of core, and the one in memory."""

    def plans(rankers: int = 2, queries: int | None = None, **how: Any) -> tuple[Plan, Plan]:
        how = {"topics": about["topics"].head(queries)} | how if queries else how
        some = dict(list(runs.items())[:rankers])
        pool = (Runs(**some, depth=DEPTH) >> grades)(pd.DataFrame({"qid": next(iter(some.values()))["qid"].unique()}))
        return streamed(rankers, **how), Plan.create(pool, **about | how)

    return plans


@pytest.fixture(scope="module")
def of_level(streamed: Callable[..., Plan]) -> dict[str, Plan]:
    return {"query": streamed(**QUERIES), "document": streamed(**DOCUMENTS)}


def check_same(one: Plan, other: Plan) -> None:
    """The same documents with the same probabilities, of the same population."""
    own, its = one.assessments, other.assessments
    pd.testing.assert_frame_equal(own[its.columns], its, check_dtype=False, rtol=1e-9)
    for name in ("spent", "pool_cost", "census"):
        assert one.manifest[name] == pytest.approx(other.manifest[name], rel=1e-9)
    for name in ("counts", "arguments", "rankers"):
        assert one.manifest[name] == other.manifest[name]
    rounds = (
        [{k: v for k, v in each.items() if v is not None} for each in p.manifest.get("rounds", ())]
        for p in (one, other)
    )
    for mine, theirs in zip(*rounds, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)
    mine, theirs = (plan.sample.set_index("qid") for plan in (one, other))
    drawn_moments = any(c.startswith("q_mc_error") for c in theirs.columns)  # by numbers in the order of the queries
    columns = [c for c in theirs.columns if c in mine.columns and not (drawn_moments and c.startswith(MOMENTS))]
    pd.testing.assert_frame_equal(mine[columns], theirs[columns], check_dtype=False, rtol=1e-9)
    # Replays, which the plan in memory has, may add a caution.
    said = [[line for line in str(plan).splitlines() if "caution" not in line] for plan in (one, other)]
    assert said[0] == said[1]


def check_same_answer(one: Comparison | Estimate, other: Comparison | Estimate) -> None:
    """A plan from logs does not keep the values of queries, so its answer is for the pool's queries alone."""
    mine, its = one.to_frame(), other.to_frame()
    assert {name.partition("_")[0] for name in set(its) - set(mine)} <= {"queries", "these", "new"}
    pd.testing.assert_frame_equal(mine, its[mine.columns], rtol=1e-9)


def check_estimates(plans: tuple[Plan, Plan], qrels: pd.DataFrame, estimator: str) -> None:
    """The rows that stand for what is not kept have all that an estimator knows of it."""
    asked = {"estimator": estimator, "reference": "effective"}
    for pair in zip(*(plan.estimate(qrels, **asked).values() for plan in plans), strict=True):
        check_same_answer(*pair)
    for second in plans[0].rankers[1:]:
        pair = {"first": second, "second": plans[0].rankers[0]}
        check_same_answer(*(plan.compare(qrels, **asked, **pair) for plan in plans))


def check_same_status(one: Status, other: Status) -> None:
    for name in ("value", "low", "high", "standard_error", "e_value", "spent", "budget", "everything"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12, nan_ok=True), name
    for name in ("judged", "drawn", "resolution", "resolved_at", "open", "left_out", "waiting", "n_judged"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize(
    ("rankers", "how"),
    [
        (2, QUERIES),
        (1, {"draws": 12, "budget": None}),
        (2, {"design": "passive", "measure": "ERR@10"}),
        (2, DOCUMENTS),
        (2, DOCUMENTS | {"measure": "RBP(p=0.8)"}),
        (2, DOCUMENTS | {"design": "spread"}),
        (2, DOCUMENTS | {"design": "poisson", "defensive": 2.0}),
        (2, DOCUMENTS | {"cost": UnitCost(per_query=2.0)}),
        (2, DOCUMENTS | {"budget": 1e6}),
        (1, DOCUMENTS),
        (3, DOCUMENTS | {"pairs": "mixed", "budget": 200.0}),
        (3, DOCUMENTS | OPENED | {"pairs": {("production", "candidate"): 1.0}}),
        (1, NESTED | {"cost": UnitCost(per_query=2.0)}),
        (2, NESTED),
        (2, NESTED | {"measure": "AP", "budget": 40.0}),
        (2, NESTED | {"budget": 1e6}),
        (3, NESTED | {"pairs": "mixed"}),
    ],
)
def test_draws_and_estimates_are_those_of_the_plan_in_memory(
    both: Any, demo: DemoCollection, rankers: int, how: dict[str, Any], tmp_path: Path
) -> None:
    plans = both(rankers, **how)
    check_same(*plans)
    for estimator in ("regression", "difference", "ht", *([] if plans[0].tables.rounds else ["snis"])):
        check_estimates(plans, demo.judge(plans[1].assessments), estimator)
    texts = [plan.export(tmp_path / f"{i}.csv", "csv").read_text() for i, plan in enumerate(plans)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("how", [QUERIES, DOCUMENTS], ids=["query", "document"])
def test_the_partitioning_leaves_no_trace(streamed: Any, about: dict[str, Any], how: dict[str, Any]) -> None:
    """Of 30 partitions of 20 queries some are empty."""
    topics = about["topics"].head(20)
    first, *others = (streamed(partitions=number, topics=topics, **how) for number in (1, 4, 30))
    for other in others:
        assert first.manifest == other.manifest
        for frame in ("assessments", "queries"):
            pd.testing.assert_frame_equal(getattr(first, frame), getattr(other, frame))


@pytest.mark.parametrize(
    ("order", "written"),
    [
        (lambda run: run.index, False),
        (lambda run: run.index[::-1][np.argsort(run["qid"].factorize()[0][::-1], kind="stable")], False),
        (lambda run: np.roll(run.index, (run["qid"] == run["qid"][0]).sum()), True),
        (lambda run: np.roll(run.index, 5), True),
        (lambda run: run.sample(frac=1.0, random_state=1).index, True),
    ],
    ids=["by score", "backwards in each query", "other order", "query in two places", "shuffled"],
)
def test_files_that_agree_in_the_order_of_queries_are_read_where_they_are(
    order: Any, written: bool, runs: Any, of_level: dict[str, Plan], grades: Any, about: Any, tmp_path: Path
) -> None:
    """The ends of the files cut queries; rows are written again only where those of one run come in another order."""
    for place, (name, run) in enumerate(list(runs.items())[:2]):
        run = run.reset_index(drop=True)
        for number, rows in enumerate(np.array_split(order(run) if place else run.index, 3)):
            run.loc[rows].to_parquet(tmp_path / f"{name}-{number}.parquet", index=False)
    found = scan(DEPTH, partitions=4, workers=1, **{name: str(tmp_path / f"{name}-*") for name in list(runs)[:2]})
    (tmp_path / "made").mkdir()
    partitioned(found.files, tmp_path / "made", 4)
    assert any((tmp_path / "made").iterdir()) == written
    for level, how in {"query": QUERIES, "document": DOCUMENTS}.items():
        check_same(found.plan(grades, **about | how), of_level[level])


def test_what_lies_together_in_a_table_is_read_once(
    runs: Any, of_level: dict[str, Plan], grades: Any, about: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve partitions lie in three or four parts of each table; the last one of a part ends in the next."""
    for name, rows in zip([*runs][:2], (2000, 1700), strict=True):
        runs[name].to_parquet(tmp_path / f"{name}.parquet", index=False, row_group_size=rows)
    found = scan(DEPTH, partitions=12, workers=1, **{name: tmp_path / f"{name}.parquet" for name in [*runs][:2]})
    parts = partitioned(found.files, tmp_path, 12).parts
    assert len(parts) < sum(map(len, parts)) == 12
    module, opened = sys.modules["pt_active.logs.files"], []
    blocks = module._blocks
    monkeypatch.setattr(module, "_blocks", lambda *about, **how: opened.append(about) or blocks(*about, **how))
    for part in parts:
        list(module.read_partitions(part, list(found.files)))
    assert len(opened) == 2 * len(parts)
    monkeypatch.setattr(module, "ROWS_OF_READ", 70)
    check_same(found.plan(grades, **about | DOCUMENTS), of_level["document"])


def test_a_folder_of_tables_is_a_run(
    runs: Any, of_level: dict[str, Plan], grades: Any, about: Any, tmp_path: Path
) -> None:
    """As Spark and Dask write them."""
    folders = {name: tmp_path / f"{name}.parquet" for name in list(runs)[:2]}
    folders["production"] = folders["production"].with_suffix("")
    for name, folder in folders.items():
        folder.mkdir()
        for number, rows in enumerate(np.array_split(runs[name].index, 2)):
            runs[name].loc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    found = scan(DEPTH, partitions=4, workers=1, **folders)
    check_same(found.plan(grades, **about | DOCUMENTS), of_level["document"])
    text = {"qid": "DELTA_BYTE_ARRAY", "docno": "DELTA_LENGTH_BYTE_ARRAY"}
    runs[name].to_parquet(folder / "part-0.parquet", index=False, use_dictionary=False, column_encoding=text)
    (folder / "part-1.parquet").unlink()
    check_same(found.plan(grades, **about | DOCUMENTS), of_level["document"])
    (folder / "part-2.parquet").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match="part-2.parquet"):
        found.plan(grades, **about)


def test_several_processes_and_blocks_change_nothing(
    streamed: Any, of_level: dict[str, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Takes seconds, since processes are started; the two passes share them here."""
    module = sys.modules["pt_active.logs.scan"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "_end_processes", lambda: None)
        check_same(streamed(workers=2, **DOCUMENTS), of_level["document"])
    module._end_processes()
    monkeypatch.setattr("pt_active.logs.pools.QUERIES_AT_ONCE", 7)
    monkeypatch.setattr("pt_active.logs.numbers._FEW", 1)
    check_same(streamed(**DOCUMENTS), of_level["document"])


@pytest.mark.parametrize(("rankers", "how"), [(2, {}), (3, {"pairs": "mixed"}), (2, {"budget": 2000.0})])
def test_blocks_of_numbers_give_what_all_at_once_give(
    streamed: Any, rankers: int, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the budget buys so much that a document may be certain, blocks are not tried."""
    module, found = sys.modules["pt_active.logs.documents"], []
    in_blocks = module.first_documents
    monkeypatch.setattr(module, "first_documents", lambda *about: found.append(in_blocks(*about)) or found[-1])
    with monkeypatch.context() as patch:
        patch.setattr("pt_active.logs.pools.QUERIES_AT_ONCE", 7)
        one = streamed(rankers, **DOCUMENTS | how)
    monkeypatch.setattr(module, "first_documents", lambda *about: None)
    other = streamed(rankers, **DOCUMENTS | how)
    assert (found[0] is None) == ("budget" in how)
    check_same(one, other)
    mine, its = (numbers_in(rest and asdict(rest)) for rest in (plan.tables.manifest.rest for plan in (one, other)))
    assert mine == pytest.approx(its, rel=1e-9, nan_ok=True)


def numbers_in(found: Any) -> list[float]:
    """All numbers in nested records, in order."""
    if isinstance(found, (dict, list, tuple)):
        return [
            number for each in (found.values() if isinstance(found, dict) else found) for number in numbers_in(each)
        ]
    return [np.nan if found is None else float(found)]


@pytest.mark.parametrize(
    ("rankers", "how"),
    [
        (1, QUERIES),
        (2, {"draws": 12, "budget": None}),
        (2, {"design": "passive", "measure": "ERR@10"}),
        *((rankers, DOCUMENTS | {"design": "successive"}) for rankers in (1, 2, 3)),
        *((rankers, NESTED) for rankers in (1, 2, 3)),
    ],
)
def test_looks_prove_what_the_plan_in_memory_proves(
    both: Any, demo: DemoCollection, rankers: int, how: dict[str, Any], tmp_path: Path
) -> None:
    """What all that could still come can show is that of the population."""
    plans = both(rankers, **how)
    qrels, names = demo.judge(plans[1].assessments), plans[1].rankers
    come = plans[1].assessments.sample(frac=1.0, random_state=4)[["qid", "docno"]]
    if how.get("design") == "depth":
        plans = Plan.load(plans[0].save(tmp_path / "plan").path), plans[1]
        parts = [plan.export(tmp_path / f"{i}.csv", "csv", order="drawn") for i, plan in enumerate(plans)]
        come = pd.read_csv(parts[1], dtype=str)[["qid", "docno"]]
        assert parts[0].read_text() == parts[1].read_text()
    elif how.get("level") != "document":
        order = plans[1].sample.sort_values("q_priority")["qid"]
        come = order.to_frame().merge(come)
    sides = [{"first": a, "second": b} for a, b in zip(names, (*names[1:], names[0]), strict=True)]
    for judged in (0, 1, 20, len(come) // 2, len(come)):
        some = come.head(judged).merge(qrels)
        for side in [{}] if rankers == 1 else sides:
            check_same_status(*(plan.status(some, margin=0.4, **side) for plan in plans))
    if rankers == 3 and how.get("design") != "depth":
        pd.testing.assert_frame_equal(*(plan.status(qrels).table() for plan in plans), rtol=1e-9)
    if rankers == 2:
        if how.get("design") != "depth":
            check_same_status(*(plan.follow().add(qrels.head(30)) for plan in plans))
        for looks in (None, "obrien-fleming" if how.get("design") == "depth" else "always"):
            one, other = (plan.gate(qrels, margin=0.5, looks=looks, queries="these").outcome for plan in plans)
            assert one == other


def test_an_error_that_the_model_expects_of_a_part_is_not_known_rather_than_too_small(
    both: Any, demo: DemoCollection
) -> None:
    """What the model expects of a part follows from all documents, which the plan does not keep."""
    plans = both(measure="P@5", budget=20.0, level="document", design="successive", queries=12, seed=7)
    qrels, errors = demo.judge(plans[1].assessments), []
    for judged in range(2, len(qrels), 2):
        errors.append([plan.status(qrels.head(judged)).standard_error for plan in plans])
    mine, its = np.array(errors).T
    assert np.isfinite(its).sum() > 5
    assert np.isnan(mine).any()
    np.testing.assert_allclose(mine[np.isfinite(mine)], its[np.isfinite(mine)])


@pytest.mark.parametrize(
    "how",
    [
        QUERIES,
        DOCUMENTS | {"cost": UnitCost(per_query=2.0)},
        DOCUMENTS | {"cost": UnitCost(per_query=0.5), "design": "poisson"},
    ],
)
def test_one_look_at_the_end(both: Any, demo: DemoCollection, how: dict[str, Any]) -> None:
    plans = both(**how)
    qrels = demo.judge(plans[1].assessments)
    for labels in (qrels, qrels.iloc[1:]):
        one, other = (plan.status(labels, looks=None, missing="error") for plan in plans)
        assert (one.judged, one.drawn, one.resolution) == (other.judged, other.drawn, other.resolution)
        assert one.value == pytest.approx(other.value, rel=1e-9, nan_ok=True)
        known = other.standard_error if np.isfinite(one.standard_error) else np.nan
        assert one.standard_error == pytest.approx(known, rel=1e-9, nan_ok=True)
        assert np.isfinite(one.standard_error) or labels is not qrels
        assert one.everything == pytest.approx(other.everything, rel=1e-9)
    if how["level"] == "document":
        for missing in ("nonrelevant", "expected"):
            asked = {"missing": missing, "reference": "effective"}
            check_same_answer(*(plan.compare(qrels.iloc[::2], **asked) for plan in plans))


@pytest.mark.parametrize(
    "how", [{}, {"cost": UnitCost(per_query=1.0)}, {"cost": UnitCost(per_query=30.0)}, {"draws": 12, "budget": None}]
)
def test_the_level_is_chosen_as_in_memory(both: Any, about: dict[str, Any], how: dict[str, Any]) -> None:
    """By the queries in the topics, here by every second one."""
    one, other = (plan.manifest for plan in both(**{"budget": 200.0, "topics": about["topics"].iloc[::2]} | how))
    assert one["arguments"] == other["arguments"]
    chosen, whole = (each.get("choice") or {} for each in (one, other))
    assert chosen.keys() == whole.keys()
    assert bool(chosen) == ("draws" not in how)
    for name, value in chosen.items():
        assert value == (pytest.approx(whole[name], rel=1e-9) if isinstance(value, float) else whole[name])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"measure": "ERR@10", "level": "document"}, "the documents of ERR@10 are drawn in memory only"),
        ({"design": "depth"}, "the documents of DCG@10 are not drawn by depth; leave out"),
        ({"measure": "AP", "design": "surprises"}, "the documents of AP are not drawn by surprises; leave out"),
        ({"draws": 5, "budget": None, "level": "document"}, "documents are drawn to a budget"),
        ({"budget": None}, "either budget= or draws="),
        ({"measure": "nDCG@10", "level": "query"}, "need Monte Carlo"),
    ],
)
def test_what_cannot_be_planned_out_of_core_is_refused(streamed: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        streamed(**how)


def test_a_cascade_is_planned_by_queries_unless_documents_are_asked_for(streamed: Any) -> None:
    assert streamed(measure="ERR@10", budget=300).manifest["arguments"]["level"] == "query"


@pytest.mark.parametrize("level", ["query", "document"])
def test_a_saved_plan_keeps_the_queries_of_what_is_judged_alone(
    of_level: dict[str, Plan], demo: DemoCollection, level: str, tmp_path: Path
) -> None:
    made = of_level[level]
    loaded = Plan.load(made.save(tmp_path / "plan").path)
    qrels = demo.judge(made.assessments)
    pd.testing.assert_frame_equal(loaded.compare(qrels).to_frame(), made.compare(qrels).to_frame())
    check_same_status(loaded.status(qrels.head(20)), made.status(qrels.head(20)))
    assert loaded.manifest == made.manifest
    kept, drawn = set(loaded.tables.pool.keys["qid"]), set(made.assessments["qid"])
    stand_ins, next_ones = (2 * len(made.rankers), 0) if level == "query" else (1, 2)
    assert drawn <= kept
    assert len(kept) <= len(drawn) + next_ones
    assert len(loaded.queries) == len(kept) + stand_ins
    assert loaded.queries["q_weight"].sum() == pytest.approx(1)
    assert loaded.manifest["counts"]["queries"] == len(demo.topics)


@pytest.mark.parametrize(
    ("levels", "ask", "cannot"),
    [
        ("query", lambda plan, _: plan.extend(50.0), "go on to the next; plan again with the sum of the budgets"),
        ("query", lambda plan, qrels: plan.status(qrels, looks="pocock"), "be looked at before everything is judged"),
        ("document", lambda plan, _: plan.extend(50.0), "go on; plan again from the same logs with a larger budget"),
        ("document", lambda plan, qrels: plan.so_far(qrels.iloc[1:]), "be cut to what is judged; its status says"),
        ("document", lambda plan, _: plan.plot(), "foresee errors"),
        ("both", lambda plan, qrels: plan.compare(qrels, measure="DCG@5"), "estimate DCG@5; plan for DCG@5"),
        ("both", lambda plan, qrels: plan.report("page.html", qrels), "fill a report"),
        ("both", lambda plan, qrels: plan.with_rankers(x=qrels.assign(score=1.0)), "take more rankers; plan again"),
    ],
)
def test_what_needs_what_is_not_kept_is_refused(
    of_level: dict[str, Plan], demo: DemoCollection, levels: str, ask: Any, cannot: str
) -> None:
    for made in of_level.values() if levels == "both" else [of_level[levels]]:
        with pytest.raises(ValueError, match="keeps only sums of") as error:
            ask(made, demo.judge(made.assessments))
        assert cannot in str(error.value)


def test_rankings_that_agree_leave_nothing_to_draw_and_a_model_without_variance_is_certain(tmp_path: Path) -> None:
    rows = [(f"q{x}", f"d{z}", -float(z)) for x in range(9) for z in range(4)]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    files = {"one": run, "other": run.assign(score=-run["score"])}
    for name, each in files.items():
        each.to_parquet(tmp_path / f"{name}.parquet")
    for names in ({"a": "one", "b": "one"}, {"a": "one", "b": "other"}):
        pool = Runs(**{name: files[file] for name, file in names.items()}) >> ColdGrades(1)
        found = scan(workers=1, **{name: tmp_path / f"{file}.parquet" for name, file in names.items()})
        made = found.plan(ColdGrades(1), None, "DCG@3", budget=6, level="document")
        topics = run[["qid"]].drop_duplicates()
        check_same(made, Plan.create(pool(topics), None, "DCG@3", budget=6, level="document"))


def test_three_rankers_a_singular_covariance_and_a_ranker_that_answers_few_queries(
    runs: dict[str, pd.DataFrame], demo: DemoCollection, grades: OrderedLogitGrades, tmp_path: Path
) -> None:
    first, second, _ = runs.values()
    some = {"a": first, "b": second, "same": first, "few": first[first["qid"].isin(demo.topics["qid"].head(4))]}
    for name, run in some.items():
        run.to_parquet(tmp_path / f"{name}.parquet")
    pool = (Runs(depth=DEPTH, allow_missing_queries=True, **some) >> grades)(demo.topics)
    whole = Plan.create(pool, None, "ERR@10", budget=BUDGET, level="query", seed=1)
    paths = {name: tmp_path / f"{name}.parquet" for name in some}
    found = scan(DEPTH, partitions=5, workers=1, allow_missing_queries=True, **paths)
    made = found.plan(grades, demo.topics, "ERR@10", budget=BUDGET, seed=1)
    check_same(made, whole)
    qrels = demo.judge(whole.assessments)
    ranked = [plan.rank(qrels, reference="effective").pairs() for plan in (made, whole)]
    pd.testing.assert_frame_equal(*ranked, rtol=1e-9, atol=1e-12)
    with pytest.raises(
        ValueError, match="cannot prove anything before everything is judged; ask at the end: looks=None"
    ):
        made.status(qrels)


def test_one_query_that_is_not_drawn_is_no_special_case(both: Any, demo: DemoCollection) -> None:
    plans = both(topics=demo.topics.head(12), draws=11, budget=None)
    qrels = demo.judge(plans[0].assessments)
    check_same_status(*(plan.status(qrels) for plan in plans))
    check_same_answer(*(plan.compare(qrels, reference="effective") for plan in plans))


# --- files ------------------------------------------------------------------------------------------------------------


def test_trec_runs_are_read_block_by_block(
    runs: dict[str, pd.DataFrame], of_level: Any, grades: Any, about: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", 5000)
    for name, run in runs.items():
        lines = [f"{r.qid} Q0 {r.docno}\t0  {r.score!r} {name}" for r in run.itertuples()]
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("\n".join([*lines, "", ""]).encode()))
    paths = {f"a/{name}": tmp_path / f"{name}.gz" for name in list(runs)[:2]}
    made = scan(DEPTH, workers=1, partitions=3, **paths).plan(grades, **about | QUERIES)
    pd.testing.assert_frame_equal(made.assessments, of_level["query"].assessments)


def lines_with(wrong: str) -> bytes:
    """50 lines of a run, of which the 38th is another one."""
    lines = [f"q{i} Q0 d{i} 0 1.5 new" for i in range(50)]
    return "\n".join([*lines[:37], wrong, *lines[38:]]).encode()


NOT_UTF8 = {
    "qid": ["1"],
    "docno": pd.array(pa.array([b"d\xff"]).view(pa.string()), dtype=pd.ArrowDtype(pa.string())),
    "score": [1.0],
}


def write(path: Path, content: object) -> Path:
    """A file of bytes or of a table, or an empty folder."""
    if content is None:
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    else:
        pd.DataFrame(content).to_parquet(path)
    return path


@pytest.mark.parametrize("block", [100, 1 << 20])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("new.parquet", {"qid": ["1"], "docno": ["d"]}, "it lacks 'score'"),
        ("new.parquet", {"qid": ["1"], "docno": ["d"], "score": ["high"]}, "1 score is not a finite number"),
        ("new.parquet", {"qid": ["1"], "docno": ["d"], "score": [True]}, "'score' must hold numbers, not bool"),
        (
            "new.parquet",
            {"qid": ["1"], "docno": ["d"], "score": [pd.Timedelta(1)]},
            "'score' must hold numbers, not dura",
        ),
        ("new.parquet", {"qid": ["1"], "docno": ["d"], "score": [np.nan]}, "1 score is not a finite number"),
        ("new.parquet", {"qid": ["1", None], "docno": ["d", "e"], "score": [1.0, 2.0]}, "1 row has no qid"),
        ("new.parquet", {"qid": [1.5, np.nan], "docno": ["d", "e"], "score": [1.0, 2.0]}, "1 row has no qid"),
        ("new.parquet", {"qid": [True], "docno": ["d"], "score": [1.0]}, "'qid' must hold text or numbers, not bool"),
        ("new.parquet", {"qid": ["1"], "docno": ["d"], "score": [None]}, "1 score is not a finite number"),
        ("new.parquet", NOT_UTF8, "new.parquet: this is not a Parquet table, or a damaged one: .*UTF8"),
        ("new.parquet", b"PAR1junk", "new.parquet: this is not a Parquet table"),
        ("new.parquet", b"", "new.parquet: this is not a Parquet table"),
        ("new.parquet", b"PAR1" + b"junk" * 100 + b"PAR1", "new.parquet: this is not a Parquet table"),
        ("new.parquet", None, "the folder is empty; expected Parquet tables"),
        ("new.run", None, "folder|directory"),
        ("new.run", lines_with("q37 Q0 d37 0 high new"), "line 38: .*'high', which is not a finite number"),
        ("new.run", lines_with("q37 Q0 d\0 0 1.5 new"), "new.run: line 38: a NUL character"),
        ("new.run", bz2.compress(lines_with(""))[:-9] + b"123456789", "new.run: the compressed data is damaged"),
    ],
)
def test_files_that_hold_no_run_are_refused(
    name: str, content: object, message: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", block)
    found = scan(new=write(tmp_path / name, content))
    with pytest.raises((ValueError, IsADirectoryError), match=f"(?i){message}"):
        found.plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize("kind", [str, "category", np.float64, np.float32], ids=str)
def test_numbers_as_ids_and_scores_as_text_are_read_as_in_memory(kind: Any, tmp_path: Path) -> None:
    ids = np.repeat(np.arange(3), 4)
    run = pd.DataFrame({"qid": ids, "docno": np.arange(12) + (ids > 1) / 2, "score": np.arange(12) / 4})
    run = run.astype({"score": str, "qid": np.float64 if kind is str else kind, "docno": np.float64})
    run.to_parquet(tmp_path / "run.parquet", index=False)
    plan = scan(run=tmp_path / "run.parquet").plan(ColdGrades(1), None, "P@2", budget=2, level="document")
    read = pd.read_parquet(tmp_path / "run.parquet").assign(score=run["score"].astype(float))
    topics = with_string_ids(read[["qid"]].drop_duplicates())
    whole = Plan.create(
        (Runs(run=with_string_ids(read)) >> ColdGrades(1))(topics), None, "P@2", budget=2, level="document"
    )
    check_same(plan, whole)


@pytest.mark.parametrize("content", [b"", b" \n\t\n"])
@pytest.mark.parametrize("suffix", [".run", ".gz"])
def test_an_empty_run_is_refused_as_in_memory(content: bytes, suffix: str, tmp_path: Path) -> None:
    file, other = write(tmp_path / f"new{suffix}", content), write(tmp_path / "old.run", b"q1 Q0 d1 0 1.5 old\n")
    with pytest.raises(ValueError, match="the file is empty") as in_memory:
        read_run(file)
    with pytest.raises(ValueError, match="the file is empty") as in_blocks:
        scan(new=file, old=other, allow_missing_queries=True).plan(pt.Transformer.identity(), None, "DCG@10", budget=5)
    assert str(in_blocks.value) == str(in_memory.value)


def test_an_empty_table_counts_as_long_as_another_of_its_run_has_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0]}, dtype=object)
    paths = [tmp_path / name for name in ("new-0.parquet", "new-1.parquet", "old.parquet")]
    for path, rows in zip(paths, (1, 0, 1), strict=True):
        frame.head(rows).to_parquet(path)
    found = scan(workers=1, new=str(tmp_path / "new-*.parquet"), old=paths[2])
    assert len(found.plan(ColdGrades(2), None, "DCG@10", draws=1).assessments) == 1
    with pytest.raises(ValueError, match="run 'new': its tables are empty"):
        scan(new=paths[1], old=paths[2], allow_missing_queries=True).plan(ColdGrades(2), None, "DCG@10", draws=1)


def test_runs_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one ranker"):
        scan()
    with pytest.raises(FileNotFoundError, match="run 'new': no file matches"):
        scan(new="nowhere/*.parquet")


def test_a_full_disk_is_one_error_and_leaves_nothing(files: dict[str, str], tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    found = scan(workers=1, partitions=2, folder=tmp_path, **files)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises((OSError, ValueError), match="File too large for temporary|is the disk full") as error:
            found.plan(ColdGrades(1), None, "DCG@10", budget=50, level="query")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(tmp_path) in str(error.value)
    assert list(tmp_path.iterdir()) == []


class _Killed(pt.Transformer):
    """A grade model for which no process but this one has the memory."""

    def __init__(self) -> None:
        super().__init__()
        self._here = os.getpid()

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        if os.getpid() != self._here:
            os.kill(os.getpid(), signal.SIGKILL)
        return ColdGrades(1)(inp)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_process_that_is_ended_for_lack_of_memory_is_one_error(files: dict[str, str], tmp_path: Path) -> None:
    """Takes seconds, since processes are started."""
    with pytest.raises(MemoryError, match="a process that worked on the runs was ended"):
        scan(workers=2, partitions=2, folder=tmp_path, **files).plan(_Killed(), None, "DCG@10", budget=50)
    assert list(tmp_path.iterdir()) == []
