"""A picture of one difference for these queries and for queries like them, as more of a pool is judged.

    python examples/reproduce/which_queries.py --out pt_active/pt_docs/which-queries.png

Plans of larger and larger budgets compare the two rankers of the simulated demo collection on 200 queries. The interval
for these queries shrinks to nothing; that for queries like them ends at the paired t-test of 200 queries.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import parser_with
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from tqdm import tqdm

from pt_active import DCG, OrderedLogitGrades, Plan, Runs
from pt_active.demo.collection import demo_collection
from pt_active.frames.atomic import new_file

QUERIES = 200
STEPS = 12
SMALLEST = 150
THESE, NEW = "tab:blue", "tab:orange"


def course(seed: int) -> pd.DataFrame:
    """The difference with both intervals for each budget: ``judged, difference, these_low, …, new_high``."""
    demo = demo_collection(seed=seed, queries=QUERIES)
    grades = OrderedLogitGrades(max_grade=3).fit(demo.past_run, demo.past_qrels)
    graded = (Runs(**demo.runs, depth=20) >> grades)(demo.topics)
    everything = Plan.create(graded, demo.topics, DCG @ 10, budget=len(graded), seed=seed)
    rows = []
    for budget in tqdm(np.geomspace(SMALLEST, len(everything.assessments), STEPS), unit="plan"):
        plan = Plan.create(graded, demo.topics, DCG @ 10, budget=float(np.ceil(budget)), seed=seed)
        result = plan.compare(demo.judge(plan.assessments), first="candidate", second="production")
        rows.append(result.to_frame().assign(judged=len(plan.assessments)))
    return pd.concat(rows, ignore_index=True)


def main() -> None:
    """Draw the picture, and print what it shows."""
    parser = parser_with(__doc__, seed=7, evidence=False)
    parser.add_argument("--out", type=Path, default=Path("which-queries.png"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = course(arguments.seed)
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for name, color, words in (("new", NEW, "for queries like them"), ("these", THESE, f"for these {QUERIES} queries")):
        low, high = rows[f"{name}_low"], rows[f"{name}_high"]
        axes.fill_between(
            rows["judged"], low, high, color=color, alpha=0.3, linewidth=0, label=f"95 % interval {words}"
        )
    axes.plot(rows["judged"], rows["difference"], color="black", linewidth=1.2, label="estimate")
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    ticks = [150, 300, 600, 1200, int(rows["judged"].iloc[-1])]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("judged documents; on the right all that count")
    axes.set_ylabel("difference of DCG@10")
    axes.legend(fontsize=8)
    columns = ["judged", "difference", *(f"{name}_{end}" for name in ("these", "new") for end in ("low", "high"))]
    print(rows[columns].round(3).to_string(index=False))
    with new_file(arguments.out, replace=True) as unfinished:
        figure.savefig(unfinished, dpi=100)
    print(f"The picture is {arguments.out}.")


if __name__ == "__main__":
    main()
