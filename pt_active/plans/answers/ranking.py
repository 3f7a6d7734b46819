"""A ranking of rankers or predictors: what each is worth, which differences are real, and who cannot be told apart."""

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
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.results import Basis, Comparison, Estimate
from pt_active.plans.making.artifact import Printed, plain_rows, printed

_SHOWN = 20
"""Rankers or predictors that are printed."""

_LETTERS = 26
"""Groups that are printed as letters."""

_COMMON = (
    *("measure", "estimator", "level", "n_draws", "n_queries", "n_judged"),
    *("census", "missing_policy", "ignored", "n_rounds"),
)
"""What all comparisons have in common."""

_RANKED = {"query": "rankers", "document": "rankers", "pair": "predictors"}
"""What is ranked, by level."""


@dataclass(frozen=True)
class Ranking(Printed):
    """All rankers of a plan, or predictors of an audit, best estimate first, and the tests of all their differences.

    Attributes:
        estimates: One a ranker, best first.
        comparisons: One a pair, the one that stands higher minus the other, in the order of ``combinations(names, 2)``.
        corrected: The p-value of each comparison in view of all of them; NaN where there is no test.
        correction: Its name.
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
    def basis(self) -> Basis:
        """What the comparison that rests on least rests on; a census rests on everything."""
        return min((found.basis for found in self.comparisons), key=lambda basis: (basis.census, basis.n_effective))

    @property
    def winners(self) -> tuple[str | None, ...]:
        """The better one of each comparison, None where all tests together do not resolve it at their level."""
        return tuple(
            found.better if pvalue < self.alpha else None
            for found, pvalue in zip(self.comparisons, self.corrected, strict=True)
        )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Sets of names no two of which can be told apart, as large as can be; one may be in several.

        Each pair that cannot be told apart is in one of them [`significance.indistinct_groups`].
        """
        names = self.names
        joined = np.zeros((len(names), len(names)), dtype=bool)
        pairs = zip(combinations(range(len(names)), 2), self.winners, strict=True)
        for (a, b), winner in pairs:
            joined[a, b] = joined[b, a] = winner is None
        return tuple(tuple(names[s] for s in group) for group in indistinct_groups(joined))

    @property
    def letters(self) -> dict[str, str]:
        """Name → a letter for each of its groups; two share one if they cannot be told apart."""
        return {name: cell.replace(" ", "") for name, cell in self._letter_columns().items()}

    @property
    def note(self) -> str:
        """What a reader must know before trusting the ranking; empty if there is nothing."""
        noted = [found for found in self.comparisons if found.note]
        said = [found.note for found in noted[:1]]
        if len({found.note for found in self.comparisons}) > 1:
            pair = f"{noted[0].first} − {noted[0].second}"
            compared = how_many("pair", len(self.comparisons))
            have = agreeing("has", len(noted))
            said = [f"{len(noted)} of {compared} {have} a note, see pairs(); {pair}: {noted[0].note}"]
        cautions = {found.basis.caution for found in self.estimates}
        if len(cautions) == 1:
            said += [caution for caution in cautions if caution and caution not in said]
        if not said:
            said = [f"{found.name}: {found.note}" for found in self.estimates if found.note][:1]
        for found, winner in zip(self.comparisons, self.winners, strict=True):
            if winner == found.second:
                said.append(f"{found.first} stands above {found.second}, but their comparison finds {winner} better")
        return "; ".join(said)

    def to_frame(self) -> pd.DataFrame:
        """One row a ranker or predictor, best first: ``name, estimate, low, high, groups``."""
        intervals = [estimate.confidence_interval() for estimate in self.estimates]
        columns = {"name": self.names, "estimate": [estimate.value for estimate in self.estimates]}
        columns |= {"low": [low for low, _ in intervals], "high": [high for _, high in intervals]}
        return pd.DataFrame(columns | {"groups": list(self.letters.values())})

    def pairs(self) -> pd.DataFrame:
        """One row a pair: the difference, its standard error, its p-value alone and corrected, winner and note."""
        columns = ["first", "second", "difference", "standard_error", "pvalue"]
        table = pd.DataFrame({c: [getattr(found, c) for found in self.comparisons] for c in columns})
        winners = np.array(self.winners, dtype=object)
        notes = [found.note for found in self.comparisons]
        return table.assign(pvalue_corrected=self.corrected, winner=pd.Series(winners, dtype=object), note=notes)

    def to_dict(self) -> dict[str, object]:
        """Everything, ready for JSON: NaN and infinite numbers become None."""
        head = {name: getattr(self.basis, name) for name in _COMMON} | {"missing": len(self.basis.missing)}
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
        where = "those without a common letter" if len(self.groups) <= _LETTERS else "see groups and pairs()"
        pairs = "pairs" if self.basis.level != "pair" else f"pairs of {ranked}"
        facts = [("told apart", f"{resolved} of {len(self.comparisons)} {pairs} ({level}): {where}")]
        facts += [*self.basis.facts(of_many=True), *([("note", self.note)] if self.note else [])]
        return printed("\n  ".join([head, *self._rows()]), facts)

    def _letter_columns(self) -> dict[str, str]:
        """Each group's letter in a column of its own; after z come a', b' and so on."""
        letters = [ascii_lowercase[g % 26] + "'" * (g // 26) for g in range(len(self.groups))]
        cells = {name: "" for name in self.names}
        for letter, group in zip(letters, self.groups, strict=True):
            for name in self.names:
                cells[name] += letter if name in group else " " * len(letter)
        return cells

    def _rows(self) -> list[str]:
        shown = self.estimates[:_SHOWN]
        cells = self._letter_columns() if len(self.groups) <= _LETTERS else dict.fromkeys(self.names, "")
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


def rank_judged(judged: Judged, how: How[Any], correction: str = "holm") -> Ranking:
    """Rank the systems of a judged sample [theory 5].

    Args:
        judged: The labels and what was sampled, of queries, documents or pairs.
        how: What is asked; 1 minus the confidence is the level of all tests together.
        correction: ``tukey``, or a method that statsmodels' ``multipletests`` knows.

    Returns:
        The ranking, the best first; undefined estimates stand last. One warning for all cautions that comparisons of
        documents give.

    Raises:
        ValueError: If there is only one ranker, or an argument is unknown or out of range.
    """
    level = judged.basis.level
    if len(judged.names) < 2:
        raise ValueError(f"a ranking needs at least two {_RANKED[level]}; there is only {judged.names[0]!r}")
    check_correction(correction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [(judged.estimate(s, how), s) for s in range(len(judged.names))]
        sign = 1 if judged.lower_is_better else -1
        found.sort(key=lambda row: (np.isnan(row[0].value), sign * row[0].value, row[0].name))
        comparisons = _comparisons(judged, [s for _, s in found], how)
    if level != "pair":
        _warn_of_cautions([*comparisons, *(estimate for estimate, _ in found)])
    corrected = _corrected(comparisons, len(found), correction, 1 - how.confidence)
    return Ranking(tuple(each for each, _ in found), comparisons, tuple(map(float, corrected)), correction)


def _corrected(comparisons: tuple[Comparison, ...], systems: int, correction: str, alpha: float) -> np.ndarray:
    """float64[k(k−1)/2], the p-values in view of all of them."""
    names = ("difference", "standard_error", "degrees_of_freedom", "pvalue")
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
    cautions = list(dict.fromkeys(found.basis.caution for found in results if found.basis.caution))
    if cautions:
        warnings.warn(f"{cautions[0]} (the first of {how_many('such note', len(cautions))})", stacklevel=4)
