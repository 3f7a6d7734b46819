"""Measures: `ir_measures` objects, and what each makes of a label at a rank.

``DCG`` and ``ERR`` are ours (`ir_measures` has no DCG, and its ERR needs Perl, numeric qids and five grades);
``P``, ``RBP`` and ``RR`` are `ir_measures`' own. For these five `rank_form` gives the weights and label values
from which exact moments follow [theory 2]; any other measure is handled by Monte Carlo. A new measure is a function
that gives its `RankForm` and an entry in `RANK_FORMS`, with a class if `ir_measures` does not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import ir_measures
import numpy as np
from ir_measures import measures as irm

GDEVAL_MAX_REL = 4
"""The highest grade that gdeval.pl, the reference for `ir_measures`' own ERR, has fixed."""


class _DCG(irm.Measure):
    """Discounted Cumulative Gain [T 6.1]: ``Σ_i gain(y_i) / log2(i + 1)``, not normalised.

    Args:
        cutoff: Ranks that count, as in ``DCG@10``; all of them if left out.
        gain: ``"exponential"``, ``2^y − 1`` (default), or ``"linear"``, ``y``.
    """

    __name__ = "DCG"
    NAME = __name__
    PRETTY_NAME = "Discounted Cumulative Gain"
    SHORT_DESC = "The total gain of a ranking, discounted by the logarithm of the rank."
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": irm.ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold"),
        "gain": irm.ParamInfo(
            dtype=str, choices=["exponential", "linear"], default="exponential", desc="2^y - 1, or y"
        ),
    }


class _ERR(irm.Measure):
    """Expected Reciprocal Rank [T 6.2]: ``Σ_i κ_i / i · Π_{l<i} (1 − κ_l)``, ``κ = (2^y − 1) / 2^max_rel``.

    Args:
        cutoff: Ranks that count, as in ``ERR(max_rel=3)@20``; all of them if left out.
        max_rel: The highest grade of the scale. It changes every value, so it has no default; inside a plan
            or a graded frame it is the highest grade there.
    """

    __name__ = "ERR"
    NAME = __name__
    PRETTY_NAME = "Expected Reciprocal Rank"
    SHORT_DESC = "The expected reciprocal rank at which a reader who may stop at each document stops."
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": irm.ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold"),
        "max_rel": irm.ParamInfo(dtype=int, required=False, desc="the highest grade of the scale"),
    }


DCG = _DCG()

ERR = _ERR()


@dataclass(frozen=True)
class RankForm:
    """A measure as label values and rank weights [theory 2].

    Attributes:
        family: ``"additive"``, ``Σ_i weight(i) value(y_i)``, or ``"cascade"``,
            ``Σ_i weight(i) value(y_i) Π_{l<i} (1 − value(y_l))``.
        values: float64[G+1], ``gain(y)`` or ``κ(y)`` of the grades 0 … G.
        weights: float64[depth], ``d(i)`` or ``u(i)`` of the ranks 1 … depth.
    """

    family: Literal["additive", "cascade"]
    values: np.ndarray
    weights: np.ndarray


def parse_measure(measure: str | irm.Measure, max_grade: int | None = None) -> irm.Measure:
    """Turn a measure or its name into the measure that is meant, ready to be computed.

    Args:
        measure: ``DCG@10``, ``"ERR(max_rel=3)@20"``, any `ir_measures` measure or name. `ir_measures`' own
            ERR becomes ours with gdeval's five grades, whose values it shares.
        max_grade: The highest grade of the scale, for an ERR that does not say its ``max_rel``.

    Returns:
        The measure, with checked parameters.

    Raises:
        ValueError: If the name or a parameter is unknown or out of range, or ERR's ``max_rel`` is open.
    """
    measure = _by_name(measure) if isinstance(measure, str) else measure
    if not isinstance(measure, irm.Measure):
        raise ValueError(f"measure must be an ir_measures measure or its name, got {measure!r}")
    if measure.NAME == "ERR":
        measure = _explicit_err(measure, max_grade)
    _check_parameters(measure)
    return measure


def parse_lasting(measure: str | irm.Measure, max_grade: int | None = None) -> irm.Measure:
    """As `parse_measure`, for a plan that is saved.

    Raises:
        ValueError: As `parse_measure` does, and if the measure could not be found again by its name.
    """
    measure = parse_measure(measure, max_grade)
    try:
        parse_measure(str(measure))
    except ValueError as error:
        raise ValueError(f"{measure} was defined at run time, so a plan cannot name it; plan for another") from error
    return measure


def _by_name(name: str) -> irm.Measure:
    _register()
    try:
        parsed = ir_measures.parse_measure(name)
    except (NameError, ValueError):
        parsed = _by_trec_name(name)
    known = RANK_FORMS.get(str(parsed.NAME))
    return parsed if known is None else type(known.measure)(**parsed.params)


def _register() -> None:
    """Let `ir_measures` parse the names of the measures in `RANK_FORMS`, where it has no measure of that name."""
    for name, known in RANK_FORMS.items():
        irm.registry.setdefault(name, known.measure)


def _by_trec_name(name: str) -> irm.Measure:
    try:
        (measure,) = ir_measures.parse_trec_measure(name)
    except ValueError as error:
        raise ValueError(
            f"unknown measure {name!r}; write it as ir_measures does, such as DCG@10, ERR(max_rel=3)@20, nDCG@10"
        ) from error
    return measure


def _explicit_err(measure: irm.Measure, max_grade: int | None) -> irm.Measure:
    if not isinstance(measure, _ERR):
        return _ERR(**measure.params, max_rel=GDEVAL_MAX_REL)
    if "max_rel" in measure.params:
        return measure
    if max_grade is None:
        raise ValueError(f"{measure} does not say the highest grade of the scale: write ERR(max_rel=…)")
    return measure(max_rel=max_grade)


def _check_parameters(measure: irm.Measure) -> None:
    try:
        measure.validate_params()
    except AssertionError as error:
        raise ValueError(f"{measure.NAME}: {error}") from error
    for name, lowest in (("cutoff", 1), ("max_rel", 1), ("rel", 1)):
        value = measure.params.get(name)
        if value is not None and value < lowest:
            raise ValueError(f"{measure}: {name} must be at least {lowest}, got {value}")
    if measure.NAME == "RBP" and not 0 < measure["p"] < 1:
        raise ValueError(f"{measure}: p must lie between 0 and 1, got {measure['p']}")


def cutoff_of(measure: irm.Measure) -> int | None:
    """How deep the measure sees a ranking; None for all of it.

    A measure that is neither additive nor cascade (nDCG, AP) is normalised by documents anywhere in the
    judged pool, so it sees the whole pool whatever its cutoff.
    """
    return measure.params.get("cutoff") if has_rank_form(measure) else None


def has_rank_form(measure: irm.Measure) -> bool:
    """Whether the measure is additive or cascade, so that its moments are exact."""
    return measure.NAME in RANK_FORMS and not measure.params.get("judged_only", False)


def is_own(measure: irm.Measure) -> bool:
    """Whether the measure is one of `RANK_FORMS` by a class of its own, which `ir_measures` cannot compute."""
    known = RANK_FORMS.get(str(measure.NAME))
    ours = known is not None and isinstance(measure, type(known.measure))
    return ours and not type(measure).__module__.startswith("ir_measures.")


def rank_form(measure: irm.Measure, max_grade: int, depth: int) -> RankForm:
    """The label values and rank weights of an additive or cascade measure.

    Args:
        measure: A measure for which `has_rank_form` holds, as `parse_measure` returns it.
        max_grade: The highest grade that occurs, G.
        depth: The deepest rank that occurs.

    Raises:
        ValueError: If a grade lies above ERR's ``max_rel``.
    """
    depth = min(depth, measure.params.get("cutoff") or depth)
    return RANK_FORMS[str(measure.NAME)].form(measure, np.arange(max_grade + 1), np.arange(1, depth + 1))


def _dcg(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    gain = grade if measure["gain"] == "linear" else 2.0**grade - 1
    return RankForm("additive", gain.astype(float), 1 / np.log2(rank + 1))


def _precision(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    return RankForm("additive", _relevant(measure, grade), np.full(len(rank), 1 / measure["cutoff"]))


def _rbp(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    return RankForm("additive", _relevant(measure, grade), (1 - measure["p"]) * measure["p"] ** (rank - 1.0))


def _err(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    max_rel = measure.params["max_rel"]
    if grade[-1] > max_rel:
        raise ValueError(f"{measure}: grade {grade[-1]} lies above max_rel={max_rel}")
    return RankForm("cascade", (2.0**grade - 1) / 2.0**max_rel, 1 / rank)


def _rr(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    return RankForm("cascade", _relevant(measure, grade), 1 / rank)


def _relevant(measure: irm.Measure, grade: np.ndarray) -> np.ndarray:
    return (grade >= measure.params.get("rel", 1)).astype(float)


class RankMeasure(NamedTuple):
    """A measure that is additive or cascade.

    Attributes:
        measure: The measure without parameters, which its name stands for.
        form: From the measure with its parameters, the grades 0 … G and the ranks 1 … depth to its `RankForm`.
    """

    measure: irm.Measure
    form: Callable[[irm.Measure, np.ndarray, np.ndarray], RankForm]


RANK_FORMS: dict[str, RankMeasure] = {
    "DCG": RankMeasure(DCG, _dcg),
    "ERR": RankMeasure(ERR, _err),
    "P": RankMeasure(irm.P, _precision),
    "RBP": RankMeasure(irm.RBP, _rbp),
    "RR": RankMeasure(irm.RR, _rr),
}
"""The measures that are additive or cascade, by name."""

_register()
