"""Replays of designs and estimators on fully labelled data: what active sampling would have saved."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames.checks import agreeing, how_many, shown, some
from pt_active.frames.columns import grade_columns, numbers_in, ranker_names, with_string_ids
from pt_active.frames.progress import bar
from pt_active.frames.qrels import checked_qrels, known_labels
from pt_active.inference.documents import DOCUMENT_ESTIMATORS
from pt_active.inference.estimators import estimator_named
from pt_active.inference.replay import (
    SOURCE_YARDSTICK,
    YARDSTICK,
    LabelledPool,
    Method,
    Population,
    Repetitions,
    Replays,
    ratio_of_means,
    replay,
    savings,
    share_columns,
)
from pt_active.plans.making.labelled import measured_values
from pt_active.plans.making.pool import Pool, graded_pool
from pt_active.relevance.costs import Cost, UnitCost, check_per_query
from pt_active.relevance.measures import parse_measure
from pt_active.sampling.designs import design_named
from pt_active.sampling.drawings import DOCUMENT_DRAWINGS

DESIGN_NAMES = ("passive", "optimal", "assisted", "hedged")  # Designs replayed by default
ESTIMATOR_NAMES = ("snis", "regression")  # Estimators replayed by default
LEVEL = 0.95  # Confidence level of the intervals; tests have the level ``1 − LEVEL``


def labelled_population(
    pool: pd.DataFrame,
    measure: str | irm.Measure,
    cost: Cost | None = None,
    rankers: Sequence[str] | None = None,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> Population:
    """Turn a graded, fully labelled pool into the arrays of a replay.

    Args:
        pool: A union frame (``rank_<name>`` for each ranker, or one plain run) with ``grade_0 … grade_G`` and
            ``label``.
        measure: ``DCG@10``, …
        cost: Labelling cost; `UnitCost` (each document 1) by default.
        rankers: One or two of the pool's rankers; all of them by default. Queries for which none of them retrieved a
            document are left out, with a warning.
        samples: Label vectors drawn per query, for measures whose moments need Monte Carlo.
        seed: Random seed of the Monte Carlo draws.

    Raises:
        ValueError: If a document above the measure's cutoff has no label, there are more than two rankers, a ranker is
            not in the pool, or the pool is malformed.
    """
    pool = pool_of_rankers(with_string_ids(pool), rankers)
    columns = grade_columns(pool.columns)
    parsed = parse_measure(measure, max_grade=len(columns) - 1 if columns else None)
    cost = cost or UnitCost()
    arrays = Pool.from_frame(pool, parsed, cost)
    if len(arrays.names) > 2:
        raise ValueError(f"choose one or two rankers to replay; the pool has {some(arrays.names, 40)}")
    if "label" not in pool.columns:
        raise ValueError("a replay needs a column 'label' with the true grade of each document")
    labels = checked_qrels(pool.loc[pool["label"].notna(), ["qid", "docno", "label"]], arrays.max_grade)
    label = known_labels(arrays.keys, labels)
    seen = arrays.seen(parsed)
    missing = arrays.keys[seen & (label < 0)]
    if len(missing):
        pairs = some(missing.itertuples(index=False, name=None))
        raise ValueError(
            f"the replay pool has {how_many('document', len(missing))} without a label: {pairs}; judge the pool fully, "
            "cut the rankings at the judged depth, or leave the unjudged documents out of them"
        )
    return Population(
        values=measured_values(arrays, parsed, label),
        moments=arrays.moments(parsed, samples=samples, seed=seed),
        uniform=arrays.moments(parsed, uniform_grades=True, samples=samples, seed=seed),
        cost=arrays.query_cost,
        weight=arrays.query_weight,
        documents=np.bincount(arrays.query_of_document[seen], minlength=len(arrays.queries)),
        single=LabelledPool(graded_pool(arrays, parsed, check_per_query(cost)), label),
    )


def pool_of_rankers(pool: pd.DataFrame, rankers: Sequence[str] | None) -> pd.DataFrame:
    """The documents that at least one of the rankers retrieved, without the columns of the other rankers."""
    names = ranker_names(pool.columns)
    chosen = names if rankers is None else list(rankers)
    if unknown := [name for name in chosen if name not in names]:
        raise ValueError(f"no ranker {shown(unknown[0])} in the pool; it has {some(names, 40)}")
    if not names:
        return pool
    others = [f"{kind}_{name}" for kind in ("rank", "score") for name in names if name not in chosen]
    # The order of the rank columns decides which ranker comes first in the difference.
    ranks = [f"rank_{name}" for name in chosen]
    rest = [column for column in pool.columns if column not in {*others, *ranks}]
    retrieved = np.any([numbers_in(pool, rank) >= 0 for rank in ranks], axis=0)
    lost = set(pool["qid"]) - set(pool["qid"][retrieved])
    if lost:
        warnings.warn(
            f"{how_many('query', len(lost))} for which {' and '.join(chosen)} found nothing "
            f"{agreeing('is', len(lost))} left out: {some(lost)}",
            stacklevel=3,
        )
    return pool.loc[retrieved, rest + ranks]


def default_budgets(population: Population) -> list[float]:
    """Eight geometrically spaced budgets from about 15 average queries (or 1/8 of a small pool) to half of the pool."""
    dearest, total = population.cost.max(), population.cost.sum()
    low = max(min(15 * population.cost.mean(), total / 8), dearest)
    return list(np.geomspace(low, total / 2 if low < total / 2 else (low + total) / 2, 8))


def simulate(
    population: Population,
    *,
    designs: Iterable[str] | None = None,
    estimators: Iterable[str] = ESTIMATOR_NAMES,
    budgets: Sequence[float] | None = None,
    repetitions: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> pd.DataFrame:
    """Replay all combinations of designs, estimators and budgets [theory 4, 5].

    Args:
        population: The result of `labelled_population`.
        designs: Names in `designs.DESIGNS`, each drawn with and without replacement, and in
            `drawings.DOCUMENT_DRAWINGS`, which judge single documents. By default `DESIGN_NAMES`, and the drawing of
            documents that suits the measure.
        estimators: Names in `estimators.ESTIMATORS`. ``passive`` with ``snis`` is always replayed.
        budgets: Increasing, in the unit of the cost; `default_budgets` by default.
        repetitions: Samples of each design.
        seed: Random seed of all draws.
        progress: Whether to show a progress bar.

    Returns:
        One row per method and budget: ``design, with_replacement, estimator, budget, repetitions, truth``, then
        ``bias``; ``rmse``; ``mae, mae_se`` (mean absolute error and its Monte Carlo standard error); ``coverage,
        coverage_se, width`` (of 95 % intervals; the mean width of finite ones). For two systems: ``selection_error``
        (share of samples that favour the worse one; a tie counts half), ``type_1_error`` (under label swapping) and
        ``type_2_error`` (of tests at .05), each with its Monte Carlo error (`replay.share_error`) in a column ending in
        ``_se``. Means over the samples: ``n_draws, n_queries, n_judged, n_effective, spent``.
        ``label_equivalents, label_equivalents_se``: mean squared error of passive sampling without replacement ÷ that
        of the method. ``saving``: share of the budget that the method saves at the error of passive sampling; NaN
        outside the budgets.

    Raises:
        ValueError: If a name is unknown, or a budget or the number of repetitions is out of range.
    """
    usual = [] if population.single is None else [population.single.graded.usual_drawing]
    methods = _methods([*DESIGN_NAMES, *usual] if designs is None else list(designs), list(estimators))
    budgets = default_budgets(population) if budgets is None else [float(budget) for budget in budgets]
    settings: dict[str, Any] = {"budgets": budgets, "seed": seed, "progress": progress}
    true = replays(population, methods, repetitions, **settings)
    swapped = replays(population, methods, repetitions, null=True, **settings) if population.compared else true
    table = pd.concat([_rows(m, true[m], swapped[m], budgets, population) for m in methods], ignore_index=True)
    squared = {m: true[m].error ** 2 for m in methods}
    yardstick = squared[YARDSTICK]
    pairs = [ratio_of_means(yardstick, squared[m]) for m in methods]
    saved = [savings(budgets, squared[m].mean(axis=1), yardstick.mean(axis=1)) for m in methods]
    return table.assign(
        label_equivalents=np.concatenate([ratio for ratio, _ in pairs]),
        label_equivalents_se=np.concatenate([error for _, error in pairs]),
        saving=np.concatenate(saved),
    )


def replays(
    population: Population, methods: Iterable[Method], repetitions: int, *, progress: bool = True, **settings: Any
) -> dict[Method, Replays]:
    """Replay several methods, as method → `Replays`; all estimators of a design share its samples."""
    budgets, how = settings.pop("budgets"), Repetitions(repetitions, **settings)
    together: dict[Method, list[Method]] = {}
    for method in methods:
        together.setdefault(replace(method, estimator=""), []).append(method)
    pools: dict[Method, Population | LabelledPool] = {}
    for kind, group in together.items():
        pool = population.single if kind.of_documents else population
        if pool is None:
            raise ValueError(f"{shown(kind.design)} draws single documents, which the measure does not allow")
        if isinstance(pool, Population):
            pool.check(group, budgets)  # Before a progress bar appears
        pools[kind] = pool
    what, every = "label swapping" if how.null else "replay", len(together) * repetitions
    with bar(what=what, total=every, unit="sample", shown=progress, leave=False) as done_so_far:
        done = {kind: replay(pool, together[kind], budgets, how, done_so_far.update) for kind, pool in pools.items()}
    return {method: done[kind][method.estimator] for kind, group in together.items() for method in group}


def _methods(designs: list[str], estimators: list[str]) -> list[Method]:
    """Both passive yardsticks, then all combinations of designs and estimators, without repeats."""
    for design in designs:
        if design not in DOCUMENT_DRAWINGS:
            design_named(design)
    for estimator in estimators:
        estimator_named(estimator)
    grid = [
        Method(d, e, again)
        for again in (False, True)
        for d in designs
        for e in estimators
        if d not in DOCUMENT_DRAWINGS or (not again and e in DOCUMENT_ESTIMATORS)
    ]
    return list(dict.fromkeys([YARDSTICK, SOURCE_YARDSTICK, *grid]))


def _rows(
    method: Method, true: Replays, swapped: Replays, budgets: Sequence[float], population: Population
) -> pd.DataFrame:
    error, size = true.error, true.estimate.shape[1]
    low, high = true.intervals(LEVEL)
    finite = np.isfinite(high - low)
    columns: dict[str, Any] = {
        "design": method.design,
        "with_replacement": method.with_replacement,
        "estimator": method.estimator,
        "budget": list(budgets),
        "repetitions": size,
        "truth": population.truth,
        "bias": error.mean(axis=1),
        "rmse": np.sqrt((error**2).mean(axis=1)),
        "mae": np.abs(error).mean(axis=1),
        "mae_se": np.abs(error).std(axis=1) / np.sqrt(size),
        **share_columns("coverage", ((low <= true.truth) & (true.truth <= high)).mean(axis=1), size),
        "width": np.where(finite, high - low, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1),
    }
    if population.compared:
        favours = np.sign(true.estimate) * np.sign(true.truth)
        false, unseen = swapped.pvalues(swapped.truth) < 1 - LEVEL, true.pvalues() >= 1 - LEVEL
        columns |= share_columns("selection_error", ((1 - favours) / 2).mean(axis=1), size)
        columns |= share_columns("type_1_error", false.mean(axis=1), size)
        columns |= share_columns("type_2_error", unseen.mean(axis=1), size)
    counts = ("n_draws", "n_queries", "n_judged", "n_effective", "spent")
    return pd.DataFrame(columns | {name: getattr(true, name).mean(axis=1) for name in counts})


_EXACT = 1e9  # Above this many label-equivalents a method's error is rounding alone

_SHOWN = {
    "budget": "budget",
    "design": "design",
    "with_replacement": "repeated",
    "estimator": "estimator",
    "n_judged": "judged",
    "rmse": "rmse",
    "coverage": "coverage",
    "selection_error": "wrong winner",
    "type_1_error": "type I error",
    "label_equivalents": "label-equivalents",
    "label_equivalents_se": "±",
    "saving": "saving",
}
"""Columns of a replay that are printed, and their heads."""


def in_short(table: pd.DataFrame) -> str:
    """The most important columns of a replay for printing, with the highest label-equivalents first."""
    shown = table.sort_values(["budget", "label_equivalents"], ascending=[True, False], kind="stable")
    pair = ["label_equivalents", "label_equivalents_se"]
    shown[pair] = shown[pair].mask(shown["label_equivalents"] >= _EXACT)
    shown = shown[[name for name in _SHOWN if name in shown.columns]].dropna(axis="columns", how="all")
    shown = shown.rename(columns=_SHOWN)
    legend = (
        f"truth {table['truth'].iloc[0]:.4f}, {how_many('repetition', table['repetitions'].iloc[0])}; ± Monte Carlo "
        "error. label-equivalents: judgments that passive\nsampling (drawn once, plain mean) would need for each "
        "judgment of the method; blank if it has no error. saving: share\nof the budget that is not needed for its "
        "error; blank where that lies outside the budgets."
    )
    return f"{shown.round(4).to_string(index=False, na_rep='')}\n\n{legend}"
