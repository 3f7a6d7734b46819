"""Pools in which a query has one relevant document, or few: known items, sparse labels, and ties of two rankers.

`hard_pools` has the coverage of intervals of one ranker in `SINGLES`, `hostile` how often any look is wrong in `PAIRS`.
Both are fractions of all combinations, in which the levels of each factor take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from leagues import with_error
from parts import ROUNDING, Samples, samples_of
from surprises import TOP, Cell, by_documents

POOLS = 15
"""Pools of each cell, which share its samples."""

Frames = Callable[[np.random.Generator], pd.DataFrame]
"""From a source of randomness to a labelled pool."""


def pairs_of(rng: np.random.Generator, latent: np.ndarray) -> np.ndarray:
    """Relevant documents come in pairs of neighbours, one pair a query on average."""
    found = np.zeros(latent.shape, dtype=bool)
    best = np.argsort(-(latent[:, ::2] + latent[:, 1::2]), axis=1)
    for x, number in enumerate(rng.poisson(1.0, len(latent))):
        for first in 2 * best[x, :number]:
            found[x, first : first + 2] = True
    return found


def groups_of(rng: np.random.Generator, latent: np.ndarray) -> np.ndarray:
    """At most one document of each group of five near-duplicates is relevant, of two groups of five a query."""
    found, best = np.zeros(latent.shape, dtype=bool), latent.reshape(len(latent), -1, 5).argmax(axis=2)
    x, group = np.nonzero(rng.random(best.shape) < 0.4)
    found[x, 5 * group + best[x, group]] = True
    return found


def counted(number: Callable[[np.random.Generator, int], np.ndarray]) -> Callable[..., np.ndarray]:
    """So many of the best documents of each query are relevant."""

    def found(rng: np.random.Generator, latent: np.ndarray) -> np.ndarray:
        place = np.argsort(np.argsort(-latent, axis=1), axis=1)
        return place < number(rng, len(latent))[:, None]

    return found


KINDS = {
    "1": counted(lambda rng, m: np.ones(m)),
    "0 or 1": counted(lambda rng, m: rng.integers(0, 2, m)),
    "Poisson(1)": counted(lambda rng, m: rng.poisson(1.0, m)),
    "2": counted(lambda rng, m: np.full(m, 2)),
    "5": counted(lambda rng, m: np.full(m, 5)),
    "pairs": pairs_of,
    "groups": groups_of,
}
"""Which documents are relevant, bool[m, n], from their latent relevance, by name."""

MODELS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "flat": lambda fair, rate: np.zeros_like(fair),
    "base rate": lambda fair, rate: np.full_like(fair, rate),
    "fair": lambda fair, rate: fair,
    "overconfident": lambda fair, rate: 3 * fair,
    "favours a": lambda fair, rate: fair,
}
"""Logits of relevance from those of a fair model, and from the logit of the share that is relevant, by name."""


def known_items(kind: str, model: str, queries: int, documents: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two rankers of equal skill, and the grades of a model."""
    latent = rng.normal(size=(queries, documents))
    label = KINDS[kind](rng, latent)
    rank = np.argsort(np.argsort(rng.normal(size=(2, *latent.shape)) - 0.8 * latent, axis=2), axis=2)
    rate = np.log(label.mean() / (1 - label.mean()))
    logit = MODELS[model](rate + label + rng.normal(size=label.shape) - 0.5, rate)
    return framed(rank, label, favouring(model, logit, rank[0]))


TIES = {8: (7, 14, 2), 13: (3, 4, 1), 37: (9, 12, 1)}
"""Period p → ranks u, v and w with ``(p − 1) (1/u − 1/v) = 1/w``."""


def tied(period: int, model: str, queries: int, documents: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two rankers that are equally good by AP, exactly.

    In most queries b has the only relevant document at rank u and a at rank v; in one query of each period a has it at
    rank w and b lacks it, see `TIES`.
    """
    upper, lower, alone = (rank - 1 for rank in TIES[period])
    place = np.arange(documents)
    a, b, relevant = (np.tile(each, (queries, 1)) for each in (place, place, place == upper))
    a[:, [upper, lower]] = lower, upper
    last = np.arange(queries) % period == 0
    a[last], relevant[last] = place, place == alone
    b[last] = np.where(place == alone, -1, place - (place > alone))
    rate = np.log(1 / (documents - 1))
    logit = MODELS[model](rate + relevant + rng.normal(size=a.shape) - 0.5, rate)
    return framed(np.stack([a, b]), relevant, favouring(model, logit, a))


def favouring(model: str, logit: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Logits that are too high for what a ranker has among its first ten, if the model favours it."""
    return logit + 2.0 * ((rank >= 0) & (rank < TOP)) * (model == "favours a")


def framed(rank: np.ndarray, label: np.ndarray, logit: np.ndarray) -> pd.DataFrame:
    """A labelled pool. Shapes: rank int64[2, m, n] from 0, label and logit [m, n]."""
    m, n = label.shape
    chance = 1 / (1 + np.exp(-logit.ravel()))
    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{x:03d}" for x in range(m)], n),
            "docno": np.tile([f"d{z:02d}" for z in range(n)], m),
            "rank_a": rank[0].ravel(),
            "rank_b": rank[1].ravel(),
            "label": label.ravel().astype(int),
            "grade_0": 1 - chance,
            "grade_1": chance,
        }
    )


class Setting(NamedTuple):
    """A cell of the tables."""

    kind: str
    model: str
    queries: int
    documents: int
    measure: str
    share: float

    @property
    def frames(self) -> Frames:
        """Its pools."""
        made = partial(tied, TIED[self.kind]) if self.kind in TIED else partial(known_items, self.kind)
        return partial(made, self.model, self.queries, self.documents)


TIED = {f"tie {period}": period for period in TIES}
SHARES, MEASURES = (0.1, 0.25, 0.5), ("AP", "nDCG@10")

SINGLES = [
    Setting(
        kind, model, (25, 60, 150, 400)[i % 4], 50 if i % 8 in (1, 4, 6) else 20, MEASURES[i // 3 % 2], SHARES[i % 3]
    )
    for i, (kind, model) in islice(enumerate(zip(cycle(KINDS), cycle(MODELS))), 21)
]
"""Cells of one ranker."""

_QUERIES = {8: (24, 104, 24, 104, 400), 13: (26, 104, 26, 104, 26), 37: (37, 111, 37, 111, 370)}

PAIRS = [
    Setting(
        f"tie {period}", model, _QUERIES[period][i % 5], 50 if i == 3 else 20, MEASURES[i % 4 == 1], SHARES[(i + 1) % 3]
    )
    for i, (period, model) in enumerate(product(TIES, MODELS))
] + [
    Setting(kind, model, 60, 20, measure, share)
    for kind, model, measure, share in zip(
        ("1", "Poisson(1)", "2", "pairs"), MODELS, cycle(MEASURES), (*SHARES, 0.1), strict=False
    )
]
"""Cells of two rankers."""


def single_rows(setting: Setting, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """How far off the estimates of one ranker are, and how often its interval covers the truth."""
    yield setting._asdict() | coverage(setting.frames, setting.measure, setting.share, repetitions, seed)


def coverage(frames: Frames, measure: str, share: float, repetitions: int, seed: int) -> dict[str, str]:
    """The same for any pools."""
    error, stated, reach = [], [], []
    for number in range(POOLS):
        cell = Cell.of(frames(np.random.default_rng([seed, number])), measure, ["a"])
        sampled, truth = by_documents(cell, "surprises", float(round(share * len(cell.label)))), cell.truth.mean()
        for sample in range(-(-repetitions // POOLS)):
            found = sampled(np.random.default_rng([seed, number, sample]))
            error.append(found.value - truth)
            stated.append(found.error)
            reach.append(found.reach + ROUNDING)
    return _said(np.array(error), np.array(stated), np.array(reach))


def _said(error: np.ndarray, stated: np.ndarray, reach: np.ndarray) -> dict[str, str]:
    square, n, varies = float((error**2).mean()), len(error), error.std() > ROUNDING
    return {
        "samples": f"{n}",
        "RMSE": f"{np.sqrt(square):.4f}",
        "bias": f"{error.mean() / error.std(ddof=1):+.2f} ± {1 / np.sqrt(n):.2f}" if varies else "",
        "stated": f"{np.sqrt((stated**2).mean() / square):.2f}" if varies else "",
        "coverage": with_error(float((np.abs(error) <= reach).mean()), n),
        "no interval": f"{np.isinf(reach).mean():.3f}",
    }


def pair_rows(setting: Setting, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """How often any of five looks at two rankers misses their difference, and one look at the end."""
    found = []
    for number in range(POOLS):
        cell = Cell.of(setting.frames(np.random.default_rng([seed, number])), setting.measure, ["a", "b"])
        budget = float(round(setting.share * len(cell.label)))
        found.append(samples_of(cell, budget, -(-repetitions // POOLS), 1000 * seed + number))
    every = Samples(*(np.concatenate([getattr(each, name) for each in found if each]) for name in vars(found[0])))
    wrong = (np.abs(every.error) > every.half_width).any(axis=1)
    at_end = _said(every.error[:, -1], every.standard_error[:, -1], every.fixed)
    yield setting._asdict() | {"samples": at_end.pop("samples"), "wrong": with_error(wrong.mean(), len(wrong))} | at_end
