"""A plan from runs in files is the plan that the same runs give in memory, however they are partitioned."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pt_active import OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import DemoCollection
from pt_active.frames.trec import read_run
from pt_active.logs import scan
from pt_active.plans.answers.status import Status
from pt_active.relevance.grades.models import ColdGrades

pytest.importorskip("polars")

BUDGET = 150.0


@pytest.fixture(scope="module")
def files(demo: DemoCollection, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The runs of the demo in three files each, with shuffled rows, so that queries are spread over the files."""
    folder = tmp_path_factory.mktemp("runs")
    for name, run in demo.runs.items():
        rows = run[["qid", "docno", "score"]].sample(frac=1.0, random_state=1)
        for number in range(3):
            rows.iloc[number::3].to_parquet(folder / f"{name}-{number}.parquet", index=False)
    return {name: str(folder / f"{name}-*.parquet") for name in demo.runs}


@pytest.fixture(scope="module")
def topics(demo: DemoCollection) -> pd.DataFrame:
    return demo.topics.assign(traffic=np.arange(len(demo.topics)) % 7 + 1.0)


@pytest.fixture(scope="module")
def in_memory(demo: DemoCollection, grades: OrderedLogitGrades, topics: pd.DataFrame) -> Plan:
    pool = Runs(**demo.runs, depth=15) >> grades
    return Plan.create(pool, topics, "DCG@10", budget=BUDGET, level="query", seed=3)


def check_same(one: Plan, other: Plan) -> None:
    """The same queries with the same probabilities in the same order, and the same documents to judge."""
    for frame in ("sample", "assessments"):
        own, its = getattr(one, frame), getattr(other, frame)
        pd.testing.assert_frame_equal(own[its.columns], its, check_dtype=False, rtol=1e-12)
    assert one.manifest["spent"] == pytest.approx(other.manifest["spent"], rel=1e-12)
    assert one.manifest["pool_cost"] == pytest.approx(other.manifest["pool_cost"], rel=1e-12)
    whole = one.manifest["counts"], other.manifest["counts"]
    assert whole[0] == whole[1]


@pytest.fixture(scope="module")
def of_two_workers(files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame) -> Plan:
    return scan(15, partitions=3, workers=2, **files).plan(
        grades, topics, "DCG@10", budget=BUDGET, seed=3, level="query"
    )


@pytest.mark.parametrize("partitions", [None, 2, 5, 17, 200])
def test_a_plan_from_files_is_the_plan_in_memory(
    files: dict[str, str],
    grades: OrderedLogitGrades,
    topics: pd.DataFrame,
    in_memory: Plan,
    of_two_workers: Plan,
    partitions: int | None,
) -> None:
    made = scan(15, partitions=partitions, workers=1, **files).plan(
        grades, topics, "DCG@10", budget=BUDGET, seed=3, level="query"
    )
    check_same(made, in_memory)
    assert made.id == of_two_workers.id


def labels(demo: DemoCollection, plan: Plan) -> pd.DataFrame:
    return demo.judge(plan.assessments)


@pytest.fixture(scope="module")
def made(files: dict[str, str], grades: OrderedLogitGrades, topics: pd.DataFrame) -> Plan:
    return scan(15, partitions=4, workers=1, **files).plan(
        grades, topics, "DCG@10", budget=BUDGET, seed=3, level="query"
    )


@pytest.mark.parametrize("estimator", ["regression", "snis", "ht", "difference"])
def test_estimates_are_those_of_the_plan_in_memory(
    demo: DemoCollection, made: Plan, in_memory: Plan, estimator: str
) -> None:
    """The rows that stand for the other queries have all that an estimator knows of these."""
    qrels = labels(demo, in_memory)
    one, other = (
        plan.compare(qrels, estimator=estimator, reference="effective").to_frame() for plan in (made, in_memory)
    )
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)
    for name, estimate in in_memory.estimate(qrels, estimator=estimator, reference="effective").items():
        own = made.estimate(qrels, estimator=estimator, reference="effective")[name]
        assert own.value == pytest.approx(estimate.value, rel=1e-9)
        assert own.standard_error == pytest.approx(estimate.standard_error, rel=1e-9)


def test_three_rankers_a_singular_covariance_and_a_ranker_that_answers_few_queries(
    demo: DemoCollection, grades: OrderedLogitGrades, tmp_path: Path
) -> None:
    runs = {name: run[["qid", "docno", "score"]] for name, run in demo.runs.items()}
    first = next(iter(runs))
    runs["same"] = runs[first]
    runs["few"] = runs[first][runs[first]["qid"].isin(demo.topics["qid"].head(4))]
    for name, run in runs.items():
        run.to_parquet(tmp_path / f"{name}.parquet")
    pool = (Runs(depth=15, allow_missing_queries=True, **runs) >> grades)(demo.topics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Plan.create(pool, None, "ERR@10", budget=BUDGET, level="query", seed=1)
        paths = {name: tmp_path / f"{name}.parquet" for name in runs}
        found = scan(15, partitions=40, workers=1, allow_missing_queries=True, **paths)
        streamed = found.plan(grades, demo.topics, "ERR@10", budget=BUDGET, seed=1)
        check_same(streamed, whole)
        qrels = labels(demo, whole)
        ranked = [plan.rank(qrels, reference="effective").pairs() for plan in (streamed, whole)]
        with pytest.raises(ValueError, match="cannot prove anything before all is judged; ask at the end: looks=None"):
            streamed.status(qrels)
    pd.testing.assert_frame_equal(*ranked, rtol=1e-9, atol=1e-12)


def test_a_saved_plan_is_small_and_the_same(demo: DemoCollection, made: Plan, tmp_path: Path) -> None:
    loaded = Plan.load(made.save(tmp_path / "plan").path)
    qrels = labels(demo, made)
    pd.testing.assert_frame_equal(loaded.compare(qrels).to_frame(), made.compare(qrels).to_frame())
    check_same_status(loaded.status(qrels), made.status(qrels))
    k = len(made.rankers)
    assert len(loaded.queries) == len(loaded.sample) + 2 * k
    assert set(loaded.tables.pool.keys["qid"]) == set(loaded.sample["qid"])
    assert loaded.manifest["counts"]["queries"] == len(demo.topics)


def test_judging_ends_with_a_status_and_a_gate(demo: DemoCollection, made: Plan, in_memory: Plan) -> None:
    qrels = labels(demo, made)
    one, other = (plan.status(qrels, looks=None) for plan in (made, in_memory))
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert (one.judged, one.drawn, one.winner) == (other.judged, other.drawn, other.winner)
    partly = made.status(qrels[qrels["qid"] != made.sample["qid"].iloc[0]], looks=None)
    assert partly.judged < partly.drawn
    for looks in (None, "always"):
        answers = [plan.gate(qrels, margin=0.5, looks=looks).outcome for plan in (made, in_memory)]
        assert answers[0] == answers[1]


@pytest.mark.parametrize("pair", [(0, None), (0, 1)])
@pytest.mark.parametrize("how", [{"budget": BUDGET}, {"draws": 12}, {"budget": BUDGET, "design": "passive"}])
def test_looks_at_any_time_prove_what_the_plan_in_memory_proves(
    files: dict[str, str],
    demo: DemoCollection,
    grades: OrderedLogitGrades,
    topics: pd.DataFrame,
    pair: tuple[int, int | None],
    how: dict[str, object],
) -> None:
    """The rows that stand for other queries have their sums, and the extremes of what they could show."""
    names = list(demo.runs)[: len(pair) - pair.count(None)]
    measured = "ERR@10" if how.get("design") else "DCG@10"
    runs = {name: demo.runs[name] for name in names}
    pool = Runs(**runs, depth=15) >> grades
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = Plan.create(pool, topics, measured, level="query", seed=3, **how)
        found = scan(15, partitions=4, workers=1, **{name: files[name] for name in runs})
        streamed = found.plan(grades, topics, measured, seed=3, level="query", **how)
        order, qrels = whole.sample.sort_values("q_priority")["qid"], labels(demo, whole)
        sides = [dict(zip(("first", "second"), names[::way], strict=True)) for way in (1, -1)] if pair[1] else [{}]
        for judged in (0, 1, 4, len(order)):
            some = qrels[qrels["qid"].isin(order.head(judged))]
            for side in sides:
                check_same_status(*(plan.status(some, margin=0.4, **side) for plan in (streamed, whole)))


def check_same_status(one: Status, other: Status) -> None:
    for name in ("value", "low", "high", "standard_error", "e_value", "spent", "budget", "everything"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, nan_ok=True), name
    for name in ("judged", "drawn", "resolution", "resolved_at", "open", "left_out", "waiting"):
        assert getattr(one, name) == getattr(other, name), name


def test_one_query_that_is_not_drawn_is_no_special_case(
    files: dict[str, str], demo: DemoCollection, grades: OrderedLogitGrades
) -> None:
    topics = demo.topics.head(12)
    plans = [
        scan(15, workers=1, **files).plan(grades, topics, "DCG@10", draws=11),
        Plan.create(Runs(**demo.runs, depth=15) >> grades, topics, "DCG@10", draws=11, level="query"),
    ]
    qrels = labels(demo, plans[0])
    check_same_status(*(plan.status(qrels) for plan in plans))
    one, other = (plan.compare(qrels, reference="effective").to_frame() for plan in plans)
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)


def test_the_order_and_the_worklist_are_those_of_the_plan_in_memory(
    made: Plan, in_memory: Plan, tmp_path: Path
) -> None:
    paths = [plan.export(tmp_path / f"{i}.csv", "csv") for i, plan in enumerate((made, in_memory))]
    assert paths[0].read_text() == paths[1].read_text()


@pytest.mark.parametrize(
    ("ask", "cannot"),
    [
        (lambda plan, qrels: plan.status(qrels, looks="pocock"), "be looked at before all is judged"),
        (lambda plan, qrels: plan.extend(50.0), "go on to the next; plan again with the sum of the budgets"),
        (lambda plan, qrels: plan.compare(qrels, measure="DCG@5"), "estimate DCG@5; plan for DCG@5"),
        (lambda plan, qrels: plan.report("page.html", qrels), "fill a report"),
        (lambda plan, qrels: plan.with_rankers(third=qrels.assign(score=1.0)), "take more rankers; plan again"),
    ],
)
def test_what_needs_the_other_queries_is_refused(demo: DemoCollection, made: Plan, ask: object, cannot: str) -> None:
    with pytest.raises(ValueError, match="keeps only sums of") as error:
        ask(made, labels(demo, made))  # type: ignore[operator]
    assert cannot in str(error.value)


def test_trec_runs_are_read_block_by_block(
    demo: DemoCollection,
    grades: OrderedLogitGrades,
    in_memory: Plan,
    topics: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pt_active.logs.files.BLOCK", 1000)
    for name, run in demo.runs.items():
        rows = run.assign(rank=0).itertuples()
        lines = [f"{r.qid} Q0 {r.docno}\t{r.rank}  {r.score!r} {name}" for r in rows]
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("\n".join([*lines, "", ""]).encode()))
    found = scan(15, workers=1, partitions=3, **{name: tmp_path / f"{name}.gz" for name in demo.runs})
    check_same(found.plan(grades, topics, "DCG@10", budget=BUDGET, seed=3, level="query"), in_memory)
    odd = scan(15, workers=1, **{f"a/{name}": tmp_path / f"{name}.gz" for name in demo.runs})
    made = odd.plan(grades, topics, "DCG@10", budget=BUDGET, seed=3, level="query")
    pd.testing.assert_frame_equal(made.assessments, in_memory.assessments, check_like=True)


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
