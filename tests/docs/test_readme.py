"""What the README tells people to type works as it stands there."""

import re
from functools import partial
from pathlib import Path

import pandas as pd

from pt_active import Plan, Status
from pt_active.demo import collection

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def block(heading: str) -> str:
    return re.search(rf"^## {heading}\n+```\w+\n(.*?)```", README, re.DOTALL | re.MULTILINE).group(1)


def test_two_commands_set_everything_up():
    for heading, last in (("Try it", "pt-active demo"), ("Test it", "-m pytest")):
        (line,) = block(heading).splitlines()
        assert line.startswith("(python3 -m venv .venv")
        assert line.endswith(last)
    assert "pip install --quiet -e '.[judge]' " in block("Try it")  # `pt-active judge` stands below it


def test_python_runs_as_printed(tmp_path, monkeypatch):
    """In an empty namespace, as in a new notebook; with fewer queries, which is quicker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collection, "demo_collection", partial(collection.demo_collection, queries=300))
    names: dict[str, object] = {}
    exec(block("In PyTerrier"), names)
    assert isinstance(names["plan"], Plan)
    assert isinstance(names["status"], Status)
    assert names["status"].n_judged + names["status"].left_out == 900
    assert names["status"].left_out < names["status"].n_judged
    assert (tmp_path / "release-7.html").is_file()
    assert pd.read_csv(tmp_path / "judge-me.csv")["text"].notna().all()
