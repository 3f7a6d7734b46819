"""Does the leaderboard of an automatic judge, which has labelled all pairs, hold for people [theory 5]?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, positive, some
from pt_active.frames.qrels import checked_qrels, known_labels
from pt_active.frames.sources import naming
from pt_active.inference.certificate import agreement, agreement_intervals, favours
from pt_active.inference.ties import places
from pt_active.plans.answers.basis import EXACT, promised
from pt_active.plans.answers.board import misses
from pt_active.plans.answers.forecast import foreseen, method_of
from pt_active.plans.answers.labelled import LabelledPlan
from pt_active.plans.answers.ranking import Ranking
from pt_active.plans.answers.results import NO_INTERVAL
from pt_active.plans.making.labelled import measured_values
from pt_active.relevance.grades.judges import AnyJudge, judge_labels
from pt_active.showing.printed import Printed, plain, printed
from pt_active.showing.rounding import amount

_MAX_TOP, _MAX_PRINTED = 10, 25
_MAX_UNTESTED = 0.05  # If labels say nothing of the errors of more pairs, there are no intervals
_SCATTER = "the judge errs normally about a curve in its values, alike for all rankers or as these share documents"


@dataclass(frozen=True)
class Certificate(Printed):
    """How far a judge's leaderboard is that of people, for the queries of the plan.

    Attributes:
        figures: ``name, value, low, high, estimated``: Kendall's ``tau``, ``tau_ap``, and ``overlap``, the share of the
            judge's ``top`` that is people's. ``estimated`` is by people's estimates as they are, whose errors lower it.
        runs: ``name, judge, people, error, low, high, judge_rank, rank``; the error is the judge's. Each interval
            holds alone.
        families: ``family, runs, favoured, low, high``: how much larger the errors of these rankers are than those of
            all others. These intervals hold at once.
        top: How many rankers are the best: a third, at most ten.
        needed: How much more people's labels must cost for the wanted ``half_width`` of the interval of τ, if it falls
            as errors do; NaN if that is not foreseen.
        people: The ranking of people.
    """

    figures: pd.DataFrame
    runs: pd.DataFrame
    families: pd.DataFrame
    top: int
    half_width: float
    needed: float
    people: Ranking = field(repr=False)

    @property
    def guarantee(self) -> str:
        """The guarantee of its intervals, as in `Estimate`."""
        return self.people.guarantee

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for them."""
        return (*self.people.assumptions, *(() if self.guarantee == EXACT else (_SCATTER,)))

    @property
    def headline(self) -> str:
        """How far the leaderboards agree, and what that promises, in one sentence."""
        _, value, low, high, _ = self.figures.iloc[0]
        ends = f"{low:.2f} to {high:.2f}" if np.isfinite(low) else NO_INTERVAL
        said = (
            f"the judge's order of {len(self.runs)} rankers by {self.people.basis.measure} has τ = {value:.2f} ({ends})"
        )
        return f"{said} with people's for {self.people.population}; {misses(self.guarantee, self.people.alpha)}"

    def to_dict(self) -> dict[str, object]:
        """Every number and sentence, ready for JSON: NaN becomes None."""
        names = ["headline", "figures", "runs", "families", "top", "half_width", "needed", "guarantee", "assumptions"]
        return {name: plain(getattr(self, name)) for name in names} | {"people": self.people.to_dict()}

    def __str__(self) -> str:
        tables = [each.head(_MAX_PRINTED) for each in (self.figures, self.runs, self.families) if len(each)]
        shown = [each.to_string(index=False, na_rep="–", float_format="{:.3f}".format) for each in tables]
        more = "not known" if np.isnan(self.needed) else f"{amount(self.needed)} more"
        facts = [("overlap", f"of the best {self.top}"), ("budget", f"{more} for τ ± {self.half_width:g}")]
        facts += [*self.people.basis.facts(of_many=True), ("holds", promised(self.guarantee, self.assumptions))]
        facts += [("note", self.people.note)] if self.people.note else []
        return printed("\n\n".join([self.headline, *shown]) + "\n", facts)


def certificate_of(
    labelled: LabelledPlan, people: Ranking, judge: AnyJudge, families: Mapping[str, str], half_width: float
) -> Certificate:
    """Compare the leaderboard of a judge with people's ranking of the same sample."""
    pool, measure, names = labelled.tables.pool, labelled.measure, people.names
    with naming("the judge"):
        label = known_labels(pool.keys, checked_qrels(judge_labels(judge), pool.max_grade))
    lacking = pool.keys.loc[pool.seen(measure) & (label < 0), ["qid", "docno"]]
    if people.basis.missing_policy == "error" and len(lacking):
        named = some(list(lacking.itertuples(index=False, name=None)))
        without = f"{how_many('document', len(lacking), 'has')} no label of the judge: {named}"
        raise ValueError(f'{without}; let it label them too, or pass missing="nonrelevant"')
    values = pool.query_weight @ measured_values(pool, measure, label)
    values = values[[labelled.names.index(name) for name in names]]
    estimates, top = np.array([each.value for each in people.estimates]), min(max(len(names) // 3, 1), _MAX_TOP)
    if len(names) < 3:
        raise ValueError("a certificate needs at least three rankers; the plan has two")
    for whose, each in (("the judge's", values), ("people's", estimates)):
        if not places(each).any():
            raise ValueError(
                f"by {whose} labels all {len(names)} rankers have the value {each[0]:.4g}: there is no order"
            )
    pairs, of_pairs = people.pairs(), np.zeros((len(names), len(names)))
    error = pairs["standard_error"].where(pairs["pvalue"].notna()).replace(np.inf, np.nan)
    of_pairs[np.triu_indices(len(names), 1)] = error.fillna(0.0)
    of_pairs += of_pairs.T
    figures = pd.DataFrame({"name": ["tau", "tau_ap", "overlap"]})
    figures[["value", "low", "high"]] = agreement_intervals(estimates, of_pairs, values, top, people.alpha)
    figures["estimated"] = agreement(values, estimates[None], top)[:, 0]
    low, high = np.transpose([each.confidence_interval() for each in people.estimates])
    runs = pd.DataFrame({"name": names, "judge": values, "people": estimates, "error": values - estimates})
    runs = runs.assign(low=values - high, high=values - low)
    for name, each in (("judge_rank", values), ("rank", estimates)):
        runs[name] = (places(-each)[:, None] > places(-each)).sum(axis=1) + 1
    favoured = _favoured(runs, families, of_pairs, people.alpha)
    if error.isna().mean() > _MAX_UNTESTED:
        figures[["low", "high"]] = favoured[["low", "high"]] = np.nan
    needed = _needed(labelled, figures["high"][0] - figures["low"][0], 2 * positive("half_width", half_width))
    runs = runs.sort_values(["judge_rank", "name"], ignore_index=True)
    return Certificate(figures, runs, favoured, top, half_width, needed, people)


def _favoured(runs: pd.DataFrame, families: Mapping[str, str], of_pairs: np.ndarray, alpha: float) -> pd.DataFrame:
    """How much the judge favours each family of rankers, most first."""
    columns = ["family", "runs", "favoured", "low", "high"]
    if not families:
        return pd.DataFrame(columns=columns)
    if lacking := [name for name in runs["name"] if name not in families]:
        raise ValueError(f"{some(lacking)} {agreeing('has', len(lacking))} no family")
    family, group, size = np.unique(runs["name"].map(families), return_inverse=True, return_counts=True)
    if len(family) == 1:
        raise ValueError(f"all rankers are of the family {family[0]}, so there are no others to compare it with")
    by, half = favours(runs["error"].to_numpy(), group, of_pairs, alpha)
    table = pd.DataFrame(dict(zip(columns, (family, size, by, by - half, by + half), strict=True)))
    return table.sort_values("favoured", ascending=False, kind="stable", ignore_index=True)


def _needed(labelled: LabelledPlan, width: float, wanted: float) -> float:
    """How much more people's labels must cost for a width, if it falls as the errors that the model expects."""
    tables, forecast = labelled.tables, foreseen(labelled.tables)
    if width <= wanted or forecast is None or np.isnan(width):
        return 0.0 if width <= wanted else np.nan
    curve, _ = forecast.curve(method_of(tables.manifest.arguments))
    return curve.budget_falling_to(wanted / width, tables.manifest.spent) - tables.manifest.spent
