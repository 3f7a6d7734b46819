"""How often is a verdict at any time for new queries wrong, and how many labels does it take?

    python examples/reproduce/new_queries_any_time.py mq2007-agg.parquet dl21.parquet … --evidence FOLDER

All queries of a judged pool are the population. Each repetition draws a pool of 60 or 200 of them with replacement,
plans single documents (DCG@10) and looks at a dozen label counts from 10 to all, as `Plan.status` does for
``queries="new"``, for the clear and the near-tied pair.

The first table is the gate at its margin: the value that the difference is compared with is that of the population, so
each pass and each fail is wrong. *new* is how often a gate for new queries ever passes or fails, *these* one for the
queries of the pool. At 95 % either may do so in .025. The second table compares with values .13, .39 and .78
standard deviations of the difference per query below it: *settled* is the share of pools that have the verdict before
everything is judged or then, *labels* the median of labels to it, a dash if fewer than half of the pools have one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from judged_pools import GRADE_MODELS, read_judged_pool
from leagues import tasks, with_error
from new_queries import Everyone, everyone
from tqdm import tqdm

from pt_active import Plan
from pt_active.plans.answers.status import Status
from pt_active.plans.making.queries import in_drawing_order

TABLES = ("new-gates", "new-verdicts")
MEASURE = "DCG@10"
SIZES = (60, 200)
DIFFERENCES = (0.13, 0.39, 0.78)
FIRST, LOOKS = 10, 12


def looked(population: Everyone, size: int, seed: int) -> Iterator[dict[str, float]]:
    """The intervals of one pool at each look, of new queries and of these."""
    rng = np.random.default_rng((size, seed))
    graded, topics, _ = population.drawn(rng.integers(len(population.clusters), size=size))
    plan = Plan.create(graded.drop(columns="label"), topics, MEASURE, budget=1e9, level="document", seed=seed)
    listed = in_drawing_order(plan.tables)[["qid", "docno"]].merge(graded[["qid", "docno", "label"]])
    for labels in np.unique(np.geomspace(FIRST, len(listed), LOOKS).astype(int)):
        state = plan.status(listed.head(labels), queries="new")
        assert isinstance(state, Status)
        assert state.beside is not None
        ends = {"low": state.low, "high": state.high, "these low": state.beside.low, "these high": state.beside.high}
        yield {"labels": labels, "documents": len(listed), **ends}


def found(population: Everyone, size: int, repetitions: int, seed: int) -> pd.DataFrame:
    """The looks at many pools, and the mean and standard deviation of the population's differences."""
    (value,) = population.values.values()
    difference = value[:, 0] - value[:, 1]
    rows: list[dict[str, float]] = []
    for each in tqdm(range(repetitions), desc=f"{population.name}, {size}", leave=False):
        rows += [{"pool": each} | row for row in looked(population, size, seed + each)]
    return pd.DataFrame(rows).assign(truth=difference.mean(), deviation=difference.std())


def gates(looks: pd.DataFrame) -> dict[str, str]:
    """How often gates at the margin ever pass or fail."""
    shares = {}
    for name, before in (("new", ""), ("these", "these ")):
        outcomes = {"passes": looks[f"{before}low"] > looks["truth"], "fails": looks[f"{before}high"] < looks["truth"]}
        for outcome, so in outcomes.items():
            ever = so.groupby(looks["pool"]).any()
            shares[f"{name}, {outcome}"] = with_error(float(ever.mean()), len(ever))
    return shares


def verdicts(looks: pd.DataFrame, deviations: float) -> dict[str, str]:
    """How many pools have a verdict, and after how many labels."""
    threshold, cells = looks["truth"] - deviations * looks["deviation"], {}
    for name, before in (("new", ""), ("these", "these ")):
        at = looks["labels"].where(looks[f"{before}low"] > threshold).groupby(looks["pool"]).min()
        middle = at.fillna(np.inf).median()
        cells[f"{name}, settled"] = f"{at.notna().mean():.2f}"
        cells[f"{name}, labels"] = f"{middle:,.0f}" if np.isfinite(middle) else "–"
    return cells | {"documents": f"{looks['documents'].median():,.0f}"}


def main() -> None:
    """Print the tables, and keep them if asked to."""
    parser = parser_with(__doc__, pools="+", seed=0)
    parser.add_argument("--repetitions", type=int, default=2000, help="pools of each size, for each pair")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong, settled = [], []
    for path in arguments.pools:
        judged = read_judged_pool(path)
        graded = judged.graded(GRADE_MODELS["ordered logit"](judged.max_grade), judged.train_folds[0])
        pairs = {task: names for task, names in tasks(judged, judged.train_folds[0]).items() if len(names) > 1}
        for task, names in pairs.items():
            population = everyone(judged.name, graded, {task: names}, [MEASURE])
            for size in SIZES:
                looks = found(population, size, arguments.repetitions, arguments.seed)
                head = {"data": judged.name, "pair": task.removesuffix(" pair"), "queries": size}
                wrong.append(head | gates(looks))
                settled += [head | {"difference": f"{each:g} sd"} | verdicts(looks, each) for each in DIFFERENCES]
                print(wrong[-1], flush=True)
    text = "\n\n".join(markdown(pd.DataFrame(each)) for each in (wrong, settled))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
