"""A picture of judging until a verdict: a sequence that closes in on a difference, and what a verdict costs.

    python examples/reproduce/closing_in.py mq2007-agg.parquet --out pt_active/pt_docs/until-known.png

The left panel shows one order of the documents of the near-tied pair: the estimate, the interval of the bets, which
holds after every label, and the 95 % interval of a fixed sample, which does not if it is looked at after every label.
In some orders the latter excludes 0 for the first time on the wrong side. The script prints in how many, and shows the
one of them in which that happens last. The right panel has the labels to a verdict by the size of the difference, as in
``until_known.py``.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import parser_with
from judged_pools import read_judged_pool
from leagues import tasks, with_error
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from sequences import Sequence
from tqdm import tqdm
from until_known import graded_pool, replayed
from verdicts import ALPHA, CRITICAL, MEASURE, Contest, by_bets, running

from pt_active.frames.atomic import new_file
from pt_active.inference.stopping.bets import interval

TASK, FIRST_LOOK = "near-tied pair", 10
"""The pair that is shown, and the number of labels at the first look."""

LOOKS = 200
"""The number of looks that are drawn, at equal steps."""

DIFFERENCES = (0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8)
"""True differences in the right panel, in standard deviations of the difference per query."""

ESTIMATE, BETS, NAIVE, DOCUMENTS, QUERIES = "black", "tab:red", "tab:orange", "tab:blue", "gray"


class Course(NamedTuple):
    """One order of documents, looked at after each.

    Attributes:
        sequence: The documents, all judged.
        mean: float64[n], the estimate after each.
        half: float64[n], the half-width of the interval of a fixed sample.
        found: The number of labels after which this interval first excludes 0; 0 if it never does.
        known: The number of labels to the verdict of the bets.
        wrong: Whether that verdict is wrong.
    """

    sequence: Sequence
    mean: np.ndarray
    half: np.ndarray
    found: int
    known: int
    wrong: bool

    @classmethod
    def of(cls, sequence: Sequence, truth: float) -> Course:
        """What looks at a sequence say."""
        mean, error, _ = running(sequence.proof.draws)
        apart = np.abs(mean) > CRITICAL * error
        apart[: FIRST_LOOK - 1] = False
        found = int(apart.argmax()) + 1 if apart.any() else 0
        return cls(sequence, mean, CRITICAL * error, found, *by_bets(sequence, 0.0, truth))

    def misled(self, truth: float) -> bool:
        """Whether the interval of a fixed sample first excludes 0 on the wrong side."""
        return self.found > 0 and self.mean[self.found - 1] * truth < 0


def courses(contest: Contest, repetitions: int, seed: int) -> list[Course]:
    """Many orders of the documents; the bets are planned for what a fixed sample needs."""
    orders = contest.sequences("document", contest.fixed("document", abs(contest.truth)), repetitions, seed)
    return [Course.of(each, contest.truth) for each in tqdm(orders, total=repetitions, unit="order")]


def draw_course(axes: Axes, course: Course, truth: float) -> None:
    """The left panel."""
    end = min(int(1.25 * course.known), len(course.mean))
    looks = np.unique(np.linspace(FIRST_LOOK, end, LOOKS).astype(int))
    draws, stakes = course.sequence.proof.draws, course.sequence.proof.stakes
    low, high = np.array([interval(draws.first(look), stakes, ALPHA) for look in looks]).T
    mean, half = course.mean[looks - 1], course.half[looks - 1]
    axes.fill_between(looks, low, high, color=BETS, alpha=0.15, linewidth=0, label="interval of the bets")
    axes.fill_between(
        looks, mean - half, mean + half, color=NAIVE, alpha=0.35, linewidth=0, label="95 % interval of a fixed sample"
    )
    axes.plot(looks, mean, color=ESTIMATE, linewidth=1.2, label="estimate")
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.axhline(truth, color="tab:green", linestyle="--", linewidth=1.2, label="truth")
    if course.found:
        place = course.found, course.mean[course.found - 1]
        axes.plot(
            *place,
            "v",
            color=NAIVE,
            markeredgecolor="black",
            markersize=9,
            label="wrong winner" if course.misled(truth) else "first winner",
        )
    place = course.known, course.mean[course.known - 1]
    axes.plot(*place, "o", color=BETS, markeredgecolor="black", markersize=8, label="verdict of the bets")
    reach = max(3 * half[len(half) // 4], 2.5 * abs(truth))
    axes.set_ylim(-reach, reach)
    axes.set_xlim(0, end)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("judged documents")
    axes.set_ylabel(f"difference of {MEASURE}")
    axes.legend(fontsize=8, loc="lower right", ncols=2)


def price_rows(contest: Contest, repetitions: int, seed: int) -> pd.DataFrame:
    """For each of `DIFFERENCES` the labels that fixed samples need, and quantiles of those of the bets."""
    rows = []
    for number, deviations in enumerate(tqdm(DIFFERENCES, unit="difference")):
        difference = deviations * contest.deviation
        ends = pd.DataFrame(replayed(contest, "document", difference, 1, repetitions, seed + number))["labels"]
        rows.append(
            {
                "difference": deviations,
                "queries": contest.fixed("query", difference),
                "documents": contest.fixed("document", difference),
                "bets": ends.median(),
                "low": ends.quantile(0.1),
                "high": ends.quantile(0.9),
            }
        )
    return pd.DataFrame(rows)


def draw_prices(axes: Axes, rows: pd.DataFrame) -> None:
    """The right panel."""
    size = rows["difference"]
    axes.plot(size, rows["queries"], "s--", color=QUERIES, label="whole queries, fixed sample", markersize=4)
    axes.plot(size, rows["documents"], "D-", color=DOCUMENTS, label="documents, fixed sample", markersize=4)
    axes.plot(size, rows["bets"], "o-", color=BETS, label="documents, bets (80 % of orders)", markersize=4)
    axes.fill_between(size, rows["low"], rows["high"], color=BETS, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, ticks in ((axes.xaxis, DIFFERENCES[::2]), (axes.yaxis, (30, 100, 300, 1000, 3000, 10_000))):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_xlabel("true difference (standard deviations)")
    axes.set_ylabel("labels to a verdict")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def main() -> None:
    """Replay, draw, and print how often each kind of interval misleads."""
    parser = parser_with(__doc__, repetitions=120, seed=0, quick="5 orders", evidence=False)
    parser.add_argument("pool", type=Path, metavar="POOL.parquet")
    parser.add_argument("--out", type=Path, default=Path("until-known.png"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    repetitions = 5 if arguments.quick else arguments.repetitions
    pool = read_judged_pool(arguments.pool)
    contest = Contest.of(graded_pool(pool, {}), tasks(pool, pool.train_folds[0])[TASK])
    all_courses = courses(contest, repetitions, arguments.seed)
    misled = [each for each in all_courses if each.misled(contest.truth)]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.9), layout="constrained", gridspec_kw={"width_ratios": [3, 2]}
    )
    draw_course(left, max(misled or all_courses, key=lambda each: each.found), contest.truth)
    rows = price_rows(contest, repetitions, arguments.seed)
    draw_prices(right, rows)
    print(rows.round(2).to_string(index=False))
    print(
        f"Of {repetitions} orders, the interval of a fixed sample first excluded 0 on the wrong side in "
        f"{with_error(len(misled) / repetitions, repetitions)}, and the verdict of the bets was wrong in "
        f"{with_error(float(np.mean([each.wrong for each in all_courses])), repetitions)}."
    )
    with new_file(arguments.out, replace=True) as unfinished:
        figure.savefig(unfinished, dpi=100)
    print(f"The picture is {arguments.out}.")


if __name__ == "__main__":
    main()
