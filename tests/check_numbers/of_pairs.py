"""Cases of audits and of active tests."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from told import Cases, answer
from world import DESIGNS, POLICIES, judged, kept, world

import pt_active as pta
from pt_active import risk, rounds

LOSSES = (
    *(risk.ZeroOne(), risk.Accuracy(), risk.Squared(), risk.Precision(rel=2), risk.Recall(rel=2), risk.F1()),
    *(risk.FMeasure(0.3, 2), risk.ZeroOne(slice="qlong"), risk.F1(rel=2, slice="qlong")),
    risk.CostMatrix([[0, 1, 2, 4], [1, 0, 1, 2], [2, 1, 0, 1], [6, 3, 1, 0]]),
)
PAIR_MEASURES = {str(loss): loss for loss in (*LOSSES, rounds.CrossEntropy())}
PREDICTORS = ("model", "noise", "careful")
ROUND_ESTIMATORS = ("lur", "ailur", "aiipw", "ailur_ratio", "aiipw_ratio", "lur_difference", "lur_regression")
STRATEGIES = ("ori", "rec", "rf", "uniform")
ROUND_DRAWINGS = ("fixed", "poisson", "single")


@kept
def pairs() -> pd.DataFrame:
    """Pairs with three grade predictors of different quality, and two real-valued predictors with variances."""
    frame = world().graded.head(300).reset_index(drop=True)
    label = frame.merge(world().labels, on=["qid", "docno"])["label"].to_numpy()
    rng, model = np.random.default_rng(6), frame.filter(regex="^grade_").to_numpy().argmax(axis=1)
    noise = np.where(rng.random(len(label)) < 0.5, label, rng.integers(0, 4, len(label)))
    real = {"real": label + rng.normal(0, 0.7, len(label)), "real_variance": 0.5, "flat": 1.0, "flat_variance": 2.0}
    return frame.assign(model=model, noise=noise, careful=np.minimum(noise, 2), **real)


def audit_of(predictors: int, loss: Any, options: dict[str, Any]) -> pta.Audit:
    """An audit of the first ``predictors`` predictors."""
    chosen = {name: name for name in PREDICTORS[:predictors]}
    options = options if "draws" in options else {"budget": 90} | options
    return pta.Audit.create(pairs(), chosen, loss, seed=9, **options)


def audit_answers(audit: pta.Audit, qrels: pd.DataFrame, **how: Any) -> dict[str, Any]:
    """All answers of an audit, each with its own errors and warnings."""
    replies: dict[str, Any] = {"estimate": answer(partial(audit.estimate, qrels, **how))}
    if len(audit.predictors) > 1:
        replies |= {"compare": answer(partial(audit.compare, qrels, **how, first="model", second="noise"))}
        replies |= {"rank": answer(partial(audit.rank, qrels, **how, correction="tukey"))}
    return replies | ({"holm": answer(partial(audit.rank, qrels, **how))} if len(audit.predictors) > 2 else {})


def audits() -> Cases:
    """All losses and all designs."""

    def ask(predictors: int, loss: Any, options: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
        audit = audit_of(predictors, loss, options)
        qrels = judged(audit).iloc[3 if "missing" in how else 0 :]
        return {"audit": audit} | audit_answers(audit, qrels, **how)

    def gaussian(design: str) -> dict[str, Any]:
        chosen = {"real": "real", "flat": "flat"}
        audit = pta.Audit.create(pairs(), chosen, risk.GaussianSquared(), draws=80, design=design)
        return {"audit": audit, "estimate": audit.estimate(judged(audit)), "compare": audit.compare(judged(audit))}

    designs: list[dict[str, Any]] = [{"design": d} for d in (*DESIGNS, "disagreement", "active_0", "active_inf")]
    designs += [{"design": "stratified", "draws": 80}, {"replace": True}, {"draws": 70, "defensive": 0.3}]
    designs += [{"cost": pta.ColumnCost("doc_cost")}, {"budget": 1e6}]
    hows: list[dict[str, Any]] = [{"estimator": e} for e in ("snis", "difference")]
    hows += [{"confidence": 0.9, "reference": "t"}, *({"missing": policy} for policy in POLICIES[:2])]
    shares = [{"reference": reference} for reference in ("wilson", "clopper-pearson")]
    cases = [(n, loss, {}, {}) for n, loss in product((1, 2, 3), LOSSES)]
    cases += [(2, loss, options, {}) for loss, options in product((LOSSES[0], LOSSES[2], LOSSES[-2]), designs)]
    cases += [(n, LOSSES[0], options, {}) for n, options in product((1, 3), designs)]
    cases += [(2, loss, {}, how) for loss, how in product(LOSSES, hows)]
    cases += [(1, loss, {"design": "passive"}, how) for loss, how in product(LOSSES, shares)]
    named = {" ".join(map(str, case)): partial(ask, *case) for case in cases}
    return named | {f"gaussian {each}": partial(gaussian, each) for each in ("optimal", "passive", "disagreement")}


@kept
def in_rounds(measure: str, strategy: str, drawing: str, rankers: int = 2) -> tuple[pta.ActiveTest, ...]:
    """A test after zero to three rounds, the first of them by the original model."""
    of_pairs = measure in PAIR_MEASURES
    frame = pairs() if of_pairs else world(rankers).graded
    tests = [pta.ActiveTest.create(frame, None, PAIR_MEASURES.get(measure, measure), seed=4)]
    model = pta.ForestGrades(3, trees=20, min_leaf=5) if strategy == "rf" else None
    tests.append(tests[-1].next_round(25 if of_pairs else 15, drawing=drawing))
    for size in (20, 15):
        tests.append(tests[-1].next_round(size, judged(*tests), strategy, drawing=drawing, model=model))
    return tuple(tests)


def active_tests() -> Cases:
    """All strategies, drawings and estimators, on queries and on pairs."""

    def ask(*which: Any) -> dict[str, Any]:
        tests = in_rounds(*which)
        asked = {str(e): partial(tests[-1].estimate, judged(*tests), estimator=e) for e in (None, *ROUND_ESTIMATORS)}
        return {name: answer(each) for name, each in asked.items()} | {"rounds": tests[1:]}

    def how(measure: str, how: dict[str, Any]) -> pta.Estimate:
        tests = in_rounds(measure, "rec", "fixed")
        return tests[-1].estimate(judged(*tests).iloc[2 if "missing" in how else 0 :], **how)

    drawn: list[tuple[Any, ...]] = [*product(("DCG@10", "CrossEntropy"), STRATEGIES, ROUND_DRAWINGS)]
    drawn += [*product(("ERR@10", "nDCG@10", *PAIR_MEASURES), ("rec",), ("fixed",)), ("ERR@10", "ori", "poisson")]
    drawn += [("DCG@10", "rec", "fixed", rankers) for rankers in (1, 3)]
    options: list[dict[str, Any]] = [{"missing": policy} for policy in POLICIES]
    options += [{"confidence": 0.9, "bandwidth": h, "estimator": "aiipw"} for h in (0.3, "cross_validated")]
    of_queries = [{"slice": "qlong"}, {"measure": "P(rel=2)@5"}, {"measure": rounds.AUC()}]
    of_queries += [{"measure": "nDCG@10", "missing": "nonrelevant"}]
    of_pairs = [{"measure": each} for each in (rounds.AUC(), rounds.AP(rel=2), *PAIR_MEASURES.values())]
    asked = [("DCG@10", each) for each in (*options, *of_queries)]
    asked += [(measure, each) for measure in ("CrossEntropy", "F1") for each in (*options, *of_pairs)]
    named = {" ".join(map(str, case)): partial(ask, *case) for case in drawn}
    return named | {f"{measure} {each}": partial(how, measure, each) for measure, each in asked}
