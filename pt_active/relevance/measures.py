"""Measures as `ir_measures` objects, with the value of a label and the weight of a rank in each.

``DCG``, ``ERR`` and ``Score`` are ours (`ir_measures` has no DCG, and its ERR needs Perl, numeric qids and five
grades); ``P``, ``RBP`` and ``RR`` are `ir_measures`' own. For these six `rank_form` gives the weights and label values
from which exact moments follow [theory 2]; any other measure is handled by Monte Carlo. A new measure is a function
that gives its `RankForm` and an entry in `RANK_FORMS`, with a class if `ir_measures` does not have it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import ir_measures
import numpy as np
from ir_measures import measures as irm

from pt_active.frames.checks import MAX_WHOLE, level, shown, whole_number
from pt_active.frames.qrels import HIGHEST_LABEL

GDEVAL_MAX_REL = 4  # The highest grade in gdeval.pl, the fixed scale of `ir_measures`' own ERR


class _DCG(irm.Measure):
    """Discounted Cumulative Gain [T 6.1]: ``Σ_i gain(y_i) / log2(i + 1)``, not normalised.

    Args:
        cutoff: The number of ranks that count, as in ``DCG@10``; all ranks if omitted.
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
        cutoff: The number of ranks that count, as in ``ERR(max_rel=3)@20``; all ranks if omitted.
        max_rel: The highest grade of the scale, on which every value depends. If left out, it is the highest grade of
            a plan or graded frame, and 4 elsewhere, as in `ir_measures`; results print it.
    """

    __name__ = "ERR"
    NAME = __name__
    PRETTY_NAME = "Expected Reciprocal Rank"
    SHORT_DESC = "The expected reciprocal rank at which a reader who may stop at each document stops."
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": irm.ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold"),
        "max_rel": irm.ParamInfo(dtype=int, required=False, desc="the highest grade of the scale"),
    }


class _Score(irm.Measure):
    """The mean score of the first answers: ``Σ_{i≤cutoff} score(y_i) / cutoff`` [theory 18].

    On a scale of whole scores from 0 or 1 a label is the score. On any other, label y stands for ``low + step y``.

    Args:
        cutoff: The number of answers that each system gave to an item, usually 1.
        low: The lowest score, 0 if omitted.
        step: How far neighbouring scores are apart, 1 if omitted.
    """

    __name__ = "Score"
    NAME = __name__
    PRETTY_NAME = "Mean score"
    SHORT_DESC = "The mean score of the first answers."
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": irm.ParamInfo(dtype=int, required=True, desc="answers of a system to an item"),
        "low": irm.ParamInfo(dtype=(int, float), default=0, desc="the lowest score"),
        "step": irm.ParamInfo(dtype=(int, float), default=1, desc="how far neighbouring scores are apart"),
    }


DCG, ERR, SCORE = _DCG(), _ERR(), _Score()


@dataclass(frozen=True)
class RankForm:
    """A measure as label values and rank weights [theory 2]."""

    family: Literal["additive", "cascade", "revealed"]  # ``additive``, ``cascade``, or `revealed.RevealedForm`
    values: np.ndarray  # float64[G+1], ``gain(y)`` or ``κ(y)`` of the grades 0 … G
    weights: np.ndarray  # float64[depth], ``d(i)`` or ``u(i)`` of the ranks 1 … depth


def parse_measure(measure: str | irm.Measure, max_grade: int | None = None) -> irm.Measure:
    """Turn a name or an `ir_measures` object into a measure with checked parameters.

    Args:
        measure: ``DCG@10``, ``"ERR(max_rel=3)@20"``, or any `ir_measures` measure or name. `ir_measures`' own ERR
            becomes this package's ERR, which has the same values with ``max_rel=4``.
        max_grade: The highest grade of the scale, for an ERR without ``max_rel``; 4, as in `ir_measures`, if left out.

    Raises:
        ValueError: If the name or a parameter is unknown or out of range.
    """
    parsed: irm.Measure = _by_name(measure) if isinstance(measure, str) else measure
    if not isinstance(parsed, irm.Measure):
        raise ValueError(f"measure must be an ir_measures measure or its name, got {shown(measure)}")
    if parsed.NAME == "ERR" and "max_rel" not in parsed.params:
        parsed = _ERR(**parsed.params, max_rel=GDEVAL_MAX_REL if max_grade is None else max_grade)
    _check_parameters(parsed)
    return parsed


def parse_lasting(measure: str | irm.Measure, max_grade: int | None = None) -> irm.Measure:
    """The measure of an object or name, if its name, which is all that a plan keeps, is enough to find it again."""
    measure = parse_measure(measure, max_grade)
    try:
        parse_measure(str(measure))
    except ValueError as error:
        raise ValueError(f"{measure} was defined at run time, so a plan cannot name it; plan for another") from error
    return measure


def _by_name(name: str) -> irm.Measure:
    _register()
    try:
        parsed = _written(name)
    except (KeyError, ValueError):
        try:
            (parsed,) = ir_measures.parse_trec_measure(name)
        except ValueError as error:
            ask = "write it as ir_measures does, such as DCG@10 or AP"
            raise ValueError(f"unknown measure {shown(name)}; {ask}") from error
    known = RANK_FORMS.get(str(parsed.NAME))
    return parsed if known is None else type(known.measure)(**parsed.params)


def _written(name: str) -> irm.Measure:
    """A measure from ``NAME(parameter=value)@cutoff``; ``ir_measures`` up to 0.4.3 cannot on Python 3.14."""
    try:
        node = ast.parse(name.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(str(error)) from error
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return _named(node.left) @ ast.literal_eval(node.right)
    return _named(node)


def _named(node: ast.expr) -> irm.Measure:
    parameters = {}
    if isinstance(node, ast.Call) and not node.args:
        parameters = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
        node = node.func
    if not isinstance(node, ast.Name):
        raise ValueError("expected a measure's name")
    return irm.registry[node.id](**parameters)


def _register() -> None:
    """Let `ir_measures` parse the names of the measures in `RANK_FORMS`, where it has no measure of that name."""
    for name, known in RANK_FORMS.items():
        irm.registry.setdefault(name, known.measure)


def _check_parameters(measure: irm.Measure) -> None:
    for name, about in measure.SUPPORTED_PARAMS.items():
        if about.required and name not in measure.params:
            so = "@…" if name == measure.AT_PARAM else f"({name}=…)"
            raise ValueError(f"{measure.NAME} needs its {name}: write {measure.NAME}{so}")
    try:
        measure.validate_params()
    except AssertionError as error:
        raise ValueError(f"{measure.NAME}: {error}") from error
    for name, most in (("cutoff", MAX_WHOLE), ("max_rel", HIGHEST_LABEL), ("rel", HIGHEST_LABEL)):
        if measure.params.get(name) is not None:
            whole_number(f"{measure}: {name}", measure[name], 1, most)
    if measure.NAME == "Score" and not (measure["step"] > 0 and np.isfinite(measure["low"] + measure["step"])):
        raise ValueError(f"{measure}: step must be positive, and low a finite number")
    if measure.NAME == "RBP":
        level(f"{measure}: p", measure["p"])


def cutoff_of(measure: irm.Measure) -> int | None:
    """The deepest rank that changes the measure; None for all, as for nDCG and AP, which see the whole pool."""
    return measure.params.get("cutoff") if has_rank_form(measure) else None


def has_rank_form(measure: irm.Measure) -> bool:
    """Whether the measure is additive or cascade, so that its moments are exact."""
    return measure.NAME in RANK_FORMS and not measure.params.get("judged_only", False)


def rank_form(measure: irm.Measure, max_grade: int, depth: int) -> RankForm:
    """The label values and rank weights of an additive or cascade measure.

    Args:
        measure: An additive or cascade measure with its parameters, the result of `parse_measure`.
        max_grade: The highest grade that occurs, G.
        depth: The deepest rank that occurs.

    Raises:
        ValueError: If a grade is above ERR's ``max_rel``.
    """
    depth = min(depth, measure.params.get("cutoff") or depth)
    return RANK_FORMS[str(measure.NAME)].form(measure, np.arange(max_grade + 1), np.arange(1, depth + 1))


def _dcg(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    gain = grade if measure["gain"] == "linear" else 2.0**grade - 1
    return RankForm("additive", gain.astype(float), 1 / np.log2(rank + 1))


def _score(measure: irm.Measure, grade: np.ndarray, rank: np.ndarray) -> RankForm:
    values = scores(measure["low"], measure["step"], len(grade) - 1)
    return RankForm("additive", values, np.full(len(rank), 1 / measure["cutoff"]))


def scores(low: float, step: float, max_grade: int) -> np.ndarray:
    """float64[G+1], the score that each label stands for; see `_Score`."""
    label = np.arange(max_grade + 1)
    return np.maximum(label, low).astype(float) if step == 1 and low in (0, 1) else low + step * label


def least_label(measure: irm.Measure) -> int:
    """The lowest label that people give: 1 on a scale of whole scores from 1, else 0."""
    return int(measure.NAME == "Score" and measure["low"] == 1 and measure["step"] == 1)


def check_minus_ones(measure: irm.Measure | None, labels: Iterable[object]) -> None:
    """Raise if a label is below 0 where scores are, since -1 may be meant as a score and not as unjudged."""
    if measure is None or measure.NAME != "Score" or measure["low"] >= 0:
        return
    if found := next(filter(None, (re.fullmatch(r"\s*(-[12])(\.0*)?\s*", str(label)) for label in labels)), None):
        stands = ", ".join(f"{label} for {measure['low'] + label * measure['step']:g}" for label in range(3))
        raise ValueError(f"{found[1]} is no label here, where labels count scores: {stands}; leave out the unjudged")


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
    """A measure that is additive or cascade."""

    measure: irm.Measure  # the measure without parameters, which its name stands for
    form: Callable[[irm.Measure, np.ndarray, np.ndarray], RankForm]  # from measure, grades 0 … G and ranks 1 … depth


RANK_FORMS: dict[str, RankMeasure] = {
    "DCG": RankMeasure(DCG, _dcg),
    "ERR": RankMeasure(ERR, _err),
    "P": RankMeasure(irm.P, _precision),
    "RBP": RankMeasure(irm.RBP, _rbp),
    "RR": RankMeasure(irm.RR, _rr),
    "Score": RankMeasure(SCORE, _score),
}
"""The measures that are additive or cascade, by name."""

_register()
