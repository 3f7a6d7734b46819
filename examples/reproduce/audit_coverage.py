"""How often the 95 % intervals of an audit hold the truth, at 100 labels, and whether it says so where they may not.

    python examples/reproduce/audit_coverage.py [--repetitions 200] [--out FOLDER] [--evidence FOLDER]

prints tables for the docs with a row per risk and a column per label model: the coverage of the intervals that are
given, the samples without an interval, and the silent misses, which are intervals that miss and have no note. Pools
of 3,000 pairs are generated. Labels follow known probabilities, and each judge grades a pair from a noisy view of it.
In one kind of pool errors are common; in the other most pairs are clear, errors are rare, and some are slips of the
judges. The label model knows the probabilities (*fair*), takes them to the fourth power (*far too certain*), or knows
nothing (*uninformative*). The replay runs the code of `Audit.estimate` and `Audit.compare` after labels are matched to
pairs. ``--out`` also writes ``audit_coverage.csv``: coverage and width with the default intervals and with t alone,
both of the intervals that are given, and the shares of samples with a note, without an interval, and
with a silent miss.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from evidence import markdown, parser_with, publish
from statsmodels.stats.proportion import proportion_confint
from tqdm import tqdm

from pt_active.frames.atomic import write_file
from pt_active.inference.estimators import estimators_of
from pt_active.inference.replay import share_error
from pt_active.plans.answers.basis import Basis
from pt_active.plans.answers.labelled import Settings
from pt_active.plans.answers.results import Comparison, Estimate
from pt_active.relevance.costs import UnitCost
from pt_active.relevance.losses import Loss
from pt_active.risk import CostMatrix, Precision, Recall, Squared, ZeroOne
from pt_active.risk.audit import AuditArguments, draw_pairs
from pt_active.risk.judged import JudgedPairs
from pt_active.risk.pairs import Pairs
from pt_active.sampling.designs import default_defensive, suits_single_risks

LABELS = 100
PROPORTION_INTERVALS = {"wilson": "wilson", "clopper-pearson": "beta"}  # [T 3.19, 3.20] → their names in statsmodels
PAIRS = 3000
POOLS = 4
"""Number of generated pools that share the repetitions."""

TOLERANCE = 1e-12
"""Tolerance for rounding, since the interval of a census is a single point."""

COMMON, RARE = "common errors", "rare errors"
GRADE_CUTS = np.array([0.0, 0.6, 1.2])
"""Cuts of the latent relevance between grades 0, 1, 2 and 3."""


@dataclass(frozen=True)
class Kind:
    """A kind of pool.

    Attributes:
        slope: Slope of the ordered logit; with a larger slope grades are clearer.
        middle: Mean latent relevance.
        noise: Judge → standard deviation of the noise in its view.
        slips: Share of the pairs to which a judge gives a random grade.
    """

    slope: float
    middle: float
    noise: dict[str, float]
    slips: float


KINDS = {
    COMMON: Kind(1.5, 0.0, {"a": 0.2, "b": 0.4}, 0.0),
    RARE: Kind(20.0, -0.5, {"a": 0.05, "b": 0.1}, 0.02),
}

MODELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fair": lambda grades: grades,
    "far too certain": lambda grades: grades**4 / (grades**4).sum(axis=1, keepdims=True),
    "uninformative": lambda grades: np.full_like(grades, 1 / grades.shape[1]),
}
"""Label model → its grade probabilities as a function of the true ones."""


@dataclass(frozen=True)
class Case:
    """A risk or difference to estimate.

    Attributes:
        loss: The loss.
        judges: The predictors of the audit.
        compare: Whether the difference of two predictors is estimated, rather than the risk of the first.
        design: A name in `designs.audit_designs`.
    """

    loss: Loss
    judges: tuple[str, ...] = ("a",)
    compare: bool = False
    design: str = "optimal"

    @property
    def methods(self) -> dict[str, str]:
        """Name of an estimator, or of an interval of a share → design."""
        methods_of_case = dict.fromkeys(estimators_of("pair"), self.design)
        if len(self.judges) == 1:
            methods_of_case["stratified"] = "stratified"
            if self.loss.proportion:
                methods_of_case |= dict.fromkeys(PROPORTION_INTERVALS, "passive")
        return methods_of_case


COSTLY_ERRORS = CostMatrix([[0, 0, 1, 20], [0, 0, 0, 1], [1, 0, 0, 0], [20, 1, 0, 0]])
"""Confusing the lowest and the highest grade costs twenty times as much as other errors."""

CASES = {
    "error": Case(ZeroOne()),
    "error on a slice": Case(ZeroOne(slice="top")),
    "precision": Case(Precision(rel=2)),
    "recall": Case(Recall(rel=2)),
    "squared error": Case(Squared()),
    "cost": Case(COSTLY_ERRORS),
    "difference of errors": Case(ZeroOne(), ("a", "b"), True),
    "the same, `disagreement`": Case(ZeroOne(), ("a", "b"), True, "disagreement"),
    "difference of recalls": Case(Recall(rel=2), ("a", "b"), True),
    "error, drawn for the difference": Case(ZeroOne(), ("a", "b")),
}
"""Name → case."""


HEADINGS = {
    "coverage": f"Coverage of the 95 % intervals that are given, at {LABELS} labels",
    "no_interval": "Share of the samples without an interval",
    "silent": "Share of the samples whose interval misses without a note (silent misses)",
}
"""Column → heading of its part of the table."""


def pool_of(kind: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Pairs with their true probabilities in ``grade_0 … grade_3``, the judges' grades, and ``top``, a slice.

    Args:
        kind: A key of `KINDS`.
        seed: Random seed of the pool.

    Returns:
        The frame, sorted by qid and docno, and the labels, float64[N].
    """
    from scipy.special import expit

    rng, chosen, pair = np.random.default_rng(seed), KINDS[kind], np.arange(PAIRS)
    value = rng.normal(chosen.middle, 1, PAIRS)
    above = expit(chosen.slope * (value[:, None] - GRADE_CUTS))
    grades = -np.diff(np.column_stack([np.ones(PAIRS), above, np.zeros(PAIRS)]), axis=1)
    label = (rng.random(PAIRS)[:, None] < above).sum(axis=1)
    frame = pd.DataFrame({"qid": [f"q{z // 40:02d}" for z in pair], "docno": [f"d{z:04d}" for z in pair]})
    frame = frame.assign(**{f"grade_{g}": column for g, column in enumerate(grades.T)})
    for judge, noise in chosen.noise.items():
        seen = np.searchsorted(GRADE_CUTS, value + noise * rng.normal(size=PAIRS))
        slips = rng.random(PAIRS) < chosen.slips
        frame[judge] = np.where(slips, rng.integers(0, len(GRADE_CUTS) + 1, PAIRS), seen)
    return frame.assign(top=pair % 40 < 10), label.astype(np.float64)


def truth_of(case: Case, pairs: Pairs, label: np.ndarray) -> float:
    """The true risk over the whole pool, or the true difference of two risks."""
    observed = (pairs.observed(s, np.arange(PAIRS), label) for s in range(len(pairs.names)))
    risks = [u.sum() / w.sum() for u, w in observed]
    return float(risks[0] - risks[1]) if case.compare else float(risks[0])


def judged_sample(pairs: Pairs, label: np.ndarray, design: str, seed: int) -> JudgedPairs:
    """A judged sample of `LABELS` pairs, drawn as an audit does but without its frames.

    Args:
        pairs: The pool.
        label: float64[N].
        design: A name in `designs.audit_designs`.
        seed: Random seed of the draws.
    """
    asked = AuditArguments(design=design, draws=LABELS, defensive=default_defensive(design), seed=seed)
    drawn = draw_pairs(pairs, asked)
    about = {"n_queries": 0, "n_judged": LABELS, "missing_policy": "error", "level": "pair"}
    basis = Basis.of(drawn, pairs.weight, measure=str(pairs.loss), **about)
    for_differences = len(pairs.names) > 1 and not suits_single_risks(design)
    return JudgedPairs(pairs.names, basis, pairs, drawn, label[drawn.rows], for_differences)


def inferred(case: Case, sample: JudgedPairs, estimator: str, replays: bool = True) -> Estimate | Comparison:
    """The audit's estimate or comparison."""
    settings = Settings(estimator, replays=replays)
    return sample.compare(0, 1, settings) if case.compare else sample.estimate(0, settings)


def share_interval(judged: JudgedPairs, method: str) -> tuple[float, float]:
    """The interval of a share of a plain random sample; NaN if no drawn pair counts."""
    scores, count = judged.scores(0), judged.sample.count
    successes, trials = int(count @ scores.numerator), int(count @ scores.weight)
    if not trials:
        return np.nan, np.nan
    low, high = proportion_confint(successes, trials, 0.05, PROPORTION_INTERVALS[method])
    return float(low), float(high)


class Outcome(NamedTuple):
    """What one sample says by one method.

    Attributes:
        method: A key of `Case.methods`.
        covered: Whether the interval contains the truth.
        width: The width of the interval; NaN or infinite if there is none.
        covered_by_t: Whether the interval by t alone contains the truth.
        width_of_t: Its width.
        noted: Whether the result has a note.
    """

    method: str
    covered: bool
    width: float
    covered_by_t: bool
    width_of_t: float
    noted: bool


def replayed(case: Case, frame: pd.DataFrame, label: np.ndarray, seeds: range) -> Iterator[Outcome]:
    """The outcomes of all methods in each sample."""
    pairs = Pairs.from_frame(frame, {judge: judge for judge in case.judges}, case.loss, UnitCost())
    truth = truth_of(case, pairs, label)
    for seed in seeds:
        samples: dict[str, JudgedPairs] = {}
        for name, design in case.methods.items():
            if design not in samples:
                samples[design] = judged_sample(pairs, label, design, seed)
            if name in PROPORTION_INTERVALS:
                ends = share_interval(samples[design], name)
                yield Outcome(name, *_covered(ends, truth), *_covered(ends, truth), bool(np.isnan(ends[0])))
                continue
            result, by_t = (inferred(case, samples[design], name, replays) for replays in (True, False))
            ends, ends_by_t = result.confidence_interval(), by_t.confidence_interval()
            yield Outcome(name, *_covered(ends, truth), *_covered(ends_by_t, truth), result.note != "")


def _covered(ends: tuple[float, float], truth: float) -> tuple[bool, float]:
    """Whether the interval contains the truth, and its width."""
    low, high = ends
    return low - TOLERANCE <= truth <= high + TOLERANCE, high - low


def coverages(repetitions: int, seed: int) -> pd.DataFrame:
    """Coverage, width, and shares with a note, a silent miss or no interval, by ``errors, risk, model, method``."""
    rows = []
    jobs = [(kind, risk, model) for kind in KINDS for risk in CASES for model in MODELS]
    for kind, risk, model in tqdm(jobs, unit="risk"):
        for number in range(POOLS):
            frame, label = pool_of(kind, seed + number)
            columns = [f"grade_{g}" for g in range(len(GRADE_CUTS) + 1)]
            frame[columns] = MODELS[model](frame[columns].to_numpy())
            first = zlib.crc32(f"{kind} {risk} {number} {seed}".encode())
            seeds = range(first, first + repetitions // POOLS)
            rows += [(kind, risk, model, *row) for row in replayed(CASES[risk], frame, label, seeds)]
    table = pd.DataFrame(rows, columns=["errors", "risk", "model", *Outcome._fields])
    none, by_t = ~np.isfinite(table["width"]), ~np.isfinite(table["width_of_t"])
    usable = table.assign(
        no_interval=none,
        silent=~table["covered"] & ~none & ~table["noted"],
        covered=table["covered"].astype(float).mask(none),
        width=table["width"].mask(none),
        covered_by_t=table["covered_by_t"].astype(float).mask(by_t),
        width_of_t=table["width_of_t"].mask(by_t),
    )
    groups = usable.groupby(["errors", "risk", "model", "method"], sort=False)
    shares = groups[["covered", "width", "covered_by_t", "width_of_t", "noted", "no_interval", "silent"]].mean()
    shares = shares.rename(columns={"covered": "coverage", "covered_by_t": "coverage_by_t"})
    given = groups["covered"].count().to_numpy()
    return shares.assign(coverage_se=share_error(shares["coverage"].to_numpy(), given)).reset_index()


def page_table(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row per risk; a column for each model and estimator, and for each binomial interval of passive samples."""
    rows = []
    for (kind, risk), group in table.groupby(["errors", "risk"], sort=False):
        of = group.set_index(["model", "method"])[column]
        row = {"": f"{kind}: {risk}"}
        for model in MODELS:
            row |= {f"{model}, {name}": _cell(of, model, name) for name in (*estimators_of("pair"), "stratified")}
        row |= {f"passive, {name}": _cell(of, "fair", name) for name in PROPORTION_INTERVALS}
        rows.append(row)
    return pd.DataFrame(rows)


def _cell(shares: pd.Series, model: str, method: str) -> str:
    share = shares.get((model, method), np.nan)
    return "–" if np.isnan(share) else f"{share:.2f}".removeprefix("0")


def page_text(table: pd.DataFrame, repetitions: int) -> str:
    """The tables with their headings."""
    parts = [f"{repetitions} samples a cell, Monte Carlo errors of at most {table['coverage_se'].max():.3f}."]
    for column, words in HEADINGS.items():
        parts += [f"{words}:", markdown(page_table(table, column))]
    return "\n\n".join(parts)


def main() -> None:
    """Replay, and print the table."""
    options = parser_with(__doc__, seed=0)
    options.add_argument("--repetitions", type=int, default=200, help="samples of each risk and label model")
    options.add_argument("--out", type=Path, metavar="FOLDER")
    arguments = options.parse_args()
    table = coverages(arguments.repetitions, arguments.seed)
    text = page_text(table, arguments.repetitions)
    print(f"\n{text}")
    publish(text, arguments, "audit-coverage")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_file(arguments.out / "audit_coverage.csv", table.to_csv(index=False), replace=True)


if __name__ == "__main__":
    main()
