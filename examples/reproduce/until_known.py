"""What a verdict costs that may be looked at after every label: labels until the bets name the better ranker.

    python examples/reproduce/until_known.py mq2007-agg.parquet mq2008.parquet lambdarank.parquet dl21.parquet \
        --judge dl21=umbrela-gpt-4.qrels --pairs mq2007-agg=20 --pairs dl21=20 --evidence FOLDER

The units of a plan come in many random orders, and every label is followed by a look. The true difference is known, and
the value that it is compared with lies .13, .39 or .78 standard deviations of the difference per query below it, or
equals it (the null). The bets are planned for the labels that a fixed sample of the same units needs for 80 % power,
and for four times as many. The sizes of the fixed samples are chosen for the true difference, as if it were known
beforehand: whole queries at random without replacement, and documents drawn at once with the probabilities of the plan.

``--pairs NAME=N`` replays N random pairs of a pool's rankers at their true differences.

``--judge NAME=QRELS`` takes an LLM judge's labels as the grade model of a pool; otherwise it is a random forest. Grade
models are trained on the first training fold. ``--quick`` replays few orders.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import tasks, with_error
from tqdm import tqdm
from verdicts import ALPHA, CRITICAL, LEVELS, MEASURE, POWER, Contest, by_bets

from pt_active import JudgeGrades
from pt_active.frames.trec import read_qrels
from pt_active.inference.stopping.bets import interval

DIFFERENCES = (0.13, 0.39, 0.78)
"""True differences, in standard deviations of the difference per query."""

PLANNED = {"bets": 1, "bets ×4": 4}
"""Column of the table → how many times the labels of a fixed sample the bets are planned for."""

WIDTHS = {"mq2007-agg": (300, 1000, 3000)}
"""Pool → numbers of documents at which widths of intervals are compared."""

TABLES = {
    "### Labels": "until-known",
    "### Wrong": "until-known-wrong",
    "### Random pairs": "until-known-pairs",
    "### Widths": "until-known-widths",
}
"""Beginning of a heading → the name of its table."""


def replayed(
    contest: Contest, level: str, difference: float, times: int, repetitions: int, seed: int
) -> Iterator[dict[str, object]]:
    """How the bets end in each order.

    Args:
        contest: Two rankers.
        level: ``document`` or ``query``.
        difference: How far the truth lies above the value that it is compared with.
        times: How many times the labels of a fixed sample the bets are planned for.
        repetitions: How many orders.
        seed: Seed of the orders.

    Yields:
        ``labels, wrong`` of the bets, and ``null`` for their wrong verdicts at the null.
    """
    truth, planned = contest.truth, times * contest.fixed(level, difference)
    for each in contest.sequences(level, planned, repetitions, seed):
        bets, null = by_bets(each, truth - difference, truth), by_bets(each, truth, truth)
        yield {"labels": bets.labels, "wrong": bets.wrong, "null": null.wrong}


def graded_pool(pool: JudgedPool, judges: dict[str, Path]) -> pd.DataFrame:
    """The pool without its first training fold, on which its grade model is trained."""
    usual = GRADE_MODELS["random forest"](pool.max_grade)
    judge = judges.get(pool.name)
    model = usual if judge is None else JudgeGrades(read_qrels(judge), pool.max_grade)
    return pool.graded(model, pool.train_folds[0])


def prices(pool: JudgedPool, graded: pd.DataFrame, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """`replayed` for the clear and the near-tied pair, with what fixed samples need."""
    for task, rankers in tasks(pool, pool.train_folds[0]).items():
        if len(rankers) == 1:
            continue
        contest = Contest.of(graded, rankers)
        for deviations in DIFFERENCES:
            difference = deviations * contest.deviation
            head = {"data": pool.name, "task": task, "difference": deviations}
            head |= {level: contest.fixed(level, difference) for level in LEVELS}
            for level in LEVELS:
                for name, times in PLANNED.items():
                    seed += 1
                    for row in replayed(contest, level, difference, times, repetitions, seed):
                        yield head | {"level": level, "planned": name} | row


def price_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Labels to a verdict: one row per pool, pair and difference."""
    table = []
    for (data, task, difference), cell in rows.groupby(["data", "task", "difference"], sort=False):
        row = {"data": data, "pair": task, "difference": f"{difference:g} sd"}
        for level, unit in LEVELS.items():
            chosen = cell[cell["level"] == level]
            row[f"{unit}, fixed"] = f"{cell[level].iloc[0]:,.0f}"
            for name in PLANNED:
                row[f"{unit}, {name}"] = _quantiles(chosen.loc[chosen["planned"] == name, "labels"])
        table.append(row)
    return pd.DataFrame(table)


def _quantiles(labels: pd.Series) -> str:
    return f"{labels.median():,.0f} ({labels.quantile(0.9):,.0f})"


def wrong_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of wrong verdicts over all differences and plans: one row per pool, pair and unit."""
    columns = {"bets": "wrong", "bets, null": "null"}
    table = []
    for (data, task, level), cell in rows.groupby(["data", "task", "level"], sort=False):
        shares = {name: with_error(cell[column].mean(), len(cell)) for name, column in columns.items()}
        table.append({"data": data, "pair": task, "judged by": level} | shares)
    return pd.DataFrame(table)


def pair_rows(
    pool: JudgedPool, graded: pd.DataFrame, number: int, repetitions: int, seed: int
) -> Iterator[dict[str, object]]:
    """Random pairs of rankers at their true differences: what fixed samples need, and how the bets end."""
    pairs = list(combinations(pool.rankers, 2))
    for place in np.random.default_rng(seed).permutation(len(pairs))[:number]:
        contest = Contest.of(graded, list(pairs[place]))
        if contest.deviation == 0:
            continue
        fixed = {level: contest.fixed(level, abs(contest.truth)) for level in LEVELS}
        ends = [
            by_bets(each, 0.0, contest.truth)
            for each in contest.sequences("document", fixed["document"], repetitions, seed + int(place))
        ]
        yield {
            "data": pool.name,
            "pair": " and ".join(pairs[place]),
            "difference": abs(contest.truth) / contest.deviation,
            **fixed,
            "bets": float(np.median([each.labels for each in ends])),
            "wrong": float(np.mean([each.wrong for each in ends])),
        }


def pair_text(rows: pd.DataFrame, repetitions: int) -> str:
    """The table of the random pairs of one pool, and how many of them end early."""
    rows = rows.sort_values("difference")
    fewer = int((rows["bets"] < rows["query"]).sum())
    wrong = with_error(rows["wrong"].mean(), repetitions * len(rows))
    shown = pd.DataFrame(
        {
            "pair": rows["pair"],
            "difference": [f"{value:.2f} sd" for value in rows["difference"]],
            "queries, fixed": [f"{value:,.0f}" for value in rows["query"]],
            "documents, fixed": [f"{value:,.0f}" for value in rows["document"]],
            "documents, bets": [f"{value:,.0f}" for value in rows["bets"]],
            "wrong": [f"{value:.2f}" for value in rows["wrong"]],
        }
    )
    said = f"With bets the median is below the fixed sample of queries in {fewer} of {len(rows)} pairs"
    return f"**{rows['data'].iloc[0]}**: {said}; wrong verdicts: {wrong}.\n\n{markdown(shown)}"


def width_rows(pool: JudgedPool, graded: pd.DataFrame, repetitions: int, seed: int) -> Iterator[dict[str, object]]:
    """Half-widths of the sequence of intervals at the planned number of documents, relative to a fixed sample."""
    for task, rankers in tasks(pool, pool.train_folds[0]).items():
        contest = Contest.of(graded, rankers)
        for number in WIDTHS.get(pool.name, ()):
            ends = np.array(
                [
                    interval(each.proof.draws.first(number), each.proof.stakes, ALPHA)
                    for each in contest.sequences("document", number, repetitions, seed)
                ]
            )
            half = CRITICAL * contest.error(number)
            covered = ((ends[:, 0] <= contest.truth) & (contest.truth <= ends[:, 1])).mean()
            yield {
                "data": pool.name,
                "task": task,
                "documents": f"{number:,}",
                "fixed sample": f"± {half:.3f}",
                "sequence": f"± {np.diff(ends).mean() / 2:.3f}",
                "ratio": f"{np.diff(ends).mean() / 2 / half:.2f}",
                "coverage": with_error(covered, repetitions),
            }


def page(arguments: argparse.Namespace) -> str:
    """All tables, as the text between the marker lines of a page."""
    judges = {name: Path(path) for name, path in (entry.split("=", 1) for entry in arguments.judge)}
    chosen = {name: int(number) for name, number in (entry.split("=", 1) for entry in arguments.pairs)}
    repetitions = 5 if arguments.quick else arguments.repetitions
    paid: list[dict[str, object]] = []
    widths: list[dict[str, object]] = []
    pairs: list[pd.DataFrame] = []
    for path in tqdm(arguments.pools, unit="pool"):
        pool = read_judged_pool(path)
        graded = graded_pool(pool, judges)
        paid += tqdm(prices(pool, graded, repetitions, arguments.seed), unit="order", leave=False)
        widths += width_rows(pool, graded, repetitions, arguments.seed)
        if pool.name in chosen:
            pairs.append(pd.DataFrame(pair_rows(pool, graded, chosen[pool.name], repetitions, arguments.seed)))
    rows = pd.DataFrame(paid)
    total = repetitions * len(DIFFERENCES) * len(PLANNED)
    parts = [
        "### Labels to a verdict\n\n"
        f"{MEASURE}, medians over {repetitions} orders, in brackets the 90th percentile. Fixed samples have "
        f"{POWER:.0%} power, so one in five of them ends without a verdict. With ×4, the bets are planned for four "
        "times as many labels.",
        markdown(price_table(rows)),
        f"### Wrong verdicts\n\nShares of {total:,} orders with a wrong verdict, with Monte Carlo errors.",
        markdown(wrong_table(rows)),
    ]
    if pairs:
        parts.append(f"### Random pairs at their true differences\n\nMedians over {repetitions} orders.")
        parts += [pair_text(each, repetitions) for each in pairs]
    if widths:
        said = f"Half-widths at the planned number of documents, means over {repetitions} orders."
        parts.append(f"### Widths of intervals\n\n{said}")
        parts.append(markdown(pd.DataFrame(widths)))
    return "\n\n".join(parts)


def main() -> None:
    """Replay, print the tables, and write them into a page if requested."""
    parser = parser_with(__doc__, pools="+", repetitions=120, seed=0, quick="5 orders")
    parser.add_argument("--judge", action="append", default=[], metavar="NAME=QRELS")
    parser.add_argument("--pairs", action="append", default=[], metavar="NAME=N")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    text = page(arguments)
    publish(text, arguments, *(name for heading, name in TABLES.items() if heading in text))
    print(text)


if __name__ == "__main__":
    main()
