"""Checks of arguments that several faces share."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def shown(value: Any) -> str:
    """A value as one line of at most 80 characters, for an error message."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def whole_number(name: str, value: Any, least: int) -> int:
    """An argument that must be a whole number of at least ``least``.

    Raises:
        ValueError: If it is not; the message names it.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {shown(value)}") from None
    if isinstance(value, bool) or whole < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")
    return whole


def number(name: str, value: Any) -> int | float:
    """An argument that must be a number; its range is checked where it is known.

    Raises:
        ValueError: If it is not, or a truth value; the message names it.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[return-value]


def level(name: str, value: Any) -> float:
    """A confidence level.

    Raises:
        ValueError: If it is no number strictly between 0 and 1; the message names it.
    """
    if not 0 < number(name, value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {shown(value)}")
    return float(value)


def truth_value(name: str, value: Any) -> bool:
    """An argument that must be true or false.

    Raises:
        ValueError: If it is neither; the message names it.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def data_frame(name: str, value: Any, *columns: str) -> pd.DataFrame:
    """An argument that must be a frame with some columns.

    Raises:
        ValueError: If it is no frame, lacks a column or has it twice; the message names both.
    """
    if not isinstance(value, pd.DataFrame):
        raise ValueError(f"{name} must be a pandas DataFrame, got {shown(value)}")
    if absent := [column for column in columns if column not in value.columns]:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}; it lacks {', '.join(map(repr, absent))}")
    if twice := [column for column in columns if isinstance(value[column], pd.DataFrame)]:
        raise ValueError(f"{name} has the column {twice[0]!r} more than once")
    return value


def file_path(name: str, value: Any) -> Path:
    """An argument that must name a file or a folder.

    Raises:
        ValueError: If it is neither a string nor a path; the message names it.
    """
    if not isinstance(value, (str, Path)):
        raise ValueError(f"{name} must be a string or a Path, got {shown(value)}")
    return Path(value)


HELP = "https://github.com/pt-active/pt_active"
"""The page to which PyTerrier's schematics link. Without it PyTerrier would look one up over the network."""


def some(items: Iterable[object], limit: int = 5) -> str:
    """The first few items as text, for an error message.

    Args:
        items: Any items.
        limit: The largest number of items to print; ``…`` stands for further ones.

    Returns:
        Text such as ``'a', 'b', … (12 in all)``.
    """
    listed = list(items)
    text = ", ".join(repr(item) for item in listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"
