"""A plan from runs in files is the plan that the same runs give in memory, however they are partitioned."""

from __future__ import annotations

import gzip
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs, UnitCost
from pt_active.demo.collection import DemoCollection
from pt_active.frames.trec import read_run
from pt_active.logs import scan
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.answers.status import Status
from pt_active.relevance.grades.models import ColdGrades

pytest.importorskip("polars")

BUDGET, DEPTH = 150.0, 15

QUERIES, DOCUMENTS = {"level": "query"}, {"budget": 60.0, "level": "document"}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Small samples have cautions, of both plans alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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
def topics(demo: DemoCollection) -> pd.DataFrame:
    return demo.topics.assign(traffic=np.arange(len(demo.topics)) % 7 + 1.0)


@pytest.fixture(scope="module")
def streamed(files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame) -> Callable[..., Plan]:
    """The plan out of core of the first rankers."""

    def plan(rankers: int = 2, partitions: int = 4, workers: int = 1, **how: Any) -> Plan:
        found = scan(DEPTH, partitions=partitions, workers=workers, **dict(list(files.items())[:rankers]))
        about = {"topics": topics, "measure": "DCG@10", "seed": 3} | ({} if "draws" in how else {"budget": BUDGET})
        return found.plan(grades, **about | how)

    return plan


@pytest.fixture(scope="module")
def both(
    streamed: Callable[..., Plan], runs: dict[str, pd.DataFrame], grades: OrderedLogitGrades, topics: pd.DataFrame
) -> Callable[..., tuple[Plan, Plan]]:
    """The plan out of core, and the one in memory."""

    def plans(rankers: int = 2, **how: Any) -> tuple[Plan, Plan]:
        some = dict(list(runs.items())[:rankers])
        about = {"topics": topics, "measure": "DCG@10", "seed": 3} | ({} if "draws" in how else {"budget": BUDGET})
        pool = (Runs(**some, depth=DEPTH) >> grades)(pd.DataFrame({"qid": next(iter(some.values()))["qid"].unique()}))
        return streamed(rankers, **how), Plan.create(pool, **about | how)

    return plans


def check_same(one: Plan, other: Plan) -> None:
    """The same documents with the same probabilities, of the same population."""
    own, its = one.assessments, other.assessments
    pd.testing.assert_frame_equal(own[its.columns], its, check_dtype=False, rtol=1e-9)
    for name in ("spent", "pool_cost", "census"):
        assert one.manifest[name] == pytest.approx(other.manifest[name], rel=1e-9)
    for name in ("counts", "arguments", "rankers"):
        assert one.manifest[name] == other.manifest[name]
    rounds = [
        [{k: v for k, v in each.items() if v is not None} for each in p.manifest.get("rounds", ())]
        for p in (one, other)
    ]
    assert len(rounds[0]) == len(rounds[1])
    for mine, theirs in zip(*rounds, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)
    mine, theirs = (plan.sample.set_index("qid") for plan in (one, other))
    columns = [c for c in theirs.columns if c in mine.columns]
    pd.testing.assert_frame_equal(mine[columns], theirs[columns], check_dtype=False, rtol=1e-9)
    # Replays, which the plan in memory has, may add a caution.
    said = [[line for line in str(plan).splitlines() if "caution" not in line] for plan in (one, other)]
    assert said[0] == said[1]


def check_same_answer(one: Comparison | Estimate, other: Comparison | Estimate) -> None:
    """A plan from logs does not keep the values of queries, so its answer is for the pool's queries alone."""
    mine, its = one.to_frame(), other.to_frame()
    assert {name.partition("_")[0] for name in set(its) - set(mine)} <= {"queries", "these", "new"}
    pd.testing.assert_frame_equal(mine, its[mine.columns], rtol=1e-9)


def check_estimates(one: Plan, other: Plan, qrels: pd.DataFrame, estimator: str) -> None:
    """The rows that stand for what is not kept have all that an estimator knows of it."""
    asked = {"estimator": estimator, "reference": "effective"}
    for name, estimate in other.estimate(qrels, **asked).items():
        check_same_answer(one.estimate(qrels, **asked)[name], estimate)
    for second in other.rankers[1:]:
        pair = {"first": second, "second": other.rankers[0]}
        check_same_answer(*(plan.compare(qrels, **asked, **pair) for plan in (one, other)))


def check_same_status(one: Status, other: Status) -> None:
    for name in ("value", "low", "high", "standard_error", "e_value", "spent", "budget", "everything"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12, nan_ok=True), name
    for name in ("judged", "drawn", "resolution", "resolved_at", "open", "left_out", "waiting", "n_judged"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize(
    ("rankers", "how"),
    [
        (2, QUERIES),
        (1, {"draws": 12}),
        (2, {"design": "passive", "measure": "ERR@10"}),
        (2, DOCUMENTS),
        (2, DOCUMENTS | {"measure": "P(rel=2)@5"}),
        (2, DOCUMENTS | {"measure": "RBP(p=0.8)"}),
        (2, DOCUMENTS | {"design": "spread"}),
        (2, DOCUMENTS | {"design": "poisson", "defensive": 2.0}),
        (2, DOCUMENTS | {"cost": UnitCost(per_query=2.0)}),
        (2, DOCUMENTS | {"cost": UnitCost(per_query=0.5), "design": "successive"}),
        (2, DOCUMENTS | {"budget": 1e6}),
        (1, DOCUMENTS),
        (3, DOCUMENTS),
        (3, DOCUMENTS | {"pairs": "mixed", "budget": 200.0}),
    ],
)
def test_draws_and_estimates_are_those_of_the_plan_in_memory(
    both: Any, demo: DemoCollection, rankers: int, how: dict[str, Any], tmp_path: Path
) -> None:
    out_of_core, whole = both(rankers, **how)
    check_same(out_of_core, whole)
    estimators = "regression", "difference", "ht", *([] if how.get("level") == "document" else ["snis"])
    for estimator in estimators:
        check_estimates(out_of_core, whole, demo.judge(whole.assessments), estimator)
    texts = [plan.export(tmp_path / f"{i}.csv", "csv").read_text() for i, plan in enumerate((out_of_core, whole))]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("how", [QUERIES, DOCUMENTS])
@pytest.mark.parametrize("partitions", [1, 2, 5, 17, 200])
def test_the_partitioning_leaves_no_trace(streamed: Any, how: dict[str, Any], partitions: int) -> None:
    one, other = (streamed(partitions=number, **how) for number in (partitions, 3))
    assert one.manifest == other.manifest
    for frame in ("assessments", "queries"):
        pd.testing.assert_frame_equal(getattr(one, frame), getattr(other, frame))


def test_several_processes_and_blocks_change_nothing(streamed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = streamed(partitions=5, workers=2, **DOCUMENTS)
    monkeypatch.setattr("pt_active.logs.documents.QUERIES_AT_ONCE", 7)
    check_same(streamed(partitions=5, **DOCUMENTS), whole)


@pytest.mark.parametrize(
    ("rankers", "how"),
    [
        (1, QUERIES),
        (2, QUERIES),
        (2, {"draws": 12}),
        (2, {"design": "passive", "measure": "ERR@10"}),
        *((rankers, DOCUMENTS | {"design": "successive"}) for rankers in (1, 2, 3)),
    ],
)
def test_looks_prove_what_the_plan_in_memory_proves(
    both: Any, demo: DemoCollection, rankers: int, how: dict[str, Any]
) -> None:
    """What all that could still come can show is that of the population."""
    plans = both(rankers, **how)
    qrels, names = demo.judge(plans[1].assessments), plans[1].rankers
    come = plans[1].assessments.sample(frac=1.0, random_state=4)[["qid", "docno"]]
    if how.get("level") != "document":
        order = plans[1].sample.sort_values("q_priority")["qid"]
        come = order.to_frame().merge(come)
    sides = [{}] if rankers == 1 else [{"first": a, "second": b} for a in names for b in names if a != b]
    for judged in (0, 1, 20, len(come)):
        some = come.head(judged).merge(qrels)
        for side in sides:
            check_same_status(*(plan.status(some, margin=0.4, **side) for plan in plans))
    if rankers == 3:
        pd.testing.assert_frame_equal(*(plan.status(qrels).table() for plan in plans), rtol=1e-9)
    if rankers == 2:
        check_same_status(*(plan.follow().add(qrels.head(30)) for plan in plans))
        for looks in (None, "always"):
            one, other = (plan.gate(qrels, margin=0.5, looks=looks, queries="these").outcome for plan in plans)
            assert one == other


@pytest.mark.parametrize(
    "how",
    [
        QUERIES,
        DOCUMENTS,
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


@pytest.mark.parametrize("missing", ["nonrelevant", "expected"])
def test_missing_labels(both: Any, demo: DemoCollection, missing: str) -> None:
    plans = both(**DOCUMENTS)
    qrels = demo.judge(plans[1].assessments).iloc[::2]
    check_same_answer(*(plan.compare(qrels, missing=missing, reference="effective") for plan in plans))


@pytest.mark.parametrize(
    "how", [{}, {"cost": UnitCost(per_query=1.0)}, {"cost": UnitCost(per_query=30.0)}, {"draws": 12}]
)
def test_the_level_is_chosen_as_in_memory(both: Any, how: dict[str, Any]) -> None:
    one, other = (plan.manifest for plan in both(**({} if "draws" in how else {"budget": 300.0}) | how))
    assert one["arguments"] == other["arguments"]
    chosen, whole = (each.get("choice") or {} for each in (one, other))
    assert chosen.keys() == whole.keys()
    for name, value in chosen.items():
        assert value == (pytest.approx(whole[name], rel=1e-9) if isinstance(value, float) else whole[name])


def test_a_cascade_is_planned_by_queries_unless_documents_are_asked_for(streamed: Any) -> None:
    assert streamed(measure="ERR@10", budget=300).manifest["arguments"]["level"] == "query"
    for measure in ("ERR@10", "nDCG@10"):
        with pytest.raises(ValueError, match=f"the documents of {measure} are drawn in memory only"):
            streamed(measure=measure, level="document")
    with pytest.raises(ValueError, match="from the top in memory only"):
        streamed(design="depth")
    with pytest.raises(ValueError, match="documents are drawn to a budget"):
        streamed(draws=5, level="document")


@pytest.mark.parametrize("how", [QUERIES, DOCUMENTS])
def test_a_saved_plan_keeps_the_queries_of_what_is_judged_alone(
    streamed: Any, demo: DemoCollection, how: dict[str, Any], tmp_path: Path
) -> None:
    made = streamed(**how)
    loaded = Plan.load(made.save(tmp_path / "plan").path)
    qrels = demo.judge(made.assessments)
    pd.testing.assert_frame_equal(loaded.compare(qrels).to_frame(), made.compare(qrels).to_frame())
    check_same_status(loaded.status(qrels.head(20)), made.status(qrels.head(20)))
    assert loaded.manifest == made.manifest
    kept, drawn = set(loaded.tables.pool.keys["qid"]), set(made.assessments["qid"])
    stand_ins, next_ones = (2 * len(made.rankers), 0) if how is QUERIES else (1, 2)
    assert drawn <= kept
    assert len(kept) <= len(drawn) + next_ones
    assert len(loaded.queries) == len(kept) + stand_ins
    assert loaded.queries["q_weight"].sum() == pytest.approx(1)
    assert loaded.manifest["counts"]["queries"] == len(demo.topics)


@pytest.mark.parametrize(
    ("how", "ask", "cannot"),
    [
        (QUERIES, lambda plan, _: plan.extend(50.0), "go on to the next; plan again with the sum of the budgets"),
        (QUERIES, lambda plan, qrels: plan.status(qrels, looks="pocock"), "be looked at before all is judged"),
        (DOCUMENTS, lambda plan, _: plan.extend(50.0), "go on; plan again from the same logs with a larger budget"),
        (DOCUMENTS, lambda plan, qrels: plan.so_far(qrels.iloc[1:]), "be cut to what is judged; its status says"),
        (DOCUMENTS, lambda plan, _: plan.plot(), "foresee errors"),
        *(
            asked
            for how in (QUERIES, DOCUMENTS)
            for asked in (
                (how, lambda plan, qrels: plan.compare(qrels, measure="DCG@5"), "estimate DCG@5; plan for DCG@5"),
                (how, lambda plan, qrels: plan.report("page.html", qrels), "fill a report"),
                (
                    how,
                    lambda plan, qrels: plan.with_rankers(x=qrels.assign(score=1.0)),
                    "take more rankers; plan again",
                ),
            )
        ),
    ],
)
def test_what_needs_what_is_not_kept_is_refused(
    streamed: Any, demo: DemoCollection, how: dict[str, Any], ask: Any, cannot: str
) -> None:
    made = streamed(**how)
    with pytest.raises(ValueError, match="keeps only sums of") as error:
        ask(made, demo.judge(made.assessments))
    assert cannot in str(error.value)


def test_rankings_that_agree_leave_nothing_to_draw_and_a_model_without_variance_is_certain(tmp_path: Path) -> None:
    rows = [(f"q{x}", f"d{z}", -float(z)) for x in range(9) for z in range(4)]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    run.to_parquet(tmp_path / "one.parquet")
    run.assign(score=-run["score"]).to_parquet(tmp_path / "other.parquet")
    for names in ({"a": "one", "b": "one"}, {"a": "one", "b": "other"}):
        paths = {name: tmp_path / f"{file}.parquet" for name, file in names.items()}
        pool = (Runs(**{name: pd.read_parquet(path) for name, path in paths.items()}) >> ColdGrades(1))(
            run[["qid"]].drop_duplicates()
        )
        made = scan(workers=1, **paths).plan(ColdGrades(1), None, "DCG@3", budget=6, level="document")
        check_same(made, Plan.create(pool, None, "DCG@3", budget=6, level="document"))


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
    found = scan(DEPTH, partitions=40, workers=1, allow_missing_queries=True, **paths)
    made = found.plan(grades, demo.topics, "ERR@10", budget=BUDGET, seed=1)
    check_same(made, whole)
    qrels = demo.judge(whole.assessments)
    ranked = [plan.rank(qrels, reference="effective").pairs() for plan in (made, whole)]
    pd.testing.assert_frame_equal(*ranked, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="cannot prove anything before all is judged; ask at the end: looks=None"):
        made.status(qrels)


def test_one_query_that_is_not_drawn_is_no_special_case(both: Any, demo: DemoCollection) -> None:
    plans = both(topics=demo.topics.head(12), draws=11)
    qrels = demo.judge(plans[0].assessments)
    check_same_status(*(plan.status(qrels) for plan in plans))
    check_same_answer(*(plan.compare(qrels, reference="effective") for plan in plans))


def test_trec_runs_are_read_block_by_block(
    runs: dict[str, pd.DataFrame], streamed: Any, grades: Any, topics: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", 1000)
    for name, run in runs.items():
        lines = [f"{r.qid} Q0 {r.docno}\t0  {r.score!r} {name}" for r in run.itertuples()]
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("\n".join([*lines, "", ""]).encode()))
    for prefix in ("", "a/"):
        paths = {f"{prefix}{name}": tmp_path / f"{name}.gz" for name in list(runs)[:2]}
        made = scan(DEPTH, workers=1, partitions=3, **paths).plan(grades, topics, "DCG@10", budget=BUDGET, seed=3)
        pd.testing.assert_frame_equal(made.assessments, streamed().assessments)


def test_a_wrong_line_has_its_number(demo: DemoCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", 100)
    lines = [f"q{i} Q0 d{i} 0 1.5 new" for i in range(50)]
    lines[37] = "q37 Q0 d37 0 high new"
    (tmp_path / "new.run").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="line 38: .*'high', which is not a finite number"):
        scan(new=tmp_path / "new.run").plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_a_nul_character_has_the_line_of_the_file(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", block)
    lines = [f"q{i} Q0 d{i} 0 1.5 new" for i in range(50)]
    lines[37] = "q37 Q0 d\0 0 1.5 new"
    (tmp_path / "new.run").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="new.run: line 38: a NUL character"):
        scan(new=tmp_path / "new.run").plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"qid": ["1"], "docno": ["d"]}, "it lacks 'score'"),
        ({"qid": ["1"], "docno": ["d"], "score": ["high"]}, "the column 'score' must hold numbers"),
        ({"qid": ["1"], "docno": ["d"], "score": [np.nan]}, "1 score is not a finite number"),
        ({"qid": ["1", None], "docno": ["d", "e"], "score": [1.0, 2.0]}, "1 row has no qid"),
        ({"qid": [1.5], "docno": ["d"], "score": [1.0]}, "the column 'qid' must hold text or whole numbers"),
    ],
)
def test_malformed_files_are_refused(frame: dict[str, list[object]], message: str, tmp_path: Path) -> None:
    pd.DataFrame(frame).to_parquet(tmp_path / "new.parquet")
    with pytest.raises(ValueError, match=message):
        scan(new=tmp_path / "new.parquet").plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize("content", [b"PAR1junk", b"", b"PAR1" + b"junk" * 100 + b"PAR1"])
def test_damaged_tables_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "new.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="new.parquet: this is not a Parquet table"):
        scan(new=tmp_path / "new.parquet").plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize(
    ("name", "message"),
    [("new.parquet", "the folder is empty; expected Parquet tables"), ("new.run", "folder|directory")],
)
def test_an_empty_folder_is_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises((ValueError, IsADirectoryError), match=f"(?i){message}"):
        scan(new=tmp_path / name).plan(pt.Transformer.identity(), None, "DCG@10", budget=5)


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\t\n"])
@pytest.mark.parametrize("suffix", [".run", ".gz"])
def test_an_empty_run_is_refused_as_in_memory(content: bytes, suffix: str, tmp_path: Path) -> None:
    file, other = tmp_path / f"new{suffix}", tmp_path / "old.run"
    file.write_bytes(gzip.compress(content) if suffix == ".gz" else content)
    other.write_text("q1 Q0 d1 0 1.5 old\n")
    with pytest.raises(ValueError, match="the file is empty") as in_memory:
        read_run(file)
    with pytest.raises(ValueError, match="the file is empty") as in_blocks:
        scan(new=file, old=other, allow_missing_queries=True).plan(pt.Transformer.identity(), None, "DCG@10", budget=5)
    assert str(in_blocks.value) == str(in_memory.value)


def test_an_empty_table_counts_as_long_as_another_of_its_run_has_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0]})
    frame.to_parquet(tmp_path / "new-0.parquet")
    frame.head(0).to_parquet(tmp_path / "new-1.parquet")
    frame.to_parquet(tmp_path / "old.parquet")
    found = scan(workers=1, new=str(tmp_path / "new-*.parquet"), old=tmp_path / "old.parquet")
    assert len(found.plan(ColdGrades(2), None, "DCG@10", draws=1).assessments) == 1
    with pytest.raises(ValueError, match="run 'new': its tables are empty"):
        scan(new=tmp_path / "new-1.parquet", old=tmp_path / "old.parquet", allow_missing_queries=True).plan(
            ColdGrades(2), None, "DCG@10", draws=1
        )


def test_wrong_arguments_are_refused(files: dict[str, str], grades: OrderedLogitGrades) -> None:
    with pytest.raises(ValueError, match="at least one ranker"):
        scan()
    with pytest.raises(FileNotFoundError, match="run 'new': no file matches"):
        scan(new="nowhere/*.parquet")
    with pytest.raises(ValueError, match="either budget= or draws="):
        scan(**files).plan(grades, None, "DCG@10")
    with pytest.raises(ValueError, match="need Monte Carlo"):
        scan(workers=1, **files).plan(grades, None, "nDCG@10", budget=BUDGET)


def test_a_ranker_that_leaves_queries_unanswered_is_refused(
    demo: DemoCollection, grades: OrderedLogitGrades, tmp_path: Path
) -> None:
    for name, run in demo.runs.items():
        run.iloc[: 100 if name == next(iter(demo.runs)) else None].to_parquet(tmp_path / f"{name}.parquet")
    found = scan(workers=1, partitions=30, **{name: tmp_path / f"{name}.parquet" for name in demo.runs})
    with pytest.raises(ValueError, match="has no documents for .* allow_missing_queries=True"):
        found.plan(grades, demo.topics, "DCG@10", budget=BUDGET)


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
@pytest.mark.parametrize("in_partitioning", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_process_that_is_ended_for_lack_of_memory_is_one_error(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_partitioning: bool
) -> None:
    """Takes seconds, since processes are started."""
    module = sys.modules["pt_active.logs.scan"]
    if in_partitioning:
        monkeypatch.setattr(module, "LARGE", 0)
        monkeypatch.setattr(module, "partitioned", lambda *_: os.abort())
    with pytest.raises(MemoryError, match="a process that worked on the runs was ended"):
        scan(workers=2, partitions=2, folder=tmp_path, **files).plan(_Killed(), None, "DCG@10", budget=50)
    assert list(tmp_path.iterdir()) == []
