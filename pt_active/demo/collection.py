"""A simulated test collection for experiments: no query, document or judgment in it is real.

A query asks for a subject and some qualities ("quiet wooden desk lamp for students"). A document is about one subject
and has one value of each quality, which its text expresses in the query's word or a synonym. The grade of a pair
depends on the share of the asked qualities that the document has, on the document's merit, on the query's strictness,
and on chance. The chance is a function of the two ids, so the true grade of every pair is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from pt_active.frames.checks import some
from pt_active.frames.columns import with_string_ids
from pt_active.frames.runs import ranked_run

MAX_GRADE = 3  # The highest grade of the simulated judgments; the lowest is 0
_RELEASE_PER_PAST = 3
_DOCUMENTS = _MAX_QUERIES = 3000
_DEPTHS = (20, 31)  # The depths of the rankings are drawn from 20 to 30
_QUERIES_AT_ONCE = 250  # Bounds the memory for their scores of all documents


class _Domain(NamedTuple):
    """The words of one domain of subjects.

    Every quality is a list of values, and each value is written as ``word/synonym``. Queries use the word, documents
    either. The last quality comes after "for".
    """

    subjects: str
    qualities: tuple[str, str, str, str]
    openings: tuple[str, ...]
    fillers: tuple[str, ...]


_PRODUCTS = _Domain(
    subjects="running shoes, hiking boots, trail backpack, camera backpack, family tent, camping stove, tea "
    "kettle, desk lamp, reading lamp, wall clock, rain jacket, winter jacket, office chair, garden chair, "
    "bicycle helmet, bicycle lock, water bottle, coffee grinder, frying pan, yoga mat",
    qualities=(
        "black/dark, red/crimson, blue/navy, green/olive, white/ivory",
        "leather/hide, canvas/cotton, steel/metal, wooden/bamboo, plastic/polymer",
        "waterproof/rainproof, lightweight/featherweight, foldable/collapsible, quiet/silent, durable/rugged",
        "children/kids, beginners/novices, travel/trips, students/learners, commuting/commuters",
    ),
    openings=("Product page", "Buyer review", "Catalogue entry", "Shop offer"),
    fillers=(
        "Delivery takes two to four working days.",
        "Returns are free within thirty days of purchase.",
        "Buyers rated the packaging as tidy and easy to open.",
        "The maker gives a warranty of two years.",
        "Some buyers also looked at the {other}.",
        "It sold well during the spring sale.",
        "The size chart is printed on the label inside.",
        "Compared with a {other}, it costs a little more.",
        "Wipe it with a damp cloth and let it dry.",
    ),
)

_RECIPES = _Domain(
    subjects="lentil soup, pumpkin soup, tomato soup, apple pie, pumpkin pie, fried rice, rice pudding, potato "
    "salad, noodle salad, bean salad, chicken curry, vegetable curry, chocolate cake, carrot cake, banana "
    "bread, garlic bread, mushroom risotto, spinach lasagne, cheese omelette, fish tacos",
    qualities=(
        "vegan/plantbased, glutenfree/wheatless, sugarfree/unsweetened, lactosefree/dairyless, lean/lowfat",
        "quick/speedy, cheap/thrifty, easy/effortless, classic/traditional, fancy/festive",
        "spicy/fiery, creamy/velvety, crispy/crunchy, smoky/charred, tangy/zesty",
        "weeknights/workdays, picnics/outings, toddlers/infants, guests/parties, freezing/freezer",
    ),
    openings=("Recipe", "Family favourite", "Kitchen notes", "Cooking class"),
    fillers=(
        "Chop the onions finely and warm the oil in a wide pot.",
        "Season to taste and let it rest for ten minutes.",
        "Left over portions keep in the fridge for two days.",
        "Serve it with a slice of bread or a bowl of {other}.",
        "The oven should be hot before the tray goes in.",
        "Readers who cooked {other} last month will know the method.",
        "A pinch of salt brings out the flavour.",
        "Stir now and then so that nothing sticks.",
        "It makes four portions.",
    ),
)

_GUIDES = _Domain(
    subjects="tap repair, roof repair, bicycle repair, fence painting, wall painting, furniture painting, rose "
    "pruning, hedge pruning, lawn mowing, lawn seeding, carpet cleaning, window cleaning, oven cleaning, "
    "tile laying, brick laying, door hanging, picture hanging, loft insulation, pipe insulation, candle "
    "making",
    qualities=(
        "safe/harmless, cheap/budget, fast/rapid, tidy/spotless, lasting/permanent",
        "outdoor/outside, indoor/inside, summer/sunny, winter/frosty, rainy/wet",
        "manual/handmade, electric/powered, chemical/solvent, natural/organic, professional/expert",
        "renters/tenants, pensioners/seniors, families/households, landlords/owners, newcomers/starters",
    ),
    openings=("Guide", "Workshop notes", "Step by step", "Advice column"),
    fillers=(
        "Lay out all tools before the first step.",
        "Measure twice and mark the spot with a pencil.",
        "Wear gloves and keep the window open.",
        "The same tools serve for {other}.",
        "Allow an afternoon, or two if the surface is old.",
        "Clean up at once, for dried spills are hard to remove.",
        "If in doubt, ask at the hardware store.",
        "Our page on {other} explains the basics.",
        "Check the result again on the next day.",
    ),
)

_STATEMENTS = ("It is {}.", "We call it {}.", "It counts as {}.", "It is made for {}.")

_DOMAINS = (_PRODUCTS, _RECIPES, _GUIDES)
_SUBJECTS = [subject for domain in _DOMAINS for subject in domain.subjects.split(", ")]
_PER_DOMAIN = len(_SUBJECTS) // len(_DOMAINS)
_WORDS = np.array(
    [[[v.split("/") for v in quality.split(", ")] for quality in domain.qualities] for domain in _DOMAINS]
)
_QUALITIES, _VALUES = _WORDS.shape[1:3]
_NOT_ASKED = -1


@dataclass(frozen=True, eq=False, repr=False)
class DemoCollection:
    """A simulated test collection: a release to be judged, and a past release with judgments.

    Attributes:
        topics: The queries, ``qid, query``.
        documents: The documents, ``docno, text``; the first sentence of a text is its title.
        runs: Two rankers' results for `topics`, ``production`` and ``candidate``: ``qid, docno, score, rank``.
        qrels: The hidden truth of every document in `runs`: ``qid, docno, label``.
        past_topics: The queries of the past release, ``qid, query``.
        past_run: The results of ``production`` for the past queries: ``qid, docno, score, rank``.
        past_qrels: The judgments of every document in `past_run`: ``qid, docno, label``.
    """

    topics: pd.DataFrame
    documents: pd.DataFrame
    runs: dict[str, pd.DataFrame]
    qrels: pd.DataFrame
    past_topics: pd.DataFrame
    past_run: pd.DataFrame
    past_qrels: pd.DataFrame
    _needs: _Needs
    _stock: _Stock
    _seed: int

    def judge(self, pairs: pd.DataFrame) -> pd.DataFrame:
        """Grade any documents for any queries of the collection, as the simulated judges would.

        Args:
            pairs: ``qid, docno``, such as a run or the assessments of a plan; repeated pairs are dropped.

        Returns:
            ``qid, docno, label`` with grades from 0 to 3.

        Raises:
            ValueError: If a query or a document is not in this collection.
        """
        return _judge(pairs, self._needs, self._stock, self._seed)


def demo_collection(seed: int = 7, queries: int = 600) -> DemoCollection:
    """Simulate a test collection.

    Args:
        seed: The same seed gives the same collection.
        queries: How many queries the release to be judged has; the past release has a third as many.

    Returns:
        The collection, with 3,000 documents.

    Raises:
        ValueError: If ``queries`` is not between 3 and 3,000.
    """
    if not _RELEASE_PER_PAST <= queries <= _MAX_QUERIES:
        raise ValueError(f"queries must be between {_RELEASE_PER_PAST} and {_MAX_QUERIES}, got {queries}")
    rng = np.random.default_rng(seed)
    stock = _draw_stock(rng, _DOCUMENTS)
    needs = _draw_needs(rng, queries + queries // _RELEASE_PER_PAST)
    queries_asked = []
    for subject, asks in zip(needs.subject, needs.asks, strict=True):
        words = _WORDS[subject // _PER_DOMAIN]
        asked = [str(words[k, value, 0]) if value != _NOT_ASKED else "" for k, value in enumerate(asks)]
        queries_asked.append(_phrase(subject, asked))
    topics = pd.DataFrame({"qid": needs.qids, "query": queries_asked})
    documents = pd.DataFrame({"docno": stock.docnos, "text": _texts(rng, stock)})
    runs = _retrieve(rng, needs, stock)
    new = set(needs.qids[:queries])
    release = {name: run[run["qid"].isin(new)].reset_index(drop=True) for name, run in runs.items()}
    past_run = runs["production"][~runs["production"]["qid"].isin(new)].reset_index(drop=True)
    return DemoCollection(
        topics=topics[:queries],
        documents=documents,
        runs=release,
        qrels=_judge(pd.concat(release.values()), needs, stock, seed),
        past_topics=topics[queries:].reset_index(drop=True),
        past_run=past_run,
        past_qrels=_judge(past_run, needs, stock, seed),
        _needs=needs,
        _stock=stock,
        _seed=seed,
    )


class _Stock(NamedTuple):
    """The properties of the documents, one row per document."""

    docnos: list[str]
    subject: np.ndarray
    has: np.ndarray
    says_word: np.ndarray
    merit: np.ndarray


class _Needs(NamedTuple):
    """The properties of the queries, one row per query."""

    qids: list[str]
    subject: np.ndarray
    asks: np.ndarray
    strictness: np.ndarray


def _judge(pairs: pd.DataFrame, needs: _Needs, stock: _Stock, seed: int) -> pd.DataFrame:
    """``qid, docno, label`` of the pairs, with grades from 0 to 3."""
    pairs = with_string_ids(pairs[["qid", "docno"]]).drop_duplicates(ignore_index=True)
    query, document = _positions(needs.qids, pairs["qid"]), _positions(stock.docnos, pairs["docno"])
    # A pseudo-random number from 0 to 1 for each pair, a function of the ids and the seed.
    names = (pairs["qid"] + " " + pairs["docno"]).to_numpy(dtype=object)
    chance = pd.util.hash_array(names, hash_key=f"{seed % 10**16:016d}", categorize=False) / 2.0**64
    asked = needs.asks[query] != _NOT_ASKED
    met = (needs.asks[query] == stock.has[document]).sum(axis=1) / asked.sum(axis=1)
    worth = 0.45 + 1.9 * met + stock.merit[document] - needs.strictness[query] + chance - 0.5
    same = needs.subject[query] == stock.subject[document]
    return pairs.assign(label=np.where(same, np.digitize(worth, [0.9, 1.7, 2.4]), 0).astype(np.int64))


def _positions(names: list[str], wanted: pd.Series) -> np.ndarray:
    positions = pd.Index(names).get_indexer(pd.Index(wanted))
    if (positions < 0).any():
        raise ValueError(f"not in the demo collection: {wanted.name} {some(wanted[positions < 0].unique())}")
    return positions


def _skewed(rng: np.random.Generator, count: int, size: int | tuple[int, ...]) -> np.ndarray:
    """Draw from ``0 … count-1``; the last value is a third as probable as the first."""
    share = np.linspace(3.0, 1.0, count)
    return rng.choice(count, size=size, p=share / share.sum())


def _draw_stock(rng: np.random.Generator, count: int) -> _Stock:
    return _Stock(
        docnos=[f"d{i:04d}" for i in range(count)],
        subject=rng.permutation(len(_SUBJECTS))[_skewed(rng, len(_SUBJECTS), count)],
        has=_skewed(rng, _VALUES, (count, _QUALITIES)),
        says_word=rng.random((count, _QUALITIES)) < 0.65,
        merit=rng.normal(0, 0.25, count),
    )


def _draw_needs(rng: np.random.Generator, count: int) -> _Needs:
    """Draw information needs, all of them different."""
    tries = 3 * count + 50
    subject = _skewed(rng, len(_SUBJECTS), tries)
    asks = _skewed(rng, _VALUES, (tries, _QUALITIES))
    number = rng.choice([1, 2, 3], size=tries, p=[0.5, 0.4, 0.1])
    asks[rng.random(asks.shape).argsort(axis=1) >= number[:, None]] = _NOT_ASKED
    first = np.sort(np.unique(np.column_stack([subject, asks]), axis=0, return_index=True)[1])[:count]
    return _Needs(
        qids=[f"q{i + 1}" for i in range(count)],
        subject=subject[first],
        asks=asks[first],
        strictness=rng.uniform(-0.2, 0.2, count),
    )


def _phrase(subject: int, words: list[str]) -> str:
    """Write the words before the subject, and the last one after "for"; skip empty words."""
    *before, purpose = words
    return " ".join([*filter(None, before), _SUBJECTS[subject]]) + (f" for {purpose}" if purpose else "")


def _texts(rng: np.random.Generator, stock: _Stock) -> list[str]:
    """Of each document a title with some of the qualities, a sentence for each remaining quality, and filler."""
    count, texts = len(stock.docnos), []
    lengths = np.minimum(1 + rng.geometric(0.22, count), 16)
    titled = rng.random((count, _QUALITIES)) < 0.4
    picks = rng.integers(0, 10**6, (count, 18, 2))
    for i, number in enumerate((stock.subject // _PER_DOMAIN).tolist()):
        domain, subjects = _DOMAINS[number], _SUBJECTS[number * _PER_DOMAIN :]
        words = _WORDS[number, np.arange(_QUALITIES), stock.has[i], 1 - stock.says_word[i]].tolist()
        title = _phrase(stock.subject[i], np.where(titled[i], words, "").tolist())
        opening = domain.openings[picks[i, 0, 0] % len(domain.openings)]
        sentences = [_STATEMENTS[k].format(words[k]) for k in np.flatnonzero(~titled[i]).tolist()]
        for sentence, other in picks[i, 1 : lengths[i] + 1]:
            filler = domain.fillers[sentence % len(domain.fillers)]
            sentences.append(filler.format(other=subjects[other % _PER_DOMAIN]))
        texts.append(" ".join([f"{opening}: {title}.", *sentences]))
    return texts


def _retrieve(rng: np.random.Generator, needs: _Needs, stock: _Stock) -> dict[str, pd.DataFrame]:
    """Score documents by signals: both rankers match words, and the candidate matches some synonyms too.

    The signals are blurred by noise that differs between the rankers and grows with the hardness of the query.
    """
    runs: dict[str, list[pd.DataFrame]] = {"production": [], "candidate": []}
    for start in range(0, len(needs.qids), _QUERIES_AT_ONCE):
        block = slice(start, start + _QUERIES_AT_ONCE)
        subject, asks, qids = needs.subject[block, None], needs.asks[block], np.array(needs.qids)[block]
        shape = len(qids), len(stock.docnos)
        same = subject == stock.subject
        related = subject // _PER_DOMAIN == stock.subject // _PER_DOMAIN
        matches = [related & (asks[:, k, None] == stock.has[:, k]) for k in range(_QUALITIES)]
        asked = (asks != _NOT_ASKED).sum(axis=1, keepdims=True)
        word = sum(match & stock.says_word[:, k] for k, match in enumerate(matches)) / asked
        meaning = sum(match.astype(np.int64) for match in matches) / asked
        seen = 2.0 * (same + word) + 0.5 * stock.merit + 0.2 * rng.normal(size=shape)
        signals = {"production": seen, "candidate": seen + 0.3 * (meaning - word) + 0.05 * stock.merit}
        hardness = 0.8 * 0.05 ** rng.random((len(qids), 1))
        for name, signal in signals.items():
            blur = hardness * rng.uniform(0.3, 1.7, hardness.shape)
            believed = (signal + blur * rng.normal(size=shape)) / (1 + blur**2)
            score = 1 / (1 + np.exp((2.6 - believed) / 0.3))  # P(relevant), as the ranker would report it
            depth = rng.integers(*_DEPTHS, size=len(qids))
            best = np.argsort(-score, axis=1, kind="stable")[:, : _DEPTHS[1]]
            row, column = np.nonzero(np.arange(best.shape[1]) < depth[:, None])
            found = best[row, column]
            scores = np.round(score[row, found], 6)
            docnos = np.array(stock.docnos)[found]
            runs[name].append(pd.DataFrame({"qid": qids[row], "docno": docnos, "score": scores}))
    return {name: ranked_run(pd.concat(blocks), name) for name, blocks in runs.items()}
