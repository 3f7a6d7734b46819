"""Commands and their options: help, names of options in messages, shells, and processes."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys

import pytest
import typer
from small_collection import QUERIES, complaint, data, fill, invoke, qrels_lines, run, write

from pt_active.cli.app import AUDIT, COMMANDS, app, main
from pt_active.demo.run import METHODS

GROUP = typer.main.get_command(app)

PATHS = [*((name,) for name in COMMANDS), *(("audit", name) for name in AUDIT)]


def loaded(path):
    command = GROUP
    for name in path:
        command = command.loaded(name)
    return command


@pytest.mark.parametrize("path", PATHS, ids="-".join)
def test_what_is_listed_is_there_and_its_help_is_short(path):
    command = loaded(path)
    assert command.help.split("Example:")[1].split()[: len(path) + 1] == ["pt-active", *path]
    said = run(*path, "--help")
    assert f"pt-active {' '.join(path)} " in said.split("Example:")[1]
    assert "--json" in said
    assert not re.search(r"<(bool|path|str|list)\b", said)
    assert all(each.opts[0] in said for each in command.params if each.opts[0].startswith("--"))


def test_help_is_printed_where_the_width_is_not_known(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["pt-active", "status", "--help"])
    said = []
    for width in ("80", "0", "", "00"):
        monkeypatch.setenv("COLUMNS", width)
        with pytest.raises(SystemExit, match="0"):
            main()
        said.append(capsys.readouterr().out)
    assert "pt-active status" in said[0]
    assert set(said) == {said[0]}


def test_the_command_line_is_no_larger_than_it_has_to_be():
    assert len(COMMANDS) <= 12
    every = [each.name for path in PATHS for each in loaded(path).params] + [each.name for each in GROUP.params]
    assert len([name for name in every if name != "help"]) <= 138


def test_the_examples_of_the_help_run(files, monkeypatch):
    """Each with files of the names that it has, in the order in which they are used; some need more than files."""
    examples = {name: listed.example for name, listed in COMMANDS.items()}
    for old, new in {"a.run.gz": "a.run", "past.run": "old.run", "past.qrels.gz": "old.qrels"}.items():
        opened = gzip.open if old.endswith(".gz") else open
        with opened(old, "rt", encoding="utf-8") as stream:
            write(files / new, stream.read())
    write(files / "judged.qrels", qrels_lines(QUERIES))
    monkeypatch.setattr("pt_active.cli.judging._serve", lambda site, where: None)

    def example(name):
        return run(*shlex.split(examples.pop(name).replace("\\\n", " "))[1:])

    example("init")
    (files / "pt-active.toml").unlink()
    for name in ("budget", "plan", "export", "judge"):
        example(name)
    fill("judge-me.csv")
    for copy in ("judged.csv", "judged-so-far.csv"):
        (files / copy).write_text((files / "judge-me.csv").read_text())
    for name in ("status", "report"):
        example(name)
    gate = invoke(*shlex.split(examples.pop("gate"))[1:])
    assert gate.exit_code in (0, 1, 3), gate.output
    examples["simulate"] += " --repetitions 5 --depth 6"
    example("simulate")
    assert set(examples) == {"import", "demo", "sample-queries"}


EACH_TYPED = """
import sys
from pt_active.__main__ import main
for words in (["--help"], [], ["audit"], ["nonsense"]):
    sys.argv = ["pt-active", *words]
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code, [m for m in ("pandas", "pyterrier", "scipy") if m in sys.modules])
"""


def test_a_process_helps_without_frames():
    ran = subprocess.run([sys.executable, "-c", EACH_TYPED], capture_output=True, text=True, check=True)
    said = re.split(r"ended with (.*)\n", ran.stdout)
    assert said[1::2] == ["0 []", "2 []", "2 []", "2 []"], ran.stderr
    for text, part in zip(said[::2], ("which ranker is", "From runs", "judge", ""), strict=False):
        assert part in text
    assert ran.stderr == "error: No such command 'nonsense'; see pt-active --help\n"


def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("demo")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.startswith("SIMULATED")
    folder = tmp_path / "demo-out"
    names = {"assessments.csv", "judgments.csv", "plan", "result.json"}
    assert {path.name for path in folder.iterdir()} == names
    numbers = json.loads((folder / "result.json").read_text())
    truth = numbers["truth"]
    assert numbers["simulated"] is True
    assert truth["difference"] == pytest.approx(truth["candidate"] - truth["production"])
    documents, queries, at_random = (numbers[name]["samples"] for name in METHODS)
    assert documents["error"] < 0.7 * queries["error"] < 0.7 * at_random["error"]
    assert documents["found"] > 1.5 * max(queries["found"], at_random["found"])
    assert all(0.92 < each["coverage"] < 0.98 for each in (documents, queries, at_random))
    by_hand = data("status", folder / "plan", folder / "judgments.csv", "--looks", "end")["result"]
    assert by_hand == {name: value for name, value in numbers["single documents"].items() if name != "samples"}
    assert complaint("demo") == "demo-out exists; take it away, or run the demo in another folder"
