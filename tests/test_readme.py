"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from pt_active import Comparison
from pt_active.demo import DemoCollection

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(heading: str) -> str:
    return re.search(rf"^## {heading}\n+```\w+\n(.*?)```", README, re.DOTALL | re.MULTILINE).group(1)


def test_two_commands_set_everything_up() -> None:
    for heading, last in (("Try it", "pt-active demo"), ("Test it", "-m pytest")):
        (line,) = block(heading).splitlines()
        assert line.startswith("(python3 -m venv .venv")
        assert line.endswith(last)


def test_python(demo: DemoCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planning, evaluation = block("In PyTerrier").split("result = ")
    names = {
        "old_run": demo.past_run,
        "old_qrels": demo.past_qrels,
        "topics": demo.topics,
        "bm25": demo.runs["production"],
        "neural": demo.runs["candidate"],
    }
    exec(planning.replace("budget=2000", "budget=1000"), names)
    names["qrels"] = demo.judge(names["plan"].assessments)
    exec("result = " + evaluation.replace("import pyterrier", ""), names)
    assert isinstance(names["result"], Comparison)
    assert (tmp_path / "judge-me.csv").is_file()


def trec(frame: pd.DataFrame, columns: list[object], path: Path) -> None:
    pd.DataFrame({i: frame[c] if c in frame.columns else c for i, c in enumerate(columns)}).to_csv(
        path, sep=" ", header=False, index=False
    )


def test_files(demo: DemoCollection, tmp_path: Path) -> None:
    for name, run in (("a.run.gz", demo.runs["production"]), ("b.run.gz", demo.runs["candidate"])):
        trec(run, ["qid", "Q0", "docno", "rank", "score", "tag"], tmp_path / name)
    trec(demo.past_run, ["qid", "Q0", "docno", "rank", "score", "tag"], tmp_path / "old.run")
    trec(demo.past_qrels, ["qid", "0", "docno", "label"], tmp_path / "old.qrels")
    demo.topics.to_csv(tmp_path / "topics.tsv", sep="\t", header=False, index=False)
    commands = block("On files").replace("\\\n", " ").replace("--budget 2000", "--budget 1000").splitlines()
    for command in commands:
        if "judged.csv" in command:
            sheet = pd.read_csv(tmp_path / "judge-me.csv").drop(columns="label")
            sheet.merge(demo.judge(sheet), on=["qid", "docno"]).to_csv(tmp_path / "judged.csv", index=False)
        arguments = [sys.executable, "-m", "pt_active", *shlex.split(command)[1:]]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "winner" in done.stdout
