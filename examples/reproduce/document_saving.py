"""How far off an estimate is, by judged documents: passive and active sampling of queries, and of documents.

    python document_saving.py mq2007-agg.parquet --out documents.png

``--quick`` runs few repetitions.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from evidence import parser_with
from judged_pools import GRADE_MODELS, read_judged_pool
from leagues import tasks
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from pt_active.frames.atomic import new_file
from pt_active.inference.replay import YARDSTICK, Method, Population
from pt_active.studies.simulate import labelled_population, replays

MEASURES = ("DCG@10", "ERR@10")
TASKS = ("one ranker", "near-tied pair")


def budgets_of(population: Population) -> np.ndarray:
    """Six budgets in equal ratios, up to a quarter of the pool."""
    total = population.cost.sum()
    return np.geomspace(max(total / 128, 2 * population.cost.max()), total / 4, 6)


def errors(population: Population, budgets: np.ndarray, repetitions: int, seed: int) -> dict[str, np.ndarray]:
    """Root mean squared error of each method at each budget."""
    if population.single is None:
        raise ValueError("the measure does not allow the judging of single documents")
    methods = {
        "queries at random": YARDSTICK,
        "queries, active": Method("hedged", "regression", False),
        "documents": Method(population.single.graded.usual_drawing, "regression", False),
    }
    replayed = replays(population, methods.values(), repetitions, budgets=list(budgets), seed=seed)
    return {name: np.sqrt((replayed[method].error ** 2).mean(axis=1)) for name, method in methods.items()}


def saving(budgets: np.ndarray, curves: dict[str, np.ndarray]) -> str:
    """How many times fewer documents give the error of a random sample of queries at the largest budget."""
    wanted = curves["queries at random"][-1]
    line = np.log(curves["documents"])[::-1]
    needed = np.exp(np.interp(np.log(wanted), line, np.log(budgets)[::-1]))
    bound = "at least " if curves["documents"][0] <= wanted else ""
    return f"{bound}{budgets[-1] / needed:.1f} times fewer"


def draw(axes: Axes, budgets: np.ndarray, curves: dict[str, np.ndarray], title: str) -> None:
    """Draw the panel of one measure and task."""
    for (name, curve), style in zip(curves.items(), ("s--", "o-", "D-"), strict=True):
        axes.loglog(budgets, curve, style, label=name)
    axes.set_title(f"{title}: {saving(budgets, curves)}", fontsize=10)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)


def main() -> None:
    """Replay, draw, and print the savings."""
    parser = parser_with(__doc__, repetitions=500, seed=0, quick="10 repetitions", evidence=False)
    parser.add_argument("pool", type=Path, metavar="POOL.parquet")
    parser.add_argument("--out", type=Path, default=Path("documents.png"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    repetitions = 10 if arguments.quick else arguments.repetitions
    pool = read_judged_pool(arguments.pool)
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    figure, panels = plt.subplots(len(TASKS), len(MEASURES), figsize=(9, 7), sharex=True, layout="constrained")
    for row, task in zip(panels, TASKS, strict=True):
        for axes, measure in zip(row, MEASURES, strict=True):
            population = labelled_population(graded, measure, rankers=tasks(pool, fold)[task])
            budgets = budgets_of(population)
            curves = errors(population, budgets, repetitions, arguments.seed)
            draw(axes, budgets, curves, f"{measure}, {task}")
            print(f"{measure}, {task}: {saving(budgets, curves)} documents")
    panels[0, 0].legend()
    figure.supxlabel("judged documents")
    figure.supylabel("root mean squared error")
    with new_file(arguments.out, replace=True) as unfinished:
        figure.savefig(unfinished, dpi=110)
    print(f"The picture is {arguments.out}.")


if __name__ == "__main__":
    main()
