"""What do other judges, such as language models, say about a document's grade?"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pt_active.frames.checks import document_of, how_many
from pt_active.frames.columns import as_numbers, check_pairs, with_string_ids
from pt_active.frames.qrels import checked_qrels
from pt_active.frames.sources import naming, read_source
from pt_active.frames.tables import is_parquet, read_parquet, read_spreadsheet
from pt_active.frames.trec import read_qrels
from pt_active.relevance.grades import fitting
from pt_active.relevance.grades.features import first_pairs
from pt_active.relevance.grades.models import FittedGrades, MixtureGrades

VOTES_COLUMN = re.compile(r"^votes_(\d+)$")  # A judge's votes for each label, ``votes_0 … votes_H``

AnyJudge = pd.DataFrame | str | Path
"""A frame or a file, as `judge_table` takes it."""


class JudgeGrades(FittedGrades):
    """Labels or votes of a judge, such as a language model, corrected by people's labels.

    A pair with the shares ``s_h`` of the votes has ``P(y = g) = Σ_h s_h C[h, g]``, where C is the smoothed confusion
    matrix of the judge. A pair that the judge has not judged has the shares of the grades in training.

    Without ``fit``, where there is no human label yet: ``C[h, g] ∝ 0.4^|g − h|``, and for a pair that the judge has
    not judged the mean of those that it has. Only the precision of a plan rests on this; estimates and intervals are
    as valid as with any model.

    Of several judges take `MixtureGrades`, with a model for each.

    Args:
        judge: A frame or a file with ``qid, docno`` and ``label`` or ``votes_0 … votes_H``, which may be
            probabilities. H may differ from the highest grade.
        max_grade: G, the highest grade.

    Attributes:
        shares_: ``qid, docno`` and the share of the judge's votes for each label.
        confusion_: float64[H+1, G+1], ``P(y = g | vote h)``.
        marginal_: float64[G+1], the shares of the grades in training.
        agreement_: The share of the judge's votes that are people's labels in training.
    """

    def __init__(self, judge: AnyJudge, max_grade: int) -> None:
        self.judge = judge
        self.max_grade = max_grade

    def _learn(self, frame: pd.DataFrame, labels: np.ndarray) -> None:
        judged = labels >= 0
        frame, labels = frame[judged], labels[judged]
        self.marginal_ = fitting.marginal(labels, self.max_grade)
        self.shares_ = judge_table(self.judge)
        shares, seen = document_votes(frame, self.shares_)
        if not seen.any():
            raise ValueError(
                f"no judged training document ({len(frame)} in all) is in the judge's frame; do qid and docno match? "
                f"{first_pairs(frame, self.shares_)}"
            )
        counts = shares[seen].T @ np.eye(self.max_grade + 1)[labels[seen]]
        self.confusion_ = fitting.shrunk(counts, self.marginal_)
        same = np.pad(shares, ((0, 0), (0, self.max_grade + 1)))[np.arange(len(labels)), labels]
        self.agreement_ = float(same[seen].mean())

    def _grades(self, frame: pd.DataFrame) -> np.ndarray:
        return self._predict(frame)  # also before it is fitted

    def _predict(self, frame: pd.DataFrame) -> np.ndarray:
        if hasattr(self, "n_judged_"):
            table, confusion, usual = self.shares_, self.confusion_, self.marginal_
        else:
            table = judge_table(self.judge)
            given = votes_in(table)
            confusion = fitting.assumed_confusion(given.shape[1] - 1, self.max_grade)
            mean = given.mean(axis=0) if len(given) else np.full(given.shape[1], 1 / given.shape[1])
            usual = mean @ confusion
        shares, seen = document_votes(frame, table)
        if not seen.any():
            warnings.warn(f"the judge saw no document ({len(seen)} in all), so all get the same grades", stacklevel=4)
        return np.where(seen[:, None], shares @ confusion, usual)

    def described(self, name: str = "the judge") -> str:
        """Where the grades come from, and how far the judge is trusted, for printing."""
        if not hasattr(self, "n_judged_"):
            return f"Grade model: what {name} says, not checked by any human label. {_ASSUMED}"
        labels = how_many("human label", self.n_judged_)
        return f"Grade model: {name}, corrected by {labels}; it agrees with {self.agreement_:.0%} of them"


_ASSUMED = (
    f"The model assumes that its grade is the most probable one, and each step away {fitting.NEAR:g} times as probable "
    "as the step before.\nIf that is wrong, intervals get wider, but still hold."
)
"""What is said about judges that no human label has checked."""


def mean_of_judges(judges: Mapping[str, AnyJudge], max_grade: int) -> MixtureGrades:
    """The mean of the grades that judges give, each corrected by itself."""
    return MixtureGrades(*(JudgeGrades(judge, max_grade) for judge in judges.values()))


def judge_table(judge: AnyJudge) -> pd.DataFrame:
    """The answers of a judge as shares of votes.

    Args:
        judge: A file, as `read_judge` reads it, or a frame: ``qid, docno`` and ``label`` or ``votes_0 … votes_H``.

    Returns:
        ``qid, docno`` as strings, and the shares of the labels in columns ``0 … H``. Pairs without an answer are left
        out.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a column is missing, a pair occurs twice, or an answer is not a finite number.
    """
    frame = judge if isinstance(judge, pd.DataFrame) else read_judge(judge)
    votes = sorted(int(m.group(1)) for c in frame.columns if (m := VOTES_COLUMN.match(str(c))))
    if not {"qid", "docno"} <= set(frame.columns) or not ("label" in frame.columns or votes):
        raise ValueError(
            f"the judge's frame needs qid, docno and either label or votes_0 … votes_H, got {list(frame.columns)}"
        )
    if not votes:
        try:
            labels = checked_qrels(frame)
        except ValueError as error:
            raise ValueError(f"the judge's labels: {error}") from None
        width = labels["label"].max() + 1 if len(labels) else 1
        return labels[["qid", "docno"]].join(pd.DataFrame(np.eye(width)[labels["label"]]))
    if votes != list(range(len(votes))):
        raise ValueError(f"the judge's votes must run from votes_0 without a gap, got {votes}")
    pairs = with_string_ids(frame[["qid", "docno"]]).reset_index(drop=True)
    check_pairs(pairs, "the judge's frame")
    counts = np.column_stack([as_numbers(frame[f"votes_{h}"]) for h in votes])
    wrong = ~(np.isfinite(counts) & (counts >= 0)).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"the judge's votes must be finite and not negative; those of {how_many('pair', int(wrong.sum()))} are "
            f"not, such as {document_of(*pairs[wrong].iloc[0])}: {counts[wrong][0].tolist()}"
        )
    voted = counts.sum(axis=1) > 0
    shares = counts[voted] / counts[voted].sum(axis=1, keepdims=True)
    return pairs[voted].reset_index(drop=True).join(pd.DataFrame(shares))


def document_votes(frame: pd.DataFrame, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The shares of a judge's votes for each document, and whether it has any."""
    values = votes_in(frame[["qid", "docno"]].merge(table, how="left", on=["qid", "docno"]))
    seen = ~np.isnan(values[:, 0])
    return np.where(seen[:, None], values, 0.0), seen


def judge_labels(judge: AnyJudge) -> pd.DataFrame:
    """One label a pair: the grade with the most votes of the judge, the lowest of those that are tied."""
    table = judge_table(judge)
    return table[["qid", "docno"]].assign(label=votes_in(table).argmax(axis=1))


def votes_in(table: pd.DataFrame) -> np.ndarray:
    """float64[N, H+1], the shares of the votes in a table of `judge_table`."""
    return table.drop(columns=["qid", "docno"]).to_numpy(dtype=np.float64)


def read_judge(path: str | Path) -> pd.DataFrame:
    """Read the answers of a judge.

    Args:
        path: Parquet; a table with a header whose name has ``.csv`` or ``.tsv``; or TREC qrels, such as those of
            TREC's LLM judges and of ``umbrela evaluate``. All but Parquet may be compressed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is malformed.
    """
    if is_parquet(path):
        return read_parquet(path)
    if {".csv", ".tsv"}.isdisjoint(Path(path).suffixes):
        return read_qrels(path)
    with naming(path):
        return read_spreadsheet(read_source(path))
