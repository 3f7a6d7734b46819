"""Cases of plans, during and after judging."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from told import Cases
from world import (
    COSTS,
    DESIGNS,
    DRAWINGS,
    ESTIMATORS,
    LEVELS,
    MEASURES,
    PAIR,
    POLICIES,
    VARIANTS,
    answers,
    created,
    extended,
    first_half,
    judged,
    noisy,
    plan_of,
    world,
)

import pt_active as pta
from pt_active.inference.replay import Method

BASES = list(product(LEVELS, (2, 3), MEASURES))
"""All levels, numbers of rankers and measures."""

CHOSEN = [(level, *each) for level in LEVELS for each in ((2, "DCG@10"), (3, "ERR@10"))]
"""A selection, for cases with many options."""

MONTE_CARLO = [("query", rankers, "nDCG@10") for rankers in (2, 3)]


def plans() -> Cases:
    """The documents to judge, and the answers from their labels."""

    def ask(*which: Any) -> dict[str, Any]:
        plan = created(*which)
        return {"plan": plan} | answers(plan, judged(plan))

    cases: list[tuple[Any, ...]] = [*BASES, *MONTE_CARLO, ("document", 2, "nDCG@10")]
    cases += [(*each, variant) for each in CHOSEN for variant in VARIANTS[each[0]]]
    cases += [("query", 2, "nDCG@10", variant) for variant in ("optimal, replaced", "census")]
    cases += [("query", 2, measure) for measure in ("AP(rel=2)@10", "Success(rel=2)@5", "RBP(p=0.5)@10")]
    cases += [(level, 1, measure) for level, measure in product(LEVELS, MEASURES)]
    return {" ".join(map(str, case)): partial(ask, *case) for case in cases}


def estimates() -> Cases:
    """Estimators, references, levels of confidence, policies for missing labels, and other measures."""

    def ask(which: tuple[Any, ...], share: float, how: dict[str, Any]) -> dict[str, Any]:
        plan = plan_of(*which)
        return answers(plan, judged(plan).sample(frac=share, random_state=4), **how)

    def tukey(which: tuple[Any, ...]) -> Any:
        return plan_of(*which).rank(judged(plan_of(*which)), correction="tukey", confidence=0.9)

    plans = [
        *BASES,
        *MONTE_CARLO[:1],
        *(("query", n, m, "hedged, replaced") for n, m in ((2, "ERR@10"), (3, "DCG@10"))),
    ]
    plans += [("document", n, m, "depth") for n, m in ((2, "DCG@10"), (3, "ERR@10"))]
    every: list[tuple[float, dict[str, Any]]] = [(0.9, {"missing": policy}) for policy in POLICIES]
    every += [(1.0, {"reference": "t", "confidence": 0.8}), (1.0, {"reference": "normal"})]
    every += [(1.0, {"measure": measure}) for measure in ("DCG@5", "ERR@10", "P(rel=2)@5")]
    every += [(1.0, {"measure": "nDCG@10", "missing": "nonrelevant"})]
    cases = [(plan, *how) for plan in plans for how in every]
    cases += [(plan, 1.0, {"estimator": estimator}) for plan in plans for estimator in ESTIMATORS[plan[0]][1:]]
    cases += [(p, 0.9, {"estimator": e, "missing": "expected"}) for p in CHOSEN for e in ESTIMATORS[p[0]][1:]]
    named = {f"{' '.join(map(str, plan))} {share} {how}": partial(ask, plan, share, how) for plan, share, how in cases}
    return named | {f"{' '.join(map(str, plan))} tukey": partial(tukey, plan) for plan in BASES}


def states() -> Cases:
    """`Plan.status` before, during and after judging, and `Plan.so_far`."""

    def ask(share: str, how: dict[str, Any], *which: Any) -> Any:
        plan = plan_of(*which)
        every = judged(plan)
        labels = {"none": every.head(0), "half": first_half(plan, every), "all": every}
        return plan.status(labels[share], **how, **PAIR)

    def cut(*which: Any) -> dict[str, Any]:
        half = first_half(plan_of(*which), judged(plan_of(*which)))
        so_far = plan_of(*which).so_far(half)
        return {"plan": so_far, "status": so_far.status(half, **PAIR)} | answers(so_far, half)

    hows = [{"looks": looks} for looks in (None, "always", "obrien-fleming", "pocock")]
    hows += [{"margin": 0.4}, {"looks": "pocock", "confidence": 0.8, "margin": 0.2}]
    cases = product(BASES + MONTE_CARLO[:1], ("none", "half", "all"), hows)
    named = {f"{' '.join(map(str, w))} {share} {how}": partial(ask, share, how, *w) for w, share, how in cases}
    return named | {f"{' '.join(map(str, which))} so far": partial(cut, *which) for which in BASES}


def outlooks() -> Cases:
    """Outlooks for all designs and estimators, with and without a pilot."""

    def ahead(rankers: int, measure: str, cost: Any) -> pta.Outlook:
        return pta.Outlook.of(world(rankers).graded, None, measure, cost, seed=3)

    def by_design(measure: str) -> list[pd.DataFrame]:
        methods = [Method(d, e, False) for d in DESIGNS for e in ESTIMATORS["query"]]
        methods += [Method(d, e, False) for d in DRAWINGS for e in ESTIMATORS["document"]]
        looking = pta.Outlook.of(world().graded, None, measure, methods=methods)
        return [looking.table([200, 400], difference=0.4), looking.budget_for(width=0.4)]

    def of_plan(*which: Any) -> dict[str, pta.Outlook]:
        pilot = plan_of(*which), judged(plan_of(*which))
        replies = {"before": pta.Outlook.of_plan(pilot[0]), "after": pta.Outlook.of_plan(*pilot)}
        if which in CHOSEN:
            replies["pilot"] = pta.Outlook.of(world(which[1]).graded, None, which[2], pilot=pilot)
        return replies

    pools = [*product((1, 2, 3), MEASURES, (None,)), (2, "nDCG@10", None)]
    pools += [(2, "DCG@10", cost) for cost in (pta.UnitCost(2), pta.TimeCost(30, 60))]
    cases: Cases = {" ".join(map(str, pool)): partial(ahead, *pool) for pool in pools}
    cases |= {f"designs {measure}": partial(by_design, measure) for measure in MEASURES}
    planned = [*BASES, *((*each, cost) for each in CHOSEN for cost in COSTS)]
    return cases | {f"plan {' '.join(map(str, each))}": partial(of_plan, *each) for each in planned}


def growth() -> Cases:
    """Rankers added later, and rounds of documents."""

    def later(estimator: str, *which: Any) -> dict[str, Any]:
        runs = {"late": noisy(world().runs["production"], 0.05), "known": world().runs["candidate"]}
        plan = plan_of(*which).with_rankers(**runs)
        return answers(plan, judged(plan), estimator=estimator, missing="nonrelevant")

    def rounds(*which: Any) -> dict[str, Any]:
        first, second, third = extended(*which)
        two, three = judged(first, second), judged(first, second, third)
        replies = {"second": second, "third": third, "so far": answers(third.so_far(two), two)}
        return replies | {"status": [third.status(labels, **PAIR) for labels in (two, three)]}

    def answered(estimator: str, *which: Any) -> dict[str, Any]:
        return answers(extended(*which)[-1], judged(*extended(*which)), estimator=estimator)

    def missing(policy: str) -> pta.Plan:
        plan = plan_of("document", 2, "DCG@10")
        return plan.extend(100, judged(plan).iloc[5:], missing=policy)

    grown = [(2, "DCG@10", False), (2, "DCG@10", True), (3, "ERR@10", False), (2, "ERR@10", True), (3, "DCG@10", True)]
    cases: Cases = {f"rounds {each}": partial(rounds, *each) for each in grown}
    cases |= {f"rounds {w} {e}": partial(answered, e, *w) for w, e in product(grown, ESTIMATORS["document"])}
    cases |= {f"later {each} {e}": partial(later, e, *each) for each in CHOSEN for e in ESTIMATORS[each[0]]}
    return cases | {f"missing {policy}": partial(missing, policy) for policy in POLICIES}


def reports() -> Cases:
    """Reports: contributions, slices, the model's check, budgets and designs."""

    def ask(how: dict[str, Any], *which: Any) -> pta.Report:
        return pta.Report.of(plan_of(*which), judged(plan_of(*which)), slices=["qwords", "qlong"], **how)

    def half(*which: Any) -> pta.Report:
        plan = plan_of(*which)
        qrels = first_half(plan, judged(plan))
        return pta.Report.of(plan, qrels, status=plan.status(qrels, **PAIR), **PAIR)

    def of_rounds(*which: Any) -> pta.Report:
        return pta.Report.of(extended(*which)[-1], judged(*extended(*which)), slices=["qlong"])

    hows: list[dict[str, Any]] = [PAIR, {"measure": "ERR@5"}, {"estimator": "difference", "confidence": 0.8}]
    which = [*BASES, *MONTE_CARLO[:1], ("query", 2, "DCG@10", "hedged, replaced"), ("document", 1, "DCG@10")]
    which += [(level, 2, "DCG@10", variant) for level in LEVELS for variant in ("census", "hours")]
    cases: Cases = {f"{' '.join(map(str, each))}": partial(ask, {}, *each) for each in which}
    cases |= {f"{' '.join(map(str, each))} {how}": partial(ask, how, *each) for each, how in product(CHOSEN, hows)}
    cases |= {f"half of {' '.join(map(str, each))}": partial(half, *each) for each in BASES}
    return cases | {f"rounds {measure}": partial(of_rounds, 2, measure, True) for measure in MEASURES}
