"""Checks of arguments, and the wording of error messages."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from numbers import Rational, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MAX_WHOLE = 2**31 - 1
"""The largest whole number that an argument may be: larger ones are mistakes, and ask for more memory than there is."""

MAX_DRAWS = 10_000_000  # The most draws of a sample
MAX_SEED = 2**63 - 1  # The largest random seed, and the largest int of numpy
MAX_SHOWN = 80  # Characters of a value in a message, at most


def shown(value: Any) -> str:
    """A value as one line of at most 80 characters, for an error message."""
    plain = value.item() if isinstance(value, np.generic) else value
    text = repr(plain[: 2 * MAX_SHOWN]) if isinstance(plain, str) else " ".join(repr(plain).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def whole_number(name: str, value: Any, least: int, most: int = MAX_WHOLE) -> int:
    """An argument that must be a whole number from ``least`` to ``most``."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {shown(value)}") from None
    if isinstance(value, bool) or whole < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")
    if whole > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return whole


def number(name: str, value: Any) -> int | float:
    """An argument that must be a number, within any range: an int where it is whole and numpy has it, or a float."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    if isinstance(value, Rational) and value.denominator == 1 and abs(whole := int(value.numerator)) <= MAX_SEED:
        return whole
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number, got one that no float can hold") from None


def positive(name: str, value: Any) -> int | float:
    """An argument that must be a positive, finite number."""
    checked = number(name, value)
    if not (np.isfinite(checked) and checked > 0):
        raise ValueError(f"{name} must be a positive number, got {shown(value)}")
    return checked


def within(name: str, value: Any, least: float, most: float = np.inf) -> int | float:
    """An argument that must be a finite number in a range that includes its ends."""
    checked = number(name, value)
    if not (np.isfinite(checked) and least <= checked <= most):
        wanted = f"lie between {least:g} and {most:g}" if np.isfinite(most) else f"be a number from {least:g}"
        raise ValueError(f"{name} must {wanted}, got {shown(value)}")
    return checked


def level(name: str, value: Any) -> float:
    """A confidence level."""
    if not 0 < number(name, value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {shown(value)}")
    return float(value)


def truth_value(name: str, value: Any) -> bool:
    """An argument that must be true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_known(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise if an argument is not one of some names."""
    names = list(known)
    if value not in names:
        raise ValueError(f"unknown {name} {shown(value)}; it is one of {', '.join(names)}")


def data_frame(name: str, value: Any, *columns: str) -> pd.DataFrame:
    """An argument that must be a frame with some columns."""
    import pandas as pd

    if not isinstance(value, pd.DataFrame):
        raise ValueError(f"{name} must be a pandas DataFrame, got {shown(value)}")
    if absent := ", ".join(repr(column) for column in columns if column not in value.columns):
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; it lacks {absent}")
    if twice := [column for column in columns if isinstance(value[column], pd.DataFrame)]:
        raise ValueError(f"{name} has the column {twice[0]!r} more than once")
    return value


def transformer(name: str, value: Any, *, frames: bool = True) -> Any:
    """An argument that must be a PyTerrier transformer, or a frame of what it returns if that will do."""
    import pandas as pd
    import pyterrier as pt

    if not isinstance(value, (pt.Transformer, pd.DataFrame) if frames else pt.Transformer):
        wanted = "a PyTerrier transformer or a frame" if frames else "a PyTerrier transformer"
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")
    return value


def file_path(name: str, value: Any) -> Path:
    """An argument that must name a file or a folder."""
    if not isinstance(value, (str, Path)):
        raise ValueError(f"{name} must be a string or a Path, got {shown(value)}")
    return Path(value)


HELP = "https://github.com/pt-active/pt_active"
"""The page to which PyTerrier's schematics link; without it PyTerrier would look for one on the network."""

_PLURAL_VERBS = {"is": "are", "was": "were", "has": "have"}


def how_many(noun: str, number: int, verb: str = "") -> str:
    """A number with its noun, for messages: ``1 query``, ``3 queries``, ``1 label is``, ``2 labels are``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    counted = f"{number} {noun if number == 1 else plural}"
    return f"{counted} {agreeing(verb, number)}" if verb else counted


def agreeing(verb: str, number: int) -> str:
    """A verb that agrees with a number of things."""
    return verb if number == 1 else _PLURAL_VERBS[verb]


def document_of(qid: object, docno: object) -> str:
    """A document and its query, for messages."""
    return f"document {shown(docno)} of query {shown(qid)}"


def unfit(place: str, expected: str, got: str) -> ValueError:
    """The error about a line, a row or another part of a file that is not what it must be."""
    return ValueError(f"{place}: expected {expected}; got {got}")


def some(items: Iterable[object], limit: int = 5) -> str:
    """The first few items as text, for an error message."""
    listed = list(items)
    text = ", ".join(shown(item) for item in listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"
