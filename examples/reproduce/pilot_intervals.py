"""How often the error that comes lies within the interval of an `Outlook`, by the size of the pilot.

    python examples/reproduce/pilot_intervals.py POOL.parquet … [--repetitions 6] [--evidence FOLDER]

The realised error is the root mean squared error of `REPLAYS` samples at a quarter of the pool's cost. Pilots cost as
much as 3 to 60 queries, and are of queries or of documents, in their default designs. Grade models are fitted, too sure
of themselves, or useless. A row is the mean over pools, models, measures, rankers and methods of its unit; its Monte
Carlo error is that of independent pilots. ``--repetitions`` is the number of pilots of each size.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, publish
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from leagues import SPOILERS, independent_error, parser_of, tasks
from tqdm import tqdm

from pt_active import Outlook, Plan, UnitCost
from pt_active.frames.columns import grade_columns
from pt_active.inference.replay import Method, share_error
from pt_active.plans.answers.outlook import ASSURANCE
from pt_active.plans.answers.pilot import Pilot
from pt_active.studies.simulate import labelled_population, pool_of_rankers, replays

MEASURES = ("DCG@10", "ERR@10")
MODELS = ("fitted", "overconfident", "useless")
TASKS = ("one ranker", "near-tied pair")
SIZES = (3, 5, 10, 30, 60)
SHARE, REPLAYS, CLOSE = 1 / 4, 200, 0.15
UNITS = {"query": "queries", "document": "documents"}
TABLES = ("pilots", "pilots-models")
CELL = ["data", "model", "measure", "task", "method"]


def rows_of(pool: JudgedPool, pilots: int) -> Iterator[dict[str, object]]:
    """One row per cell, size and unit of the pilot, pilot, and method."""
    fold = pool.train_folds[0]
    fitted = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    columns = grade_columns(fitted.columns)
    for model in MODELS:
        graded = fitted.copy()
        graded[columns] = SPOILERS[model](fitted[columns].to_numpy())
        for measure in MEASURES:
            for task in TASKS:
                frame = pool_of_rankers(graded, tasks(pool, fold)[task])
                for row in _foreseen(frame, measure, pilots):
                    yield {"data": pool.name, "model": model, "measure": measure, "task": task} | row


def _foreseen(frame: pd.DataFrame, measure: str, pilots: int) -> Iterator[dict[str, object]]:
    population = labelled_population(frame, measure, UnitCost())
    labels, frame = frame[["qid", "docno", "label"]], frame.drop(columns="label")
    model, budget = Outlook.of(frame, None, measure), SHARE * population.cost.sum()
    found = replays(population, list(model.curves), REPLAYS, budgets=[budget], seed=0, progress=False)
    realised = {method: float(np.sqrt((replay.error**2).mean())) for method, replay in found.items()}
    for unit in UNITS:
        for size in SIZES:
            for seed in range(pilots):
                much = {"budget": size * population.cost.mean()} if unit == "document" else {"draws": size}
                plan = Plan.create(frame, None, measure, level=unit, seed=seed, **much)
                pilot = Pilot.of(plan, plan.assessments[["qid", "docno"]].merge(labels))
                outlook = Outlook.looked(model.forecast, list(model.curves), pilot)
                for method, error in realised.items():
                    yield {"pilot": unit, "size": size} | _against(outlook, method, budget, error)


def _against(outlook: Outlook, method: Method, budget: float, realised: float) -> dict[str, object]:
    """What an outlook says about the error that comes at a budget, and which budget it asks for that error."""
    optimism, curve = outlook.evidence[method], outlook.curves[method]
    said = curve.standard_error(budget)
    low, high = said * np.sqrt(optimism.quantile(np.array([1 - ASSURANCE, ASSURANCE])) / optimism.median)
    raw = said * np.sqrt(optimism.ratio / optimism.median)
    cautious = curve.scaled((high / said) ** 2)
    return {
        "method": f"{method.design}",
        "unit": "document" if method.of_documents else "query",
        "within": low <= realised <= high,
        "suffices": realised <= high,
        "width": high / low,
        "budget": cautious.budget_for(lambda spent: cautious.standard_error(spent) <= realised) / budget,
        "close": abs(said / realised - 1) <= CLOSE,
        "close_alone": abs(raw / realised - 1) <= CLOSE,
        "too_low": said < realised,
        "too_low_alone": not raw >= realised,
    }


def summary(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows as a table for people, with Monte Carlo errors."""
    shares = ["within", "suffices"]
    cells = rows.groupby([*keys, *CELL], sort=False)
    means, counts = cells[[*shares, "close", "close_alone", "too_low", "too_low_alone"]].mean(), cells.size()
    errors = means[shares].apply(lambda share: share_error(share.to_numpy(), counts.to_numpy()))
    groups, middles = means.groupby(keys, sort=False).mean(), rows.groupby(keys, sort=False)[["width", "budget"]]
    error = errors.groupby(keys, sort=False).agg(independent_error)
    table = groups.join(middles.median())
    both = {name: [f"{a:.2f} ± {b:.2f}" for a, b in zip(table[name], error[name], strict=True)] for name in shares}
    return pd.DataFrame(
        {
            **{key: table.index.get_level_values(key) for key in keys},
            "within low to high": both["within"],
            "below high": both["suffices"],
            "high / low": [f"{value:.2f}" for value in table["width"]],
            "budget / needed": [f"{value:.2f}" for value in table["budget"]],
            "within 15 %": _before_and_now(table, "close"),
            "too low": _before_and_now(table, "too_low"),
        }
    )


def _before_and_now(table: pd.DataFrame, name: str) -> list[str]:
    """Shares by the pilot alone, and with the model's opinion."""
    return [f"{a:.2f} → {b:.2f}" for a, b in zip(table[f"{name}_alone"], table[name], strict=True)]


def tables(rows: pd.DataFrame) -> str:
    """By size of the pilot with fitted models, and by model with the smallest and a usual pilot."""
    rows = rows.assign(pilot=rows["pilot"].map(UNITS), unit=rows["unit"].map(UNITS))
    rows = rows.rename(columns={"unit": "forecast of", "pilot": "pilot of", "size": "queries' worth"})
    keys = ["pilot of", "forecast of", "queries' worth"]
    models = rows[rows["queries' worth"].isin([3, 30])]
    return "\n\n".join([markdown(summary(rows, keys)), markdown(summary(models, ["model", "queries' worth"]))])


def _options() -> argparse.Namespace:
    return parser_of(__doc__, repetitions=6, quick="2 pilots of each size").parse_args()


def main() -> None:
    """Judge pilots, compare forecasts with replays, and print the tables."""
    options = _options()
    warnings.simplefilter("ignore")
    pilots = 2 if options.quick else options.repetitions
    every = [row for path in options.pools for row in tqdm(rows_of(read_judged_pool(path), pilots), unit="row")]
    rows = pd.DataFrame(every)
    if options.csv:
        rows.to_csv(options.csv, index=False)
    text = tables(rows)
    publish(text, options, *TABLES)
    print(text)


if __name__ == "__main__":
    main()
