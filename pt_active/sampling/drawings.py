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

DOCUMENT_DRAWINGS = (SUCCESSIVE, SURPRISES, "depth")
"""How documents are drawn: one after the other, so that surprises correct the model, or from the top of the rankings
down to a random depth."""


DEFENSIVE_VARIANCE = 1.0
"""Default share of the average variance that is added to each document, because a model that claims to be certain is
not believed [theory 5]."""


REVEALED_VARIANCE = 0.1
"""Default share of the average variance that is added to each document of a measure that is neither additive nor a
cascade. All documents of a query matter to it, most of them little."""


@dataclass(frozen=True)
class DrawingSettings:
    """How documents are chosen."""

    drawing: str  # A name in `DOCUMENT_DRAWINGS`; with ``depth``, no document is more probable than those above it
    defensive: float = DEFENSIVE_VARIANCE  # ε
    pairs: np.ndarray | None = None  # float64[k(k−1)/2], the weight of the variance of each pair of rankers in the mean
    serves_singles: bool = False  # Whether documents that matter to the values of single rankers alone can be drawn too


def natural_drawing(form: RankForm) -> str:
    """The drawing that suits what is measured."""
    if form.family == "additive":
        return SUCCESSIVE
    return SURPRISES if isinstance(form, RevealedForm) and form.compiled else "depth"


def usual_variance(form: RankForm) -> float:
    """The default share of the average variance that is added to each document."""
    return REVEALED_VARIANCE if form.family == "revealed" else DEFENSIVE_VARIANCE


def can_serve_singles(form: RankForm, drawing: str) -> bool:
    """Whether documents that matter to single rankers alone can be drawn at little cost."""
    return form.family != "additive" or drawing != "depth"


def check_settings(settings: DrawingSettings, form: RankForm, rankers: int) -> None:
    """Raise if a setting is unknown, out of range, or not for the measure."""
    if settings.drawing not in DOCUMENT_DRAWINGS:
        raise ValueError(f"unknown document design {settings.drawing!r}; it is one of {', '.join(DOCUMENT_DRAWINGS)}")
    natural = natural_drawing(form)
    if settings.drawing not in (natural, "depth"):
        usual = "depth" if natural == "depth" else f"{natural} or depth"
        raise ValueError(
            f"{SUCCESSIVE} is for additive measures, {SURPRISES} for nDCG and AP; documents of this measure are drawn "
            f"by {usual}, not by {settings.drawing}"
        )
    if not 0 <= settings.defensive < np.inf:
        raise ValueError(f"defensive must be a number from 0, got {settings.defensive}")
    if settings.pairs is not None:
        check_pair_weights(settings.pairs, rankers)
