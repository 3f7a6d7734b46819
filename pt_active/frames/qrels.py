"""Judgments: which labels are valid, which grade each document has, and which labels are missing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, check_known, data_frame, document_of, how_many, some
from pt_active.frames.columns import as_numbers, refuse_rows, with_string_ids
from pt_active.frames.ids import first_rows, id_codes
from pt_active.frames.strays import NO_STRAYS, Strays, not_found, stray_labels

UNJUDGED = -1  # TREC's label for a document that was pooled but not judged. It counts as no label.
SPAM = -2  # The TREC Web track's label for spam and junk. It counts as a judgment of grade 0.
HIGHEST_LABEL = 1000  # Higher labels are taken for mistakes: the gain ``2^label − 1`` overflows a double at 1024


def checked_qrels(qrels: pd.DataFrame, max_grade: int | None = None, place: str = "row") -> pd.DataFrame:
    """Whole-number labels, each pair once: -1 (pooled but unjudged) is dropped, -2 (spam) becomes grade 0."""
    qrels = with_string_ids(label_columns(qrels), place)
    label = as_numbers(qrels["label"])
    whole = (label == np.floor(label)) & (label >= SPAM) & (label <= HIGHEST_LABEL)
    refuse_rows(qrels, ~whole, "label", f"a whole number from {SPAM} to {HIGHEST_LABEL}", place)
    if max_grade is not None:
        check_highest_grade(qrels.assign(label=label), max_grade)
    qrels["label"] = np.where(label == SPAM, 0, label).astype(np.int64)
    qrels = qrels[qrels["label"] != UNJUDGED].drop_duplicates().reset_index(drop=True)
    twice = qrels.duplicated(["qid", "docno"], keep=False)
    if twice.any():
        row = qrels[twice].iloc[0]
        labels = sorted(qrels[(qrels.qid == row.qid) & (qrels.docno == row.docno)].label)
        raise ValueError(f"qrels: {document_of(row.qid, row.docno)} has different labels: {labels}")
    return qrels


def check_highest_grade(qrels: pd.DataFrame, max_grade: int) -> None:
    """Raise if a label is above the highest grade."""
    wrong = qrels["label"].to_numpy() > max_grade
    refuse_rows(qrels, wrong, "label", f"not above the highest grade, {max_grade}")


def label_columns(qrels: pd.DataFrame) -> pd.DataFrame:
    """The columns ``qid, docno, label`` of judgments, unchanged."""
    return data_frame("qrels", qrels, "qid", "docno", "label")[["qid", "docno", "label"]]


MISSING_POLICIES = ("error", "nonrelevant")
"""What to do about a sampled document without a label: raise, or use grade 0."""

MISLEADS = "which misleads if people pass over what favours a ranker"
"""What is said where documents without a label count as not relevant."""

LOOK_SO_FAR = "; or look at what is judged so far: plan.status(qrels), or plan.so_far(qrels)"
"""The end of the error about missing labels where a plan can be cut to the part of its sample that is judged."""


@dataclass(frozen=True)
class JoinedLabels:
    """Labels of what an audit or an active test asks for."""

    label: np.ndarray  # float64[N]; NaN where there is none
    missing: tuple[tuple[str, str], ...]  # the (qid, docno) pairs that need a label and have none
    ignored: int  # the number of labels of what was not drawn
    unknown: Strays  # the labels that belong to nothing that could be drawn

    @property
    def grade(self) -> np.ndarray:
        """int64[N], the labels as grades; -1 where there is none."""
        return np.nan_to_num(self.label, nan=-1.0).astype(np.int64)

    @property
    def about(self) -> dict[str, Any]:
        """What a basis says of them."""
        return {name: getattr(self, name) for name in ("missing", "ignored", "unknown")}


def check_judged(qrels: pd.DataFrame) -> None:
    """Raise if the qrels contain no judgment."""
    if qrels.empty:
        raise ValueError("the qrels hold no judgment: they are empty, or all labels are negative, which means unjudged")


def labels_of(keys: pd.DataFrame, qrels: pd.DataFrame) -> np.ndarray:
    """float64[N], the label of each document; NaN where there is none."""
    if qrels.empty or not len(keys):
        return np.full(len(keys), np.nan)
    # The qrels come first, so that each document whose pair they have finds its label there.
    qid, docno = (pd.concat([qrels[name], keys[name]], ignore_index=True) for name in ("qid", "docno"))
    first = first_rows(id_codes(qid)[0], docno)[len(qrels) :]
    label = np.append(qrels["label"].to_numpy(dtype=np.float64, na_value=np.nan), np.nan)
    return label[np.minimum(first, len(qrels))]


def whole_labels(keys: pd.DataFrame, qrels: pd.DataFrame) -> np.ndarray:
    """int64[N], the grade of each document; -1 where there is none."""
    return np.nan_to_num(labels_of(keys, qrels), nan=-1.0).astype(np.int64)


def known_labels(keys: pd.DataFrame, qrels: pd.DataFrame) -> np.ndarray:
    """int64[N], the grade of each document of a plan; -1 where there is none."""
    check_judged(qrels)
    label = whole_labels(keys, qrels)
    check_some_known(label >= 0, keys, qrels)
    return label


def check_some_known(
    known: np.ndarray, keys: pd.DataFrame, qrels: pd.DataFrame, what: str = "a document of the plan"
) -> None:
    """Raise if no label belongs to a document of a plan."""
    if not known.any():
        raise not_found(f"no label belongs to {what}; do the qids and docnos match?", keys, qrels)


def warn_of_ignored(number: int, what: str) -> None:
    """Warn if labels are ignored."""
    if number:
        ignored = f"{how_many('label', number)} of {what} {agreeing('is', number)} ignored"
        warnings.warn(f"{ignored}: hand-picked judgments are not part of the sample", stacklevel=5)


def missing_pairs(
    keys: pd.DataFrame,
    unlabelled: np.ndarray,
    missing: str,
    what: str = "document",
    otherwise: str = "",
    strays: Strays = NO_STRAYS,
) -> tuple[tuple[str, str], ...]:
    """The (qid, docno) pairs that should have a label and have none; ``unlabelled`` is bool[N]."""
    pairs = tuple(keys.loc[unlabelled, ["qid", "docno"]].itertuples(index=False, name=None))
    if pairs and missing == "error":
        hint = "".join(f"; {said}" for said in (strays.counted, strays.hint) if said)
        lacking = f"{how_many(f'sampled {what}', len(pairs), 'has')} no label (-1 is none): {some(pairs)}"
        raise ValueError(f'{lacking}{hint}; judge them, or pass missing="nonrelevant"{otherwise}')
    return pairs


def joined_labels(
    keys: pd.DataFrame,
    drawn: np.ndarray,
    qrels: pd.DataFrame,
    missing: str,
    max_grade: int | None,
    what: str,
    needed: np.ndarray | bool = True,
) -> JoinedLabels:
    """Join checked labels to what was drawn, bool[N], of which all that is ``needed`` must have one."""
    check_known("missing", missing, MISSING_POLICIES)
    check_judged(qrels)
    label = np.where(drawn, labels_of(keys, qrels), np.nan)
    known = ~np.isnan(label)
    check_some_known(known, keys[drawn], qrels, f"a drawn {what}")
    if max_grade is not None:
        check_highest_grade(keys[known].assign(label=label[known].astype(np.int64)), max_grade)
    ignored = len(qrels) - int(known.sum())
    warn_of_ignored(ignored, f"{what}s that were not drawn")
    lacking = drawn & needed & ~known
    strays = stray_labels(keys, lacking, qrels)
    without = missing_pairs(keys, lacking, missing, what, strays=strays)
    return JoinedLabels(label, without, ignored, strays)
