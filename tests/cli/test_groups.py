"""The help of ``pt-active`` lists commands that are there, and loads none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from pt_active.cli.app import AUDIT, COMMANDS, app


@pytest.mark.parametrize("path", [*((name,) for name in COMMANDS), *(("audit", name) for name in AUDIT)], ids="-".join)
def test_what_is_listed_is_there(path: tuple[str, ...]) -> None:
    command = typer.main.get_command(app)
    for name in path:
        command = command.loaded(name)  # type: ignore[attr-defined]
    assert command.help.split("Example:")[1].split()[: len(path) + 1] == ["\b", "pt-active", *path][: len(path) + 1]
    assert {"json_output", "quiet"} <= {each.name for each in command.params}


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
