"""The steps of PyTerrier's pipelines, which are written and compared by their settings."""

from __future__ import annotations

import re
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyterrier as pt

from pt_active.frames.checks import HELP, how_many

ADDRESS = re.compile(r" (object )?at 0x\w+")  # In what Python shows of objects that do not say how they were made


class Step(pt.Transformer):
    """A transformer that is shown as it was made and equals those of the same settings; a fitted one, only itself."""

    schematic: ClassVar[dict[str, str]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "schematic" not in vars(cls):
            cls.schematic = {"label": cls.__name__, "help_url": HELP}

    def __repr__(self) -> str:
        kept = vars(self)
        parameters = signature(type(self).__init__).parameters.values()
        given = [text for each in parameters if each.name in kept for text in _arguments(each, kept[each.name])]
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        learned = any(name.endswith("_") for name in [*vars(self), *vars(other)])
        return self is other or (not learned and _same(vars(self), vars(other)))

    def __hash__(self) -> int:
        return hash(type(self))  # Settings may change and models learn, but a hash must stay


def _arguments(parameter: Parameter, value: Any) -> list[str]:
    """What is typed for a parameter of a constructor: nothing where it has its default."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return [_text(each) for each in value]
    if parameter.kind is Parameter.VAR_KEYWORD:
        texts = {name: _text(each) for name, each in value.items()}
        return [f"{name}={text}" if name.isidentifier() else f"**{{{name!r}: {text}}}" for name, text in texts.items()]
    if _same(value, parameter.default):
        return []
    positional = parameter.default is Parameter.empty and parameter.kind is not Parameter.KEYWORD_ONLY
    return [_text(value) if positional else f"{parameter.name}={_text(value)}"]


def _text(value: Any) -> str:
    if isinstance(value, pd.DataFrame):
        return f"<frame of {how_many('row', len(value))}>"
    return ADDRESS.sub("", repr(value.item() if isinstance(value, np.generic) else value))


def _same(one: Any, other: Any) -> bool:
    """Whether two settings are equal: mappings in their order too, which is that of the rankers of a pool."""
    if one is other:
        return True
    if type(one) is not type(other):
        return all(isinstance(each, (int, float, np.number)) for each in (one, other)) and bool(one == other)
    if isinstance(one, pd.DataFrame):
        return one.equals(other)
    if isinstance(one, dict):
        one, other = list(one.items()), list(other.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
