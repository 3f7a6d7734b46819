"""What the reproductions share: their options, error curves over the budget, savings, and the files they write."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from judged_pools import JudgedPool
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pt_active.replay import Population
from pt_active.simulate import SOURCE_YARDSTICK, YARDSTICK, Method, replays, savings

mpl.use("Agg")

PASSIVE, PASSIVE_ONCE = "passive", "passive once"

METHODS = {
    PASSIVE: SOURCE_YARDSTICK,
    PASSIVE_ONCE: YARDSTICK,
    "cost_only": Method("cost_only", "snis"),
    "active_uniform_cost": Method("active_uniform_cost", "snis"),
    "active_uniform_grades": Method("active_uniform_grades", "snis"),
    "optimal": Method("optimal", "snis"),
    "assisted + regression": Method("assisted", "regression"),
    "optimal + regression": Method("optimal", "regression"),
}
"""The source's methods, which draw queries with replacement; passive sampling without; and the package's estimator."""

_COLOURS = dict(zip(METHODS, ("black", "gray", "tab:brown", "tab:olive", "tab:orange", "tab:blue", "tab:green", "tab:red")))

LOWEST, STEPS = 6.0, 10
"""Budgets run from that many average queries to half of the pool, in that many steps."""

RARE = 0.01
"""Shares of wrong winners below this rest on too few samples to read a saving off them."""


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all reproductions have.

    Args:
        description: The script's docstring.
    """
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pools", type=Path, nargs="+", metavar="POOL.parquet")
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--quick", action="store_true", help="one training fold of each pool")
    options.add_argument("--repetitions", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--train-folds", type=int, nargs="+", metavar="FOLD", help="instead of the pool's own")
    return options


def train_folds(pool: JudgedPool, arguments: argparse.Namespace) -> list[int]:
    """The training folds that the options ask for."""
    folds: list[int] = arguments.train_folds or pool.train_folds
    return folds[: 1 if arguments.quick else None]


def budgets_for(population: Population) -> list[float]:
    """`STEPS` budgets in equal ratios, in the unit of the cost."""
    cost = population.cost
    return list(np.geomspace(max(LOWEST * cost.mean(), cost.max()), cost.sum() / 2, STEPS))


def error_rows(
    population: Population, methods: Mapping[str, Method], budgets: Sequence[float], repetitions: int, seed: int
) -> pd.DataFrame:
    """Replay several methods.

    Args:
        population: One or two systems.
        methods: Name → method.
        budgets: In the unit of the cost.
        repetitions: Samples of each.
        seed: Of the draws.

    Returns:
        One row a method and budget: ``method, step, budget`` (in average queries), ``judged`` (documents), ``mae`` and,
        of two systems, ``selection_error``, each with its Monte Carlo standard error ``…_se``.
    """
    found = replays(population, methods.values(), repetitions, budgets=budgets, seed=seed, progress=False)
    rows = []
    for name, method in methods.items():
        replay = found[method]
        errors = {"mae": np.abs(replay.error)}
        if population.compared:
            errors["selection_error"] = (1 - np.sign(replay.estimate) * np.sign(population.truth)) / 2
        columns = {key: error.mean(axis=1) for key, error in errors.items()}
        columns |= {f"{key}_se": error.std(axis=1) / np.sqrt(repetitions) for key, error in errors.items()}
        head = {"method": name, "step": np.arange(len(budgets)), "budget": budgets / population.cost.mean()}
        rows.append(pd.DataFrame(head | {"judged": replay.n_judged.mean(axis=1)} | columns))
    return pd.concat(rows, ignore_index=True)


def averaged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Means over training folds and other settings; standard errors are those of the means.

    Args:
        rows: Numbers, ``…_se`` beside those that have a standard error.
        keys: What is not averaged over.
    """
    spread = [column for column in rows.columns if column.endswith("_se")]
    table = rows.groupby(list(keys), sort=False).mean(numeric_only=True)
    squares = rows.assign(**rows[spread] ** 2).groupby(list(keys), sort=False)[spread]
    return table.assign(**np.sqrt(squares.sum()) / squares.count()).reset_index()


def saving_table(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """What each method saves at equal error, in the median over the budgets at which that can be read off.

    Args:
        table: Averaged `error_rows`, the budgets of a method in order.
        keys: Columns that tell the figure's panels apart.
        value: The error.

    Returns:
        ``keys, method`` and the savings against passive sampling with and without replacement.
    """
    rows = []
    for key, panel in table.groupby(list(keys), sort=False):
        curves = {name: curve[value].to_numpy() for name, curve in panel.groupby("method", sort=False)}
        spend = panel[panel["method"] == PASSIVE]["budget"].to_numpy()
        for name, curve in curves.items():
            row = dict(zip(keys, key, strict=True)) | {"method": name}
            for passive, title in ((PASSIVE, "saved"), (PASSIVE_ONCE, "saved, both once")):
                row[title] = _median_saving(spend, curve, curves[passive], RARE if value == "selection_error" else 0)
            rows.append(row)
    return pd.DataFrame(rows)


def _median_saving(spend: np.ndarray, error: np.ndarray, passive: np.ndarray, floor: float) -> float:
    saved = savings(spend, np.maximum(error, 1e-9), np.where(passive > floor, passive, np.nan))
    return float(np.median(saved[~np.isnan(saved)])) if (~np.isnan(saved)).any() else np.nan


def colour_of(method: str) -> str:
    """The same colour for a method in every figure."""
    return _COLOURS[method]


def error_curves(axis: Axes, frame: pd.DataFrame, value: str, methods: Sequence[str], label: str) -> None:
    """Draw one curve a method over the budget, with a band of two Monte Carlo standard errors.

    Args:
        axis: To draw on.
        frame: ``method, budget``, the value, and its standard error in ``<value>_se``.
        value: A column.
        methods: Which to draw, in the order of the legend.
        label: Of the value's axis.
    """
    for name in methods:
        curve = frame[frame["method"] == name]
        colour, line = colour_of(name), "--" if METHODS.get(name) == YARDSTICK else "-"
        axis.plot(curve["budget"], curve[value], line, color=colour, label=name, marker=".", markersize=4)
        spread = 2 * curve[f"{value}_se"]
        low, high = np.maximum(curve[value] - spread, 0), curve[value] + spread
        axis.fill_between(curve["budget"], low, high, color=colour, alpha=0.15, linewidth=0)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)


def panels(rows: int, columns: int) -> tuple[Figure, np.ndarray]:
    """A figure with a panel for each row and column.

    Returns:
        The figure and its axes, [rows, columns].
    """
    return plt.subplots(rows, columns, figsize=(4.2 * columns, 3.2 * rows), squeeze=False, layout="constrained")


def legend_below(figure: Figure, axis: Axes, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)


def percent(share: float) -> str:
    """A share for a printed table; empty where there is none."""
    return "" if np.isnan(share) else f"{share:.0%}"


def write(frame: pd.DataFrame, figure: Figure, out: Path, stem: str) -> None:
    """Write the numbers and the picture of one figure.

    Args:
        frame: The numbers.
        figure: The picture; it is closed.
        out: The folder, made if need be.
        stem: Name of the files without their endings.
    """
    out.mkdir(parents=True, exist_ok=True)
    frame.to_csv(out / f"{stem}.csv", index=False)
    figure.savefig(out / f"{stem}.png", dpi=130, bbox_inches="tight")
    plt.close(figure)
    print(f"wrote {out / stem}.csv and .png")
