"""Small files that stand for something quadratic or endless: little is done with them.

Work is counted and not timed: the elements that built-in searches look at.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.frames.tables import json_value
from pt_active.frames.topics import read_topics
from pt_active.judging.files import read_file


@pytest.fixture
def counted() -> Iterator[list[int]]:
    """The numbers of elements or characters over which each call of a built-in ``count`` may go."""
    seen: list[int] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ == "count":
            seen.append(len(function.__self__))

    sys.setprofile(note)
    yield seen
    sys.setprofile(None)


def test_a_doubled_key_at_the_end_is_found_at_once(counted: list[int]) -> None:
    text = "{" + ", ".join(f'"k{min(i, 1999)}": 0' for i in range(2001)) + "}"
    with pytest.raises(ValueError, match="the key 'k1999' more than once"):
        json_value(text)
    assert sum(counted) < 10 * len(text)


def test_each_line_of_a_topics_file_is_counted_once(tmp_path: Path, counted: list[int]) -> None:
    topics = "".join(f"<top>\n<num> Number: {i}\n<title> lamp {i}\n</top>\n" for i in range(1, 500))
    (tmp_path / "a.trec").write_text(topics)
    assert len(read_topics(tmp_path / "a.trec")) == 499
    assert sum(counted) < 10 * len(topics)


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    whole, large = tmp_path / "whole.xlsx", tmp_path / "large.xlsx"
    pd.DataFrame({"qid": ["q"], "docno": ["d"], "label": ["1"]}).to_excel(whole, index=False)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(large, "w") as new:
        parts = {name: old.read(name).replace(b'ref="A1:C2"', b'ref="A1:XFD1048576"') for name in old.namelist()}
        for name, content in parts.items():
            new.writestr(name, content)
    assert any(b"XFD1048576" in content for content in parts.values())
    assert len(read_file(large)) == 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device without an end")
def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="/dev/zero.*a device, which has no end"):
        read_topics("/dev/zero")


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path, digits: int) -> None:
    project = tmp_path / "job.toml"
    project.write_text(f'measure = "DCG@5"\nbudget = {"9" * digits}\n')
    result = CliRunner().invoke(app, ["plan", "--project", str(project), "--out", str(tmp_path / "new")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
