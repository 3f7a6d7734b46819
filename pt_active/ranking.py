"""A ranking of many rankers: what each is worth, which differences are real, and who cannot be told apart."""

from __future__ import annotations

import html
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from string import ascii_lowercase

import numpy as np
import pandas as pd

from pt_active.documents.judged import JudgedDocuments
from pt_active.judged import JudgedSample
from pt_active.multiple_comparisons import PairTests, check_correction, corrected_pair_pvalues, indistinct_groups
from pt_active.results import Basis, Comparison, Estimate
from pt_active.simulate_tables import plain_rows

_SHOWN = 20
"""Rankers that are printed."""


@dataclass(frozen=True)
class Ranking:
    """All rankers of a plan, best estimate first, and the tests of all their differences.

    Attributes:
        estimates: One a ranker, best first.
        comparisons: One a pair, the ranker that stands higher minus the other, in the order of
            ``combinations(names, 2)``.
        corrected: The p-value of each comparison in view of all of them; NaN where there is no test.
        correction: Its name.
    """

    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    corrected: tuple[float, ...]
    correction: str

    @property
    def names(self) -> tuple[str, ...]:
        """The rankers, best estimate first."""
        return tuple(estimate.name for estimate in self.estimates)

    @property
    def alpha(self) -> float:
        """Level of all tests together."""
        return 1 - self.estimates[0].confidence_level

    @property
    def basis(self) -> Basis:
        """What the comparison that rests on least rests on."""
        return min((found.basis for found in self.comparisons), key=lambda basis: basis.n_effective)

    @property
    def winners(self) -> tuple[str | None, ...]:
        """The better ranker of each comparison, None where all tests together do not resolve it at their level."""
        return tuple(
            (found.first if found.difference > 0 else found.second) if pvalue < self.alpha else None
            for found, pvalue in zip(self.comparisons, self.corrected, strict=True)
        )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of rankers no two of which can be told apart; a ranker may be in several."""
        names = self.names
        joined = np.zeros((len(names), len(names)), dtype=bool)
        pairs = zip(combinations(range(len(names)), 2), self.winners, strict=True)
        for (a, b), winner in pairs:
            joined[a, b] = joined[b, a] = winner is None
        return tuple(tuple(names[s] for s in group) for group in indistinct_groups(joined))

    @property
    def letters(self) -> dict[str, str]:
        """Ranker → a letter for each of its groups; two rankers share one if they cannot be told apart."""
        return {name: cell.replace(" ", "") for name, cell in self._letter_columns().items()}

    @property
    def note(self) -> str:
        """What a reader must know before trusting the ranking; empty if there is nothing."""
        counts = Counter(found.note for found in self.comparisons if found.note)
        if len(counts) == 1 and counts.total() == len(self.comparisons):
            return next(iter(counts))
        said = [f"{count} of {len(self.comparisons)} pairs: {note}" for note, count in counts.most_common(3)]
        said += ["pairs() has the other notes"] if len(counts) > 3 else []
        for found, winner in zip(self.comparisons, self.winners, strict=True):
            if winner == found.second:
                said.append(f"{found.first} stands above {found.second}, but their comparison finds {winner} better")
        return "; ".join(said)

    def to_frame(self) -> pd.DataFrame:
        """One row a ranker, best first: ``name, estimate, low, high, groups``."""
        intervals = [estimate.confidence_interval() for estimate in self.estimates]
        columns = {"name": self.names, "estimate": [estimate.value for estimate in self.estimates]}
        columns |= {"low": [low for low, _ in intervals], "high": [high for _, high in intervals]}
        return pd.DataFrame(columns | {"groups": list(self.letters.values())})

    def pairs(self) -> pd.DataFrame:
        """One row a pair: the difference, its standard error, its p-value alone and corrected, winner and note."""
        rows = [
            {
                "first": found.first,
                "second": found.second,
                "difference": found.difference,
                "standard_error": found.standard_error,
                "pvalue": found.pvalue,
                "pvalue_corrected": pvalue,
                "winner": winner,
                "note": found.note,
            }
            for found, pvalue, winner in zip(self.comparisons, self.corrected, self.winners, strict=True)
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, object]:
        """Everything, ready for JSON: NaN and infinite numbers become None."""
        basis = asdict(self.basis) | {"missing": len(self.basis.missing)}
        head = {"correction": self.correction, "confidence_level": self.estimates[0].confidence_level}
        body = {"rankers": plain_rows(self.to_frame()), "groups": [list(group) for group in self.groups]}
        return plain_rows(pd.DataFrame([basis | head]))[0] | body | {"pairs": plain_rows(self.pairs())}

    def __str__(self) -> str:
        resolved = sum(winner is not None for winner in self.winners)
        level = f"{self.alpha:.2g} level, {self.correction}"
        head = f"{self.basis.measure} of {len(self.names)} rankers, best first ({self.basis.estimator})"
        lines = [head, *self._rows()]
        lines.append(
            f"told apart  {resolved} of {len(self.comparisons)} pairs ({level}); those that share a letter not"
        )
        return "\n  ".join(lines + self._sample_lines() + ([f"note        {self.note}"] if self.note else []))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

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
        width, cells = max(len(estimate.name) for estimate in shown), self._letter_columns()
        rows = []
        for estimate in shown:
            low, high = estimate.confidence_interval()
            interval = "no interval" if np.isnan(low) else f"[{low:.4f}, {high:.4f}]"
            rows.append(
                f"{estimate.name:{width}}  {estimate.value:.4f}  {interval:18}  {cells[estimate.name]}".rstrip()
            )
        rest = len(self.names) - len(shown)
        return rows + ([f"… and {rest} more, see to_frame()"] if rest else [])

    def _sample_lines(self) -> list[str]:
        lines = [line for line in self.basis.lines() if not line.startswith("error from")]
        if self.basis.level == "document" and not self.basis.census:
            lines[0] += " in the pair with the fewest"
        return lines


def rank_judged(
    judged: JudgedSample | JudgedDocuments, estimator: str, reference: str, confidence: float, correction: str
) -> Ranking:
    """Rank the systems of a judged sample [theory 5].

    Args:
        judged: The labels and what was sampled, of queries or of documents.
        estimator: As for ``judged.estimate``.
        reference: As for ``judged.estimate``.
        confidence: Level of the intervals; ``1 − confidence`` is the level of all tests together.
        correction: A name in `multiple_comparisons.CORRECTIONS`, or one that statsmodels' ``multipletests`` knows.

    Returns:
        The ranking; one warning for all cautions that comparisons of documents give.

    Raises:
        ValueError: If there is only one ranker, or an argument is unknown or out of range.
    """
    if len(judged.names) < 2:
        raise ValueError(f"a ranking needs at least two rankers; there is only {judged.names[0]!r}")
    check_correction(correction)
    how = estimator, reference, confidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [(judged.estimate(s, *how), s) for s in range(len(judged.names))]
        found.sort(key=lambda row: (-row[0].value, row[0].name))
        comparisons = _comparisons(judged, [s for _, s in found], how)
    _warn_of_cautions(comparisons)
    tests = PairTests(
        len(found),
        *(
            np.array([getattr(each, name) for each in comparisons], dtype=np.float64)
            for name in ("difference", "standard_error", "degrees_of_freedom", "pvalue")
        ),
    )
    corrected = corrected_pair_pvalues(tests, correction, 1 - confidence)
    return Ranking(tuple(each for each, _ in found), comparisons, tuple(map(float, corrected)), correction)


def _comparisons(
    judged: JudgedSample | JudgedDocuments, order: list[int], how: tuple[str, str, float]
) -> tuple[Comparison, ...]:
    from tqdm.auto import tqdm

    pairs = list(combinations(order, 2))
    return tuple(
        judged.compare(a, b, *how) for a, b in tqdm(pairs, desc="comparing", unit="pair", delay=1, leave=False)
    )


def _warn_of_cautions(comparisons: tuple[Comparison, ...]) -> None:
    cautious = [found for found in comparisons if found.basis.caution]
    if cautious:
        warnings.warn(
            f"{len(cautious)} of {len(comparisons)} comparisons want caution; the first, {cautious[0].first} − "
            f"{cautious[0].second}: {cautious[0].basis.caution}. The column note of pairs() has them all",
            stacklevel=4,
        )
