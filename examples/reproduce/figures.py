"""Shared by the reproductions: their options, error curves over the budget, savings, and the files they write."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from evidence import parser_with
from judged_pools import JudgedPool, read_judged_pool
from matplotlib import pyplot as plt
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from tqdm import tqdm

from pt_active.frames.atomic import new_file, write_file
from pt_active.inference.replay import SOURCE_YARDSTICK, YARDSTICK, Method, Population, savings
from pt_active.studies.simulate import replays

mpl.use("Agg")

PASSIVE, PASSIVE_ONCE = "passive", "passive once"

METHODS = {
    PASSIVE: SOURCE_YARDSTICK,
    PASSIVE_ONCE: YARDSTICK,
    "cost_only": Method("cost_only", "snis"),
    "active_uniform_cost": Method("active_uniform_cost", "snis"),
    "active_uniform_grades": Method("active_uniform_grades", "snis"),
    "optimal": Method("optimal", "snis"),
    "optimal + regression": Method("optimal", "regression"),
    "assisted + regression": Method("assisted", "regression"),
    "hedged once + regression": Method("hedged", "regression", with_replacement=False),
}
"""The source's passive sampling, the same without replacement, the source's other methods with their plain weighted
mean, and the package's."""

COLOURS = {
    PASSIVE: "black",
    PASSIVE_ONCE: "gray",
    "cost_only": "tab:brown",
    "active_uniform_cost": "tab:olive",
    "active_uniform_grades": "tab:orange",
    "risk_mixture": "tab:pink",
    "optimal": "tab:blue",
    "optimal + regression": "tab:cyan",
    "assisted + regression": "tab:green",
    "hedged once + regression": "tab:red",
}
"""Method → colour, the same in every figure; methods that draw each query once are dashed."""

COLOURS_OF_A_PICTURE = 128
"""Colours kept in a PNG file: enough for lines and pale bands, at a third of the size."""

LOWEST_BUDGET, STEPS = 6.0, 10
"""The lowest budget, in average queries, and the number of budgets up to half of the pool."""

REPETITIONS, QUICK_REPETITIONS = 1000, 300

DEFENSIVE_SHARE = 0.1
"""ε of the designs, the default of replays."""

ERRORS = {"selection_error": "model selection error", "mae": "absolute error of the difference"}
"""Column of `error_rows` for a comparison → its name in figures."""

PASSIVE_RANGE = {"selection_error": (0.01, 0.4), "type_2_error": (0.01, 0.8)}
"""Error → range of passive sampling's error in which savings are computed. Below it too few samples err; above it the
curves are flat."""


def parser(description: str | None, evidence: bool = False) -> argparse.ArgumentParser:
    """The options that all reproductions have, from the script's docstring; see `parser_with`."""
    quick = "one training fold of each pool, fewer repetitions"
    options = parser_with(description, pools="+", seed=0, quick=quick, evidence=evidence)
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--repetitions", type=int, help=f"{REPETITIONS}, or {QUICK_REPETITIONS} with --quick")
    options.add_argument("--train-folds", type=int, nargs="+", metavar="FOLD", help="instead of the pool's own")
    return options


def parsed(options: argparse.ArgumentParser) -> argparse.Namespace:
    """The parsed options, with the default number of repetitions filled in."""
    arguments = options.parse_args()
    if arguments.repetitions is None:
        arguments.repetitions = QUICK_REPETITIONS if arguments.quick else REPETITIONS
    return arguments


def train_folds(pool: JudgedPool, arguments: argparse.Namespace) -> list[int]:
    """The training folds that the options ask for."""
    folds: list[int] = arguments.train_folds or pool.train_folds
    return folds[: 1 if arguments.quick else None]


def asked_of_measures(description: str | None) -> argparse.Namespace:
    """The parsed options of a figure that the source has at full depth, which takes measures too."""
    options = parser(description)
    options.add_argument("--measure", nargs="+", default=["DCG", "ERR"], help="default: DCG and ERR at full depth")
    warnings.simplefilter("ignore")
    return parsed(options)


def jobs_of(arguments: argparse.Namespace) -> tqdm:
    """Each pool with each of its training folds, behind a progress bar."""
    pools = map(read_judged_pool, arguments.pools)
    return tqdm([(pool, fold) for pool in pools for fold in train_folds(pool, arguments)], unit="fold")


def replayed_rows(
    arguments: argparse.Namespace,
    replayed: Callable[[JudgedPool, int, argparse.Namespace], Iterable[pd.DataFrame]],
) -> pd.DataFrame:
    """What a script replays of each training fold of each pool."""
    return pd.concat([part for job in jobs_of(arguments) for part in replayed(*job, arguments)])


def budgets_for(population: Population) -> list[float]:
    """`STEPS` geometrically spaced budgets, in the unit of the cost."""
    cost = population.cost
    return list(np.geomspace(max(LOWEST_BUDGET * cost.mean(), cost.max()), cost.sum() / 2, STEPS))


def error_rows(
    population: Population, methods: Mapping[str, Method], budgets: Sequence[float], repetitions: int, seed: int
) -> pd.DataFrame:
    """Replay several methods, and summarise their errors.

    Args:
        population: One or two systems.
        methods: Name → method.
        budgets: Budgets in the unit of the cost.
        repetitions: Samples of each method.
        seed: Random seed of the draws.

    Returns:
        One row per method and budget: ``method, step, budget`` (in average queries), ``judged`` (documents), ``mae``
        and, for two systems, ``selection_error``, each with its Monte Carlo standard error ``<name>_se``.
    """
    replayed = replays(population, methods.values(), repetitions, budgets=budgets, seed=seed, progress=False)
    rows = []
    for name, method in methods.items():
        replay = replayed[method]
        errors = {"mae": np.abs(replay.error)}
        if population.compared:
            errors["selection_error"] = (1 - np.sign(replay.estimate) * np.sign(population.truth)) / 2
        columns = {key: error.mean(axis=1) for key, error in errors.items()}
        columns |= {f"{key}_se": error.std(axis=1) / np.sqrt(repetitions) for key, error in errors.items()}
        head = {"method": name, "step": np.arange(len(budgets)), "budget": budgets / population.cost.mean()}
        rows.append(pd.DataFrame(head | {"judged": replay.n_judged.mean(axis=1)} | columns))
    return pd.concat(rows, ignore_index=True)


def facts(population: Population) -> dict[str, float]:
    """Facts that make a comparison easy or hard.

    Args:
        population: Two systems.

    Returns:
        ``queries``; ``difference`` Δ; ``relative_difference``, Δ in standard deviations of δ; ``agreeing``, the share
        of the queries with δ = 0; ``correlation`` of δ with the grade model's expectation; ``cost_spread``, the
        coefficient of variation of the cost.
    """
    delta, cost = population.target, population.cost
    return {
        "queries": len(cost),
        "difference": population.truth,
        "relative_difference": population.truth / delta.std(),
        "agreeing": float((delta == 0).mean()),
        "correlation": float(np.corrcoef(delta, population.model)[0, 1]),
        "cost_spread": cost.std() / cost.mean(),
    }


def asymptotic_saving(population: Population, q: np.ndarray) -> float:
    """The saving of `snis` with many draws from q, against draws from p: 1 − the ratio of variance × cost [T 4.2].

    No query is assumed to be drawn twice, as in a pool far larger than the sample.

    Args:
        population: One or two systems.
        q: float64[m], the sampling distribution.
    """
    p, cost, spread = population.weight, population.cost, (population.target - population.truth) ** 2
    drawn = q > 0
    error = (p[drawn] ** 2 * spread[drawn] / q[drawn]).sum() * (q @ cost)
    return float(1 - error / ((p @ spread) * (p @ cost)))


def asymptotic_savings(population: Population) -> dict[str, float]:
    """`asymptotic_saving` of ``optimal``, and of its ideal if the grade model knew every label.

    Args:
        population: One or two systems.

    Returns:
        ``alignment``, the correlation of each query's distance from the truth, |ℓ − R| or |δ − Δ|, with the
        design's estimate of it; ``asymptotic``, the saving of the design; ``perfect``, that of its ideal.
    """
    distance = np.abs(population.target - population.truth)
    expected = population.distribution("active_uniform_cost", 0.0) / population.weight
    known = population.weight * distance / np.sqrt(population.cost)
    return {
        "alignment": float(np.corrcoef(distance, expected)[0, 1]),
        "asymptotic": asymptotic_saving(population, population.distribution("optimal", DEFENSIVE_SHARE)),
        "perfect": asymptotic_saving(population, known / known.sum()),
    }


def print_means(table: pd.DataFrame, keys: Sequence[str], columns: Sequence[str], title: str) -> None:
    """Print some columns for each panel, averaged over its settings.

    Args:
        table: A table with the keys and columns.
        keys: Columns that identify the panels.
        columns: Columns to print.
        title: Title above the table.
    """
    print(f"\n{title}:")
    print(table.groupby(list(keys), sort=False)[list(columns)].mean().round(3).to_string())


def print_facts(table: pd.DataFrame, keys: Sequence[str]) -> None:
    """Print `facts` for each panel, averaged over its settings."""
    columns = ["queries", "difference", "relative_difference", "agreeing", "correlation", "cost_spread"]
    print_means(table, keys, columns, "What was compared")


def print_asymptotic(table: pd.DataFrame, keys: Sequence[str]) -> None:
    """Print `asymptotic_savings` for each panel, averaged over its settings."""
    title = "How well the design foresees |ℓ − R|; its saving in theory, and if it knew the labels, were the pool large"
    print_means(table, keys, ["alignment", "asymptotic", "perfect"], title)


def print_comparison(table: pd.DataFrame, keys: Sequence[str]) -> None:
    """Print what replays of two systems show of each panel: savings, `facts` and `asymptotic_savings`."""
    for value, title in ERRORS.items():
        print_savings(table, keys, value, title)
    print_facts(table, keys)
    print_asymptotic(table, keys)


def averaged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Means over training folds and other settings; standard errors are those of the means.

    Args:
        rows: Numeric columns, and ``<name>_se`` for those with a standard error.
        keys: Columns that are not averaged over.
    """
    spread = [column for column in rows.columns if column.endswith("_se")]
    table = rows.groupby(list(keys), sort=False).mean(numeric_only=True)
    squares = rows.assign(**rows[spread] ** 2).groupby(list(keys), sort=False)[spread]
    return table.assign(**np.sqrt(squares.sum()) / squares.count()).reset_index()


def saving_table(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """The saving of each method at equal error, as the median over the budgets at which it can be computed.

    Args:
        table: Averaged `error_rows`, the budgets of a method in order.
        keys: Columns that identify the figure's panels.
        value: Column of the error.

    Returns:
        ``keys, method`` and the savings against passive sampling with and without replacement.
    """
    rows = []
    for key, panel in table.groupby(list(keys), sort=False):
        curves = {name: curve[value].to_numpy() for name, curve in panel.groupby("method", sort=False)}
        spend = panel[panel["method"] == PASSIVE]["budget"].to_numpy()
        for name, curve in curves.items():
            row = dict(zip(keys, key, strict=True)) | {"method": name}
            for passive, title in ((PASSIVE, "against passive"), (PASSIVE_ONCE, "against passive once")):
                row[title] = _median_saving(spend, curve, curves[passive], *PASSIVE_RANGE.get(value, (0.0, np.inf)))
            rows.append(row)
    return pd.DataFrame(rows)


def _median_saving(spend: np.ndarray, error: np.ndarray, passive: np.ndarray, low: float, high: float) -> float:
    wanted = np.where((passive > low) & (passive <= high), passive, np.nan)
    saved = savings(spend, np.maximum(error, 1e-9), wanted)
    return float(np.median(saved[~np.isnan(saved)])) if (~np.isnan(saved)).any() else np.nan


def with_ratio(table: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """Add ``ratio``, to passive sampling with replacement, and ``ratio_se``, which ignores the error of the latter.

    Args:
        table: ``method``, the keys, the value and its standard error in ``<value>_se``.
        keys: Columns that, together with the method, identify a row.
        value: Name of a column.
    """
    passive = table[table["method"] == PASSIVE].set_index(list(keys))[value]
    baseline = passive.loc[pd.MultiIndex.from_frame(table[list(keys)])].to_numpy()
    return table.assign(ratio=table[value] / baseline, ratio_se=table[f"{value}_se"] / baseline)


def error_curves(axis: Axes, frame: pd.DataFrame, value: str, methods: Sequence[str], label: str) -> None:
    """Draw one curve per method over the budget, with a band of two Monte Carlo standard errors.

    Args:
        axis: The axis to draw on.
        frame: ``method, budget``, the value, and its standard error in ``<value>_se``.
        value: Name of the value's column.
        methods: Methods to draw, in the order of the legend.
        label: Label of the value's axis.
    """
    for name in methods:
        curve = frame[frame["method"] == name]
        colour, line = COLOURS[name], "--" if "once" in name else "-"
        axis.plot(curve["budget"], curve[value], line, color=colour, label=name, marker=".", markersize=4)
        spread = 2 * curve[f"{value}_se"]
        low, high = np.maximum(curve[value] - spread, 0), curve[value] + spread
        axis.fill_between(curve["budget"], low, high, color=colour, alpha=0.15, linewidth=0)
    axis.set_xscale("log")
    budgets = frame["budget"].unique()
    axis.set_xticks(budgets[:: -(-len(budgets) // 5)])
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:.3g}"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.set_xlabel("labelling budget (average queries)")
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


def comparison_figure(table: pd.DataFrame, title: str) -> Figure:
    """The `ERRORS` of all `METHODS` over the budget, with a row per pool and a column per error and measure.

    Args:
        table: Averaged `error_rows` with ``data, measure``.
        title: Title above all panels.
    """
    names, measures = table["data"].unique(), table["measure"].unique()
    figure, axes = panels(len(names), len(ERRORS) * len(measures))
    figure.suptitle(title)
    cells = [(name, value, measure) for name in names for value in ERRORS for measure in measures]
    for axis, (name, value, measure) in zip(axes.flat, cells, strict=True):
        chosen = table[(table["data"] == name) & (table["measure"] == measure)]
        error_curves(axis, chosen, value, list(METHODS), ERRORS[value])
        axis.set_yscale("log" if value == "mae" else "linear")
        axis.set_title(f"{name}, {measure}")
    legend_below(figure, axes[0, 0])
    return figure


def print_savings(table: pd.DataFrame, keys: Sequence[str], value: str, title: str) -> None:
    """Print `saving_table` with a column per panel: savings against passive sampling with and without replacement.

    Args:
        table: Averaged `error_rows`.
        keys: Columns that identify the panels.
        value: Column of the error.
        title: Name of the error.
    """
    savings = saving_table(table, keys, value)
    pairs = zip(savings["against passive"], savings["against passive once"], strict=True)
    cells = [" / ".join("–" if np.isnan(share) else f"{share:.0%}" for share in pair) for pair in pairs]
    wide = savings.assign(cell=cells).pivot(index="method", columns=list(keys), values="cell")
    print(f"\nSaved at equal {title}, against passive sampling with / without replacement (median over budgets):")
    columns = savings[list(keys)].drop_duplicates().itertuples(index=False, name=None)
    print(wide.reindex(savings["method"].unique())[list(columns)].to_string())


def settings_of(folds: Sequence[int], total: int, arguments: argparse.Namespace) -> range:
    """Indices of the random settings of each training fold, about ``total`` over all folds; only one with ``--quick``.

    Args:
        folds: The pool's training folds.
        total: Number of settings over all folds.
        arguments: The command-line options.
    """
    return range(1 if arguments.quick else -(-total // len(folds)))


def label_axis(axis: Axes, labels: Sequence[int]) -> None:
    """Make the horizontal axis logarithmic in the number of labels.

    Args:
        axis: The axes to change.
        labels: The numbers of labels, which become ticks.
    """
    axis.set_xscale("log")
    axis.set_xticks(labels, [str(number) for number in labels])
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.set_xlabel("labels")


def log_errors(axis: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers at its ticks.

    Args:
        axis: The axes to change.
    """
    axis.set_yscale("log")
    for show in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        show(ticker.StrMethodFormatter("{x:.2g}"))


def write(frame: pd.DataFrame, figure: Figure, out: Path, stem: str) -> None:
    """Write the numbers and the picture of one figure.

    Args:
        frame: The numbers.
        figure: The picture, which is closed afterwards.
        out: The folder, created if needed.
        stem: Name of the files without their extensions.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_file(out / f"{stem}.csv", frame.to_csv(index=False), replace=True)
    picture = BytesIO()
    figure.savefig(picture, dpi=100, bbox_inches="tight")
    with new_file(out / f"{stem}.png", replace=True) as unfinished:
        Image.open(picture).convert("RGB").quantize(COLOURS_OF_A_PICTURE).save(unfinished, optimize=True)
    plt.close(figure)
    print(f"wrote {out / stem}.csv and .png")
