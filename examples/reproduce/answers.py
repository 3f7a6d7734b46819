"""Labels to a verdict, and errors, on which of two systems answers better: this package, and what takes its place.

    python examples/reproduce/answers.py ../shared/data/answers --evidence pt_active/pt_docs/evidence

The folder holds `sentiment.npz`, the tables of R-AutoEval+ (Park, Zecchin and Simeone, NeurIPS 2025). A third judge has
the good judge's scores of other items, so that it says nothing. Plans are made for 100 labels, and extended until there
is a verdict. How plans are made was chosen on one half of the systems; the tables are of pairs of the other half. The
rivals are written anew here from their papers:

- R-AutoEval+: for each reliance ρ on the judge, bets on ``d − ρ (f − mean f)``, d being the difference of the true
  scores of an item and f that of the judge's; wealth is pooled over ρ. R-Eval is ρ = 0. Both get the betting rule that
  is best for them in hindsight, in each row.
- PPI++ and the paired t-test at a fixed number of items, that which has a power of .8 if all variances are known
  (and, for PPI++, the best weight of the judge).
- PPI++ with 200 random items, and GLIDE's active sampler: independent draws with probabilities in proportion to the
  standard deviation that the model expects, at most 1, and a power-tuned mean (Zrnic and Candès 2024).

The history is of 10 other systems of the same half, drawn at random, with what the same judge says of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import ERROR, command_line, markdown, parser_with, write
from scipy import stats
from tqdm import tqdm

from pt_active import Answers, Plan
from pt_active.sampling.chances import clipping_factor

LEVEL = 0.05
SIZES = (0.015, 0.04, 0.07, 0.1, 0.15, 0.25, 0.5)  # Classes of differences, of which each gives five pairs
NAMED = (0.034, 0.072, 0.187)  # Pairs that many orders are tried for
RELIANCE = np.linspace(0, 1, 11)
FIXED = ("PPI++, fixed", "paired t, fixed")
PLANNED = 100  # Labels that a plan is made for
STAKES = (np.arange(40) + 0.5) / 40
PAST = 10  # Systems in a history
WITH_HISTORY = ("good", "bad")  # Judges
JUDGED = 200  # Items of a fixed sample, of which both answers are judged
DRAWN, REDRAWN = 12, 400  # Samples of this package, which also computes intervals, and of others


def pairs_of(true: np.ndarray, seed: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
    """Random pairs by their difference, the better one first; those next to the named differences; and exact ties."""
    total, rng = true.sum(axis=1, dtype=np.int64), np.random.default_rng(seed)
    every = np.array([(i, j) for i in range(len(total)) for j in range(len(total)) if i != j and total[i] >= total[j]])
    apart = (total[every[:, 0]] - total[every[:, 1]]) / true.shape[1]
    drawn = [
        tuple(every[k])
        for low, high in pairwise(SIZES)
        for k in rng.choice(np.flatnonzero((apart >= low) & (apart < high)), 5, replace=False)
    ]
    named = [tuple(every[np.abs(apart - wanted).argmin()]) for wanted in NAMED]
    ties = every[(apart == 0) & (every[:, 0] < every[:, 1])]
    varied = [tuple(pair) for pair in ties if (true[pair[0]] != true[pair[1]]).mean() > 0.05]
    return drawn, named, varied[:6]


# --- this package ---------------------------------------------------------------------------------------------------


def answers_of(
    true: np.ndarray, judge: np.ndarray | None, pair: tuple[int, int], history: pd.DataFrame | None = None
) -> tuple[Answers, pd.DataFrame]:
    """The answers of a pair, and the labels of all of them."""
    items = np.arange(true.shape[1])
    parts = []
    for name, system in zip("ab", pair, strict=True):
        known = {"item": items, "system": name, "truth": true[system]}
        parts.append(pd.DataFrame(known if judge is None else known | {"score": judge[system]}))
    table = pd.concat(parts)
    answers = Answers(table, history=history)
    return answers, answers.labels(table.assign(score=table["truth"]))


def history_of(true: np.ndarray, judge: np.ndarray, pair: tuple[int, int]) -> pd.DataFrame:
    """People's and a judge's scores of other systems than those of a pair."""
    others = np.setdiff1d(np.arange(len(true)), pair)
    past = np.random.default_rng((11, *pair)).choice(others, PAST, replace=False)
    every = [{"item": np.arange(true.shape[1]), "label": true[k], "score": judge[k]} for k in past]
    return pd.concat([pd.DataFrame(each).assign(system=f"past {k}") for k, each in zip(past, every, strict=True)])


def seeds_of(pair: tuple[int, int], orders: int) -> range:
    """The seeds of the orders of a pair; no two pairs share one, as means over pairs would have the error of one."""
    return range(first := 100_000 * pair[0] + 1000 * pair[1], first + orders)


def by_plan(
    answers: Answers, labels: pd.DataFrame, unit: str | None, seeds: range, **how: object
) -> Iterator[dict[str, object]]:
    """Labels to a verdict, and what it was, order by order."""
    most = len(labels)
    for seed in seeds:
        plan = answers.plan(PLANNED, unit=unit, seed=seed, **how).extend(most - 1 - PLANNED)
        yield _verdict(plan, labels, most)


def _verdict(plan: Plan, labels: pd.DataFrame, most: int) -> dict[str, object]:
    state = plan.status(labels)
    known = state.resolved_at is not None and state.resolved_at < most - 2
    return {"labels": state.resolved_at if known else most, "verdict": state.winner if known else None}


# --- bets with reliance on a judge ----------------------------------------------------------------------------------


def by_bets(
    difference: np.ndarray, judged: np.ndarray, reliance: np.ndarray, order: np.ndarray
) -> list[dict[str, object]]:
    """Labels to a verdict of each betting rule: a universal portfolio, and plug-in bets for 100, 300 and all items."""
    found, n = [], len(order)
    sides = []
    for sign in (1.0, -1.0):
        value = sign * (difference[order] - reliance[:, None] * (judged[order] - judged.mean()))
        bound = 1 + reliance * np.abs(judged - judged.mean()).max()
        sides.append((value, bound))
    rules = {"portfolio": 0, "plug-in 100": 100, "plug-in 300": 300, "plug-in all": n}
    for rule, planned in rules.items():
        wealth = np.stack([_wealth(value, bound, planned) for value, bound in sides])
        reached = wealth >= 2 / LEVEL
        first = [int(side.argmax()) if side.any() else n for side in reached]
        at = min(first)
        verdict = None if at == n else "ab"[int(np.argmin(first))]
        found.append({"rule": rule, "labels": 2 * min(at + 1, n), "verdict": verdict})
    return found


def _wealth(value: np.ndarray, bound: np.ndarray, planned: int) -> np.ndarray:
    """float64[n], the wealth pooled over the reliances; value float64[R, n], bound float64[R]."""
    if planned == 0:
        share = stats.beta.pdf(STAKES, 0.5, 0.5)
        factors = 1 + value[:, None, :] * (STAKES[None, :, None] / bound[:, None, None])
        logs = np.cumsum(np.log(factors), axis=2) + np.log(share / share.sum())[None, :, None]
        return np.exp(np.minimum(logs, 600)).sum(axis=1).mean(axis=0)
    count = np.arange(1, value.shape[1] + 1)
    total, square = 0.5 + np.cumsum(value, axis=1), np.cumsum(value**2, axis=1)
    mean = total / (count + 1)
    variance = np.maximum((0.25 + square) / (count + 1) - mean**2, 1e-3)
    before = np.column_stack([np.full(len(value), 0.25), variance[:, :-1]])
    bets = np.minimum(np.sqrt(2 * np.log(2 / LEVEL) / (planned * before)), 0.75 / bound[:, None])
    return np.exp(np.minimum(np.cumsum(np.log(1 + bets * value), axis=1), 600)).mean(axis=0)


# --- a fixed number of items ----------------------------------------------------------------------------------------


def weight_of(difference: np.ndarray, judged: np.ndarray) -> float:
    """The weight of the judge that makes PPI++ most precise."""
    spread = np.var(judged)
    return float(np.cov(difference, judged)[0, 1] / spread) if spread > 0 else 0.0


def items_for_power(value: np.ndarray, effect: float, power: float = 0.8) -> float:
    """How many random items, drawn without replacement, find the difference with a given power."""
    m = len(value)
    wanted = (effect / (stats.norm.ppf(1 - LEVEL / 2) + stats.norm.ppf(power))) ** 2
    return m / (1 + m * wanted / value.var(ddof=1)) if effect else np.inf


# --- the study ------------------------------------------------------------------------------------------------------


def row_of(found: list[dict[str, object]], tied: bool) -> dict[str, object]:
    """The median number of labels with its Monte-Carlo error, and how many verdicts were false."""
    labels = np.array([each["labels"] for each in found], dtype=float)
    verdicts = [each["verdict"] for each in found]
    false = sum(each is not None if tied else each == "b" for each in verdicts)
    again = np.random.default_rng(0).choice(labels, (400, len(labels)))
    error = float(np.median(again, axis=1).std())
    return {"labels": float(np.median(labels)), "labels_error": error, "orders": len(found), "false": false}


def study(true: np.ndarray, judges: dict[str, np.ndarray], orders: tuple[int, int, int]) -> pd.DataFrame:
    """All pairs, judges and methods."""
    rows: list[dict[str, object]] = []
    groups = zip(("drawn", "named", "tie"), pairs_of(true, seed=33), orders, strict=True)
    work = [(kind, pair, number) for kind, pairs, number in groups for pair in pairs]
    for kind, pair, number in tqdm(work, desc="pairs"):
        rng, difference = np.random.default_rng((7, *pair)), true[pair[0]].astype(float) - true[pair[1]]
        for name, judge in judges.items():
            about = {"pairs": kind, "first": pair[0], "second": pair[1], "judge": name, "difference": difference.mean()}
            about |= {"difference": round(float(difference.mean()), 4)}
            units = ("item",) if kind == "tie" else ("item", "answer")
            own = units if judge is None or name not in WITH_HISTORY else (*units, None)
            for method, found in _by_methods(true, judge, pair, number, rng, own):
                rows.append(about | {"method": method} | row_of(found, kind == "tie"))
            if judge is None or kind == "tie":
                continue
            judged = judge[pair[0]].astype(float) - judge[pair[1]]
            residual = difference - weight_of(difference, judged) * judged
            for method, value in zip(FIXED, (residual, difference), strict=True):
                rows.append(about | {"method": method, "labels": 2 * items_for_power(value, difference.mean())})
    return pd.DataFrame(rows)


def _by_methods(
    true: np.ndarray,
    judge: np.ndarray | None,
    pair: tuple[int, int],
    orders: int,
    rng: np.random.Generator,
    units: Sequence[str | None],
) -> Iterator[tuple[str, list[dict[str, object]]]]:
    answers, labels = answers_of(true, judge, pair)
    for unit in units:
        if unit is None and judge is not None:
            answers, labels = answers_of(true, judge, pair, history_of(true, judge, pair))
        yield "history" if unit is None else f"{unit}s", list(by_plan(answers, labels, unit, seeds_of(pair, orders)))
    difference = true[pair[0]].astype(float) - true[pair[1]]
    judged = np.zeros(len(difference)) if judge is None else judge[pair[0]].astype(float) - judge[pair[1]]
    method, reliance = ("R-Eval", RELIANCE[:1]) if judge is None else ("R-AutoEval+", RELIANCE)
    every = [by_bets(difference, judged, reliance, rng.permutation(len(difference))) for _ in range(orders)]
    by_rule = [list(each) for each in zip(*every, strict=True)]
    yield method, min(by_rule, key=lambda each: np.median([one["labels"] for one in each]))


def in_short(table: pd.DataFrame) -> pd.DataFrame:
    """The named pairs in a row each: the median number of labels of each method, with its Monte-Carlo error."""
    named = table[table["pairs"] == "named"]
    # Without a judge there is one R-Eval, which stands in the rows of both judges.
    alone = named[named["method"] == "R-Eval"].set_index("difference")
    rows = []
    for (judge, difference), own in named[named["judge"] != "none"].groupby(["judge", "difference"], sort=False):
        row = {"judge": judge, "difference": f"{difference:.3f}"}
        by_method = own.set_index("method")
        parts = {
            name: by_method.loc[name]
            for name in ("items", "history", "answers", "R-AutoEval+")
            if name in by_method.index
        }
        for name, each in (parts | {"R-Eval": alone.loc[difference]}).items():
            row |= {name: f"{each['labels']:.0f}", f"{name}{ERROR}": f"{each['labels_error']:.0f}"}
        rows.append(row | {name: f"{by_method.loc[name, 'labels']:.0f}" for name in FIXED})
    return pd.DataFrame(rows).fillna("")


def told(table: pd.DataFrame) -> pd.DataFrame:
    """What the drawn pairs and the ties say, judge by judge: ratios of medians, and shares of false verdicts."""
    by_pair = table[table["pairs"] == "drawn"].pivot(
        index=["first", "second"], columns=["judge", "method"], values="labels"
    )
    rows = []
    for judge, own in table.groupby("judge", sort=False):
        items, row = by_pair[judge, "items"], {"judge": judge}
        others = {"no judge": by_pair["none", "items"], "answers": by_pair[judge, "answers"]}
        if judge != "none":
            others["R-AutoEval+"] = by_pair[judge, "R-AutoEval+"]
        for name, other in others.items():
            ratio = items / other
            mean, what = np.exp(np.log(ratio).mean()), f"items over {name}"
            row |= {what: f"{mean:.2f}", f"{what}{ERROR}": f"{mean * np.log(ratio).sem():.2f}"}
            row |= {f"{name}, worst": f"{ratio.max():.2f}"}
        row["pairs over 1.1 answers"] = f"{(items > 1.1 * others['answers']).sum()} of {len(items)}"
        if judge in WITH_HISTORY:
            ratio = by_pair[judge, "history"] / others["R-AutoEval+"]
            mean, what = np.exp(np.log(ratio).mean()), "history over R-AutoEval+"
            row |= {what: f"{mean:.2f}", f"{what}{ERROR}": f"{mean * np.log(ratio).sem():.2f}"}
            row |= {"history, worst": f"{ratio.max():.2f}"}
        false = [("tie", "items", "false at ties"), ("named", "items", "false elsewhere")]
        for kind, method, what in [*false, ("tie", "history", "false with history")][
            : 3 if judge in WITH_HISTORY else 2
        ]:
            part = own[(own["pairs"] == kind) & (own["method"] == method)]
            share, number = part["false"].sum() / part["orders"].sum(), part["orders"].sum()
            row |= {what: f"{share:.3f}", f"{what}{ERROR}": f"{np.sqrt(share * (1 - share) / number):.3f}"}
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


# --- a fixed sample -------------------------------------------------------------------------------------------------


def fixed(true: np.ndarray, judges: dict[str, np.ndarray], pairs: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """The squared error of the difference in random items over that of each method, as a mean over pairs."""
    rows = []
    for name in WITH_HISTORY:
        found = [_gains(true, judges[name], pair) for pair in tqdm(pairs, desc=f"fixed, {name}")]
        logs = np.log(pd.DataFrame(found))
        row = {"judge": name}
        for method in logs:
            mean = np.exp(logs[method].mean())
            row |= {method: f"{mean:.1f}", f"{method}{ERROR}": f"{mean * logs[method].sem():.1f}"}
        rows.append(row)
    return pd.DataFrame(rows)


def _gains(true: np.ndarray, judge: np.ndarray, pair: tuple[int, int]) -> dict[str, float]:
    """Method → the squared error of random items over its own; all judge as many answers."""
    a, b = pair
    difference, judged = true[a].astype(float) - true[b], judge[a].astype(float) - judge[b]
    m, rng = len(difference), np.random.default_rng((13, a, b))
    random = difference.var(ddof=1) / JUDGED * (1 - JUDGED / m)
    plain = answers_of(true, judge, pair)
    known = answers_of(true, judge, pair, history_of(true, judge, pair))
    model = _expected(known[0])
    errors = {
        "items": [_compared(*plain, seed) for seed in range(DRAWN)],
        "history": [_compared(*known, seed) for seed in range(DRAWN)],
        "history, items": [_compared(*known, seed, unit="item") for seed in range(DRAWN)],
        "PPI++": [_ppi(difference, judged, rng) for _ in range(REDRAWN)],
        "GLIDE": [_glide(difference, *_expected(plain[0]), rng) for _ in range(REDRAWN)],
        "GLIDE, history": [_glide(difference, *model, rng) for _ in range(REDRAWN)],
    }
    return {method: random / np.mean((np.array(each) - difference.mean()) ** 2) for method, each in errors.items()}


def _compared(answers: Answers, labels: pd.DataFrame, seed: int, unit: str | None = None) -> float:
    plan = answers.plan(2 * JUDGED, unit, seed)
    return plan.compare(labels.merge(plan.assessments[["qid", "docno"]])).difference


def _expected(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each item's difference, by the probabilities that plans use; in items' order."""
    pool = answers.pool
    sign = np.where(pool["rank_a"] >= 0, 1, -1)
    parts = pd.DataFrame({"mean": sign * pool["grade_1"], "square": pool["grade_1"] * pool["grade_0"]})
    by_item = parts.groupby(pool["qid"].astype(int)).sum().sort_index()
    return by_item["mean"].to_numpy(), np.sqrt(by_item["square"].to_numpy())


def _ppi(difference: np.ndarray, judged: np.ndarray, rng: np.random.Generator) -> float:
    rows = rng.choice(len(judged), JUDGED, replace=False)
    d, f = difference[rows], judged[rows]
    spread = (1 + JUDGED / len(judged)) * judged.var()
    weight = np.clip(np.cov(d, f)[0, 1] / spread, 0, 1) if spread > 0 else 0.0
    return float(weight * judged.mean() + (d - weight * f).mean())


def _glide(difference: np.ndarray, model: np.ndarray, size: np.ndarray, rng: np.random.Generator) -> float:
    chance = np.minimum(1, clipping_factor(size, np.ones(len(size)), JUDGED) * size)
    drawn = (rng.random(len(size)) < chance) / chance
    values, control = difference * drawn, model * (drawn - 1)
    weight = np.cov(values, control)[0, 1] / control.var(ddof=1)
    return float((values - weight * control).mean())


def _of_systems(tables: dict[str, np.ndarray], half: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray | None]]:
    """The true scores of some systems, and those of the judges."""
    good, other = tables["judge_best"][half], np.random.default_rng(33).permutation(tables["true"].shape[1])
    return tables["true"][half], {
        "good": good,
        "bad": tables["judge_bad"][half],
        "random": good[:, other],
        "none": None,
    }


def main() -> None:
    parser = parser_with(__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--orders", type=int, nargs=3, default=(5, 100, 60), help="of drawn pairs, named ones, ties")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    half = np.split(np.random.default_rng(0).permutation(100), 2)[1]
    tables = np.load(options.data / "sentiment.npz")
    true, judges = _of_systems(tables, np.sort(half))
    every = study(true, judges, tuple(options.orders))
    found = {"answers": in_short(every), "answers-drawn": told(every)}
    found["answers-fixed"] = fixed(true, judges, pairs_of(true, seed=33)[0][2::5])
    header = {
        "command": command_line(),
        "seed": "33, and those of `seeds_of` for the orders",
        "replications": f"{options.orders[1]} orders of a named pair, {options.orders[0]} of a drawn one, "
        f"{options.orders[2]} of a tie",
        "made": f"{date.today()}, version {version('pt_active')}",
    }
    for name, table in found.items():
        print(f"{name}\n\n{markdown(table)}\n")
        if options.evidence is not None:
            write(options.evidence / f"{name}.csv", table, header)


if __name__ == "__main__":
    main()
