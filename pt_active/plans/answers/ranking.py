"""Which ranker or predictor is best, and which of them cannot be told apart?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from string import ascii_lowercase

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many
from pt_active.frames.progress import bar
from pt_active.inference.significance import (
    HOLM,
    TUKEY,
    check_correction,
    corrected_pvalues,
    indistinct_groups,
    tukey_pvalues,
)
from pt_active.inference.ties import places
from pt_active.plans.answers.basis import Basis, QueriesMeant
from pt_active.plans.answers.judged import How, Judged
from pt_active.plans.answers.promises import promised
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.showing.charts import ChartRow, Intervals
from pt_active.showing.printed import Charted, plain_rows, printed

_MAX_PRINTED = 20  # Rankers or predictors that are printed, at most
_MAX_LETTERS = 26  # If there are more groups, they are not printed as letters

_COMMON_FIELDS = (
    *("measure", "estimator", "level", "n_draws", "n_queries", "n_judged"),
    *("census", "missing_policy", "ignored", "n_rounds"),
)
"""Fields of `Basis` that are the same for all comparisons."""

_RANKED = {"query": "rankers", "document": "rankers", "pair": "predictors"}  # Level → what is ranked


@dataclass(frozen=True)
class Ranking(Charted):
    """All rankers of a plan, or predictors of an audit, best estimate first, and the tests of all their differences.

    Attributes:
        estimates: One per ranker, best first.
        comparisons: One per pair, the higher ranked minus the other, in the order of ``combinations(names, 2)``.
        corrected: The p-value of each comparison, corrected for their number; NaN if there is no test.
        correction: The name of the correction.
        beside: The same estimates and tests for the other queries, those of the pool or those like them; None of an
            audit.
    """

    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    corrected: tuple[float, ...]
    correction: str
    beside: Ranking | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The rankers or predictors, best estimate first."""
        return tuple(estimate.name for estimate in self.estimates)

    @property
    def population(self) -> QueriesMeant | None:
        """The queries that it holds for; None if the sample has no others to tell them from."""
        return self.estimates[0].population

    @property
    def holds_for_new(self) -> bool:
        """Whether it holds for queries like those of the pool, rather than for these."""
        return self.estimates[0].holds_for_new

    @property
    def guarantee(self) -> str:
        """The guarantee of its intervals, as in `Estimate`."""
        return self.estimates[0].guarantee

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for them."""
        return self.estimates[0].assumptions

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
            left = len(known) - np.searchsorted(known, pvalues)
            together = left if self.correction == HOLM else np.array(self.corrected) / pvalues
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

    @property
    def tests(self) -> list[tuple[Comparison, str | None, float]]:
        """Each comparison with its winner and the level of its interval in `pair_confidences`."""
        return list(zip(self.comparisons, self.winners, self.pair_confidences, strict=True))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of names in which no two can be told apart; a name may be in several.

        Each pair that cannot be told apart is in at least one of them [`significance.indistinct_groups`].
        """
        names = self.names
        joined = np.zeros((len(names), len(names)), dtype=bool)
        joined[np.triu_indices(len(names), 1)] = [winner is None for winner in self.winners]
        return tuple(tuple(names[s] for s in group) for group in indistinct_groups(joined | joined.T))

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
            pair, compared = f"{noted[0].first} − {noted[0].second}", how_many("pair", len(self.comparisons))
            have = agreeing("has", len(noted))
            notes = [f"{len(noted)} of {compared} {have} a note, see pairs() or --json; {pair}: {noted[0].note}"]
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
        rows = [
            ChartRow(each.what, each.difference, *each.confidence_interval(level), winner is not None)
            for each, winner, level in self.tests
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
        columns = ["first", "second", "difference", "standard_error", "pvalue", "note"]
        table = pd.DataFrame({c: [getattr(each, c) for each in self.comparisons] for c in columns})
        table.insert(5, "pvalue_corrected", self.corrected)
        table.insert(6, "winner", pd.Series(self.winners, dtype=object))
        return table

    def to_dict(self) -> dict[str, object]:
        """The whole ranking, ready for JSON: NaN and infinite numbers become None."""
        basis, beside = self.basis, self.beside
        said: dict[str, object] = {} if self.population is None else {"queries": self.population.name}
        said |= {} if beside is None else {"beside": beside.to_dict()}
        said |= {name: getattr(basis, name) for name in _COMMON_FIELDS} | {"missing": len(basis.missing)}
        said |= {"unknown": basis.unknown.number, "guarantee": self.guarantee, "assumptions": list(self.assumptions)}
        said |= {"correction": self.correction, "confidence_level": self.estimates[0].confidence_level}
        said |= {_RANKED[basis.level]: plain_rows(self.to_frame())}
        return said | {"groups": [list(group) for group in self.groups], "pairs": plain_rows(self.pairs())}

    def __str__(self) -> str:
        level, ranked = f"{self.alpha:.2g} level, {self.correction}", _RANKED[self.basis.level]
        head = f"{self.basis.measure} of {len(self.names)} {ranked}, best first ({self.basis.estimator})"
        where = "those without a common letter" if self._has_letters else "see groups and pairs()"
        pairs = "pairs" if self.basis.level != "pair" else f"pairs of {ranked}"
        facts = [("told apart", f"{self._told_apart(f' of {len(self.comparisons)} {pairs}')} ({level}): {where}")]
        facts += [*self.basis.facts(of_many=True), ("holds", promised(self.guarantee, self.assumptions))]
        facts += [("note", self.note)] if self.note else []
        return printed("\n  ".join([head, *self._rows()]), facts)

    def _told_apart(self, of: str) -> str:
        """How many pairs are told apart, for the queries that were asked for and for the others."""
        apart = f"{sum(winner is not None for winner in self.winners)}{of}"
        if self.beside is None:
            return apart
        return f"{apart} for {self.population}, {self.beside._told_apart('')} for {self.beside.population}"

    @property
    def _has_letters(self) -> bool:
        """Whether groups are few enough to be printed as letters."""
        return len(self.groups) <= _MAX_LETTERS

    def _letter_columns(self) -> dict[str, str]:
        """Name → its letters, with each group's letter in its own column; after z come a', b' and so on."""
        letters = [ascii_lowercase[g % 26] + "'" * (g // 26) for g in range(len(self.groups))]
        cells = {name: "" for name in self.names}
        for letter, group in zip(letters, self.groups, strict=True):
            for name in self.names:
                cells[name] += letter if name in group else " " * len(letter)
        return cells

    def _rows(self) -> list[str]:
        """The lines of the table: a ranker, its value, its interval and letters, and those for the other queries."""
        shown = self.estimates[:_MAX_PRINTED]
        columns = [
            _column("", [each.name for each in shown]),
            _column("", [f"{each.value:.4f}" for each in shown], ">"),
        ]
        for ranking in filter(None, (self, self.beside)):
            _, *ends = _column("", [each.interval_text() for each in ranking.estimates[: len(shown)]])
            if ranking._has_letters:
                letters = ranking._letter_columns()
                ends = [f"{each}  {letters[one.name]}" for each, one in zip(ends, shown, strict=True)]
            columns.append(_column("" if self.beside is None else str(ranking.population), ends))
        rest = len(self.names) - len(shown)
        rows = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        return [*filter(None, rows), *([f"… and {rest} more, all in the report"] if rest else [])]


Result = Estimate | Comparison | Ranking
"""One ranker, two, or more."""


def _column(head: str, cells: list[str], side: str = "<") -> list[str]:
    """A head and cells of equal width."""
    wide = max(map(len, (head, *cells)))
    return [f"{each:{side}{wide}}" for each in (head, *cells)]


def rank_judged(judged: Judged, how: How, correction: str = HOLM) -> Ranking:
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
        ranked, pairs = tuple(estimates[s] for s in order), list(combinations(order, 2))
        waiting = bar(pairs, "comparing", unit="pair", delay=1, leave=False)
        comparisons = tuple(judged.compare(a, b, how) for a, b in waiting)
    cautions = list(dict.fromkeys(each.basis.caution for each in (*comparisons, *ranked) if each.basis.caution))
    if cautions and level != "pair":
        rest = f" (the first of {len(cautions)} such notes)" if len(cautions) > 1 else ""
        warnings.warn(cautions[0] + rest, stacklevel=4)
    of_others = tuple(each.beside for each in ranked if each.beside is not None)
    others = tuple(each.beside for each in comparisons if each.beside is not None)
    beside = _tested(of_others, others, how, correction) if others else None
    return replace(_tested(ranked, comparisons, how, correction), beside=beside)


def _tested(ranked: tuple[Estimate, ...], comparisons: tuple[Comparison, ...], how: How, correction: str) -> Ranking:
    """A ranking with p-values that are corrected for the number of comparisons."""
    names = ("difference", "test_error", "test_degrees", "pvalue")
    columns = (np.array([getattr(each, name) for each in comparisons], dtype=np.float64) for name in names)
    difference, error, degrees, pvalues = columns
    if correction == TUKEY:
        corrected = tukey_pvalues(difference, error, degrees, pvalues, len(ranked))
    else:
        corrected = corrected_pvalues(pvalues, 1 - how.confidence, correction)[1]
    return Ranking(ranked, comparisons, tuple(map(float, corrected)), correction)
