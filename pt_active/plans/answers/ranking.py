"""Which ranker or predictor is best, and which of them cannot be told apart?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, check_known, how_many
from pt_active.frames.progress import bar
from pt_active.inference.leaderboard import (
    JointErrors,
    best_pvalues,
    better_pvalues,
    level_of_all,
    luck_of_the_winner,
)
from pt_active.inference.significance import HOLM, TUKEY, corrected_pvalues, tukey_pvalues
from pt_active.inference.ties import places
from pt_active.plans.answers.basis import Basis, QueriesMeant, promised
from pt_active.plans.answers.board import Board, board_lines, misses
from pt_active.plans.answers.labelled import Labelled, Settings
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.showing.charts import ChartRow, Intervals
from pt_active.showing.printed import Charted, plain_rows, printed

JOINT = "joint"
"""The name of the tests that know how all differences depend on each other [`leaderboard.better_pvalues`]."""

CORRECTIONS = (JOINT, HOLM, TUKEY)

_COMMON_FIELDS = (
    *("measure", "estimator", "level", "n_draws", "n_queries", "n_judged"),
    *("census", "missing_policy", "ignored", "n_rounds"),
)
"""Fields of `Basis` that are the same for all comparisons."""

_LITTLE = 0.05  # Less luck of the winner, in standard errors, is not told

_UNASKED = "share of what the measure sees and nobody is ever asked about; outside the pool, it counts as not relevant"

_RANKED = {"query": "rankers", "document": "rankers", "pair": "predictors"}  # Level → what is ranked


@dataclass(frozen=True)
class Ranking(Charted):
    """All rankers of a plan, or predictors of an audit, best estimate first, and the tests of all their differences.

    Attributes:
        estimates: One per ranker, best first.
        comparisons: One per pair, the higher ranked minus the other, in the order of ``combinations(names, 2)``.
        corrected: The p-value of each comparison, corrected for their number; NaN if there is no test.
        correction: The name of the correction, in `CORRECTIONS`.
        best: Whether each ranker may be the best [`leaderboard.best_pvalues`].
        pair_confidence: The level of each pair's interval at which those of all pairs hold at once.
        luck: By how much the first value is expected to be better than the truth, since it was chosen for that.
        beside: The same estimates and tests for the other queries, those of the pool or those like them; None of an
            audit.
        unasked: If rankers came later, the share of each one's documents that nobody is ever asked about.
    """

    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    corrected: tuple[float, ...]
    correction: str
    best: tuple[bool, ...]
    pair_confidence: float
    luck: float
    beside: Ranking | None = None
    unasked: tuple[float, ...] = ()

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
    def pair_confidences(self) -> tuple[float, ...]:
        """The level of each pair's interval at which it excludes 0 just where the corrected test finds a winner.

        That is `pair_confidence`, except for pairs that only a later step of the test tells apart, or another test.
        """
        pvalues, corrected = np.array([each.pvalue for each in self.comparisons]), np.array(self.corrected)
        told = np.array([each is not None for each in self.winners])
        agree = np.isnan(pvalues) | ((pvalues < 1 - self.pair_confidence) == told)
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.where(agree, self.pair_confidence, 1 - self.alpha * pvalues / corrected)
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
    def board(self) -> Board:
        """The table of all rankers, with the claims that the tests allow."""
        rows = [(each.name, each.value, *each.confidence_interval()) for each in self.estimates]
        tests = ((each.first, each.second, winner) for each, winner in zip(self.comparisons, self.winners, strict=True))
        board = Board.of(rows, tests, self.population, np.array(self.best))
        return replace(board, unasked=self.unasked)

    @property
    def boards(self) -> list[Board]:
        """The tables for the queries that were asked for and for the others."""
        return [each.board for each in (self, self.beside) if each is not None]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of names in which no two can be told apart; a name may be in several."""
        return self.board.groups

    @property
    def letters(self) -> dict[str, str]:
        """Name → the letters of its groups; two names share a letter if they cannot be told apart."""
        return self.board.letters

    @property
    def answer(self) -> str:
        """Which may be the best, without an end."""
        return self.board.sentence(self.basis.measure, _RANKED[self.basis.level], self.settled)

    @property
    def settled(self) -> bool:
        """Whether one ranker is the best, or several that are exactly equal."""
        first, *others = self.board.best_names
        equal = [each for each in self.comparisons if each.certain and each.difference == 0]
        return set(others) <= {each.second for each in equal if each.first == first}

    @property
    def headline(self) -> str:
        """Which may be the best, and what that promises, in one sentence."""
        return f"{self.answer}; {misses(self.guarantee, self.alpha)}"

    @property
    def luck_in_words(self) -> str:
        """How much too good the first value is; empty if that is next to nothing."""
        first = self.estimates[0]
        if not self.luck > _LITTLE * first.standard_error:
            return ""
        too_good = f"the {first.value:.4f} of {first.name} is about {self.luck:.4f} too good"
        return f"{too_good}, since it was chosen as the best of {len(self.names)}"

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
        """One row per ranker or predictor: ``name, estimate, low, high, rank_low, rank_high, best, groups``.

        The ranks that each may have hold for all at once. ``best`` says whether it may be the best. If rankers came
        later, ``unasked`` is the share of what the measure sees of each and nobody is ever asked about.
        """
        return self.board.frame()

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
        said |= {"headline": self.headline, "luck": self.luck}
        said |= {_RANKED[basis.level]: plain_rows(self.to_frame())}
        return said | {"groups": [list(group) for group in self.groups], "pairs": plain_rows(self.pairs())}

    def __str__(self) -> str:
        ranked = _RANKED[self.basis.level]
        pairs = "pairs" if self.basis.level != "pair" else f"pairs of {ranked}"
        apart = self._told_apart(f" of {len(self.comparisons)} {pairs}")
        facts = [("told apart", f"{apart} ({self.alpha:.2g} level, {self.correction})")]
        facts += [("luck", self.luck_in_words)] if self.luck_in_words else []
        facts += [("unasked", _UNASKED)] if self.unasked else []
        facts += [*self.basis.facts(of_many=True), ("holds", promised(self.guarantee, self.assumptions))]
        facts += [("note", self.note)] if self.note else []
        lines = board_lines(self.boards, ranked.removesuffix("s"))
        return printed("\n  ".join([self.headline, *lines]), facts)

    def _told_apart(self, of: str) -> str:
        """How many pairs are told apart, for the queries that were asked for and for the others."""
        apart = f"{sum(winner is not None for winner in self.winners)}{of}"
        if self.beside is None:
            return apart
        return f"{apart} for {self.population}, {self.beside._told_apart('')} for {self.beside.population}"


Result = Estimate | Comparison | Ranking
"""One ranker, two, or more."""


def rank_judged(judged: Labelled, how: Settings, correction: str = JOINT) -> Ranking:
    """Rank the systems of a sample with labels [theory 5]."""
    level = judged.basis.level
    if len(judged.names) < 2:
        raise ValueError(f"a ranking needs at least two {_RANKED[level]}; there is only {judged.names[0]!r}")
    check_known("correction", correction, CORRECTIONS)
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
    unasked = tuple(judged.unasked[each.name] for each in ranked) if judged.unasked else ()
    return replace(_tested(ranked, comparisons, how, correction), beside=beside, unasked=unasked)


def _tested(
    ranked: tuple[Estimate, ...], comparisons: tuple[Comparison, ...], how: Settings, correction: str
) -> Ranking:
    """A ranking with what may be claimed of all rankers at once."""
    names = ("difference", "standard_error", "test_error", "test_degrees", "pvalue")
    columns = (np.array([getattr(each, name) for each in comparisons], dtype=np.float64) for name in names)
    difference, error, test_error, degrees, pvalues = columns
    sign, alpha = -1 if comparisons[0].lower_is_better else 1, 1 - how.confidence
    pairs = np.triu_indices(len(ranked), 1)
    of_pairs, better = np.zeros((2, len(ranked), len(ranked)))
    of_pairs[pairs] = np.where(np.isnan(pvalues), 0.0, error)
    errors = JointErrors.of(of_pairs + of_pairs.T)
    better[pairs], better.T[pairs] = (_one_sided(side * difference, error, pvalues) for side in (sign, -sign))
    if correction == TUKEY:
        corrected = tukey_pvalues(difference, test_error, degrees, pvalues, len(ranked))
    elif correction == HOLM:
        corrected = corrected_pvalues(pvalues, alpha, HOLM)[1]
    else:
        claims = better_pvalues(errors, better)
        corrected = np.maximum(np.minimum(claims[pairs], claims.T[pairs]), pvalues)
    as_best = best_pvalues(errors, better)
    return Ranking(
        ranked,
        comparisons,
        tuple(map(float, corrected)),
        correction,
        best=tuple((as_best >= min(alpha, as_best.max())).tolist()),
        pair_confidence=1 - level_of_all(errors, better, alpha),
        luck=luck_of_the_winner(errors.of_pairs, sign * np.array([each.value for each in ranked])),
    )


def _one_sided(difference: np.ndarray, error: np.ndarray, pvalues: np.ndarray) -> np.ndarray:
    """p-values of positive differences from two-sided ones; 1 of what is known to be equal."""
    known = np.where((pvalues == 1) & (error == 0), 2.0, pvalues)
    return np.where(difference >= 0, known / 2, 1 - known / 2)
