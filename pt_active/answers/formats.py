"""Which files hold answers?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pt_active.frames.sources import naming, read_source
from pt_active.frames.tables import is_parquet, json_value, read_parquet, read_spreadsheet


def read_rows(path: str | Path) -> pd.DataFrame:
    """Read a table of answers.

    Args:
        path: Parquet, JSON lines (``.jsonl``), or a table with a header, separated by commas, semicolons or tabs.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is malformed.
    """
    if is_parquet(path):
        return read_parquet(path)
    source = read_source(path)
    with naming(path):
        if ".jsonl" in source.suffixes:
            return _of_objects({number: json_value(line) for number, line in source.lines() if line.strip()})
        table = read_spreadsheet(source)
        return table.where(table != "", None)


def _of_objects(entries: dict[int, object]) -> pd.DataFrame:
    for number, entry in entries.items():
        if not isinstance(entry, dict):
            raise ValueError(f"line {number}: expected a JSON object")
    return pd.DataFrame.from_dict(entries, orient="index")
