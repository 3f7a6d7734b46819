"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from pt_active import Comparison, Status
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
    *planning, following, fixed, whole = block("In PyTerrier").split("\n\n")
    names = {
        "old_run": demo.past_run,
        "old_qrels": demo.past_qrels,
        "topics": demo.topics,
        "bm25": demo.runs["production"],
        "neural": demo.runs["candidate"],
    }
    exec("\n".join(planning).replace("budget=2000", "budget=1000"), names)
    worklist = pd.read_csv(tmp_path / "judge-me.csv", dtype=str)[["qid", "docno"]]
    names["qrels_so_far"] = demo.judge(worklist.head(300))
    exec(following, names)
    assert isinstance(names["status"], Status)
    assert (names["status"].n_judged, names["status"].left_out) == (300, 0)
    assert (tmp_path / "release-7.html").is_file()
    for part, level in ((fixed, "document"), (whole, "query")):
        planned, results = part.replace("budget=2000", "budget=1000").split("\n", 1)
        exec(planned, names)
        assert names["plan"].manifest["arguments"]["level"] == level
        names["qrels"] = demo.judge(names["plan"].assessments)
        exec(results, names)
    assert isinstance(names["result"], Comparison)
