"""What does an answer rest on and promise, what does it assume, and for which queries does it hold [theory 16]?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import how_many, shown
from pt_active.frames.columns import query_columns
from pt_active.frames.qrels import MISLEADS
from pt_active.frames.strays import NO_STRAYS, Strays
from pt_active.inference.estimators import effective_size
from pt_active.inference.new_queries import MIN_GROUPS, NEW, SHARE_OF_LABELS, THESE, ByQuery, widened_by_queries
from pt_active.inference.ties import ROUNDING, settled
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import traffic_told
from pt_active.relevance.measures import has_rank_form
from pt_active.sampling.drawings import SURPRISES
from pt_active.sampling.sample import Sample
from pt_active.showing.printed import Facts, listed

EXACT = "exact"  # Nothing was left to chance
ANY_TIME = "any time"  # At least the level, for any data, however often one looks
LARGE_SAMPLES = "large samples"  # The level in the limit of many draws and queries

LABELS_RIGHT = "the labels are right"
JUDGES_APART = "judges err independently of each other"
QUERIES_RANDOM = "the pool's queries are a random sample of them"
NOT_RELEVANT = "documents without a label are not relevant"

HOLDS = {
    EXACT: "exactly",
    ANY_TIME: "at any time, for any data",
    LARGE_SAMPLES: "in large samples",
}
"""Guarantee → how it is said."""


def assumptions_of(tables: PlanTables, measure: irm.Measure) -> tuple[str, ...]:
    """What the answers of a plan for a measure assume beside the labels [theory 20]."""
    strangers = [f"{share:.1%} of those of {name}" for name, share in tables.manifest.strangers.items()]
    outside = f" ({listed(strangers)})" if strangers else ""
    assumed = [f"documents outside the pool are not relevant{outside}"]
    if has_rank_form(measure):
        return tuple(assumed) if strangers else ()
    if tables.documents and tables.documents.sample.design.drawing == SURPRISES:
        assumed.append("the bias of single documents is small beside the error")
    return tuple(assumed)


def promised(guarantee: str, assumptions: tuple[str, ...]) -> str:
    """A guarantee and its assumptions in words, for one line."""
    return f"{HOLDS[guarantee]}, if {'; '.join(assumptions)}"


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What an estimate or a comparison rests on.

    Attributes:
        n_draws: The number of draws, repeated ones counted each time; ``n_queries`` are distinct.
        n_effective: ``(Σv)²/Σv²``, the number of equally weighted draws that would say as much.
        census: Whether every query of the pool was judged, so that nothing was left to chance.
        missing: The (qid, docno) pairs that the plan asks for and that have no label.
        missing_policy: What was done about them: ``error`` or ``nonrelevant``.
        ignored: The number of labels of what was not sampled; they are not part of the sample.
        level: What was sampled: ``query``, ``document``, or ``pair`` if predictors are tested.
        error_of_model: For documents, the part of the error that comes from the grade model: its variance in documents
            that could never be drawn, and a margin if a few documents carry most of the error.
        unreached: Share of the model's variance in documents that could never be drawn.
        caution: What limits the trust in the estimate; ``interval_caution`` in the interval, or why there is none;
            ``stopping_caution`` if the plan was cut to its judged part; ``skipped`` says what the interval is in the
            worst case where labels that lack count as not relevant.
        model_caution: What the labels say against the grade model. A bad model costs precision; an estimate depends on
            it only for documents that are ``unreached``.
        unknown: The labels of the plan's queries that belong to no document of the plan: their ``number``, an
            ``example``, and a ``hint`` if a document that lacks a label is the same but for leading zeros.
        error_of_judges: The part of the standard error due to who judged; None if it is not known.
        judged_twice: The share of the labelled documents that two judges or more have judged; None if it is not known.
        assumed: What the sample and the measure assume beside what `assumptions` says of labels.
    """

    measure: str
    estimator: str = ""
    n_draws: int
    n_queries: int
    n_judged: int
    n_effective: float = np.nan
    census: bool
    missing: tuple[tuple[str, str], ...] = ()
    missing_policy: str
    ignored: int = 0
    level: str = "query"
    n_rounds: int = 1
    error_of_queries: float | None = None
    error_of_documents: float | None = None
    error_of_model: float | None = None
    unreached: float = 0.0
    caution: str = ""
    interval_caution: str = ""
    model_caution: str = ""
    stopping_caution: str = ""
    skipped: str = ""
    unknown: Strays = NO_STRAYS
    error_of_judges: float | None = None
    judged_twice: float | None = None
    assumed: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample: Sample, weight: np.ndarray, **about: Any) -> Basis:
        """What a sample of queries or pairs whose weights p are float64[N] gives, and what else is known."""
        effective = float(effective_size(sample.count, sample.importance(weight)))
        return cls(n_draws=int(sample.draws), n_effective=effective, census=sample.census, **about)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for the estimate and its interval."""
        assumed = [LABELS_RIGHT if self.error_of_judges is None else JUDGES_APART, *self.assumed]
        if self.missing:
            assumed.append(NOT_RELEVANT)
        if self.unreached > 0:
            assumed.append("the grade model is right on average about documents that cannot be drawn")
        return tuple(assumed)

    def facts(self, of_many: bool = False) -> Facts:
        """The sample in words, for printing."""
        where = " in the comparison with the fewest" if of_many else ""
        facts = [("sample", self._drawn(where))]
        if self.level == "document" and not (self.census or of_many):
            model = f", model {self.error_of_model:.4f}" if self.error_of_model else ""
            parts = f"queries {self.error_of_queries:.4f}, documents {self.error_of_documents:.4f}"
            facts.append(("error from", f"{parts}{model}"))
        if self.judged_twice is not None and self.error_of_judges is None:
            facts.append(("judges", "no document has two judges, so the interval leaves out their error"))
        elif self.judged_twice is not None:
            share = f"{self.judged_twice:.1%} of the documents have two or more"
            facts.append(("judges", f"their part of the error is {self.error_of_judges:.4f}; {share}"))
        if self.missing:
            taken = f"{how_many('label', len(self.missing))}, taken as {self.missing_policy}"
            facts.append(("missing", f"{taken}, {MISLEADS}" if self.missing_policy == "nonrelevant" else taken))
        if self.ignored:
            facts.append(("ignored", f"{how_many('label', self.ignored)} outside the sample"))
        if self.unknown.number:
            facts.append(("unknown", self.unknown.counted))
        return facts

    def _drawn(self, where: str) -> str:
        """How much was drawn and judged, in words."""
        queries, judged = how_many("query", self.n_queries), how_many("judgment", self.n_judged)
        effective = f"{self.n_effective:.1f} effective{'' if self.level == 'query' else where}"
        rounds = "" if self.n_rounds == 1 else f" in {self.n_rounds} rounds"
        if self.level == "query":
            draws = "" if self.n_draws == self.n_queries else f"{how_many('draw', self.n_draws)} of "
            return f"census of {queries}; {judged}" if self.census else f"{draws}{queries}, {effective}; {judged}"
        if self.level == "document":
            drawn = f"{how_many('document', self.n_draws)} of {queries}{rounds}"
            some = f"; {self.n_judged} judged" if self.n_judged < self.n_draws else ""
            return f"{drawn}: all that matter{some}" if self.census else f"{drawn}, {effective}{some}"
        if self.census:
            return f"census of {how_many('pair', self.n_judged)} of {queries}"
        asked = self.n_judged + len(self.missing)
        draws = "" if self.n_draws == asked else f"{how_many('draw', self.n_draws)}, "
        return f"{draws}{how_many('pair', asked)} of {queries}{rounds}, {effective}; {judged}"


EVERYTHING = {
    "query": "every query of the pool",
    "document": "everything that matters",
    "pair": "every pair that counts",
}
"""Level → what a census judges."""

SAMPLED = {"query": "queries", "document": "documents", "pair": "pairs"}
"""Level → what is drawn."""


TOO_FEW = (
    f"looks at any time need {MIN_GROUPS} queries or clusters that differ for new queries, and so does a gate; unequal "
    "weights count as fewer"
)
"""Why a pool has no answer at any time for new queries, and no gate."""

UNTOLD = "the labels so far do not tell how far queries differ"
"""Why there is none yet."""

SUFFICIENT_DEGREES = 10
"""With fewer degrees of freedom an interval has a caution."""

_FEW = 0.2
"""Terms that show a smaller share of their degrees of freedom come from few queries; normal ones show all of them."""


@dataclass(frozen=True)
class QueriesMeant:
    """The queries that an answer holds for."""

    name: str  # ``"these"`` for the queries of the pool, ``"new"`` for those that they are a sample of
    queries: int  # How many queries of the pool count
    clusters: int | None = None  # How many clusters they form; None if each query is its own
    enough: bool = True  # Whether so many differ that a gate may decide
    tested: bool = True  # Whether so many differ that a test of their mean keeps its level
    caution: str = ""  # What limits the trust in an interval for them; empty if nothing does
    traffic: str = ""  # How they count by their traffic (`traffic_told`); empty if all count alike

    @property
    def label(self) -> str:
        """The queries in two words, for charts and tables."""
        return f"{self.name} queries"

    @property
    def in_words(self) -> str:
        """The queries, as a reader of a report knows them."""
        if self.name == THESE:
            return str(self)
        like = f"queries like these {self.queries:,}" if self.queries > 1 else "queries like this one"
        like += self.traffic
        return like if self.clusters is None else f"{like}, in {how_many('cluster', self.clusters)}"

    def __str__(self) -> str:
        if self.name == THESE:
            return f"these {how_many('query', self.queries)}{self.traffic}" if self.queries > 1 else "this query"
        clusters = "" if self.clusters is None else f", as {how_many('cluster', self.clusters)}"
        return f"queries like them{self.traffic}{clusters}"


def meant(by_query: ByQuery, topics: pd.DataFrame, clusters: str | None) -> tuple[QueriesMeant, QueriesMeant]:
    """The queries of the pool, and those that they are a sample of."""
    groups, traffic = None if clusters is None else by_query.groups, traffic_told(topics, by_query.weight)
    enough, tested = by_query.enough(), not _few_differ(by_query)
    new = QueriesMeant(NEW, by_query.queries, groups, enough, tested, _caution(by_query), traffic)
    return QueriesMeant(THESE, by_query.queries, traffic=traffic), new


def gap_to_new(by_query: ByQuery | None, confidence: float) -> dict[str, Any]:
    """How far the mean of new queries may lie from that of the pool's at any time, and why if that is not known.

    ``by_query`` is None if the labels so far do not tell how queries differ.
    """
    apart = np.inf if by_query is None else by_query.apart((1 - SHARE_OF_LABELS) * (1 - confidence))
    untold = by_query is None or by_query.enough(by_query.groups - len(by_query.judged))
    refusal = UNTOLD if untold else TOO_FEW
    return {"apart": apart, "refusal": "" if np.isfinite(apart) else refusal}


def clustered(by_query: ByQuery, topics: pd.DataFrame, column: str | None) -> ByQuery:
    """The values of queries with their clusters: the values of a column of the topics."""
    if column is None:
        return by_query
    values = topic_column(topics, column, "clusters are the values of a column")
    missing = topics["qid"][values.isna()]
    if len(missing):
        raise ValueError(f"query {shown(missing.iloc[0])} has no value in the column {shown(column)} of clusters")
    return replace(by_query, group=np.asarray(pd.factorize(values)[0], dtype=np.int64))


def topic_column(topics: pd.DataFrame, column: str, what: str) -> pd.Series:
    """A column that the topics had before planning; ``what`` of it is asked for."""
    known = query_columns(topics.columns)
    if column not in known:
        own = column in topics.columns
        belongs = f"{shown(column)} is the plan's own" if own else f"there is no column {shown(column)}"
        raise ValueError(
            f"{what} that the topics had before planning, and {belongs}; the plan has {', '.join(known)}. "
            "Columns of topics stay with a plan if their names start with q, such as qneed"
        )
    return topics[column]


def for_new_queries(fields: dict[str, Any], by_query: ByQuery, scale: float) -> dict[str, Any]:
    """The fields of an answer for the pool's queries, as they are for queries like them; ``scale`` as in `Measured`."""
    if fields["degenerate"]:
        return fields
    known = fields["standard_error"], fields["degrees_of_freedom"], fields["tails"]
    error, degrees, tails = widened_by_queries(*known, by_query, 1 - fields["confidence_level"])
    error = float(settled(error, scale))
    caution, refusal = _caution(by_query), _refusal(by_query, error)
    basis: Basis = fields["basis"]
    if basis.error_of_queries is not None and not refusal:
        basis = replace(basis, error_of_queries=float(np.hypot(basis.error_of_queries, np.sqrt(by_query.spread))))
    basis = replace(basis, interval_caution=refusal or caution or basis.interval_caution)
    about = {"basis": basis, "standard_error": error, "degrees_of_freedom": degrees, "tails": tails}
    return fields | about | {"degenerate": bool(refusal)}


def caution_for_new(state: Any) -> str:
    """What limits the trust in a state's interval for new queries; empty if nothing does, or if there is none."""
    both = [each for each in (state, state.beside) if each is not None and np.isfinite(each.low)]
    return next((each.population.caution for each in both if each.holds_for_new), "")


def _refusal(by_query: ByQuery, error: float) -> str:
    """Why there is no interval for new queries; empty if there is one."""
    if by_query.groups < 2 or np.isnan(error):
        return "one query says nothing of other queries: no interval, no test"
    if by_query.degrees < 1 - ROUNDING:
        return "nearly all of the weight lies on one query, which says nothing of others: no interval, no test"
    if error == 0:
        return "all queries have the same value, so they do not tell how others differ: no interval, no test"
    return ""


def _few_differ(by_query: ByQuery) -> bool:
    """Whether so few queries differ that those that were not seen may decide."""
    return 0 < by_query.differing < min(MIN_GROUPS, len(by_query.judged) / 2)


def _caution(by_query: ByQuery) -> str:
    """What limits the trust in an interval for new queries; empty if nothing does."""
    own, shown_degrees = by_query.degrees, by_query.shown
    units = "queries" if by_query.group is None else "clusters"
    misses = "so the interval for new queries may miss more often than its level allows"
    if _few_differ(by_query):
        differing, judged = by_query.differing, len(by_query.judged)
        return f"only {differing} of {judged} judged {units} have another value than the rest, {misses}"
    if shown_degrees < _FEW * own and shown_degrees < SUFFICIENT_DEGREES:
        return f"few {units} carry the spread: they show {shown_degrees:.1f} of {own:.0f} degrees of freedom, {misses}"
    if own < SUFFICIENT_DEGREES:
        return f"there are few {units}, {own:.1f} degrees of freedom, {misses}"
    return ""
