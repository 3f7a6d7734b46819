"""Which ranker or predictor is best, and which of them cannot be told apart?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.inference.significance import (
    TUKEY,
    check_correction,
    corrected_pvalues,
    indistinct_groups,
    tukey_pvalues,
)
from pt_active.inference.ties import places
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.showing.charts import Intervals
from pt_active.showing.drawn import Drawn
from pt_active.showing.printed import plain_rows, printed
from pt_active.showing.svg import Row

_MAX_PRINTED = 20
"""Rankers or predictors that are printed, at most."""

_MAX_LETTERS = 26
"""If there are more groups, they are not printed as letters."""

_COMMON_FIELDS = (
    *("measure", "estimator", "level", "n_draws", "n_queries", "n_judged"),
    *("census", "missing_policy", "ignored", "n_rounds"),
)
"""Fields of `Basis` that are the same for all comparisons."""

HOLM = "holm"
"""The correction for many pairs unless another is asked for."""

_RANKED = {"query": "rankers", "document": "rankers", "pair": "predictors"}
"""Level → what is ranked."""


@dataclass(frozen=True)
class Ranking(Drawn):
    """All rankers of a plan, or predictors of an audit, best estimate first, and the tests of all their differences.

    Attributes:
        estimates: One per ranker, best first.
        comparisons: One per pair, the higher ranked minus the other, in the order of ``combinations(names, 2)``.
        corrected: The p-value of each comparison, corrected for their number; NaN if there is no test.
        correction: The name of the correction.
    """

    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    corrected: tuple[float, ...]
    correction: str

    @property
    def names(self) -> tuple[str, ...]:
        """The rankers or predictors, best estimate first."""
        return tuple(estimate.name for estimate in self.estimates)

    @property
    def alpha(self) -> float:
        """Level of all tests together."""
        return 1 - self.estimates[0].confidence_level

    @property
    def pair_confidence(self) -> float:
        """The level of each pair's interval at which those of all pairs hold at once (Bonferroni)."""
        return 1 - self.alpha / len(self.comparisons)

    @property
    def pair_confidences(self) -> tuple[float, ...]:
        """The level of each pair's interval at which it excludes 0 just where the corrected test finds a winner.

        That is `pair_confidence`, except for pairs that only a later step of Holm's test tells apart: with ``h``
        hypotheses left it is ``1 − α/h``. With another correction that disagrees with Bonferroni on a pair, it is the
        level at which that correction decides.
        """
        pvalues = np.array([each.pvalue for each in self.comparisons])
        known = np.sort(pvalues[~np.isnan(pvalues)])
        agree = np.isnan(pvalues) | (
            (pvalues < self.alpha / len(pvalues)) == [each is not None for each in self.winners]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            together = np.array(self.corrected) / pvalues
            if self.correction == HOLM:
                together = len(known) - np.searchsorted(known, pvalues)
            levels = np.where(agree, self.pair_confidence, 1 - self.alpha / together)
        return tuple(map(float, levels))

    @property
    def basis(self) -> Basis:
        """The basis of the comparison with the fewest effective labels; a census counts as the most."""
        return min((each.basis for each in self.comparisons), key=lambda basis: (basis.census, basis.n_effective))

    @property
    def winners(self) -> tuple[str | None, ...]:
        """The better one of each comparison; None if the corrected test is not significant."""
        return tuple(
            comparison.better if pvalue < self.alpha else None
            for comparison, pvalue in zip(self.comparisons, self.corrected, strict=True)
        )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of names in which no two can be told apart; a name may be in several.

        Each pair that cannot be told apart is in at least one of them [`significance.indistinct_groups`].
        """
        names = self.names
        joined = np.zeros((len(names), len(names)), dtype=bool)
        pairs = zip(combinations(range(len(names)), 2), self.winners, strict=True)
        for (a, b), winner in pairs:
            joined[a, b] = joined[b, a] = winner is None
        return tuple(tuple(names[s] for s in group) for group in indistinct_groups(joined))

    @property
    def letters(self) -> dict[str, str]:
        """Name → the letters of its groups; two names share a letter if they cannot be told apart."""
        return {name: cell.replace(" ", "") for name, cell in self._letter_columns().items()}

    @property
    def note(self) -> str:
        """What a reader must know before trusting the ranking; empty if there is nothing."""
        noted = [each for each in self.comparisons if each.note]
        notes = [each.note for each in noted[:1]]
        if len({each.note for each in self.comparisons}) > 1:
            pair = f"{noted[0].first} − {noted[0].second}"
            compared = how_many("pair", len(self.comparisons))
            have = agreeing("has", len(noted))
            notes = [f"{len(noted)} of {compared} {have} a note, see pairs(); {pair}: {noted[0].note}"]
        cautions = {each.basis.caution for each in self.estimates}
        if len(cautions) == 1:
            notes += [caution for caution in cautions if caution and caution not in notes]
        if not notes:
            notes = [f"{each.name}: {each.note}" for each in self.estimates if each.note][:1]
        # Comparisons have their own weights, so a pair can be ordered against the two estimates.
        for each, winner in zip(self.comparisons, self.winners, strict=True):
            if winner == each.second:
                notes.append(f"{each.first} stands above {each.second}, but their comparison finds {winner} better")
        return "; ".join(notes)

    def _chart(self) -> Intervals:
        """All pairs with intervals that agree with the verdicts."""
        pairs = zip(self.comparisons, self.pair_confidences, self.winners, strict=True)
        rows = [
            Row(each.what, each.difference, *each.confidence_interval(level), winner is not None)
            for each, level, winner in pairs
        ]
        return Intervals(rows, f"difference in {self.basis.measure}; filled: told apart", True)

    def to_frame(self) -> pd.DataFrame:
        """One row per ranker or predictor, best first: ``name, estimate, low, high, groups``."""
        intervals = [estimate.confidence_interval() for estimate in self.estimates]
        columns = {"name": self.names, "estimate": [estimate.value for estimate in self.estimates]}
        columns |= {"low": [low for low, _ in intervals], "high": [high for _, high in intervals]}
        return pd.DataFrame(columns | {"groups": list(self.letters.values())})

    def pairs(self) -> pd.DataFrame:
        """One row per pair: the difference, its standard error, p-values uncorrected and corrected, winner and note."""
        columns = ["first", "second", "difference", "standard_error", "pvalue"]
        table = pd.DataFrame({c: [getattr(each, c) for each in self.comparisons] for c in columns})
        winners = np.array(self.winners, dtype=object)
        notes = [each.note for each in self.comparisons]
        return table.assign(pvalue_corrected=self.corrected, winner=pd.Series(winners, dtype=object), note=notes)

    def to_dict(self) -> dict[str, object]:
        """The whole ranking, ready for JSON: NaN and infinite numbers become None."""
        head = {name: getattr(self.basis, name) for name in _COMMON_FIELDS} | {
            "missing": len(self.basis.missing),
            "unknown": sum(self.basis.unknown.values()),
            "unknown_kinds": dict(self.basis.unknown),
        }
        head |= {"correction": self.correction, "confidence_level": self.estimates[0].confidence_level}
        body = {
            _RANKED[self.basis.level]: plain_rows(self.to_frame()),
            "groups": [list(group) for group in self.groups],
        }
        return head | body | {"pairs": plain_rows(self.pairs())}

    def __str__(self) -> str:
        resolved = sum(winner is not None for winner in self.winners)
        level = f"{self.alpha:.2g} level, {self.correction}"
        ranked = _RANKED[self.basis.level]
        head = f"{self.basis.measure} of {len(self.names)} {ranked}, best first ({self.basis.estimator})"
        where = "those without a common letter" if len(self.groups) <= _MAX_LETTERS else "see groups and pairs()"
        pairs = "pairs" if self.basis.level != "pair" else f"pairs of {ranked}"
        facts = [("told apart", f"{resolved} of {len(self.comparisons)} {pairs} ({level}): {where}")]
        facts += [*self.basis.facts(of_many=True), *([("note", self.note)] if self.note else [])]
        return printed("\n  ".join([head, *self._rows()]), facts)

    def _letter_columns(self) -> dict[str, str]:
        """Name → its letters, with each group's letter in its own column; after z come a', b' and so on."""
        letters = [ascii_lowercase[g % 26] + "'" * (g // 26) for g in range(len(self.groups))]
        cells = {name: "" for name in self.names}
        for letter, group in zip(letters, self.groups, strict=True):
            for name in self.names:
                cells[name] += letter if name in group else " " * len(letter)
        return cells

    def _rows(self) -> list[str]:
        shown = self.estimates[:_MAX_PRINTED]
        cells = self._letter_columns() if len(self.groups) <= _MAX_LETTERS else dict.fromkeys(self.names, "")
        values = [f"{estimate.value:.4f}" for estimate in shown]
        intervals = [estimate.interval_text() for estimate in shown]
        columns = [[estimate.name for estimate in shown], values, intervals]
        wide = [max(map(len, column)) for column in columns]
        rows = [
            f"{name:{wide[0]}}  {value:>{wide[1]}}  {interval:{wide[2]}}  {cells[name]}".rstrip()
            for name, value, interval in zip(*columns, strict=True)
        ]
        rest = len(self.names) - len(shown)
        return rows + ([f"… and {rest} more, see to_frame()"] if rest else [])


def rank_judged(judged: Judged, how: How[Any], correction: str = HOLM) -> Ranking:
    """Rank the systems of a sample with labels [theory 5]."""
    level = judged.basis.level
    if len(judged.names) < 2:
        raise ValueError(f"a ranking needs at least two {_RANKED[level]}; there is only {judged.names[0]!r}")
    check_correction(correction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        estimates = [judged.estimate(s, how) for s in range(len(judged.names))]
        place = places(np.array([each.value for each in estimates]) * (1 if judged.lower_is_better else -1))
        order = sorted(range(len(estimates)), key=lambda s: (place[s], estimates[s].name))
        ranked, comparisons = tuple(estimates[s] for s in order), _comparisons(judged, order, how)
    if level != "pair":
        _warn_of_cautions([*comparisons, *ranked])
    corrected = _corrected(comparisons, len(ranked), correction, 1 - how.confidence)
    return Ranking(ranked, comparisons, tuple(map(float, corrected)), correction)


def _corrected(comparisons: tuple[Comparison, ...], systems: int, correction: str, alpha: float) -> np.ndarray:
    """float64[k(k−1)/2], the p-values corrected for their number."""
    names = ("difference", "test_error", "test_degrees", "pvalue")
    columns = (np.array([getattr(each, name) for each in comparisons], dtype=np.float64) for name in names)
    difference, error, degrees, pvalues = columns
    if correction == TUKEY:
        return tukey_pvalues(difference, error, degrees, pvalues, systems)
    return corrected_pvalues(pvalues, alpha, correction)[1]


def _comparisons(judged: Judged, order: list[int], how: How[Any]) -> tuple[Comparison, ...]:
    from tqdm.auto import tqdm

    pairs = list(combinations(order, 2))
    return tuple(judged.compare(a, b, how) for a, b in tqdm(pairs, desc="comparing", unit="pair", delay=1, leave=False))


def _warn_of_cautions(results: Sequence[Comparison | Estimate]) -> None:
    cautions = list(dict.fromkeys(each.basis.caution for each in results if each.basis.caution))
    if cautions:
        warnings.warn(f"{cautions[0]} (the first of {how_many('such note', len(cautions))})", stacklevel=4)
