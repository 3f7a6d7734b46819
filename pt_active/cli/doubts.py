"""What is probably wrong with runs and a measure, whatever the command?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import ir_measures.measures as irm
import pandas as pd


class Doubt(NamedTuple):
    """Something that is probably not meant.

    Attributes:
        about: What it is about.
        said: What it is.
    """

    about: str
    said: str


def doubts_about(runs: Mapping[str, pd.DataFrame], measure: irm.Measure, depth: int | None) -> list[Doubt]:
    """What a user should be told of runs and a measure before anything is made of them."""
    cutoff = measure.params.get("cutoff")
    kept = {name: run if depth is None else run[run["rank"] < depth] for name, run in runs.items()}
    found = [*_repeated(kept), *_alone(kept)]
    if depth is not None and cutoff is not None and depth < cutoff:
        said = f"--depth {depth} is less than the cutoff of {measure}, so that the ranks below count as empty"
        found.append(Doubt("depth", said))
    return found


def gains_of(measure: irm.Measure) -> str:
    """What a grade is worth in DCG and nDCG, whose gains differ by default; empty for other measures."""
    if measure.NAME == "DCG":
        linear = measure.params.get("gain") == "linear"
        other = "nDCG has linear gains, nDCG(dcg='exp-log2') exponential ones"
    elif measure.NAME == "nDCG":
        linear = measure.params.get("dcg", "log2") == "log2"
        other = "DCG has exponential gains, DCG(gain='linear') linear ones"
    else:
        return ""
    return f"{measure} has {'linear gains, the grade' if linear else 'exponential gains, 2^grade - 1'}; {other}"


def _repeated(runs: Mapping[str, pd.DataFrame]) -> Iterator[Doubt]:
    """Runs that are one and the same."""
    first: dict[int, str] = {}
    for name, run in runs.items():
        ranking = int(pd.util.hash_pandas_object(run[["qid", "docno", "rank"]], index=False).sum())
        if (other := first.setdefault(ranking, name)) != name:
            yield Doubt("runs", f"{other} and {name} are the same ranking, so that they cannot differ")


def _alone(runs: Mapping[str, pd.DataFrame]) -> Iterator[Doubt]:
    """Runs that have no document in common with another."""
    if len(runs) < 2:
        return
    pairs = pd.concat([run[["qid", "docno"]].assign(run=name) for name, run in runs.items()])
    shared = set(pairs.loc[pairs.duplicated(["qid", "docno"], keep=False), "run"])
    others = f"with {next(iter(runs))}" if len(runs) == 2 else "with any other run"
    for name in list(runs)[1:] if len(runs) == 2 else runs:
        if name not in shared:
            yield Doubt("runs", f"{name} has no document in common {others}: are their docnos of one collection?")
