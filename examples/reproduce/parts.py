"""Plans for nDCG and AP that are looked at after each of five parts: their level, and the labels to a verdict.

    python parts.py DL21 mq2007-agg.parquet mq2008.parquet lambdarank.parquet --evidence FOLDER
    python parts.py --populations plain skewed heavy rare dominant --topics 25 200 --share 0.25 --evidence FOLDER

Two random rankers of a collection (see `surprises`) are traded at random in each of some random topics, so that their
true difference is near 0. With ``--populations`` the rankers are those of `populations.py`, which are
made to mislead, and there is no trade. Samples are drawn, and estimated after each part as a plan does. Columns:

- ``wrong``: the share of samples in which the interval of any look misses the true difference; ``at the end`` that of
  one look at the same samples, whose interval is narrower. ``stated`` is its standard error over the root mean squared
  error, in which the bias is.
- ``labels ×2`` and ``known ×2``: labels to a verdict over those of the sample, and how often there is one, if the truth
  were twice the difference that one look at the end finds in 80 of 100 samples; ``×1`` if it were that difference.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import add_keep, kept, with_error
from populations import POPULATIONS
from scipy import stats
from surprises import LEVEL, Cell, read_collection
from tqdm import tqdm

from pt_active.frames.columns import ranker_names
from pt_active.inference.class_fit import MAX_MISFIT
from pt_active.inference.documents import expected_variance
from pt_active.inference.drawn_documents import DrawnDocuments, drawn_by, estimate_documents, pool_sizes
from pt_active.inference.stopping.looks import MIN_LABELS, PLANNED_LOOKS, half_widths, spending_boundary
from pt_active.sampling.drawings import SURPRISES, DrawingSettings, usual_variance
from pt_active.sampling.successive import Succession

MEASURES = ("AP", "nDCG@10")
TOPICS = {"dl21": (25, 40, 53)}
OTHERS = (200,)
POWER = 0.8
ROUNDING = 1e-9  # A sample in which nothing is left to chance misses by less
NUMBERS = np.arange(1, PLANNED_LOOKS + 1)


@dataclass(frozen=True)
class Samples:
    """What samples say at each look, float64[n, L]; the last look is at all labels."""

    error: np.ndarray  # the estimate minus the truth
    standard_error: np.ndarray
    degrees: np.ndarray
    labels: np.ndarray
    half_width: np.ndarray  # of the intervals that hold at all looks; infinite where there is none
    refused: np.ndarray  # bool, whether the labels fit no class of queries

    @property
    def fixed(self) -> np.ndarray:
        """float64[n], the half-width of one look at the end."""
        quantile = stats.t.ppf((1 + LEVEL) / 2, np.maximum(self.degrees[:, -1], 1.0))
        return np.where(self.refused[:, -1], np.inf, quantile * self.standard_error[:, -1] + ROUNDING)

    def until_known(self, difference: np.ndarray) -> tuple[float, float]:
        """Labels to a verdict over those of the sample, and how often there is one, at true differences float64[n]."""
        known = self.error + difference[:, None] > self.half_width
        at = np.where(known.any(axis=1), known.argmax(axis=1), -1)
        used = self.labels[np.arange(len(at)), at] / self.labels[:, -1]
        return float(used.mean()), float(known.any(axis=1).mean())


def samples_of(cell: Cell, budget: float, repetitions: int, seed: int) -> Samples | None:
    """Samples of a cell; None if no document can change the estimate, or the budget is too small."""
    pool, seen, truth = cell.graded, cell.seen, float(cell.seen.weight @ cell.truth)
    settings = DrawingSettings(SURPRISES, usual_variance(seen.form))
    try:
        sizes = pool_sizes(pool, settings)
        whole = [
            drawn_by(sizes, pool, settings, budget, np.random.default_rng([seed, number]))
            for number in range(repetitions)
        ]
    except ValueError:
        return None
    orders = [Succession(drawn.sample.design, drawn.sample.priority, pool.prices) for drawn in whole]
    firsts = [order.parts(budget, PLANNED_LOOKS) for order in orders]
    expected = np.array([expected_variance(seen, part.design, sizes.gain) for part in firsts[0]])
    if not expected[-1] > 0:
        return None
    looked = (budget * NUMBERS / PLANNED_LOOKS >= MIN_LABELS) | (NUMBERS == PLANNED_LOOKS)
    critical = np.full(PLANNED_LOOKS, np.inf)
    critical[looked] = spending_boundary(NUMBERS[looked] / PLANNED_LOOKS, expected[-1] / expected[looked], 1 - LEVEL)
    rows = [[_estimated(cell, replace(whole[0], sample=part)) for part in parts] for parts in firsts]
    value, error, degrees, labels, refused = np.moveaxis(np.array(rows), -1, 0)
    half_width = np.where(refused, np.inf, half_widths(critical, error, degrees) + ROUNDING)
    return Samples(value - truth, error, degrees, labels, half_width, refused.astype(bool))


def _estimated(cell: Cell, part: DrawnDocuments) -> tuple[float, ...]:
    label = np.where(part.sample.drawn, cell.label, -1)
    found = estimate_documents(cell.seen, part, label, cell.contrast, "regression")
    drawn = float(part.sample.drawn.sum())
    return found.value, found.standard_error, found.degrees_of_freedom, drawn, float(abs(found.misfit) > MAX_MISFIT)


def traded(frame: pd.DataFrame, pair: list[str], rng: np.random.Generator) -> pd.DataFrame:
    """The frame with its rankers traded at random in each topic."""
    topic, names = pd.factorize(frame["qid"])
    swap, (one, other) = (rng.random(len(names)) < 0.5)[topic], (frame[f"rank_{name}"].to_numpy() for name in pair)
    ranks = np.where(swap, other, one), np.where(swap, one, other)
    return frame.assign(**{f"rank_{name}": each for name, each in zip(pair, ranks, strict=True)})


Nulls = Callable[[int, np.random.Generator], Iterator[tuple[pd.DataFrame, list[str]]]]
"""From a number of topics to pools of two rankers whose difference is near 0, and the names of these."""


def of_collection(
    frame: pd.DataFrame, topics: int, rng: np.random.Generator
) -> Iterator[tuple[pd.DataFrame, list[str]]]:
    """Random rankers, traded in random topics."""
    while True:
        pair = rng.choice(ranker_names(frame.columns), 2, replace=False).tolist()
        some = frame[frame["qid"].isin(rng.choice(frame["qid"].unique(), topics, replace=False))]
        yield traded(some, pair, rng), pair


def of_population(name: str, topics: int, rng: np.random.Generator) -> Iterator[tuple[pd.DataFrame, list[str]]]:
    """Populations that are made to mislead."""
    while True:
        made = POPULATIONS[name](int(rng.integers(1 << 30)), topics)
        yield made.pool.merge(made.qrels, on=["qid", "docno"]), ["a", "b"]


def row_of(nulls: Nulls, measure: str, topics: int, arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """The row of a cell, if its budget pays for topics in two of the swaps."""
    found = []
    made_up = islice(nulls(topics, np.random.default_rng([arguments.seed, topics])), arguments.swaps)
    for swap, (frame, pair) in enumerate(made_up):
        cell = Cell.of(frame, measure, pair)
        budget = float(round(arguments.share * len(cell.label)))
        made = samples_of(cell, budget, arguments.repetitions, 1000 * arguments.seed + swap)
        found += [] if made is None else [made]
    if len(found) < 2:  # the budget pays for no topic in nearly all of them
        return
    every = Samples(*(np.concatenate([getattr(each, name) for each in found]) for name in vars(found[0])))
    wrong = [(np.abs(each.error) > each.half_width).any(axis=1).mean() for each in found]
    usual = np.repeat([np.sqrt((each.standard_error[:, -1] ** 2).mean()) for each in found], arguments.repetitions)
    steps = np.linspace(0.5, 20, 400)
    enough = np.array([(every.error[:, -1] + step * usual > every.fixed).mean() >= POWER for step in steps])
    detectable = usual * steps[enough.argmax()]
    (twice, known), (once, power) = (every.until_known(times * detectable) for times in (2, 1))
    yield {
        "samples": f"{len(every.error)}",
        "wrong": f"{np.mean(wrong):.3f} ± {np.std(wrong, ddof=1) / np.sqrt(len(wrong)):.3f}",
        "at the end": with_error(float((np.abs(every.error[:, -1]) > every.fixed).mean()), len(every.error)),
        "stated": f"{np.sqrt((every.standard_error[:, -1] ** 2).mean() / (every.error[:, -1] ** 2).mean()):.2f}",
        "labels ×2": f"{twice:.2f}",
        "known ×2": f"{known:.2f}",
        "labels ×1": f"{once:.2f}",
        "known ×1": f"{power:.2f}",
    }


def table(arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """One row per collection, number of topics and measure."""
    frames = (
        (each.name, partial(of_collection, each.frame)) for each, *_ in map(read_collection, arguments.collections)
    )
    hostile = ((name, partial(of_population, name)) for name in arguments.populations)
    for name, nulls in chain(frames, hostile):
        sizes = arguments.topics or TOPICS.get(name, OTHERS)
        cells = [(topics, measure) for topics in sizes for measure in MEASURES]
        for topics, measure in tqdm(cells, desc=name, unit="cell"):
            head = {"data": name, "topics": topics, "measure": measure}
            part = ", ".join(
                map(str, [*head.values(), arguments.share, arguments.swaps, arguments.repetitions, arguments.seed])
            )
            made = row_of(nulls, measure, topics, arguments)
            yield from (head | dict(row) for row in kept(arguments.keep, part, made))


def main() -> None:
    """Sample, print the table and write it."""
    parser = parser_with(__doc__, repetitions=8, seed=1)
    parser.add_argument("collections", type=Path, nargs="*", metavar="FOLDER|POOL.parquet")
    parser.add_argument("--populations", nargs="*", default=[], choices=POPULATIONS)
    parser.add_argument("--swaps", type=int, default=30, help="random pairs of rankers, traded in random topics")
    parser.add_argument("--topics", type=int, nargs="+", help="numbers of topics")
    parser.add_argument("--share", type=float, default=0.1, help="of all judgments")
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = markdown(pd.DataFrame(table(arguments)))
    print(text)
    publish(text, arguments, "parts-hostile" if arguments.populations else "parts")


if __name__ == "__main__":
    main()
