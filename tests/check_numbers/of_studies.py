"""Cases of replays, learners and experiments."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
from sklearn.linear_model import Ridge
from told import Cases
from world import DESIGNS, ESTIMATORS, MEASURES, PAIR, judged, plan_of, world

import pt_active as pta
from pt_active.studies.simulate import draw_until_significant, labelled_population, simulate

BOTH = list(PAIR.values())


def simulations() -> Cases:
    """Replays of designs and estimators."""

    def population(measure: str, rankers: int) -> Any:
        labelled = world().graded.merge(world().labels, on=["qid", "docno"])
        return labelled_population(labelled, measure, rankers=BOTH[:rankers], samples=100)

    def replayed(measure: str, rankers: int, options: dict[str, Any]) -> pd.DataFrame:
        options = {"budgets": [200, 350]} | options
        return simulate(population(measure, rankers), repetitions=20, seed=2, progress=False, **options)

    def until(measure: str, null: bool) -> pd.DataFrame:
        how = {"looks": [200, 300, 400], "repetitions": 20, "null": null, "progress": False}
        return draw_until_significant(population(measure, 2), **how)

    designs = {"designs": [*DESIGNS, "poisson", "depth"], "null": False}
    estimators = {"designs": ["hedged"], "estimators": ESTIMATORS["query"], "reference": "normal", "defensive": 0.2}
    cases: Cases = {f"{measure} {n}": partial(replayed, measure, n, {}) for measure, n in product(MEASURES, (1, 2))}
    cases |= {f"{m} {how}": partial(replayed, m, 2, how) for m, how in product(MEASURES, (designs, estimators))}
    cases |= {
        "nDCG@10": partial(replayed, "nDCG@10", 2, {"designs": ["hedged"]}),
        "all": partial(replayed, "DCG@10", 2, {"budgets": None}),
    }
    return cases | {
        f"until {measure} {null}": partial(until, measure, null) for measure, null in product(MEASURES, (False, True))
    }


def learners() -> Cases:
    """A learner compared with a ranker that learns nothing."""
    results = world().collection.runs["candidate"].merge(world().collection.topics, on="qid")
    noise = np.random.default_rng(3).normal(size=len(results))
    features = np.column_stack([results["score"], 1 / (results["rank"] + 1.0), noise])
    results = results.assign(features=list(features))
    pipelines = {
        "ridge": pt.ltr.apply_learned_model(Ridge(1.0)),
        "one": pt.apply.doc_score(lambda row: row["features"][2]),
    }

    def ask(measure: str, how: dict[str, Any]) -> pta.LearnerComparison:
        qrels = world().collection.qrels
        return pta.compare_learners(pipelines, results, qrels, measure, folds=4, progress=False, **how)

    hows = ({}, {"repeats": 2, "validation": 0.2, "seed": 3}, {"corrected": False, "confidence": 0.9})
    return {f"{m} {how}": partial(ask, m, how) for m, how in product(("DCG@10", "ERR(max_rel=3)@10", "nDCG@10"), hows)}


def experiments() -> Cases:
    """The frame of ``Experiment``."""

    def ask(rankers: int, variant: str, how: dict[str, Any]) -> pd.DataFrame:
        plan = plan_of("query", rankers, "DCG@10", variant)
        metrics = [pta.DCG @ 10, "ERR@5", "nDCG@5"]
        return pta.Experiment(world(3).runs, plan, judged(plan), metrics, missing="nonrelevant", **how)

    hows: list[dict[str, Any]] = [{"perquery": True}, {"baseline": [0, 1], "correction": "bonferroni", "round": 3}]
    cases = [(n, "plain", {"baseline": "production", "correction": "holm"}) for n in (2, 3)]
    cases += [(2, variant, {"confidence": 0.9}) for variant in ("hedged, replaced", "census")]
    return {" ".join(map(str, case)): partial(ask, *case) for case in (*cases, *((3, "plain", how) for how in hows))}
