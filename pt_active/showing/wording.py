"""What do the words on a page mean?"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAX_NAMES = 5  # Rankers that a sentence names, at most


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Names as a sentence has them, the ``last`` joined by a word: ``a, b or c``; of many, ``a, b, c or 60 others``."""
    if len(names) > _MAX_NAMES:
        names = [*names[:3], f"{len(names) - 3} others"]
    return last.join(filter(None, (", ".join(names[:-1]), names[-1])))


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
