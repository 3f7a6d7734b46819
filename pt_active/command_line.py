"""What the commands of ``pt-active`` share: complaints in one line, checks, and answers as text or JSON."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import typer
from pyterrier.validate import InputValidationError
from typer.core import TyperGroup

from pt_active.exports import read_judgments
from pt_active.plan import Plan
from pt_active.status import Status

_BAD_INPUT = (
    ValueError,
    InputValidationError,
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


class Commands(TyperGroup):
    """Runs a command with its complaints in one line each."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with plain_complaints():
            return super().invoke(ctx)


def check_names(names: Mapping[str, tuple[str | None, Collection[str]]]) -> None:
    """Refuse a name that is not among those known.

    Args:
        names: Option → the name that was given, if any, and those known.
    """
    for option, (name, known) in names.items():
        if name is not None and name not in known:
            raise ValueError(f"unknown {option} {name!r}; it is one of {', '.join(known)}")


def check_new(path: Path) -> None:
    """Refuse a path that exists, or whose folder does not."""
    if path.exists():
        raise FileExistsError(f"{path} exists; choose another --out")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def check_options(
    out: Path,
    budget: float | None,
    draws: int | None,
    runs: list[str] | None,
    pool: Path | None,
    of_runs: dict[str, object],
    names: dict[str, tuple[str | None, Collection[str]]],
) -> None:
    """Refuse at once what would fail only after the files have been read."""
    check_new(out)
    if (budget is None) == (draws is None):
        raise ValueError("say either --budget or --draws, and not both")
    if bool(runs) == (pool is not None):
        raise ValueError("say either --run (one for each ranker) or --pool, and not both")
    given = [option for option, value in of_runs.items() if value]
    if pool is not None and given:
        raise ValueError(f"--pool has its grades already; leave out {', '.join(given)}")
    check_names(names)


def command_line(*words: str | Path) -> str:
    """A command that can be pasted into a shell."""
    return shlex.join(["pt-active", *map(str, words)])


def next_step(found: Status, plan: Path, qrels: Sequence[Path]) -> str:
    """What to do, or to type, once a status is known.

    Args:
        found: The status.
        plan: The folder of the plan.
        qrels: The files of the labels so far.
    """
    if found.resolved:
        return "There is nothing more to judge: the interval above is the result."
    if found.judged < found.drawn:
        order = ["--order", "drawn"] if found.unit == "queries" else []
        worklist = command_line("export", plan, "--out", plan.with_name(f"{plan.name}.csv"), "--format", "csv", *order)
        return f"Next, fill in more labels and ask again. If the worklist is not written yet:\n  {worklist}"
    if found.unit == "rounds":
        out = plan.with_name(f"{plan.name}-more")
        more = command_line("extend", plan, *qrels, "--budget", "BUDGET", "--out", out)
        return f"Next, draw another round:\n  {more}"
    if found.looks == "always":
        return "Next, plan again with the same --seed and a larger --budget: that sample begins with these queries."
    return "The planned looks are over."


def show_answer(content: dict[str, Any], text: str, as_json: bool) -> None:
    """Print an answer as JSON or as text."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) if as_json else text)


def read_labels(paths: Sequence[Path]) -> pd.DataFrame:
    """The labels of several files as one table.

    Raises:
        ValueError: If a file holds none.
    """
    read = {path: read_judgments(path) for path in paths}
    for path, labels in read.items():
        if labels.empty:
            raise ValueError(f"{path}: no label is filled in")
    return pd.concat([labels[["qid", "docno", "label"]] for labels in read.values()], ignore_index=True)


def planned(made: Plan, out: Path) -> str:
    """What a new plan is, and the command that comes next."""
    worklist = out.with_name(f"{out.name}.csv")
    export = command_line("export", out, "--out", worklist, "--format", "csv")
    return f"{made}\n\nThe plan is in {out}. Next, write what people are to judge:\n  {export}"


def next_answer(plan: Plan, folder: Path, worklist: Path) -> str:
    """The command that reads the judgments."""
    earlier = ["EARLIER-LABELS"] if len(plan.tables.rounds) > 1 else []
    return command_line("compare" if len(plan.rankers) > 1 else "estimate", folder, *earlier, worklist)


@contextmanager
def plain_complaints() -> Iterator[None]:
    """Print each warning and a bad input as one line on stderr; bad input ends the command with exit code 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _warning_printer()
        try:
            yield
        except _BAD_INPUT as error:
            typer.echo(f"error: {_one_line(error)}", err=True)
            raise typer.Exit(2) from error


def _warning_printer() -> Callable[..., None]:
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown and not issubclass(category, DeprecationWarning):
            typer.echo(f"warning: {text}", err=True)
        shown.add(text)

    return show


def _one_line(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    return " ".join(text.split())
