"""The help of ``pt-active`` is that of its commands, and is there before they are."""

from __future__ import annotations

import subprocess
import sys

import typer
from typer.testing import CliRunner

from pt_active.cli.app import app
from pt_active.cli.front import front


def test_both_say_the_same() -> None:
    shown = [CliRunner().invoke(each, ["--help"], prog_name="pt-active") for each in (front(), app)]
    assert shown[0].exit_code == shown[1].exit_code == 0
    assert shown[0].output == shown[1].output
    commands = [list(typer.main.get_command(each).commands) for each in (front(), app)]  # type: ignore[attr-defined]
    assert commands[0] == commands[1]


def test_help_loads_no_frames() -> None:
    code = (
        "import sys; sys.argv = ['pt-active', *{}]\nfrom pt_active.__main__ import main\n"
        "try:\n    main()\nfinally:\n    print([m for m in ('pandas', 'pyterrier', 'scipy') if m in sys.modules])"
    )
    for arguments, exit_code in ((["--help"], 0), ([], 2)):
        ran = subprocess.run([sys.executable, "-c", code.format(arguments)], capture_output=True, text=True)
        assert ran.returncode == exit_code, ran.stderr
        assert "Which ranker is better" in ran.stdout
        assert ran.stdout.splitlines()[-1] == "[]"
