"""A bench: this package beside what a user could install instead, in one process, at equal numbers of labels.

    python examples/reproduce/bench.py POOL.parquet … [--answers FOLDER] [--evidence FOLDER]

All methods estimate the difference of the best two rankers of a labelled pool (near-tied pair) or the best alone (one
ranker) from a tenth of the labels, with the same grade model, and the difference of two systems' answers from 200
labels of 1,167 items. `rivals` has the methods that packages offer, and `track_baselines` those of tracks. What draws
single units by their spread takes documents for DCG, which is a sum over them, and whole queries for other measures.
Methods whose package is missing are left out, which the table's note says.

Columns: ``worth``, the mean squared error of random whole units over that of the method; ``width`` of 95 % intervals
over that of paired t on random units, on average; ``coverage``; ``verdict``, the median number of labels until the
better system is known, of methods that may look after each label; ``seconds`` of CPU a sample. A sample for which a
method has no interval counts as not covered, and one for which it has no estimate is left out of its error. In a cell
the method with the least error stands first, and cells in which that is a rival stand before the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from answers import RELIANCE, answers_of, by_bets, by_plan, pairs_of, row_of, seeds_of
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, read_judged_pool
from leagues import add_keep, kept, tasks, with_error
from rivals import LEVEL, Answer, Units, installed
from surprises import Cell, Found, by_tracks
from tqdm import tqdm

from pt_active import Answers
from pt_active.inference.replay import Method, Population
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("DCG@10", "nDCG@10", "AP")
TASKS = ("one ranker", "near-tied pair")
SHARE = 0.1
TRACKS = {"nDCG@10": ("infNDCG", "pool"), "AP": ("xinfAP", "statAP", "pool")}
PACKAGE = "pt_active"
OF_QUERIES = ("paired t", "PPI++")  # Draw units with equal chances
ITEM_LABELS = 200


# --- rankings -------------------------------------------------------------------------------------------------------


def queries_of(population: Population) -> Units:
    """Whole queries."""
    contrast = np.array([1.0, -1.0])[: population.values.shape[1]]
    variance = contrast @ population.moments.covariance @ contrast
    return Units(population.target, population.model, np.sqrt(variance), float(population.cost.mean()))


def documents_of(population: Population) -> Units:
    """Single documents, whose parts of a measure that is a sum have the mean that is asked for."""
    assert population.single is not None
    graded, label = population.single.graded, population.single.label
    seen, worth = graded.seen, graded.seen.form.values
    mean = graded.grades @ worth
    spread = np.sqrt(np.maximum(graded.grades @ worth**2 - mean**2, 0.0))
    factor = len(label) * seen.weight[seen.query] * (population.single.contrast @ seen.gradients(mean))
    return Units(factor * worth[label], factor * mean, np.abs(factor) * spread, 1.0)


def of_pool(path: Path, repetitions: int, seed: int) -> Iterator[dict[str, str]]:
    """The rows of a pool."""
    pool = read_judged_pool(path)
    fold = pool.train_folds[0]
    frame = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for measure in MEASURES:
        for task in TASKS:
            rankers = tasks(pool, fold)[task]
            population = labelled_population(frame, measure, rankers=rankers)
            budget = float(round(SHARE * population.cost.sum()))
            queries = queries_of(population)
            single = documents_of(population) if measure == "DCG@10" else queries
            found = {
                name: repeated(partial(method, queries if name in OF_QUERIES else single, budget), repetitions, seed)
                for name, method in installed()[0].items()
            }
            for way in TRACKS.get(measure, ()):
                sampled = by_tracks(Cell.of(frame, measure, rankers), way, budget)
                found[way] = repeated(partial(without_interval, sampled), repetitions, seed)
            found[PACKAGE] = ours(population, budget, repetitions, seed)
            head = {"data": pool.name, "measure": measure, "task": task, "labels": f"{budget:.0f}"}
            yield from rows_of(head, found, population.truth, error_of_random(queries, budget))


def without_interval(sampled: Callable[[np.random.Generator], Found], rng: np.random.Generator) -> Answer:
    """What a track's estimator says of one sample."""
    return Answer(sampled(rng).value, np.nan, np.nan)


def ours(population: Population, budget: float, repetitions: int, seed: int) -> Outcome:
    """Documents as a plan draws them by default."""
    assert population.single is not None
    start = time.process_time()
    method = Method(population.single.graded.usual_drawing, "regression", False)
    replayed = replays(population, [method], repetitions, budgets=[budget], seed=seed, progress=False)[method]
    low, high = (ends[0] for ends in replayed.intervals(LEVEL))
    value = replayed.error[0] + population.truth
    return Outcome(np.column_stack([value, low, high]), (time.process_time() - start) / repetitions)


# --- answers --------------------------------------------------------------------------------------------------------


def of_answers(folder: Path, repetitions: int, seed: int) -> Iterator[dict[str, str]]:
    """The rows of pairs of systems; what is known of the judge comes from the other half of the systems."""
    tables = np.load(folder / "sentiment.npz")
    past, half = (np.sort(each) for each in np.split(np.random.default_rng(0).permutation(100), 2))
    true = tables["true"][half]
    for name in ("good", "bad"):
        judge = tables[{"good": "judge_best", "bad": "judge_bad"}[name]]
        spreads = spread_by_judge(tables["true"][past], judge[past])
        for pair in pairs_of(true, seed=33)[1]:
            difference, judged = (table[pair[0]].astype(float) - table[pair[1]] for table in (true, judge[half]))
            units = Units(difference, judged, spreads[np.abs(judged).astype(int)], 2.0)
            found = {
                method: repeated(partial(run, units, ITEM_LABELS), repetitions, seed)
                for method, run in installed()[0].items()
            }
            answers, labels = answers_of(true, judge[half], pair)
            found[PACKAGE] = by_fixed_plan(answers, labels, seeds_of(pair, repetitions))
            head = {"data": f"answers, {name} judge", "measure": "accuracy", "labels": str(ITEM_LABELS)}
            head["task"] = f"difference {difference.mean():.3f}"
            orders = max(repetitions // 5, 2)
            looks = {PACKAGE: list(by_plan(answers, labels, "item", seeds_of(pair, orders)))}
            looks |= rival_looks(difference, judged, orders)
            verdicts = {method: row_of(each, False) for method, each in looks.items()}
            yield from rows_of(head, found, difference.mean(), error_of_random(units, ITEM_LABELS), verdicts)


def spread_by_judge(true: np.ndarray, judge: np.ndarray) -> np.ndarray:
    """float64[2], how far the judge's difference of two past systems is off, where it is 0 and where it is not."""
    pairs = np.random.default_rng(0).integers(len(true), size=(400, 2))
    judged, difference = (table[pairs[:, 0]].astype(float) - table[pairs[:, 1]] for table in (judge, true))
    off = (difference - judged) ** 2
    return np.sqrt([off[judged == 0].mean(), off[judged != 0].mean()])


def by_fixed_plan(answers: Answers, labels: pd.DataFrame, seeds: range) -> Outcome:
    """Items as a plan draws them by default."""
    start, found = time.process_time(), []
    for seed in seeds:
        compared = answers.plan(ITEM_LABELS, seed=seed).compare(labels)
        found.append((compared.difference, *compared.confidence_interval()))
    return Outcome(np.array(found, dtype=float), (time.process_time() - start) / len(seeds))


def rival_looks(difference: np.ndarray, judged: np.ndarray, orders: int) -> dict[str, list[dict[str, object]]]:
    """Labels to a verdict of methods that may look after each label, order by order.

    R-AutoEval+ bets by its rule for 100 items, chosen beforehand (`answers.by_bets`); the confidence sequence of
    fewhumans is of people's labels alone.
    """
    rng, looks = np.random.default_rng(33), {"R-AutoEval+": [], "fewhumans, looks": []}
    for _ in range(orders):
        order = rng.permutation(len(difference))
        looks["R-AutoEval+"].append(by_bets(difference, judged, RELIANCE, order)[1])
        if find_spec("fewhumans"):
            looks["fewhumans, looks"].append(by_confidence_sequence(difference[order]))
    return {name: each for name, each in looks.items() if each}


def by_confidence_sequence(difference: np.ndarray) -> dict[str, object]:
    """The first number of labels at which the mean of differences, from −1 to 1, is known not to be 0."""
    from fewhumans.sequential.cs import cs_radius

    count = np.arange(1, len(difference) + 1)
    radius = 2 * np.array([cs_radius(int(number), 1 - LEVEL) for number in count])
    mean = difference.cumsum() / count
    known = np.abs(mean) > radius
    if not known.any():
        return {"labels": 2 * len(difference), "verdict": None}
    first = int(known.argmax())
    return {"labels": 2 * (first + 1), "verdict": "a" if mean[first] > 0 else "b"}


# --- the table ------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """Estimates with the ends of their intervals, float64[R, 3], and CPU seconds a sample."""

    answers: np.ndarray
    seconds: float


def repeated(sampled: Callable[[np.random.Generator], Answer], repetitions: int, seed: int) -> Outcome:
    """What independent samples say."""
    start = time.process_time()
    answers = [sampled(np.random.default_rng([seed, number])) for number in range(repetitions)]
    return Outcome(np.array(answers, dtype=float), (time.process_time() - start) / repetitions)


def error_of_random(units: Units, labels: float) -> float:
    """The mean squared error of random units without replacement."""
    share = labels / (units.labels * len(units.value))
    return float(units.value.var(ddof=1) / (share * len(units.value)) * (1 - share))


def rows_of(
    head: dict[str, str],
    found: dict[str, Outcome],
    truth: float,
    random: float,
    verdicts: dict[str, dict[str, object]] | None = None,
) -> Iterator[dict[str, str]]:
    """A row for each method, that of the least error first."""
    squares = {name: (each.answers[:, 0] - truth) ** 2 for name, each in found.items()}
    usual = np.nanmean(np.subtract(*found["paired t"].answers[:, :0:-1].T))
    verdicts = dict(verdicts or {})
    for name in sorted(found, key=lambda name: np.nanmean(squares[name])):
        value, low, high = found[name].answers.T
        worth = random / np.nanmean(squares[name])
        noise = np.nanstd(squares[name], ddof=1) / np.nanmean(squares[name]) / np.sqrt((~np.isnan(value)).sum())
        known = not np.isnan(low).all()
        row = head | {"method": name, "worth": f"{worth:.2f} ± {worth * noise:.2f}"}
        row["width"] = f"{np.nanmean(high - low) / usual:.2f}" if known else ""
        covers = float(((low <= truth) & (truth <= high)).mean())
        row["coverage"] = with_error(covers, len(low)) if known else ""
        yield row | {"verdict": verdict(verdicts.pop(name, None)), "seconds": f"{found[name].seconds:.3f}"}
    for name, each in verdicts.items():
        empty = dict.fromkeys(("worth", "width", "coverage"), "")
        yield head | {"method": name} | empty | {"verdict": verdict(each), "seconds": ""}


def verdict(found: dict[str, object] | None) -> str:
    """The median number of labels with its Monte-Carlo error."""
    return "" if found is None else f"{found['labels']:.0f} ± {found['labels_error']:.0f}"


def rivals_first(rows: list[dict[str, str]]) -> pd.DataFrame:
    """The table, whose first cells are those in which a rival errs least."""
    table = pd.DataFrame(rows)
    cells = table.groupby(["data", "measure", "task"], sort=False)
    return (
        table.assign(ours=cells["method"].transform("first") == PACKAGE)
        .sort_values("ours", kind="stable")
        .drop(columns="ours")
    )


def main() -> None:
    parser = parser_with(__doc__, pools="*", repetitions=50, seed=1)
    parser.add_argument("--answers", type=Path, metavar="FOLDER")
    add_keep(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    about = arguments.repetitions, arguments.seed
    parts = {path.stem: partial(of_pool, path, *about) for path in arguments.pools}
    if arguments.answers:
        parts["answers"] = partial(of_answers, arguments.answers, *about)
    rows: list[dict[str, str]] = []
    for name, make in tqdm(parts.items()):
        rows += kept(arguments.keep, f"{name}, {about[0]} repetitions, seed {about[1]}", make())
    table, missing = rivals_first(rows), installed()[1]
    text = markdown(table)
    if missing:
        text = f"Left out, as their packages are not installed: {', '.join(missing)}.\n\n{text}"
    publish(text, arguments, "bench")
    print(text)


if __name__ == "__main__":
    main()
