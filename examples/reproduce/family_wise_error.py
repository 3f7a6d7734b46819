"""How often a test separates five equally good rankers, with and without correction.

The pool is simulated: values of five correlated rankers with exactly equal means over 400 queries, and a grade model of
medium quality. Samples are drawn without replacement, and differences are estimated by ``regression``. Each share has
its Monte Carlo error.

    python examples/reproduce/family_wise_error.py [--repetitions 4000] [--evidence FOLDER]
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from leagues import with_error

from pt_active.inference.estimators import ESTIMATORS, Controls
from pt_active.inference.leaderboard import JointErrors, better_pvalues
from pt_active.inference.significance import tukey_pvalues, two_sided_pvalue
from pt_active.sampling.draws import priorities

QUERIES = 400
DRAWS = (30, 60, 120, 240)
SPREADS = {"alike": np.ones(5), "unlike": np.array([0.2, 0.5, 1.0, 2.0, 4.0])}
TABLES = ("family-wise",)


def population(rng: np.random.Generator, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of equally good rankers and their expectations under a model, both float64[m, k]."""
    values = rng.gamma(2, 1, (QUERIES, 1)) + rng.standard_normal((QUERIES, len(spread))) * spread
    values = values - values.mean(axis=0) + values.mean()
    return values, values + rng.standard_normal(values.shape)


def least_pvalues(q: np.ndarray, spread: np.ndarray, draws: int, repetitions: int, seed: int) -> dict[str, np.ndarray]:
    """Correction → smallest p-value of all pairs in each sample, float64[repetitions]; and the effective draws."""
    rng = np.random.default_rng(seed)
    values, model = population(rng, spread)
    sample, p = next(priorities(q, np.ones(QUERIES), [draws], repetitions, rng)), np.full(QUERIES, 1 / QUERIES)
    smallest = []
    for a, b in combinations(range(len(spread)), 2):
        delta, expected = values[:, a] - values[:, b], model[:, a] - model[:, b]
        estimate = ESTIMATORS["regression"].estimate(sample, Controls(p, expected), delta[sample.rows])
        smallest.append((estimate.value, estimate.standard_error, estimate.degrees_of_freedom))
    tests = np.array(smallest).transpose(1, 0, 2)
    alone = two_sided_pvalue(*tests)
    best, column = alone.argmin(axis=0), np.arange(repetitions)
    difference, error, degrees = (part[best, column] for part in tests)
    least = alone[best, column]
    tukey = tukey_pvalues(difference, error, np.round(degrees, 1), least, len(spread))
    of_samples = zip(tests[0].T, tests[1].T, alone.T, strict=True)
    joint = np.array([least_joint(len(spread), *of_one) for of_one in of_samples])
    found = {"effective": degrees + 2, "none": least, "holm": np.minimum(1, len(alone) * least)}
    return found | {"tukey": tukey, "joint": joint}


def least_joint(rankers: int, difference: np.ndarray, error: np.ndarray, pvalue: np.ndarray) -> float:
    """The smallest p-value by the joint distribution of all errors, from those of all pairs of one sample."""
    pairs = np.triu_indices(rankers, 1)
    errors, better = np.zeros((2, rankers, rankers))
    errors[pairs] = errors.T[pairs] = error
    better[pairs] = np.where(difference >= 0, pvalue / 2, 1 - pvalue / 2)
    better.T[pairs] = 1 - better[pairs]
    return float(np.nanmin(better_pvalues(JointErrors.of(errors), better)))


def error_rates(repetitions: int) -> pd.DataFrame:
    """One row per sample size and design."""
    scattered = np.random.default_rng(0).gamma(2, 1, QUERIES)
    ways = {"uniform": np.full(QUERIES, 1 / QUERIES), "weighted": 0.9 * scattered / scattered.sum() + 0.1 / QUERIES}
    rows = []
    for draws in DRAWS:
        for way, q in ways.items():
            row: dict[str, object] = {"draws": draws, "drawn": way}
            for name, spread in SPREADS.items():
                least = least_pvalues(q, spread, draws, repetitions, seed=draws)
                row["effective"] = f"{least.pop('effective').mean():.0f}"
                row |= {f"{c}, {name}": with_error((p < 0.05).mean(), repetitions) for c, p in least.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table, or put it into a page."""
    parser = parser_with(__doc__, repetitions=4000)
    arguments = parser.parse_args()
    table = markdown(error_rates(arguments.repetitions))
    print(table)
    publish(table, arguments, *TABLES)


if __name__ == "__main__":
    main()
