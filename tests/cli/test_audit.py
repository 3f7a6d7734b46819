"""The commands of an audit: every example in the help runs, and errors are one line."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active.cli.app import AUDIT, app

BOTH = ("--judge", "gpt=gpt.qrels", "--judge", "llama=llama.qrels")


def run(*words: object):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


def qrels(path: Path, frame: pd.DataFrame) -> None:
    frame.assign(zero=0)[["qid", "zero", "docno", "label"]].to_csv(path, sep=" ", header=False, index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges and people, 300 pairs, and an audit of them with its labels."""
    tmp_path, rng = tmp_path_factory.mktemp("audits"), np.random.default_rng(0)
    keys = pd.DataFrame({"qid": [f"q{i // 10}" for i in range(300)], "docno": [f"d{i}" for i in range(300)]})
    label = rng.integers(0, 4, 300)
    for name, wrong in (("people", 0.0), ("gpt", 0.2), ("llama", 0.5)):
        said = np.where(rng.random(300) < wrong, rng.integers(0, 4, 300), label)
        qrels(tmp_path / f"{name}.qrels", keys.assign(label=said))
    with contextlib.chdir(tmp_path):
        assert run("plan", *BOTH, "--budget", 150, "--out", "a").exit_code == 0
        assert run("export", "a", "--out", "label-me.csv").exit_code == 0
        filled("label-me.csv", "labelled.csv")
        labelled = pd.read_csv("labelled.csv")
        qrels(Path("few.qrels"), labelled.head(5))
        qrels(Path("zero.qrels"), labelled.assign(label=0))
        labelled.assign(label=5).to_csv("high.csv", index=False)
    return tmp_path


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def filled(worklist: str, out: str) -> None:
    """What people do with a worklist."""
    people = pd.read_csv("people.qrels", sep=" ", names=["qid", "zero", "docno", "label"])
    pd.read_csv(worklist).drop(columns="label").merge(people.drop(columns="zero")).to_csv(out, index=False)


def test_every_example_of_the_help_runs(folder: Path) -> None:
    (folder / "label-me.csv").unlink()
    for command, listed in AUDIT.items():
        result = run(*shlex.split(listed.example.replace("\\\n", " "))[2:])
        assert result.exit_code == 0, result.stderr
        if command == "export":
            filled("label-me.csv", "labelled.csv")


def test_an_audit_reads_votes(folder: Path) -> None:
    gpt = pd.read_csv(folder / "gpt.qrels", sep=" ", names=["qid", "zero", "docno", "label"])
    votes = np.eye(4, dtype=int)[gpt["label"]] * 5 + 1
    tied = gpt.index[gpt["label"] == 1]
    votes[tied, 2] = 6
    table = gpt[["qid", "docno"]].assign(**{f"votes_{grade}": votes[:, grade] for grade in range(4)})
    table.to_csv(folder / "gpt.tsv.gz", sep="\t", index=False)
    for name, file in (("labels", "gpt.qrels"), ("votes", "gpt.tsv.gz")):
        assert run("plan", "--judge", f"gpt={file}", "--budget", 150, "--out", name).exit_code == 0
    one, other = (pd.read_parquet(folder / name / "pairs.parquet") for name in ("labels", "votes"))
    assert one["prediction_gpt"].tolist() == other["prediction_gpt"].tolist()


def test_answers_are_json_with_every_number(folder: Path) -> None:
    said = json.loads(run("report", "a", "labelled.csv", "--json", "--rel", 2).stdout)
    assert said["kept"] == ["gpt"]
    assert set(said["estimates"]) == {"error", "precision", "recall", "f1", "kappa", "alpha"}
    low, value, high = (said["estimates"]["kappa"]["gpt"][name] for name in ("low", "value", "high"))
    assert low < value < high
    assert said["ranking"]["winner"] == "gpt"


def test_labels_may_be_qrels_or_records(folder: Path) -> None:
    assert run("plan", "--judge", "gpt=gpt.qrels", "--budget", 30, "--out", "b").exit_code == 0
    assert run("export", "b", "--out", "b.csv").exit_code == 0
    filled("b.csv", "labelled.csv")
    table = pd.read_csv("labelled.csv")
    qrels(folder / "labelled.qrels", table)
    record = {"annotator": "ann", "status": "judged", "time": "", "note": "", "plan": ""}
    table.assign(**record).to_json(folder / "labelled.jsonl", orient="records", lines=True)
    said = [run("report", "b", name).stdout for name in ("labelled.csv", "labelled.qrels", "labelled.jsonl")]
    assert said[0] == said[1] == said[2]


def test_a_plan_says_which_grades_it_has_room_for(folder: Path) -> None:
    words = ("plan", "--judge", "gpt=gpt.qrels", "--budget", 9)
    told = "  grades    0 to 3, the highest that the judge gives; if people may give more, pass --max-grade\n"
    assert told in run(*words, "--out", "b").stdout
    learned = run(*words, "--out", "c", "--train-qrels", "people.qrels").stdout
    assert "the judge gives, or that --train-qrels has; if" in learned
    assert "--max-grade" not in run(*words, "--out", "d", "--max-grade", 4).stdout
    assert "grade_4" in pd.read_parquet("d/pairs.parquet").columns


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan --judge gpt --budget 9 --out b", "gpt: No such file or directory"),
        ("plan --judge a=gpt.qrels --judge a=gpt.qrels --budget 9 --out b", "the name 'a' is taken"),
        ("plan --judge a=none.qrels --budget 9 --out b", "none.qrels: No such file or directory"),
        ("plan --judge a=gpt.qrels --budget 9 --max-grade 2 --out b", "'a' gives the grade 3, above the highest grade"),
        ("plan --judge a=gpt.qrels --budget 9 --out a", "a exists; choose another --out"),
        ("plan --budget 9 --out b", "Missing option '--judge'; see pt-active audit plan --help"),
        (
            "plan --judge a=zero.qrels --budget 9 --out b",
            "0 is the only grade that the judge gives: pass --max-grade N",
        ),
        ("report a high.csv", "not above the highest grade, 3"),
        ("report a none.csv", "none.csv: No such file or directory"),
        ("report a few.qrels", "judge them, or pass --missing nonrelevant"),
        ("report nowhere labelled.csv", "nowhere"),
        ("report a labelled.csv --rel 7", "--rel 7 is above the highest grade, 3"),
        ("export a --out b.csv --format rtf", "unknown --format 'rtf'"),
    ],
)
def test_errors_are_one_line(folder: Path, words: str, message: str) -> None:
    result = run(*words.split())
    assert message in result.stderr
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (folder / "b").exists()
