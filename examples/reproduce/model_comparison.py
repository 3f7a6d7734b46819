"""How often the best of two or five models is picked, by number of labels [AC].

    python examples/reproduce/model_comparison.py [POOL.parquet …] --out FOLDER [--judges FOLDER] [--quick]

Classifiers tell the digits 4 and 9 apart on shifted, noisy copies of a test half (zero-one loss); regressions predict
the diabetes data (squared loss, each with its own predictive variance). On each labelled pool, made by a script in
``data_scripts/``, grade models learned on one fold are compared on the others. If the judges in ``--judges`` have seen
the pool, they and an ordered logit are compared instead. Zero-one loss takes the predicted grade, squared loss the
expected grade. The label model is the equal mixture of the compared models' own, as in the source.

The model with the smallest ``Σ v ℓ`` is picked, from two models (every pair of the five that differs in risk) and from
all five; pairs on which all agree add the same to each. In the source, the design for the comparison (`optimal`) picks
the better model with fewer labels than sampling for each risk (`risk_mixture`, its ARE), labelling where models
disagree, uniformly (`disagreement`) or by their distance (`active_inf`, `active_0`), and `passive` sampling.

The script writes ``model_comparison.csv`` and ``model_comparison.png``. Samples are drawn without replacement.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from audit_replays import design_of, drawn_samples
from evidence import markdown, parser_with, publish
from figures import label_axis, legend_below, panels, write
from grade_predictors import LEARNED, Predictors, joined, judging, learned
from judged_pools import JudgedPool, judges_of, read_judged_pool, read_judges
from matplotlib.figure import Figure
from offline_data import Split, diabetes, digits, logistic, naive_bayes, regressions
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tqdm import tqdm

from pt_active.relevance.introspection import Introspection, gaussian_introspection, introspection, label_tables
from pt_active.relevance.losses import Loss
from pt_active.risk import Squared, ZeroOne

LABELS = [10, 15, 25, 40, 60, 100, 150]
SHOWN = [25, 100]
"""Numbers of labels in the docs' table."""

TRAINING_SIZE = 60
"""Training examples of each model on scikit-learn's data."""

COLOURS = {
    "passive": "black",
    "risk_mixture": "tab:pink",
    "disagreement": "tab:green",
    "active_inf": "tab:olive",
    "active_0": "tab:brown",
    "optimal": "tab:blue",
}
"""Design → colour."""

ZERO_ONE, SQUARED = "zero-one", "squared"

DESIGNS = {
    ZERO_ONE: ("passive", "risk_mixture", "disagreement", "optimal"),
    SQUARED: ("passive", "risk_mixture", "active_inf", "active_0", "optimal"),
}
"""Loss → designs. Real predictions always differ, so `disagreement` equals `passive`; zero-one loss does not depend on
how far grades differ."""


@dataclass(frozen=True)
class Contest:
    """Models to compare on a pool.

    Attributes:
        data: Name of the pool.
        loss: `ZERO_ONE` or `SQUARED`.
        prediction: float64[N, k], the predictions.
        losses: float64[N, k], losses at the true labels.
        view: Columns of some models → moments of the losses under their mixture.
    """

    data: str
    loss: str
    prediction: np.ndarray
    losses: np.ndarray
    view: Callable[[list[int]], Introspection]


def graded_contest(
    data: str, name: str, loss: Loss, prediction: np.ndarray, grades: np.ndarray, label: np.ndarray
) -> Contest:
    """Models with grade probabilities.

    Args:
        data: Name of the pool.
        name: Name of the loss.
        loss: The loss of a prediction.
        prediction: float64[N, k], the predictions.
        grades: float64[k, N, G+1], the models' grade probabilities.
        label: float64[N], the true labels.
    """
    n, height = grades.shape[1:]
    everything, weight = np.ones(n, dtype=bool), np.full(n, 1 / n)

    def view(columns: list[int]) -> Introspection:
        tables = label_tables(loss, prediction[:, columns], height, everything)
        return introspection(tables, grades[columns].mean(axis=0), weight, loss.proportion)

    return Contest(data, name, prediction, loss.terms(prediction, label[:, None])[0], view)


def digits_contest(seed: int) -> Contest:
    """Five classifiers that err on different examples, each trained on a different sample."""
    split, rng, predicted = digits(seed), np.random.default_rng([seed, 1]), []
    for model in classifiers():
        rows = rng.permutation(len(split.train_label))[:TRAINING_SIZE]
        predicted.append(model.fit(split.train[rows], split.train_label[rows]).predict_proba(split.test))
    grades = np.stack(predicted)
    prediction = (grades[:, :, 1] > 0.5).T.astype(float)
    return graded_contest("digits", ZERO_ONE, ZeroOne(), prediction, grades, split.test_label)


def classifiers() -> list[object]:
    """The unfitted classifiers of the digits."""
    return [
        logistic(),
        naive_bayes(),
        KNeighborsClassifier(5),
        RandomForestClassifier(50, min_samples_leaf=2, random_state=0),
        DecisionTreeClassifier(max_depth=5, min_samples_leaf=4, random_state=0),
    ]


def diabetes_contest(seed: int) -> Contest:
    """Five regressions with Gaussian predictive variances, each trained on a different sample [AC Deriv. 5]."""
    split: Split = diabetes(seed)
    rng, predicted = np.random.default_rng([seed, 1]), []
    for fit in regressions():
        rows = rng.permutation(len(split.train_label))[:TRAINING_SIZE]
        predicted.append(fit(split.train[rows], split.train_label[rows], split.test))
    prediction, variance = (np.column_stack(part) for part in zip(*predicted, strict=True))
    n = len(prediction)
    weight, everything = np.full(n, 1 / n), np.ones(n, dtype=bool)

    def view(columns: list[int]) -> Introspection:
        return gaussian_introspection(prediction[:, columns], variance[:, columns], weight, everything)

    losses = Squared().terms(prediction, split.test_label[:, None])[0]
    return Contest("diabetes", SQUARED, prediction, losses, view)


def pool_contests(pool: JudgedPool, fold: int, judges: Mapping[str, pd.DataFrame]) -> Iterator[Contest]:
    """Contests of five grade models, or of the judges and an ordered logit."""
    models: Predictors = learned(pool, fold, list(LEARNED))
    if judges:
        models = joined(judging(pool, fold, judges), learned(pool, fold, ["ordered logit"]))
    yield graded_contest(pool.name, ZERO_ONE, ZeroOne(), models.prediction, models.grades, models.label)
    yield graded_contest(pool.name, SQUARED, Squared(), models.expected, models.grades, models.label)


def picked(
    contest: Contest, columns: list[int], design: str, labels: list[int], repetitions: int, seed: int
) -> np.ndarray:
    """Share of samples in which the best model is picked, float64[len(labels)].

    Args:
        contest: The models.
        columns: Columns of the compared models.
        design: A name in `COLOURS`.
        labels: Increasing numbers of labels.
        repetitions: Number of samples.
        seed: Random seed of the draws.
    """
    prediction, loss = contest.prediction[:, columns], contest.losses[:, columns]
    best, shares = loss.mean(axis=0).argmin(), []
    for drawn in drawn_samples(design_of(contest.view(columns), design, prediction), labels, repetitions, seed):
        total = np.einsum("rd,rdk->rk", drawn.count / drawn.expected, loss[drawn.rows])  # Pairs weigh the same.
        least = np.isclose(total, total.min(axis=1, keepdims=True))
        shares.append((least[:, best] / least.sum(axis=1)).mean())
    return np.array(shares)


def rows_of(contest: Contest, repetitions: int, seed: int) -> Iterator[tuple[object, ...]]:
    """One row per subset of models, design and number of labels; subsets are all pairs with unequal risks, and all.

    Yields:
        ``data, loss, models, design, labels, accuracy, gap``; ``gap`` is that between the two best risks.
    """
    risk = contest.losses.mean(axis=0)
    everyone = list(range(len(risk)))
    pairs = [list(pair) for pair in combinations(everyone, 2) if risk[pair[0]] != risk[pair[1]]]
    for columns in [*pairs, everyone]:
        gap = float(np.sort(risk[columns])[1] - risk[columns].min())
        for design in DESIGNS[contest.loss]:
            shares = picked(contest, columns, design, LABELS, repetitions, seed)
            for number, share in zip(LABELS, shares, strict=True):
                yield contest.data, contest.loss, len(columns), design, number, share, gap


def accuracy(jobs: list[tuple[int, Callable[[], Iterator[Contest]]]], repetitions: int) -> pd.DataFrame:
    """``data, loss, models, design, labels, accuracy, gap``: means over splits, and over the pairs of models.

    Args:
        jobs: A seed and a function that makes contests, for each split.
        repetitions: Samples of each contest and design.
    """
    rows: list[tuple[object, ...]] = []
    for seed, contests in tqdm(jobs, unit="split"):
        for contest in contests():
            rows += rows_of(contest, repetitions, seed)
    table = pd.DataFrame(rows, columns=["data", "loss", "models", "design", "labels", "accuracy", "gap"])
    return table.groupby(["data", "loss", "models", "design", "labels"], sort=False).mean().reset_index()


def draw(table: pd.DataFrame) -> Figure:
    """One panel for two models and one for all models, per data set and loss."""
    kinds = list(table[["data", "loss", "models"]].drop_duplicates().itertuples(index=False, name=None))
    figure, axes = panels(-(-len(kinds) // 4), min(len(kinds), 4))
    for axis, (data, loss, number) in zip(axes.flat, kinds, strict=False):
        chosen = table[(table["data"] == data) & (table["loss"] == loss) & (table["models"] == number)]
        for design in DESIGNS[loss]:
            curve = chosen[chosen["design"] == design]
            axis.plot(curve["labels"], curve["accuracy"], color=COLOURS[design], marker=".")
        axis.set_title(f"{data}, {loss}: {number} models", fontsize=9)
        label_axis(axis, LABELS)
        axis.set_ylabel("the best is picked")
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    for design, colour in COLOURS.items():
        axes[0, 0].plot([], [], color=colour, label=design, marker=".")
    legend_below(figure, axes[0, 0], len(COLOURS))
    return figure


def page_table(table: pd.DataFrame) -> pd.DataFrame:
    """The docs' table: rows by data set, loss and number of models, columns by design, a number for each of `SHOWN`."""
    rows = []
    for key, group in table.groupby(["data", "loss", "models"], sort=False):
        row = dict(zip(["data", "loss", "models"], key, strict=True))
        for design in COLOURS:
            accuracies = group[group["design"] == design].set_index("labels")["accuracy"]
            shares = [f"{accuracies[number]:.3f}" for number in SHOWN] if len(accuracies) else ["–"]
            row[f"`{design}`"] = " / ".join(share.removeprefix("0") for share in shares)
        rows.append(row)
    return pd.DataFrame(rows)


def jobs_of(arguments: argparse.Namespace) -> list[tuple[int, Callable[[], Iterator[Contest]]]]:
    """A seed and a function that makes contests, for each split of the data and each training fold of the pools."""
    jobs: list[tuple[int, Callable[[], Iterator[Contest]]]] = []
    for make in (digits_contest, diabetes_contest):
        jobs += [(seed, lambda make=make, seed=seed: iter([make(seed)])) for seed in range(1 if arguments.quick else 8)]
    judges = read_judges(arguments.judges) if arguments.judges else {}
    for path in arguments.pools:
        pool = read_judged_pool(path)
        known = judges_of(pool, judges)
        for fold in pool.train_folds[: 1 if arguments.quick else None]:
            jobs.append((fold, lambda pool=pool, fold=fold, known=known: pool_contests(pool, fold, known)))
    return jobs


def main() -> None:
    """Replay, print, and write the table and the picture."""
    options = parser_with(__doc__, pools="*", quick="one split, fewer repetitions")
    options.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    options.add_argument("--judges", type=Path, metavar="FOLDER", help="judges of the pools; used where they fit")
    options.add_argument("--repetitions", type=int, help="100 samples of each, or 30 with --quick")
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    table = accuracy(jobs_of(arguments), arguments.repetitions or (30 if arguments.quick else 100))
    said = f"Share of samples in which the best model is chosen, at {' / '.join(map(str, SHOWN))} labels."
    text = f"{said}\n\n{markdown(page_table(table))}"
    print(f"\n{text}")
    publish(text, arguments, "model-comparison")
    write(table, draw(table), arguments.out, "model_comparison")


if __name__ == "__main__":
    main()
