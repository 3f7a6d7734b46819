"""How far do the judges of a plan agree, and who is far from the others [theory 12]?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.inference.agreement import coincidences, ordinal_alpha, quadratic_kappa
from pt_active.showing.printed import Facts, Printed, plain_rows, printed

FAR_ERRORS = 3.0
"""A judge is far from the others if their grades differ from the others' by so many standard errors, …"""

FAR_GRADES = 0.25
"""… and by so many grades on average."""

_MIN_JUDGES = 3
"""Among fewer judges nobody is far from the others."""

_MAX_PRINTED = 10
"""Pairs of judges that are printed, at most."""


@dataclass(frozen=True)
class Agreement(Printed):
    """How far judges agree.

    Attributes:
        alpha: Krippendorff's alpha for ordinal grades, over all documents with two labels or more; NaN if there is
            none, or all labels are the same.
        documents: The number of documents with a label.
        twice: The number of documents with the labels of two judges or more.
        pairs: ``first, second, documents, same, kappa``: for each two judges with documents in common their number, the
            share with the same grade, and Cohen's kappa with quadratic weights.
        judges: ``annotator, labels, skipped, unjudgeable, shared, deviation, error, far``: for each judge the number of
            records of each kind, of documents that others judged too, by how many grades theirs are above the mean
            of the others there, the standard error of that, and whether they are far.
        confusions: (first, second) → int64[G+1, G+1], how often the first gave each grade (rows) where the second gave
            each (columns).
    """

    alpha: float
    documents: int
    twice: int
    pairs: pd.DataFrame
    judges: pd.DataFrame
    confusions: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def twice_share(self) -> float:
        """The share of the documents with a label that two or more judged; NaN if no document has one."""
        return self.twice / self.documents if self.documents else float("nan")

    @property
    def far(self) -> tuple[str, ...]:
        """The judges whose grades are far from those of the others."""
        return tuple(self.judges["annotator"][self.judges["far"]])

    def facts(self) -> Facts:
        """Names and values, as printed."""
        share = "" if not self.documents else f", {self.twice_share:.1%} by two or more"
        known = "not defined: all labels are the same" if np.isnan(self.alpha) else f"{self.alpha:.3f}"
        alpha = known if self.twice else "not known: no document has two labels"
        facts = [("alpha", f"{alpha} (ordinal)"), ("judged", f"{how_many('document', self.documents)}{share}")]
        for first, second, documents, same, kappa in zip(
            *(self.pairs.head(_MAX_PRINTED)[name].tolist() for name in self.pairs), strict=True
        ):
            said = f"quadratic kappa {kappa:.3f}, " if np.isfinite(kappa) else ""
            facts.append(("pair", f"{first}, {second}: {said}{how_many('document', documents)}, {same:.0%} the same"))
        for judge in self.judges[self.judges["far"]].itertuples(index=False):
            facts.append(
                ("far", f"{judge.annotator}: {judge.deviation:+.2f} grades from the others ± {judge.error:.2f}")
            )
        return facts

    def __str__(self) -> str:
        return printed(f"Agreement of {how_many('judge', len(self.judges))}", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON: NaN becomes None."""
        numbers = {"alpha": self.alpha, "twice_share": self.twice_share}
        return {name: value if np.isfinite(value) else None for name, value in numbers.items()} | {
            "documents": self.documents,
            "twice": self.twice,
            "far": list(self.far),
            "pairs": plain_rows(self.pairs),
            "judges": plain_rows(self.judges),
            "confusions": [
                {"first": first, "second": second, "counts": counts.tolist()}
                for (first, second), counts in self.confusions.items()
            ],
        }


def agreement_of(records: pd.DataFrame, max_grade: int) -> Agreement:
    """The agreement of judges."""
    counted = latest(records[records["annotator"] != ADJUDICATOR])
    labels = counted[counted["label"].notna()]
    item = labels.groupby(["qid", "docno"], sort=False).ngroup().to_numpy()
    grade = labels["label"].to_numpy(dtype=np.int64)
    pairs, confusions = _pairs(labels.assign(item=item, grade=grade), max_grade + 1)
    return Agreement(
        alpha=ordinal_alpha(coincidences(item, grade, max_grade + 1)),
        documents=len(np.unique(item)),
        twice=int((np.bincount(item) > 1).sum()) if len(item) else 0,
        pairs=pairs,
        judges=_judges(counted, labels["annotator"].to_numpy(), item, grade),
        confusions=confusions,
    )


def _pairs(labels: pd.DataFrame, grades: int) -> tuple[pd.DataFrame, dict[tuple[str, str], np.ndarray]]:
    """One row for each two judges with documents in common, and their confusions."""
    rows: list[tuple[object, ...]] = []
    confusions: dict[tuple[str, str], np.ndarray] = {}
    by_judge = {str(name): group.set_index("item")["grade"] for name, group in labels.groupby("annotator")}
    for first, second in combinations(sorted(by_judge), 2):
        both = pd.concat([by_judge[first], by_judge[second]], axis=1, join="inner").to_numpy(dtype=np.int64)
        if len(both):
            counts = np.bincount(both @ [grades, 1], minlength=grades**2).reshape(grades, grades)
            confusions[first, second] = counts
            rows.append((first, second, len(both), float(np.trace(counts) / len(both)), quadratic_kappa(counts)))
    return pd.DataFrame(rows, columns=["first", "second", "documents", "same", "kappa"]), confusions


def _judges(counted: pd.DataFrame, annotator: np.ndarray, item: np.ndarray, grade: np.ndarray) -> pd.DataFrame:
    """One row for each judge."""
    deviations, far, rows = _deviations(annotator, item, grade), _far(annotator, item, grade), []
    for name, group in counted.groupby("annotator"):
        kinds = group["status"].value_counts()
        counts = [int(kinds.get(status, 0)) for status in ("judged", "skipped", "unjudgeable")]
        rows.append((name, *counts, *deviations.get(str(name), (0, np.nan, np.nan)), name in far))
    names = ["annotator", "labels", "skipped", "unjudgeable", "shared", "deviation", "error", "far"]
    return pd.DataFrame(rows, columns=names)


def _deviations(annotator: np.ndarray, item: np.ndarray, grade: np.ndarray) -> dict[str, tuple[int, float, float]]:
    """Judge → the number of documents that others judged too, the mean deviation there, and its standard error."""
    total, judges = np.bincount(item, grade), np.bincount(item)
    others = judges[item] - 1
    # What the others gave on average; of no interest where there are none.
    difference = grade - (total[item] - grade) / np.maximum(others, 1)
    found = {}
    for name in np.unique(annotator):
        mine = difference[(others > 0) & (annotator == name)]
        if len(mine):
            error = float(mine.std(ddof=1) / np.sqrt(len(mine))) if len(mine) > 1 else float("nan")
            found[str(name)] = len(mine), float(mine.mean()), error
    return found


def _far(annotator: np.ndarray, item: np.ndarray, grade: np.ndarray) -> set[str]:
    """The judges far from the others: the furthest first, each by what is left without those before.

    Of two judges neither is far, since nothing says which one it is.
    """
    far: set[str] = set()
    kept = np.ones(len(item), dtype=bool)
    while True:
        left = _deviations(annotator[kept], item[kept], grade[kept])
        away = {
            name: abs(deviation)
            for name, (_, deviation, error) in left.items()
            if abs(deviation) > max(FAR_ERRORS * error, FAR_GRADES) and np.isfinite(error)
        }
        if not away or len(left) < _MIN_JUDGES:
            return far
        furthest = max(away, key=lambda name: away[name])
        far.add(furthest)
        kept &= annotator != furthest
