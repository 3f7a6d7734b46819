"""How often equal rankers are told apart, by each answer: the tables of ``hostile.py --ties``.

A release that only lets documents with equal labels trade places differs by exactly 0 under any measure. With all
labels nothing may find a difference; with a third of them, no more often than the level of its test says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from evidence import markdown
from populations import DOCUMENTS, HostilePopulation, plain
from tqdm import tqdm

from pt_active import Plan, UnitCost
from pt_active.inference.replay import share_error
from pt_active.plans.answers.gate import FAIL, PASS
from pt_active.plans.making.documents import in_parts
from pt_active.plans.making.queries import has_order
from pt_active.relevance.losses import Loss
from pt_active.risk import Accuracy, Audit, Squared, ZeroOne

QUERIES = 20
"""Queries of each population."""

MEASURES = {
    ("DCG@10", "DCG(gain='linear')@10", "P@10", "RBP(p=0.8)@10"): (None, "successive", "depth"),
    ("ERR@10", "RR@10"): (None, "depth"),
    ("nDCG@10", "AP@10"): (None, "surprises", "depth"),
}
"""Measures, and how documents are drawn for them; None for whole queries."""


def releases(seed: int, names: Sequence[str] = "ab", every: bool = False) -> HostilePopulation:
    """A small population whose rankers are equal in every query, under any measure.

    Args:
        seed: Random seed.
        names: The rankers. The first is that of `plain`; in the others documents with equal labels trade places.
        every: Whether documents of every grade do, and not only irrelevant ones.
    """
    pool, qrels = plain(seed, QUERIES)
    label = pool.merge(qrels, on=["qid", "docno"])["label"]
    columns, rng = {}, np.random.default_rng([seed, 2])
    for name in names:
        rank = pool["rank_a"].to_numpy().copy()
        for (_, grade), rows in pool.groupby(["qid", label]).indices.items():
            if name != names[0] and (every or grade == 0):
                rank[rows] = rng.permutation(rank[rows])
        columns |= {f"rank_{name}": rank, f"score_{name}": -rank.astype(float)}
    grades = pool[[name for name in pool if name.startswith("grade_")]]
    return HostilePopulation(pool[["qid", "docno"]].assign(**columns).join(grades), qrels)


def planned(seed: int, measure: str, drawing: str | None, share: float, rankers: int) -> tuple[Plan, pd.DataFrame]:
    """A plan for some releases, and its labels; with every third seed, it costs two documents to open a query."""
    pool, qrels = releases(seed, "abcde"[:rankers], every=seed % 2 == 1)
    cost = UnitCost(per_query=2.0 if seed % 3 == 0 else 0.0)
    budget = (10 if share == 1 else share) * QUERIES * DOCUMENTS
    level = "query" if drawing is None else "document"
    plan = Plan.create(pool, None, measure, cost, budget, drawing, level, seed)
    return plan, qrels.merge(plan.assessments[["qid", "docno"]])


def found_by(plan: Plan, labels: pd.DataFrame) -> dict[str, bool]:
    """Which answers find a difference between the first two rankers; of ``rank`` any two."""
    pair = dict(zip(("first", "second"), plan.rankers, strict=False))
    better, no_worse = (
        partial(plan.gate, labels, rule=rule, margin=0.0, queries="these", **pair)
        for rule in ("better", "non-inferior")
    )
    found = {
        "compare": plan.compare(labels, **pair).winner is not None,
        "rank": len(plan.rank(labels).groups) > 1,
        "gate, better": better(looks=None).outcome == PASS,
        "gate, worse": no_worse(looks=None).outcome == FAIL,
    }
    if has_order(plan.tables) or (in_parts(plan.tables) and len(plan.rankers) == 2):
        found["status"] = plan.status(labels, **pair).winner is not None
        found["gate at any time"] = better().outcome == PASS or no_worse().outcome == FAIL
    return found


def of_rankers(measure: str, drawing: str | None, share: float, repetitions: int) -> dict[str, str]:
    """How often each answer finds a difference among two to five equal rankers."""
    found = [found_by(*planned(seed, measure, drawing, share, 2 + seed % 4)) for seed in range(repetitions)]
    return {"measure": measure, "sampled": drawing or "queries"} | _shares(found)


def of_errors(loss: Loss, repetitions: int) -> dict[str, str]:
    """How often an audit of every pair finds a difference between judges that make as many errors."""
    found = []
    for seed in range(repetitions):
        pool, qrels = plain(seed, QUERIES)
        label = pool.merge(qrels, on=["qid", "docno"])["label"].to_numpy()
        rng = np.random.default_rng([seed, 4])
        for name in "ab":
            wrong = rng.permutation(len(label)) < len(label) // 5
            pool[name] = np.where(wrong, np.where(label > 0, label - 1, 1), label)
        audit = Audit.create(pool, {"a": "a", "b": "b"}, loss, budget=len(label), seed=seed)
        winner = audit.compare(qrels, first="a", second="b").winner
        found.append({"compare": winner is not None, "rank": len(audit.rank(qrels).groups) > 1})
    return {"loss": str(loss)} | _shares(found)


def _shares(found: list[dict[str, bool]]) -> dict[str, str]:
    """The share of each answer that finds something where it is asked, and its Monte Carlo error."""
    table = pd.DataFrame(found)
    shares = {name: (float(asked.mean()), len(asked)) for name in table for asked in [table[name].dropna()]}
    return {name: f"{share:.3f} ± {share_error(share, number):.3f}" for name, (share, number) in shares.items()}


def page(repetitions: int) -> str:
    """All tables.

    Args:
        repetitions: Populations of each row.
    """
    every = [(measure, each) for names, ways in MEASURES.items() for measure in names for each in ways]
    parts = []
    for labels, share in (("all labels", 1.0), ("a third of the labels", 1 / 3)):
        rows = [of_rankers(*each, share, repetitions) for each in tqdm(every, desc=labels, unit="row")]
        parts += [f"Share that finds a difference of equal rankers, with {labels}:", pd.DataFrame(rows).fillna("")]
    rows = [of_errors(loss, repetitions) for loss in (ZeroOne(), Accuracy(), Squared())]
    parts += ["Share of audits of every pair that tell judges with as many errors apart:", pd.DataFrame(rows)]
    return "\n\n".join(part if isinstance(part, str) else markdown(part) for part in parts)
