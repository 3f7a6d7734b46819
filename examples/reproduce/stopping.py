"""What stopping early risks and saves: replays of looks at growing samples from labelled pools.

    python examples/reproduce/stopping.py POOL.parquet … [--repetitions 2000] [--evidence FOLDER]

The default design draws queries without replacement up to a quarter of the pool's cost, with 60 looks on the way
(planned looks: 5). Documents are drawn in five rounds. Bets are looked at after each query, or after each document of a
plan of documents that come one after the other; their null replays go on until everything is judged. Looks by normal
approximations have no interval below their least degrees of freedom.

The column ``wrong`` is the share of null replays (the rankers trade places in a random half of the queries) in which
any interval misses the truth, with its Monte Carlo error. The columns ``found`` and ``spent`` are for the true pair:
how often a difference is resolved by the end, and the mean cost until then as a share of the fixed budget (for rounds
of documents from a fifth of the repetitions, for bets from half).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from judged_pools import GRADE_MODELS, JudgedPool
from leagues import AT_ONCE, tabled, tasks, with_error
from sequences import Sequence, contributions, ever_excluded, flipped, sequences
from tqdm import tqdm

from pt_active import Plan, UnitCost
from pt_active.inference.replay import (
    LabelledPool,
    Method,
    Population,
    Repetitions,
    Replays,
    joined,
    random_swaps,
    replay,
)
from pt_active.inference.rounds import Round, RoundSettings, draw_round, estimate_rounds
from pt_active.inference.stopping.boundaries import SPENDING, half_widths
from pt_active.inference.stopping.error_curve import ErrorCurve
from pt_active.inference.stopping.looks import ASYMPTOTIC, PLANNED_LOOKS, critical_values, information, needed_degrees
from pt_active.plans.making.queries import DESIGN
from pt_active.sampling.designs import DEFENSIVE_SHARE
from pt_active.studies.simulate import labelled_population, pool_of_rankers

MEASURE, BUDGET_SHARE, PEEKS, ALPHA = "DCG@10", 1 / 4, 60, 0.05
LOOK_RULES = (None, ASYMPTOTIC, *SPENDING)
BETS = "always, by bets"
ROUNDS = 5
ROUNDING = 1e-9


def looked_at(looks: str | None) -> np.ndarray:
    """The indices of the peeks that a kind of looks uses."""
    if looks is None:
        return np.array([PEEKS - 1])
    return np.arange(PEEKS) if looks == ASYMPTOTIC else np.arange(1, PLANNED_LOOKS + 1) * PEEKS // PLANNED_LOOKS - 1


def peeks(population: Population, repetitions: int, null: bool, seed: int) -> tuple[Replays, np.ndarray]:
    """Estimates at every peek, and the expected information at each under the design."""
    budget = BUDGET_SHARE * population.cost.sum()
    budgets = np.linspace(max(population.cost.max(), budget / PEEKS), budget, PEEKS)
    method = Method(DESIGN, "regression", with_replacement=False)
    found = replay(population, [method], budgets.tolist(), Repetitions(repetitions, seed, null))
    q, unit = population.distribution(DESIGN, DEFENSIVE_SHARE), np.ones(len(population.cost))
    curve = ErrorCurve(q, population.cost * q**2, population.cost, unit, np.arange(len(q)), share=population.weight)
    return found["regression"], information(curve, budgets, budget)


def half_of(replayed: Replays, time: np.ndarray, looks: str | None) -> np.ndarray:
    """float64[L, R], half-widths at the peeks of a kind of looks; infinite if values are equal or too few."""
    at = looked_at(looks)
    critical = critical_values(looks, at + 1, time[at], ALPHA)[:, None]
    half = half_widths(critical, replayed.standard_error[at], replayed.degrees[at])
    unusable = (replayed.standard_error[at] == 0) | (replayed.degrees[at] < needed_degrees(looks))
    return np.where(unusable, np.inf, half)


def rows_of(pool: JudgedPool, repetitions: int) -> Iterator[dict[str, object]]:
    """One row per task and kind of looks."""
    fold = pool.train_folds[0]
    graded = pool.graded(GRADE_MODELS["random forest"](pool.max_grade), fold)
    for task, rankers in tasks(pool, fold).items():
        frame = pool_of_rankers(graded, rankers)
        population = labelled_population(frame, MEASURE, UnitCost())
        if population.compared:
            null, time = peeks(population, repetitions, True, 1)
            real, _ = peeks(population, repetitions, False, 2)
            head = {"data": pool.name, "task": task}
            yield head | {"drawn": "queries", "looks": "every time, plain interval"} | _naive(null)
            for looks in LOOK_RULES:
                yield head | {"drawn": "queries", "looks": looks or "once, at the end"} | _row(null, real, time, looks)
            yield from (
                head | {"drawn": f"{ROUNDS} rounds of documents"} | row for row in of_rounds(population, repetitions)
            )
            budget = BUDGET_SHARE * population.cost.sum()
            yield from (head | row for row in of_bets(frame, budget, repetitions // 2))


def of_bets(frame: pd.DataFrame, budget: float, repetitions: int) -> Iterator[dict[str, str]]:
    """The rows of bets on queries and on documents, looked at after each draw."""
    for drawn, level, design in (("queries", "query", None), ("documents", "document", "successive")):
        plan = Plan.create(frame, None, MEASURE, budget=budget, level=level, design=design)
        judged = sequences(plan, frame[["qid", "docno", "label"]], repetitions, 5, ALPHA)
        rng, wrong, spent, found = np.random.default_rng(6), [], [], []
        for each in tqdm(judged, total=repetitions, unit="sample", leave=False):
            wrong.append(_misses_when_traded(each, rng))
            at = each.resolved_at(ALPHA)
            cost = each.progress.spent[at] if at >= 0 else np.inf
            found.append(cost <= budget)
            spent.append(min(cost, budget) / budget)
        shares = {"found": f"{np.mean(found):.2f}", "spent": f"{np.mean(spent):.2f}"}
        yield {"drawn": drawn, "looks": BETS, "wrong": with_error(np.mean(wrong), repetitions)} | shares


def _misses_when_traded(judged: Sequence, rng: np.random.Generator) -> bool:
    """Whether the truth is ever excluded if the rankers trade places in a random half of the queries."""
    sign = rng.choice([-1.0, 1.0], int(judged.query.max()) + 1)[judged.query]
    truth = judged.proof.units.settled + float(sign @ contributions(judged.proof))
    return ever_excluded(flipped(judged.proof, sign), judged.proof, truth, ALPHA)


def of_rounds(population: Population, repetitions: int) -> Iterator[dict[str, str]]:
    """The rows of documents in rounds, with a look after each round."""
    null, time = rounds_of(population, repetitions, True, 3)
    real, ahead = rounds_of(population, repetitions // 5, False, 4)
    low, high = null.intervals(1 - ALPHA)
    missed = (null.truth < low) | (null.truth > high)
    naive = with_error(missed.any(axis=0).mean(), repetitions)
    yield {"looks": "every time, plain interval", "wrong": naive, "found": "", "spent": ""}
    for looks, at in ((None, np.array([ROUNDS - 1])), (ASYMPTOTIC, np.arange(ROUNDS))):
        wrong = (np.abs(null.error[at]) > half_of_rounds(null, time, looks, at)).any(axis=0).mean()
        resolved = np.abs(real.estimate[at]) > half_of_rounds(real, ahead, looks, at)
        stop = np.where(resolved.any(axis=0), at[resolved.argmax(axis=0)], ROUNDS - 1)
        spent = real.spent[stop, np.arange(len(stop))].mean() / real.spent[-1].mean()
        found = {"found": f"{resolved.any(axis=0).mean():.2f}", "spent": f"{spent:.2f}"}
        yield {"looks": looks or "once, at the end", "wrong": with_error(wrong, repetitions)} | found


def rounds_of(population: Population, repetitions: int, null: bool, seed: int) -> tuple[Replays, np.ndarray]:
    """Estimates after each round, and the expected information by then, float64[L, R]."""
    pool, rng = population.single, np.random.default_rng(seed)
    assert pool is not None
    settings = RoundSettings(AT_ONCE[pool.graded.seen.form.family])
    samples, clocks = [], []
    for _ in tqdm(range(repetitions), unit="sample", leave=False):
        now = pool.swapped(random_swaps(len(pool.weight), rng)[0]) if null else pool
        sample, clock = _rounds(now, settings, BUDGET_SHARE * population.cost.sum() / ROUNDS, rng)
        samples.append(sample)
        clocks.append(clock)
    return joined(samples), np.column_stack(clocks)


def half_of_rounds(replayed: Replays, time: np.ndarray, looks: str | None, at: np.ndarray) -> np.ndarray:
    """float64[L, R], half-widths after the rounds ``at``; a rounding error once all that matters is judged."""
    critical = np.column_stack([critical_values(looks, at + 1, clock[at], ALPHA) for clock in time.T])
    half = half_widths(critical, replayed.standard_error[at], replayed.degrees[at])
    half = np.where(replayed.degrees[at] < needed_degrees(looks), np.inf, half)
    return np.where(np.isinf(time[at]), ROUNDING, half)


def _rounds(
    pool: LabelledPool, settings: RoundSettings, budget: float, rng: np.random.Generator
) -> tuple[Replays, np.ndarray]:
    """One sample in rounds: the estimates after each round, and the information by then in units of the first."""
    drawn: list[Round] = []
    label, seen, rows = np.full(len(pool.label), -1), pool.graded.seen, []
    for _ in range(ROUNDS):
        if not drawn or drawn[-1].expected > 0:
            drawn.append(draw_round(pool.graded, settings, budget, rng, labels=label if drawn else None))
        label = np.where(drawn[-1].sample.drawn, pool.label, label)
        estimate = estimate_rounds(seen, drawn, label, pool.contrast, "regression")
        judged = int((label >= 0).sum())
        spent = sum(each.sample.spent for each in drawn)
        rows.append(
            (estimate.value, estimate.standard_error, estimate.degrees_of_freedom, judged, spent, estimate.n_effective)
        )
    value, error, degrees, judged_, spent_, effective = np.array(rows).T[..., None]
    fields = {"n_draws": judged_, "n_queries": judged_, "n_judged": judged_, "spent": spent_, "n_effective": effective}
    expected = np.array([each.expected for each in drawn])
    with np.errstate(divide="ignore"):
        time = np.full(ROUNDS, np.inf)
        time[: len(drawn)] = np.cumsum(expected[0] / expected)
    return Replays(truth=np.array([pool.truth]), estimate=value, standard_error=error, degrees=degrees, **fields), time


def _naive(null: Replays) -> dict[str, str]:
    low, high = null.intervals(1 - ALPHA)
    missed = ((null.truth < low) | (null.truth > high)).any(axis=0)
    return {"wrong": with_error(missed.mean(), len(missed)), "found": "", "spent": ""}


def _row(null: Replays, real: Replays, time: np.ndarray, looks: str | None) -> dict[str, str]:
    at = looked_at(looks)
    wrong = (np.abs(null.error[at]) > half_of(null, time, looks)).any(axis=0)
    resolved = np.abs(real.estimate[at]) > half_of(real, time, looks)
    found = resolved.any(axis=0)
    stop = np.where(found, at[resolved.argmax(axis=0)], PEEKS - 1)
    spent = real.spent[stop, np.arange(len(stop))].mean() / real.spent[-1].mean()
    return {"wrong": with_error(wrong.mean(), len(wrong)), "found": f"{found.mean():.2f}", "spent": f"{spent:.2f}"}


def main() -> None:
    """Replay, and print the table."""
    tabled("stopping-looks", __doc__, rows_of, repetitions=2000, quick=100)


if __name__ == "__main__":
    main()
