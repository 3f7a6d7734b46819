"""What the labels of an active test say of its measure [theory 7]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pt_active.inference.statistics import Area, RoundEstimate, Statistic
from pt_active.inference.weightings import BY_SCORE, CONTROLLED, estimate_mean, estimate_statistic
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import Contrast, How, Judged, Measured
from pt_active.relevance.losses import Loss
from pt_active.rounds.instances import Measure
from pt_active.rounds.kept import Progress
from pt_active.sampling.sample import Steps


@dataclass(frozen=True)
class JudgedInstances(Judged):
    """The drawn instances of all rounds with their labels, for one system.

    Attributes:
        rounds: The draws.
        statistic: The values whose mean is estimated, float64[N], or a statistic of the labels.
        model: float64[N], the model's expectations of the values; None for a statistic.
        bandwidth: The bandwidth of the kernel regressions; None for a rule of thumb.
        beyond_score: The rounds' strategies whose probabilities depend on more than the model's score.
    """

    rounds: Steps
    statistic: Statistic | np.ndarray
    model: np.ndarray | None
    bandwidth: float | str | None
    beyond_score: tuple[str, ...]

    def measured(self, contrast: Contrast, how: How[Any]) -> Measured:
        """The mean or the statistic over the whole pool, by a name in `weightings.round_estimators`."""
        mean, values = self._estimate(how.estimator)
        undefined, census = not np.isfinite(mean.value), self.rounds.census
        certain = census and not undefined
        basis = replace(
            self.basis,
            estimator=how.estimator,
            n_effective=mean.effective,
            census=certain,
            caution=self._caution(how, undefined),
        )
        return Measured(
            value=float(mean.value),
            standard_error=float(mean.standard_error),
            degrees=float(mean.degrees_of_freedom),
            basis=basis,
            certain=certain,
            scale=float(np.abs(values).max(initial=0.0)),
            unusable=undefined,
            bounds=(0.0, 1.0) if is_share(how.measure) and how.estimator not in CONTROLLED else None,
        )

    def _estimate(self, estimator: str) -> tuple[RoundEstimate, np.ndarray]:
        """The estimate, and the values with whose size its standard error is compared to detect rounding errors."""
        if isinstance(self.statistic, np.ndarray):
            mean = estimate_mean(self.rounds, self.statistic, estimator, self.model, self.bandwidth)
            return mean, self.statistic
        return estimate_statistic(self.rounds, self.statistic, estimator, self.bandwidth), np.ones(1)

    def _caution(self, how: How[Any], undefined: bool) -> str:
        if undefined:
            lacking = "an instance that counts in its denominator"
            lacking = how.measure.needs if isinstance(how.measure, Area) else lacking
            return f"{how.measure} is undefined: it needs {lacking}, and the labels so far have none"
        if self.beyond_score and how.estimator in BY_SCORE and not self.rounds.census:
            return (
                f"{how.estimator} assumes that draws depend on the values through the model's own score alone; rounds "
                f"by {', '.join(self.beyond_score)} depend on more, so compare with lur"
            )
        return ""


def is_share(measure: Measure) -> bool:
    """Whether a measure of pairs lies in [0, 1] for all labels; then estimates that weight labels do too."""
    return isinstance(measure, Area) or (isinstance(measure, Loss) and measure.proportion)


def judged_instances(
    state: Progress, qrels: pd.DataFrame, how: How[Any], bandwidth: float | str | None, slice: str | None
) -> JudgedInstances:
    """Match labels to the draws of all rounds."""
    instances, drawn = state.instances, state.rounds.drawn
    labels = state.labels(qrels, how.measure, how.missing)
    statistic, model = instances.statistic(how.measure, labels.label, how.missing == "expected", slice)
    basis = Basis(
        measure=str(how.measure),
        estimator="",
        n_draws=int(drawn.sum()),
        n_queries=int(instances.frame["qid"][drawn[instances.instance]].nunique()),
        n_judged=int((labels.label >= 0).sum()),
        n_effective=np.nan,
        census=state.rounds.census,
        missing=labels.missing,
        missing_policy=how.missing,
        ignored=labels.ignored,
        unknown=labels.strays.kinds,
        label_caution=labels.strays.caution,
        level=instances.level,
        n_rounds=len(state.manifest.rounds),
    )
    beyond = {each.strategy for each in state.manifest.rounds} & instances.beyond_score
    return JudgedInstances((instances.name,), basis, state.rounds, statistic, model, bandwidth, tuple(sorted(beyond)))
