"""How far do the judges of a plan agree, and does a verdict depend on one of them [theory 12]?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import ArgumentError, how_many
from pt_active.frames.qrels import known_labels
from pt_active.frames.records import ADJUDICATOR, latest
from pt_active.inference.agreement import coincidences, ordinal_alpha, quadratic_kappa
from pt_active.inference.stopping.looks import ALWAYS, FIRST, SECOND
from pt_active.plans.answers.judged import Contrast, How
from pt_active.plans.answers.labelled_plan import labelled_plan
from pt_active.plans.answers.looks import PLANNED, Question, growing, growth_of
from pt_active.plans.answers.results import Estimate
from pt_active.plans.answers.sequence import sequence_of
from pt_active.plans.answers.status import VALID
from pt_active.plans.answers.verdict import verdict_of
from pt_active.plans.making.judgments import qrels_of, settled_labels
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.parts import in_parts
from pt_active.plans.making.sampled import sampled
from pt_active.showing.printed import Facts, Printed, plain, plain_rows, printed

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
        for first, second, documents, same, kappa in self.pairs.head(_MAX_PRINTED).itertuples(index=False, name=None):
            said = f"quadratic kappa {kappa:.3f}, " if np.isfinite(kappa) else ""
            facts.append(("pair", f"{first}, {second}: {said}{how_many('document', documents)}, {same:.0%} the same"))
        for judge in self.judges[self.judges["far"]].itertuples(index=False):
            apart = f"{judge.deviation:+.2f} grades from the others ± {judge.error:.2f}"
            facts.append(("far", f"{judge.annotator}: {apart}"))
        return facts

    def __str__(self) -> str:
        return printed(f"Agreement of {how_many('judge', len(self.judges))}", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON: NaN becomes None."""
        return {
            "alpha": plain(self.alpha),
            "twice_share": plain(self.twice_share),
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
        twice=int((np.bincount(item) > 1).sum()),
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


@dataclass(frozen=True)
class WithoutJudges(Printed):
    """The result without each judge in turn.

    Attributes:
        what: What is estimated: a ranker, or the difference of two.
        value: The estimate with all judges, from what is judged without a gap.
        winner: The better ranker with all judges; None if there is no verdict, or one ranker.
        standard_error: The jackknife's standard error over judges, ``√((J−1)/J Σ (θ_j − θ̄)²)``.
        table: ``annotator, labels, alone, value, winner``: for each judge the number of their labels, of documents that
            they alone judged, and the result without them. Those documents are then left to the grade model.
        looks: When the verdicts hold: None if all of the plan is judged, for one look at the end; if not, planned looks
            for a plan that comes in parts, and ``"always"`` for others, of which only bets prove anything.
    """

    what: str
    value: float
    winner: str | None
    standard_error: float
    table: pd.DataFrame
    looks: str | None = None

    @property
    def decisive(self) -> tuple[str, ...]:
        """The judges without whom there is another winner, or none."""
        changed = [winner != self.winner for winner in self.table["winner"]]
        return tuple(self.table["annotator"][changed])

    def facts(self) -> Facts:
        """Names and values, as printed."""
        facts = [
            ("all", f"{self.value:+.4f}, {self.winner or 'unresolved'}"),
            ("jackknife", f"SE {self.standard_error:.4f} over {how_many('judge', len(self.table))}"),
        ]
        for name, _, alone, value, winner in self.table.itertuples(index=False, name=None):
            left = f"; {how_many('document', alone)} left to the model" if alone else ""
            facts.append(("without", f"{name}: {value:+.4f}, {winner or 'unresolved'}{left}"))
        depends = f"the verdict depends on {', '.join(self.decisive)}"
        said = depends if self.decisive else "it depends on no single judge"
        return [
            *facts,
            ("valid", VALID.get(self.looks, f"after each fifth of the plan ({self.looks})")),
            ("verdict", said),
        ]

    def __str__(self) -> str:
        return printed(f"{self.what}, without each judge", self.facts())

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON."""
        return {
            "what": self.what,
            "value": self.value,
            "winner": self.winner,
            "standard_error": self.standard_error,
            "decisive": list(self.decisive),
            "looks": self.looks,
            "judges": plain_rows(self.table),
        }


def without_judges(
    tables: PlanTables, records: pd.DataFrame, contrast: Contrast, how: How[irm.Measure]
) -> WithoutJudges:
    """The result of a plan without each judge in turn."""
    # Without a judge, the label of the other one counts.
    labels = settled_labels(records).assign(judges=1)
    names = sorted(set(labels["annotator"]) - {ADJUDICATOR})
    if len(names) < 2:
        raise ValueError(f"the labels are of {how_many('judge', len(names))}; none can be left out")
    alone = ~labels.duplicated(["qid", "docno"], keep=False)
    known = known_labels(tables.pool.keys, qrels_of(labels))
    drawn = sampled(tables)
    lacking = drawn.wanted & tables.pool.seen(tables.measure) & (known < 0)
    cut = drawn.cut(known) if lacking.any() else tables
    looks = None if cut is tables else PLANNED if in_parts(tables) else ALWAYS
    if looks == PLANNED and contrast.second is not None:
        how = replace(how, confidence=_at_the_last_part(tables, known, contrast, how), reference="effective")

    def result(labels: pd.DataFrame, filled: bool) -> tuple[float, str | None]:
        """The estimate and the better ranker; if ``filled``, what has no label is as the model expects."""
        qrels = qrels_of(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = labelled_plan(cut, qrels).judged(how).result(contrast, how)
            if isinstance(found, Estimate):
                return float(found.value), None
            # At any time bets alone give a verdict.
            winner = _proved(tables, qrels, contrast, how, filled) if looks == ALWAYS else found.winner
            return float(found.difference), winner

    value, winner = result(labels, False)
    rows = []
    for name in names:
        mine = labels["annotator"] == name
        rows.append((name, int(mine.sum()), int((mine & alone).sum()), *result(labels[~mine], True)))
    table = pd.DataFrame(rows, columns=["annotator", "labels", "alone", "value", "winner"])
    # A column that pandas infers would turn None into NaN.
    table["winner"] = pd.Series([row[-1] for row in rows], dtype=object)
    values = table["value"].to_numpy(dtype=np.float64)
    error = float(np.sqrt((len(names) - 1) / len(names) * ((values - values.mean()) ** 2).sum()))
    return WithoutJudges(contrast.named(tables.pool.names), value, winner, error, table, looks)


def _at_the_last_part(tables: PlanTables, label: np.ndarray, contrast: Contrast, how: How[irm.Measure]) -> float:
    """The level at which the last of the planned looks so far has its interval."""
    from scipy import special

    question = Question((contrast.first, contrast.second or 0), how.measure, PLANNED, None, how.confidence)
    return 1 - 2 * float(special.ndtr(-growth_of(growing(tables, label, PLANNED), question).past.critical[-1]))


def _proved(
    tables: PlanTables, qrels: pd.DataFrame, contrast: Contrast, how: How[irm.Measure], filled: bool
) -> str | None:
    """The ranker that is proved to be better at any time; None if the plan has no order that proves anything."""
    alpha = 1 - how.confidence
    try:
        proof = sequence_of(tables, known_labels(tables.pool.keys, qrels), how.measure).proof(contrast, alpha)
    except ArgumentError:
        return None
    proof = replace(proof, draws=proof.draws.as_expected) if filled else proof
    resolution = verdict_of(proof, 0.0, True, alpha).resolution
    better = {FIRST: contrast.first, SECOND: contrast.second}.get(resolution)
    return None if better is None else tables.pool.names[better]
