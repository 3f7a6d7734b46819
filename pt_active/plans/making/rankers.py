"""Which rankers are compared, with which weights, and which were added after the plan was made?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import ir_measures.measures as irm
import numpy as np
import pandas as pd

from pt_active.frames import checks
from pt_active.frames.runs import ordered_run
from pt_active.frames.visible import check_visible
from pt_active.plans.making.kept import PlanTables
from pt_active.plans.making.pool import Pool, moment_columns, seen_documents

Pairs = Mapping[tuple[str, str], float] | str
"""(ranker, ranker) → weight, other pairs 0; or the name of one ranker: its pairs with all others get equal weights."""


def pair_weights(pairs: Pairs | None, names: Sequence[str]) -> np.ndarray | None:
    """float64[k(k−1)/2], the weights of all pairs of rankers; None if all weigh the same."""
    if pairs is None:
        return None
    if len(names) < 2:
        raise ValueError(f"pairs needs at least two rankers; there is only {checks.shown(names[0])}")
    if isinstance(pairs, str):
        if pairs not in names:
            raise ValueError(f"pairs={checks.shown(pairs)}: no such ranker; there are {checks.some(names, 20)}")
        return np.array([float(pairs in pair) for pair in combinations(names, 2)])
    if not isinstance(pairs, Mapping):
        raise ValueError(f"pairs must map (ranker, ranker) to a weight, or name one ranker; got {checks.shown(pairs)}")
    given = dict.fromkeys(combinations(names, 2), 0.0)
    for pair, weight in pairs.items():
        where, turned = f"pairs[{checks.shown(pair)}]", pair[::-1] if isinstance(pair, tuple) else pair
        if not {pair, turned} & given.keys():
            raise ValueError(f"{where}: expected two different rankers of {checks.some(names, 20)}")
        if turned in pairs:
            raise ValueError(f"{where}: the pair is given in both orders; give it once")
        given[pair if pair in given else turned] = float(checks.within(f"{where}: a weight", weight, 0))
    if not any(given.values()):
        raise ValueError("pairs gives every pair the weight 0, so there is nothing to design for")
    return np.array([*given.values()])


def listed_weights(weights: np.ndarray | None, names: Sequence[str]) -> list[list[str | float]] | None:
    """The positive weights as ``[ranker, ranker, weight]``, for a manifest."""
    if weights is None:
        return None
    return [[a, b, float(w)] for (a, b), w in zip(combinations(names, 2), weights, strict=True) if w > 0]


def stored_weights(listed: Sequence[Sequence[str | float]] | None, names: Sequence[str]) -> np.ndarray | None:
    """float64[k(k−1)/2] from the list in a manifest, as `listed_weights` made it; None if all pairs weigh the same."""
    if listed is None:
        return None
    weights = {frozenset((a, b)): float(w) for a, b, w in listed}
    return np.array([weights.get(frozenset(pair), 0.0) for pair in combinations(names, 2)])


def named_pair(
    names: Sequence[str],
    first: str | None,
    second: str | None,
    kind: str = "ranker",
    where: str = "plan",
) -> tuple[int, int]:
    """Indices of the two rankers, or predictors, to compare."""
    if len(names) < 2:
        raise ValueError(f"a comparison needs two {kind}s; this {where} has only {checks.shown(names[0])}")
    if len(names) > 2 and (first is None or second is None):
        raise ValueError(f"name the {kind}s to compare, as first= and second=, of {checks.some(names, 20)}")
    chosen = [first or next(name for name in names if name != second)]
    chosen.append(second or next(name for name in names if name != chosen[0]))
    for name in chosen:
        if name not in names:
            raise ValueError(f"no {kind} {checks.shown(name)} in this {where}; it has {checks.some(names, 20)}")
    if chosen[0] == chosen[1]:
        raise ValueError(f"cannot compare {kind} {checks.shown(chosen[0])} with itself")
    return names.index(chosen[0]), names.index(chosen[1])


def with_rankers(tables: PlanTables, measure: irm.Measure, runs: Mapping[str, pd.DataFrame]) -> PlanTables:
    """Add rankers to a plan's pool; its sample stays as it is."""
    if not runs:
        raise ValueError("with_rankers needs at least one run: with_rankers(name=run, …)")
    if taken := [name for name in runs if name in tables.pool.names]:
        raise ValueError(f"the plan has a ranker {checks.shown(taken[0])} already")
    check_visible("ranker", runs)
    pool = tables.pool
    depth = int(measure.params.get("cutoff", pool.ranks.max()))
    added, unknown = zip(*(_ranks(pool, name, run, depth) for name, run in runs.items()), strict=True)
    ranks = np.vstack([pool.ranks, *added])
    pool = replace(pool, names=(*pool.names, *runs), ranks=np.ascontiguousarray(ranks))
    columns = moment_columns(pool, pool.moments(measure))
    queries = tables.queries.drop(columns="q_cov", errors="ignore").assign(**columns)
    later = (*tables.manifest.later_rankers, *runs)
    strangers = tables.manifest.strangers | {name: share for name, share in zip(runs, unknown, strict=True) if share}
    manifest = replace(tables.manifest, rankers=pool.names, later_rankers=later, strangers=strangers)
    return replace(tables, pool=pool, queries=queries, manifest=manifest)


def unasked_shares(tables: PlanTables, measure: irm.Measure) -> dict[str, float]:
    """Ranker → share of the documents that a measure sees and nobody is asked about; empty if none came later."""
    made, ranks = tables.manifest, tables.pool.ranks
    if not made.later_rankers:
        return {}
    if tables.documents:
        asked = tables.documents.sample.design.inclusion > 0
    else:
        asked = seen_documents(ranks[: -len(made.later_rankers)], tables.measure)
    seen = (ranks > 0) & (ranks <= int(measure.params.get("cutoff", ranks.max())))
    known = (seen & asked).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    outside = np.array([made.strangers.get(name, 0.0) for name in tables.pool.names])
    return dict(zip(tables.pool.names, (1 - (1 - outside) * known).tolist(), strict=True))


def _ranks(pool: Pool, name: str, run: pd.DataFrame, depth: int) -> tuple[np.ndarray, float]:
    """int32[1, N], ranks of the pool's documents in a run, from 1 (0: not retrieved), and the share of the others.

    Warnings count the queries without a document of the run, and its documents above a depth that are not in the pool.
    """
    run = ordered_run(run, name)
    run = run[run["qid"].isin(pool.qids)]
    if run.empty:
        raise ValueError(f"run {checks.shown(name)} answers none of the plan's queries; do the qids match?")
    silent = sorted({*pool.qids} - {*run["qid"]})
    if silent:
        warnings.warn(
            f"run {checks.shown(name)} has no documents for {checks.how_many('query', len(silent))} of the plan: "
            f"{checks.some(silent)}; it scores 0 there",
            stacklevel=4,
        )
    rank = pool.keys.merge(run[["qid", "docno", "rank"]], how="left", on=["qid", "docno"])["rank"]
    seen = int((run["rank"] < depth).sum())
    unknown = seen - int((rank < depth).sum())
    if unknown:
        warnings.warn(
            f"run {checks.shown(name)}: {unknown} of its {checks.how_many('document', seen)} that the plan's measure "
            f"sees {checks.agreeing('is', unknown)} not in the plan's pool and counted as not relevant",
            stacklevel=4,
        )
    return (rank.fillna(-1).to_numpy(np.int32) + np.int32(1))[None, :], unknown / max(seen, 1)
