"""What does an answer rest on?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pt_active.frames.checks import how_many
from pt_active.frames.strays import Strays
from pt_active.showing.printed import Facts


@dataclass(frozen=True)
class Basis:
    """What an estimate or a comparison rests on.

    Attributes:
        n_draws: The number of draws, repeated ones counted each time; ``n_queries`` are distinct.
        n_effective: ``(Σv)²/Σv²``, the number of equally weighted draws that would say as much.
        census: Whether every query of the pool was judged, so that nothing was left to chance.
        missing: The (qid, docno) pairs that were to be judged and have no label.
        missing_policy: What was done about them: ``error``, ``nonrelevant`` or ``expected``.
        ignored: The number of labels of what was not sampled; they are not part of the sample.
        level: What was sampled: ``query``, ``document``, or ``pair`` if predictors are tested.
        error_of_model: For documents, the part of the error that comes from the grade model: its variance in documents
            that could never be drawn, and a margin if a few documents carry most of the error.
        unreached: Share of the model's variance in documents that could never be drawn.
        caution: What limits the trust in the estimate; ``interval_caution`` in the interval, or why there is none;
            ``stopping_caution`` if the plan was cut to its judged part.
        model_caution: What the labels say against the grade model. A bad model costs precision; an estimate depends on
            it only for documents that are ``unreached`` and labels taken as ``expected``.
        unknown: Kind → number of labels of the plan's queries that belong to no document of the plan: ``mistyped``,
            ``case or spaces`` or ``leading zeros`` if a document that lacks a label may have been meant
            (``label_caution`` has which), or ``other``.
        error_of_judges: The part of the standard error due to who judged; None if it is not known.
        judged_twice: The share of the labelled documents that two judges or more have judged; None if it is not known.
    """

    measure: str
    estimator: str
    n_draws: int
    n_queries: int
    n_judged: int
    n_effective: float
    census: bool
    missing: tuple[tuple[str, str], ...]
    missing_policy: str
    ignored: int
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
    unknown: Mapping[str, int] = field(default_factory=dict)
    label_caution: str = ""
    error_of_judges: float | None = None
    judged_twice: float | None = None

    def facts(self, of_many: bool = False) -> Facts:
        """The sample in words, for printing."""
        where = " in the comparison with the fewest" if of_many else ""
        facts = [("sample", _SAMPLE[self.level](self, where))]
        if self.level == "document" and not (self.census or of_many):
            model = f", model {self.error_of_model:.4f}" if self.error_of_model else ""
            parts = f"queries {self.error_of_queries:.4f}, documents {self.error_of_documents:.4f}"
            facts.append(("error from", f"{parts}{model}"))
        if self.judged_twice is not None:
            facts.append(("judges", self._judges_in_words))
        if self.missing:
            facts.append(("missing", f"{how_many('label', len(self.missing))}, taken as {self.missing_policy}"))
        if self.ignored:
            facts.append(("ignored", f"{how_many('label', self.ignored)} of what was not sampled"))
        if self.unknown:
            facts.append(("unknown", Strays(self.unknown).counted))
        return facts

    @property
    def _judges_in_words(self) -> str:
        if self.error_of_judges is None:
            return "no document has two judges, so their error is not in the interval"
        share = f"{self.judged_twice:.1%} of the documents have two or more"
        return f"their part of the error is {self.error_of_judges:.4f}; {share}"

    @property
    def _rounds(self) -> str:
        return "" if self.n_rounds == 1 else f" in {self.n_rounds} rounds"

    def _queries_in_words(self, where: str) -> str:
        repeated = "" if self.n_draws == self.n_queries else f"{how_many('draw', self.n_draws)} of "
        queries = how_many("query", self.n_queries)
        sample = f"census of {queries}" if self.census else f"{repeated}{queries}, {self.n_effective:.1f} effective"
        return f"{sample}; {how_many('judgment', self.n_judged)}"

    def _documents_in_words(self, where: str) -> str:
        drawn = f"{how_many('document', self.n_draws)} of {how_many('query', self.n_queries)}{self._rounds}"
        judged = f"; {self.n_judged} judged" if self.n_judged < self.n_draws else ""
        if self.census:
            return f"{drawn}: all that matter{judged}"
        return f"{drawn}, {self.n_effective:.1f} effective{where}{judged}"

    def _pairs_in_words(self, where: str) -> str:
        queries = how_many("query", self.n_queries)
        if self.census:
            return f"census of {how_many('pair', self.n_judged)} of {queries}"
        asked = self.n_judged + len(self.missing)
        draws = "" if self.n_draws == asked else f"{how_many('draw', self.n_draws)}, "
        drawn = f"{draws}{how_many('pair', asked)} of {queries}{self._rounds}"
        return f"{drawn}, {self.n_effective:.1f} effective{where}; {how_many('judgment', self.n_judged)}"


_SAMPLE = {"query": Basis._queries_in_words, "document": Basis._documents_in_words, "pair": Basis._pairs_in_words}
"""Level → the method that describes the sample."""


EVERYTHING = {
    "query": "every query of the pool",
    "document": "everything that matters",
    "pair": "every pair that counts",
}
"""Level → what a census judges."""


SAMPLED = {"query": "queries", "document": "documents", "pair": "pairs"}
"""Level → what is drawn."""
