"""Active testing over ten rounds: the error of LUR, LURE, AILUR and AIIPW under four strategies [AI].

    python active_testing.py --out FOLDER [POOL.parquet …] [--quick]

The script evaluates a classifier of the digits 4 and 9 (cross-entropy, precision, AUC, average precision), trained on
few images and tested on the others and a copy of them shifted by a pixel; a linear regression of the diabetes data
(squared error); and in each labelled pool, made by a script in ``data_scripts/``, the best ranker of the training fold
query by query (DCG@10, ERR@10) and the grade model pair by pair. Rounds are Poisson draws, as in the source, or draws
one at a time, with which LUR is LURE. The estimators are the source's three, the two whose weights sum to 1 (one of
them also with a cross-validated bandwidth), and LUR with a control variate, by the model's own values and by
regression. Queries are also estimated by plans of one round that judge as many documents.

``active_testing.csv`` holds the root mean squared error after each round, its Monte Carlo standard error, the bias, and
the efficiency (mean squared error of as many labels drawn uniformly at once ÷ that of the method; above 1 is better).
``active_testing.png`` shows the errors over the rounds for draws by the original model. The efficiencies after the last
round are printed as a table for the docs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import markdown, parser_with
from figures import legend_below, log_errors, panels, write
from judged_pools import GRADE_MODELS, JudgedPool, read_judged_pool
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from tqdm import tqdm

from pt_active.inference import statistics
from pt_active.inference.replay import Method, Population
from pt_active.inference.statistics import Statistic
from pt_active.inference.weightings import CONTROLLED, CROSS_VALIDATED, WEIGHTINGS, estimate_mean, inclusion_regression
from pt_active.relevance.grades.features import document_features
from pt_active.relevance.grades.recalibration import recalibrated_grades
from pt_active.relevance.losses import CrossEntropy, label_table
from pt_active.rounds.instances import QueryInstances
from pt_active.sampling.chances import defended
from pt_active.sampling.draws import draw_round
from pt_active.sampling.sample import Steps
from pt_active.studies.simulate import labelled_population, replays

ROUNDS = 10
LURE = "ori, singly"
"""The strategy ``ori`` with single draws, under which ``lur`` is the source's LURE."""

STRATEGIES = {
    "uniform": ("uniform", "poisson"),
    "ori": ("ori", "poisson"),
    LURE: ("ori", "single"),
    "rec": ("rec", "poisson"),
    "rf": ("rf", "poisson"),
}
"""Name → strategy and drawing."""

SMOOTHED = "aiipw_ratio, cv"
"""``aiipw_ratio`` with a cross-validated bandwidth."""

ESTIMATORS = ("lur", *CONTROLLED, "ailur", "ailur_ratio", "aiipw", "aiipw_ratio", SMOOTHED)
PASSIVE = "uniform at once"
"""The yardstick: a fixed number of uniform draws and their plain mean."""

PASSIVE_PER_ACTIVE = 4
"""Repetitions of the yardstick per repetition of a method, so that it adds little noise to ratios."""

SAMPLED = (PASSIVE, *STRATEGIES, "Plan of queries", "Plan of documents")
"""The compared ways of sampling, in the order of the table."""

PAIRS_PER_POOL = 3000
"""Number of pairs drawn at random from each pool."""

FOREST = {"n_estimators": 30, "min_samples_leaf": 3, "random_state": 0}


@dataclass(frozen=True)
class Task:
    """An evaluation to replay.

    Attributes:
        data: Name of the data set.
        score: float64[N], g.
        model: float64[N], the model's expectation of ``values``.
        values: float64[N], the loss; known everywhere, but used only where drawn.
        statistics: Name → statistic to estimate; the first is the mean of ``values``.
        size: (strategy, rounds so far) → float64[N], sizes to which the next probabilities are proportional.
        labels: Number of labels per round.
        population: For queries, the population from which a `Plan` samples; None otherwise.
    """

    data: str
    score: np.ndarray
    model: np.ndarray
    values: np.ndarray
    statistics: dict[str, Statistic]
    size: Callable[[str, Steps], np.ndarray]
    labels: int
    population: Population | None = None


def inverse(rounds: Steps) -> np.ndarray:
    """float64[N], ``1/Ê{δ|g}`` where drawn, 1 elsewhere."""
    return 1 / np.where(rounds.drawn, inclusion_regression(rounds), 1.0)


def pairs_task(data: str, grades: np.ndarray, labels: np.ndarray, features: np.ndarray, number: int) -> Task:
    """A classifier of two grades, drawn for its cross-entropy.

    Args:
        data: Name of the data set.
        grades: float64[N, 2], the classifier's probabilities.
        labels: int64[N], 0 or 1.
        features: float64[N, d], for the strategy ``rf``.
        number: Number of labels per round.
    """
    chance, called = grades[:, 1], grades[:, 1] >= 0.5
    table, _ = label_table(CrossEntropy(), grades, 2, np.ones(len(grades), dtype=bool))
    values = table[np.arange(len(labels)), labels]

    def size(strategy: str, rounds: Steps) -> np.ndarray:
        known = np.where(rounds.drawn, labels, -1)
        believed = grades
        if strategy == "rec":
            believed = recalibrated_grades(grades, known, inverse(rounds))
        elif strategy == "rf" and len(np.unique(known[known >= 0])) == 2:
            forest = RandomForestClassifier(**FOREST).fit(features[known >= 0], known[known >= 0])
            believed = forest.predict_proba(features)
        return np.asarray((believed * table).sum(axis=1))

    wanted = {
        "cross-entropy": statistics.mean(values),
        "precision": statistics.ratio(called * labels, called.astype(float)),
        "AUC": statistics.area_under_roc(chance, labels.astype(float)),
        "average precision": statistics.average_precision(chance, labels.astype(float)),
    }
    return Task(data, chance, (grades * table).sum(axis=1), values, wanted, size, number)


def digits_task(seed: int) -> Task:
    """A classifier of 4 and 9, trained on 60 images, tested on the others and a copy of them shifted by one pixel."""
    images, digit = load_digits(return_X_y=True)
    chosen = np.isin(digit, (4, 9))
    images, label = images[chosen] / 16, (digit[chosen] == 9).astype(int)
    order = np.random.default_rng(seed).permutation(len(label))
    train, rest = order[:60], order[60:]
    classifier = LogisticRegression(C=1.0).fit(images[train], label[train])
    shifted = np.roll(images[rest].reshape(-1, 8, 8), 1, axis=2).reshape(len(rest), 64)
    pool = np.concatenate([images[rest], shifted])
    return pairs_task("digits", classifier.predict_proba(pool), np.tile(label[rest], 2), pool, 20)


def recalibrated_line(model: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``α + β f`` by weighted least squares over known values: the linear recalibration of a regression model [AI]."""
    known = np.isfinite(values)
    if len(np.unique(model[known])) < 2:
        return model
    slope, intercept = np.polyfit(model[known], values[known], 1, w=np.sqrt(weights[known]))
    return intercept + slope * model


def diabetes_task(seed: int) -> Task:
    """A ridge regression trained on 60 patients, tested on the others; g is its prediction."""
    features, response = load_diabetes(return_X_y=True)
    response = (response - response.mean()) / response.std()
    order = np.random.default_rng(seed).permutation(len(response))
    train, rest = order[:60], order[60:]
    regression = Ridge(alpha=0.1).fit(features[train], response[train])
    noise = float(((response[train] - regression.predict(features[train])) ** 2).mean())
    predicted, truth, pool = regression.predict(features[rest]), response[rest], features[rest]
    values = (predicted - truth) ** 2

    def size(strategy: str, rounds: Steps) -> np.ndarray:
        known = np.where(rounds.drawn, truth, np.nan)
        believed = predicted
        if strategy == "rec":
            believed = recalibrated_line(predicted, known, inverse(rounds))
        elif strategy == "rf":
            forest = RandomForestRegressor(**FOREST).fit(pool[rounds.drawn], truth[rounds.drawn])
            believed = forest.predict(pool)
        off = (believed - predicted) ** 2
        mean = off + noise
        return np.sqrt((mean - mean.mean()) ** 2 + 2 * noise**2 + 4 * off * noise)

    return Task(
        "diabetes", predicted, np.full(len(rest), noise), values, {"squared error": statistics.mean(values)}, size, 15
    )


def pool_tasks(pool: JudgedPool, seed: int) -> Iterator[Task]:
    """The best ranker by DCG@10 and by ERR@10, query by query, and the grade model, pair by pair."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    ranker = pool.standing("DCG@10", fold)[0]
    others = [c for c in graded.columns if c.startswith(("rank_", "score_")) and not c.endswith(f"_{ranker}")]
    frame = graded.drop(columns=others)
    retrieved = frame[frame[f"rank_{ranker}"] >= 0]
    for measure in ("DCG@10", f"ERR(max_rel={pool.max_grade})@10"):
        population = labelled_population(retrieved, measure, rankers=[ranker])
        yield queries_task(pool.name, QueryInstances.of(retrieved, measure), measure, population)
    rows = graded.sort_values(["qid", "docno"]).sample(min(PAIRS_PER_POOL, len(graded)), random_state=seed)
    columns = [f"grade_{grade}" for grade in range(pool.max_grade + 1)]
    chance = np.clip(rows[columns].to_numpy()[:, 1:].sum(axis=1), 0.001, 0.999)
    label = (rows["label"] > 0).to_numpy().astype(int)
    features = document_features(rows)
    yield pairs_task(f"{pool.name}, pairs", np.column_stack([1 - chance, chance]), label, features, 20)


def queries_task(data: str, queries: QueryInstances, measure: str, population: Population) -> Task:
    """A measure of queries; ``rec`` and ``rf`` learn from the labels of the drawn queries' documents."""
    labels = np.maximum(queries.frame["label"].fillna(0).to_numpy(np.int64), 0)
    values, model = queries.statistic(queries.measure, labels)
    features = document_features(queries.frame)
    seen = queries.wanted(queries.measure)

    def size(strategy: str, rounds: Steps) -> np.ndarray:
        known = np.where(rounds.drawn[queries.instance] & seen, labels, -1)
        believed = queries.grades
        if strategy == "rec":
            believed = recalibrated_grades(queries.grades, known, inverse(rounds)[queries.instance])
        elif strategy == "rf":
            forest = RandomForestClassifier(**FOREST).fit(features[known >= 0], known[known >= 0])
            believed = np.zeros_like(queries.grades)
            believed[:, forest.classes_] = forest.predict_proba(features)
        return queries.size(believed)

    name = measure.partition("(")[0].partition("@")[0] + "@10"
    return Task(data, queries.score(), model, values, {name: statistics.mean(values)}, size, 20, population)


def estimates(task: Task, rounds: Steps) -> dict[tuple[str, str], float]:
    """(statistic, estimator) → estimate; without AILUR for single draws, since AILUR needs larger rounds."""
    results = {}
    alone = bool((rounds.size <= 1).any())
    for name in ("lur", "aiipw") if alone else ("lur", "ailur", "aiipw"):
        a = WEIGHTINGS[name](rounds, None).weights
        results |= _evaluated(task, {name: a} if name == "lur" else {name: a, f"{name}_ratio": a / a.sum()})
    results |= _evaluated(task, {SMOOTHED: WEIGHTINGS["aiipw_ratio"](rounds, CROSS_VALIDATED).weights})
    mean = next(iter(task.statistics))
    controlled = {name: estimate_mean(rounds, task.values, name, task.model).value for name in CONTROLLED}
    return results | {(mean, name): float(value) for name, value in controlled.items()}


def _evaluated(task: Task, weights: dict[str, np.ndarray]) -> dict[tuple[str, str], float]:
    return {
        (name, shown): statistic(a)[0] for shown, a in weights.items() for name, statistic in task.statistics.items()
    }


def replayed(task: Task, name: str, repetitions: int, seed: int) -> pd.DataFrame:
    """One row per estimate: ``repetition, round, labels, statistic, estimator, estimate``."""
    rows, (strategy, drawing) = [], STRATEGIES[name]
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        rounds, first = Steps.none_yet(task.score), strategy if strategy in ("uniform", "ori") else "ori"
        for number in range(1, ROUNDS + 1):
            now = first if number == 1 or not rounds.drawn.any() else strategy
            size = np.ones(len(task.score)) if now == "uniform" else defended(task.size(now, rounds))
            rounds = draw_round(rounds, size, task.labels, drawing, rng)
            if rounds.drawn.any():
                head = repetition, number, number * task.labels
                rows += [(*head, *key, value) for key, value in estimates(task, rounds).items()]
    columns = ["repetition", "round", "labels", "statistic", "estimator", "estimate"]
    return pd.DataFrame(rows, columns=columns).assign(strategy=name)


def passive(task: Task, repetitions: int, seed: int) -> pd.DataFrame:
    """Estimates of the yardstick: ``repetition, round, labels, statistic, estimator, estimate``."""
    rows, size = [], np.ones(len(task.score))
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition, 1])
        for number in range(1, ROUNDS + 1):
            drawn = draw_round(Steps.none_yet(task.score), size, number * task.labels, "fixed", rng).drawn
            for name, statistic in task.statistics.items():
                rows.append((repetition, number, number * task.labels, name, "lur", statistic(drawn / drawn.sum())[0]))
    columns = ["repetition", "round", "labels", "statistic", "estimator", "estimate"]
    return pd.DataFrame(rows, columns=columns).assign(strategy=PASSIVE)


def planned(task: Task, repetitions: int, seed: int) -> pd.DataFrame:
    """Estimates of plans of queries and of documents that judge as many documents in one round."""
    population = task.population
    if population is None or population.single is None:
        return pd.DataFrame()
    numbers = range(1, ROUNDS + 1)
    budgets = [number * task.labels * population.cost.mean() for number in numbers]
    documents = Method(population.single.graded.usual_drawing, "regression", False)
    methods = {"Plan of queries": Method("hedged", "regression", False), "Plan of documents": documents}
    replayed_plans = replays(population, methods.values(), repetitions, budgets=budgets, seed=seed, progress=False)
    rows = [
        (repetition, number, number * task.labels, next(iter(task.statistics)), "regression", error, name)
        for name, method in methods.items()
        for number, errors in zip(numbers, replayed_plans[method].error, strict=True)
        for repetition, error in enumerate(errors + task.values.mean())
    ]
    columns = ["repetition", "round", "labels", "statistic", "estimator", "estimate", "strategy"]
    return pd.DataFrame(rows, columns=columns)


def summarised(task: Task, rows: pd.DataFrame) -> pd.DataFrame:
    """Root mean squared error, its Monte Carlo standard error, bias, share undefined, and relative efficiency."""
    everything = np.full(len(task.score), 1 / len(task.score))
    truth = {name: statistic(everything)[0] for name, statistic in task.statistics.items()}
    off = rows["estimate"] - rows["statistic"].map(truth)
    rows = rows.assign(off=off, square=off**2)
    keys = ["statistic", "strategy", "estimator", "round", "labels"]
    groups = rows.groupby(keys, sort=False)
    table = groups["square"].agg(["mean", "std", "count"])
    rmse = np.sqrt(table["mean"])
    table = table.assign(rmse=rmse, rmse_se=table["std"] / np.sqrt(table["count"]) / (2 * rmse))
    table = table.assign(bias=groups["off"].mean(), undefined=groups["off"].agg(lambda x: x.isna().mean()))
    table = table.drop(columns=["std", "count"]).reset_index()
    yardstick = table[table["strategy"] == PASSIVE].set_index(["statistic", "round"])["mean"]
    baseline = yardstick.loc[pd.MultiIndex.from_frame(table[["statistic", "round"]])].to_numpy()
    efficiency = baseline / table["mean"]
    return table.assign(efficiency=efficiency, truth=table["statistic"].map(truth), data=task.data).drop(columns="mean")


def replay_task(task: Task, repetitions: int, slow: int, seed: int) -> pd.DataFrame:
    """All strategies; ``rf`` has fewer repetitions, since it grows a forest in each round."""
    parts = [passive(task, PASSIVE_PER_ACTIVE * repetitions, seed), planned(task, repetitions, seed)]
    for strategy in tqdm(STRATEGIES, desc=f"{task.data}, {next(iter(task.statistics))}"):
        parts.append(replayed(task, strategy, slow if strategy == "rf" else repetitions, seed))
    return summarised(task, pd.concat(parts))


CURVES = {
    PASSIVE: (PASSIVE, "lur", "black", "--"),
    "LUR": ("ori", "lur", "tab:blue", "-"),
    "LURE": (LURE, "lur", "tab:cyan", "-"),
    "LUR, regression": ("ori", "lur_regression", "tab:purple", "-"),
    "AILUR, ratio": ("ori", "ailur_ratio", "tab:orange", "-"),
    "AIIPW": ("ori", "aiipw", "tab:pink", "-"),
    "AIIPW, ratio": ("ori", "aiipw_ratio", "tab:red", "-"),
}
"""Name → strategy, estimator, colour and line."""


def draw(table: pd.DataFrame) -> Figure:
    """One panel per data set and statistic, one curve per method, for draws by the original model."""
    kinds = list(table[["data", "statistic"]].drop_duplicates().itertuples(index=False, name=None))
    figure, axes = panels(-(-len(kinds) // 4), 4)
    for axis, (data, statistic) in zip(axes.flat, kinds, strict=False):
        chosen = table[(table["data"] == data) & (table["statistic"] == statistic)]
        for name, (strategy, estimator, colour, line) in CURVES.items():
            curve = chosen[(chosen["strategy"] == strategy) & (chosen["estimator"] == estimator)]
            axis.plot(curve["labels"], curve["rmse"], line, color=colour, label=name, marker=".")
        axis.set(title=f"{data}: {statistic}", xlabel="labels", ylabel="root mean squared error")
        axis.title.set_fontsize(9)
        log_errors(axis)
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    legend_below(figure, axes[0, 0], len(CURVES))
    return figure


def efficiencies(table: pd.DataFrame) -> pd.DataFrame:
    """Efficiency after the last round as text: rows by data set, statistic and strategy, columns by estimator."""
    last = table[(table["round"] == ROUNDS) & (table["strategy"] != PASSIVE)]
    last = last.assign(kind=last["data"] + ": " + last["statistic"])
    wide = last.pivot(index=["kind", "strategy"], columns="estimator", values="efficiency")
    order = [key for kind in last["kind"].unique() for name in SAMPLED if (key := (kind, name)) in wide.index]
    shown = [*ESTIMATORS, "regression"]
    wide = wide.reindex(columns=[name for name in shown if name in wide.columns]).loc[order]
    text = wide.map(lambda number: "–" if np.isnan(number) else f"{number:.1f}")
    return text.reset_index()


def main() -> None:
    """Replay, print the relative efficiencies after the last round, and write the files."""
    parser = parser_with(__doc__, pools="*", seed=0, quick="few repetitions", evidence=False)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--repetitions", type=int, help="100, or 8 with --quick; rf has a quarter of them")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    repetitions = arguments.repetitions or (8 if arguments.quick else 100)
    tasks = [digits_task(arguments.seed), diabetes_task(arguments.seed)]
    for path in arguments.pools:
        tasks += pool_tasks(read_judged_pool(path), arguments.seed)
    slow = max(2, repetitions // 4)
    table = pd.concat([replay_task(task, repetitions, slow, arguments.seed) for task in tasks], ignore_index=True)
    print("\nEfficiency relative to as many labels drawn uniformly at once, after the last round:\n")
    print(markdown(efficiencies(table)))
    write(table, draw(table), arguments.out, "active_testing")


if __name__ == "__main__":
    main()
