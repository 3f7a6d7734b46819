"""Whether a judge, such as an LLM, may replace people in a comparison of rankers.

The judge's own ranking of the rankers is known, since it labelled everything. A plan's human labels say how far it
is from the truth.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown
from pt_active.frames.qrels import checked_qrels
from pt_active.inference.ties import difference
from pt_active.plans.answers.labelled_plan import asked
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.plan import Plan
from pt_active.relevance.digits import rounded
from pt_active.showing.printed import Printed, plain_rows, printed

CONFIRMED, REFUTED, OPEN = "confirmed", "refuted", "open"
"""What human labels say about the order in which a judge puts two rankers."""


@dataclass(frozen=True)
class Replacement(Printed):
    """How far the results of a judge alone are from those of people.

    Attributes:
        judge: The name of the judge.
        measure: The measure.
        rankers: ``name, judge, people, standard_error, low, high, error, error_low, error_high``: the value by the
            judge's labels, which is known, the estimate of that by people's, and the judge's minus people's. All
            intervals hold at once. Without an interval, the plan does not tell the value.
        pairs: ``first, second, judge, people, standard_error, low, high, verdict``: differences of two rankers, the
            first being the one that the judge finds better. All intervals hold at once.
        confidence: The level of all intervals of ``rankers`` together, and of all of ``pairs``.
        basis: The sample in words; of many pairs, that of the comparison with the fewest effective labels.
    """

    judge: str
    measure: str
    rankers: pd.DataFrame
    pairs: pd.DataFrame
    confidence: float
    basis: tuple[tuple[str, str], ...]

    @property
    def tau(self) -> float:
        """Kendall's τ between the judge's order of the rankers and that of the estimates.

        Errors of the estimates make it smaller than the true one if rankers are close to each other.
        """
        return float((np.sign(self.pairs["judge"]) * np.sign(self.pairs["people"])).mean())

    @property
    def tau_interval(self) -> tuple[float, float]:
        """An interval of the true τ: pairs that are neither confirmed nor refuted count for it and against it.

        It is the range of τ over all differences that lie within all intervals of ``pairs``, so it holds with their
        probability whatever the truth is, ties included. A bootstrap of τ does not.
        """
        verdict = self.pairs["verdict"]
        sure = float((verdict == CONFIRMED).mean() - (verdict == REFUTED).mean())
        left = float((verdict == OPEN).mean())
        return sure - left, sure + left

    @property
    def wrong_levels(self) -> pd.DataFrame:
        """The rows of ``rankers`` whose value by the judge is proved to be wrong, the most wrong first."""
        found, apart = self.rankers, difference(self.rankers["judge"].to_numpy(), self.rankers["people"].to_numpy())
        wrong = found[((found["error_low"] > 0) | (found["error_high"] < 0)) & (apart != 0)]
        return wrong.iloc[np.argsort(-rounded(wrong["error"].abs().to_numpy()), kind="stable")]

    @property
    def answer(self) -> str:
        """What the labels say about the judge's order, and about their values if they prove one wrong."""
        if self.wrong_levels.empty:
            return self._of_the_order
        row, more = self.wrong_levels.iloc[0], len(self.wrong_levels) - 1
        others = f", and {more} more {agreeing('is', more)} wrong" if more else ""
        wrong = (
            f"people's labels prove that the value of {row['name']} is not {row['judge']:.2f}, as {self.judge} alone "
            f"finds: by people {row['people']:.2f}, error {_interval(row['error_low'], row['error_high'], 2)}{others}."
        )
        if (self.pairs["verdict"] == REFUTED).any():
            return f"{self._of_the_order} And {wrong}"
        return f"No: {wrong} Of the order alone: {self._of_the_order}"

    @property
    def _of_the_order(self) -> str:
        """What the labels say about the judge's order, in one sentence."""
        counts = self.pairs["verdict"].value_counts()
        confirmed, refuted, left = (int(counts.get(name, 0)) for name in (CONFIRMED, REFUTED, OPEN))
        if refuted:
            wrong = self.pairs[self.pairs["verdict"] == REFUTED].iloc[0]
            others = f" and {refuted - 1} more" if refuted > 1 else ""
            return (
                f"No: {self.judge} alone finds {wrong['first']} better than {wrong['second']}, and people's labels "
                f"prove the opposite{others}."
            )
        if not left:
            return f"Yes: people's labels confirm the order in which {self.judge} alone puts the rankers."
        return (
            f"Not known: people's labels confirm {confirmed} of {how_many('pair', len(self.pairs))} of rankers as "
            f"{self.judge} alone puts them, and leave {left} open."
        )

    def to_dict(self) -> dict[str, object]:
        """Every number, ready for JSON: NaN and infinite numbers become None."""
        head = {"answer": self.answer, "judge": self.judge, "measure": self.measure, "tau": self.tau}
        low, high = self.tau_interval
        tables = {"rankers": plain_rows(self.rankers), "pairs": plain_rows(self.pairs)}
        return head | {"tau_low": low, "tau_high": high, "confidence_level": self.confidence} | tables

    def __str__(self) -> str:
        low, high = self.tau_interval
        rows = [("ranker", self._in_words(row, row["name"])) for row in self.rankers.to_dict("records")]
        for row in self.pairs.head(_MAX_PRINTED).to_dict("records"):
            rows.append((row["verdict"], self._in_words(row, f"{row['first']} − {row['second']}", "+")))
        tau = [("tau", f"{low:.3f} to {high:.3f} ({self.confidence:.0%}); {self.tau:.3f} by the estimates")]
        number = how_many("ranker", len(self.rankers)), how_many("pair", len(self.pairs))
        level = [("level", f"the intervals of all {number[0]} hold at once, and those of all {number[1]}")]
        return printed(f"{self.answer}\n{self.measure}", [*rows, *tau, *level, *self.basis])

    def _in_words(self, row: dict[Any, Any], what: str, sign: str = "") -> str:
        """One row, of a ranker, whose error is given, or of a pair; without an interval its error alone."""
        values = f"{what}: {row['judge']:{sign}.4f} by {self.judge}, {row['people']:{sign}.4f} by people"
        if np.isnan(row["low"]):
            error = f"SE {row['standard_error']:.4f}" if row["standard_error"] > 0 else "its error unknown"
            return f"{values}, {error}: not known from this plan"
        if "error" in row:
            return f"{values}; error {row['error']:+.4f} {_interval(row['error_low'], row['error_high'])}"
        return f"{values} {_interval(row['low'], row['high'])}"


def _interval(low: float, high: float, places: int = 4) -> str:
    return f"[{low:+.{places}f}, {high:+.{places}f}]"


_MAX_PRINTED = 20  # Pairs of rankers that are printed, at most


def replacement(
    plan: Plan,
    qrels: pd.DataFrame,
    judge: pd.DataFrame,
    name: str = "the judge",
    measure: str | irm.Measure | None = None,
    confidence: float = 0.95,
    missing: str = "error",
) -> Replacement:
    """Compare what a judge alone says about rankers with what people's labels say.

    Args:
        plan: A plan of queries or documents, of two rankers or more.
        qrels: ``qid, docno, label``, people's labels of the plan.
        judge: ``qid, docno, label``, the judge's labels of all documents of the plan that the measure needs.
        name: The name of the judge.
        measure: The measure; the plan's own if left out.
        confidence: The level of the intervals of all rankers together, and of all pairs together (Bonferroni).
        missing: One of `qrels.MISSING_POLICIES`.

    Raises:
        ValueError: If the plan has one ranker, labels do not fit the plan, or the judge lacks labels.
    """
    if len(plan.rankers) < 2:
        raise ValueError(f"the plan has one ranker, {shown(plan.rankers[0])}: there is no comparison to judge")
    how = asked(plan.tables, measure, confidence=confidence, missing=missing)
    alone = _judge_alone(plan, judge, name, how.measure)
    each = partial(plan.compare, qrels, how.measure, missing=missing)
    with warnings.catch_warnings():
        # A plan for a difference lacks documents that single rankers need; these then have no interval.
        warnings.simplefilter("ignore", UserWarning)
        level = 1 - (1 - confidence) / len(plan.rankers)
        estimates = plan.estimate(qrels, how.measure, confidence=level, missing=missing)
    rows, found = [], []
    number = len(plan.rankers) * (len(plan.rankers) - 1) // 2
    for a, b in combinations(range(len(alone)), 2):
        lead = float(difference(alone[a], alone[b]))
        one, other = (plan.rankers[s] for s in ((a, b) if lead >= 0 else (b, a)))
        found.append(each(confidence=1 - (1 - confidence) / number, first=one, second=other))
        rows.append(_pair(found[-1], abs(lead)))
    fewest = min((pair.basis for pair in found), key=lambda basis: (basis.census, basis.n_effective))
    return Replacement(
        judge=name,
        measure=str(how.measure),
        rankers=pd.DataFrame(
            [_ranker(estimates[ranker], value) for ranker, value in zip(plan.rankers, alone, strict=True)]
        ),
        pairs=_closed(pd.DataFrame(rows)),
        confidence=confidence,
        basis=tuple(fewest.facts(of_many=len(found) > 1)),
    )


def _judge_alone(plan: Plan, judge: pd.DataFrame, name: str, measure: irm.Measure) -> np.ndarray:
    """float64[k], the value of each ranker by the judge's labels."""
    pool = plan.tables.pool
    said = pool.keys.merge(checked_qrels(judge), how="left", on=["qid", "docno"])
    lacking = said["label"].isna().to_numpy() & pool.seen(measure)
    if lacking.any():
        pair = said[lacking].iloc[0]
        raise ValueError(
            f"{name} has no label for {how_many('document', int(lacking.sum()))} of the plan, such as "
            f"{shown(pair['docno'])} of query {shown(pair['qid'])}: without them its own result is not known"
        )
    label = said["label"].fillna(0).to_numpy(dtype=np.int64)
    if (highest := int(label.max())) > pool.max_grade:
        raise ValueError(f"{name} gives the grade {highest}, above the highest grade of the plan, {pool.max_grade}")
    return np.asarray(pool.query_weight @ measured_values(pool, measure, label, expected=False))


def _ranker(estimate: Estimate, alone: float) -> dict[str, object]:
    low, high = estimate.confidence_interval()
    people = {"name": estimate.name, "judge": alone, "people": estimate.value}
    people |= {"standard_error": estimate.standard_error, "low": low, "high": high}
    return people | {"error": alone - estimate.value, "error_low": alone - high, "error_high": alone - low}


def _pair(found: Comparison, alone: float) -> dict[str, object]:
    """One row of the pairs. Without an interval, or if the judge finds both equal, nothing is confirmed."""
    low, high = found.confidence_interval()
    pair = {"first": found.first, "second": found.second, "judge": alone, "people": found.difference}
    verdict = CONFIRMED if alone and low > 0 else REFUTED if alone and high < 0 else OPEN
    return pair | {"standard_error": found.standard_error, "low": low, "high": high, "verdict": verdict}


def _closed(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs with verdicts that follow from others: if a is better than b, and b than c, so is a than c."""
    names = sorted(set(pairs["first"]) | set(pairs["second"]))
    place = {name: number for number, name in enumerate(names)}
    first, second = (pairs[side].map(place).to_numpy() for side in ("first", "second"))
    better = np.zeros((len(names), len(names)), dtype=bool)
    better[first, second] = pairs["verdict"] == CONFIRMED
    better[second, first] |= (pairs["verdict"] == REFUTED).to_numpy()
    for middle in range(len(names)):
        better |= better[:, [middle]] & better[[middle]]
    told = pairs["judge"].to_numpy() != 0
    verdict = np.select([better[first, second] & told, better[second, first] & told], [CONFIRMED, REFUTED], OPEN)
    return pairs.assign(verdict=verdict)
