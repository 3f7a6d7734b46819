"""Can the grade model of a plan be trusted, according to its labels [theory 10]?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many
from pt_active.inference.calibration import Calibration, calibration, calibration_bins
from pt_active.inference.replay import YARDSTICK, Method
from pt_active.inference.stopping.error_curve import ErrorCurve, least_budget
from pt_active.plans.answers.forecast import Forecast, method_of
from pt_active.plans.answers.pilot import Pilot
from pt_active.plans.making.kept import Kept, PlanTables
from pt_active.plans.making.labelled import bounded_chance, document_variable
from pt_active.showing.printed import Facts, Printed, printed


@dataclass(frozen=True)
class ModelCheck(Printed):
    """How well the grade model of a plan agrees with its weighted labels.

    The model is checked on labels that it has not seen.

    Attributes:
        measure: The plan's measure.
        variable: What is checked for each document: its ``gain``, its ``stopping probability``, or its ``grade`` if
            the measure is neither additive nor a cascade.
        calibration: The line through the labels.
        optimism: The variance that the labels show over the one that the model promised; NaN if it cannot be computed.
        promised: Label-equivalents that the model promised: the cost of plain random queries for the same error, over
            the cost of the plan.
        realised: Label-equivalents with the errors that the labels show, instead of those that the model promised.
        bins: ``low, high, documents, expected, observed, standard_error``, one row per bin of documents by what the
            model expects of them.
    """

    measure: str
    variable: str
    calibration: Calibration
    optimism: float
    promised: float
    realised: float
    bins: pd.DataFrame = field(repr=False, compare=False)

    @classmethod
    def of(cls, plan: Kept[PlanTables], qrels: pd.DataFrame) -> ModelCheck:
        """Check the grade model of a plan.

        Args:
            plan: Of queries or of documents.
            qrels: Its labels so far, with those from before extensions.

        Raises:
            ValueError: If the labels do not fit the plan.
        """
        return cls.of_pilot(Pilot.of(plan, qrels))

    @classmethod
    def of_pilot(cls, pilot: Pilot, forecast: Forecast | None = None) -> ModelCheck:
        """Check the grade model, given a pilot that is already joined to its labels."""
        variable, values = document_variable(pilot.measure, pilot.pool)
        use = pilot.chance > 0
        expected, observed = pilot.pool.grades[use] @ values, values[pilot.label[use]]
        chance, query = pilot.chance[use], pilot.pool.query_of_document[use]
        line = calibration(expected, observed, bounded_chance(chance), query)
        optimism, promised, realised = _gains(pilot, forecast)
        return cls(
            measure=str(pilot.measure),
            variable=variable,
            calibration=line,
            optimism=optimism,
            promised=promised,
            realised=realised,
            bins=pd.DataFrame(vars(calibration_bins(expected, observed, chance, query))).astype({"documents": int}),
        )

    def to_frame(self) -> pd.DataFrame:
        """One row with every number except those of the bins."""
        low, high = self.calibration.interval
        row = {"measure": self.measure, "variable": self.variable} | asdict(self.calibration)
        row |= {"slope_low": low, "slope_high": high, "optimism": self.optimism, "promised": self.promised}
        return pd.DataFrame([row | {"realised": self.realised}])

    @property
    def head(self) -> str:
        """The first printed line: what was checked, and on how many labels."""
        line = self.calibration
        labels = f"{how_many('label', line.n_documents)} of {how_many('query', line.n_queries)}"
        return f"Grade model on {labels}, {self.variable} in {self.measure}"

    def facts(self) -> Facts:
        """The printed lines below the first: the line through the labels, the variance, label-equivalents."""
        line, (low, high) = self.calibration, self.calibration.interval
        slope = "none: the model expects the same of every document"
        if np.isfinite(line.slope):
            slope = f"{line.slope:.2f}, 95% interval [{low:.2f}, {high:.2f}]; 1 where the model is right"
        facts = [("slope", slope)]
        if line.off:
            facts.append(("level", f"{line.off}: it expects {line.expected:.3g} where labels show {line.observed:.3g}"))
        if np.isfinite(line.intercept):
            facts.append(("intercept", f"{line.intercept:.3f} ± {line.intercept_error:.3f}"))
        if np.isfinite(self.optimism):
            facts.append(("variance", f"{self.optimism:.2f} times the promised one"))
        if np.isfinite(self.realised):
            worth = f"worth {self.realised:.2f} labels of random queries; promised {self.promised:.2f}"
            facts.append(("one label", worth))
        return facts

    def __str__(self) -> str:
        return printed(self.head, self.facts())


def _gains(pilot: Pilot, forecast: Forecast | None) -> tuple[float, float, float]:
    """Optimism, and the label-equivalents promised and realised; NaN if they cannot be computed."""
    tables, manifest = pilot.judged.tables, pilot.judged.tables.manifest
    if manifest.later_rankers or manifest.census:
        return np.nan, np.nan, np.nan
    forecast, own = forecast or Forecast.of(tables), method_of(manifest.arguments)
    expected, seen, shown = {}, {}, {}
    for method in (YARDSTICK, own):
        expected[method], units = forecast.curve(method)
        shown[method] = pilot.shown(method, units, forecast.document_gain)
        seen[method] = expected[method].scaled(shown[method])

    def gain(curves: dict[Method, ErrorCurve]) -> float:
        """The cost of plain random queries for the error that the plan has at its cost, over that cost."""
        passive, error = curves[YARDSTICK], curves[own].standard_error(manifest.spent)
        if not error > 0:
            return np.nan
        return least_budget(passive.total, lambda budget: passive.standard_error(budget) <= error) / manifest.spent

    return shown[own], gain(expected), gain(seen)
