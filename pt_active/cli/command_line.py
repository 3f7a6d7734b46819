"""What all commands of ``pt-active`` share: errors in one line, checks, and answers as text or JSON."""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from pt_active.cli.failures import naming_stdout
from pt_active.frames.checks import Argument, ArgumentError, Named, shown
from pt_active.frames.records import is_records
from pt_active.frames.visible import json_text, visible
from pt_active.inference.several_judges import TIES
from pt_active.inference.stopping.looks import ALWAYS, look_names
from pt_active.judging.files import read_labels
from pt_active.judging.worklist import GradeNames
from pt_active.plans.making.judgments import RULES, qrels_of
from pt_active.plans.making.queries import has_order
from pt_active.plans.plan import Plan


@dataclass(frozen=True)
class Answer:
    """The answer of a command.

    Attributes:
        content: The answer as one JSON object.
        text: The answer for people.
        hint: The next command to type; empty if there is none.
        code: The exit code of the command.
    """

    content: dict[str, Any]
    text: str
    hint: str = ""
    code: int = 0

    def show(self, as_json: bool, quiet: bool) -> None:
        """Print the answer."""
        lines = "\n\n".join([self.text, *([self.hint] if self.hint and not quiet else [])])
        with naming_stdout():
            typer.echo(json_text(self.content, indent=2) if as_json else visible(lines))


AT_THE_END = "end"
"""The value of ``--looks`` for a single look at the end, which is None in Python."""


EARLIER = "QRELS"
"""What stands for the labels of earlier rounds in a hint, where nothing says which files they are in: the word of the
help for files of labels."""

EARLIER_TOLD = f"{EARLIER} stands for the files with the labels that were there before."
"""The explanation of `EARLIER`."""


def check_names(names: Mapping[str, tuple[str | None, Collection[str]]]) -> None:
    """Raise if a name is unknown."""
    for option, (name, known) in names.items():
        if name is not None and name not in known:
            raise ValueError(f"unknown {option} {shown(name)}; it is one of {', '.join(known)}")


def check_new(path: Path) -> None:
    """Raise if a path exists, or its folder does not."""
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists; choose another --out")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist")


def command_line(*words: str | Path) -> str:
    """A command that can be pasted into a shell."""
    return shlex.join(["pt-active", *map(str, words)])


def new_path(path: Path) -> Path:
    """The path, or if it exists the path with the first free number, such as ``plan-2``."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], names) if not each.exists())


def given_words(**values: object) -> list[str]:
    """Options as they are typed: ``margin=0.1`` becomes ``--margin 0.1``; None is left out."""
    given = {f"--{name.replace('_', '-')}": value for name, value in values.items() if value is not None}
    return [word for option, value in given.items() for word in (option, str(value))]


def rounded_up(budget: float) -> str:
    """A budget rounded up to three significant digits, or to a whole number if that is less."""
    step = 10.0 ** (np.floor(np.log10(budget)) - 2)
    return f"{min(np.ceil(budget / step) * step, np.ceil(budget)):.6g}"


def extended_from(plan: Plan) -> float:
    """The sum to which an extension of a plan adds its budget: the plan's own budget where it goes on in its order."""
    manifest, rounds = plan.tables.manifest, plan.tables.rounds
    if not rounds:
        return manifest.limit
    last = manifest.rounds[-1]
    return manifest.spent + (last.budget - last.spent if rounds[-1].sample.priority is not None else 0.0)


def least_round(plan: Plan) -> float:
    """A budget that pays for another round: all documents of the dearest query where they are drawn at once."""
    if not plan.tables.rounds or has_order(plan.tables):
        return 0.0
    return float(np.nanmax(plan.tables.pool.query_cost))


class Labelled(NamedTuple):
    """A plan with its labels.

    Attributes:
        plan: The plan, cut if only what is judged so far is asked for.
        qrels: The labels.
        records: The records that the labels follow from; None if no file says who judged.
    """

    plan: Plan
    qrels: pd.DataFrame
    records: pd.DataFrame | None = None


def read_judged(
    folder: Path,
    paths: Sequence[Path],
    so_far: bool = False,
    names: str | None = None,
    rule: str = RULES[0],
    ties: str = TIES[0],
) -> Labelled:
    """A plan and its labels."""
    check_names({"--rule": (rule, RULES), "--ties": (ties, TIES)})
    plan = Plan.load(folder)
    if not paths:
        if so_far:
            raise ValueError("--so-far needs the labels so far: say the file that holds them after the plan")
        return Labelled(plan, pd.DataFrame(columns=["qid", "docno", "label"]))
    labels = read_labels(paths, plan, GradeNames.parsed(names))
    records = labels if is_records(labels) else None
    qrels = labels if records is None else qrels_of(records, rule, ties)
    return Labelled(plan.so_far(qrels) if so_far else plan, qrels, records)


def looks_of(asked: str | None, plan: Plan) -> str | None:
    """The value of ``looks`` in Python for that of ``--looks``."""
    check_names({"--looks": (asked, (*look_names(), AT_THE_END))})
    any_time = has_order(plan.tables) and plan.tables.manifest.any_time
    asked = asked or (ALWAYS if any_time else AT_THE_END)
    return None if asked == AT_THE_END else asked


def next_answer(plan: Plan, folder: Path, worklist: Path) -> str:
    """The command to type when all documents of a worklist are judged."""
    return command_line("compare" if len(plan.rankers) > 1 else "estimate", folder, *_earlier(plan), worklist)


def next_look(plan: Plan, folder: Path, worklist: Path) -> str:
    """The command that says, from the labels so far, whether to go on judging."""
    margin = ["--margin", "X"] if len(plan.rankers) == 1 else []
    return command_line("status", folder, *_earlier(plan), worklist, *margin)


def _earlier(plan: Plan) -> list[str]:
    manifest = plan.tables.manifest
    longer = sum(each.assessments for each in manifest.rounds) > len(plan.tables.assessments)
    return [EARLIER] if longer or manifest.extensions else []


@contextlib.contextmanager
def options_named(context: typer.Context) -> Iterator[None]:
    """Let error messages about arguments of functions name the options of the running command."""
    try:
        yield
    except ArgumentError as error:
        raise ValueError(error.told(lambda named: typed(named, context))) from error


def typed(named: Named, context: typer.Context) -> str:
    """The option or command for an argument or a method of a plan; its name in Python if there is none."""
    group: Any = context.parent.command if context.parent is not None else None
    commands = {} if group is None else {name: group.loaded(name) for name in group.commands}
    own = _options(context.find_root().command) | _options(context.command)
    if isinstance(named, Argument):
        named = _OTHER_NAMES.get(str(named)) or _OTHER_NAMES.get(named.name, named)
        others = {name: option for each in commands.values() for name, option in _options(each).items()}
        return _option(named, (others | own).get(named.name))
    return own.get(named.name) or (f"pt-active {named.name}" if named.name in commands else str(named))


_OTHER_NAMES = {
    "on_error": Argument("lenient", True),
    "looks=None": Argument("looks", AT_THE_END),
    str(Argument("grades", "refit")): Argument("refit", True),
}
"""Arguments, or values of them, that have another name on the command line."""


def _options(command: Any) -> dict[str, str]:
    """The options of a command by the names of its arguments."""
    return {each.name: each.opts[0] for each in command.params if each.opts[0].startswith("--")}


def _option(argument: Argument, option: str | None) -> str:
    if option is None:
        return str(argument)
    if argument.value is False:
        return f"no {option}"
    return option if argument.value is True or argument.value is ... else f"{option} {argument.value}"
