"""The help of ``pt-active`` lists commands that are there, and loads none of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pt_active.cli.app import AUDIT, COMMANDS, app


@pytest.mark.parametrize("path", [*((name,) for name in COMMANDS), *(("audit", name) for name in AUDIT)], ids="-".join)
def test_what_is_listed_is_there(path: tuple[str, ...]) -> None:
    command = typer.main.get_command(app)
    for name in path:
        command = command.loaded(name)  # type: ignore[attr-defined]
    assert command.help.split("Example:")[1].split()[: len(path) + 1] == ["\b", "pt-active", *path][: len(path) + 1]
    assert "--json" in command.epilog


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "--quiet", "--no-limit", "export", "none", "--out", "x"),
        ("export", "--quiet", "none", "--out", "x", "--json", "--no-limit"),
        ("--project=none.toml", "export", "none", "--out", "x"),
        ("export", "none", "--out", "x", "--project", "none.toml"),
    ],
)
def test_options_of_every_command_stand_anywhere(words: tuple[str, ...], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, words).stderr
    assert said.startswith("error: none.toml" if "none.toml" in str(words) else "error: there is no plan at none")


def test_what_no_command_takes_is_refused() -> None:
    assert "requires an argument" in CliRunner().invoke(app, ["plan", "--project"]).stderr
    assert "takes nothing from a project file" in CliRunner().invoke(app, ["demo", "--project", "x.toml"]).stderr
    assert "No such option" in CliRunner().invoke(app, ["demo", "--jsonn"]).stderr
    assert "extra argument" in CliRunner().invoke(app, ["demo", "--", "--json"]).stderr


def test_help_loads_no_frames() -> None:
    code = (
        "import sys; sys.argv = ['pt-active', *{}]\nfrom pt_active.__main__ import main\n"
        "try:\n    main()\nfinally:\n    print([m for m in ('pandas', 'pyterrier', 'scipy') if m in sys.modules])"
    )
    for arguments, exit_code, says in (
        (["--help"], 0, "Which ranker is"),
        ([], 2, "From runs"),
        (["audit"], 2, "judge"),
    ):
        ran = subprocess.run([sys.executable, "-c", code.format(arguments)], capture_output=True, text=True)
        assert ran.returncode == exit_code, ran.stderr
        assert says in ran.stdout
        assert ran.stdout.splitlines()[-1] == "[]"
