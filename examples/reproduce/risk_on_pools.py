"""Risk of grade predictors on judged query-document pairs: active, passive and stratified sampling [ARE].

    python examples/reproduce/risk_on_pools.py POOL.parquet … --out FOLDER [--judges FOLDER] [--quick]

The predictors are an ordered logit and naive Bayes, learned on one fold of a pool and tested on the others, and each
judge with a file in ``--judges`` for the pool (``NAME.qrels`` or ``votes-NAME.tsv.gz``). The predicted grade is
compared with the human one by error (zero-one), precision and recall. Predictors supply the label probabilities
themselves, as in the source. Samples are drawn without replacement, with a separate design for each risk.

The script writes ``risk_on_pools.csv`` (error, width and coverage of intervals by number of labels),
``risk_on_pools_quality.csv`` (the ratio of active to passive error for models learned from few and from many queries)
and ``risk_on_pools.png``, and prints a table for the docs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from audit_replays import (
    METHODS,
    Problem,
    averaged_rows,
    curves_over_labels,
    graded_problem,
    print_ratios,
    ratios_over_quality,
    rows_of,
    with_ratios,
    with_worth,
)
from evidence import markdown, publish
from figures import legend_below, log_errors, panels, parsed, parser, train_folds, write
from grade_predictors import Predictors, judging, learned
from judged_pools import JudgedPool, judges_of, read_judged_pool, read_judges
from matplotlib.figure import Figure
from tqdm import tqdm

from pt_active.frames.atomic import write_file
from pt_active.risk import Precision, Recall, ZeroOne

LABELS = [30, 50, 100, 200, 400]

QUALITY_LABELS = 100

SIZES = [3, 10, 30, 100]
"""Numbers of training queries, for models of different quality."""

UNDER_TEST = ["ordered logit", "naive Bayes"]

RISKS = ("error", "precision", "recall")

KEYS = ["data", "predictor", "risk_name"]


def problems(pool: JudgedPool, predictors: Predictors) -> Iterator[tuple[str, str, Problem]]:
    """Predictor, risk and problem, without risks of 0 or 1, and without precision of no more than `LABELS` pairs."""
    losses = (ZeroOne(), Precision(rel=pool.relevant), Recall(rel=pool.relevant))
    for s, name in enumerate(predictors.names):
        prediction, grades = predictors.prediction[:, s], predictors.grades[s]
        for risk, loss in zip(RISKS, losses, strict=True):
            if risk == "precision" and (prediction >= pool.relevant).sum() <= max(LABELS):
                continue
            problem = graded_problem(loss, prediction, grades, predictors.label)
            if 0 < problem.risk < 1:
                yield name, risk, problem


def replayed_risks(
    pool: JudgedPool, predictors: Predictors, labels: list[int], repetitions: int, seed: int
) -> Iterator[pd.DataFrame]:
    """`audit_replays.rows_of` each predictor and risk, in one table."""
    for name, risk, problem in problems(pool, predictors):
        yield rows_of(problem, labels, repetitions, seed).assign(data=pool.name, predictor=name, risk_name=risk)


def curves(
    pool: JudgedPool, folds: list[int], judges: Mapping[str, pd.DataFrame], repetitions: int, seed: int
) -> pd.DataFrame:
    """Means over training folds at each number of labels."""
    rows: list[pd.DataFrame] = []
    for fold in tqdm(folds, desc=pool.name, unit="fold"):
        rows += replayed_risks(pool, learned(pool, fold, UNDER_TEST), LABELS, repetitions, seed)
        if judges:
            rows += replayed_risks(pool, judging(pool, fold, judges), LABELS, repetitions, seed)
    return averaged_rows(rows, KEYS)


def qualities(pool: JudgedPool, folds: list[int], repetitions: int, seed: int) -> pd.DataFrame:
    """The ratio of active to passive error, one row per model, risk and method."""
    rows = []
    for fold in tqdm(folds, desc=f"{pool.name}, qualities", unit="fold"):
        for size in SIZES:
            predictors = learned(pool, fold, UNDER_TEST, size)
            tables = replayed_risks(pool, predictors, [QUALITY_LABELS], repetitions, seed)
            rows += [with_ratios(each).assign(size=size) for each in tables]
    return pd.concat(rows, ignore_index=True)


def draw(over_labels: pd.DataFrame, over_quality: pd.DataFrame) -> Figure:
    """One row per pool: each risk's error by labels, averaged over predictors, and the ratio by likelihood."""
    names = over_labels["data"].unique()
    figure, axes = panels(len(names), len(RISKS) + 1)
    for line, data in zip(axes, names, strict=True):
        table = averaged_rows([over_labels[over_labels["data"] == data]], ["risk_name"])
        for axis, risk in zip(line, RISKS, strict=False):
            curves_over_labels(axis, table[table["risk_name"] == risk], "rmse")
            axis.set_title(f"{data}: {risk}")
            log_errors(axis)
        of = (over_quality["data"] == data) & (over_quality["risk_name"] == "error")
        ratios_over_quality(line[-1], over_quality[of])
        line[-1].set_title(f"{data}: error")
    legend_below(figure, axes[0, 0])
    return figure


def worth_table(over_labels: pd.DataFrame) -> pd.DataFrame:
    """The docs' table of risks, with the worth of a label by each active method at `QUALITY_LABELS` labels."""
    at, rows = with_worth(over_labels[over_labels["labels"] == QUALITY_LABELS], KEYS), []
    for (data, predictor), group in at.groupby(["data", "predictor"], sort=False):
        row = {"data": data, "predictor": predictor, "likelihood": f"{group['likelihood'].mean():.2f}"}
        for risk in RISKS:
            by_method = group[group["risk_name"] == risk].set_index("method")
            worth = " / ".join(
                f"{by_method['worth'][name]:.2f}" for name in METHODS if name != "passive" and len(by_method)
            )
            row[risk] = f"{by_method['risk'].mean():.2f}: {worth}" if len(by_method) else "–"
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Replay, print, and write the tables and the picture."""
    options = parser(__doc__, evidence=True)
    options.add_argument("--judges", type=Path, metavar="FOLDER", help="judges of the pools; used where they fit")
    arguments = parsed(options)
    warnings.simplefilter("ignore")
    judges = read_judges(arguments.judges) if arguments.judges else {}
    over_labels, over_quality = [], []
    for path in arguments.pools:
        pool = read_judged_pool(path)
        folds, known = train_folds(pool, arguments), judges_of(pool, judges)
        over_labels.append(curves(pool, folds, known, arguments.repetitions, arguments.seed))
        over_quality.append(qualities(pool, folds, arguments.repetitions // 2, arguments.seed))
    table, quality = pd.concat(over_labels, ignore_index=True), pd.concat(over_quality, ignore_index=True)
    methods = ", ".join(name for name in METHODS if name != "passive")
    said = f"The risk, then how many passive labels one label is worth at {QUALITY_LABELS} labels, by {methods}."
    text = f"{said}\n\n{markdown(worth_table(table))}"
    print(f"\n{text}")
    publish(text, arguments, "risk-on-pools")
    for risk, group in quality.groupby("risk_name", sort=False):
        print(f"\n{risk}:", end="")
        print_ratios(group.assign(kind=group["data"] + ", " + group["predictor"]), "kind")
    write(table, draw(table, quality), arguments.out, "risk_on_pools")
    write_file(arguments.out / "risk_on_pools_quality.csv", quality.to_csv(index=False), replace=True)


if __name__ == "__main__":
    main()
