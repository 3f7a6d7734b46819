"""Does a sample of the queries of a log answer for the log?

    python examples/reproduce/sampled_logs.py --evidence FOLDER

A log has 1,000,000 queries, and the difference of two rankers grows with the logarithm of a query's traffic, which is
equal, log-normal (σ = 1.5), or falls with the rank of the query as in Zipf's law. Each repetition puts the queries in a
random order, in the place of their hashes, and draws some by `logs.drawn_in_order`. *certain* is how many of them were
certain to be drawn. The other columns are of the mean of the log, weighted by traffic. *new, all judged* is how often
the 95 % interval for new queries covers it if all queries of the sample are judged, and *SE* the standard error as a
multiple of the true one. *new* and *these, 500 judged* are how often both intervals cover it with 500 judged, drawn in
proportion to their weights and estimated by regression on a model; *error* is their root mean squared error. The last
row of each log draws the 500 from all queries.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from scipy import stats
from tqdm import tqdm

from pt_active.inference.estimators import Controls, estimator_named
from pt_active.inference.new_queries import ByQuery, by_drawn_query, widened_by_queries
from pt_active.inference.reference import Tails
from pt_active.logs import drawn_in_order
from pt_active.sampling.chances import inclusion_probabilities
from pt_active.sampling.draws import draw_number

TABLES = ("sampled-logs",)
QUERIES = 1_000_000
SIZES = (1_000, 10_000, 100_000)
JUDGED = 500
CONFIDENCE = 0.95
SLOPE = 0.1  # How the difference grows with the standardised logarithm of the traffic
MODEL_ERROR = 1.0  # The standard deviation of the errors of the model; that of the differences is about 1


def logs(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """The name of each kind of traffic, the traffic, the differences and what a model expects, float64[N] each."""
    rng = np.random.default_rng(seed)
    kinds = {
        "equal": np.ones(QUERIES),
        "log-normal": np.exp(1.5 * rng.standard_normal(QUERIES)),
        "Zipf": 1 / np.arange(1, QUERIES + 1),
    }
    for name, traffic in kinds.items():
        size = np.log(traffic) - np.log(traffic).mean()
        trend = SLOPE * size / max(float(size.std()), 1.0)
        value = 0.05 + trend + rng.standard_normal(QUERIES)
        yield name, traffic, value, value + MODEL_ERROR * rng.standard_normal(QUERIES)


def covers(off: float, error: float, degrees: float, tails: Tails | None = None) -> float:
    """Whether a 95 % interval holds the truth, which its middle is off by."""
    below, above, degrees = tails or Tails(1.0, 1.0, degrees)
    reach = float(stats.t.isf((1 - CONFIDENCE) / 2, degrees) * error)
    return float(-above * reach <= off <= below * reach)


def judged_in_part(
    weight: np.ndarray, value: np.ndarray, model: np.ndarray, truth: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """How far an estimate from some judged queries is off, and whether its intervals for new queries and these hold."""
    sample = draw_number(weight, weight, JUDGED, rng, replace=False)
    own = sample.of(value)
    mean = estimator_named("regression").estimate(sample, Controls(weight, model), own)
    by_query = by_drawn_query(sample, mean, weight, model, own)
    error, degrees = float(mean.standard_error), float(mean.degrees_of_freedom)
    off, widened = float(mean.value) - truth, widened_by_queries(error, degrees, None, by_query, 1 - CONFIDENCE)
    return off, covers(off, *widened), covers(off, error, degrees)


def repeated(
    log: tuple[np.ndarray, np.ndarray, np.ndarray], n: int, repetitions: int, seed: int
) -> Iterator[dict[str, float]]:
    """What each of many samples says of a log."""
    traffic, value, model = log
    truth, rng = float(traffic @ value / traffic.sum()), np.random.default_rng((seed, n))
    chance = inclusion_probabilities(traffic, n)
    for _ in tqdm(range(repetitions), desc=f"{n:,}", leave=False):
        order = rng.permutation(len(traffic))
        rows = order[drawn_in_order(chance[order], rng.random())]
        weight = traffic[rows] / chance[rows]
        weight /= weight.sum()
        mean = float(weight @ value[rows])
        census = widened_by_queries(0.0, 1.0, None, ByQuery(weight, value[rows], 0.0), 1 - CONFIDENCE)
        off, new, these = judged_in_part(weight, value[rows], model[rows], truth, rng)
        yield {
            "certain": float((chance >= 1).sum()),
            "mean": mean,
            "all": covers(mean - truth, *census),
            "SE": census.standard_error,
            "new": new,
            "these": these,
            "squared error": off**2,
        }


def row(rows: pd.DataFrame, name: str, n: int) -> dict[str, object]:
    """A line of the table, with Monte Carlo errors."""
    count = len(rows)

    def share(column: str) -> str:
        mean = rows[column].mean()
        return f"{mean:.3f} ± {np.sqrt(mean * (1 - mean) / count):.3f}"

    square = rows["squared error"]
    root = float(np.sqrt(square.mean()))
    drawn: dict[str, object] = {"certain": f"{rows['certain'].mean():.0f}", "new, all judged": share("all")}
    drawn["SE"] = f"{rows['SE'].mean() / rows['mean'].std(ddof=1):.2f}"
    if n == QUERIES:
        drawn = dict.fromkeys(drawn, "–")
    return {
        "traffic": name,
        "drawn": f"{n:,}",
        **drawn,
        f"new, {JUDGED} judged": share("new") if n < QUERIES else "–",
        f"these, {JUDGED} judged": share("these"),
        "error": f"{root:.4f} ± {square.std() / np.sqrt(count) / (2 * root):.4f}",
    }


def main() -> None:
    """Print the table, and keep it if asked to."""
    arguments = parser_with(__doc__, repetitions=200, seed=0).parse_args()
    lines = []
    for name, *log in logs(arguments.seed):
        for n in (*SIZES, QUERIES):
            found = pd.DataFrame(repeated(tuple(log), n, arguments.repetitions, arguments.seed))
            lines.append(row(found, name, n))
            print(lines[-1], flush=True)
    text = markdown(pd.DataFrame(lines))
    print(text)
    publish(text, arguments, *TABLES)


if __name__ == "__main__":
    main()
