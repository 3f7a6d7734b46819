"""An audit of judges on the command line: `plan --audit`, `export` and `status`."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from small_collection import data, run, worked_on

BOTH = ("--judge", "gpt=gpt.qrels", "--judge", "llama=llama.qrels")


def qrels(path, frame):
    columns = frame.assign(zero=0)[["qid", "zero", "docno", "label"]]
    columns.to_csv(path, sep=" ", header=False, index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two judges and people, 300 pairs, and an audit of them with its labels."""
    folder, rng = tmp_path_factory.mktemp("audits"), np.random.default_rng(0)
    keys = pd.DataFrame({"qid": [f"q{i // 10}" for i in range(300)], "docno": [f"d{i}" for i in range(300)]})
    label = rng.integers(0, 4, 300)
    for name, wrong in (("people", 0.0), ("gpt", 0.2), ("llama", 0.5)):
        said = np.where(rng.random(300) < wrong, rng.integers(0, 4, 300), label)
        qrels(folder / f"{name}.qrels", keys.assign(label=said))
    with contextlib.chdir(folder):
        run("plan", "--audit", *BOTH, "--budget", 150, "--out", "a")
        run("export", "a", "--out", "label-me.csv", "--format", "csv")
        filled("label-me.csv", "labelled.csv")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    return worked_on(made, tmp_path, monkeypatch)


def filled(worklist, out):
    """What people do with a worklist."""
    people = pd.read_csv("people.qrels", sep=" ", names=["qid", "zero", "docno", "label"])
    pd.read_csv(worklist).drop(columns="label").merge(people.drop(columns="zero")).to_csv(out, index=False)


def test_an_audit_reads_votes(folder):
    gpt = pd.read_csv("gpt.qrels", sep=" ", names=["qid", "zero", "docno", "label"])
    votes = np.eye(4, dtype=int)[gpt["label"]] * 5 + 1
    tied = gpt.index[gpt["label"] == 1]
    votes[tied, 2] = 6
    table = gpt[["qid", "docno"]].assign(**{f"votes_{grade}": votes[:, grade] for grade in range(4)})
    table.to_csv("gpt.tsv.gz", sep="\t", index=False)
    said = []
    for name, file in (("labels", "gpt.qrels"), ("votes", "gpt.tsv.gz")):
        run("plan", "--audit", "--judge", f"gpt={file}", "--budget", 150, "--out", name)
        said.append(pd.read_parquet(folder / name / "pairs.parquet")["prediction_gpt"].tolist())
    assert said[0] == said[1]


def test_labels_of_every_kind_of_file_give_the_same_numbers(folder):
    said = data("status", "a", "labelled.csv", "--rel", 2)
    assert said["kept"] == ["gpt"]
    assert set(said["estimates"]) == {"error", "precision", "recall", "f1", "kappa", "alpha"}
    low, value, high = (said["estimates"]["kappa"]["gpt"][name] for name in ("low", "value", "high"))
    assert low < value < high
    assert said["ranking"]["winner"] == "gpt"
    table = pd.read_csv("labelled.csv")
    qrels("labelled.qrels", table)
    record = {"annotator": "ann", "status": "judged", "time": "", "note": "", "plan": ""}
    table.assign(**record).to_json("labelled.jsonl", orient="records", lines=True)
    for name in ("labelled.qrels", "labelled.jsonl"):
        assert data("status", "a", name, "--rel", 2) == said


def test_a_plan_says_which_grades_it_has_room_for(folder):
    words = ("plan", "--audit", "--judge", "gpt=gpt.qrels", "--budget", 9)
    told = "  grades    0 to 3, the highest that the judge gives; if people may give more, pass --max-grade\n"
    assert told in run(*words, "--out", "b")
    learned = run(*words, "--out", "c", "--train-qrels", "people.qrels")
    assert "the judge gives, or that --train-qrels has; if" in learned
    assert "--max-grade" not in run(*words, "--out", "d", "--max-grade", 4)
    assert "grade_4" in pd.read_parquet("d/pairs.parquet").columns
