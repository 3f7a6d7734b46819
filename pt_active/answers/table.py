"""Which answers did systems give, and what is known of them? One table, long or wide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pt_active.answers.formats import LETTERS, read_rows, text_of
from pt_active.frames.checks import how_many, shown, some, unfit

Source: TypeAlias = pd.DataFrame | str | Path | Mapping[str, pd.DataFrame | str | Path]
"""A table or its file; or one of each system, by its name."""

NAMES = {
    "item": ("item", "qid", "item_id", "id"),
    "system": ("system", "model", "eval_id"),
    "question": ("question", "query", "input", "prompt"),
    "answer": ("answer", "qanswer", "output", "response"),
    "reference": ("reference", "gold_answer", "expected", "target"),
    "run": ("run", "epoch"),
    "cluster": ("cluster",),
    "cost": ("cost",),
    "weight": ("weight",),
}
"""Column → the names under which it is looked for, in any case, the first that is there."""

SCORE = "score"
"""The column of a judge's scores; those of several judges are ``score_NAME``."""

_KIND = re.compile("(answer|score)(?=_|$)", re.IGNORECASE)  # How a column's name begins that names a system or judge

_NUMBERS = ("cost", "weight")

EMPTY = "(empty answer)"
"""What people see where an answer has no text."""

_TEXTS = ("question", "answer", "reference", "cluster")

_OF_ITEM = ("question", "reference", "cluster", "weight")  # What does not differ between the answers to an item


def answer_table(source: Source) -> pd.DataFrame:
    """The answers of a source as `Answers` takes it, one in a row: ``item, system, run``, and what is known of `NAMES`.

    Ids are strings, judges' scores are in columns ``score`` or ``score_NAME``, and ``docno`` names an answer without
    its system: systems that give the same text to an item share it.
    """
    table = _united(source)
    if table.empty:
        raise ValueError("the table has no answers")
    table = with_ids(table).dropna(axis="columns", how="all")
    for name in (name for name in (*judge_columns(table), *_NUMBERS) if name in table.columns):
        table[name] = numbers(table, name)
    table["run"] = table["run"].map(as_text) if "run" in table.columns else "1"
    for name in (name for name in _TEXTS if name in table.columns):
        table[name] = table[name].map(lambda value: str(text_of(value)), na_action="ignore").astype(object)
    if "answer" in table.columns:
        table["answer"] = table["answer"].where(table["answer"].fillna("").str.strip() != "", EMPTY)
    if (twice := table.duplicated(["item", "system", "run"])).any():
        row = table[twice].iloc[0]
        raise ValueError(
            f"system {shown(row['system'])} has more than one answer to item {shown(row['item'])}; several runs of a "
            "system need a column run"
        )
    _check_complete(table)
    table = _with_items_alike(table).sort_values(["item", "system", "run"], ignore_index=True)
    table["docno"] = _docnos(table)
    return table


def judge_columns(table: pd.DataFrame) -> list[str]:
    """The columns of judges' scores."""
    return [str(name) for name in table.columns if str(name) == SCORE or str(name).startswith(f"{SCORE}_")]


def _united(source: Source) -> pd.DataFrame:
    if isinstance(source, Mapping):
        if not source:
            raise ValueError("expected the answers of at least one system, by its name")
        parts = [_named(each).assign(system=str(name)) for name, each in source.items()]
        return pd.concat(parts, ignore_index=True)
    rows = _named(source)
    return rows.copy() if "system" in rows.columns else _long(rows)


def named_rows(source: pd.DataFrame | str | Path) -> pd.DataFrame:
    """The rows under the names of the columns here; other columns keep theirs."""
    rows = source if isinstance(source, pd.DataFrame) else read_rows(source)
    rows = rows.rename(columns=lambda name: _KIND.sub(lambda kind: kind[0].lower(), str(name).strip()))
    if twice := rows.columns[rows.columns.duplicated()].tolist():
        raise ValueError(f"the column {twice[0]} is there more than once")
    at = {name.casefold(): name for name in rows.columns} | {name: name for name in rows.columns}
    found = {name: next((at[each] for each in also if each in at), None) for name, also in NAMES.items()}
    if found["item"] is None and found["question"] is None:
        raise ValueError(f"the answers need a column item, or question; the table has {some(rows.columns, 12)}")
    rows = rows.rename(columns={old: new for new, old in found.items() if old is not None})
    if found["item"] is None:
        rows = rows.assign(item=rows["question"])
    return rows


def _named(source: pd.DataFrame | str | Path) -> pd.DataFrame:
    """The rows with the columns of answers alone."""
    rows = named_rows(source)
    own = (*NAMES, *judge_columns(rows))
    return rows[[name for name in rows.columns if name in own or str(name).startswith("answer_")]]


def _long(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each answer, from one for each item."""
    own = [name for name in map(str, rows.columns) if name.startswith(("answer_", f"{SCORE}_"))]
    answered = [name.removeprefix("answer_") for name in own if name.startswith("answer_")]
    systems = answered or [name.removeprefix(f"{SCORE}_") for name in own]
    if "answer" in rows.columns and not answered:
        raise ValueError(
            "the answers are of one system, which the table does not name; pass the table of each system by its name, "
            "as --answers NAME=FILE or {NAME: FILE}, or add a column system"
        )
    if not systems:
        raise ValueError(
            "the answers need a column system, with a row for each answer, or columns answer_NAME or score_NAME of "
            f"each system, with a row for each item; the table has {some(map(str, rows.columns), 12)}"
        )
    if other := [name for name in ("answer", SCORE, *own) if name in rows and name.split("_", 1)[-1] not in systems]:
        beside = some(f"{'answer' if answered else SCORE}_{name}" for name in systems)
        raise ValueError(f"the column {other[0]} belongs to no system beside {beside}; rename or remove it")
    return long_rows(rows, ("answer", SCORE))


def long_rows(rows: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """A row for each system, from one for each item with columns such as ``answer_NAME`` of each system."""
    own = [name for name in map(str, rows.columns) if name.startswith(tuple(f"{kind}_" for kind in kinds))]
    shared, parts = rows.drop(columns=own), []
    for system in dict.fromkeys(name.split("_", 1)[1] for name in own):
        given = {kind: rows[f"{kind}_{system}"] for kind in kinds if f"{kind}_{system}" in own}
        parts.append(shared.assign(system=system, **given))
    return pd.concat(parts, ignore_index=True) if parts else rows


def as_text(value: Any) -> str:
    """An id or a name as a text: 7.0 is 7, and what is missing is empty."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _check_complete(table: pd.DataFrame) -> None:
    """Raise if a system has no answer to an item, or more of them than another."""
    number = table.groupby(["item", "system"]).size().unstack(fill_value=0)
    usual = int(number.to_numpy().max())
    short = np.argwhere(number.to_numpy() < usual)
    if len(short):
        row, column = short[0]
        item, system, has = number.index[row], number.columns[column], int(number.to_numpy()[row, column])
        what = f"{how_many('run', has)} where others have {usual}" if has else "no answer"
        raise ValueError(
            f"system {shown(system)} has {what} for item {shown(item)}; each system needs an answer to each item: "
            "leave the item out, or give an empty answer"
        )


def with_ids(table: pd.DataFrame) -> pd.DataFrame:
    """The table with items and systems as texts; raises if one is empty."""
    for name, what in (("item", "an item"), ("system", "a system")):
        table = table.assign(**{name: table[name].map(as_text)})
        if (blank := table[name] == "").any():
            raise ValueError(f"row {table.index[blank][0]}: expected {what}; it is empty")
    return table


def numbers(table: pd.DataFrame, name: str) -> pd.Series:
    """A column as numbers; raises if it holds anything else, or a cost that is not above 0."""
    given = table[name]
    plain = given.map(lambda value: value if isinstance(value, (int, float)) else LETTERS.get(str(value), str(value)))
    numbers = pd.to_numeric(plain, errors="coerce").astype(float)
    wrong, expected = numbers.isna() & given.notna(), f"a number as {name}"
    if name == "cost":
        wrong, expected = ~((numbers > 0) & np.isfinite(numbers)), "a number above 0 as cost"
    if wrong.any():
        item, system = table.loc[wrong, ["item", "system"]].iloc[0]
        raise unfit(f"item {shown(item)}, system {shown(system)}", expected, shown(given[wrong].iloc[0]))
    return numbers


def _with_items_alike(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what is known of an item beside each of its answers."""
    for name in (name for name in _OF_ITEM if name in table.columns):
        several = table.groupby("item")[name].nunique() > 1
        if several.any():
            raise ValueError(f"item {shown(several.index[several][0])} has more than one {name}")
        table[name] = table.groupby("item")[name].transform("first")
    if "cluster" in table.columns and (none := table["cluster"].isna()).any():
        raise ValueError(f"item {shown(table['item'][none].iloc[0])} has no cluster")
    return table


def _docnos(table: pd.DataFrame) -> list[str]:
    """A name of each answer that does not tell its system; the same text to the same item has the same name."""
    if "answer" not in table.columns:
        return list(map(_hashed, table["item"], table["system"], table["run"]))
    text = table["answer"].str.strip()
    # A system that says the same in several runs has several answers, which share their names with another's.
    again = text.groupby([table["item"], table["system"], text]).cumcount() + 1
    return list(map(_hashed, table["item"], text, again.astype(str)))


def _hashed(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
