"""Labels that belong to no document of a plan, such as those whose ids have lost leading zeros."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, document_of, how_many, shown


@dataclass(frozen=True)
class Strays:
    """Labels of a plan's queries that belong to no document of the plan."""

    number: int = 0
    example: str = ""  # one of them, in words
    hint: str = ""  # whose leading zeros are lost, in words; empty if it is not that

    @property
    def counted(self) -> str:
        """The number of labels, and one of them, in words; empty if there are none."""
        if not self.number:
            return ""
        return f"{how_many('label', self.number)} of documents that are not in the plan, such as {self.example}"

    @property
    def caution(self) -> str:
        """What a reader must know if leading zeros are lost; empty if they are not."""
        return f"{self.counted}, {agreeing('is', self.number)} not used: {self.hint}" if self.hint else ""


NO_STRAYS = Strays()

_PADDED = r"0[0-9]+"  # An id that a spreadsheet makes shorter


def stray_labels(keys: pd.DataFrame, lacking: np.ndarray, qrels: pd.DataFrame) -> Strays:
    """Find the labels that belong to no document, and documents that lack one, bool[N], which may have been meant."""
    given, known = qrels[["qid", "docno"]], keys[["qid", "docno"]]
    joined = given.merge(known, how="left", indicator=True)
    unknown = given[(joined["_merge"] == "left_only").to_numpy()]
    _refuse_twins(known, lacking, given)
    documents = (frame.itertuples(index=False, name=None) for frame in (unknown, known[lacking]))
    meant = without_zeros(*documents)
    own = unknown["qid"].isin(keys["qid"].unique()).to_numpy()
    number = int(own.sum()) if own.any() else len(meant)
    if not number:
        return NO_STRAYS
    if not meant:
        return Strays(number, document_of(*unknown[own].iloc[0]))
    pair, other = next(iter(meant.items()))
    hint = f"{document_of(*pair)} may be {document_of(*other)} without its leading zeros"
    return Strays(number, document_of(*pair), hint)


def _refuse_twins(keys: pd.DataFrame, lacking: np.ndarray, given: pd.DataFrame) -> None:
    """Raise if a label of 7 may be meant for 007, which lacks one, in a file none of whose ids has leading zeros."""
    padded = keys["qid"].str.fullmatch(_PADDED) | keys["docno"].str.fullmatch(_PADDED)
    documents = keys[padded.to_numpy(dtype=bool) & lacking]
    if documents.empty or any(given[name].str.fullmatch(_PADDED).any() for name in given):
        return
    short = documents.apply(lambda ids: ids.map(_as_number))
    meant = short.reset_index().merge(given).merge(keys)
    if len(meant):
        index, *pair = meant.iloc[0]
        other = document_of(*documents.loc[index])
        raise ValueError(
            f"{document_of(*pair)} has a label and {other} has none: if a spreadsheet removed leading zeros, either "
            "may be meant; keep ids as text, or give labels of both"
        )


def not_found(complaint: str, keys: pd.DataFrame, qrels: pd.DataFrame) -> ValueError:
    """The error that no label belongs to any document, with a hint at lost zeros."""
    hint = stray_labels(keys, np.ones(len(keys), dtype=bool), qrels).hint
    return ValueError(f"{complaint}; {hint}" if hint else complaint)


def without_zeros(
    given: Iterable[tuple[str, ...]], known: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Ids that are known ones but for leading zeros, which spreadsheets remove from numbers: given → known."""
    numbers = {tuple(map(_as_number, each)): each for each in known}
    return {each: numbers[short] for each in given if (short := tuple(map(_as_number, each))) in numbers}


def lost_zeros(given: Iterable[str], known: Iterable[str]) -> str:
    """A hint at ids that are known ones but for leading zeros; empty if there are none."""
    pairs = without_zeros(((each,) for each in given), ((each,) for each in known))
    if not pairs:
        return ""
    (one,), (other,) = next(iter(pairs.items()))
    return f"{how_many('id', len(pairs), 'has')} other leading zeros, such as {shown(one)} for {shown(other)}"


def _as_number(name: str) -> str:
    """An id of digits without its leading zeros, as a spreadsheet shows it; any other id as it is."""
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name
