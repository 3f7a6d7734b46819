"""Shared by the replays until a verdict: rankers on a judged pool, what fixed samples need, and how sequences end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sequences import Sequence, sequences

from pt_active import Plan
from pt_active.inference.drawn_documents import pool_sizes
from pt_active.inference.replay import LabelledPool, Population
from pt_active.inference.stopping.bets import excluded
from pt_active.inference.stopping.draws import Draws
from pt_active.sampling.document_designs import document_design
from pt_active.sampling.drawings import SUCCESSIVE, DrawingSettings
from pt_active.sampling.pools import Variables
from pt_active.sampling.sample import DocumentSizes
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURE, ALPHA, POWER = "DCG@10", 0.05, 0.8

LEVELS = {"document": "documents", "query": "queries"}
"""Level of a plan → its units."""

CRITICAL = float(stats.norm.ppf(1 - ALPHA / 2))
"""Half-width of an interval from a fixed sample, in standard errors."""

DETECTED = CRITICAL + float(stats.norm.ppf(POWER))
"""The difference that a fixed sample finds with the given power, in standard errors."""


@dataclass(frozen=True)
class Contest:
    """One ranker, or two, on a judged pool with grades.

    Attributes:
        frame: The graded pool of these rankers.
        qrels: All labels.
        population: The values in each query.
    """

    frame: pd.DataFrame
    qrels: pd.DataFrame
    population: Population

    @classmethod
    def of(cls, graded: pd.DataFrame, rankers: list[str]) -> Contest:
        """The contest of some rankers on a pool with grades and labels."""
        chosen = pool_of_rankers(graded, rankers)
        frame = chosen.drop(columns=["label", "features"], errors="ignore")
        population = labelled_population(graded, MEASURE, rankers=rankers)
        return cls(frame, chosen[["qid", "docno", "label"]], population)

    @property
    def truth(self) -> float:
        """The value of the ranker, or the difference."""
        return self.population.truth

    @property
    def deviation(self) -> float:
        """The standard deviation over the queries."""
        return float(self.population.target.std())

    @cached_property
    def _sizes(self) -> DocumentSizes:
        graded = self._single.graded
        return pool_sizes(graded, DrawingSettings(SUCCESSIVE, serves_singles=True))

    @property
    def _single(self) -> LabelledPool:
        single = self.population.single
        if single is None:
            raise ValueError("the measure does not allow the judging of single documents")
        return single

    @cached_property
    def _moves(self) -> np.ndarray:
        """float64[n], by how much each label that can change the estimate moves it."""
        single, seen = self._single, self._single.graded.seen
        mean, observed = Variables.of(seen.form, single.graded.grades).mean, seen.form.values[single.label]
        moves = seen.weight[seen.query] * (single.contrast @ seen.gradients(mean)) * (observed - mean)
        return np.asarray(moves[self._sizes.order])

    def size(self, level: str) -> int:
        """The number of labels when everything is judged."""
        return len(self._sizes.order) if level == "document" else int(self.population.documents.sum())

    def error(self, budget: float) -> float:
        """The standard error of a fixed sample of documents."""
        graded = self._single.graded
        design = document_design(self._sizes, SUCCESSIVE, graded.prices, budget)
        chance = design.chance(graded.seen.query)[self._sizes.order]
        return float(np.sqrt(self._moves**2 @ (1 / chance - 1)))

    def fixed(self, level: str, difference: float) -> float:
        """The labels that a fixed sample needs to find a difference with the given power."""
        if level == "query":
            share = (difference / (DETECTED * self.deviation)) ** 2
            return float(self.population.documents.mean() / (share + 1 / len(self.population.target)))
        few, enough = 1.0, float(self.size("document"))
        while enough - few > 0.5:
            middle = (few + enough) / 2
            few, enough = (middle, enough) if DETECTED * self.error(middle) > difference else (few, middle)
        return enough

    def sequences(self, level: str, budget: float, repetitions: int, seed: int) -> Iterator[Sequence]:
        """Random orders of a plan, all judged; the bets are planned for a budget."""
        successive = SUCCESSIVE if level == "document" else None
        planned = min(budget, self.size(level) - 1)
        plan = Plan.create(self.frame, None, MEASURE, budget=planned, level=level, design=successive, seed=0)
        pair = (0, 1) if self.population.compared else (0,)
        return sequences(plan, self.qrels, repetitions, seed, ALPHA, pair)


class Verdict(NamedTuple):
    """How judging ended.

    Attributes:
        labels: The number of labels; all if there was no verdict.
        wrong: Whether there was a wrong verdict.
    """

    labels: int
    wrong: bool


def by_bets(sequence: Sequence, value: float, truth: float) -> Verdict:
    """The first verdict of the bets on which side of a value the truth lies."""
    draws, stakes = sequence.proof.draws, sequence.proof.stakes
    above = excluded(draws, stakes, value, ALPHA / 2)
    below = excluded(draws.mirrored, stakes, -value, ALPHA / 2)
    at = min((each for each in (above, below) if each >= 0), default=-1)
    right = {1: above, -1: below, 0: -1}[int(np.sign(truth - value))]
    return Verdict(sequence.labels(at), at >= 0 and at != right)


def running(draws: Draws) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weighted mean of all draws so far, its standard error, and its information, float64[n] each."""
    weight = draws.expected.min() / draws.expected
    information = np.cumsum(weight)
    mean = np.cumsum(weight * draws.value) / information
    return mean, np.sqrt(draws.trust[1:] * draws.expected.min() / information), information
