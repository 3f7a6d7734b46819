"""Every table and picture of the docs has a command that exists, and pages show what the CSV files hold."""

import argparse
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "pt_active" / "pt_docs"
FOLDER = DOCS / "evidence"
TABLES = sorted(path.stem for path in FOLDER.glob("*.csv") if path.stem != "pictures")
PICTURES = pd.read_csv(FOLDER / "pictures.csv", keep_default_na=False)


class Parsed(Exception):
    """A script has read its command line."""


@pytest.fixture
def takes(script, monkeypatch):
    """Checks that the script of a command exists and takes its arguments: the script."""

    def read(command):
        interpreter, path, *words = shlex.split(command)
        if Path(path).stem == "llm_judges":
            pytest.importorskip("ppi_py")
        assert (interpreter, Path(path).parent) == ("python", Path("examples/reproduce"))
        assert (ROOT / path).exists(), command
        found, parse = script(Path(path).stem), argparse.ArgumentParser.parse_args

        def parsed(parser, *_):
            parse(parser, words)
            raise Parsed

        monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
        with pytest.raises(Parsed):
            found.main()
        return found

    return read


@pytest.mark.parametrize("name", TABLES)
def test_the_command_of_a_table_is_one_that_its_script_takes(name, takes, script):
    header, table = script("evidence").read(FOLDER / f"{name}.csv")
    assert list(header)[:4] == ["command", "seed", "replications", "made"]
    assert set(header) <= {"command", "seed", "replications", "made", "late", "note"}
    assert re.match(r"\d{4}-\d\d-\d\d\b", header["made"])
    assert len(table) > 1
    made = takes(header["command"])
    assert f'"{name}"' in Path(str(made.__file__)).read_text("utf-8"), "the script does not name the table"


@pytest.mark.parametrize(("picture", "command"), PICTURES[["picture", "command"]].to_numpy())
def test_the_command_of_a_picture_is_one_that_its_script_takes(picture, command, takes):
    assert (DOCS / picture).is_file()
    takes(command)


def test_every_picture_has_a_command():
    """But for pictures of screens, which show no measurement."""
    screens = {"judge.png", "judge-phone.png", "judge-organiser.png"}
    assert {*PICTURES["picture"], *screens} == {path.name for path in DOCS.glob("*.png")}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.stem)
def test_a_page_shows_what_the_files_hold(page, script):
    text = page.read_text("utf-8")
    assert script("pages").rendered(text) == text, "python examples/reproduce/pages.py puts the tables into the pages"


def test_the_simulator_holds_the_numbers_of_its_tables(script):
    pages = script("pages")
    text = pages.SIMULATOR.read_text("utf-8")
    assert pages.embedded(text) == text, "python examples/reproduce/pages.py puts the tables into the page"
