"""What does the project file, pt-active.toml, say, and what of it does a command take?"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt_active.cli.answer import beside, kept_at
from pt_active.frames.checks import shown
from pt_active.frames.sources import read_source
from pt_active.frames.topics import dataset_id

FILE = Path("pt-active.toml")
"""The project file that commands take their options from, if it is in the current folder."""

TEXT, NUMBER, WHOLE, WORDS = "a text", "a number", "a whole number", "a text or a list of texts"

INPUT, INPUTS, OUTPUT = "the name of a file", "the name of a file or a list of them", "a name"

RUNS = "a table of NAME = FILE"

_OF_A_KIND = {
    OUTPUT: "plan report store ledger",
    INPUTS: "labels train-run",
    INPUT: "topics texts pool train-qrels guideline",
    NUMBER: "budget per-query margin confidence defensive",
    WHOLE: "seed max-grade depth",
    WORDS: "judge judges slice",
    TEXT: "measure grades unjudged cost level design grade-names looks missing queries clusters",
    RUNS: "runs",
}

KEYS = {key: kind for kind, keys in _OF_A_KIND.items() for key in keys.split()}
"""Key of the file → what its value must be. A key is called as the option is, but for those of `_OTHER_NAMES`."""

_OTHER_NAMES = {"run": "runs", "qrels": "labels"}
"""Argument of a command → key, where the key is not the name of the option."""

_RUN_FILES = "run topics texts train_run train_qrels judge max_grade"

_COLLECTION = f"{_RUN_FILES} pool grades unjudged depth cost per_query"

_LABELLED = "plan qrels confidence grade_names queries clusters"

_OF_COMMANDS = {
    "init": f"plan {_RUN_FILES} depth measure budget grades unjudged",
    "plan": f"out measure budget seed level design defensive {_COLLECTION}",
    "budget": f"measure confidence queries clusters {_COLLECTION}",
    "judge": "plan texts judges guideline grade_names store margin queries clusters",
    "export": "plan texts grade_names",
    "status": f"{_LABELLED} missing margin looks",
    "report": f"{_LABELLED} missing out slice",
    "gate": f"{_LABELLED} ledger",
}

COMMANDS = {command: tuple(arguments.split()) for command, arguments in _OF_COMMANDS.items()}
"""Command → the arguments that it takes from the project file if they are not typed."""

_OF_OTHERS = {
    "audit": ("judge", "topics", "texts", "max_grade", "seed"),
    "extend": ("texts",),
}
"""Option of ``plan`` → what it takes then."""

_RIVALS = {
    "run": ("pool",),
    "judge": ("grades", "looks", "margin"),
    "answers": (*_RUN_FILES.split(), "depth", "measure", "grades", "unjudged"),
}
"""An argument that is typed → the arguments that are then not taken from the file, since both do not go together."""


def key_of(command: str, argument: str) -> str:
    """The key of the project file that an argument of a command is taken from."""
    return command if argument == "out" else _OTHER_NAMES.get(argument, argument.replace("_", "-"))


@dataclass(frozen=True)
class Project:
    """A project file that was read, with its values as they stand in it."""

    file: Path
    values: Mapping[str, Any]

    @classmethod
    def read(cls, file: Path) -> Project:
        """Read a project file."""
        source = read_source(file)
        try:
            values = tomllib.loads(source.text)
        except ValueError as error:  # also a number of more digits than Python reads
            hint = "; in a Windows path, use / or single quotes" if "\\" in str(error) else ""
            raise ValueError(f"{file}: this is not TOML: {error}{hint}") from error
        for key, value in values.items():
            if key not in KEYS:
                raise ValueError(f"{file}: unknown key {shown(key)}; it is one of {', '.join(KEYS)}")
            if not _fits(value, KEYS[key]):
                raise ValueError(f"{file}: {key} must be {KEYS[key]}, got {shown(value)}")
        return cls(file, values)

    def options(self, command: str, typed: Mapping[str, Any]) -> dict[str, Any]:
        """What a command takes from the file: argument → value; files are relative to that of the project.

        Nothing but a ledger, which is that of all plans, is taken if another plan than that of the file is typed.
        """
        plan = typed.get("extend", typed.get("plan"))
        takes = COMMANDS[command]
        if "demo" in typed or (plan is not None and "plan" in self.values and not self.is_plan(plan)):
            takes = tuple(name for name in takes if name == "ledger")
        if command == "budget" and plan is not None:  # which has its own pool, measure and costs
            takes = ("confidence", "queries", "clusters")
        for name, others in _OF_OTHERS.items():
            if name in typed:
                takes = others
        left_out = {*typed, *(rival for name in typed for rival in _RIVALS.get(name, ()))}
        keys = {name: key_of(command, name) for name in takes if name not in left_out}
        taken = {name: self._value(key) for name, key in keys.items() if key in self.values}
        if "qrels" in keys and "qrels" not in taken and "plan" in self.values:
            taken["qrels"] = [self._kept_labels()]
        return taken

    def is_plan(self, folder: Path) -> bool:
        """Whether a folder is that of the plan that the file names."""
        return os.path.abspath(folder) == os.path.abspath(self._value("plan"))

    def _value(self, key: str) -> Any:
        """A value as the argument of a command."""
        kind, value = KEYS[key], self.values[key]
        if kind == INPUT:
            return self._existing(key, value)
        if kind == INPUTS:
            return [self._existing(key, each) for each in _listed(value)]
        if kind == OUTPUT:
            return self.file.parent / value
        if kind == RUNS:
            if wrong := [name for name in value if not name or "=" in name]:
                raise ValueError(f"{self.file}: runs: a name is needed, without an equals sign, got {shown(wrong[0])}")
            return [f"{name}={self._existing(f'run {name}', file)}" for name, file in value.items()]
        if key == "judges":
            return ",".join(_listed(value))
        if key == "judge":
            parts = (each.partition("=") if "=" in each else ("", "", each) for each in _listed(value))
            return [f"{name}{equals}{self._existing(key, file)}" for name, equals, file in parts]
        return _listed(value) if kind == WORDS else value

    def _existing(self, key: str, name: str) -> Path:
        """The path of a file that the project names; ids of data sets stay as they are."""
        if dataset_id(name) is not None:
            return Path(name)
        path = self.file.parent / name
        if not path.exists():
            raise FileNotFoundError(f"{self.file}: {key}: there is no file {path}")
        return path

    def _kept_labels(self) -> Path:
        """The file in which `judge` keeps labels, or the filled-in worklist if that file is missing or has none."""
        from pt_active.judging.server.store import stored_records

        plan = self._value("plan")
        stores = [self._value("store")] if "store" in self.values else []
        stores.append(kept_at(plan))
        worklist = beside(plan, ".csv")
        for store in stores:
            if store.exists() and not (worklist.exists() and stored_records(store).empty):
                return store
        if worklist.exists():
            return worklist
        places = " or ".join(map(str, [*stores, worklist]))
        raise ValueError(
            f"nothing is judged yet: there is no {places}; let people judge with "
            f'pt-active judge, or name the file of the labels in {self.file}: labels = "FILE"'
        )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _fits(value: Any, kind: str) -> bool:
    """Whether a value of the file is of a kind."""
    if kind in (WHOLE, NUMBER):
        finite = type(value) is float and math.isfinite(value)
        return type(value) is int or (kind == NUMBER and finite)
    texts = [value]
    if kind in (WORDS, INPUTS):
        texts = _listed(value)
    elif kind == RUNS:
        texts = list(value.values()) if isinstance(value, dict) else []
    sound = [isinstance(text, str) and text != "" and "\0" not in text for text in texts]
    return bool(sound) and all(sound)


def project_text(values: Mapping[str, Any], comments: Collection[str] = ()) -> str:
    """The text of a project file, at whose end a reader may add keys, since it has no table."""
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{key} = {_in_toml(value)}" for key, value in values.items() if key != "runs"]
    for name, file in values.get("runs", {}).items():
        key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _in_toml(name)
        lines.append(f"runs.{key} = {_in_toml(file)}")
    return "\n".join(lines) + "\n"


def _in_toml(value: Any) -> str:
    """A value as TOML, whose texts, numbers and lists are those of JSON but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
