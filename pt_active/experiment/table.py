"""How are means, intervals and tests of systems put into one table?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import whole_number
from pt_active.inference import ties
from pt_active.inference.estimators import ESTIMATOR
from pt_active.inference.significance import corrected_pvalues
from pt_active.plans.answers.judged import How
from pt_active.plans.answers.judged_queries import JudgedQueries
from pt_active.relevance.measures import parse_measure

HIGHLIGHTS = {
    "bold": "font-weight: bold",
    "color": "background-color: lightgreen",
    "colour": "background-color: lightgreen",
}
"""Value of ``highlight`` → the CSS that marks the best mean of each measure."""

MAX_PLACES = 15  # Decimal places that a number may be rounded to, at most; more have no meaning


def places_of(round: int | Mapping[str, int] | None, known: list[str], max_grade: int) -> int | dict[str, int] | None:
    """Decimal places of all numbers, or by the full name of the measure; None for all digits."""
    if not isinstance(round, Mapping):
        return None if round is None else whole_number("round", round, 0, MAX_PLACES)
    places = {str(parse_measure(k, max_grade)): whole_number("round", n, 0, MAX_PLACES) for k, n in round.items()}
    if unknown := [name for name in places if name not in known]:
        raise ValueError(f"round has {unknown[0]}, which is not evaluated; the measures are {', '.join(known)}")
    return places


def rounded_means(frame: pd.DataFrame, places: int | dict[str, int] | None) -> pd.DataFrame:
    """The table of means, rounded; with places of single measures their means and intervals alone."""
    if not isinstance(places, dict):
        return frame if places is None else frame.round(places)
    return frame.round({f"{name}{end}": n for name, n in places.items() for end in ("", " low", " high")})


def rounded_values(frame: pd.DataFrame, places: int | dict[str, int] | None) -> pd.DataFrame:
    """``name, qid, measure, value, weight`` with rounded values; weights keep their digits."""
    rounded = frame["value"].copy()
    for name, number in (places if isinstance(places, dict) else dict.fromkeys(frame["measure"], places)).items():
        if number is not None:
            rounded = rounded.mask(frame["measure"] == name, rounded.round(number))
    return frame.assign(value=rounded)


def highlighted(frame: pd.DataFrame, measures: list[str], highlight: str) -> Any:
    """The table with the best mean of each measure marked."""

    def marks(means: pd.Series[Any]) -> list[Any]:
        place = ties.places(-means.to_numpy(dtype=np.float64))
        return [HIGHLIGHTS[highlight] if each == 0 else "" for each in place]

    return frame.style.apply(marks, subset=list[Any](measures))


def summary(
    judged: dict[irm.Measure, JudgedQueries],
    controls: dict[str, str | None],
    baselines: dict[int, str],
    asked: dict[irm.Measure, How[irm.Measure]],
    correction: str | None,
    correction_alpha: float,
) -> pd.DataFrame:
    """One row per system, as `experiment.Experiment` returns it, before it is rounded."""
    estimators = ["snis" if ranker is None else ESTIMATOR for ranker in controls.values()]
    columns: dict[str, Any] = {"name": list(controls), "estimator": estimators}
    for measure, sample in judged.items():
        each_by = [replace(asked[measure], estimator=name) for name in estimators]
        estimates = [sample.estimate(s, how) for s, how in enumerate(each_by)]
        ends = zip(*(estimate.confidence_interval() for estimate in estimates), strict=True)
        columns[str(measure)] = [estimate.value for estimate in estimates]
        columns |= {f"{measure} {end}": list(values) for end, values in zip(("low", "high"), ends, strict=True)}
    for measure, sample in judged.items():
        pvalues = {s: _pvalues(asked[measure], sample, estimators, s) for s in baselines}
        corrections = {} if correction is None else _corrected(pvalues, correction, correction_alpha)
        for s, suffix in baselines.items():
            gain = ties.difference(sample.values, sample.values[:, [s]])
            for sign, count in (("+", (gain > 0).sum(axis=0)), ("-", (gain < 0).sum(axis=0))):
                columns[f"{measure} {sign}{suffix}"] = [None if t == s else int(n) for t, n in enumerate(count)]
            columns[f"{measure} p-value{suffix}"] = pvalues[s]
            if correction is not None:
                columns[f"{measure} reject{suffix}"], columns[f"{measure} p-value corrected{suffix}"] = corrections[s]
    return pd.DataFrame(columns)


def _pvalues(how: How[irm.Measure], sample: JudgedQueries, estimators: list[str], baseline: int) -> np.ndarray:
    """float64[k], the p-value of each system against a baseline; NaN for the baseline itself."""
    pvalue = np.full(len(estimators), np.nan)
    for s in range(len(estimators)):
        if s != baseline:
            both = ESTIMATOR if {estimators[s], estimators[baseline]} == {ESTIMATOR} else "snis"
            pvalue[s] = sample.compare(s, baseline, replace(how, estimator=both)).pvalue
    return pvalue


def _corrected(
    pvalues: dict[int, np.ndarray], correction: str, alpha: float
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Baseline → rejections bool[k] and corrected p-values float64[k]; two baselines share one test of each other."""
    tests = {frozenset((s, t)): p for s, row in pvalues.items() for t, p in enumerate(row) if s != t}
    reject, corrected = corrected_pvalues(np.array(list(tests.values())), alpha, correction)
    place = {pair: i for i, pair in enumerate(tests)}
    by_baseline = {}
    for s, row in pvalues.items():
        at = np.array([place.get(frozenset((s, t)), -1) for t in range(len(row))])
        by_baseline[s] = (at >= 0) & reject[at], np.where(at >= 0, corrected[at], np.nan)
    return by_baseline
