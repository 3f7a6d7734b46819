"""``pt-active gate``: exit codes, files for pipelines, and messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from click.testing import Result
from typer.testing import CliRunner

from pt_active import DCG, Plan
from pt_active.cli.app import app
from pt_active.demo.collection import DemoCollection


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, graded: pd.DataFrame, demo: DemoCollection) -> Path:
    """A plan in which the candidate is better by .72, with all its labels and with the first few of them."""
    folder = tmp_path_factory.mktemp("gate")
    plan = Plan.create(graded, None, DCG @ 10, budget=700, level="document", seed=2).save(folder / "plan")
    listed = pd.read_csv(plan.export(folder / "worklist.csv", format="csv"), dtype=str)[["qid", "docno"]]
    labels = listed.merge(demo.judge(graded))
    labels.to_csv(folder / "all.csv", index=False)
    labels.head(60).to_csv(folder / "few.csv", index=False)
    return folder


@pytest.fixture
def gate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(folder)
    new, old = ("--first", "candidate", "--second", "production"), ("--first", "production", "--second", "candidate")

    def run(labels: str, *words: str, better: bool = True) -> Result:
        asked = ["gate", "plan", labels, "--queries", "these"]
        return CliRunner().invoke(app, [*asked, *words, *(new if better else old)])

    return run


@pytest.mark.parametrize(
    ("labels", "words", "better", "code", "outcome"),
    [
        ("all.csv", ("--better",), True, 0, "pass"),
        ("all.csv", ("--margin", "0.1"), False, 1, "fail"),
        ("all.csv", ("--better",), False, 1, "fail"),
        ("few.csv", ("--margin", "0.01"), True, 3, "unresolved"),
        ("few.csv", ("--margin", "0.01", "--looks", "end"), True, 3, "unresolved"),
    ],
)
def test_the_exit_code_is_the_outcome(
    gate: Callable[..., Result], labels: str, words: tuple[str, ...], better: bool, code: int, outcome: str
) -> None:
    found = gate(labels, *words, "--json", better=better)
    assert found.exit_code == code, found.output
    assert json.loads(found.stdout)["outcome"] == outcome


@pytest.mark.parametrize("looks", [(), ("--looks", "end")])
def test_qrels_with_holes_assume_the_worst(gate: Callable[..., Result], folder: Path, looks: tuple[str, ...]) -> None:
    labels = pd.read_csv(folder / "few.csv", dtype=str).assign(zero="0")
    labels["label"] = labels["label"].mask(labels.index.isin([3, 30]), "-1")
    columns = labels[["qid", "zero", "docno", "label"]]
    columns.to_csv(folder / "few.qrels", sep=" ", header=False, index=False)
    told = gate("few.qrels", "--margin", "0.01", *looks)
    assert told.exit_code == 3
    assert "(no label)" in told.stdout
    assert "nonrelevant" not in told.stdout


def test_an_undecided_gate_says_what_to_do(gate: Callable[..., Result]) -> None:
    found = gate("few.csv", "--margin", "0.3")
    assert found.exit_code == 3
    assert re.search(r"keep judging, from document d\d+ of query q\d+: about \d+ more labels", found.stdout)
    assert "pt-active export plan" in found.stdout
    assert "pt-active" not in gate("few.csv", "--margin", "0.3", "--quiet").stdout


@pytest.mark.parametrize(
    ("labels", "words", "code", "kind"),
    [
        ("all.csv", ("--margin", "0.2"), 0, None),
        ("all.csv", ("--better", "--margin", "2"), 1, "failure"),
        ("few.csv", ("--better",), 3, "error"),
    ],
)
def test_pipelines_get_one_case(gate, tmp_path, labels, words, code, kind) -> None:
    path = tmp_path / "gate.xml"
    path.write_text("of an earlier run")
    found = gate(labels, *words, "--junit", str(path))
    assert found.exit_code == code
    assert found.stdout.startswith("DCG@10: is candidate ")
    suite = ElementTree.parse(path).getroot()
    (case,) = suite
    assert (suite.tag, suite.get("tests"), case.get("classname")) == ("testsuite", "1", "DCG@10")
    assert [suite.get(name) for name in ("failures", "errors")] == [str(int(kind == k)) for k in ("failure", "error")]
    assert [each.tag for each in case] == [kind or "system-out"]
    assert "candidate" in (case[0].text or "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--margin is needed: by how much may the candidate be worse?"),
        (("--margin", "-1"), "--margin must be a number from 0, got -1"),
        (("--margin", "0.1", "--looks", "daily"), "unknown --looks 'daily'; it is one of always, obrien-fleming, end"),
        (("--margin", "0.1", "--junit", "nowhere/gate.xml"), "nowhere"),
    ],
)
def test_bad_input_is_one_line(gate: Callable[..., Result], words: tuple[str, ...], message: str) -> None:
    found = gate("all.csv", *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_plan_that_comes_in_parts_is_looked_at_after_each(
    folder: Path, graded: pd.DataFrame, demo: DemoCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    few = graded[graded["qid"].isin(graded["qid"].unique()[:40])]
    plan = Plan.create(few, None, "nDCG@10", budget=150, seed=1).save("drawn-at-once")
    plan.assessments[["qid", "docno"]].merge(demo.judge(graded)).to_csv("at-once.csv", index=False)
    asked = ["drawn-at-once", "at-once.csv"]
    status = CliRunner().invoke(app, ["status", *asked])
    assert status.exit_code == 0, status.output
    assert "judged      5 of 5 parts" in status.stdout
    assert "valid after each fifth of the plan (obrien-fleming)" in status.stdout
    assert CliRunner().invoke(app, ["gate", *asked, "--queries", "these", "--margin", "0.5"]).exit_code == 0
    early = CliRunner().invoke(app, ["status", *asked, "--looks", "always"])
    assert "once all are judged, use --looks end" in early.stderr
    more = re.search(r"pt-active (plan --extend .*)", status.stdout)
    if more is not None:
        assert CliRunner().invoke(app, more[1].split()).exit_code == 0
