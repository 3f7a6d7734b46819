"""What may be claimed of each ranker in a table of many: its value, its ranks, and whether it is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np
import pandas as pd

from pt_active.inference.leaderboard import rank_intervals
from pt_active.inference.significance import indistinct_groups
from pt_active.plans.answers.basis import EXACT, HOLDS, QueriesMeant
from pt_active.showing.printed import listed
from pt_active.showing.rounding import from_to, with_interval

_MAX_PRINTED = 20  # Rankers that are printed, at most
_MAX_LETTERS = 26  # If there are more groups, they are not shown


@dataclass(frozen=True, eq=False)
class Board:
    """The rankers of a table, best first, and which claims hold for all of them at once.

    Attributes:
        names: The k rankers.
        values: float64[k].
        ends: float64[k, 2], the interval of each value alone; NaN without one.
        better: bool[k, k], ``a is better than b``.
        best: bool[k], whether each may be the best.
        population: The queries that it holds for; None of an audit.
        unasked: If rankers came later, the share of each one's documents that nobody is ever asked about.
    """

    names: tuple[str, ...]
    values: np.ndarray
    ends: np.ndarray
    better: np.ndarray
    best: np.ndarray
    population: QueriesMeant | None = None
    unasked: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[str, float, float, float]],
        tests: Iterable[tuple[str, str, str | None]],
        population: QueriesMeant | None,
        best: np.ndarray | None = None,
    ) -> Board:
        """From names with values and their intervals, best first, and pairs with their winners.

        All may be the best that are not worse than any other, unless it is said who may.
        """
        names, *numbers = zip(*rows, strict=True)
        place = {name: s for s, name in enumerate(names)}
        better = np.zeros((len(names), len(names)), dtype=bool)
        for first, second, winner in tests:
            if winner is not None:
                better[place[winner], place[second if winner == first else first]] = True
        values, *ends = np.array(numbers, dtype=np.float64)
        may_be = np.asarray(~better.any(axis=0)) if best is None else best
        return cls(names, values, np.transpose(ends), better, may_be, population)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of names in which no two can be told apart; a name may be in several.

        Each pair that cannot be told apart is in at least one of them [`significance.indistinct_groups`].
        """
        found = indistinct_groups(~(self.better | self.better.T))
        return tuple(tuple(self.names[s] for s in group) for group in found)

    @property
    def letters(self) -> dict[str, str]:
        """Name → the letters of its groups, after z come a', b' …; two names share one if they are not told apart."""
        letters = [ascii_lowercase[g % 26] + "'" * (g // 26) for g in range(len(self.groups))]
        of_groups = list(zip(letters, self.groups, strict=True))
        return {name: "".join(letter for letter, group in of_groups if name in group) for name in self.names}

    @property
    def best_names(self) -> tuple[str, ...]:
        """The rankers that may be the best."""
        return tuple(name for name, best in zip(self.names, self.best, strict=True) if best)

    def sentence(self, measure: str, what: str = "rankers", equal: bool = False) -> str:
        """Which rankers may be the best, or are it because nothing else is as good as these equal ones."""
        best, of = self.best_names, f"{len(self.names)} {what}"
        where = f" by {measure}" + ("" if self.population is None else f" for {self.population}")
        if len(best) == 1:
            return f"{best[0]} is the best of {of}{where}"
        if equal:
            return f"{listed(best, ' and ')} are exactly equal, and the best of {of}{where}"
        return f"{len(best)} of {of} may be the best{where}: {listed(best)}"

    def frame(self) -> pd.DataFrame:
        """One row per ranker: ``name, estimate, low, high, rank_low, rank_high, best, groups``, perhaps ``unasked``."""
        low, high = self.ends.T
        first, last = rank_intervals(self.better)
        columns = {"name": self.names, "estimate": self.values, "low": low, "high": high, "rank_low": first}
        columns |= {"rank_high": last, "best": self.best, "groups": list(self.letters.values())}
        return pd.DataFrame(columns | ({"unasked": self.unasked} if self.unasked else {}))

    @property
    def claims(self) -> dict[str, list[str]]:
        """The columns of claims as shown: the ranks, whether each ranker may be the best, and the groups if few."""
        first, last = rank_intervals(self.better)
        ranks = [f"{a}" if a == b else f"{a}–{b}" for a, b in zip(first, last, strict=True)]
        word = "yes" if self.best.sum() == 1 else "maybe"
        columns = {"unasked": [f"{each:.1%}" for each in self.unasked]} if self.unasked else {}
        columns |= {"rank": ranks, "best": [word if each else "" for each in self.best]}
        return columns | ({"group": list(self.letters.values())} if len(self.groups) <= _MAX_LETTERS else {})


def board_lines(boards: Sequence[Board], what: str = "ranker") -> list[str]:
    """The lines of a table: rankers, values, and below the queries that they hold for intervals and claims."""
    names, values = boards[0].names, boards[0].values
    parts = [{what: [*names], "value": ["–" if np.isnan(value) else f"{value:.4f}" for value in values]}]
    for board in boards:
        ends = [f"[{low:.4f}, {high:.4f}]" if np.isfinite(low) else "no interval" for low, high in board.ends]
        parts.append({"interval": ends} | board.claims)
    heads = ["", *("" if each.population is None else str(each.population) for each in boards)]
    columns = []
    for head, part in zip(heads, parts, strict=True):
        cells = [_column([name, *rows[:_MAX_PRINTED]], name == "value") for name, rows in part.items()]
        columns.append(_column([head, *("  ".join(row).rstrip() for row in zip(*cells, strict=True))]))
    lines = ["   ".join(row).rstrip() for row in zip(*columns, strict=True)]
    more = len(names) - _MAX_PRINTED
    return [*filter(None, lines), *([f"… and {more} more, all in the report"] if more > 0 else [])]


def board_table(boards: Sequence[Board], measure: str) -> pd.DataFrame:
    """The table of a page: rankers, values with their intervals, and claims for both kinds of queries."""
    shown, *others = boards
    rows = zip(shown.values, *shown.ends.T, strict=True)
    cells = [from_to(low, high) if np.isnan(value) else with_interval(value, low, high) for value, low, high in rows]
    columns = {"ranker": list(shown.names), measure: cells, **shown.claims}
    for other in others:
        label = "" if other.population is None else other.population.label
        columns |= {f"{name}, {label}": cells for name, cells in other.claims.items()}
    return pd.DataFrame(columns)


def misses(guarantee: str, alpha: float) -> str:
    """How often a sentence on a table is wrong, at most."""
    wrong = "" if guarantee == EXACT else f"wrong in at most {100 * alpha:.3g}% of campaigns, "
    return f"{wrong}{HOLDS[guarantee]}"


def _column(cells: list[str], right: bool = False) -> list[str]:
    """Cells of equal width."""
    wide = max(map(len, cells))
    return [each.rjust(wide) if right else each.ljust(wide) for each in cells]
