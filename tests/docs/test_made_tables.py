"""Every table and figure of the docs has a script, and none is out of date without being listed as such."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "pt_active" / "pt_docs"

PICTURES = {"demo.png", "judge.png", "judge-phone.png", "judge-organiser.png"}
"""Pictures of screens, which show no measurement."""


@pytest.fixture
def tables(script: Callable[[str], ModuleType]) -> ModuleType:
    """The module that keeps the list."""
    return script("made_tables")


def test_no_table_is_out_of_date_without_being_listed_as_such(tables: ModuleType) -> None:
    stale = [f"{made.key} ({made.script})" for made in tables.out_of_date()]
    assert not stale, (
        f"made by code that has changed since: {', '.join(stale)}. Make them again, or say with "
        "examples/reproduce/made_tables.py --keep or --late why they stand"
    )


def test_the_list_has_every_table_and_figure(tables: ModuleType) -> None:
    _, listed = tables.read()
    shown = {
        f"{page.name} {name}"
        for page in DOCS.glob("*.md")
        for name in re.findall(r"<!-- (.+): begin -->", page.read_text(encoding="utf-8"))
    } | {picture.name for picture in DOCS.glob("*.png")}
    assert {made.key for made in listed} == shown - PICTURES


def test_every_page_names_the_script_of_its_tables(tables: ModuleType) -> None:
    _, listed = tables.read()
    for made in listed:
        assert (ROOT / "examples" / "reproduce" / made.script).exists(), made.script
        page = (DOCS / made.page).read_text(encoding="utf-8")
        assert made.script in page or "SCRIPT.py" in page, f"{made.page} does not name {made.script}"


def test_only_what_computes_counts(tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PACKAGE", tmp_path)
    made = tables.Made("page.md", "a table", "script.py", ["group"])

    def digest(code: str) -> str:
        (tmp_path / "module.py").write_text(code, encoding="utf-8")
        return str(tables.digest(made, {"group": ["module.py"]}))

    first = digest('import numpy\ndef half(x: int) -> float:\n    """Half of x."""\n    return x / 2\n')
    assert digest("def half(x):\n    # a comment\n    return x / 2\n") == first
    assert digest("def half(x):\n    return x / 3\n") != first
