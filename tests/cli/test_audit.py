"""An audit of judges on the command line: `plan --audit`, `export` and `status`."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from small_collection import data, run, worked_on

QRELS = ["qid", "zero", "docno", "label"]
AUDIT = ("plan", "--audit", "--budget", 150, "--judge")


def write(path, frame):
    frame.assign(zero=0)[QRELS].to_csv(path, sep=" ", header=False, index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two judges and people, 300 pairs, and an audit of them with its labels."""
    folder, rng = tmp_path_factory.mktemp("audits"), np.random.default_rng(0)
    keys = pd.DataFrame({"qid": [f"q{i // 10}" for i in range(300)], "docno": [f"d{i}" for i in range(300)]})
    people = keys.assign(label=rng.integers(0, 4, 300))
    write(folder / "people.qrels", people)
    for name, wrong in (("gpt", 0.2), ("llama", 0.5)):
        said = np.where(rng.random(300) < wrong, rng.integers(0, 4, 300), people["label"])
        write(folder / f"{name}.qrels", keys.assign(label=said))
    with contextlib.chdir(folder):
        run(*AUDIT, "gpt=gpt.qrels", "--judge", "llama=llama.qrels", "--out", "a")
        assert run("export", "a", "--out", "a.csv", "--format", "csv").endswith("pt-active status a a.csv\n")
        pd.read_csv("a.csv").drop(columns="label").merge(people).to_csv("labelled.csv", index=False)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    return worked_on(made, tmp_path, monkeypatch)


def test_votes_are_read_as_labels(folder):
    gpt = pd.read_csv("gpt.qrels", sep=" ", names=QRELS)
    votes = np.eye(4, dtype=int)[gpt["label"]] * 5 + 1
    votes[gpt.index[gpt["label"] == 1], 2] = 6  # a tie
    table = gpt[["qid", "docno"]].assign(**{f"votes_{grade}": votes[:, grade] for grade in range(4)})
    table.to_csv("gpt.tsv.gz", sep="\t", index=False)
    for name, file in (("labels", "gpt.qrels"), ("votes", "gpt.tsv.gz")):
        run(*AUDIT, f"gpt={file}", "--out", name)
    one, other = (pd.read_parquet(f"{name}/pairs.parquet")["prediction_gpt"] for name in ("labels", "votes"))
    assert one.tolist() == other.tolist()


def test_labels_of_every_kind_of_file_give_the_same_numbers(folder):
    said = data("status", "a", "labelled.csv", "--rel", 2)
    assert said["kept"] == ["gpt"]
    assert set(said["estimates"]) == {"error", "precision", "recall", "f1", "kappa", "alpha"}
    low, value, high = (said["estimates"]["kappa"]["gpt"][name] for name in ("low", "value", "high"))
    assert low < value < high
    assert said["ranking"]["winner"] == "gpt"
    table = pd.read_csv("labelled.csv")
    write("labelled.qrels", table)
    record = {"annotator": "ann", "status": "judged", "time": "", "note": "", "plan": ""}
    table.assign(**record).to_json("labelled.jsonl", orient="records", lines=True)
    for name in ("labelled.qrels", "labelled.jsonl"):
        assert data("status", "a", name, "--rel", 2) == said


def test_a_plan_says_which_grades_it_has_room_for(folder):
    words = (*AUDIT, "gpt=gpt.qrels", "--out")
    told = "  grades    0 to 3, the highest that the judge gives; if people may give more, pass --max-grade\n"
    assert told in run(*words, "b")
    assert "the judge gives, or that --train-qrels has; if" in run(*words, "c", "--train-qrels", "people.qrels")
    assert "--max-grade" not in run(*words, "d", "--max-grade", 4)
    assert "grade_4" in pd.read_parquet("d/pairs.parquet").columns
