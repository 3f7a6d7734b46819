"""What do the JSON objects of a file hold, one in each line?"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from pt_active.frames.checks import shown, some
from pt_active.frames.layouts import NOT_UTF8
from pt_active.frames.sources import Source

_IDS = ("qid", "docno")
"""The keys whose values are ids."""


def read_json_lines(source: Source, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a file with one JSON object per line."""
    rows = {number: _values(line, number, keys, optional) for number, line in source.lines() if line.strip()}
    if not rows:
        raise ValueError(f"the file is empty; expected objects with {some(keys)}")
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*keys, *optional], dtype=object)


def json_value(text: str) -> Any:
    """The value of a whole JSON text."""
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError("expected JSON; got values nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"expected JSON; got {str(error)[:200]}") from error


def _values(line: str, number: int, keys: tuple[str, ...], optional: tuple[str, ...]) -> list[object]:
    """The values of some keys of the JSON object in a line."""
    wanted = f"line {number}: expected a JSON object with the keys {some(keys)}"
    if NOT_UTF8.search(line):
        raise ValueError(f"{wanted}; got bytes that are not UTF-8")
    try:
        entry = json.loads(line, object_pairs_hook=_each_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError(f"{wanted}; got values nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{wanted}; got {str(error)[:200]}") from error
    if not isinstance(entry, dict) or not entry.keys() >= set(keys):
        raise ValueError(f"{wanted}; got {shown(line.strip())}")
    values = [_id(entry[key], key, number) if key in _IDS else entry[key] for key in keys]
    return values + [entry.get(key) for key in optional]


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} more than once")
    return entry


def _refused(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")


def _id(value: object, key: str, number: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"line {number}: expected a {key} that is text or a whole number; got {shown(value)}")
    if isinstance(value, str) and (not value.strip() or "\0" in value or NOT_UTF8.search(value)):
        raise ValueError(f"line {number}: expected a {key} of characters, and no NUL; got {shown(value)}")
    return str(value)
