"""What do the words on a page mean, and which describe answers to items, not documents of queries [theory 18]?"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar, cast

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

_WORDS = {
    "document": "answer",
    "documents": "answers",
    "query": "item",
    "queries": "items",
    "ranker": "system",
    "rankers": "systems",
    "qrels": "labels",
    "grade": "score",
    "grades": "scores",
    "topics": "items",
}
"""Word of rankings → word of answers."""

# A part of a name, such as that of a file, an option or a system, is no word.
_WORD = re.compile(
    rf"(?<![\w\-./=:'\"])(?<!--level )(?:([Aa]) )?({'|'.join(_WORDS)})(?![\w\-/=\"(]|\.\w)", re.IGNORECASE
)

_MAX_NAMES = 5  # Rankers that a sentence names, at most

_MEASURE = re.compile(r"(?<!\w)Score(?:\([^)]*\))?@\d+")

_NAMED = re.compile(rf"(?<!--measure )(?<!['\"=/]){_MEASURE.pattern}")  # Where the measure is no argument of a command

_PHRASES = {
    "query–document pairs": "answers",
    "what each returns at each rank, with its grade": "what each says, with its score",
    "grade model": "model of the scores",
    "Grade model": "Model of the scores",
    "est grade": "est label",
    "traffic": "weight",
    "qids and docnos": "columns qid (the item) and docno (the answer)",
}

_NO_TEXT = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>"
    r'|<(?P<tag>details|span) class="(?:text|name)">.*?</(?P=tag)>|<[^>]*>)',
    re.DOTALL,
)
"""What of a page is no text of ours: scripts, styles, tags, and texts and ids of documents."""


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Names as a sentence has them, the ``last`` joined by a word: ``a, b or c``; of many, ``a, b, c or 60 others``."""
    if len(names) > _MAX_NAMES:
        names = [*names[:3], f"{len(names) - 3} others"]
    return last.join(filter(None, (", ".join(names[:-1]), names[-1])))


def is_of_answers(text: str) -> bool:
    """Whether a text names the measure of answers."""
    return _MEASURE.search(text) is not None


def of_answers(text: str) -> str:
    """A text in the words of answers."""
    for phrase, other in _PHRASES.items():
        text = text.replace(phrase, other)
    return _WORD.sub(_replaced, _NAMED.sub("mean score", text))


@contextmanager
def told_of_answers() -> Iterator[None]:
    """Let warnings and errors speak in the words of answers."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.showwarning = lambda message, kind, *where, **more: show(
            kind(of_answers(str(message))), kind, *where, **more
        )
        try:
            yield
        except (ValueError, OSError) as error:
            error.args = tuple(of_answers(each) if isinstance(each, str) else each for each in error.args)
            raise


def in_its_words(method: MethodT) -> MethodT:
    """Let a method of what has a measure warn and refuse in the words of answers if the measure is theirs."""

    @functools.wraps(method)
    def told(self: Any, *given: Any, **named: Any) -> Any:
        with told_of_answers() if is_of_answers(str(self.measure)) else nullcontext():
            return method(self, *given, **named)

    return cast(MethodT, told)


def page_of_answers(html: str) -> str:
    """A page in the words of answers; what it quotes, and what nobody reads, stays."""
    parts, end = [], 0
    for kept in _NO_TEXT.finditer(html):
        parts += [of_answers(html[end : kept.start()]), kept.group()]
        end = kept.end()
    return "".join([*parts, of_answers(html[end:])])


def _replaced(found: re.Match[str]) -> str:
    article, word = found.groups()
    if word.isupper():  # what stands for a file in the help
        return found.group()
    other = _WORDS[word.lower()]
    other = other.capitalize() if word[0].isupper() else other
    if article is None:
        return other
    return f"{article}{'n' if other[0].lower() in 'ai' else ''} {other}"


WORDS = {
    "interval": "The range in which the true number lies, as far as the labels can tell. Of 100 reports with 95% "
    "intervals, about 95 have intervals that contain the true number.",
    "change in %": "The difference as a share of the second ranker's value.",
    "told apart": "The difference is too large to be chance, at the level of the interval.",
    "groups": "Rankers that share a letter cannot be told apart by these labels; rankers without a common letter can.",
    "simultaneous": "Intervals that hold for all pairs at once, so that looking at many pairs misleads nobody "
    "(Bonferroni). Holm's test decides which pairs are told apart, and finds slightly more: a pair that only a later "
    "step tells apart has the interval of that step, which holds for this pair alone.",
    "new queries": "Queries to come that are like these, such as those of tomorrow's users or of next year's topics. "
    "These queries are a sample of them, so an error remains even if everything is judged; only more queries reduce "
    "it.",
    "pool": "All queries, and all documents that the rankers returned for them, from which the sample was drawn.",
    "p-value": "How often other samples would show a difference at least this large if there were none: samples of the "
    "same queries or, for new queries, of others like them.",
    "SE": "Standard error: the typical distance between the estimate and the true number.",
    "effective": "How many labels of equal weight would tell as much as these, whose weights differ.",
    "reference": "How the interval was computed: by Student's t, or by replaying the whole sampling.",
    "error from": "How much of the error comes from which queries and which documents were drawn. For new queries, the "
    "pool is such a draw too.",
    "replays": "The whole sampling, repeated many times by computer with labels from the grade model, to see how far "
    "off estimates are.",
    "degrees of freedom": "How many independent numbers an error is computed from. With few, it is itself uncertain.",
    "variance": "The mean squared distance from the mean; of an estimate, the square of its standard error.",
    "bets": "Stakes on which ranker is better, which each label raises or lowers. You may look after every label.",
    "evidence": "The e-value: by what factor a stake against 'no difference' has grown. A winner at 95% needs 20. "
    "You may look after every label.",
    "regression": "The estimator: labels, corrected by a line through what the grade model expected.",
    "snis": "The estimator: the weighted mean of what was measured, with weights that correct for the uneven sampling.",
    "ht": "The estimator: what was measured, each divided by the probability that it was drawn.",
    "difference": "One value minus the other. As the name of an estimator: what the grade model expects, corrected by "
    "the labels.",
    "hedged": "The design: more queries that the grade model is unsure of, hedged against a wrong model.",
    "assisted": "The design: more queries that the grade model is unsure of.",
    "optimal": "The design: more queries that the grade model expects to be far from the mean.",
    "passive": "The design: plain random queries, the yardstick for the others.",
    "successive": "The design: documents one after the other; those that matter most tend to come first.",
    "spread": "The design: single documents; the more one matters, the more probable it is.",
    "poisson": "The design: single documents, drawn independently; the more one matters, the more probable it is.",
    "depth": "The design: the documents of a query from the top down to a random depth.",
    "surprises": "The design: single documents of all queries, for nDCG and AP.",
    "grade model": "What was expected of each document before anybody judged it. It steers what is judged. A bad one "
    "costs labels; it does not make results wrong.",
    "slope": "1 if the grade model is right on average. Near 0, the model is useless; below 0, it misleads.",
    "one label": "How many labels of random queries one label of this plan is worth.",
    "DCG": "Discounted cumulative gain: a document of grade g counts 2^g − 1, divided by log2(1 + rank), unless the "
    "measure says otherwise. Higher is better; it has no upper end.",
    "nDCG": "Normalised DCG: 1 is the best order that is possible, 0 finds nothing.",
    "ERR": "Expected reciprocal rank: how early a user who reads from the top is satisfied. Higher is better, up to 1.",
    "AP": "Average precision: the mean share of relevant documents down to each relevant one. At most 1.",
    "RR": "Reciprocal rank: 1 over the rank of the first relevant document.",
    "RBP": "Rank-biased precision: relevant documents, with less weight from rank to rank. Higher is better, up to 1.",
    "Score": "The mean score of the answers of a system.",
    "kappa": "Agreement beyond chance: 1 if all grades agree, 0 if they agree no more often than by chance.",
    "alpha": "Krippendorff's measure of agreement: 1 if all grades agree, 0 if they agree as often as by chance.",
    "precision": "Of what a judge calls relevant, the share that people call relevant.",
    "recall": "Of what people call relevant, the share that a judge calls relevant.",
    "F1": "The harmonic mean of precision and recall.",
}
"""Word → what it means, for readers who are new to it."""

_FAMILY = re.compile(r"^n?[A-Z][A-Za-z]*")


def meaning(term: str) -> str:
    """What a word or the name of a measure means; empty if the glossary does not have it."""
    if term in WORDS:
        return WORDS[term]
    family = _FAMILY.match(term)
    return WORDS.get(family.group(), "") if family else ""


def used_in(text: str) -> list[tuple[str, str]]:
    """The words of the glossary that a text holds, with their meanings, in alphabetical order."""
    known = [word for word in WORDS if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]
    return [(word, WORDS[word]) for word in sorted(known, key=str.casefold)]
