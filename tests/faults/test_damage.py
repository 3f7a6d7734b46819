"""A damaged artifact is refused in one line that names the table, and no number changes in silence.

By hand, with many more bits: ``python tests/faults flips`` and ``old-flips``.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from faults import as_of_old, flip, flip_store
from kept_things import DOCUMENTS, answers, artifacts, kept_store, known_answers, pool, qrels

from pt_active import Plan
from pt_active.risk import Audit, ZeroOne

NAMES = tuple(artifacts())

OPTIONAL = ("query", "text", "label", "judge", "q_cov", "q_priority", "priority", "rate")
"""Columns without which an artifact still says the same, or that older formats lack."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("saved")
    return {name: Path(str(made.save(folder / name).path)) for name, (made, _) in artifacts().items()}


read_parquet = pd.read_parquet


@lru_cache(maxsize=100)
def _table(content: bytes) -> pd.DataFrame:
    return read_parquet(io.BytesIO(content))


@pytest.fixture(autouse=True)
def undamaged_tables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of copies of an artifact have one table each that is damaged; the same bytes are the same table."""

    def read(source: io.BytesIO | Path) -> pd.DataFrame:
        return _table(source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()).copy()

    monkeypatch.setattr(pd, "read_parquet", read)


@pytest.fixture
def old(saved: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an artifact without its digests, as older versions saved it."""

    def copied(name: str) -> Path:
        return as_of_old(Path(shutil.copytree(saved[name], tmp_path / name, dirs_exist_ok=True)))

    return copied


def refusal(name: str, folder: Path) -> str:
    """What an artifact is refused with."""
    with pytest.raises(ValueError, match="is damaged: ") as error:
        type(artifacts()[name][0]).load(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_no_flipped_bit_changes_a_number_in_silence(saved: dict[str, Path], name: str) -> None:
    rng = random.Random(3)
    trials = [flip(name, saved[name], rng) for _ in range(30)]
    assert [broken for _, broken in trials if broken] == []
    assert sum(outcome == "refused" for outcome, _ in trials) > 15


def test_no_flipped_bit_changes_a_judgment_in_silence(tmp_path: Path) -> None:
    store = kept_store(tmp_path / "s.sqlite")
    outcomes = [flip_store(store, tmp_path / "flipped.sqlite", random.Random(seed)) for seed in range(100)]
    assert set(outcomes) == {"refused", "equal"}
    assert outcomes.count("refused") > 20
    store = kept_store(tmp_path / "killed.sqlite", killed=True)
    outcomes = [flip_store(store, tmp_path / "flipped.sqlite", random.Random(seed)) for seed in range(60)]
    assert set(outcomes) <= {"refused", "equal", "told"}
    assert outcomes.count("told") > 20


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_named_with_what_to_do(saved: dict[str, Path], tmp_path: Path, name: str) -> None:
    for file in sorted(saved[name].glob("*.parquet")):
        folder = Path(shutil.copytree(saved[name], tmp_path / file.stem))
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        (folder / file.name).write_bytes(content)
        said = refusal(name, folder)
        assert f"{file.name} is not as it was saved" in said
        assert "restore the folder from a copy, or make the" in said
        (folder / file.name).unlink()
        assert f"{file.name} cannot be read" in refusal(name, folder)


@pytest.mark.parametrize("change", [lambda values: values | {"census": True}, lambda values: values | {"spent": 0.5}])
def test_a_changed_manifest_is_refused(saved: dict[str, Path], tmp_path: Path, change: Callable) -> None:
    folder = Path(shutil.copytree(saved["plan"], tmp_path / "plan"))
    values = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(change(values)))
    assert "manifest.json is not as it was saved" in refusal("plan", folder)
    (folder / "manifest.json").write_text(json.dumps(values))
    assert answers(Plan.load(folder), artifacts()["plan"][1]) == known_answers("plan")


# --- artifacts of older versions, which have no digests ---------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_artifacts_without_digests_answer_as_before(old: Callable[[str], Path], name: str) -> None:
    made, labels = artifacts()[name]
    assert answers(type(made).load(old(name)), labels) == known_answers(name)


@pytest.mark.parametrize("level", ["query", "document"])
@pytest.mark.parametrize("budget", [20, 60, 10_000])
@pytest.mark.parametrize("change", ["as made", "extended", "cut", "later ranker", "replaced", "skewed"])
def test_whatever_can_be_made_can_be_read(tmp_path: Path, level: str, budget: int, change: str) -> None:
    """Also without digests, so that no rule for tables is stricter than what the package itself writes."""
    frame, keywords = pool().drop(columns=["label", "judge"]), {}
    if change == "replaced" and level == "query":
        keywords["replace"] = True
    if change == "skewed":
        frame["traffic"] = np.where(frame["qid"] < "q03", 1e6, frame["qid"].str[1:].astype(int) % 2)
    plan = Plan.create(frame, None, "DCG@4", budget=budget, level=level, seed=2, **keywords)
    labels = plan.assessments[["qid", "docno"]].merge(qrels(), on=["qid", "docno"])
    if change == "extended" and budget < 10_000:
        plan = plan.extend(15, labels)
    elif change == "cut":
        order = plan.queries.sort_values("q_priority").qid if level == "query" else None
        plan = plan.so_far(labels[labels.qid == order.iloc[0]] if level == "query" else labels)
    elif change == "later ranker":
        plan = plan.with_rankers(c=frame.assign(score=-frame["rank_b"] % 3)[["qid", "docno", "score"]])
    plan.save(tmp_path / "plan")
    for folder in (tmp_path / "plan", as_of_old(Path(shutil.copytree(tmp_path / "plan", tmp_path / "old")))):
        read = Plan.load(folder)
        pd.testing.assert_frame_equal(read.queries, plan.queries)
        assert str(read) == str(plan)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        *((design, words) for design in ("optimal", "passive") for words in ({"budget": 30}, {"budget": 10_000})),
        ("optimal", {"draws": 40, "replace": True}),
        ("passive", {"draws": 40, "replace": True}),
        ("stratified", {"draws": 40}),
    ],
)
def test_whatever_audit_can_be_made_can_be_read(tmp_path: Path, design: str, words: dict) -> None:
    audit = Audit.create(pool(), {"judge": "judge"}, ZeroOne(), design=design, seed=5, **words)
    pd.testing.assert_frame_equal(Audit.load(as_of_old(audit.save(tmp_path / "audit").path)).pairs, audit.pairs)


DAMAGES: dict[str, Callable[[pd.DataFrame, str], pd.DataFrame]] = {
    "missing": lambda table, column: table.drop(columns=column),
    "text": lambda table, column: table.assign(**{column: "x"}),
    "lists": lambda table, column: table.assign(**{column: [[1]] * len(table)}),
}


@pytest.mark.parametrize("name", NAMES)
def test_columns_that_are_missing_or_of_another_type(old: Callable[[str], Path], name: str) -> None:
    folder = old(name)
    for file in sorted(folder.glob("*.parquet")):
        content, table = file.read_bytes(), pd.read_parquet(file)
        # How many rankers an active test has is not counted anywhere else.
        uncounted = ("rank_a", "rank_b") if name == "test" else ()
        for column in table.columns.difference([*OPTIONAL, *uncounted]):
            for damage, change in DAMAGES.items():
                change(table, column).to_parquet(file, index=False)
                print(damage, column)  # shown if it is not refused
                assert file.name in refusal(name, folder)
        file.write_bytes(content)


@pytest.mark.parametrize("name", NAMES)
def test_tables_that_are_short_long_or_empty(old: Callable[[str], Path], name: str) -> None:
    folder = old(name)
    for file in sorted(folder.glob("*.parquet")):
        content, table = file.read_bytes(), pd.read_parquet(file)
        some = table
        if file.stem == "rounds":  # of the others there is no count
            some = table[table["drawn"]]
        elif file.stem == "pool":
            some = table[table["qid"] == "q05"]
        for rows in (table.drop(some.index[:DOCUMENTS]), table[:0], pd.concat([table, table[-1:]])):
            print(file.name, len(rows))  # shown if it is not refused
            rows.to_parquet(file, index=False)
            assert ".parquet" in refusal(name, folder)
        for bad in (b"", content[: len(content) // 2], b"PAR1" + bytes(100) + b"PAR1"):
            file.write_bytes(bad)
            assert f"{file.name} cannot be read" in refusal(name, folder)
        file.write_bytes(content)


def _set(column: str, value: object, row: int = 0) -> Callable[[pd.DataFrame], None]:
    def change(table: pd.DataFrame) -> None:
        table.loc[table.index[row], column] = value

    return change


def _scaled(column: str, factor: float) -> Callable[[pd.DataFrame], None]:
    def change(table: pd.DataFrame) -> None:
        table[column] *= factor

    return change


def _same_rank(table: pd.DataFrame) -> None:
    table.loc[1, "rank_a"] = table.loc[0, "rank_a"]


def _other_names(table: pd.DataFrame) -> None:
    table.columns = table.columns.str.replace("rank_a", "rank_x")


def _undrawn(column: str, value: object) -> Callable[[pd.DataFrame], None]:
    def change(table: pd.DataFrame) -> None:
        table.loc[table.index[table["q_draws"] == 0][0], column] = value

    return change


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("plan", "queries", _scaled("q_inclusion", 0.5), "'q_importance' must agree with q_inclusion and q_weight"),
        ("plan", "queries", _scaled("q_importance", 2), "'q_importance' must agree with q_inclusion and q_weight"),
        ("plan", "queries", _scaled("q_inclusion", 20), "'q_inclusion' must be in (0, 1]"),
        ("plan", "queries", _scaled("q_inclusion", -1), "'q_inclusion' must be in (0, 1]"),
        ("plan", "queries", _scaled("q_inclusion", 0), "'q_inclusion' must be in (0, 1]"),
        ("plan", "queries", _scaled("q_inclusion", np.nan), "'q_inclusion' must be in (0, 1]"),
        ("plan", "queries", _undrawn("q_inclusion", 0.5), "where drawn, and empty elsewhere"),
        ("plan", "queries", _scaled("q_weight", 0.5), "'q_weight' must sum to 1, and sums to 0.5"),
        ("plan", "queries", _scaled("q_weight", 1.0001), "'q_weight' must sum to 1, and sums to 1.0001"),
        ("plan", "queries", _set("q_weight", -0.1), "'q_weight' must be finite and at least 0"),
        ("plan", "queries", _set("q_weight", np.inf), "'q_weight' must be finite and at least 0"),
        ("plan", "queries", _scaled("q_prob", 0.5), "'q_prob' must sum to 1"),
        ("plan", "queries", _set("q_cost", 0.0), "'q_cost' must be finite and more than 0"),
        ("plan", "queries", _set("q_draws", -1), "'q_draws' must hold whole numbers from 0"),
        ("plan", "queries", _set("q_draws", 0.5), "'q_draws' must hold whole numbers from 0"),
        ("plan", "queries", _scaled("q_priority", -1), "'q_priority' must be positive"),
        ("plan", "queries", _set("qid", "q01"), "('q01',) more than once"),
        ("plan-replaced", "queries", _scaled("q_importance", 2), "'q_importance' must agree"),
        ("plan", "documents", _set("grade_0", -5.0), "grade probabilities must not be negative"),
        ("plan", "documents", _scaled("grade_1", 2), "grade probabilities must sum to 1"),
        ("plan", "documents", _same_rank, "has more than one document at rank"),
        ("plan", "documents", _set("rank_a", -2), "'rank_a' must hold whole numbers from -1"),
        ("plan", "documents", _other_names, "has the rankers 'x', 'b', and manifest.json 'a', 'b'"),
        ("plan", "documents", _set("doc_cost", -1.0), "'doc_cost' must be at least 0, or empty"),
        ("plan", "documents", _set("docno", "d1"), "more than once"),
        ("plan", "documents", _set("docno", None), "'docno' must hold text, without gaps"),
        ("plan", "documents", _set("qid", "q23"), "'qid' must be in the order of queries.parquet"),
        ("plan", "documents", _set("qid", "zz"), "'qid' must be in queries.parquet"),
        ("plan", "assessments", _set("docno", "zz"), "'docno' must be documents that were drawn"),
        ("plan", "assessments", _set("inclusion", 0.5), "'inclusion' must be what its draw had"),
        ("plan-documents", "rounds", _scaled("inclusion", 0.5), "'inclusion' must be what its draw had"),
        ("plan-documents", "rounds", _set("inclusion", 1.5), "'inclusion' must be in [0, 1]"),
        ("plan-documents", "rounds", _set("document", 1000), "'document' must be a row of documents.parquet"),
        ("plan-documents", "rounds", _set("priority", np.nan), "'priority' must be at least 0"),
        ("plan-documents", "rounds", _set("rate", -1.0), "'rate' must be finite and at least 0"),
        ("plan-documents", "round_queries", _scaled("opening", 0.5), "'inclusion' must be what its draw had"),
        ("plan-documents", "round_queries", _set("round", 2), "'round' must count the rounds"),
        ("plan-rounds", "grades_2", _set("grade_0", 2.0), "grade probabilities must sum to 1"),
        ("audit", "pairs", _scaled("inclusion", 0.5), "'importance' must agree with the probabilities of the draws"),
        ("audit", "pairs", _scaled("prob", 0.5), "'prob' must sum to 1"),
        ("audit", "pairs", _set("prediction_judge", 7.0), "'prediction_judge' must be grades from 0 to 2"),
        ("audit", "pairs", _set("grade_0", -5.0), "grade probabilities must not be negative"),
        ("audit", "assessments", _set("inclusion", 0.001), "'inclusion' must be what its draw had"),
        ("test", "drawn", _set("probability", 1.5), "'probability' must be in (0, 1]"),
        ("test", "drawn", _set("step", 9), "'step' must be at most 2"),
        ("test", "steps", _set("size", -1.0), "'size' must be finite and more than 0"),
        ("test", "pool", _set("grade_0", -5.0), "grade probabilities must not be negative"),
        ("test", "pool", _same_rank, "has more than one document at rank"),
    ],
)
def test_impossible_numbers(
    old: Callable[[str], Path], name: str, file: str, change: Callable[[pd.DataFrame], None], message: str
) -> None:
    folder = old(name)
    table = pd.read_parquet(folder / f"{file}.parquet").astype({"q_draws": float} if file == "queries" else {})
    change(table)
    table.to_parquet(folder / f"{file}.parquet", index=False)
    assert message in refusal(name, folder)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("plan", "spent", "40", "manifest.json: spent cannot be '40'"),
        ("plan", "spent", -1.0, "manifest.json: 'spent' must be at least 0"),
        ("plan", "census", 1, "manifest.json: census cannot be 1"),
        ("plan", "census", True, "queries that were left to chance, and manifest.json none (census)"),
        ("plan-rounds", "census", True, "a census needs a round that leaves nothing to chance"),
        ("plan", "rankers", ["b", "a"], "has the rankers 'a', 'b', and manifest.json 'b', 'a'"),
        ("plan", "arguments", {"measure": 3}, "manifest.json: measure cannot be 3"),
        ("plan-rounds", "rounds", {}, "manifest.json: rounds cannot be {}"),
        ("audit", "arguments", [1], "manifest.json lacks design"),
        ("audit", "counts", None, "manifest.json lacks assessments, draws, pairs, queries"),
        ("audit", "spent", "12", "manifest.json: spent cannot be '12'"),
        ("audit", "loss", {"loss": "Nope"}, "Nope"),
        ("audit", "predictors", [], ""),
        ("audit", "predictors", ["zz"], "prediction_zz"),
        ("test", "rounds", [], ""),
        ("test", "arguments", {"measure": "Nope@1", "seed": 0}, "Nope"),
    ],
)
def test_impossible_manifests(old: Callable[[str], Path], name: str, key: str, value: object, message: str) -> None:
    folder = old(name)
    file = folder / "manifest.json"
    values = json.loads(file.read_text())
    values[key] = values[key] | value if isinstance(value, dict) and isinstance(values[key], dict) else value
    file.write_text(json.dumps(values))
    assert message in refusal(name, folder)
