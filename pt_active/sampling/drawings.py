"""The ways of drawing documents, and the settings of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pt_active.relevance.measures import RankForm
from pt_active.relevance.revealed import RevealedForm
from pt_active.sampling.designs import check_pair_weights

SUCCESSIVE = "successive"
"""The drawing in which documents come one after the other, so that judging can end or go on at any of them."""


SURPRISES = "surprises"
"""The drawing for nDCG and AP in which single documents of all queries correct the model by what is surprising about
their labels."""

DOCUMENT_DRAWINGS = ("spread", "poisson", "depth", SUCCESSIVE, SURPRISES)
"""How the documents of a query are drawn: spread as evenly over the queries as possible, independently, from the top of
the rankings down to a random depth, one after the other, or so that surprises correct the model."""


"""What is minimised: the mean or the largest of the variances of all pairwise differences of rankers."""


DEFENSIVE_VARIANCE = 1.0
"""Default share of the average variance that is added to each document, because a model that claims to be certain is
not believed [theory 5]."""


REVEALED_VARIANCE = 0.1
"""Default share of the average variance that is added to each document of a measure that is neither additive nor a
cascade. All documents of a query matter to it, most of them little."""


NESTED_FAMILIES = ("cascade", "revealed")  # Families of measures whose documents are judged from the top by default


@dataclass(frozen=True)
class RoundSettings:
    """How the documents of each round are chosen."""

    drawing: str  # A name in `DOCUMENT_DRAWINGS`; with ``depth``, no document is more probable than those above it
    defensive: float = DEFENSIVE_VARIANCE  # ε
    pairs: np.ndarray | None = None  # float64[k(k−1)/2], the weight of the variance of each pair of rankers in the mean
    weighed_at: float | None = None  # The budget at which rounds are compared to weight their estimates
    serves_singles: bool = False  # Whether documents that matter to the values of single rankers alone can be drawn too


def opened_at_random(drawing: str, overhead: float) -> bool:
    """Whether queries are opened with a probability of their own, which all of their documents share."""
    return overhead > 0 or drawing == "depth"


def errs_together(drawing: str, overhead: float) -> bool:
    """Whether errors that the documents of a query have in common depend on how often it is opened."""
    return overhead > 0 and drawing in ("spread", "poisson")


def succession_unit(form: RankForm, overhead: float) -> str:
    """What comes at once in a successive drawing: a ``document``, a ``query`` or a ``step``."""
    if form.family == "cascade":
        return "step"
    return "query" if overhead > 0 else "document"


def natural_drawing(form: RankForm, rankers: int, overhead: float) -> str:
    """The drawing that suits what is measured."""
    if form.family in NESTED_FAMILIES:
        return SURPRISES if isinstance(form, RevealedForm) and form.compiled and overhead == 0 else "depth"
    return SUCCESSIVE if rankers > 1 and overhead == 0 else "spread"


def usual_variance(form: RankForm) -> float:
    """The default share of the average variance that is added to each document."""
    return REVEALED_VARIANCE if form.family == "revealed" else DEFENSIVE_VARIANCE


def can_serve_singles(form: RankForm, drawing: str, overhead: float) -> bool:
    """Whether documents that matter to single rankers alone can be drawn at little cost."""
    if form.family != "additive":
        return True
    return drawing != "depth" and not (drawing == SUCCESSIVE and succession_unit(form, overhead) == "query")


def check_settings(settings: RoundSettings, rankers: int) -> None:
    """Raise if a setting of a round is unknown or out of range."""
    if settings.drawing not in DOCUMENT_DRAWINGS:
        raise ValueError(f"unknown document design {settings.drawing!r}; it is one of {', '.join(DOCUMENT_DRAWINGS)}")
    if not 0 <= settings.defensive < np.inf:
        raise ValueError(f"defensive must be a number from 0, got {settings.defensive}")
    if settings.pairs is not None:
        check_pair_weights(settings.pairs, rankers)
