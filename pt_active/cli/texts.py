"""Which documents get a text from the file that is given on the command line?"""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd

from pt_active.frames.checks import how_many, some
from pt_active.frames.topics import read_texts
from pt_active.plans.plan import Plan


def with_texts(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Give the documents of a pool their texts; a warning counts those that have none."""
    docnos = frame["docno"].drop_duplicates()
    texts = _fitting(path, docnos, docnos, "pool")
    return frame.assign(text=frame["docno"].map(texts.set_index("docno")["text"]))


def texts_for(plan: Plan, path: Path, warned: bool = True) -> pd.DataFrame:
    """``docno, text`` for the documents of a plan."""
    judged = plan.assessments
    needed = judged["docno"][judged["text"].isna()] if "text" in judged.columns else judged["docno"]
    pool = pd.Series(plan.tables.pool.docno, dtype=object)
    return _fitting(path, pool.drop_duplicates(), needed.drop_duplicates() if warned else needed.head(0), "plan")


def _fitting(path: Path, docnos: pd.Series, needed: pd.Series, what: str) -> pd.DataFrame:
    """The texts of a file."""
    texts = read_texts(path, docnos=docnos)
    told = texts["docno"][texts["text"].notna()]
    if not docnos.isin(told).any():
        raise ValueError(
            f"{path}: no document of the {what} has a text there; the file is of {some(texts['docno'])}, "
            f"the {what} of {some(docnos)}"
        )
    if len(absent := needed[~needed.isin(told)]):
        count = how_many("document", len(absent))
        warnings.warn(f"{path}: no text for {count} of the {what}: {some(absent)}", stacklevel=3)
    return texts
