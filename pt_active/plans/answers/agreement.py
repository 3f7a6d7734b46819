"""How far do the judges of a plan agree [theory 12]?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.inference.agreement import coincidences, ordinal_alpha, quadratic_kappa
from pt_active.showing.printed import Facts, Printed, plain, printed

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
        judges: ``annotator, labels, skipped, unjudgeable``: for each judge the number of records of each kind.
    """

    alpha: float
    documents: int
    twice: int
    pairs: pd.DataFrame
    judges: pd.DataFrame

    @property
    def twice_share(self) -> float:
        """The share of the documents with a label that two or more judged; NaN if no document has one."""
        return self.twice / self.documents if self.documents else float("nan")

    def facts(self) -> Facts:
        """Names and values, as printed."""
        share = "" if not self.documents else f", {self.twice_share:.1%} by two or more"
        known = "not defined: all labels are the same" if np.isnan(self.alpha) else f"{self.alpha:.3f}"
        alpha = known if self.twice else "not known: no document has two labels"
        facts = [("alpha", f"{alpha} (ordinal)"), ("judged", f"{how_many('document', self.documents)}{share}")]
        for first, second, documents, same, kappa in self.pairs.head(_MAX_PRINTED).itertuples(index=False, name=None):
            said = f"quadratic kappa {kappa:.3f}, " if np.isfinite(kappa) else ""
            facts.append(("pair", f"{first}, {second}: {said}{how_many('document', documents)}, {same:.0%} the same"))
        return facts

    def __str__(self) -> str:
        return printed(f"Agreement of {how_many('judge', len(self.judges))}", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON: NaN becomes None."""
        said: dict[str, object] = plain(self) | {"twice_share": plain(self.twice_share)}
        return said


def agreement_of(records: pd.DataFrame, max_grade: int) -> Agreement:
    """The agreement of judges."""
    counted = latest(records[records["annotator"] != ADJUDICATOR])
    labels = counted[counted["label"].notna()]
    item = labels.groupby(["qid", "docno"], sort=False).ngroup().to_numpy()
    grade = labels["label"].to_numpy(dtype=np.int64)
    return Agreement(
        alpha=ordinal_alpha(coincidences(item, grade, max_grade + 1)),
        documents=len(np.unique(item)),
        twice=int((np.bincount(item) > 1).sum()),
        pairs=_pairs(labels.assign(item=item, grade=grade), max_grade + 1),
        judges=_judges(counted),
    )


def _pairs(labels: pd.DataFrame, grades: int) -> pd.DataFrame:
    """One row for each two judges with documents in common."""
    rows: list[tuple[object, ...]] = []
    by_judge = {str(name): group.set_index("item")["grade"] for name, group in labels.groupby("annotator")}
    for first, second in combinations(sorted(by_judge), 2):
        both = pd.concat([by_judge[first], by_judge[second]], axis=1, join="inner").to_numpy(dtype=np.int64)
        if len(both):
            counts = np.bincount(both @ [grades, 1], minlength=grades**2).reshape(grades, grades)
            rows.append((first, second, len(both), float(np.trace(counts) / len(both)), quadratic_kappa(counts)))
    return pd.DataFrame(rows, columns=["first", "second", "documents", "same", "kappa"])


def _judges(counted: pd.DataFrame) -> pd.DataFrame:
    """One row for each judge."""
    rows = []
    for name, group in counted.groupby("annotator"):
        kinds = group["status"].value_counts()
        counts = [int(kinds.get(status, 0)) for status in ("judged", "skipped", "unjudgeable")]
        rows.append((name, *counts))
    return pd.DataFrame(rows, columns=["annotator", "labels", "skipped", "unjudgeable"])
