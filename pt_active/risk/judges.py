"""The pairs that judges, such as LLMs, graded, and what is believed of their true grades beforehand."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import reduce

import pandas as pd

from pt_active.frames.checks import how_many, shown, some
from pt_active.relevance.grades.judges import judge_labels, mean_of_judges

_PAIR = ["qid", "docno"]


def judged_pool(judges: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, dict[str, str]]:
    """The pairs that all judges graded, with a column for each judge; a warning counts the others.

    Args:
        judges: Name of a judge → labels or votes, as `judges.judge_table` takes them; of votes the most frequent
            grade is the judge's label, the lowest of those that are tied.

    Returns:
        ``qid, docno`` and a column for each judge, sorted; and name of a judge → column.

    Raises:
        ValueError: If there is no judge, a label is invalid, or no pair was graded by all.
    """
    if not judges:
        raise ValueError("there is no judge to audit: name one with judge=")
    columns = {name: f"judge_{number}" for number, name in enumerate(judges)}
    frames = [judge_labels(frame).rename(columns={"label": columns[name]}) for name, frame in judges.items()]
    pool = reduce(lambda one, other: one.merge(other, how="outer", on=_PAIR), frames)
    pool = pool.sort_values(_PAIR, ignore_index=True)
    for name, column in columns.items():
        if number := int(pool[column].isna().sum()):
            said = f"{how_many('pair', number, 'is')} left out, which {shown(name)} did not grade and others did"
            warnings.warn(said, stacklevel=2)
    pool = pool.dropna(subset=list(columns.values()), ignore_index=True)
    if pool.empty:
        raise ValueError(f"no pair was graded by all of {some(judges)}: do their qids and docnos match?")
    return pool.astype(dict.fromkeys(columns.values(), "int64")), columns


def with_beliefs(
    pool: pd.DataFrame, judges: Mapping[str, pd.DataFrame], max_grade: int, past: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Give the pairs of a pool ``grade_0 … grade_G``, by which an audit chooses what to label.

    Args:
        pool: As `judged_pool` returns it.
        judges: Name of a judge → labels or votes.
        max_grade: G, the highest grade.
        past: ``qid, docno, label``, human labels for pairs that the judges graded too, from which the judges'
            errors are learned; without them every judge is taken to be near the truth, as `JudgeGrades` says.

    Raises:
        ValueError: If a label is above the highest grade, or no pair of the past labels was graded by a judge.
    """
    said = pool[[name for name in pool.columns if name not in _PAIR]].max()
    for name, highest in zip(judges, said, strict=True):
        if highest > max_grade:
            raise ValueError(f"the judge {shown(name)} gives the grade {highest}, above the highest grade {max_grade}")
    models = mean_of_judges(judges, max_grade)
    if past is not None:
        models.fit(past[_PAIR].assign(score=0.0), past)
    graded: pd.DataFrame = models.transform(pool.assign(score=0.0))
    return graded.drop(columns="score")
