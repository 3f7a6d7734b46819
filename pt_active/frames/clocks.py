"""The random time of each unit: from its id, the seed and what is believed, not from the order of the rows."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import pandas as pd

from pt_active.frames.ids import Texts

_HALF = 2.0**-54  # Half of the distance between the uniform numbers that 53 bits of a hash give
_BELOW_ONE = 1 - 2.0**-53  # The largest number below 1, to which the last of them would be rounded otherwise

Seed: TypeAlias = int | tuple[int, int]
"""A seed, also with a digest of what is believed. Other beliefs are other draws of the same seed, since a model that
learnt from labels must not meet the sample that these came from [theory 17]."""


def keys(seed: int, qid: pd.Series | Texts, docno: pd.Series | Texts | None = None, *, stage: int = 0) -> np.ndarray:
    """uint64[n], the SipHash of ``qid`` or ``qid<tab>docno``, keyed by the seed and the stage [theory 17]."""
    key = blake2b(f"{seed} {stage}".encode(), digest_size=8).hexdigest()
    ids = np.asarray(qid, dtype=object)
    if docno is not None:
        ids = ids + "\t" + np.asarray(docno, dtype=object)
    return np.asarray(pd.util.hash_array(ids, hash_key=key, categorize=False))


def clocks(seed: Seed, qid: pd.Series | Texts, docno: pd.Series | Texts | None = None, *, stage: int = 0) -> np.ndarray:
    """Exponential variables of units ``E = −log u``, where u in (0, 1) holds 53 bits of the unit's key [theory 14].

    The logarithm may differ between processors in the last bit, which changes no order: E is compared with numbers that
    it does not equal by design. Random numbers that depend on every bit follow from `keys`.

    Args:
        seed: The seed of the draws.
        qid: Ids of the queries.
        docno: Ids of the documents, if the units are documents.
        stage: As for `keys`.

    Returns:
        float64[n], positive.
    """
    number, believed = seed if isinstance(seed, tuple) else (seed, None)
    return times(keys(number, qid, docno, stage=stage), believed)


def times(bits: np.ndarray, believed: int | None) -> np.ndarray:
    """The clocks of units with these keys, uint64[n], under a digest of what is believed."""
    if believed is not None:
        bits = pd.util.hash_array(bits ^ np.uint64(believed))
    return np.asarray(-np.log(np.minimum((bits >> np.uint64(11)) * 2.0**-53 + _HALF, _BELOW_ONE)))
