"""What does a command answer, and what does it tell its user to type next?"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from pt_active.cli.failures import naming_stdout
from pt_active.frames.visible import json_text, visible
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan


@dataclass(frozen=True)
class Answer:
    """The answer of a command: as one JSON object and for people, what to type next, and the exit code."""

    content: dict[str, Any]
    text: str
    hint: str = ""
    code: int = 0

    def show(self, as_json: bool, quiet: bool) -> None:
        """Print the answer."""
        text = f"{self.text}\n\n{self.hint}" if self.hint and not quiet else self.text
        with naming_stdout():
            typer.echo(json_text(self.content, indent=2) if as_json else visible(text))


AT_THE_END = "end"  # The value of ``--looks`` for a single look at the end, which is None in Python

EARLIER = "LABELS"
"""What stands in a hint for the labels from before an extension, where nothing says which files they are in."""


def check_new(path: Path) -> None:
    """Raise if a path exists, or its folder does not."""
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists; choose another --out")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def beside(folder: Path, ending: str) -> Path:
    """The path beside a folder that is called after it, such as ``plan.csv``."""
    return folder.with_name(f"{folder.name}{ending}")


def kept_at(folder: Path) -> Path:
    """The file in which judgments of a plan are kept unless another is said: PLAN.sqlite, beside its folder."""
    return beside(folder, ".sqlite")


def command_line(*words: object, project: Path | None = None) -> str:
    """A command that can be pasted into a shell, with the project file if that is not the usual one."""
    named = [] if project is None else ["--project", project]
    return shlex.join(["pt-active", *map(str, words), *map(str, named)])


def extension(folder: Path, budget: str, project: Path | None) -> str:
    """The command that extends a plan."""
    more = beside(folder, "-more")
    return command_line("plan", "--extend", folder, "--budget", budget, "--out", more, project=project)


def given_words(**values: object) -> list[str]:
    """Options as they are typed: ``margin=0.1`` becomes ``--margin 0.1``; None is left out."""
    words: list[str] = []
    for name, value in values.items():
        if value is not None:
            whole = isinstance(value, float) and value.is_integer()
            words += [f"--{name.replace('_', '-')}", f"{value:.0f}" if whole else str(value)]
    return words


def next_look(plan: Plan, folder: Path, worklist: Path, project: Path | None = None) -> str:
    """The hint with the command that says what the labels of a worklist tell."""
    manifest = plan.tables.manifest
    earlier = [EARLIER] if manifest.extended else []
    margin = ["--margin", "X"] if len(plan.rankers) == 1 and has_order(plan.tables) else []
    told = f"{EARLIER} stands for the files with the earlier labels.\n" if earlier else ""
    line = command_line("status", folder, *earlier, worklist, *margin, project=project)
    return f"{told}Next, as labels come in:\n  {line}"


def rounded_up(budget: float) -> str:
    """A budget rounded up to three significant digits, or to a whole number if that is less."""
    step = 10.0 ** (np.floor(np.log10(budget)) - 2)
    return f"{min(np.ceil(budget / step) * step, np.ceil(budget)):.6g}"
