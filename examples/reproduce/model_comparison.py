"""How often the better model is picked, over labels, of two models and of five [AC].

Five classifiers tell the digits 4 and 9 apart on shifted, noisy copies of a test half; P(y) is the equal mixture of
their own probabilities, as in the source. The risk is zero-one. Of two models (every pair of the five that differs in
risk) and of all five, the one with the least ``Σ v ℓ`` is picked; what all agree on adds the same to each. The
source's point is that the design for the comparison (`optimal`) picks the better model with fewer labels than sampling
for each risk (`risk_mixture`, its ARE), labelling where models disagree, or `passive` sampling.

    python examples/reproduce/model_comparison.py --out FOLDER [--quick]

writes ``model_comparison.csv`` and ``model_comparison.png``. Samples are drawn without replacement.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from audit_replays import design_of, drawn_samples
from figures import label_axis, legend_below, panels, write
from matplotlib.figure import Figure
from offline_data import Split, digits, logistic, naive_bayes
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

from pt_active.risk.introspection import introspection, label_tables
from pt_active.risk.losses import ZeroOne

LABELS = [10, 15, 25, 40, 60, 100, 150]
TRAINING = 60
"""Examples that each model learns from."""

COLOURS = {"passive": "black", "risk_mixture": "tab:pink", "disagreement": "tab:green", "optimal": "tab:blue"}
"""The designs."""


def models() -> list[object]:
    """Five classifiers that err on different pairs."""
    return [
        logistic(),
        naive_bayes(),
        KNeighborsClassifier(5),
        RandomForestClassifier(50, min_samples_leaf=2, random_state=0),
        DecisionTreeClassifier(max_depth=5, min_samples_leaf=4, random_state=0),
    ]


def probabilities(split: Split, seed: int) -> np.ndarray:
    """``P(9)`` by each model, float64[N, 5]; each learned from examples of its own."""
    rng, columns = np.random.default_rng([seed, 1]), []
    for model in models():
        rows = rng.permutation(len(split.train_label))[:TRAINING]
        columns.append(model.fit(split.train[rows], split.train_label[rows]).predict_proba(split.test)[:, 1])
    return np.column_stack(columns)


def picked(
    chance: np.ndarray, label: np.ndarray, design: str, labels: list[int], repetitions: int, seed: int
) -> np.ndarray:
    """How often the best model is picked at each number of labels, float64[len(labels)].

    Args:
        chance: float64[N, k], P(y = 1) by each model.
        label: float64[N].
        design: A name in `COLOURS`.
        labels: Increasing.
        repetitions: Samples.
        seed: Of the draws.
    """
    predictions, rho = (chance > 0.5).astype(float), chance.mean(axis=1)
    loss = (predictions != label[:, None]).astype(float)
    n, best = len(label), loss.mean(axis=0).argmin()
    tables = label_tables(ZeroOne(), predictions, 2, np.ones(n, dtype=bool))
    view = introspection(tables, np.column_stack([1 - rho, rho]), np.full(n, 1 / n), proportion=True)
    found = []
    for drawn in drawn_samples(design_of(view, design, predictions), labels, repetitions, seed):
        total = np.einsum("rd,rdk->rk", drawn.count * drawn.importance, loss[drawn.rows])
        least = np.isclose(total, total.min(axis=1, keepdims=True))
        found.append((least[:, best] / least.sum(axis=1)).mean())
    return np.array(found)


def accuracy(repetitions: int, seeds: range) -> pd.DataFrame:
    """``models, design, labels, accuracy``: means over splits, and over the pairs of models that differ in risk."""
    rows = []
    for seed in tqdm(seeds, unit="split"):
        split = digits(seed)
        chance = probabilities(split, seed)
        risk = ((chance > 0.5) != split.test_label[:, None]).mean(axis=0)
        pairs = [list(pair) for pair in combinations(range(5), 2) if risk[pair[0]] != risk[pair[1]]]
        for columns in [*pairs, list(range(5))]:
            for design in COLOURS:
                found = picked(chance[:, columns], split.test_label, design, LABELS, repetitions, seed)
                gap = float(np.sort(risk[columns])[1] - risk[columns].min())
                rows.extend((len(columns), design, n, share, gap) for n, share in zip(LABELS, found, strict=True))
    table = pd.DataFrame(rows, columns=["models", "design", "labels", "accuracy", "gap"])
    return table.groupby(["models", "design", "labels"], sort=False).mean().reset_index()


def draw(table: pd.DataFrame) -> Figure:
    """A panel for two models, and one for five."""
    figure, axes = panels(1, 2)
    for axis, number in zip(axes[0], (2, 5), strict=True):
        for design, colour in COLOURS.items():
            curve = table[(table["models"] == number) & (table["design"] == design)]
            axis.plot(curve["labels"], curve["accuracy"], color=colour, label=design, marker=".")
        axis.set_title(f"{number} models")
        label_axis(axis, LABELS)
        axis.set_ylabel("the best is picked")
        axis.grid(alpha=0.3)
    legend_below(figure, axes[0, 0])
    return figure


def main() -> None:
    """Replay, print, and write the table and the picture."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--quick", action="store_true", help="one split, fewer repetitions")
    options.add_argument("--repetitions", type=int, help="100 samples of each, or 30 with --quick")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    repetitions = arguments.repetitions or (30 if arguments.quick else 100)
    table = accuracy(repetitions, range(1 if arguments.quick else 8))
    print(table.pivot(index=["models", "design"], columns="labels", values="accuracy").round(3).to_string())
    write(table, draw(table), arguments.out, "model_comparison")


if __name__ == "__main__":
    main()
