"""The four pictures of the page of evidence, drawn from the CSV files of ``pt_docs/evidence``.

python examples/reproduce/evidence_pictures.py [--out pt_active/pt_docs]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import DOCS, FOLDER, read
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from PIL import Image

from pt_active.frames.atomic import new_file

OURS, QUERIES, OTHERS, WRONG = "#0072B2", "#009E73", "#7F7F7F", "#D55E00"
"""Single documents, whole queries, what people use today, what does not hold."""

COLOURS_OF_A_PICTURE = 64


def numbers(name: str, *columns: str) -> pd.DataFrame:
    """A table of the evidence with some columns as numbers; what is no number is NaN."""
    _, table = read(FOLDER / f"{name}.csv")
    for column in columns:
        table[column] = pd.to_numeric(table[column].str.replace(",", ""), errors="coerce")
    return table


def verdict() -> Figure:
    """Labels to a verdict, over the size of the difference."""
    series = {
        "queries, fixed": ("whole queries, number fixed beforehand", QUERIES, "s--"),
        "documents, fixed": ("single documents, number fixed beforehand", OURS, "D--"),
        "documents, bets": ("single documents, stopped when known", OURS, "o-"),
    }
    table = numbers("until-known", *series)
    table = table[table["pair"] == "near-tied pair"].assign(size=lambda rows: rows["difference"].str.split().str[0])
    figure, panels = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axes, (data, rows) in zip(panels, table.groupby("data", sort=False), strict=True):
        for column, (label, colour, style) in series.items():
            axes.plot(rows["size"], rows[column], style, color=colour, label=label, markersize=5)
        axes.set(title=data, yscale="log", xlabel="difference, standard deviations")
        plain(axes.yaxis)
    panels[0].set_ylabel("labels, median")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def precision() -> Figure:
    """What one label of each method of the bench is worth."""
    table = numbers("bench", "worth").dropna(subset="worth")
    middle = table.groupby("method")["worth"].median().sort_values(ascending=False)
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    worth = {name: table.loc[table["method"] == name, "worth"] for name in middle.index}
    strips(axes, {name: (values, OURS if name == "pt_active" else OTHERS) for name, values in worth.items()})
    axes.plot(middle, range(len(middle)), "|", color="black", markersize=16, markeredgewidth=2)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="random labels that one label is worth; a dot is a cell, the bar is the median")
    plain(axes.xaxis)
    return figure


def coverage() -> Figure:
    """Coverage of 95 % intervals in all cells."""
    league, worst = numbers("documents-league", "documents ()"), numbers("documents-worst", "coverage")
    documents = pd.concat([league["documents ()"], worst["coverage"]])
    few = numbers("small-intervals", "covers", "t")
    rows = {
        "whole queries, four grade models": (numbers("queries-league", "default ()")["default ()"], QUERIES),
        "documents: DCG, ERR": (documents, OURS),
        "documents: nDCG, AP": (numbers("revealed-coverage", "coverage")["coverage"], OURS),
        "few labels, hostile data": (few["covers"], OURS),
        "few labels, hostile data: plain t": (few["t"], OTHERS),
    }
    figure, axes = plt.subplots(figsize=(9, 3), layout="constrained")
    strips(axes, rows)
    axes.axvline(0.95, color="black", linewidth=1)
    axes.set(xlabel="share of samples whose 95 % interval holds the truth; a dot is a cell")
    return figure


def false_verdicts() -> Figure:
    """False winners on populations that are made to mislead."""
    looks, bets = numbers("hostile-looks", "each, plain", "once"), numbers("hostile-bets", "queries", "documents")
    bets = bets.set_index("population")
    looks = looks.set_index("population").loc[bets.index]
    place = np.arange(len(bets))
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for values, label, colour, mark in (
        (looks["each, plain"], "a plain interval after every query", WRONG, "s"),
        (looks["once"], "a plain interval, once, after 60 of 200 queries", OTHERS, "^"),
        (bets["queries"], "pt_active, every look at whole queries", QUERIES, "D"),
        (bets["documents"], "pt_active, every look at documents", OURS, "o"),
    ):
        axes.plot(values, place, mark, color=colour, label=label, markersize=6)
    axes.axvline(0.05, color="black", linewidth=1)
    axes.set(yticks=place, yticklabels=bets.index, xlabel="share of samples with a false winner; the line is .05")
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return figure


def strips(axes: Axes, rows: dict[str, tuple[object, str]]) -> None:
    """A row of dots for each name."""
    rng = np.random.default_rng(0)
    for place, (values, colour) in enumerate(rows.values()):
        found = np.asarray(values, dtype=float)
        axes.plot(found, place + rng.uniform(-0.25, 0.25, len(found)), ".", color=colour, alpha=0.6)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()


def plain(axis: Axis) -> None:
    """Numbers of a logarithmic axis as they are read."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def main() -> None:
    """Draw all four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS, metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for draw in (verdict, precision, coverage, false_verdicts):
        path = arguments.out / f"evidence-{draw.__name__.replace('_', '-')}.png"
        with new_file(path, replace=True) as unfinished:
            draw().savefig(unfinished, format="png", dpi=110)
            Image.open(unfinished).convert("RGB").quantize(COLOURS_OF_A_PICTURE).save(unfinished, "png", optimize=True)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
