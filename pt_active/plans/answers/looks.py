"""What is asked while labels come in, and what do looks show at parts or at the end of a sample [theory 10, 19]?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product

import ir_measures.measures as irm
import numpy as np

from pt_active.frames.checks import level, positive
from pt_active.inference.drawn_documents import DrawnDocuments, foresee_variances
from pt_active.inference.new_queries import NEW, SHARE_OF_LABELS, THESE
from pt_active.inference.stopping.looks import (
    ALWAYS,
    MIN_LABELS,
    PLANNED,
    PLANNED_LOOKS,
    Goal,
    Looks,
    spending_boundary,
)
from pt_active.plans.answers.labelled import Contrast, Settings, inferred
from pt_active.plans.answers.labelled_documents import LabelledDocuments, labelled_documents
from pt_active.plans.answers.sequence import UnitOrder, sequence_of
from pt_active.plans.making.documents import expected_of, in_parts, parts_of_plan
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import seen_by
from pt_active.plans.making.queries import has_order
from pt_active.relevance.measures import has_rank_form

_MAX_COMPLETIONS = 32
"""Sets of labels that the gaps of a part may turn out to have, at most; with more, the part does not count."""

USUAL = "usual"
"""The looks that a plan is made for: after each part of a plan that comes in parts, at any time if it has an order, and
at the end for others."""


def looks_asked(tables: PlanTables, looks: str | None) -> str | None:
    """The looks that are meant for a plan; raises if there are none such."""
    if looks == USUAL:
        looks = PLANNED if in_parts(tables) else ALWAYS if has_order(tables) else None
    if looks not in (None, ALWAYS, PLANNED):
        raise ValueError(f"unknown looks {looks!r}; it is one of {ALWAYS}, {PLANNED}, or None for the end alone")
    if looks is None and tables.manifest.cut and not has_order(tables):
        raise ValueError(
            "the plan was cut to what is judged, so a look at its end is one of many: ask the plan that was drawn, "
            f'after each of its parts, looks="{PLANNED}", or once all is judged'
        )
    if looks == ALWAYS and tables.documents and not has_order(tables):
        at_parts = f', after each of its parts looks="{PLANNED}"' if in_parts(tables) else ""
        other = ', or make a plan with design="successive"' if has_rank_form(tables.measure) else ""
        raise ValueError(
            "the documents were drawn at once, so nothing can be proved after each label; once all are judged, use "
            f"looks=None{at_parts}{other}"
        )
    if looks == PLANNED and not in_parts(tables):
        raise ValueError(
            f'looks="{PLANNED}" is for plans that come in parts; use looks="{ALWAYS}" if the plan has an order, or, '
            "once at the end, looks=None"
        )
    return looks


@dataclass(frozen=True)
class Question:
    """What a status answers: of which ranker or pair, by which looks, margin and level, for which queries.

    ``pairs`` is how many pairs share the level, and ``aimed_at`` what is to be shown if it is not which of two is
    better, or how good one is.
    """

    contrast: Contrast
    measure: irm.Measure
    looks: str | None
    margin: float | None
    confidence: float
    queries: str = THESE
    clusters: str | None = None
    pairs: int = 1
    aimed_at: Goal | None = None

    def __post_init__(self) -> None:
        level("confidence", self.confidence)
        if self.margin is not None:
            positive("margin", self.margin)
        if self.contrast.second is None and self.margin is None:
            raise ValueError("the plan has one ranker: pass margin=, how far off its estimate may be")

    @property
    def goal(self) -> Goal:
        """What has to be shown for a verdict."""
        return self.aimed_at or Goal.of(self.margin, compared=self.contrast.second is not None)

    @property
    def settings(self) -> Settings:
        """Those of the estimate."""
        return Settings(confidence=1 - self.level, queries=self.queries, clusters=self.clusters)

    @property
    def turned(self) -> Question:
        """The same question about the other queries."""
        return replace(self, queries=THESE if self.queries == NEW else NEW)

    @property
    def level(self) -> float:
        """The probability of an error that the answer may have; ``pairs`` of them share that of all together."""
        return (1 - self.confidence) / self.pairs

    @property
    def alpha(self) -> float:
        """The part of it that is spent on the labels [theory 16]."""
        return self.level * (SHARE_OF_LABELS if self.queries == NEW else 1)


def growing(tables: PlanTables, label: np.ndarray, question: Question) -> UnitOrder:
    """The units of a plan as they become judged, which all its rankers and pairs share."""
    if question.looks == ALWAYS:
        return sequence_of(tables, label, question.measure)
    if in_parts(tables):
        parts = PartsInOrder(tables, label, bridged=question.looks is not None)
        if parts.reach:
            foresee_variances(seen_by(question.measure, tables.pool), parts.samples)
        return parts
    if has_order(tables) or tables.documents is None:
        return sequence_of(tables, label, tables.measure, bridged=False)
    return WholeSample(tables, label)


class WholeSample(UnitOrder):
    """A sample of documents that counts once it is judged as a whole.

    Attributes:
        samples: What is judged with each unit: the sample itself, or what its first parts are.
    """

    unit = "sample"

    def __init__(self, tables: PlanTables, label: np.ndarray, bridged: bool = False) -> None:
        self.samples = self._samples(tables)
        so_far = np.array([each.sample.drawn for each in self.samples])
        ends, self.number = so_far.sum(axis=1), so_far.argmax(axis=0)
        order = np.flatnonzero(so_far[-1])
        order = order[np.argsort(self.number[order], kind="stable")]
        spent = [each.sample.spent for each in self.samples]
        super().__init__(tables, label, bridged, order, ends, np.diff(spent, prepend=0.0), len(ends))

    def _samples(self, tables: PlanTables) -> list[DrawnDocuments]:
        assert tables.documents is not None
        return [tables.documents]

    def named(self, document: int) -> str:
        """The sample or part of a document, in words."""
        return f"{self.unit} {self.number[document] + 1}"


class PartsInOrder(WholeSample):
    """The parts of a plan, of which the first ones are samples of their own, with a look after each."""

    unit = "part"

    def __init__(self, tables: PlanTables, label: np.ndarray, bridged: bool) -> None:
        super().__init__(tables, label, bridged)
        self._known: dict[tuple[int, int], LabelledDocuments] = {}
        self._found: dict[tuple[int, Contrast], np.ndarray] = {}
        # One unit of information is what the whole sample expects; it is infinite if all that matters is judged.
        expected, unit = np.array([each.expected for each in self.samples]), self.samples[-1].expected
        with np.errstate(divide="ignore"):
            self.time = (unit if unit > 0 else 1.0) / np.maximum(expected, 0.0)

    def _samples(self, tables: PlanTables) -> list[DrawnDocuments]:
        (whole,) = super()._samples(tables)
        parts = parts_of_plan(tables)
        return [replace(whole, sample=part, expected=expected_of(tables, part.design)) for part in parts]

    def _counting(self, bridged: bool) -> np.ndarray:
        """bool[T]; those with gaps, which lack labels although the next part has some, count with all that they may be.

        Few sets of labels must complete them, since all of these are tried.
        """
        whole = super()._counting(bridged=False)
        if not bridged:
            return whole
        later = np.r_[(self.documents > self.lacking)[1:], False]
        begun = np.logical_or.accumulate(later[::-1])[::-1]
        with np.errstate(over="ignore"):
            sets = (self.tables.pool.max_grade + 1.0) ** np.cumsum(self.lacking)
        return np.logical_and.accumulate((begun | (self.lacking == 0)) & (sets <= _MAX_COMPLETIONS))

    def named(self, document: int) -> str:
        """The part of a document in words; the document itself if parts with gaps count."""
        return UnitOrder.named(self, document) if self.open else super().named(document)

    def looks(self, question: Question) -> tuple[Looks, Looks]:
        """The looks so far and those to come.

        Where labels lack, an estimate is the middle of those with all labels that they may have. Its error is NaN if it
        cannot be estimated.
        """
        sizes, contrast = range(1, self.reach + 1), question.contrast
        for size in sizes:
            if (size, contrast) not in self._found:
                self._found[size, contrast] = self._inferences(size, contrast, question.measure)
        several = [self._found[size, contrast] for size in sizes]
        low, high = (np.array([of(each, axis=0) for each in several]).reshape(-1, 3) for of in (np.min, np.max))
        unknown = np.full(PLANNED_LOOKS - self.reach, np.nan)
        every = Looks(
            cost=self.spent[1:],
            time=self.time,
            value=np.r_[(low[:, 0] + high[:, 0]) / 2, unknown],
            standard_error=np.r_[high[:, 1], unknown],
            degrees=np.r_[low[:, 2], unknown],
            critical=self._critical(question.alpha),
            open=np.r_[(high[:, 0] - low[:, 0]) / 2, np.zeros(len(unknown))],
        )
        return every.part(slice(self.reach)), every.part(slice(self.reach, None))

    def _critical(self, alpha: float) -> np.ndarray:
        """float64[L], the critical values; infinite at few labels, and where nothing is left to chance."""
        share = np.arange(1, PLANNED_LOOKS + 1) / PLANNED_LOOKS
        looked = np.isfinite(self.time) & ((self.ends >= MIN_LABELS) | (share == 1))
        critical = np.full(PLANNED_LOOKS, np.inf)
        if looked.any():
            critical[looked] = spending_boundary(share[looked], self.time[looked], alpha)
        return critical

    def _inferences(self, parts: int, contrast: Contrast, measure: irm.Measure) -> np.ndarray:
        """float64[C, 3]: estimate, error and degrees of freedom with each set of labels that completes first parts."""
        first = self.order[: self.ends[parts - 1]]
        rows, label = np.sort(first[self.label[first] < 0]), np.full(len(self.label), -1)
        label[first] = self.label[first]
        settings, found = Settings(replays=False), []
        for number, grades in enumerate(product(range(self.tables.pool.max_grade + 1), repeat=len(rows))):
            label[rows] = grades
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measured = self._labelled((parts, number), label, measure).measured(contrast, settings)
            fields = inferred(measured, settings)
            error = np.nan if fields["degenerate"] else fields["standard_error"]
            found.append((measured.value, error, fields["degrees_of_freedom"]))
        return np.array(found)

    def _labelled(self, key: tuple[int, int], label: np.ndarray, measure: irm.Measure) -> LabelledDocuments:
        """The first parts with one set of labels, int64[N], made once for all pairs."""
        if key not in self._known:
            found = labelled_documents(self.tables, self.samples[key[0] - 1], label.copy(), measure)
            # All looks share what the pool keeps for the next question.
            pool = next(iter(self._known.values()), found).pool
            self._known[key] = replace(found, pool=pool)
        return self._known[key]
