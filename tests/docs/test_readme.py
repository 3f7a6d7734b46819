"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pt_active import Comparison
from pt_active.demo.collection import DemoCollection

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


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
    names["qrels"] = names["qrels_so_far"] = demo.judge(names["plan"].assessments)
    exec("result = " + evaluation.replace("import pyterrier", ""), names)
    assert isinstance(names["result"], Comparison)
    assert (tmp_path / "judge-me.csv").is_file()
