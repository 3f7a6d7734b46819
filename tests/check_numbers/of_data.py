"""Cases before a plan: grades, measures and designs."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import pandas as pd
import pyterrier as pt
from sklearn.linear_model import LogisticRegression
from told import Cases
from world import BUDGET, DESIGNS, DRAWINGS, LEVELS, MEASURES, world

import pt_active as pta


def grade_models() -> Cases:
    """The grades of a run by each grade model, and reports on them."""
    collection = world().collection
    votes = pd.concat([collection.qrels, collection.past_qrels])
    votes = votes.assign(label=votes["label"].clip(upper=2))
    models = {
        "ordered logit": pta.OrderedLogitGrades(3),
        "regressor": pta.ForestGrades(3, trees=20),
        "classifier": pta.ForestGrades(3, kind="classifier", trees=20, min_leaf=20),
        "logistic": pta.ClassifierGrades(LogisticRegression(), 3),
        "calibrated": pta.ClassifierGrades(LogisticRegression(), 3, calibrate="sigmoid"),
        "prior": pta.PriorGrades(3),
        "judge": pta.JudgeGrades(votes, 3),
        "mixture": pta.MixtureGrades(pta.PriorGrades(3), pta.OrderedLogitGrades(3)),
        "uniform": pta.UniformGrades(3),
    }

    def ask(model: pt.Transformer) -> dict[str, Any]:
        fitted = model.fit(collection.past_run, collection.past_qrels) if isinstance(model, pt.Estimator) else model
        graded = fitted.transform(collection.runs["production"])
        columns = graded.filter(regex="^(qid|docno|grade_)").head(200)
        return {"grades": columns, "report": pta.GradeReport.of(graded, collection.qrels)}

    return {name: partial(ask, model) for name, model in models.items()}


def measures() -> Cases:
    """The values of measures for a run, and their full names."""
    names = ("DCG@10", "DCG(gain='linear')@5", "ERR(max_rel=3)@10", "P(rel=2)@5", "RBP(p=0.5)@10", "RR(rel=2)@10")
    names = (*names, "ERR@10", "nDCG@10", "nDCG", "AP(rel=2)", "Judged@10", "AP@3")
    run, labels = world().runs["candidate"], world().labels
    cases: Cases = {name: partial(pta.measure_values, run, labels, name) for name in names}
    return cases | {f"parsed {name}": partial(lambda name: str(pta.parse_measure(name, 3)), name) for name in names}


def sampling() -> Cases:
    """Designs and draws by transformers."""

    def ask(rankers: int, level: str, measure: str, how: dict[str, Any]) -> list[Any]:
        design = pta.SamplingDistribution(measure, level=level, **how)(world(rankers).graded)
        draws: list[dict[str, Any]] = [{"budget": BUDGET[level], "seed": 3}]
        draws += [{"draws": 20}, {"budget": BUDGET[level], "replace": False}] if level == "query" else []
        return [design, *(pta.Draw(**each)(design) for each in draws)]

    cases: list[tuple[str, str, dict[str, Any]]] = [("query", m, {"design": d}) for m in MEASURES for d in DESIGNS]
    cases += [("document", m, {"design": d}) for m, d in product(MEASURES, DRAWINGS)]
    cases += [(level, "DCG@10", {"pairs": "production", "defensive": 0.3}) for level in LEVELS]
    cases += [("query", "nDCG@10", {"design": "hedged"})]
    return {f"{n} {level} {m} {how}": partial(ask, n, level, m, how) for n in (2, 3) for level, m, how in cases}
